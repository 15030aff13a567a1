"""Steps that bring totals to where they have to be: exact sums, limits, and a search by brute force beside it."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from masktron.masking.totals.step_counts import ShiftRange, StepKind, even_steps, whole_steps
from masktron.settle.grid import common_measure

fractions = st.fractions(min_value=-50, max_value=50, max_denominator=12)


def step(*effects: int | Fraction, cost: float = 1.0, limit: int = 4) -> StepKind:
    return StepKind(tuple(map(Fraction, effects)), cost, limit)


def exactly(*shifts: int | Fraction) -> list[ShiftRange]:
    return [ShiftRange(Fraction(shift), Fraction(shift)) for shift in shifts]


def reached(steps: list[StepKind], times: list[int]) -> list[Fraction]:
    sums = zip(*(step.effects for step in steps), strict=True)
    return [sum((n * e for n, e in zip(times, row, strict=True)), Fraction(0)) for row in sums]


@given(
    st.lists(
        st.tuples(st.integers(-7, 7), st.integers(-7, 7), st.floats(0.01, 1), st.integers(1, 2)),
        min_size=1, max_size=5,
    ),
    st.tuples(st.integers(-20, 20), st.integers(-20, 20)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
)  # fmt: skip
def test_what_is_found_is_right_and_what_two_steps_reach_is_found(
    made: list[tuple[int, int, float, int]], target: tuple[int, int], width: tuple[int, int]
) -> None:
    steps = [step(a, b, cost=cost, limit=limit) for a, b, cost, limit in made]
    wanted = [ShiftRange(Fraction(low), Fraction(low + more)) for low, more in zip(target, width, strict=True)]
    times = whole_steps(steps, wanted)
    if times is not None:
        assert all(0 <= count <= one.limit for count, one in zip(times, steps, strict=True))
        assert all(one.holds(shift) for one, shift in zip(wanted, reached(steps, times), strict=True))
        return
    for counts in itertools.product(*(range(one.limit + 1) for one in steps)):
        # One kind or two: the search must not miss these, whatever else it gives up.
        if sum(map(bool, counts)) <= 2:
            shifts = reached(steps, list(counts))
            assert not all(one.holds(shift) for one, shift in zip(wanted, shifts, strict=True)), counts


def test_coprime_sizes_reach_every_difference() -> None:
    steps = [step(sign * size, cost=1 + 0.1 * at) for at, size in enumerate((5, 5, 5, 6, 6)) for sign in (1, -1)]
    for difference in range(-30, 31):
        times = whole_steps(steps, exactly(difference))
        assert times is not None
        assert reached(steps, times) == [difference]


def test_what_is_no_multiple_is_not_found() -> None:
    assert whole_steps([step(5), step(-5), step(10)], exactly(3)) is None


def test_several_totals_are_met_at_once() -> None:
    # A + B = T for groups of 5 and 6 records: A moves T or B.
    kinds = [(1, 0, 1), (0, 1, 1), (1, -1, 0)]
    steps = [step(*(sign * size * e for e in kind)) for size in (5, 6) * 6 for kind in kinds for sign in (1, -1)]
    for wanted in ((4, -42, -38), (0, 0, 0), (1, 1, 2), (-13, 29, 16)):
        times = whole_steps(steps, exactly(*wanted))
        assert times is not None
        assert reached(steps, times) == list(wanted)


def test_the_cheapest_groups_move_first() -> None:
    steps = [step(5, cost=cost, limit=1) for cost in (0.9, 0.1, 0.5)]
    assert whole_steps(steps, exactly(10)) == [0, 1, 1]


def test_a_large_difference_is_spread_evenly() -> None:
    steps = [step(5, cost=1 / value, limit=10**6) for value in (100, 200, 400)]
    times = even_steps(steps, exactly(7000))
    assert times is not None
    assert [round(count / value, 2) for count, value in zip(times, (100, 200, 400), strict=True)] == [2.0, 2.0, 2.0]
    assert even_steps([step(5)], exactly(-5)) is None


@given(st.lists(fractions, min_size=1, max_size=5), st.lists(st.integers(-9, 9), min_size=5, max_size=5))
def test_sums_of_multiples_are_multiples_of_the_common_measure(numbers: list[Fraction], times: list[int]) -> None:
    unit = common_measure(numbers)
    total = sum((n * number for n, number in zip(times, numbers, strict=False)), Fraction(0))
    assert total == 0 if unit == 0 else (total / unit).denominator == 1


@pytest.mark.full
@examples(12, full=100)
@given(st.lists(st.integers(1, 12).map(Fraction), min_size=1, max_size=3))
def test_the_common_measure_is_a_sum_of_multiples(numbers: list[Fraction]) -> None:
    span = range(-12, 13)
    sums = {
        sum((n * number for n, number in zip(times, numbers, strict=True)), Fraction(0))
        for times in itertools.product(span, repeat=len(numbers))
    }
    assert common_measure(numbers) in sums
