"""Projections of targets on the conditions of a case, and the room that they leave for grids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import examples
from masktron.constraints import Monomial, Relation
from masktron.settle import case_projection
from masktron.settle.case_projection import CaseProjection
from masktron.settle.grid import Grid
from masktron.settle.lattice import Search
from masktron.settle.residual_rules import Disjunct, NumberComparison, ResidualRule, met
from masktron.settle.system import equalities, recipes

NAMES = ("A", "B", "C")


def comparison(
    terms: Sequence[tuple[int, str]], relation: Relation, constant: int | Fraction = 0
) -> NumberComparison:
    own = [Monomial(Fraction(c), tuple((name, 1) for name in names.split("*"))) for c, names in terms]
    return NumberComparison((*own, Monomial(Fraction(constant), ())) if constant else tuple(own), relation)


def search_of(conditions: Sequence[NumberComparison], grids: dict[str, Grid], scale: float = 10.0) -> Search:
    rule = ResidualRule(0, (Disjunct(0, tuple(conditions)),))
    return Search(grids, dict.fromkeys(grids, scale), frozenset(), {}, (rule,))


def nearest_of(conditions: Sequence[NumberComparison], grids: dict[str, Grid], size: float = 100.0) -> CaseProjection:
    ways = recipes(list(grids), equalities(conditions, grids), grids)
    search = replace(search_of(conditions, grids), ways=ways)
    found = CaseProjection.of(search, conditions, dict.fromkeys(grids, size))
    assert found is not None
    return found


@st.composite
def linear_cases(draw: st.DrawFn) -> list[NumberComparison]:
    """Inequalities with small coefficients, with a total or a difference in half of the cases."""
    found: list[NumberComparison] = []
    if draw(st.booleans()):
        found.append(comparison(draw(st.sampled_from([[(1, "A"), (1, "B"), (-1, "C")], [(1, "A"), (-1, "B")]])), "="))
    for _ in range(draw(st.integers(1, 3))):
        slopes = [(c, name) for name in NAMES if (c := draw(st.integers(-2, 2)))]
        assume(slopes)
        found.append(comparison(slopes, draw(st.sampled_from(["<=", "<"])), Fraction(draw(st.integers(-9, 9)), 2)))
    return found


def columns(point: Sequence[float]) -> dict[str, NDArray[np.float64]]:
    return {name: np.array([value]) for name, value in zip(NAMES, point, strict=True)}


TARGETS = st.lists(st.floats(-8, 8), min_size=3, max_size=3)


@examples(25, full=300)
@given(linear_cases(), TARGETS, st.sampled_from([Grid(0), Grid(2), Grid(12, digits=9)]))
def test_no_rounding_of_a_wide_projection_breaks_a_condition(
    conditions: list[NumberComparison], target: list[float], grid: Grid
) -> None:
    grids = dict.fromkeys(NAMES, grid)
    points, found = nearest_of(conditions, grids).project(columns(target), {}, wide=True)
    assume(found[0])
    recipe = recipes(list(NAMES), equalities(conditions, grids), grids)[0]
    steps = {name: grid.step(float(points[name][0])) for name in recipe.free}
    tried = 0
    for ups in itertools.product((0, 1), repeat=len(recipe.free)):
        free = {
            name: (Fraction(points[name][0]) // steps[name] + up) * steps[name]
            for name, up in zip(recipe.free, ups, strict=True)
        }
        near = all(abs(value - Fraction(points[name][0])) <= steps[name] / 2 for name, value in free.items())
        values = recipe.complete(free) if near else None
        if values is not None:
            tried += 1
            assert all(met(condition, values) for condition in conditions)
    assume(tried)


@examples(20, full=200)
@given(linear_cases(), TARGETS)
def test_no_point_of_the_grid_is_nearer_than_the_projection(
    conditions: list[NumberComparison], target: list[float]
) -> None:
    grids = dict.fromkeys(NAMES, Grid(0))
    points, found = nearest_of(conditions, grids).project(columns(target), {}, wide=False)
    moved = np.array([points[name][0] for name in NAMES])
    distance = np.linalg.norm(moved - target) if found[0] else np.inf
    box = np.array(list(itertools.product(range(-6, 7), repeat=3)))
    nearer = box[np.linalg.norm(box - np.array(target), axis=1) < distance - 1e-6]
    for point in nearer.tolist():
        values = {name: Fraction(value) for name, value in zip(NAMES, point, strict=True)}
        assert not all(met(condition, values) for condition in conditions)
    if found[0]:
        slack = Fraction(1, 10**6)
        for condition in conditions:
            eased = NumberComparison((*condition.terms, Monomial(-slack, ())), condition.relation)
            values = {name: Fraction(value) for name, value in zip(NAMES, moved.tolist(), strict=True)}
            left = sum(
                (t.coefficient * (values[t.powers[0][0]] if t.powers else 1) for t in condition.terms), Fraction(0)
            )
            assert met(eased, values) if condition.relation != "=" else abs(left) <= slack


def test_other_fields_are_added_row_by_row() -> None:
    conditions = [comparison([(2, "A"), (-1, "CAP")], "<=", -10), comparison([(-1, "B"), (1, "LOW")], "<")]
    nearest = nearest_of(conditions, {"A": Grid(0), "B": Grid(0)})
    assert [nearest.others(c) for c in nearest.conditions] == [(("CAP", -1.0),), (("LOW", 1.0),)]
    others = {conditions[0]: np.array([-9.0, -40.0]), conditions[1]: np.array([4.0, 2.0])}
    for wide in (True, False):
        points, found = nearest.project({"A": np.array([20.0, 1.0]), "B": np.array([0.0, 50.0])}, others, wide=wide)
        assert found.all()
        # 2 A is even, so that at most 18 is left of 19; B is whole and above 4
        assert points["A"] == pytest.approx([9.0, 1.0]) and points["B"] == pytest.approx([5.0, 50.0])


def test_what_excludes_each_other_has_no_point() -> None:
    conditions = [comparison([(1, "A"), (-1, "B")], "<"), comparison([(1, "B"), (-1, "A")], "<=", Fraction(1, 2))]
    nearest = nearest_of(conditions, {"A": Grid(0), "B": Grid(0)})
    targets = {"A": np.array([1.0, 5.0]), "B": np.array([1.0, 9.0])}
    points, found = nearest.project(targets, {}, wide=True)
    assert found.tolist() == [False, False]
    assert np.isnan([points["A"], points["B"]]).all()
    assert CaseProjection.of(search_of([], {"A": Grid(0)}), [], {"A": 1.0}) is None


def test_wide_projections_may_not_exist_where_narrow_ones_do() -> None:
    conditions = [comparison([(2, "A"), (3, "B")], "<=", -6), comparison([(-2, "A"), (-3, "B")], "<=", 6)]
    nearest = nearest_of(conditions, {"A": Grid(0), "B": Grid(0)})
    targets = {"A": np.array([1.0]), "B": np.array([1.0])}
    assert not nearest.project(targets, {}, wide=True)[1][0]
    points, found = nearest.project(targets, {}, wide=False)
    assert found[0] and 2 * points["A"][0] + 3 * points["B"][0] == pytest.approx(6.0)


@settings(max_examples=40)
@given(st.floats(0.5, 30), st.floats(0.5, 30), st.floats(-10, 900))
def test_a_product_is_met_where_no_small_move_along_it_is_nearer(a: float, b: float, c: float) -> None:
    conditions = [comparison([(1, "A*B"), (-1, "C")], "="), comparison([(1, "A")], "<=", -20)]
    grids = dict.fromkeys(NAMES, Grid(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(case_projection, "ROUNDS", 200)
        points, found = nearest_of(conditions, grids).project(columns([a, b, c]), {}, wide=False)
    if not found[0]:
        return
    x, y, z = (points[name][0] for name in NAMES)
    assert x * y == pytest.approx(z, rel=1e-6, abs=1e-5) and x <= 20 + 1e-6
    # stationary: what is left of the move without the normals in force is nothing
    move, normal = np.array([x - a, y - b, z - c]), np.array([y, x, -1.0])
    spans = np.stack([normal, [1.0, 0.0, 0.0]] if x > 20 - 1e-6 else [normal], axis=1)
    rest = move - spans @ np.linalg.lstsq(spans, move, rcond=None)[0]
    assert np.abs(rest).max() <= 1e-3 * (1 + np.abs(move).max())


def test_a_product_that_leads_astray_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    conditions = [comparison([(1, "A*B"), (-1, "C")], "=")]
    grids = dict.fromkeys(NAMES, Grid(0))
    target = columns([1.0, 2.0, 70.0])
    monkeypatch.setattr(case_projection, "ROUNDS", 200)
    assert nearest_of(conditions, grids).project(target, {}, wide=False)[1][0]
    monkeypatch.setattr(case_projection, "ROUNDS", 2)
    assert not nearest_of(conditions, grids).project(target, {}, wide=False)[1][0]
    quotient = [
        NumberComparison((Monomial(Fraction(1), (("A", -1), ("B", 1))), Monomial(Fraction(-1), (("C", 1),))), "=")
    ]
    assert not nearest_of(quotient, grids).project(columns([0.0, 1.0, 1.0]), {}, wide=False)[1][0]


def test_many_rows_are_projected_by_compiled_code_to_the_same_points() -> None:
    conditions = [comparison([(1, "A"), (1, "B"), (-1, "C")], "="), comparison([(1, "A"), (-1, "B")], "<=", 1)]
    nearest = nearest_of(conditions, dict.fromkeys(NAMES, Grid(2)))
    rng = np.random.default_rng(1)
    targets = {name: rng.normal(0, 30, 20_500) for name in NAMES}
    many, found = nearest.project(targets, {}, wide=True)
    few, also = nearest.project({name: own[-300:] for name, own in targets.items()}, {}, wide=True)
    assert found.all() and also.all()
    assert all(many[name][-300:] == pytest.approx(few[name], abs=1e-9) for name in NAMES)
