"""Misspelt rules: where they are wrong, and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from masktron.errors import RulebookError
from masktron.rulebook.plain.compiled import compiled
from masktron.rulebook.plain.conditions import Records
from masktron.rulebook.plain.reading import read_plain
from refusals import problem_of

RECORDS = Records(
    fields={name: name for name in ("id", "age", "wage", "other", "total", "status", "region", "sex")},
)


@pytest.mark.parametrize(
    ("text", "code", "column", "proposed"),
    [
        ("wage => 0", "plain-slip", 6, ">="),
        ("wage =< 10", "plain-slip", 6, "<="),
        ("wage <> 10", "plain-slip", 6, "!="),
        ("wage === other", "plain-slip", 6, "=="),
        ("wage = = 3", "plain-slip", 6, "=="),
        ("age &lt; 16", "plain-slip", 5, "<"),
        ('if age < 16 -> status == "none"', "plain-slip", 13, "if A then B"),
        ('if age < 16: status == "none"', "plain-slip", 12, "then"),
        ('if age < 16, status == "none"', "plain-slip", 12, "if A then B"),
        ('if age < 16 status == "none"', "plain-slip", 13, "if A then B"),
        ('if age < 16 than status == "none"', "plain-slip", 13, "then"),
        ('if age < 16 thne status == "none"', "plain-slip", 13, "then"),
        ('If age < 16 then status == "none"', "plain-slip", 1, "if"),
        ('age < 16 then status == "none"', "plain-slip", 10, "if A then B"),
        ("if age < 16 then wage == 0 elseif age < 18 then wage < 9", "plain-slip", 28, "else if"),
        ("if age < 16 then", "plain-unexpected", 17, "a field, a number"),
        ("wage ** 2 > 3", "plain-slip", 6, "^"),
        ("status == \N{LEFT DOUBLE QUOTATION MARK}none\N{RIGHT DOUBLE QUOTATION MARK}", "plain-slip", 11, '"text"'),
        ("wage \N{EN DASH} other == 0", "plain-slip", 6, "write -"),
        ("data$wage > 0", "plain-slip", 5, "the name of the field alone"),
        ("wage > 0; other > 0", "plain-slip", 9, "each rule on a line of its own"),
        ("age in 16...110", "plain-slip", 10, "1..5"),
        ("age in 16-110", "plain-slip", 10, "1..5"),
        ("age in 16 to 110", "plain-slip", 11, "1..5"),
        ("age in {16:110}", "plain-slip", 11, "16..110"),
        ("age in [16, 110]", "plain-slip", 8, "1..5"),
        ("age between 16 and 110", "plain-slip", 5, "in 1..5"),
        ('status in ("a", "b")', "plain-slip", 11, '{"a", "b"}'),
        ('status in "a", "b"', "plain-slip", 14, '{"a", "b"}'),
        ('status in {"a", "b"', "plain-open", 11, "close it"),
        ('status == "a', "plain-open", 11, "close it"),
        ("(wage > 3", "plain-open", 1, "close it"),
        ("wage > 3)", "plain-closed", 9, "remove it"),
        ("wage div 12 > 3", "plain-slip", 6, "write /"),
        ("20 % wage > 3", "plain-slip", 4, "20% right behind a number"),
        ("wage > 1,5", "plain-slip", 8, "1.5"),
        ("wage > 1.000,50", "plain-slip", 8, "1000.50"),
        ("wage > 1,000", "plain-slip", 8, "1000 for thousands, or 1.0 for a decimal"),
        ("wage > 12,345", "plain-slip", 8, "12345 for thousands, or 12.345 for a decimal"),
        ("wage > 1,000,000", "plain-slip", 8, "without commas"),
        ("wage > 0,125", "plain-slip", 8, "write 0.125"),
        ("age > 0 => wage > 0", "plain-slip", 9, "if age > 0 then wage > 0, or >="),
        ("age >= 0 und wage >= 0", "plain-slip", 10, "write and"),
        ("region in {North, South}", "plain-slip", 12, 'quotation marks: "North"'),
        ("wage > 1 000", "plain-slip", 10, "1000, without blanks"),
        ("2wage > 3", "plain-slip", 1, "2 * wage"),
        ("2 wage > 3", "plain-slip", 3, "2 * wage"),
        ("wage 3", "plain-slip", 6, "wage == 3"),
        ("other income > 3", "plain-two-names", 7, "`other income`"),
        ("wage is missing", "plain-slip", 6, "missing(FIELD)"),
        ("wage not missing", "plain-slip", 6, "missing(FIELD)"),
        ("age > 16 And wage > 0", "plain-slip", 10, "and"),
        ("wage > 0 and", "plain-unexpected", 13, "a field, a number"),
        ("empty: ", "plain-slip", 1, "a condition"),
        ("sun(wage) > 3", "unknown-name", 1, "did you mean sum?"),
        ("isna(wage)", "unknown-name", 1, "did you mean is.na?"),
        ("len(status) == 5", "plain-slip", 1, "nchar(FIELD)"),
        ('matches(status, "[")', "plain-slip", 17, "a regular expression"),
        ("abs(wage - 0,2 * other) <= 1", "plain-slip", 12, "write 0.2"),
        ("IF(age < 16; wage == 0)", "plain-slip", 12, "if A then B"),
        ("wage >= 1.000.000", "plain-slip", 14, "1000000, without dots"),
        ('status in {"a" "b"}', "plain-slip", 16, '"a", "b"'),
        ("mean(wage, by region) <= 5", "plain-slip", 15, "by GROUP"),
        ("age >= 16 and <= 110", "plain-slip", 15, "and FIELD <="),
        ("sum(wage) group by region > 3", "plain-slip", 11, "by GROUP alone"),
        ("0 < age <  ", "plain-unexpected", 10, "a field, a number"),
        ('not status in {"a"} == TRUE', "plain-unexpected", 21, "the end of the rule"),
        ("wgae > 3", "unknown-name", 1, "did you mean wage?"),
        ("sum(wage, other) == total", "plain-arguments", 1, "A + B"),
        ("max(wage, other) > 3", "plain-arguments", 1, "largest(A, B)"),
        ("sum(wage) by region, sex > 3", "plain-slip", 20, "by (A, B)"),
        ("mean(wage by region) > 3", "plain-by", 6, "sum(FIELD) by GROUP"),
        ("largest(wage, other, na.rm=TRUE) > 3", "plain-slip", 22, "largest(A, B, ...)"),
        ("lag(wage, by=region) > 3", "plain-slip", 11, "lag(FIELD)"),
        ("wage + other", "plain-no-condition", 1, "compare it"),
        ("status", "plain-no-condition", 1, "compare it"),
        ("wage == NA", "plain-slip", 1, "missing(FIELD)"),
        ("sex != NA", "plain-slip", 1, "write not missing(FIELD)"),
        ("status = pupil", "unknown-name", 10, 'in quotation marks: "pupil"'),
        ("other == TRUE", "plain-slip", 1, 'FIELD == "TRUE"'),
        ("wage in {1, NA}", "plain-slip", 13, "missing(FIELD)"),
        ("wage ^ 0.5 > 3", "plain-power", 8, "a product"),
        ('status > "a"', "plain-text-order", 1, "=="),
        ("missing(wage + 3)", "plain-arguments", 1, "missing(FIELD)"),
    ],
)
def test_a_misspelt_rule(text: str, code: str, column: int, proposed: str) -> None:
    with pytest.raises(RulebookError) as caught:
        compiled(read_plain(f"first: age > 0\n{text}", "edits.rules"), (RECORDS,), Path("edits.rules"))
    problem = problem_of(caught.value)
    assert problem.code == code
    assert f"edits.rules:2:{column}" in str(caught.value)
    assert proposed in str(caught.value).partition("->")[2]


def test_a_rule_that_goes_on_names_its_own_line() -> None:
    with pytest.raises(RulebookError) as caught:
        compiled(read_plain("a > 0 and\n   b => 1", "edits.rules"), (RECORDS,), Path("edits.rules"))
    assert "edits.rules:2:6" in str(caught.value)


def test_all_misspelt_rules_are_named() -> None:
    with pytest.raises(RulebookError) as caught:
        compiled(
            read_plain("age => 1\nwgae > 1\nage =< 1\nx := 2 )\nage > x", "edits.rules"), (RECORDS,), "edits.rules"
        )
    assert problem_of(caught.value).code == "plain-several"
    assert "edits.rules:1:5" in str(caught.value)
    assert "edits.rules:2:1" in str(caught.value)
    assert "edits.rules:3:5" in str(caught.value)
    assert "edits.rules:4:8" in str(caught.value)
    assert "edits.rules:5" not in str(caught.value), "what x means is not known"
