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
