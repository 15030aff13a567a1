"""What rules in plain text are: the same as others, and conditions in XPath."""

from __future__ import annotations

from pathlib import Path

import pytest

from masktron.rulebook.plain.compiled import compiled
from masktron.rulebook.plain.conditions import Records
from masktron.rulebook.plain.grammar import parse
from masktron.rulebook.plain.reading import read_plain
from masktron.rulebook.plain.tree import Kind

KINDS: dict[str, Kind] = {"a": "number", "b": "number", "c": "number", "s": "text", "t": "text"}
RECORDS = Records(kinds_of=lambda names: {name: KINDS[name] for name in names})


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("a = b", "a == b"),
        ("a ≤ b", "a <= b"),
        ("a ≥ b", "a >= b"),
        ("a ≠ b", "a != b"),
        ("a > 1 & b > 1", "a > 1 and b > 1"),
        ("a > 1 && b > 1", "a > 1 and b > 1"),
        ("a > 1 AND b > 1", "a > 1 and b > 1"),
        ("a > 1 | b > 1", "a > 1 or b > 1"),
        ("a > 1 || b > 1", "a > 1 or b > 1"),
        ("!a > 1", "not (a > 1)"),
        ("NOT a > 1", "not (a > 1)"),
        ("!is.na(a)", "not missing(a)"),
        ("!s %in% c('p')", 'not (s %in% {"p"})'),
        ("s %vin% c('p')", 's in {"p"}'),
        ("s not in {'p'}", 'not (s in {"p"})'),
        ("a in 1..5", "a in {1..5}"),
        ("a in 1", "a in {1}"),
        ("if (a > 1) b > 1", "if a > 1 then b > 1"),
        ("IF a > 1 THEN b > 1 ELSE c > 1", "if a > 1 then b > 1 else c > 1"),
        ("if (a > 1) b > 1 else if (c > 1) a > 2", "if a > 1 then b > 1 else (if c > 1 then a > 2)"),
        ("if a > 1 then if b > 1 then c > 1 else c > 2", "if a > 1 then (if b > 1 then c > 1 else c > 2)"),
        ("if (a) - b > 1 then c > 1", "if (a - b) > 1 then c > 1"),
        ("if (a > 1) -b > 1", "if a > 1 then (-b) > 1"),
        ("a < b <= c", "(a < b and b <= c)"),
        ("a + b - c == 0", "((a + b) - c) == 0"),
        ("a / b * c == 0", "((a / b) * c) == 0"),
        ("a * b %% c == 0", "a * (b %% c) == 0"),
        ("-a ^ 2 == 0", "-(a ^ 2) == 0"),
        ("a > 1 and b > 1 or c > 1", "(a > 1 and b > 1) or c > 1"),
        ("not a > 1 and b > 1", "(not (a > 1)) and b > 1"),
        ("50% * a > 1", "0.50 * a > 1"),
        ("5.5% * a > 1", "0.055 * a > 1"),
        ("1L == a", "1 == a"),
        ("`a` == 1", "a == 1"),
        ("pmax(a, b) > 1", "largest(a, b) > 1"),
        ("pmin(a, b) > 1", "smallest(a, b) > 1"),
        ("sum(a, by=s) > 1", "sum(a) by s > 1"),
        ("sum(a) by (s) > 1", "sum(a) by s > 1"),
        ("is_unique(a, by = s)", "is_unique(a, s)"),
        ("is_unique(a) by (s, t)", "is_unique(a, s, t)"),
    ],
)
def test_rules_that_are_the_same(text: str, other: str) -> None:
    assert parse(text) == parse(other)


