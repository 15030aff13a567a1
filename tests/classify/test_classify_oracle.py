"""The normal form means what the expression means: libxml2 (XPath 1.0) and Saxon (2.0) are the oracles.

Numbers are small multiples of a quarter and divisors are powers of two, so that doubles are exact and any difference
is a difference of logic: missing values, empty texts, texts that are no numbers, negation.
"""

from __future__ import annotations

from collections.abc import Mapping

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given
from lxml import etree

from examples import examples, spread
from masktron.classify import Edit, classify
from masktron.classify.forms import CellValue, form_of, holds, number_of, satisfied
from masktron.constraints import OpaqueEdit
from record_oracles import element, saxon_says
from rulebook_builder import edit_of, rulebook

NUMBERS = ("V1", "V2", "V3")
DIVISORS = ("D1", "D2")
TEXTS = ("T1", "T2")
WORDS = ("a", "b", "", "5", "5.0", "ab")

fields = st.sampled_from(NUMBERS)
constants = st.sampled_from(("0", "1", "-1", "2.5", "0.25", "5", "4"))
relations = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
words = st.sampled_from(WORDS).map(lambda word: f"'{word}'")
numerals = st.integers(-12, 12).map(lambda n: f"{n / 4:g}")
divisor_values = st.sampled_from(("0", "1", "2", "-2", "4", "0.5"))


def record_of(number: st.SearchStrategy[str | None]) -> st.SearchStrategy[dict[str, str | None]]:
    return st.fixed_dictionaries(
        {
            **dict.fromkeys(NUMBERS, number),
            **dict.fromkeys(DIVISORS, st.one_of(divisor_values, divisor_values, st.none())),
            **dict.fromkeys(TEXTS, st.one_of(st.sampled_from(WORDS), st.none())),
        }
    )


loose_records = record_of(st.one_of(numerals, numerals, numerals, st.sampled_from((None, "", "abc", " 2 ", "5.0"))))
clean_records = record_of(st.one_of(numerals, numerals, numerals, st.none()))


def amounts(plain: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, st.sampled_from(("+", "-", "*")), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            st.tuples(inner, st.sampled_from(DIVISORS)).map(lambda p: f"({p[0]} div {p[1]})"),
            inner.map(lambda a: f"(0 - {a})"),
        )

    return st.recursive(plain, grow, max_leaves=3)


plain_1 = st.one_of(
    fields,
    fields.map(lambda f: f"number({f})"),
    constants,
    st.sampled_from(("sum(V1 | V2)", "count(V1 | V2 | V3)", "number(V1 > 1)", "sum(V3)")),
)
amounts_1 = amounts(plain_1)


