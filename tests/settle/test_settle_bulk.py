"""Decimals as columns, and the search over many groups: the same as for one number and one group."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples, spread
from masktron.constraints import Atom, Linear, Monomial, Polynomial, Product, Range, Whole
from masktron.settle.aim import aim
from masktron.settle.bulk import Bulk, Offers, aimed
from masktron.settle.candidate_search import NEAR
from masktron.settle.decimals import LARGEST, Decimals, total
from masktron.settle.grid import Grid
from masktron.settle.lattice import CLOSE, FEW_LOOKED, Search
from masktron.settle.residual import Free, residual
from masktron.settle.residual_rules import ResidualRule, satisfies
from masktron.settle.system import equalities, recipes
from masktron.sources.lexical import parse_number, reads_alike

GRIDS = (Grid(0), Grid(2), Grid(2, padded=True), Grid(9, digits=9), Grid(12, digits=15), Grid(4, whole=True))
NUMBERS = st.one_of(
    st.floats(-1e9, 1e9),
    st.integers(-(10**6), 10**6).map(float),
    st.integers(-4000, 4000).map(lambda n: n / 8),
    st.sampled_from([0.0, 1e-7, -1e-7, 99.995, 0.0050000001, 123456789.5]),
)


def exact(numbers: Decimals) -> list[Fraction | None]:
    """Each number, None where it is not known."""
    rows = zip(*(part.ravel().tolist() for part in (numbers.mantissa, numbers.places, numbers.known)), strict=True)
    return [Fraction(mantissa, 10**places) if known else None for mantissa, places, known in rows]


def flat(*numbers: Fraction) -> Decimals:
    """Decimals of some numbers, as long as they are."""
    parts = [Decimals.constant(number) for number in numbers]
    assert all(part is not None for part in parts)
    columns = zip(*((p.mantissa.item(), p.places.item(), p.known.item()) for p in parts if p), strict=True)
    mantissa, places, known = columns
    return Decimals(np.array(mantissa), np.array(places), np.array(known))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@given(st.lists(NUMBERS, min_size=1, max_size=8), st.lists(st.integers(-40, 40), min_size=1, max_size=4))
def test_numbers_near_a_value_are_those_of_the_grid(grid: Grid, values: list[float], steps: list[int]) -> None:
    found = Decimals.near(np.array(values)[:, None], grid, np.array(steps))
    known = np.broadcast_to(found.known, found.mantissa.shape)
    rows = iter(exact(Decimals(found.mantissa, np.broadcast_to(found.places, known.shape), known)))
    for value in values:
        walk = grid.walk(value)
        for step in steps:
            number = next(rows)
            expected = walk(step)
            assert expected is not None
            if number is None:
                assert 0 < abs(value) < 1e-6 or abs(value) > LARGEST / 10**3
            else:
                # where the value lies between two numbers of the grid, to a rounding error, either is near
                middle = abs(abs(grid.round(value) - Fraction(value)) * 2 - grid.step(value))
                assert number == expected or middle < abs(Fraction(value)) / 2**48


def test_numbers_fit_where_their_shown_zeros_do() -> None:
    numbers = [Fraction(10**13 + 7), Fraction(10**14 + 7), Fraction(10**14 + 3, 10), Fraction(-(2**53) + 1, 100)]
    assert flat(*numbers).fits(Grid(2, padded=True)).tolist() == [True, False, True, True]
    assert flat(*numbers).fits(Grid(2)).all()


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@given(st.lists(st.tuples(st.integers(-(10**13), 10**13), st.integers(0, 12)), min_size=1, max_size=20))
def test_decimals_are_written_and_read_as_single_numbers_are(grid: Grid, pairs: list[tuple[int, int]]) -> None:
    numbers = [Fraction(mantissa, 10**places) for mantissa, places in pairs]
    columns = flat(*numbers)
    texts = columns.spelled(grid).texts().tolist()
    assert texts == [grid.lexeme(number) for number in numbers]
    assert columns.doubles().tolist() == [parse_number(text) for text in texts]
    assert columns.alike().tolist() == [reads_alike(text) for text in texts]
    assert columns.spelled(grid).alike.tolist() == [reads_alike(text) for text in texts]
    assert columns.spelled(grid).lengths.tolist() == list(map(len, texts))


def test_no_numbers_have_no_texts() -> None:
    nothing = Decimals(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))
    assert nothing.spelled(Grid(2)).texts().tolist() == []


@given(st.lists(st.tuples(st.decimals(-(10**7), 10**7, places=4), st.decimals(-99, 99, places=3)), min_size=1))
def test_sums_and_products_are_exact(pairs: Sequence[tuple[object, object]]) -> None:
    one = [Fraction(str(first)) for first, _ in pairs]
    two = [Fraction(str(second)) for _, second in pairs]
    assert exact(flat(*one) * flat(*two)) == list(map(operator.mul, one, two))
    assert exact(total([flat(*one), flat(*two), flat(*one)])) == [a + b + a for a, b in zip(one, two, strict=True)]


def test_what_is_too_long_is_not_known() -> None:
    large = flat(Fraction(2**52), Fraction(3))
    assert exact(large * large) == [None, Fraction(9)]
    assert exact(large + large) == [None, Fraction(6)]
    tiny = flat(Fraction(1, 10**12), Fraction(1, 10**11))
    assert exact(tiny * tiny) == [None, Fraction(1, 10**22)]
    assert exact(flat(Fraction(2**52)) + flat(Fraction(1, 10))) == [None]
    assert Decimals.constant(Fraction(1, 3)) is None
    assert Decimals.constant(Fraction(2**53)) is None


@given(st.lists(st.fractions(-1000, 1000).map(lambda f: Fraction(round(f * 10**5), 10**5)), min_size=1))
def test_rounding_is_half_to_even(numbers: list[Fraction]) -> None:
    grid = Grid(3)
    numbers += [Fraction(5, 10**4), Fraction(15, 10**4), Fraction(-25, 10**4)]
    assert exact(flat(*numbers).rounded(grid)) == [grid.settled(number, near=True) for number in numbers]
    on = exact(flat(*numbers).on(grid))
    assert on == [number if grid.holds(number) else None for number in numbers]


# the search

SUM = Linear((("A", Fraction(1)), ("B", Fraction(1)), ("T", Fraction(-1))), "=", Fraction(0))
PRODUCT = Product((Monomial(Fraction(1), (("P", 1), ("Q", 1))),), "=", Monomial(Fraction(1), (("R", 1),)))
HALF = Linear((("A", Fraction(1)), ("B", Fraction(-2))), "=", Fraction(0))
ABOUT = tuple(
    Polynomial((Monomial(Fraction(s), (("P", 1), ("Q", 1))), Monomial(Fraction(-s), (("R", 1),)), *rest), "<=")
    for s, rest in ((1, (Monomial(Fraction(-1, 2), ()),)), (-1, (Monomial(Fraction(-1, 2), ()),)))
)


def searched(grids: dict[str, Grid], *atoms: Atom, codes: dict[str, frozenset[Fraction]] | None = None) -> Search:
    rule = residual(0, (atoms,), {}, Free(frozenset(grids), {}, lambda atom: None))
    rules: tuple[ResidualRule, ...] = () if rule is None else (rule,)
    tied = frozenset(grids) if any(getattr(atom, "relation", "") == "=" for atom in atoms) else frozenset()
    return Search(grids, dict.fromkeys(grids, 100.0), tied, codes or {}, rules)


def bulk_of(search: Search) -> Bulk | None:
    conditions = tuple(c for rule in search.rules for c in rule.disjuncts[0].conditions)
    ways = recipes(list(search.grids), equalities(conditions, search.grids), search.grids)
    return Bulk.of(replace(search, ways=ways))


def written(search: Search, offers: Offers) -> list[tuple[int, dict[str, str]]]:
    texts = {name: own.spelled(search.grids[name]).texts().tolist() for name, own in offers.numbers.items()}
    return [(owner, {n: own[at] for n, own in texts.items()}) for at, owner in enumerate(offers.owners.tolist())]


CASES = [
    searched({"A": Grid(0), "B": Grid(0), "T": Grid(0)}, SUM),
    searched({"A": Grid(2), "B": Grid(2), "T": Grid(2)}, SUM),
    searched({"A": Grid(2), "B": Grid(2, padded=True), "T": Grid(3)}, SUM, Range("A", Fraction(0), None)),
    searched({"P": Grid(0), "Q": Grid(9, digits=9), "R": Grid(9, digits=9)}, PRODUCT),
    searched({"P": Grid(2), "Q": Grid(2), "R": Grid(4)}, PRODUCT, Range("P", Fraction(1), Fraction(50))),
    searched({"P": Grid(0), "Q": Grid(2), "R": Grid(0)}, *ABOUT),
    searched({"P": Grid(0), "Q": Grid(12, digits=9), "R": Grid(1)}, *ABOUT),
    searched({"A": Grid(0), "B": Grid(0)}, HALF, codes={"B": frozenset({Fraction(7)})}),
    searched(
        {"A": Grid(2), "B": Grid(12, digits=15)}, Linear((("A", Fraction(1)), ("B", Fraction(-1))), "<", Fraction(0))
    ),
    searched({"A": Grid(2), "B": Grid(1)}, Whole("A")),
]


@pytest.mark.parametrize("search", spread(CASES, every=2), ids=range(len(CASES)))
@examples(1, full=12)
@given(st.lists(st.tuples(*[st.floats(-60, 60).map(lambda x: round(x, 4) + 0.0000317)] * 3), min_size=1, max_size=6))
def test_candidates_are_those_of_the_search_of_one_group(
    search: Search, targets: list[tuple[float, float, float]]
) -> None:
    bulk = bulk_of(search)
    assert bulk is not None
    columns = {name: np.array([target[at] for target in targets]) for at, name in enumerate(search.grids)}
    ways = [recipe for recipe, _ in bulk.recipes]
    found = {"rounded": bulk.rounded(columns), "lattice": bulk.around(columns, 0, FEW_LOOKED * len(ways))}
    for group, target in enumerate(targets):
        one = dict(zip(search.grids, target, strict=False))
        alone = [c for c in replace(search, ways=ways).near(one, (0.0, bulk.within)) if c.alike]
        rounded = [dict(c.lexemes) for c in alone if c.stage == "rounded"]
        for stage, offers in found.items():
            own = of_group(search, offers, group)
            expected = [dict(c.lexemes) for c in alone if c.stage == stage]
            new = [texts for texts in own if stage == "rounded" or texts not in rounded]
            assert stage == "lattice" or len(new) == len(expected)
            if not any(step.divisor for _, steps in bulk.recipes for step in steps):
                assert new == expected[: len(new)]
            else:  # a quotient between two numbers of the grid, to a rounding error, may become either
                far = [[distance(search, one, texts) for texts in texts_of] for texts_of in (new, expected)]
                assert far[0] == pytest.approx(far[1][: len(new)], abs=1e-4)


def distance(search: Search, target: dict[str, float], texts: dict[str, str]) -> float:
    """Squared distance from a target, in units of the spreads."""
    return sum(((float(texts[name]) - target[name]) / search.scale[name]) ** 2 for name in target)


def of_group(search: Search, offers: Offers, group: int) -> list[dict[str, str]]:
    """The candidates of a group without repetitions."""
    own = {tuple(texts.items()): None for owner, texts in written(search, offers) if owner == group}
    return [dict(texts) for texts in own]


def test_later_points_follow_those_before() -> None:
    search = CASES[3]
    bulk = bulk_of(search)
    assert bulk is not None
    targets = {"P": np.array([12.3, 7.9]), "Q": np.array([0.1234567891, 3.3]), "R": np.array([1.52, 26.0])}
    every = written(search, bulk.around(targets, 0, 50))
    parts = [*written(search, bulk.around(targets, 0, 6)), *written(search, bulk.around(targets, 6, 44))]
    for group in (0, 1):
        assert [t for owner, t in every if owner == group] == [t for owner, t in parts if owner == group]
    assert len({tuple(texts.items()) for _, texts in every}) == len(every) > 50


def test_lists_of_values_are_left_to_the_search_of_one_group() -> None:
    listed = searched({"A": Grid(0).only(["1", "2"]), "B": Grid(0), "T": Grid(0)}, SUM)
    assert bulk_of(listed) is None


def test_quotients_are_candidates_where_they_are_nearer() -> None:
    targets = {"P": np.array([12.4]), "Q": np.array([80.0]), "R": np.array([992.0])}
    search = replace(CASES[5], scale={"P": 1.0, "Q": 100.0, "R": 20.0})
    bulk = bulk_of(search)
    assert bulk is not None
    assert bulk.within == NEAR
    assert written(search, bulk.rounded(targets))[0] == (0, {"P": "12", "Q": "82.67", "R": "992"})


def test_quotients_that_no_column_holds_leave_what_is_far_to_the_search_of_one_group() -> None:
    targets = {"P": np.array([12.4, 12.0001]), "Q": np.array([80.0, 80.0]), "R": np.array([992.0, 960.0])}
    bulk = bulk_of(replace(CASES[3], scale={"P": 1.0, "Q": 100.0, "R": 50.0}))
    assert bulk is not None
    assert bulk.within == CLOSE
    assert {pivot for recipe, _ in bulk.recipes for pivot, _ in recipe.steps} == {"P", "R"}
    assert set(bulk.rounded(targets).owners.tolist()) == {1}


@given(st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(-500, 500)), min_size=1), st.integers(0, 4))
def test_a_quotient_is_the_exact_one_or_the_nearest(pairs: list[tuple[int, int]], decimals: int) -> None:
    grid = Grid(decimals)
    rest, by = (flat(*(Fraction(pair[at], 100) for pair in pairs)) for at in (0, 1))
    quotients = [Fraction(one, two) if two else None for one, two in pairs]
    assert exact(rest.over(by, grid, near=False)) == [
        q if q is not None and grid.holds(q) else None for q in quotients
    ]
    for found, quotient in zip(exact(rest.over(by, grid, near=True)), quotients, strict=True):
        assert (found is None) == (quotient is None)
        if found is not None and quotient is not None:
            assert abs(found - quotient) <= grid.step(0.0) * Fraction(500_001, 1_000_000)


def test_what_is_too_long_with_its_zeros_is_left_to_the_search_of_one_group() -> None:
    search = searched({"A": Grid(2, padded=True, whole=True), "B": Grid(0)}, Whole("A"))
    bulk = bulk_of(search)
    assert bulk is not None
    targets = {"A": np.array([1.2e13, 1.2e14]), "B": np.array([4.0, 5.0])}
    assert written(search, bulk.rounded(targets)) == [(0, {"A": "12000000000000.00", "B": "4"})]
    assert set(bulk.around(targets, 0, 50).owners.tolist()) == {0}


@given(st.lists(st.tuples(st.floats(1, 90), st.floats(1, 90), st.floats(1, 5000)), min_size=1, max_size=8))
def test_targets_move_to_the_solution_nearest_to_the_means(rows: list[tuple[float, float, float]]) -> None:
    search = CASES[4]
    conditions = tuple(c for rule in search.rules for c in rule.disjuncts[0].conditions)
    ways = recipes(list(search.grids), equalities(conditions, search.grids), search.grids)
    columns = {name: np.array([row[at] for row in rows]) for at, name in enumerate("PQR")}
    moved = aimed(columns, columns, replace(search, ways=ways))
    for at, row in enumerate(rows):
        one = dict(zip("PQR", row, strict=True))
        alone = aim(one, one, ways, search.scale, lambda values: satisfies(search.rules, values))
        own = {name: float(values[at]) for name, values in moved.items()}
        gap = [sum(((v[n] - one[n]) / search.scale[n]) ** 2 for n in "PQR") ** 0.5 for v in (own, alone)]
        assert gap[0] == pytest.approx(gap[1], rel=1e-6, abs=1e-9)


def test_linear_equalities_leave_targets_where_they_are() -> None:
    targets = {name: np.array([1.5, 2.5]) for name in "ABT"}
    conditions = tuple(c for rule in CASES[0].rules for c in rule.disjuncts[0].conditions)
    assert aimed(targets, targets, replace(CASES[0], ways=recipes("ABT", equalities(conditions)))) == targets
