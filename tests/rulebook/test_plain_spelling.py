"""Plain rules that are written read as what they were."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from masktron.rulebook.plain.grammar import parse
from masktron.rulebook.plain.kinds import without_tolerance
from masktron.rulebook.plain.reading import read_plain
from masktron.rulebook.plain.spelling import UnspelledError, spelled, spelled_rule
from masktron.rulebook.plain.tree import Name, Node, PlainRule, Text
from plain_strategies import conditions, spelt


@given(spelt())
@settings(max_examples=2000, deadline=None)
def test_what_is_written_reads_as_it_was(node: Node) -> None:
    assert parse(spelled(node)) == node


@given(spelt())
def test_a_rule_of_a_file_reads_as_it_was(node: Node) -> None:
    line = spelled_rule(PlainRule("warn", node, 1, "", "what it\nsays", severity="information"))
    (again,) = read_plain(f"{line}\nnext: a <= 3\n", "edits.rules").rules[:1]
    assert (again.name, again.node, again.label, again.severity) == ("warn", node, "what it says", "information")


@given(conditions())
def test_what_r_reads_is_a_spelling_here(node: Node) -> None:
    try:
        text = spelled(node, in_r=True)
    except UnspelledError:
        return
    parse(text)


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ("if (age<16) (status %in% c('pupil')) else a=1", 'if age < 16 then status %in% {"pupil"} else a == 1'),
        ("not (a in 1..5) & !is.na(b)", "a not in 1..5 and !missing(b)"),
        ("(a - (b - c)) * -d == 30%", "(a - (b - c)) * -d == 0.30"),
        (
            "`other income`>=0|sum(x, na.rm=TRUE) by (g,h) >2",
            "`other income` >= 0 or sum(x, na.rm=TRUE) by (g, h) > 2",
        ),
    ],
)
def test_rules_are_written_as_a_statistician_would(rule: str, written: str) -> None:
    assert spelled(parse(rule)) == written


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ("status in {'a', 'b'} and income in 1..5", 'status %vin% c("a", "b") & in_range(income, min=1, max=5)'),
        ("if a > 1 then b > 2 else c == round(d)", "if (a > 1) b > 2 else c == floor(d + 0.5)"),
        ("a * (b %% c) == 0 or missing(d)", "a * b %% c == 0 | is.na(d)"),
        ("(a * b) %% c == 0", "(a * b) %% c == 0"),
        ("sum(x) by g == total", "sum_by(x, by=g) == total"),
        ("smallest(a, b) > count()", "pmin(a, b) > nrow(.)"),
    ],
)
def test_r_has_its_own_words(rule: str, written: str) -> None:
    assert spelled(parse(rule), in_r=True) == written


def test_a_tolerance_is_written_out() -> None:
    node = without_tolerance(parse("if a == b then c <= d"), ("0.1", "0.2"), {"a": "number", "b": "number"})
    assert spelled(node) == "if abs(a - b) <= 0.1 then c - d <= 0.2"


@pytest.mark.parametrize("node", [Text('it\'s "so"'), Text("two\nlines"), Name("a`b")])
def test_what_no_rule_can_say_is_refused(node: Node) -> None:
    with pytest.raises(UnspelledError):
        spelled(node)
