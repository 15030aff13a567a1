"""Totals that are found, against all of them tried; what random numbers suggest; implications against records."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import examples
from made_columns import column_of_cells
from masktron.config import Config
from masktron.proposals.additive import Additive, SumSearch, unit_relations
from masktron.proposals.candidate import MOST_EXCEPTIONS, FieldState, SuggestedRule, errors
from masktron.proposals.profiles import FieldProfile, profiles_of
from masktron.proposals.suggesting import leaner
from masktron.sources.dataset import Dataset
from masktron.sources.record_layout import Field, Layout

SEEDS = st.integers(0, 2**32 - 1)


def profiles(columns: dict[str, list[str | None]]) -> dict[str, FieldProfile]:
    fields = [Field(name, name) for name in columns]
    made = {name: column_of_cells(texts, name=name) for name, texts in columns.items()}
    size = len(next(iter(columns.values())))
    records = Dataset.flat(Path("made"), Layout(("Data", "Record"), tuple(fields)), made, np.arange(size) + 1)
    return profiles_of(records, Config(numeric=tuple(columns)), {})


type Total = tuple[frozenset[tuple[str, int]], tuple[str, int]]
"""Parts and total, each with its factor."""


def found(columns: dict[str, NDArray[np.int64]]) -> dict[Total, Additive]:
    fields = profiles({name: [str(value) for value in column.tolist()] for name, column in columns.items()})
    search = SumSearch(list(fields.values()))
    return {
        (
            frozenset((search.fields[at].name, factor) for at, factor in one.relation.parts),
            (search.fields[one.relation.total[0]].name, one.relation.total[1]),
        ): one
        for one in search.find()
    }


def summed(columns: dict[str, NDArray[np.int64]], parts: Iterable[str]) -> NDArray[np.int64]:
    return np.sum([columns[name] for name in parts], axis=0)


def total(parts: Iterable[str], whole: str) -> Total:
    return frozenset((name, 1) for name in parts), (whole, 1)


@examples(10, full=300)
@given(seed=SEEDS, parts=st.integers(2, 7), wrong=st.integers(0, 5))
def test_a_planted_total_is_found_and_counted(seed: int, parts: int, wrong: int) -> None:
    rng = np.random.default_rng(seed)
    size = 200
    columns = {name: rng.integers(1, 10_000, size) for name in "ABCDEFGXYZ"}
    for name in "AB":
        columns[name][rng.random(size) < 0.3] = 0
    whole = summed(columns, "ABCDEFG"[:parts])
    broken = rng.choice(size, wrong, replace=False)
    whole[broken] += rng.integers(1, 50, wrong)
    all_found = found({**columns, "T": whole})
    one = all_found[total("ABCDEFG"[:parts], "T")]
    assert np.flatnonzero(one.fails).tolist() == sorted(broken.tolist())
    assert len(all_found) == 1


@pytest.mark.full
@examples(10, full=300)
@given(seed=SEEDS, largest=st.sampled_from([3, 20, 100_000]))
def test_random_numbers_suggest_no_total(seed: int, largest: int) -> None:
    rng = np.random.default_rng(seed)
    assert found({name: rng.integers(0, largest, 100) for name in "ABCDEFGH"}) == {}


@examples(10, full=300)
@given(seed=SEEDS)
def test_what_is_found_says_all_that_any_total_says(seed: int) -> None:
    """Against all sums of two and three: each that holds without exceptions is a combination of those found."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(1, 1000, 60) for name in "ABC"}
    columns["D"] = columns["A"] + columns["B"]
    columns["E"] = columns["D"] + columns["C"]
    columns["F"] = 12 * columns["A"]
    names = list(columns)
    holding = [
        [(name in parts) - (name == whole) for name in names]
        for whole in names
        for count in (2, 3)
        for parts in combinations([name for name in names if name != whole], count)
        if np.array_equal(summed(columns, parts), columns[whole])
    ]
    vectors = []
    for parts, (whole, times) in found(columns):
        assert np.array_equal(sum(factor * columns[name] for name, factor in parts), times * columns[whole])
        vectors.append([dict(parts).get(name, 0) - times * (name == whole) for name in names])
    rank = np.linalg.matrix_rank(np.array(vectors))
    assert len(holding) >= 3
    assert rank == len(vectors) == 3  # none follows from others, and nothing is lacking
    assert np.linalg.matrix_rank(np.array([*vectors, *holding])) == rank


def test_small_factors_differences_and_multiples() -> None:
    rng = np.random.default_rng(5)
    a, b, c = rng.integers(1, 5000, (3, 120))
    c *= 3
    columns = {"A": a, "B": b, "C": c, "Net": a + 7000 - b, "Year": 12 * b}
    columns["Gross"] = columns["Net"] + b
    columns["Mixed"] = 2 * a + c // 3 * 3
    seen = found(columns)
    assert (frozenset({("B", 12)}), ("Year", 1)) in seen
    assert total(("Net", "B"), "Gross") in seen
    assert (frozenset({("A", 2), ("C", 1)}), ("Mixed", 1)) in seen


def test_too_many_exceptions_or_too_little_to_tell() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.integers(1, 1000, (2, 100))
    whole = a + b
    most = int(MOST_EXCEPTIONS * 100)
    whole[:most] += 1
    assert found({"A": a, "B": b, "T": whole})
    whole[: most + 1] = (a + b)[: most + 1] + 1
    assert found({"A": a, "B": b, "T": whole}) == {}
    rare = np.where(np.arange(100) < 2, 5, 0)
    # two records with a third part are exceptions of the shorter total, and too few for the longer one
    assert [parts for parts, _ in found({"A": a, "B": b, "R": rare, "T": a + b + rare})] == [
        frozenset({("A", 1), ("B", 1)})
    ]


