"""What is said of an expression that is not XPath."""

from __future__ import annotations

import pytest

from masktron.xpath.advice import advice


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("if marital = 2 then age >= 16", "write not(marital = 2) or age >= 16"),
        ("if (marital = 2) then age >= 16", "write not(marital = 2) or age >= 16"),
        ("if (A = 1) or (B = 2) then C = 'x'", "write not((A = 1) or (B = 2)) or C = 'x'"),
        ("if (A = 1) then B else true()", ""),
        ("A = 'if' or B = 'then'", ""),
    ],
)
def test_a_condition_without_else(source: str, says: str) -> None:
    assert advice(source) == says


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("A & B > 0", "write the word and"),
        ("A = 1 -> B = 2", "not(A) or B for 'if A, then B'"),
        ("A => B", "write >= for 'at least', and not(A) or B"),
        ("A % 2 = 0", "write mod for a remainder"),
        ("A > 30%", "write 0.3 for 30 %"),
        ("A ^ 2 = B", "XPath has no powers"),
        ("round(A) / 10 = B", "/ is a path: write div"),
        ("(100 * A) / B < 5", "/ is a path: write div"),
        ("A missing or A >= 0", "write string(number(A)) = 'NaN' or"),
        ("IF A = 0 THEN B <= 200", "write not(A = 0) or B <= 200"),
        ("A = 0 THEN B <= 200", "write not(A = 0) or B <= 200"),
        ("Wages >= 0,5", "write a decimal point in rules, as in 0.5"),
        ("Wages >= -0,5 and B", "write a decimal point in rules, as in 0.5"),
        ("max((A, B)) > C D", ""),
        ("A = '%' and B = '&'", ""),
    ],
)
def test_signs_of_other_languages(source: str, says: str) -> None:
    assert says in advice(source)
    assert bool(advice(source)) is bool(says)
