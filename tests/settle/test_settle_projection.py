"""What is left of rules once fields are known, and the nearest point that satisfies it: against brute force."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from examples import examples
from masktron.classify.forms import holds
from masktron.constraints import (
    Atom,
    Form,
    InDomain,
    Linear,
    Member,
    Missing,
    Monomial,
    Polynomial,
    Present,
    Product,
    Range,
    Whole,
)
from masktron.settle import residual_memory
from masktron.settle.candidate_search import CandidateSearch, PrototypePattern
from masktron.settle.grid import Grid
from masktron.settle.lattice import Prototype, Search
from masktron.settle.projection import Problem, conflict, project
from masktron.settle.residual import Free, residual, residuals
from masktron.settle.residual_memory import ResidualMemory
from masktron.settle.residual_rules import ResidualRule, satisfied_columns, satisfies
from masktron.settle.solver import GAP, silence

NAMES = ("A", "B", "C")
SMALL = st.integers(-3, 3).map(Fraction)
DOMAIN = InDomain("A", "original.xml", "//A")
TEXTS = frozenset({"-2", "1", "3"})


def domain(atom: InDomain) -> frozenset[str]:
    return TEXTS


@st.composite
def linear(draw: st.DrawFn) -> Linear:
    names = draw(st.sets(st.sampled_from(NAMES), min_size=2, max_size=3))
    terms = tuple((name, draw(SMALL.filter(bool))) for name in sorted(names))
    return Linear(terms, draw(st.sampled_from(["=", "<=", "<"])), draw(SMALL))


@st.composite
def interval(draw: st.DrawFn) -> Range:
    low, high = sorted(draw(st.tuples(SMALL, SMALL)))
    point = low == high
    ends = draw(st.tuples(st.booleans(), st.booleans()))
    name = draw(st.sampled_from(NAMES))
    return Range(name, draw(st.sampled_from([low, low, None])) if not point else low, high,
                 ends[0] and not point, ends[1] and not point)  # fmt: skip


LINEAR_ATOMS = st.one_of(
    linear(),
    interval(),
    st.builds(Member, st.sampled_from(NAMES), st.frozensets(SMALL, min_size=1, max_size=4), st.booleans()),
    st.just(DOMAIN),
)
ATOMS = st.one_of(
    LINEAR_ATOMS,
    st.builds(Member, st.just("D"), st.frozensets(st.sampled_from("xyz"), min_size=1), st.booleans()),
    st.builds(Missing, st.sampled_from("ABCD")),
    st.builds(Present, st.sampled_from("ABCD"), st.booleans()),
    st.builds(Whole, st.sampled_from(NAMES)),
    st.builds(
        Product,
        st.just((Monomial(Fraction(1), (("A", 1), ("B", 1))),)),
        st.sampled_from(["=", "<=", "<"]),
        st.builds(Monomial, st.integers(1, 3).map(Fraction), st.sampled_from([(("C", 1),), (("C", -1),), ()])),
    ),
)


def forms(atoms: st.SearchStrategy[Atom]) -> st.SearchStrategy[Form]:
    return st.lists(st.lists(atoms, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple)


VALUE = st.integers(-6, 6).map(lambda number: Fraction(number, 2))
LEXEMES = st.one_of(st.none(), st.sampled_from(["", "NA", "0", "-1.5", "2"]))


QUOTIENT = Product((Monomial(Fraction(1), (("A", 1),)),), "=", Monomial(Fraction(1), (("B", 1), ("C", -1))))


@given(forms(ATOMS), VALUE, VALUE, LEXEMES, st.sampled_from(["x", "y", "z", "", None]))
@example(((QUOTIENT,),), Fraction(0), Fraction(1), "0", "x")
@example(((QUOTIENT,),), Fraction(1, 2), Fraction(1), "2", "x")
def test_what_is_left_of_a_rule_says_the_same(
    form: Form, a: Fraction, b: Fraction, c: str | None, d: str | None
) -> None:
    left = residual(7, form, {"C": c, "D": d}, Free(frozenset("AB"), {}, domain))
    record = {"A": a, "B": b, "C": c, "D": d}
    numbers = frozenset(text for text in TEXTS if Fraction(text) == a)
    true = holds(form, record, domains={DOMAIN: TEXTS | ({str(a)} if numbers else set())})
    assert satisfies([left] if left else [], {"A": a, "B": b}) == true
    columns = {"A": np.array([float(a)] * 2), "B": np.array([float(b)] * 2)}
    if true:
        with np.errstate(all="ignore"):
            assert satisfied_columns([left] if left else [], columns, 2).all(), "columns sort out what is false only"


@given(forms(ATOMS), VALUE, VALUE, st.lists(LEXEMES, min_size=1, max_size=6))
def test_what_is_left_holds_in_all_contexts(form: Form, a: Fraction, b: Fraction, contexts: list[str | None]) -> None:
    free = Free(frozenset("AB"), {}, domain)
    known = [{"C": c, "D": "x"} for c in contexts]
    single = [residual(0, form, context, free) for context in known]
    each = all(satisfies([rule], {"A": a, "B": b}) for rule in single if rule)
    assert satisfies(residuals([(0, form)], known, free), {"A": a, "B": b}) == each


@given(
    st.lists(forms(ATOMS), min_size=1, max_size=3),
    st.lists(st.lists(st.tuples(LEXEMES, st.sampled_from("xy")), min_size=1, max_size=4), min_size=1, max_size=8),
    st.sampled_from([{}, {"D": ("x", "z")}]),
    st.sampled_from([1, 4000]),
)
@example([((Member("D", frozenset("x")),), (Range("A", None, Fraction(0)),))], [[("0", "x")], [("0", "y")]], {}, 4000)
def test_what_is_remembered_is_what_is_left(
    rules: list[Form],
    groups: list[list[tuple[str | None, str]]],
    options: Mapping[str, Sequence[str]],
    remembered: int,
) -> None:
    free = Free(frozenset("AB"), options, domain)
    known: dict[tuple[int, ...], tuple[ResidualRule, ...]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residual_memory, "MAX_READ", remembered)
        memory = ResidualMemory(list(enumerate(rules)), free)
        for group in groups:
            contexts = [{"C": c, "D": d} for c, d in group]
            numbers, found = memory.asked(contexts)
            assert found == residuals(list(enumerate(rules)), contexts, free)
            assert known.setdefault(numbers, found) == found, "a number stands for one set of rules"


def test_of_many_contexts_the_tightest_bound_is_kept() -> None:
    form: Form = ((Linear((("A", Fraction(1)), ("C", Fraction(-1))), "<=", Fraction(0)),),)
    known = [{"C": str(cap)} for cap in range(5, 500)]
    (rule,) = residuals([(0, form)], known, Free(frozenset("A"), {}, domain))
    assert len(rule.disjuncts[0].conditions) == 1
    assert satisfies([rule], {"A": Fraction(5)})
    assert not satisfies([rule], {"A": Fraction(6)})


# projection

BOX = (-4.0, 4.0)
POINTS = [dict(zip(NAMES, map(Fraction, point), strict=True)) for point in itertools.product(range(-4, 5), repeat=3)]
TARGETS = st.tuples(*[st.integers(-16, 16).map(lambda number: number / 4)] * 3)


ZERO, TWO = Fraction(0), Fraction(2)
MISSED_BY_THE_PRESOLVER: list[Form] = [
    (
        (Linear((("A", Fraction(1)), ("B", Fraction(1)), ("C", Fraction(1))), "=", ZERO),),
        (Member("A", frozenset({ZERO}), negated=True), Range("A", ZERO, TWO, high_open=True)),
    ),
    ((Member("C", frozenset({ZERO, Fraction(1), TWO})),), (DOMAIN,), (Range("A", ZERO, ZERO),)),
]


def problem_of(
    found: Sequence[Form], target: Sequence[float], options: Mapping[str, Mapping[str, float]] | None = None
) -> Problem:
    texts = {name: tuple(own) for name, own in (options or {}).items()}
    free = Free(frozenset(NAMES), texts, domain)
    left = [residual(check, form, {}, free) for check, form in enumerate(found)]
    return Problem(
        target=dict(zip(NAMES, target, strict=True)),
        grids=dict.fromkeys(NAMES, Grid(0)),
        scale=dict.fromkeys(NAMES, 1.0),
        box=dict.fromkeys(NAMES, BOX),
        codes={},
        options=options or {},
        rules=[rule for rule in left if rule is not None],
    )


def nearest(problem: Problem) -> float | None:
    """The least distance of a point that satisfies the rules, by looking at all of them."""
    distances = [
        sum(abs(float(point[name]) - problem.target[name]) for name in NAMES)
        for point in POINTS
        if satisfies(problem.rules, point)
    ]
    return min(distances, default=None)


@examples(10, full=100)
@given(st.lists(forms(LINEAR_ATOMS), min_size=1, max_size=4), TARGETS)
@example(MISSED_BY_THE_PRESOLVER, (0.75, 0.25, -1.75))
def test_the_projection_is_the_nearest_point(found: list[Form], target: tuple[float, float, float]) -> None:
    problem = problem_of(found, target)
    solution, best = next(project(problem), None), nearest(problem)
    assert (solution is None) == (best is None)
    if solution is not None and best is not None:
        assert satisfies(problem.rules, solution.numbers)
        distance = sum(abs(float(solution.numbers[name]) - problem.target[name]) for name in NAMES)
        assert distance <= best + GAP * best + 1e-6
        assert distance == pytest.approx(solution.distance)


@examples(7, full=100)
@given(st.lists(forms(LINEAR_ATOMS), min_size=2, max_size=5), TARGETS)
def test_a_conflict_is_one_and_the_smallest(found: list[Form], target: tuple[float, float, float]) -> None:
    problem = problem_of(found, target)
    checks = conflict(problem)
    assert (not checks) == (nearest(problem) is not None)
    kept = [rule for rule in problem.rules if rule.check in checks]
    for left_out in checks:
        others = [rule for rule in kept if rule.check != left_out]
        assert any(satisfies(others, point) for point in POINTS), "no rule of it can be left out"


@examples(8, full=100)
@given(TARGETS, st.integers(2, 3))
def test_products_are_projected_by_fixing_factors(target: tuple[float, float, float], power: int) -> None:
    product = Product((Monomial(Fraction(1), (("A", 1), ("B", 1))),), "=", Monomial(Fraction(1), (("C", 1),)))
    problem = problem_of([((product,),), ((Range("C", Fraction(power), None),),)], target)
    solutions = list(project(problem))
    assert solutions, "1 * 2 = 2 and 2 * 2 = 4 are in the box"
    assert all(satisfies(problem.rules, solution.numbers) for solution in solutions)


@given(st.sampled_from("xyz"), TARGETS)
def test_categories_are_chosen_with_the_numbers(only: str, target: tuple[float, float, float]) -> None:
    costs = {"x": 0.1, "y": 0.5, "z": 0.9}
    rules: list[Form] = [
        ((Member("D", frozenset({only})),), (Range("A", Fraction(9), None),)),
        ((Member("D", frozenset({"x"}), negated=True),), (Range("B", Fraction(2), None),)),
    ]
    solution = next(project(problem_of(rules, target, {"D": costs})))
    assert solution.texts == {"D": only}
    assert only != "x" or solution.numbers["B"] >= 2


def test_missing_codes_and_fine_grids_are_respected() -> None:
    form: Form = ((Linear((("A", Fraction(1)), ("B", Fraction(-1))), "=", Fraction(0)),),)
    free = Free(frozenset("AB"), {}, domain)
    rule = residual(0, form, {}, free)
    assert rule is not None
    problem = Problem(
        target={"A": 7.0, "B": 7.0},
        grids={"A": Grid(2), "B": Grid(0)},
        scale={"A": 1.0, "B": 1.0},
        box={"A": (0.0, 20.0), "B": (0.0, 20.0)},
        codes={"B": frozenset({Fraction(7)})},
        options={},
        rules=[rule],
    )
    solution = next(project(problem))
    assert solution.numbers["A"] == solution.numbers["B"] in {6, 8}


# the hunt: whole groups, judged in doubles as an engine would


def hunt_of(
    found: Sequence[Form], decimals: Mapping[str, Grid], target: Mapping[str, float], *, spread: float = 10.0
) -> Iterator[Prototype]:
    search = Search(dict(decimals), dict.fromkeys(decimals, spread), frozenset(decimals), {})
    hunt = CandidateSearch(tuple(enumerate(found)), search, domain)
    pattern = PrototypePattern(
        kept={},
        target=target,
        centre=target,
        combinations=[{}],
        options={},
        contexts=[{}],
        counts={check: [1] + [0] * (len(form) - 1) for check, form in enumerate(found)},
        box={name: (value - 50 * spread, value + 50 * spread) for name, value in target.items()},
    )
    return hunt.candidates([pattern])


def first(
    offers: Iterator[Prototype], judge: Callable[[dict[str, float]], bool], most: int = 700
) -> Prototype | None:
    for offer in itertools.islice(offers, most):
        if judge({name: float(text) for name, text in offer.lexemes.items() if text is not None}):
            return offer
    return None


def total(relation: str = "=", bound: str = "0", **coefficients: int) -> Linear:
    terms = tuple((name, Fraction(c)) for name, c in sorted(coefficients.items()))
    return Linear(terms, relation, Fraction(bound))  # type: ignore[arg-type]


@given(st.tuples(*[st.floats(-500, 500)] * 4))
def test_totals_that_share_parts_are_settled_together(parts: tuple[float, float, float, float]) -> None:
    a, b, c, d = parts
    target = {"A": a, "B": b, "C": c, "D": d, "T": a + b, "U": b + c, "V": a + 2 * b + c + d}
    rules: list[Form] = [
        ((total(A=1, B=1, T=-1),),), ((total(B=1, C=1, U=-1),),), ((total(T=1, U=1, D=1, V=-1),),),
    ]  # fmt: skip
    found = first(
        hunt_of(rules, dict.fromkeys(target, Grid(0)), target), lambda v: v["T"] + v["U"] + v["D"] == v["V"]
    )
    assert found is not None
    assert found.stage == "rounded"
    assert all(abs(float(found.lexemes[name] or "nan") - value) <= 4 for name, value in target.items())


@given(st.tuples(*[st.floats(0, 500)] * 3))
def test_money_in_two_totals_adds_up_in_doubles(parts: tuple[float, float, float]) -> None:
    a, b, c = parts
    target = {"A": a, "B": b, "C": c, "T": a + b, "V": a + b + c}
    rules: list[Form] = [((total(A=1, B=1, T=-1),),), ((total(T=1, C=1, V=-1),),)]
    offers = hunt_of(rules, dict.fromkeys(target, Grid(2)), target)
    found = first(offers, lambda v: v["A"] + v["B"] == v["T"] and v["T"] + v["C"] == v["V"])
    assert found is not None
    assert all(abs(float(found.lexemes[name] or "nan") - value) <= 0.2 for name, value in target.items())


@given(st.integers(2, 40), st.integers(2, 400), st.floats(0.001, 9))
def test_products_of_three_factors_are_settled(days: int, people: int, rate: float) -> None:
    product = Product(
        (Monomial(Fraction(1), (("D", 1), ("P", 1), ("R", 1))),), "=", Monomial(Fraction(1), (("V", 1),))
    )
    target = {"D": days + 0.3, "P": people + 0.4, "R": rate, "V": days * people * rate * 1.05}
    grids = {"D": Grid(0), "P": Grid(0), "R": Grid(9, digits=9), "V": Grid(9, digits=9)}
    found = first(hunt_of([((product,),)], grids, target), lambda v: v["D"] * v["P"] * v["R"] == v["V"])
    assert found is not None


@given(st.integers(1, 99_999), st.integers(3, 9999))
def test_a_quotient_is_written_as_the_double_that_the_engine_computes(upper: int, lower: int) -> None:
    ratio = Product((Monomial(Fraction(1), (("B", 1), ("C", 1))),), "=", Monomial(Fraction(1), (("A", 1),)))
    target = {"A": upper + 0.2, "B": lower + 0.2, "C": upper / lower}
    grids = {"A": Grid(0), "B": Grid(0), "C": Grid(16, digits=9)}
    found = first(hunt_of([((ratio,),)], grids, target), lambda v: v["B"] != 0 and v["A"] / v["B"] == v["C"])
    assert found is not None
    shifts = abs(int(found.lexemes["A"] or "0") - upper), abs(int(found.lexemes["B"] or "0") - lower)
    assert max(shifts) <= 2, "libxml2 may read the quotient of the rounded numbers differently"


@given(st.integers(5, 900), st.floats(0.5, 90))
def test_products_within_a_tolerance_are_settled(people: int, rate: float) -> None:
    terms = (Monomial(Fraction(1), (("P", 1), ("R", 1))), Monomial(Fraction(-1), (("V", 1),)))
    near: tuple[Atom, ...] = (
        Polynomial((*terms, Monomial(Fraction(-1, 50), ())), "<="),
        Polynomial((*(Monomial(-m.coefficient, m.powers) for m in terms), Monomial(Fraction(-1, 50), ())), "<="),
    )
    target = {"P": people + 0.4, "R": rate, "V": people * rate * 1.02}
    grids = {"P": Grid(0), "R": Grid(2), "V": Grid(1)}
    found = first(hunt_of([(near,)], grids, target), lambda v: abs(v["P"] * v["R"] - v["V"]) <= 0.02)
    assert found is not None
    assert found.stage in ("rounded", "lattice"), "the product is solved for and then rounded"


@given(st.floats(-40, 40), st.floats(0, 40), st.integers(1, 9))
def test_far_solutions_are_projected(a: float, b: float, at: int) -> None:
    assume(abs(a) + b > 3)
    rules: list[Form] = [
        ((Member("A", frozenset({Fraction(200), Fraction(300)})),),),
        ((total("<=", "-100", A=1, B=-1),),),
        ((Range("B", None, Fraction(at)),), (Range("B", Fraction(310 + at), None),)),
    ]
    found = next(hunt_of(rules, {"A": Grid(0), "B": Grid(0)}, {"A": a, "B": b}))
    assert found.stage == "projected"
    assert found.lexemes == {"A": "200", "B": str(310 + at)}


def test_what_has_no_solution_is_proved() -> None:
    rules: list[Form] = [
        ((Range("A", Fraction(3), None),),), ((Range("A", None, Fraction(2)),),), ((Range("A", Fraction(1), None),),),
    ]  # fmt: skip
    search = Search({"A": Grid(0)}, {"A": 1.0}, frozenset(), {})
    pattern = PrototypePattern(
        {}, {"A": 2.5}, {"A": 2.5}, [{}], {}, [{}], {check: [1] for check in range(3)}, {"A": (0.0, 9.0)}
    )
    hunt = CandidateSearch(tuple(enumerate(rules)), search, domain)
    assert not list(hunt.candidates([pattern]))
    assert hunt.conflict([pattern]) == (0, 1)
    assert CandidateSearch(tuple(enumerate(rules[1:])), search, domain).conflict([pattern]) == ()


def test_the_patterns_of_a_group_are_tried_in_order() -> None:
    rules: list[Form] = [((Missing("B"),), (Range("B", Fraction(500), None),))]
    search = Search({"A": Grid(0), "B": Grid(0)}, {"A": 1.0, "B": 1.0}, frozenset(), {})
    hunt = CandidateSearch(tuple(enumerate(rules)), search, domain)
    full = PrototypePattern(
        {},
        {"A": 1.2, "B": 3.0},
        {"A": 1.2, "B": 3.0},
        [{}],
        {},
        [{}],
        {0: [0, 1]},
        {"A": (0.0, 9.0), "B": (0.0, 9.0)},
    )
    gap = PrototypePattern({"B": "NA"}, {"A": 1.2}, {"A": 1.2}, [{}], {}, [{}], {0: [1, 0]}, {"A": (0.0, 9.0)})
    assert next(hunt.candidates([full, gap])).lexemes == {"A": "1", "B": "NA"}
    assert next(hunt.candidates([gap])).stage == "rounded"


def test_a_rule_without_disjuncts_has_no_projection() -> None:
    problem = problem_of([], (0.0, 0.0, 0.0))
    impossible = Problem(
        problem.target, problem.grids, problem.scale, problem.box, {}, {}, [ResidualRule(0, ())],
    )  # fmt: skip
    assert next(project(problem)).numbers == {"A": 0, "B": 0, "C": 0}
    assert not list(project(impossible))


@pytest.mark.skipif(os.name != "posix", reason="needs the C library's own output")
def test_what_the_solver_prints_does_not_reach_the_output(capfd: pytest.CaptureFixture[str]) -> None:
    library = ctypes.CDLL(None)
    print("before", flush=True)
    with silence():
        library.puts(b"debugging")
    library.puts(b"after")
    library.fflush(None)
    assert capfd.readouterr().out == "before\nafter\n"
