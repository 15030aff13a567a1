"""Grids, recipes and the search: exact, nearest first, and readable alike by every engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import examples
from made_columns import column_of_cells
from masktron.classify.forms import holds, variables_of_atom
from masktron.constraints import Atom, Form, Linear, Monomial, Product, Range
from masktron.errors import InfeasibleError
from masktron.settle.grid import Grid, fraction_digits, grid_of, readable, scales, significant_digits
from masktron.settle.lattice import MAX_LOOKED, Lexemes, Prototype, Search, ball
from masktron.settle.prototypes import MAX_ROWS, BlockRecords, settle
from masktron.settle.residual import Free, residual
from masktron.settle.residual_rules import Condition, ResidualRule
from masktron.settle.system import MAX_RECIPES, Equality, Recipe, equalities, recipes
from masktron.sources.column import Column
from masktron.sources.lexical import reads_alike
from refusals import refused

TOTAL = Linear((("A", Fraction(1)), ("B", Fraction(1)), ("T", Fraction(-1))), "=", Fraction(0))
PRODUCT = Product((Monomial(Fraction(1), (("P", 1), ("Q", 1))),), "=", Monomial(Fraction(1), (("R", 1),)))


def rule_of(form: Form, names: Iterable[str]) -> ResidualRule | None:
    """What a rule asks of free numbers."""
    return residual(0, form, {}, Free(frozenset(names), {}, lambda atom: None))


def asked(*atoms: Atom) -> tuple[Condition, ...]:
    """What a conjunction asks of its variables, all of them free."""
    rule = rule_of((atoms,), {name for atom in atoms for name in variables_of_atom(atom)})
    return rule.disjuncts[0].conditions if rule else ()


def column(*lexemes: str) -> Column:
    return column_of_cells(lexemes)


# grids


@given(st.floats(-1e9, 1e9), st.integers(0, 6))
def test_rounding_is_to_the_nearest_point(value: float, decimals: int) -> None:
    grid = Grid(decimals)
    rounded = grid.round(value)
    assert grid.holds(rounded)
    assert abs(rounded - Fraction(value)) <= grid.step(value) / 2


@given(st.floats(1e-6, 1e12), st.booleans())
def test_long_fields_keep_their_significant_digits(size: float, negative: bool) -> None:
    value = -size if negative else size
    grid = Grid(15, digits=9)
    rounded = grid.round(value)
    assert significant_digits(rounded) <= 9
    assert abs(float(rounded) - value) <= abs(value) * 1e-8


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9))
def test_a_lexeme_denotes_its_number(number: Decimal) -> None:
    value = Fraction(number)
    assert Fraction(Grid(4).lexeme(value)) == value
    assert "e" not in Grid(4).lexeme(value).lower()
    padded = Grid(4, padded=True).lexeme(value)
    assert Fraction(padded) == value
    assert len(padded.partition(".")[2]) == 4


def test_the_grid_is_that_of_the_original() -> None:
    assert grid_of(column("1", "-20"), tied=False) == Grid(0)
    assert grid_of(column("1.50", "2.25"), tied=True) == Grid(2, padded=True)
    assert grid_of(column("1.5", "2.25"), tied=True) == Grid(2)
    assert grid_of(column("0.123456789"), tied=True).digits == 9
    assert grid_of(column("0.123456789"), tied=False).digits == 15


def test_a_whole_grid_writes_integers_in_the_style_of_the_field() -> None:
    grid = Grid(2, padded=True, whole=True)
    assert grid.lexeme(grid.round(3.7)) == "4.00"
    assert grid.step(3.7) == 1
    assert grid.finer(1) == grid


@given(st.integers(-1074, 1000), st.integers(2, 9))
def test_scales_are_those_of_the_numbers(power: int, count: int) -> None:
    values = np.ldexp(np.arange(float(count)), power)[:, None]
    expected = np.arange(float(count)).std()
    assert scales(values)[0] == np.ldexp(expected, power) or (power < -1070 and scales(values)[0] >= 0)
    assert scales(np.full((3, 1), np.nan)) == 1
    assert scales(np.full((3, 1), 7.0)) == 1


def test_only_decimals_get_a_finer_grid() -> None:
    assert Grid(2).finer(1).decimals == 3
    assert Grid(0).finer(1) == Grid(0)
    assert Grid(12, digits=9).finer(2) == Grid(12, digits=9)


@given(st.floats(0.001, 1000))
def test_free_long_values_are_read_alike(value: float) -> None:
    grid = Grid(17, digits=15)
    assert reads_alike(readable(grid, grid.round(value)))


def test_digits_of_numbers() -> None:
    assert fraction_digits(Fraction(1, 8)) == 3
    assert fraction_digits(Fraction(1, 3)) is None
    assert significant_digits(Fraction(1500)) == 2
    assert significant_digits(Fraction(1, 3)) == float("inf")


# recipes


def test_totals_and_products_are_solved_before_their_parts() -> None:
    (linear,), (product,) = equalities(asked(TOTAL)), equalities(asked(PRODUCT))
    assert linear.pivots[0] == "T"
    assert product.pivots[0] == "R"
    assert recipes(["A", "B", "T"], [linear])[0].free == ("A", "B")


@given(st.tuples(*[st.integers(-1000, 1000)] * 3))
def test_every_recipe_satisfies_every_equality(numbers: tuple[int, int, int]) -> None:
    chain = Linear((("R", Fraction(1)), ("S", Fraction(1)), ("T", Fraction(-1))), "=", Fraction(5))
    system = equalities(asked(PRODUCT, chain))
    ways = recipes(["P", "Q", "R", "S", "T"], system)
    assert len(ways) > 1
    for way in ways:
        values = way.complete(dict(zip(way.free, map(Fraction, numbers), strict=False)))
        if values is None:
            assert 0 in numbers
            continue
        assert values["P"] * values["Q"] == values["R"]
        assert values["R"] + values["S"] - values["T"] == 5


def test_a_total_of_totals_is_solved_in_order() -> None:
    upper = Linear((("T", Fraction(1)), ("C", Fraction(1)), ("U", Fraction(-1))), "=", Fraction(0))
    way = recipes(["A", "B", "T", "C", "U"], equalities(asked(upper, TOTAL)))[0]
    assert way.free == ("A", "B", "C")
    assert [pivot for pivot, _ in way.steps] == ["T", "U"]


@pytest.mark.full
@examples(6, full=100)
@given(st.integers(2, 24), st.booleans())
def test_breakdowns_of_one_total_are_all_solved(count: int, chained: bool) -> None:
    one = Fraction(1)
    totals = [f"T{at + 1}" if chained else "T0" for at in range(count)]
    parts = [f"T{at}" if chained else f"B{at}" for at in range(count)]
    atoms = [
        Linear(tuple(sorted({f"A{at}": one, part: one, total: -one}.items())), "=", Fraction(0))
        for at, (part, total) in enumerate(zip(parts, totals, strict=True))
    ]
    names = sorted({name for atom in atoms for name, _ in atom.terms})
    ways = recipes(names, equalities(asked(*atoms)))
    assert len(ways) > 1
    assert len({way.free for way in ways}) == len(ways)
    assert all(len(way.steps) == len(equalities(asked(*atoms))) for way in ways)


def test_the_recipes_of_many_equalities_solve_for_different_variables() -> None:
    products = [
        Product(
            (Monomial(Fraction(1), ((f"P{at}", 1), (f"Q{at}", 1))),), "=", Monomial(Fraction(1), ((f"R{at}", 1),))
        )
        for at in range(6)
    ]
    names = [f"{letter}{at}" for letter in "PQR" for at in range(6)]
    ways = recipes(names, equalities(asked(*products)))
    assert len(ways) == MAX_RECIPES
    assert len({pivot for way in ways for pivot, _ in way.steps}) >= 6 + MAX_RECIPES - 1
    grids = {name: Grid(12, digits=9) if name == "Q3" else Grid(0) for name in names}
    best = recipes(names, equalities(asked(*products)), grids)[0]
    assert [pivot for pivot, _ in best.steps if pivot.endswith("3")] == ["Q3"], "a fraction takes any number"


def test_linear_circles_are_solved_by_elimination() -> None:
    one = Fraction(1)
    twice = Linear((("A", 2 * one), ("B", one), ("T", -one)), "=", Fraction(0))
    private = Linear((("T", one), ("Z", -one)), "=", Fraction(7))
    square = Linear((("A", one), ("B", -one), ("T", one)), "=", Fraction(0))
    implied = Linear((("A", one), ("B", 2 * one), ("T", -2 * one)), "=", Fraction(0))
    for order in itertools.permutations([TOTAL, twice, private]):
        for way in recipes(["A", "B", "T", "Z"], equalities(asked(*order))):
            assert len(way.free) == 1
            assert way.complete({way.free[0]: Fraction(5)})["A"] == 0  # type: ignore[index]
    (way,) = recipes(["A", "B", "T"], equalities(asked(TOTAL, twice, square, implied)))
    assert way.complete({name: Fraction(3) for name in way.free})["A"] == 0  # type: ignore[index]


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 5))
def test_every_solvable_linear_system_is_solved(seed: int, variables: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    names = [f"V{at}" for at in range(variables)]
    point = dict(zip(names, map(Fraction, generator.integers(-9, 10, variables).tolist()), strict=True))
    atoms = []
    for coefficients in generator.integers(-2, 3, size=(count, variables)).tolist():
        terms = tuple((name, Fraction(c)) for name, c in zip(names, coefficients, strict=True) if c)
        if len(terms) > 1:
            atoms.append(Linear(terms, "=", sum((c * point[name] for name, c in terms), Fraction(0))))
    ways = recipes(names, equalities(asked(*atoms)))
    assert ways
    for way in ways:
        values = way.complete({name: point[name] + 3 for name in way.free})
        assert values is not None
        assert all(holds(((atom,),), values) for atom in atoms)


def test_circular_equalities_are_solved_as_far_as_possible() -> None:
    other = Linear((("A", Fraction(2)), ("B", Fraction(1)), ("T", Fraction(-1))), "=", Fraction(0))
    square = Product((Monomial(Fraction(1), (("A", 2),)),), "=", Monomial(Fraction(1), (("B", 1), ("T", 1))))
    ways = recipes(["A", "B", "T"], equalities(asked(TOTAL, other, square)))
    assert ways
    assert all(len(way.steps) <= 3 for way in ways)


def test_constants_go_into_the_coefficients() -> None:
    free = Free(frozenset("PR"), {}, lambda atom: None)
    rule = residual(0, ((PRODUCT,),), {"Q": "3.0"}, free)
    assert rule is not None
    (product,) = equalities(rule.disjuncts[0].conditions)
    assert product.variables == {"P", "R"}
    assert product.solve("R", {"P": Fraction(5)}) == 15
    assert product.solve("P", {"R": Fraction(6)}) == 2


def test_division_by_zero_has_no_solution() -> None:
    (product,) = equalities(asked(PRODUCT))
    assert product.solve("P", {"Q": Fraction(0), "R": Fraction(1)}) is None
    quotient = Equality((Monomial(Fraction(1), (("A", -1),)), Monomial(Fraction(-1), (("B", 1),))))
    assert quotient.solve("B", {"A": Fraction(0)}) is None


def test_ranges_are_no_equalities() -> None:
    assert equalities(asked(Range("A", Fraction(0), Fraction(1)), TOTAL, TOTAL)) == equalities(asked(TOTAL))


# search


def search(grid: Grid, names: str, *atoms: Atom, ways: Sequence[Recipe] | None = None) -> Search:
    rule = rule_of((atoms,), names)
    return Search(
        grids=dict.fromkeys(names, grid),
        scale=dict.fromkeys(names, 1.0),
        tied=frozenset(names),
        codes={},
        rules=(rule,) if rule else (),
        ways=recipes(list(names), []) if ways is None else ways,
    )


def written(candidate: Prototype) -> dict[str, str]:
    return {name: lexeme for name, lexeme in candidate.lexemes.items() if lexeme is not None}


@given(st.tuples(st.floats(-99, 99), st.floats(-99, 99)))
@example((2.1875, -1.8125))
@example((-87.0625, 86.1875))
def test_two_decimal_sums_are_found_that_hold_in_doubles(parts: tuple[float, float]) -> None:
    target = {"A": parts[0], "B": parts[1], "T": parts[0] + parts[1]}
    ways = recipes(["A", "B", "T"], equalities(asked(TOTAL)))

    def adds_up(candidate: dict[str, str]) -> bool:
        return float(candidate["A"]) + float(candidate["B"]) == float(candidate["T"])

    every = search(Grid(2), "ABT", ways=ways)
    # where two large numbers nearly cancel, few points near them add up: numbers that doubles hold exactly do
    offers = itertools.chain(every.near(target), every.coarser().near(target))
    # the others are tried last
    found = next((offer for offer in offers if offer.alike and adds_up(written(offer))), None)
    assert found is not None
    assert found.stage in ("rounded", "lattice")
    assert all(reads_alike(lexeme) for lexeme in written(found).values())
    assert all(abs(float(written(found)[name]) - target[name]) <= 0.25 for name in "ABT")


@given(st.integers(1, 9999), st.floats(1e-4, 0.9))
def test_products_are_exact_in_doubles(factor: int, ratio: float) -> None:
    target = {"P": float(factor), "Q": ratio, "R": factor * ratio}
    grids = {"P": Grid(0), "Q": Grid(17, digits=9), "R": Grid(17, digits=9)}
    ways = recipes(["P", "Q", "R"], equalities(asked(PRODUCT)))
    offers = itertools.islice(
        Search(grids, dict.fromkeys("PQR", 1.0), frozenset("PQR"), {}, (), ways).near(target), 30
    )
    assert any(float(written(o)["P"]) * float(written(o)["Q"]) == float(written(o)["R"]) for o in offers)


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_the_lattice_is_walked_by_distance(a: float, b: float) -> None:
    assume(abs(a % 1 - 0.5) > 1e-6 and abs(b % 1 - 0.5) > 1e-6)
    target = {"A": a, "B": b}
    offers = list(itertools.islice(search(Grid(0), "AB").near(target), 25))
    distances = [(int(written(o)["A"]) - a) ** 2 + (int(written(o)["B"]) - b) ** 2 for o in offers]
    assert distances == sorted(distances)
    assert len({tuple(o.lexemes.values()) for o in offers}) == 25


def test_what_the_rules_refuse_is_not_offered() -> None:
    hunt = search(Grid(0), "A", Range("A", Fraction(10), None))
    first = next(hunt.near({"A": 7.2}))
    assert first.lexemes == {"A": "10"}
    assert first.stage == "lattice"


def test_decimals_get_finer_when_the_grid_has_no_solution() -> None:
    hunt = search(Grid(1), "A", Range("A", Fraction("0.11"), Fraction("0.13")))
    assert not list(hunt.near({"A": 0.12}))
    first = next(hunt.finer({"A": 0.12}))
    assert first.lexemes == {"A": "0.12"}
    assert first.stage == "finer"


def test_no_prototype_is_a_missing_code() -> None:
    hunt = replace(search(Grid(0), "A"), codes={"A": frozenset({Fraction(-9)})})
    first = next(hunt.near({"A": -9.1}))
    assert first.lexemes == {"A": "-10"}


def test_points_that_engines_read_differently_are_marked() -> None:
    offers = list(search(Grid(2), "A").near({"A": 1.14}))
    assert offers[0].lexemes == {"A": "1.14"}
    assert [offer.alike for offer in offers] == [reads_alike(written(offer)["A"]) for offer in offers]
    assert {offer.alike for offer in offers} == {True, False}


@pytest.mark.parametrize("dimensions", [1, 2, 3, 7, 30, 60])
def test_the_search_in_many_dimensions_is_bounded(dimensions: int) -> None:
    points = ball(dimensions, MAX_LOOKED)
    assert len(points) == MAX_LOOKED
    assert not points[0].any()
    assert len(np.unique(points, axis=0)) == len(points)
    assert (np.diff((points**2).sum(axis=1)) >= 0).all()
    assert (np.abs(points).sum(axis=1) == 1).sum() == 2 * dimensions, "every direction"


@given(st.lists(st.integers(-(10**8), 10**8), min_size=2, max_size=9), st.integers(1, 5), st.randoms())
def test_sums_on_coarser_grids_are_the_same_in_any_order(steps: list[int], decimals: int, random: Random) -> None:
    grid = Grid(decimals).coarser()
    numbers = [step * grid.step(0.0) for step in steps]
    assert all(Grid(decimals).holds(number) and grid.round(number) == number for number in numbers)
    values = [float(number) for number in numbers]
    random.shuffle(values)
    assert sum(values, 0.0) == sum(numbers)
    assert sum(values[1:], 0.0) - float(sum(numbers)) == -values[0]
    assert all(reads_alike(grid.lexeme(number)) for number in numbers)


def test_only_decimals_in_equalities_get_a_coarser_grid() -> None:
    hunt = replace(search(Grid(2), "AB"), tied=frozenset("A"))
    assert [hunt.coarser().grids[name].step(0.0) for name in "AB"] == [Fraction(1, 4), Fraction(1, 100)]
    for grid in (Grid(0), Grid(2, whole=True), Grid(9, digits=9), Grid(2).only(["1.25"])):
        assert grid.coarser() == grid


def test_differences_that_doubles_get_wrong_are_found_on_coarser_grids() -> None:
    target = {"A": 235.47, "B": -237.28, "T": -1.81}
    offers = search(Grid(2), "ABT", ways=recipes("ABT", equalities(asked(TOTAL)))).coarser().near(target)
    values = {name: float(lexeme) for name, lexeme in written(next(offers)).items()}
    assert values["A"] + values["B"] == values["T"]
    assert values["T"] - values["B"] == values["A"]


# groups


def block_of(caps: list[int], values: list[int], k: int) -> tuple[BlockRecords, Callable[[int], Iterator[Prototype]]]:
    columns = {"A": column(*map(str, values)), "CAP": column(*map(str, caps))}
    members = np.array_split(np.arange(len(caps)), len(caps) // k)
    targets = [float(np.mean([values[at] for at in group])) for group in members]
    records = BlockRecords(("A",), ("CAP",), columns, tuple(members))

    def candidates(group: int) -> Iterator[Prototype]:
        yield from search(Grid(0), "A").near({"A": targets[group]})
        distances = np.abs(columns["A"].values[members[group]] - targets[group])
        for record in members[group][np.argsort(distances, kind="stable")].tolist():
            yield records.held_by([record], "medoid")

    return records, candidates


@examples(10, full=100)
@given(st.lists(st.integers(1, 400), min_size=12, max_size=60), st.integers(2, 6), st.randoms(use_true_random=False))
def test_a_prototype_satisfies_every_context_of_its_group(caps: list[int], k: int, random: Random) -> None:
    records, candidates = block_of(caps, [random.randint(0, cap) for cap in caps], k)
    asked = 0

    def judge(rows: Sequence[Lexemes]) -> NDArray[np.bool_]:
        nonlocal asked
        assert 0 < len(rows) <= MAX_ROWS
        asked += len(rows)
        return np.array([int(row["A"] or 0) <= int(row["CAP"] or 0) for row in rows])

    settled = settle(records, candidates, judge)
    for group, members in enumerate(records.members):
        assert int(settled.lexemes[group, 0]) <= min(caps[at] for at in members)
        first = next(o for o in candidates(group))
        if int(first.lexemes["A"] or 0) <= min(caps[at] for at in members):
            assert settled.lexemes[group, 0] == first.lexemes["A"], "the first that fits is taken"


def test_contexts_are_not_multiplied_by_candidates() -> None:
    caps = [10**6 + 3000 - at for at in range(3000)]
    asked = 0

    def judge(rows: Sequence[Lexemes]) -> NDArray[np.bool_]:
        nonlocal asked
        asked += len(rows)
        return np.array([int(row["A"] or 0) <= int(row["CAP"] or 0) - 10**6 + 5 for row in rows])

    settle(*block_of(caps, [300] * 2999 + [2], 3000), judge)
    assert asked < 20_000


def test_no_candidate_at_all_is_infeasible() -> None:
    with refused(InfeasibleError, "unmasked-in-the-way", fields=("A",), conditions=("CAP",)):
        settle(*block_of([1, 2, 3, 4], [1, 2, 3, 4], 2), lambda rows: np.zeros(len(rows), dtype=bool))


def test_a_grid_of_certain_values_is_walked_in_order() -> None:
    grid = Grid(1).only(["5.0", "-9", "5", "12.5"])
    walk = grid.walk(5.9)
    assert [walk(offset) for offset in (-2, -1, 0, 1, 2)] == [None, -9, 5, Fraction("12.5"), None]
    assert grid.lexeme(Fraction(5)) == "5"
    assert grid.lexeme(Fraction(-9)) == "-9"
    assert grid.holds(Fraction("12.5"))
    assert not grid.holds(Fraction(6))
    assert grid.only(["12.5", "7"]).walk(0)(0) == Fraction("12.5")


def test_a_search_among_certain_values_offers_these_only() -> None:
    hunt = replace(search(Grid(0), "AB"), grids={"A": Grid(0).only(["0", "10", "30"]), "B": Grid(0)})
    offers = list(itertools.islice(hunt.near({"A": 14.0, "B": 2.2}), 12))
    assert offers[0].lexemes == {"A": "10", "B": "2"}
    assert {offer.lexemes["A"] for offer in offers} <= {"0", "10", "30"}
