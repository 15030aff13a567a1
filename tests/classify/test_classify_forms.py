"""The algebra of forms, and their truth on records and columns."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.classify.conjunctions import reach
from masktron.classify.display import render_form
from masktron.classify.forms import (
    ALWAYS,
    MAX_DISJUNCTS,
    NEVER,
    TooManyDisjunctsError,
    complete,
    conjoin,
    disjoin,
    form_of,
    holds,
    satisfied,
    variables_of,
)
from masktron.classify.polynomial import MonomialSum, evaluate
from masktron.classify.truth import in_range
from masktron.constraints import (
    Atom,
    Form,
    InDomain,
    Lexical,
    Linear,
    Member,
    Missing,
    Monomial,
    OpaqueEdit,
    Polynomial,
    Present,
    Product,
    Range,
    Untranslated,
    Whole,
)
from masktron.sources.column import Column, OnDemand
from masktron.sources.variables import Variable

NAMES = ("A", "B")
CELLS = (None, "", "x", "y", "0", "1", "2", "1.5", "-1")
names = st.sampled_from(NAMES)
bounds = st.one_of(st.none(), st.sampled_from([Fraction(n, 2) for n in range(-2, 5)]))
signs = st.sampled_from((Fraction(1), Fraction(-1)))


def interval(name: str, low: Fraction | None, high: Fraction | None, low_open: bool, high_open: bool) -> Range:
    if low is not None and high is not None and low > high:
        low, high = high, low
    closed = low is not None and low == high
    return Range(
        name, low, high, low is not None and low_open and not closed, high is not None and high_open and not closed
    )


def monomial(coefficient: int, **powers: int) -> Monomial:
    return Monomial(Fraction(coefficient), tuple(sorted(powers.items())))


atoms: st.SearchStrategy[Atom] = st.one_of(
    st.builds(interval, names, bounds, bounds, st.booleans(), st.booleans()),
    st.builds(
        lambda s, relation, bound: Linear((("A", Fraction(1)), ("B", s)), relation, bound),
        signs,
        st.sampled_from(("=", "<=", "<")),
        st.sampled_from([Fraction(n) for n in range(-1, 3)]),
    ),
    st.builds(Member, names, st.frozensets(st.sampled_from(("x", "y", "", "1")), min_size=1), st.booleans()),
    st.builds(
        Member, names, st.frozensets(st.sampled_from([Fraction(n) for n in range(3)]), min_size=1), st.booleans()
    ),
    st.builds(Whole, names),
    st.builds(Missing, names),
    st.builds(Present, names, st.booleans()),
    st.builds(
        lambda swapped, relation: (
            Product((monomial(2),), relation, monomial(1, A=1, B=1))
            if swapped and relation != "="
            else Product((monomial(1, A=1, B=1),), relation, monomial(2))
        ),
        st.booleans(),
        st.sampled_from(("=", "<=", "<")),
    ),
    st.builds(
        lambda s, c, relation: Polynomial((monomial(s, A=1, B=1), monomial(c * s, A=1), monomial(-s)), relation),
        st.sampled_from((-1, 1, 2)),
        st.sampled_from((-2, 1)),
        st.sampled_from(("=", "<=", "<")),
    ),
)
forms: st.SearchStrategy[Form] = st.lists(st.lists(atoms, max_size=3).map(tuple), max_size=3).map(tuple)
RECORDS = [dict(zip(NAMES, cells, strict=True)) for cells in product(CELLS, repeat=2)]


def table(form: Form) -> list[bool]:
    return [holds(form, record) for record in RECORDS]


@given(forms)
def test_reduction_is_idempotent(form: Form) -> None:
    reduced = disjoin(form)
    assert disjoin(reduced) == reduced


@given(st.permutations([(Range("A", Fraction(n), Fraction(n)),) for n in range(4)]))
def test_the_order_of_alternatives_does_not_matter(conjunctions: list[tuple[Atom, ...]]) -> None:
    assert disjoin(tuple(conjunctions)) == ((Member("A", frozenset(map(Fraction, range(4)))),),)


@given(forms)
def test_columns_agree_with_records(form: Form) -> None:
    texts = {n: np.array([record[n] for record in RECORDS], dtype=object) for n in NAMES}
    columns = {n: np.array([_number(record[n]) for record in RECORDS]) for n in NAMES}
    coded = OnDemand.lexemes({n: Column.of_cells(Variable.named(n), texts[n]) for n in NAMES})
    for conjunction in form:
        for atom in conjunction:
            held = [holds(atom, record) for record in RECORDS]
            assert satisfied(atom, columns, texts).tolist() == satisfied(atom, columns, coded).tolist() == held


def _number(cell: str | None) -> float:
    return float(cell) if cell and cell not in ("x", "y") else np.nan


def test_trivial_forms() -> None:
    assert conjoin(ALWAYS, NEVER) == NEVER
    assert disjoin(ALWAYS, NEVER) == ALWAYS
    assert render_form(ALWAYS) == "always"
    assert render_form(NEVER) == "never"


def test_a_redundant_condition_is_dropped() -> None:
    low, high = Range("A", None, Fraction(5), high_open=True), Range("A", Fraction(5), None)
    order = Linear((("B", Fraction(1)), ("C", Fraction(-1))), "<=", Fraction(0))
    assert render_form(disjoin(((low, order),), ((high,),), ((Missing("A"),),))) == "A >= 5 or B <= C or A missing"


def test_too_many_alternatives_are_refused() -> None:
    form = ALWAYS
    with pytest.raises(TooManyDisjunctsError):
        for index in range(MAX_DISJUNCTS):
            form = conjoin(form, ((Whole(f"A{index}"),), (Whole(f"B{index}"),)))


def test_numbers_may_be_given_as_fractions_or_lexemes() -> None:
    third = Linear((("A", Fraction(1)), ("B", Fraction(1))), "=", Fraction(3, 10))
    assert holds(third, {"A": Fraction(1, 10), "B": "0.2"})
    assert not holds(third, {"A": Fraction(1, 10), "B": None})
    assert not holds(third, {"A": Fraction(1, 10)})


def test_doubles_get_a_few_ulps_of_slack() -> None:
    balance = Linear((("A", Fraction(1)), ("B", Fraction(1)), ("C", Fraction(-1))), "=", Fraction(0))
    columns = {"A": np.array([0.1, 0.1]), "B": np.array([0.2, 0.2]), "C": np.array([0.3, 0.3000001])}
    assert 0.1 + 0.2 != 0.3
    assert satisfied(balance, columns, {}).tolist() == [True, False]
    product = Polynomial((monomial(1, A=1, B=1), monomial(-1, C=1), Monomial(Fraction(7, 25), ())), "=")
    assert 0.1 * 0.2 + 7 / 25 != 0.3
    assert satisfied(product, columns, {}).tolist() == [True, False]


def test_a_number_too_large_for_doubles_satisfies_nothing() -> None:
    columns = {"A": np.array([1e200]), "B": np.array([1e200])}
    for relation in ("=", "<=", "<"):
        atom = Polynomial((monomial(-1, A=1, B=1), monomial(1, A=1), monomial(1, B=1)), relation)  # type: ignore[arg-type]
        assert satisfied(atom, columns, {}).tolist() == [False]


def test_a_division_by_zero_satisfies_nothing() -> None:
    atom = Polynomial((monomial(-1, A=1, B=-1), monomial(1, A=1)), "<")
    columns = {"A": np.array([1.0, 1.0]), "B": np.array([0.0, 0.5])}
    assert satisfied(atom, columns, {}).tolist() == [False, True]
    assert [holds(atom, {"A": Fraction(1), "B": b}) for b in (Fraction(0), Fraction(1, 2))] == [False, True]


def test_domains_and_conditions_without_a_record_are_not_vouched_for() -> None:
    atom = InDomain("A", "m.xml", "//A")
    assert not holds(atom, {"A": "x"})
    assert holds(atom, {"A": "x"}, domains={atom: frozenset({"x"})})
    assert not holds(Untranslated(("A",), "position() = 1"), {"A": "1"})
    texts = {"A": np.array(["x", "z", None], dtype=object)}
    assert satisfied(atom, {}, texts, domains={atom: frozenset({"x"})}).tolist() == [True, False, False]
    assert satisfied(Untranslated(("A",), "position() = 1"), {}, texts).tolist() == [False, False, False]


def test_tests_without_form_are_decided_by_the_engine() -> None:
    assert holds(Lexical("A", "string-length(A) = 2"), {"A": "xy"})
    assert holds(Lexical("A", "matches(A, '^x')", "2.0"), {"A": "xy"})
    assert not holds(Lexical("A", "A cast as xs:integer > 0", "2.0"), {"A": "xy"})
    assert holds(Untranslated(("@id", "A"), "@id = A", "1.0"), {"@id": "7", "A": "7"})
    texts = {"A": np.array(["x", "y"], dtype=object), "B": np.array(["x", "x"], dtype=object)}
    assert satisfied(Untranslated(("A", "B"), "A = B", "1.0"), {}, texts).tolist() == [True, False]


def test_complete_leaves_out_alternatives_about_missing_values() -> None:
    form: Form = ((Range("A", Fraction(0), None),), (Missing("A"),), (Present("A", negated=True), Missing("B")))
    assert complete(form) == form[:1]
    assert variables_of(form) == ("A", "B")


def test_what_is_not_understood_has_a_form_too() -> None:
    assert form_of(OpaqueEdit("why", ("A", "B"))) == ((Untranslated(("A", "B"), "why"),),)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (((Linear((("V10", Fraction(1)), ("V9", Fraction(1))), "=", Fraction(0)),),), "V9 + V10 = 0"),
        (((Linear((("A", Fraction(1)), ("B", Fraction(-2))), "<", Fraction(3)),),), "A - 2 * B < 3"),
        (((Linear((("A", Fraction(-1)), ("B", Fraction(-1))), "<=", Fraction(-5)),),), "A + B >= 5"),
        (((Linear((("A", Fraction(1)), ("B", Fraction(-1))), "=", Fraction(-1, 3)),),), "A + 1/3 = B"),
        (((Range("A", Fraction(0), Fraction(1), True, False),),), "0 < A <= 1"),
        (((Range("A", None, None),),), "A is a number"),
        (((Member("A", frozenset({Fraction(2), Fraction(10)}), True),),), "A not in {2, 10}"),
        (((Member("A", frozenset({"a b", "c"})),),), "A in {'a b', c}"),
        (((Product((Monomial(Fraction(2), (("A", 2),)),), "<=", Monomial(Fraction(5), ())),),), "2 * A^2 <= 5"),
        (((Polynomial((monomial(1, A=1, B=1), monomial(1, C=1), monomial(-3)), "="),),), "A * B + C = 3"),
        (((Polynomial((monomial(-1, A=1, B=1), monomial(-3)), "<"),),), "A * B + 3 > 0"),
        (((Polynomial((monomial(1, A=1, B=1), monomial(-1, C=1), monomial(-3)), "<="),),), "A * B <= C + 3"),
        (((Polynomial((monomial(1, A=1, B=1), monomial(-1, C=1), monomial(-3)), "="),),), "C + 3 = A * B"),
        (((Whole("A"), Range("A", Fraction(1), None)), (Missing("A"),)), "(A is whole and A >= 1) or A missing"),
    ],
)  # fmt: skip
def test_rendering(form: Form, text: str) -> None:
    assert render_form(form) == text


@given(forms, forms, forms)
def test_simplification_keeps_the_verdicts_of_what_is_put_together(one: Form, two: Form, three: Form) -> None:
    """Against the disjuncts as they come, on records with texts and missing values."""
    plain = [a and (b or c) for a, b, c in zip(table(one), table(two), table(three), strict=True)]
    assert table(conjoin(one, disjoin(two, three))) == plain
    assert table(disjoin(conjoin(one, two), conjoin(one, three))) == plain


A_B = Linear((("A", Fraction(1)), ("B", Fraction(-1))), "<=", Fraction(0))
PRODUCT = Product((monomial(1, A=1, B=1),), "<=", monomial(1, C=1))
REVERSE = Product((monomial(1, C=1),), "<=", monomial(1, A=1, B=1))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (((PRODUCT, REVERSE),), "A * B = C"),
        (((PRODUCT,), (Product((monomial(1, A=1, B=1),), "=", monomial(1, C=1)),)), "A * B <= C"),
        (((Polynomial((monomial(1, A=1, B=1), monomial(-1, C=1), monomial(-2)), "<="),), (PRODUCT,)),
         "A * B <= C + 2"),
        (((PRODUCT,), (REVERSE,), (Missing("A"),), (Missing("B"),), (Missing("C"),)), "always"),
        (((PRODUCT, Product((monomial(1, C=1),), "<", monomial(1, A=1, B=1))),), "never"),
        (((Member("A", frozenset({"", "NA"})),), (Missing("A"),)), "A missing"),
        (((Missing("A"), Present("A")), (Present("A", negated=True),)), "A missing"),
        (((Missing("A"), Present("A")), (Range("A", None, None),)), "A present"),
        (((A_B, Range("A", Fraction(3), None)), (A_B, Range("A", None, Fraction(3)))), "A <= B"),
        (((A_B, Range("A", Fraction(1), Fraction(2))), (A_B,)), "A <= B"),
        (((A_B, Range("A", Fraction(0), None, low_open=True), Range("B", None, Fraction(0))),), "never"),
        (((PRODUCT, Range("A", Fraction(1), None), Range("B", Fraction(2), None), Range("C", None, Fraction(1))),),
         "never"),
    ],
)  # fmt: skip
def test_simplification(form: Form, text: str) -> None:
    assert render_form(disjoin(form)) == text


ends = st.tuples(st.sampled_from((None, *map(Fraction, range(-2, 3)))), st.booleans())
ranges = st.builds(
    lambda low, high: (
        interval("x", low[0], high[0], low[1], high[1])
        if low[0] is None or high[0] is None or low[0] <= high[0]
        else interval("x", high[0], low[0], low[1], high[1])
    ),
    ends,
    ends,
)
expressions = st.lists(
    st.tuples(st.sampled_from(((), (("A", 1),), (("B", 1),), (("A", 1), ("B", 1)), (("A", 2),))), st.integers(-3, 3)),
    min_size=1,
    max_size=3,
).map(lambda terms: MonomialSum.of((powers, Fraction(c)) for powers, c in terms))


@given(expressions, ranges, ranges)
def test_no_value_is_out_of_reach(expression: MonomialSum, one: Range, two: Range) -> None:
    found = reach(expression, {"A": one, "B": two})
    steps = [Fraction(n, 4) for n in range(-12, 13)]
    inside = [(a, b) for a in steps if in_range(one, a) for b in steps if in_range(two, b)]
    for a, b in inside:
        values = {"A": a, "B": b}
        worth = sum((c * evaluate(powers, values) for powers, c in expression.terms), Fraction(0))
        assert in_range(found, worth), (values, worth)


def points(interval_: Range) -> list[Fraction]:
    """Points of an interval that lie next to its ends, or far out where it has none."""
    low = Fraction(-(10**9)) if interval_.low is None else interval_.low
    high = Fraction(10**9) if interval_.high is None else interval_.high
    tried = {low, high, low + Fraction(1, 10**9), high - Fraction(1, 10**9), (low + high) / 2, Fraction(0)}
    return [point for point in tried if in_range(interval_, point)]


@given(ranges, ranges)
def test_the_reach_of_a_product_is_no_wider_than_it_must(one: Range, two: Range) -> None:
    found = reach(MonomialSum.of([((("A", 1), ("B", 1)), Fraction(1))]), {"A": one, "B": two})
    products = [a * b for a in points(one) for b in points(two)]
    if products:  # a number above and below at once has none
        assert min(products) < (Fraction(-(10**6)) if found.low is None else found.low + Fraction(1, 10**6))
        assert max(products) > (Fraction(10**6) if found.high is None else found.high - Fraction(1, 10**6))
    for end, is_open in ((found.low, found.low_open), (found.high, found.high_open)):
        if end == 0 and not is_open:
            assert in_range(one, Fraction(0)) or in_range(two, Fraction(0))
        elif end is not None and not is_open:
            assert any(in_range(one, a) and in_range(two, end / a) for a in (one.low, one.high) if a)
