"""What Saxon is given in other words: `substring()`, and comparisons of comparisons."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from columns_saxon import TRUE, document, saxon
from masktron import validate
from masktron.errors import RulebookError
from masktron.judge.by_saxon import SAXON
from masktron.judge.exact import RecordJudge
from masktron.judge.findings import Verdict
from masktron.judge.rewriting import Type
from masktron.judge.stylesheet_scope import VariableScope
from masktron.rulebook.context_match import may_be_positional, parse_context
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.schema import Origin
from refusals import refused
from rulebook_builder import layout, rulebook

NUMBERS = (
    *(
        "NaN",
        "INF",
        "-INF",
        "0",
        "0.1",
        "0.49999999999999994",
        "0.5",
        "1",
        "1.1",
        "1.5",
        "2",
        "2.1",
        "2.5",
        "2.9",
        "3",
    ),
    *("-0.5", "-0.6", "-1.5", "-3", "5", "100", "2147483646.5", "2147483648", "4294967296", "9223372036854775808"),
    *("1E20", "-1E20", "1E308"),
)
TEXTS = ("a", "ab", "abc", "a\U0001f600b")
FIELDS = layout("T", "A", "B", "TWO", "THREE")


def characters(text: str, start: str, size: str | None) -> str:
    """The characters of which the position p has round(start) <= p and p < round(start) + round(size)."""
    first = rounded(start)
    end = math.inf if size is None else first + rounded(size)
    return "".join(one for p, one in enumerate(text, 1) if first <= p < end)


def rounded(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        return value
    below = math.floor(value)
    return float(below + (value - below >= 0.5))


ROWS = [
    {"T": text, "A": start, "B": size, "TWO": characters(text, start, None), "THREE": characters(text, start, size)}
    for text, start, size in itertools.product(TEXTS, NUMBERS, NUMBERS)
]


@pytest.mark.parametrize(
    "test",
    [
        "substring(T, number(A)) = TWO",
        "fn:substring(T, xs:double(A)) = TWO",
        "T => substring(number(A)) = TWO",
        "substring(T, number(A), number(B)) = THREE",
        "substring#3(T, number(A), number(B)) = THREE",
        "substring(T, number(A), ?)(number(B)) = THREE",
        "exists(T[substring(., number(../A)) = ../TWO]) and substring(substring(T, 1), number(A)) = TWO",
    ],
)
def test_substring_is_that_of_the_recommendation(test: str) -> None:
    assert (saxon([test], FIELDS, ROWS) == TRUE).all()


def test_substring_in_xpath_1_mode() -> None:
    # XPath 1.0 has no spelling of infinity or exponents
    plain = [row for row in ROWS if not set("EIN") & {*row["A"], *row["B"]}]
    tests = [("Record", "substring(T, A) = TWO and substring(T, A, B) = THREE")]
    found = RecordJudge(rulebook(tests), FIELDS, engine="saxon").verdicts(document(FIELDS, plain))
    assert len(plain) > 100
    assert (found == Verdict.HOLDS).all()


@pytest.mark.parametrize("expression", ["substring-before(A, 'x')", "'substring(A, 1)'"])
def test_other_calls_stay_as_they_are(expression: str) -> None:
    assert SAXON.rewritten(parsed(expression), version="2.0") == expression


@pytest.mark.parametrize("call", ["substring(A)", "substring(A, 1, 2, 3)"])
def test_what_is_not_understood_stays_but_for_its_variables(call: str) -> None:
    with pytest.raises(RulebookError):
        parsed(call)
    scope = VariableScope((), (), SAXON)
    assert scope.expression(f"{call} = $ x", Origin(Path("rules.sch"), 1)) == f"{call} = $b.x"


def test_a_function_of_another_namespace_is_refused_before() -> None:
    scope = VariableScope((), (("my", "urn:my"),), SAXON)
    with refused(RulebookError, "forbidden-function", function="my:substring"):
        scope.expression("my:substring(A, 1)", Origin(Path("rules.sch"), 1))


def rewritten(expression: str, types: Mapping[str, Type] = MappingProxyType({})) -> str:
    """Return what Saxon is given in XPath 1.0 mode."""
    return SAXON.rewritten(parsed(expression), types=lambda: types)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("A = 1 = 1", "((A = 1) = 1)"),
        ("1 < 2 = B", "((1 < 2) = B)"),
        ("A = 1 < 2", "(A = (1 < 2))"),
        ("sum(A[B = 1 = 1]/C) + number('1.5')", "sum(A[((B = 1) = 1)]/C) + number('1.5')"),
        ("-A * 007.50 > 1 or string(.) = $v", "(-A * 007.50 > 1) or (string(.) = $v)"),
        ("if (A) then 1 else 2", "if (A) then 1 else 2"),
        ("A < . < 2", "(number((A < .)) < 2)"),
        ("A < B < 2 < 3", "(number((number((A < B)) < 2)) < 3)"),
        ("A < 1 < B < 2", "(number(((A < 1) < B)) < 2)"),
        ("true() <= 1 <= 0", "(number((number(true()) <= 1)) <= 0)"),
        ("2 > (A = 1)", "(2 > number(((A = 1))))"),
        ("2 > not(A)", "(2 > number(not(A)))"),
        ("(A or B) >= '1'", "(number((A or B)) >= '1')"),
        ("(A = 1) < B", "(((A = 1)) < B)"),
        ("(A = 1) = 2", "(((A = 1)) = 2)"),
        ("(A < 1) < true()", "(((A < 1)) < true())"),
    ],
)
def test_brackets(expression: str, expected: str) -> None:
    assert rewritten(expression) == expected


def test_a_variable_that_is_a_truth_value_is_ordered_as_a_number() -> None:
    types: dict[str, Type] = {"v": "boolean", "w": "nodes"}
    expression = "$v > 0 and $w > 0"
    assert rewritten(expression, types) == "(number($v) > 0) and ($w > 0)"


@pytest.mark.parametrize("first", ["R", "R[last()]"])
def test_a_comparison_is_ordered_with_a_number_as_one(first: str, tmp_path: Path) -> None:
    """Beside `R[last()]` Saxon decides, whose 1.0 mode makes the number a truth value."""
    book, data = tmp_path / "rules.sch", tmp_path / "data.xml"
    lets, test = '<let name="v" value="A = B"/>', "0 &lt;= A &lt; 2 and $v &gt; -1"
    other = f'<rule context="{first}[C]"><assert test="B">m</assert></rule>'
    rule = f'<rule context="R">{lets}<assert test="{test}">m</assert></rule>'
    schema = "http://purl.oclc.org/dsdl/schematron"
    book.write_text(f'<schema xmlns="{schema}" queryBinding="xslt"><pattern>{other}{rule}</pattern></schema>')
    data.write_text("<D><R><A>1</A><B>1</B></R><R><A>2</A><B>1</B></R><R><A>-1</A></R></D>")
    (_, found) = validate(data, rules=book).rules
    assert (found.fired, found.failed) == (3, 0)


@pytest.mark.parametrize(
    ("predicate", "positional"), [("A = 1 = 1", False), ("(A = 1 = 1) + 1", True), ("1 + A", True)]
)
def test_a_comparison_of_a_comparison_selects_by_no_position(predicate: str, positional: bool) -> None:
    assert may_be_positional(parsed(predicate)) == positional
    assert parse_context(f"R[{predicate}]") is not None


@pytest.mark.parametrize("first", ["R[A = 1 = 1]", "R[last()]"])
@pytest.mark.parametrize("binding", ["xslt", "xpath"])
def test_a_context_may_compare_a_comparison(first: str, binding: str, tmp_path: Path) -> None:
    """Beside `R[last()]` Saxon decides, which does not know such comparisons."""
    rules = "".join(
        f'<rule context="{context}"><assert id="{name}" test="A = 2 = 0">m</assert></rule>'
        for name, context in (("first", first), ("second", "R[A = 2 = 1]"))
    )
    book, data = tmp_path / "rules.sch", tmp_path / "data.xml"
    schema = "http://purl.oclc.org/dsdl/schematron"
    book.write_text(f'<schema xmlns="{schema}" queryBinding="{binding}"><pattern>{rules}</pattern></schema>')
    data.write_text("<D><R><A>1</A></R><R><A>2</A></R><R><A>1</A></R></D>")
    found = validate(data, rules=book)
    expected = {"R[last()]": [(1, 0), (1, 1)], "R[A = 1 = 1]": [(2, 0), (1, 1)]}
    assert [(rule.fired, rule.failed) for rule in found.rules] == expected[first]