def sums(factor: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Sums and differences of products of one to three factors."""
    products = st.lists(factor, min_size=1, max_size=3).map(" * ".join)
    return st.tuples(products, st.lists(st.tuples(st.sampled_from("+-"), products), min_size=1, max_size=2)).map(
        lambda p: " ".join([p[0], *(f"{sign} {more}" for sign, more in p[1])])
    )


def combined(simple: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(("and", "or")), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            inner.map(lambda test: f"not({test})"),
            st.tuples(inner, inner).map(lambda p: f"boolean({p[0]}) = boolean({p[1]})"),
        ),
        max_leaves=4,
    )


text_tests = st.one_of(
    st.tuples(st.sampled_from(TEXTS), st.sampled_from(("=", "!=")), words).map(" ".join),
    st.tuples(st.sampled_from(TEXTS), st.sampled_from(("=", "!=")), words).map(
        lambda p: f"string({p[0]}) {p[1]} {p[2]}"
    ),
    st.sampled_from(
        (
            "contains('|a|b|', concat('|', T1, '|'))",
            "starts-with(T1, 'a')",
            "string-length(T2) > 0",
            "string-length(T1) = 1",
            "string-length(T1) = 0",
            "T1 = T2",
            "T1",
            "not(T2)",
            "string(T1)",
            "string(number(T2)) = 'NaN'",
            "string(number(V1)) != 'NaN'",
            "string(number(T2)) = '5.0'",
            "string(number(T2)) != '5'",
            "normalize-space(T1)",
            "T1/text()",
            "T1/text() = 'a'",
            "T1 = 'a' or T1 = 'b' or T1 = ''",
            "concat(T1, T2) = 'ab'",
        )
    ),
)
simple_1 = st.one_of(
    st.tuples(amounts_1, relations, amounts_1).map(" ".join),
    st.tuples(fields, relations, constants).map(" ".join),
    st.tuples(fields, relations, words).map(" ".join),
    fields.map(lambda f: f"floor({f}) = {f}"),
    fields.map(lambda f: f"{f} mod 1 = 0"),
    fields.map(lambda f: f"{f} mod 2 = 1"),
    fields.map(lambda f: f"number({f})"),
    fields,
    text_tests,
)


def form_holds(edit: Edit, record: Mapping[str, CellValue]) -> bool:
    assume(not (isinstance(edit.constraint, OpaqueEdit) and "alternatives" in edit.constraint.reason))
    if isinstance(edit.constraint, OpaqueEdit):
        assume(False)
    return holds(form_of(edit.constraint), record)


sums_1 = st.tuples(sums(st.one_of(fields, fields, constants)), relations, sums(st.one_of(fields, constants))).map(
    " ".join
)


@examples(6, full=150)
@given(simple_1, simple_1, simple_1, simple_1, loose_records)
def test_contexts_and_rule_order_are_antecedents(
    first: str, second: str, one: str, two: str, record: dict[str, str | None]
) -> None:
    edits = classify(rulebook([(f"Record[boolean({first})]", one), (f"Record[boolean({second})]", two)]))
    node = element(record)
    true = {test: bool(etree.XPath(f"boolean({test})")(node)) for test in (first, second, one, two)}
    fired = [true[first], true[second] and not true[first]]
    known = [not isinstance(edit.constraint, OpaqueEdit) for edit in edits]
    assume(any(known))
    for edit, is_known, fires, test in zip(edits, known, fired, (one, two), strict=True):
        assert not is_known or holds(form_of(edit.constraint), record) == (not fires or true[test])


plain_2 = st.one_of(
    fields,
    fields.map(lambda f: f"number({f})"),
    fields.map(lambda f: f"xs:decimal({f})"),
    constants,
    st.sampled_from(
        (
            "sum((V1, V2))",
            "sum((number(V1), 1, V2))",
            "abs(V1 - 1)",
            "max((number(V1), number(V2)))",
            "min((V1, V2, 1))",
            "(if (V1 > 1) then V2 else 1)",
            "count((V1, V2))",
            "avg((V1, V2))",
            "sum((V1 + 1, V2))",
            "max((V1, V2 - V3, 2))",
            "max((V1, V2)) - min((V1, V2))",
            "abs(abs(number(V1)) - 2)",
            "abs(V1 - V2) * V3",
            "min((number(V1), number(V2))) div D1",
            "max((number(V1) div D1, number(V2)))",
        )
    ),
)
amounts_2 = amounts(plain_2).map(lambda a: f"({a} + 0)")  # no -0.0, which Saxon finds different from untyped '0'
simple_2 = st.one_of(
    st.tuples(amounts_2, relations, amounts_2).map(" ".join),
    st.tuples(amounts_2, relations, constants).map(lambda p: f"abs({p[0]}) {p[1]} {p[2]}"),
    st.tuples(fields, st.sampled_from(("eq", "ne", "lt", "le", "gt", "ge")), constants).map(
        lambda p: f"number({p[0]}) {p[1]} {p[2]}"
    ),
    st.tuples(st.sampled_from(("some", "every")), relations, constants).map(
        lambda p: f"({p[0]} $x in (V1, V2) satisfies $x {p[1]} {p[2]})"
    ),
    st.tuples(st.sampled_from(("some", "every")), fields).map(
        lambda p: f"({p[0]} $x in (1, 2.5) satisfies {p[1]} > $x)"
    ),
    st.tuples(fields, relations).map(lambda p: f"{p[0]} {p[1]} (1, 2.5)"),
    fields.map(lambda f: f"{f} = (1 to 3)"),
    fields.map(lambda f: f"{f} = (0 to 20)"),
    fields.map(lambda f: f"{f} = (1, 2, 3, 4, 5, 6, 7, 8, 9, 0.25, 0.5)"),
    fields.map(lambda f: f"(if ({f} > 1) then V1 > number(V2) else V3 <= 2)"),
    fields.map(lambda f: f"exists({f})"),
    fields.map(lambda f: f"empty({f})"),
    fields.map(lambda f: f"round({f}) = {f}"),
    st.tuples(st.sampled_from(TEXTS), relations, words).map(" ".join),
    st.sampled_from(("T1 = ('a', 'b')", "T1 != ('a', 'b')", "matches(T1, '^a')", "T1 = T2", "T1 < T2", "T1 eq 'a'")),
)


def by_saxon(test: str, record: Mapping[str, str | None]) -> bool:
    expected = saxon_says(test, record)
    assume(expected is not None)
    return bool(expected)


WHOLE_TESTS = [
    f"{left} {operator} {right}"
    for value in ("V1", "number(V1)")
    for left, right in (
        (f"floor({value})", value),
        ("V1", f"round({value})"),
        (f"{value} - ceiling(V1)", "0"),
        ("0", f"{value} mod 1"),
        (f"floor({value})", f"{value} - 0"),
        (f"- floor({value})", f"- {value}"),
    )
    for operator in ("=", "!=", "<=", ">=", "<", ">")
] + ["V1 mod 1", "number(V1) mod 1"]
WHOLE_TESTS += [f"not({test})" for test in WHOLE_TESTS]
CELLS = ("5", "-5", "5.5", "-5.5", "0", "0.5", "-0.5", " 2 ", None)


@pytest.mark.parametrize("test", spread(WHOLE_TESTS, every=3))
def test_integrality_agrees_with_libxml2(test: str) -> None:
    edit = edit_of(test)
    for cell in (*CELLS, "", "abc"):
        expected = bool(etree.XPath(f"boolean({test})")(element({"V1": cell})))
        assert holds(form_of(edit.constraint), {"V1": cell}) == expected, cell


MODERN_TESTS = [
    f"{value} {operator} {other}"
    for value, other in (("V1", "V1 idiv 1"), ("number(V1)", "V1 idiv 1"), ("xs:integer(V1)", "V1"))
    for operator in ("=", "!=")
]
MODERN_TESTS += [
    "floor(V1) eq number(V1)",
    "round-half-to-even(V1) ne number(V1)",
    "number(V1) castable as xs:integer",
]
MODERN_TESTS += [
    f"V1 castable as xs:{target}"
    for target in ("integer", "integer?", "nonNegativeInteger", "byte?", "decimal", "decimal?", "double")
]


@pytest.mark.parametrize(
    "test", spread([*WHOLE_TESTS, *MODERN_TESTS, *(f"not({test})" for test in MODERN_TESTS)], every=3)
)
def test_integrality_agrees_with_saxon(test: str) -> None:
    edit = edit_of(test, version="2.0")
    cells = (*CELLS, *(("", "abc", "200") if "castable" in test else ()))
    expected = {cell: answer for cell in cells if (answer := saxon_says(test, {"V1": cell})) is not None}
    assert {cell: holds(form_of(edit.constraint), {"V1": cell}) for cell in expected} == expected
    assert len(expected) >= 5


rounded_values = st.tuples(
    st.sampled_from(("floor", "ceiling", "round")),
    st.sampled_from(("V1", "number(V1)", "V1 * V2", "V1 + V2", "V1 div 2", "V1 div D1")),
).map(lambda p: f"{p[0]}({p[1]})")
roundings = st.tuples(
    rounded_values,
    st.sampled_from(("=", "=", "!=", "<", "<=", ">", ">=")),
    st.sampled_from(("V3", "number(V3)", "V3 - 1", "1 - V3", "V3 + 0.5", "2", "0.25", "-1", "-0.5")),
).flatmap(lambda p: st.sampled_from((f"{p[0]} {p[1]} {p[2]}", f"{p[2]} {p[1]} {p[0]}")))
roundings = st.one_of(roundings, roundings.map(lambda test: f"not({test})"))


TESTS_1 = {
    "any": combined(simple_1),
    "sums of products": st.one_of(sums_1, sums_1.map(lambda test: f"not({test})"), combined(sums_1)),
    "roundings": roundings,
}


@pytest.mark.parametrize("kind", TESTS_1)
@examples(30, full=400)
@given(data=st.data(), record=loose_records)
def test_the_form_of_an_xpath_1_test_agrees_with_libxml2(
    kind: str, data: st.DataObject, record: dict[str, str | None]
) -> None:
    test = data.draw(TESTS_1[kind])
    expected = bool(etree.XPath(f"boolean({test})")(element(record)))
    assert form_holds(edit_of(test), record) == expected


ratios = st.tuples(st.sampled_from(NUMBERS), st.sampled_from(DIVISORS), sums(fields)).map(
    lambda p: f"number({p[0]}) div number({p[1]}) - ({p[2]})"
)
tolerances = st.tuples(
    st.one_of(sums(fields), ratios),
    st.sampled_from(("<", "<=", ">", ">=")),
    st.one_of(constants, fields.map(lambda f: f"number({f})")),
).map(lambda p: f"abs({p[0]} + 0) {p[1]} {p[2]}")


TESTS_2 = {
    "any": combined(simple_2),
    "roundings": roundings,
    "tolerances": st.one_of(tolerances, tolerances.map(lambda test: f"not({test})"), combined(tolerances)),
}


@pytest.mark.parametrize("kind", TESTS_2)
@examples(6, full=350)
@given(data=st.data(), record=clean_records)
def test_the_form_of_an_xpath_2_test_agrees_with_saxon(
    kind: str, data: st.DataObject, record: dict[str, str | None]
) -> None:
    test = data.draw(TESTS_2[kind])
    assert form_holds(edit_of(test, version="2.0"), record) == by_saxon(test, record)


@examples(30, full=150)
@given(combined(simple_1), st.lists(loose_records, min_size=1, max_size=5))
def test_columns_agree_with_single_records(test: str, records: list[dict[str, str | None]]) -> None:
    edit = edit_of(test)
    assume(not isinstance(edit.constraint, OpaqueEdit))
    texts, columns = {}, {}
    for name in records[0]:
        texts[name] = np.array([record[name] for record in records], dtype=object)
        numbers = [number_of(record[name]) for record in records]
        columns[name] = np.array([np.nan if n is None else float(n) for n in numbers])
    for conjunction in form_of(edit.constraint):
        for atom in conjunction:
            expected = [holds(atom, record) for record in records]
            assert satisfied(atom, columns, texts).tolist() == expected, atom