@pytest.mark.parametrize(
    ("text", "context", "test"),
    [
        ("a + b == c", "Record", "not(a != '') or not(b != '') or not(c != '') or number(a) + number(b) = number(c)"),
        (
            "a - (b - c) == 0",
            "Record",
            "not(a != '') or not(b != '') or not(c != '') or number(a) - (number(b) - number(c)) = 0",
        ),
        (
            "a - b - c == 0",
            "Record",
            "not(a != '') or not(b != '') or not(c != '') or number(a) - number(b) - number(c) = 0",
        ),
        ("-a^2 < 0", "Record", "not(a != '') or -(number(a) * number(a)) < 0"),
        (
            "(a + b) * 2 >= c",
            "Record",
            "not(a != '') or not(b != '') or not(c != '') or (number(a) + number(b)) * 2 >= number(c)",
        ),
        ("a / 12 <= 100", "Record", "not(a != '') or number(a) div 12 <= 100"),
        (
            "a / b <= 2",
            "Record",
            "not(a != '') or not(b != '') or not(number(a) div number(b) = number(a) div number(b) or "
            "not(number(a) = number(a)) or not(number(b) = number(b))) or number(a) div number(b) <= 2",
        ),
        ("a %% 2 == 0", "Record", "not(a != '') or (number(a) - 2 * floor(number(a) div 2)) = 0"),
        (
            "a * b %% 2 == 0",
            "Record",
            "not(a != '') or not(b != '') or number(a) * (number(b) - 2 * floor(number(b) div 2)) = 0",
        ),
        ("30% * a < b", "Record", "not(a != '') or not(b != '') or 0.30 * number(a) < number(b)"),
        ("1e3 > a", "Record", "not(a != '') or 1000 > number(a)"),
        (
            "abs(a - b) <= 0.5",
            "Record",
            "not(a != '') or not(b != '') or (number(a) - number(b) <= 0.5 and -(number(a) - number(b)) <= 0.5)",
        ),
        (
            "abs(a - b) > 0.5",
            "Record",
            "not(a != '') or not(b != '') or number(a) - number(b) > 0.5 or -(number(a) - number(b)) > 0.5",
        ),
        (
            "largest(a, b) <= c",
            "Record",
            "not(a != '') or not(b != '') or not(c != '') or (number(a) <= number(c) and number(b) <= number(c))",
        ),
        (
            "smallest(a, b) < c",
            "Record",
            "not(a != '') or not(b != '') or not(c != '') or (number(a) = number(a) and number(b) = "
            "number(b) and (number(a) < number(c) or number(b) < number(c)))",
        ),
        ("abs(a) == 3", "Record", "not(a != '') or abs(number(a)) = 3"),
        ('s == "p"', "Record", "not(s != '') or s = 'p'"),
        ("s == t", "Record", "not(s != '') or not(t != '') or s = t"),
        ('s != "it\'s"', "Record", "not(s != '') or not(s = \"it's\")"),
        ("a == s", "Record", "not(a != '') or not(s != '') or a = s"),
        ("a != 1", "Record", "not(a != '') or not(number(a) = 1)"),
        ("0 < a <= 10", "Record", "(not(a != '') or 0 < number(a)) and (not(a != '') or number(a) <= 10)"),
        ("a in 16..110", "Record", "not(a != '') or (number(a) >= 16 and number(a) <= 110)"),
        ("a in {1, 3..5}", "Record", "not(a != '') or number(a) = 1 or (number(a) >= 3 and number(a) <= 5)"),
        ("a %in% c(1, 2)", "Record", "a != '' and (number(a) = 1 or number(a) = 2)"),
        ('s in {"p", "q"}', "Record", "not(s != '') or s = 'p' or s = 'q'"),
        ('s not in {"p", "q"}', "Record", "not(s != '') or not(s = 'p' or s = 'q')"),
        ("missing(a)", "Record", "not(a != '')"),
        ("not missing(a)", "Record", "a != ''"),
        ("if a == 0 then b == 0", "Record", "not(a != '') or not(number(a) = 0) or not(b != '') or number(b) = 0"),
        (
            "if (a == 0) b == 0 else c == 0",
            "Record",
            "(not(a != '') or not(number(a) = 0) or not(b != '') or number(b) = 0) and (not(a != '') or "
            "number(a) = 0 or not(c != '') or number(c) = 0)",
        ),
        (
            "if (a + b) - c > 0 then a > 0",
            "Record",
            "not(a != '') or not(b != '') or not(c != '') or not(number(a) + number(b) - number(c) > 0) "
            "or not(a != '') or number(a) > 0",
        ),
        (
            "a > 1 and (b > 1 or c > 1)",
            "Record",
            "(not(a != '') or number(a) > 1) and (not(b != '') or number(b) > 1 or not(c != '') or number(c) > 1)",
        ),
        (
            "not (a > 1 or b > 1)",
            "Record",
            "(not(a != '') or not(number(a) > 1)) and (not(b != '') or not(number(b) > 1))",
        ),
        (
            "(a > 1) == (b > 1)",
            "Record",
            "(not(a != '') or not(number(a) > 1) or not(b != '') or number(b) > 1) and (not(b != '') or "
            "not(number(b) > 1) or not(a != '') or number(a) > 1)",
        ),
        ("(a > 1) == FALSE", "Record", "not(a != '') or not(number(a) > 1)"),
        ("NA or a > 1", "Record", "true() or not(a != '') or number(a) > 1"),
        ("nchar(s) == 3", "Record", "not(s != '') or string-length(s) = 3"),
        ('matches(s, "^p")', "Record", "not(s != '') or matches(s, '^p')"),
        ('grepl("^p", s)', "Record", "s != '' and matches(s, '^p')"),
        (
            "lag(a) < a",
            "Record",
            "not(preceding-sibling::Record[1]/a != '') or not(a != '') or "
            "number(preceding-sibling::Record[1]/a) < number(a)",
        ),
        ("is_unique(s)", "Record", "not(s != '') or count(/Data/Record[s = current()/s]) = 1"),
        (
            "is_unique(s) by t",
            "Record",
            "not(s != '') or not(t != '') or count(/Data/Record[s = current()/s and t = current()/t]) = 1",
        ),
        ("count() by s > 2", "Record", "not(s != '') or count(/Data/Record[s = current()/s]) > 2"),
        (
            "sum(a) by s == b",
            "Record",
            "not(s != '') or count(/Data/Record[s = current()/s][not(a != '')]) > 0 or not(b != '') or "
            "(count(/Data/Record[s = current()/s][a != '' and not(number(a) = number(a))]) = 0 and "
            "sum(/Data/Record[s = current()/s][a != '' and number(a) = number(a)]/a) = number(b))",
        ),
        (
            "sum(a, na.rm = TRUE) >= 0",
            "/Data",
            "count(/Data/Record[a != '' and not(number(a) = number(a))]) = 0 and sum(/Data/Record[a != "
            "'' and number(a) = number(a)]/a) >= 0",
        ),
        (
            "mean(a, na.rm=TRUE) by s < b",
            "Record",
            "not(s != '') or count(/Data/Record[s = current()/s][a != '']) = 0 or not(b != '') or "
            "(count(/Data/Record[s = current()/s][a != '' and not(number(a) = number(a))]) = 0 and "
            "sum(/Data/Record[s = current()/s][a != '' and number(a) = number(a)]/a) div "
            "count(/Data/Record[s = current()/s][a != '']) < number(b))",
        ),
        (
            "max(a, by=s) == b",
            "Record",
            "not(s != '') or count(/Data/Record[s = current()/s][not(a != '')]) > 0 or "
            "count(/Data/Record[s = current()/s][a != '']) = 0 or not(b != '') or max(for $each in "
            "/Data/Record[s = current()/s][a != '']/a return number($each)) = number(b)",
        ),
        (
            "sum(a) == b",
            "Record",
            "count(/Data/Record[not(a != '')]) > 0 or not(b != '') or (count(/Data/Record[a != '' and "
            "not(number(a) = number(a))]) = 0 and sum(/Data/Record[a != '' and number(a) = "
            "number(a)]/a) = number(b))",
        ),
        ("count(a) == count()", "/Data", "count(/Data/Record[a != '']) = count(/Data/Record)"),
        ("round(a) == a", "Record", "not(a != '') or round(number(a)) = number(a)"),
    ],
)
def test_rules_in_xpath(text: str, context: str, test: str) -> None:
    (pattern,) = compiled(read_plain(text, "edits.rules"), (RECORDS,), Path("edits.rules")).patterns
    assert (pattern.rules[0].context, pattern.rules[0].checks[0].test) == (context, test)


def test_what_is_decided() -> None:
    (one,) = compiled(read_plain("a < b", "edits.rules"), (RECORDS,), Path("edits.rules")).checks
    there = "a != '' and b != ''"
    assert one.decided == f"({there} and number(a) < number(b)) or ({there} and not(number(a) < number(b)))"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("s == '('\na > 1", ["s == '('", "a > 1"]),
        ("s == '# no comment' # c\na > 1", ["s == '# no comment'", "a > 1"]),
        ("if (a > 1 & # both\n  # of these\n  b > 1)\n  c > 1", ["if (a > 1 & b > 1) c > 1"]),
        ("(a + b) > 1\n(c) > 1", ["(a + b) > 1", "(c) > 1"]),
        ("a > 1\n\n  and b > 1", ["a > 1 and b > 1"]),
        ("if (a > 1) b > 1 else if (b > 1)\nc > 1", ["if (a > 1) b > 1 else if (b > 1) c > 1"]),
    ],
)
def test_where_rules_end(text: str, written: list[str]) -> None:
    found = read_plain(text, "edits.rules")
    assert [rule.written for rule in found.rules] == written
    assert not found.wrong
