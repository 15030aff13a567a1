"""Spelling does not matter: many ways to write a rule, one class and one normal form."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from examples import as_full, parts, spread
from masktron.classify import classify
from masktron.classify.display import render_form
from masktron.classify.forms import form_of
from rulebook_builder import edit_of, rulebook

SUM = "V9 + V10 = V14"
PRODUCT = "V5 * V15 = V16"
RANGE = "0 <= V3 <= 7500"
IF_THEN = "V8 >= 1115 or V13 <= V12 or V8 missing"
IF_THEN_2 = "V8 >= 1115 or V13 <= V12 or V8 absent"  # XPath 2: text that is no number is an error, not NaN
ORDER = "V3 <= V7"
TOLERANCE = "|V1 + V2 - V3| <= 2"
SUM_OF_PRODUCTS = "V1 * V2 + V3 * V4 = V5"
RATIO = "|V1 * V2 - V3| <= 0.5"
SET = "SEX in {F, M}"
WHOLE = "AGE is whole"
INTEGER = "AGE is written as an integer"
COMBINATIONS = "(PREG = 'no' and SEX in {F, M}) or (PREG = 'yes' and SEX = 'F')"

V2: dict[str, Any] = {"version": "2.0"}
V31: dict[str, Any] = {"version": "3.1"}
REPORT: dict[str, Any] = {"kind": "report"}

SPELLINGS: list[tuple[str, dict[str, Any], str, str]] = [
    # linear equality
    ("1.0 * number(V9) + 1.0 * number(V10) = number(V14)", {}, "linear", SUM),
    ("V9 + V10 = V14", {}, "linear", SUM),
    ("0 = V14 - (V9 + V10)", {}, "linear", SUM),
    ("2 * V9 + 2 * V10 - V14 * 2 = 0", {}, "linear", SUM),
    ("(V9 + V10) div 2 = 0.5 * V14", {}, "linear", SUM),
    ("not(V9 + V10 != V14)", V2, "linear", SUM + " or V9 absent or V10 absent or V14 absent"),
    ("V9 + V10 < V14 or V9 + V10 > V14", REPORT, "linear", SUM + " or V9 missing or V10 missing or V14 missing"),
    ("number(V9) + number(V10) eq number(V14)", V2, "linear", SUM),
    ("sum((number(V9), number(V10))) = V14", V2, "linear", SUM),
    ("let $s := V9 + V10 return $s = V14", V31, "linear", SUM),
    ("$s = V14", {"rule_lets": {"s": "V9 + V10"}}, "linear", SUM),
    ("V9 + V10 <= V14 and V9 + V10 >= V14", {}, "linear", SUM),
    ("./V9/text() + self::node()/child::V10 = V14", {}, "linear", SUM),
    ("sum(V1 | V2 | V3) = V4", {}, "linear", "V1 + V2 + V3 = V4, or 7 alternatives with missing fields"),
    # product
    ("number(V5) * number(V15) = number(V16)", {}, "product", PRODUCT),
    ("V5 * V15 - V16 = 0", {}, "product", PRODUCT),
    ("V16 div V15 = V5", {}, "product", f"{PRODUCT} and V15 != 0"),
    ("V5 * (V1 + V2) = V3", {}, "product", "V1 * V5 + V2 * V5 = V3"),
    ("V5 * V15 <= V16", {}, "product", "V5 * V15 <= V16"),
    # sums of products
    ("V1 * V2 + V3 * V4 = V5", {}, "product", SUM_OF_PRODUCTS),
    ("0.5 * number(V5) = (V1 * V2 + V3 * V4) div 2", {}, "product", SUM_OF_PRODUCTS),
    ("number(V1) * V2 <= V3 + V4", {}, "product", "V1 * V2 <= V3 + V4"),
    ("not(V3 + V4 < number(V1) * V2)", {}, "product",
     "V1 * V2 <= V3 + V4 or V1 missing or V2 missing or V3 missing or V4 missing"),
    ("V1 * V2 - V3 < V4 * V5 + 3", {}, "product", "V1 * V2 < V3 + V4 * V5 + 3"),
    ("V1 * V2 > -5", {}, "product", "V1 * V2 + 5 > 0"),
    ("abs(V1 * V2 - V3) <= 0.5", V2, "product", RATIO),
    ("0.5 >= abs(V3 - V2 * V1)", V2, "product", RATIO),
    ("V1 * V2 - V3 <= 0.5 and V3 - V1 * V2 <= 0.5", {}, "product", RATIO),
    ("(V1 * V2 - V3) * (V1 * V2 - V3) <= 0.25", {}, "product", RATIO),
    # range
    ("0 <= number(V3) and number(V3) <= 7500", {}, "values", RANGE),
    ("number(V3) ge 0 and number(V3) le 7500", V2, "values", RANGE),
    ("xs:decimal(V3) ge 0 and xs:decimal(V3) le 7500", V2, "values", RANGE),
    ("V3 < 0 or V3 > 7500", REPORT, "values", RANGE + " or V3 missing"),
    ("not(V3 < 0) and not(V3 > 7500)", {}, "values", RANGE + " or V3 missing"),
    ("abs(V3 - 3750) <= 3750", V2, "values", RANGE),
    ("(V3 - 3750) * (V3 - 3750) <= 14062500", {}, "values", RANGE),
    (". >= 0 and . <= 7500", {"context": "Record/V3"}, "values", RANGE + " or V3 absent"),
    ("V1 != 5", {}, "values", "V1 != 5 or V1 is not a number"),
    # rounded values
    ("round(V1 * V2) = V3", {}, "product", "-0.5 <= V1 * V2 - V3 < 0.5 and V3 is whole"),
    ("V3 = floor(V1 div 10)", {}, "linear", "0 <= V1 - 10 * V3 < 10 and V3 is whole"),
    ("floor(V1 div 10) >= 2", {}, "values", "V1 >= 20"),
    ("2.5 > ceiling(V1)", {}, "values", "V1 <= 2"),
    # maxima, minima, absolute values
    ("number(V1) >= max((number(V2), number(V3)))", V2, "governing", "V2 <= V1 and V3 <= V1"),
    ("max((number(V1), number(V2))) - min((number(V1), number(V2))) <= 10", V2, "linear", "|V1 - V2| <= 10"),
    ("abs(V1 - V2) <= 0.05 * number(V2)", V2, "linear", "19 * V2 <= 20 * V1 and 20 * V1 <= 21 * V2"),
    ("abs(number(V1)) + abs(number(V2)) <= 9", V2, "linear", "|V1 - V2| <= 9 and |V1 + V2| <= 9"),
    ("not(abs(V1 - V2) < 2)", V2, "linear", "V1 - V2 >= 2 or V2 - V1 >= 2 or V1 absent or V2 absent"),
    # guards for missing values
    ("string(number(V1)) != 'NaN'", {}, "values", "V1 is a number"),
    ("string(number(V1)) = 'NaN' or V1 > 3", {}, "values", "V1 > 3 or V1 missing"),
    ("V1 * V2 < V3 or V1 * V2 > V3", REPORT, "product", "V1 * V2 = V3 or V1 missing or V2 missing or V3 missing"),
    # governing: order, IF ... THEN
    ("V3 <= V7", {}, "governing", ORDER),
    ("number(V7) ge number(V3)", V2, "governing", ORDER),
    ("every $x in (number(V3)) satisfies $x <= V7", V2, "governing", ORDER),
    ("../V7 >= .", {"context": "V3"}, "governing", ORDER + " or V3 absent"),
    ("not(number(V8) < 1115) or (number(V13) <= number(V12))", {}, "governing", IF_THEN),
    ("V13 <= V12", {"context": "Record[V8 < 1115]"}, "governing", IF_THEN),
    ("V8 < 1115 and not(V13 <= V12)", REPORT, "governing", IF_THEN),
    ("if (V8 < 1115) then V13 <= number(V12) else true()", V2, "governing", IF_THEN_2),
    ("if (not(V8 < 1115)) then true() else V13 <= number(V12)", V2, "governing", IF_THEN_2),
    ("SEX = 'M' or PREG = 'no'", {}, "governing", "PREG = 'no' or SEX = 'M'"),
    ("some $x in (V1, V2) satisfies $x > 0", V2, "governing", "V1 > 0 or V2 > 0"),
    ("(V1 > 0) + (V2 > 0) >= 1", {}, "governing", "V1 > 0 or V2 > 0"),
    # balance with tolerance
    ("abs(V1 + V2 - V3) <= 2", V2, "linear", TOLERANCE),
    ("V1 + V2 - V3 <= 2 and V3 - V2 - V1 <= 2", {}, "linear", TOLERANCE),
    ("(V1 + V2 - V3) * (V1 + V2 - V3) <= 4", {}, "linear", TOLERANCE),
    ("abs(V1 + V2 - V3) > 2", {**V2, **REPORT}, "linear", TOLERANCE + " or V1 absent or V2 absent or V3 absent"),
    # sets
    ("SEX = 'F' or SEX = 'M'", {}, "values", SET),
    ("SEX = ('F', 'M')", V2, "values", SET),
    ("contains('|F|M|', concat('|', SEX, '|'))", {}, "values", SET),
    ("not(SEX != 'F' and SEX != 'M')", {}, "values", SET + " or SEX absent"),
    ("some $s in ('F', 'M') satisfies SEX = $s", V2, "values", SET),
    ("V1 = 1 or V1 = 2 or V1 = 3", {}, "values", "V1 in {1, 2, 3}"),
    ("V1 = 1 to 3", V2, "values", "V1 in {1, 2, 3}"),
    ("V1 = (0.50, 1.5)", V2, "values", "V1 in {0.5, 1.5}"),
    ("V1 = 1 to 99", V2, "values", "1 <= V1 <= 99 and V1 is whole"),
    # integrality, patterns, combinations
    ("AGE = floor(AGE)", {}, "values", WHOLE),
    ("number(AGE) mod 1 = 0", {}, "values", WHOLE),
    ("round(AGE) = number(AGE)", {}, "values", WHOLE),
    ("AGE <= floor(AGE)", {}, "values", WHOLE),
    ("not(AGE != floor(AGE))", {}, "values", WHOLE + " or AGE absent"),
    ("AGE != floor(AGE)", REPORT, "values", WHOLE + " or AGE absent"),
    ("not(number(AGE) != floor(number(AGE)))", {}, "values", WHOLE),
    ("not(AGE mod 1)", {}, "values", WHOLE + " or AGE missing"),
    ("AGE idiv 1 = AGE", V2, "values", WHOLE),
    ("AGE castable as xs:integer", V2, "values", INTEGER),
    ("AGE castable as xs:integer?", V2, "values", INTEGER + " or AGE absent"),
    ("AGE castable as xs:nonNegativeInteger", V2, "values", "AGE >= 0 and " + INTEGER),
    ("every $x in (AGE) satisfies $x = round($x)", V2, "values", WHOLE + " or AGE absent"),
    ("matches(ID, '^[A-Z]{2}[0-9]+$')", V2, "values", "matches(ID, '^[A-Z]{2}[0-9]+$')"),
    ("string-length(ID) = 8", {}, "values", "string-length(ID) = 8"),
    ("string-length(ID) > 0", {}, "values", "ID != '' and ID present"),
    (
        "(SEX = 'F' and (PREG = 'yes' or PREG = 'no')) or (SEX = 'M' and PREG = 'no')",
        {},
        "values",
        COMBINATIONS,
    ),
    ("(PREG = 'no' and (SEX = 'F' or SEX = 'M')) or (SEX = 'F' and PREG = 'yes')", {}, "values", COMBINATIONS),
    # domain
    ("exists(index-of($ original //Record/V1, V1))", {**V2, "rule_lets": {"original": "document('m.xml')"}}, "domain",
     "V1 in the values of //Record/V1 in m.xml"),
    ("V1 = $original//Record/V1", {"schema_lets": {"original": "document('m.xml')"}}, "domain",
     "V1 in the values of //Record/V1 in m.xml"),
    ("some $v in doc('m.xml')//Record/V1 satisfies V1 = $v", V2, "domain",
     "V1 in the values of //Record/V1 in m.xml"),
    ("document('m.xml')//Record[V1 = current()/V1]", {}, "domain", "V1 in the values of //Record/V1 in m.xml"),
]  # fmt: skip


@pytest.mark.parametrize(("test", "options", "name", "form"), SPELLINGS, ids=[s[0] for s in SPELLINGS])
def test_spelling(test: str, options: dict[str, Any], name: str, form: str) -> None:
    edit = edit_of(test, **options)
    assert (edit.name, render_form(form_of(edit.constraint))) == (name, form)


@pytest.mark.parametrize(
    ("test", "options", "reason"),
    [
        ("V1 = V2", {}, "it compares text, not numbers"),
        ("AGE + V1 - floor(AGE) = V1", {}, "it computes floor()"),  # false where V1 is missing
        ("V1 mod V2 = 0", {}, "it computes with mod"),
        ("xs:date(D1) <= xs:date(D2)", V2, "no normal form"),
        ("sum(*) = 100", {}, "not a number that can be computed"),
        ("$undefined > V1", {}, "no normal form"),
        ("1 < V1 <", {}, "XPath error"),
        as_full((" and ".join(f"not(V{i} < 0)" for i in range(9)), {}, "more than 256 alternatives")),
    ],
)
def test_what_is_not_understood_is_opaque_with_the_reason(test: str, options: dict[str, Any], reason: str) -> None:
    edit = edit_of(test, **options)
    assert edit.name == "opaque"
    assert reason in edit.constraint.reason  # type: ignore[union-attr]


@pytest.mark.parametrize("test", ["1 < V1 < 5", "V1 = 1 = 1"])
def test_a_comparison_of_a_comparison_is_left_to_the_engine_of_the_version(test: str) -> None:
    assert [edit_of(test).name, edit_of(test, version="2.0").name] == ["values", "opaque"]


def test_a_later_rule_holds_only_where_earlier_contexts_do_not_match() -> None:
    book = rulebook([("Record[V1 > 5]", "V2 > 0"), ("Record[V1 > 3]", "V3 > 0"), ("Record", "V4 > 0")])
    edits = classify(book)
    assert [render_form(form_of(edit.constraint)) for edit in edits] == [
        "V1 <= 5 or V2 > 0 or V1 missing",
        "V1 <= 3 or V1 > 5 or V3 > 0 or V1 missing",
        "V1 > 3 or V4 > 0",
    ]
    assert [edit.variables for edit in edits] == [("V1", "V2"), ("V1", "V3"), ("V1", "V4")]


def test_contexts_of_different_nodes_do_not_shadow_each_other() -> None:
    edits = classify(rulebook([("V1", ". > 5"), ("Record", "V2 > 0"), ("V2", ". < 9")]))
    assert [render_form(form_of(edit.constraint)) for edit in edits] == [
        "V1 > 5 or V1 absent",
        "V2 > 0",
        "V2 < 9 or V2 absent",
    ]


def test_every_variable_that_a_rule_reads_is_named() -> None:
    edit = edit_of("V1 - V1 + V2 > $limit", context="Record[V5 = 1]", rule_lets={"limit": "V9 * 0"})
    assert edit.variables == ("V1", "V2", "V5", "V9")


def test_classification_is_total_and_ordered() -> None:
    book = rulebook([("Record", "V1 > 0"), ("V3[", "x"), ("Record[V2]", "((((")])
    edits = classify(book)
    assert [edit.check.index for edit in edits] == [0, 1, 2]


@pytest.mark.parametrize(
    "test",
    spread(
        [
            "()",
            "map{'a': V1}('a') = 1",
            "function($x) { $x }(V1)",
            "V1 is V2",
            "V1 div 0 = 1",
            "1e400 > V1",
            "sum(()) = 0",
            "..",
            "@*",
            "string-join((V1, V2), ',') = 'a,b'",
            "(V1, V2)[1] = 3",
            "id('x')",
            "last()",
            "let $x := V1, $y := $x return $y = 2",
            "every $x in () satisfies false()",
            "(V1, V2) != (1, 'a')",
            "if (V1) then 1 else 'a'",
            "V1 castable as xs:date",
            "xs:integer(V1 + 0.5) = 3",
            "V1 * V1 - 3 * V1 = -2",
            "V1 div V2 div V3 >= 1",
            "''",
            "document('x')",
            "count(document('x')//a) = 3",
            "(: c :) V1",
        ],
        every=3,
    ),
)
@pytest.mark.parametrize(
    ("version", "context"),
    parts([("1.0", "V1 | @id"), ("3.1", "Record"), ("3.1", "V1 | @id"), ("1.0", "Record"),
           *itertools.product(("1.0", "3.1"), ("Record/V1", "*", "/"))], 2),
)  # fmt: skip
def test_no_expression_breaks_the_classification(test: str, version: Any, context: str) -> None:
    for kind in ("assert", "report"):
        edit = edit_of(test, version=version, context=context, kind=kind)
        assert edit.name
        assert render_form(form_of(edit.constraint))
