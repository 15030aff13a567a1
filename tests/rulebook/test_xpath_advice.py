"""What is said of an expression that is not XPath."""

from __future__ import annotations

import pytest

from masktron.rulebook.schematron.expressions import advice


@pytest.mark.parametrize(
    ("source", "construct", "instead"),
    [
        ("if marital = 2 then age >= 16", "'then' without 'else'", "not(marital = 2) or age >= 16"),
        ("if (marital = 2) then age >= 16", "'then' without 'else'", "not(marital = 2) or age >= 16"),
        ("if (A = 1) or (B = 2) then C = 'x'", "'then' without 'else'", "not((A = 1) or (B = 2)) or C = 'x'"),
        ("IF A = 0 THEN B <= 200", "'then' without 'else'", "not(A = 0) or B <= 200"),
        ("A = 0 THEN B <= 200", "'then' without 'else'", "not(A = 0) or B <= 200"),
        ("A = 'implies' implies B = 2", "'implies' (character 15)", "not(A = 'implies') or B = 2"),
        ("(A = 1) -> (B = 2)", "'->' (character 9)", "not(A = 1) or (B = 2)"),
        ("(A implies B) and C", "'implies' (character 4)", "not(A) or B for"),
        ("A = (1, 'x, y')", "\"= (1, 'x, y')\" (character 3)", "A = 1 or A = 'x, y'; XPath 2 has"),
        ("A in (1,2)", "'in (1, 2)' (character 3)", "A = 1 or A = 2"),
        ("A in(1)", "'in' (character 3)", "A = 1 or A = 2 for a list"),
        ("A & B > 0", "'&' (character 3)", "the word and"),
        ("A => B", "'=>' (character 3)", ">= for 'at least', and not(A) or B"),
        ("A % 2 = 0", "'%' (character 3)", "mod for a remainder"),
        ("A > 30%", "'%' (character 7)", "0.3 for 30 %"),
        ("A > 50 %", "'%' (character 8)", "0.5 for 50 %"),
        ("A > 12.5% and B", "'%' (character 9)", "mod for a remainder, and 0.125 for 12.5 %"),
        ("A > 100%", "'%' (character 8)", "1 for 100 %"),
        ("A ^ 2 = B", "'^' (character 3)", "A * A for a power"),
        ("round(A) / 10 = B", "'/ 1' (character 10)", "div to divide"),
        ("(100 * A) / B < 5", "'/ B' (character 11)", "div to divide"),
        ("A missing or A >= 0", "'missing' (character 3)", "string(number(A)) = 'NaN' or"),
        ("Wages >= 0,5", "'0,5' (character 10)", "a decimal point in rules, as in 0.5"),
        ("Wages >= -0,5 and B", "'0,5' (character 11)", "a decimal point in rules, as in 0.5"),
    ],
)
def test_slips_from_other_languages(source: str, construct: str, instead: str) -> None:
    found = advice(source)
    assert found is not None
    assert found.references["construct"] == construct
    assert found.references["instead"].startswith(instead)


@pytest.mark.parametrize(
    "source", ["if (A = 1) then B else true()", "A = 'if' or B = 'then'", "max((A, B)) > C D", "A = '%' and B = '&'"]
)
def test_what_is_no_slip(source: str) -> None:
    assert advice(source, "2.0") is None
    assert advice("A = (1, 2) or B", "2.0") is None
