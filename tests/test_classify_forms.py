"""The algebra of forms, and their truth on records and columns."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    st.just(Product((Monomial(Fraction(1), (("A", 1), ("B", 1))),), "<=", Monomial(Fraction(2), ()))),
    st.builds(
        lambda c, relation: Polynomial((monomial(1, A=1, B=1), monomial(c, A=1), monomial(-1)), relation),
        st.sampled_from((-2, 1)),
        st.sampled_from(("=", "<=", "<")),
    ),
)
forms: st.SearchStrategy[Form] = st.lists(st.lists(atoms, max_size=3).map(tuple), max_size=3).map(tuple)
RECORDS = [dict(zip(NAMES, cells, strict=True)) for cells in product(CELLS, repeat=2)]


def table(form: Form) -> list[bool]:
    return [holds(form, record) for record in RECORDS]


@given(forms, forms)
def test_conjoin_and_disjoin_are_and_and_or_on_every_record(one: Form, two: Form) -> None:
    first, second = table(one), table(two)
    assert table(conjoin(one, two)) == [a and b for a, b in zip(first, second, strict=True)]
    assert table(disjoin(one, two)) == [a or b for a, b in zip(first, second, strict=True)]


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
    for conjunction in form:
        for atom in conjunction:
            assert satisfied(atom, columns, texts).tolist() == [holds(atom, record) for record in RECORDS]


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