@pytest.mark.parametrize(("size", "likely"), [(12, False), (60, True)])
def test_what_chance_explains_is_not_proposed(size: int, likely: bool) -> None:
    """Of sums of 1 and 2, three in eight are right by chance: twelve of them say nothing, sixty do."""
    rng = np.random.default_rng(13)
    a, b = rng.integers(1, 3, (2, size))
    assert (total("AB", "T") in found({"A": a, "B": b, "T": a + b})) is likely


def test_a_rare_part_is_found_by_what_lacks() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.integers(1, 1000, (2, 3000))
    rare = np.where(rng.random(3000) < 0.005, rng.integers(1, 99, 3000), 0)
    seen = found({"A": a, "B": b, "R": rare, "T": a + b + rare})
    assert list(seen) == [total("ABR", "T")]
    assert not next(iter(seen.values())).fails.any()


def test_decimals_are_added_exactly_and_missing_parts_are_left_out() -> None:
    rng = np.random.default_rng(8)
    cents = rng.integers(1, 10**6, (2, 150))
    text = [[f"{value / 100:.2f}" for value in one.tolist()] for one in (*cents, cents.sum(axis=0))]
    holed: list[str | None] = [None if at % 3 == 0 else value for at, value in enumerate(text[0])]
    search = SumSearch(list(profiles({"A": holed, "B": list(text[1]), "T": list(text[2])}).values()))
    (one,) = search.find()
    assert one.applies.sum() == 100
    assert not one.fails.any()


STATES = [(name, what) for name in "ABCD" for what in ("zero", "above-zero", "missing", "there")]


@given(
    steps=st.lists(st.tuples(st.sampled_from(STATES), st.sampled_from(STATES)), max_size=12, unique=True),
    count=st.integers(0, 4),
)
def test_what_is_left_out_follows(steps: list[tuple[FieldState, FieldState]], count: int) -> None:
    """Every assignment of fields to values, natural and complete, that obeys what is left obeys what is left out."""
    steps = [step for step in steps if step[0][0] != step[1][0] and {w for _, w in step} <= {"zero", "above-zero"}]
    nothing = np.zeros(1, dtype=np.bool_)
    rules = [
        SuggestedRule("if-then", ("A", "B"), str(at), (), "", (), nothing, nothing, "fair", "", steps=(step,))
        for at, step in enumerate(steps[count:])
    ]
    kept, fewer = leaner(rules, steps[:count], "ABCD")
    assert len(kept) + fewer == len(rules)
    left = [step for rule in kept for step in rule.steps] + steps[:count]

    def obeys(zeros: tuple[bool, ...], asked: list[tuple[FieldState, FieldState]]) -> bool:
        holds = {(name, "zero"): zero for name, zero in zip("ABCD", zeros, strict=True)}
        holds |= {(name, "above-zero"): not zero for name, zero in zip("ABCD", zeros, strict=True)}
        return all(not holds[one] or holds[two] for one, two in asked)

    for number in range(16):
        zeros = tuple(bool(number >> at & 1) for at in range(4))
        assert not obeys(zeros, left) or obeys(zeros, steps)


@pytest.mark.parametrize("order", [1, -1])
def test_a_chain_leaves_out_the_short_cut(order: int) -> None:
    nothing = np.zeros(1, dtype=np.bool_)
    steps = [(("A", "zero"), ("B", "zero")), (("B", "zero"), ("C", "zero")), (("A", "zero"), ("C", "zero"))]
    rules = [
        SuggestedRule("if-then", ("A",), str(at), (), "", (), nothing, nothing, "fair", "", steps=(step,))
        for at, step in enumerate(steps)
    ][::order]
    kept, fewer = leaner(rules, (), ())
    assert (sorted(rule.name for rule in kept), fewer) == (["0", "1"], 1)


@examples(20, full=1000)
@given(seed=SEEDS)
def test_sums_that_elimination_finds_hold_and_lack_none(seed: int) -> None:
    """Totals of totals, each planted; what is found is what was planted, however long."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 9))
    table = [*rng.integers(1, 10_000, (size, 40))]
    planted = set()
    for _ in range(3):
        parts = tuple(sorted(rng.choice(len(table), int(rng.integers(2, len(table))), replace=False).tolist()))
        planted.add((parts, len(table)))
        table.append(np.sum([table[at] for at in parts], axis=0))
    columns = np.array(table).T
    found = list(unit_relations(columns))
    assert len(found) <= 3
    for parts, whole in found:
        assert np.array_equal(columns[:, list(parts)].sum(axis=1), columns[:, whole])
    # each says as much in as few terms as one that was planted
    assert sum(len(parts) for parts, _ in found) <= sum(len(parts) for parts, _ in planted)


@examples(30, full=2000)
@given(seed=SEEDS, centre=st.sampled_from([1.5, 2.0, 2.33, 2.7]))
def test_tails_are_no_errors(seed: int, centre: float) -> None:
    """Of numbers that are distributed across 0, those below it are not taken for errors, with rare exceptions."""
    rng = np.random.default_rng(seed)
    numbers = np.rint(1000 * rng.normal(centre, 1, 4000)).astype(np.int64)
    below = int((numbers < 0).sum())
    assert below < 8 or not errors(numbers)


@pytest.mark.parametrize(
    ("wrong", "are"), [([], True), ([-50], True), ([-1] * 2, True), ([-1] * 19, False), ([-30] * 25, False)]
)
def test_errors_stand_apart_and_are_few(wrong: list[int], are: bool) -> None:
    assert errors(np.array([*range(1, 100)] * 20 + wrong)) is are
    assert errors(np.array([*range(800, 2780), -30])) is True
