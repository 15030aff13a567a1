"""Rules in plain text mean what an interpreter of their trees says, to each judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from masktron.rulebook.plain.grammar import parse
from plain_generator import PATHS
from plain_interpreter import Interpreter, Row, kinds_of
from plain_judged import Comparison, compare

BATCHES = 200


def require_none(found: Comparison) -> None:
    assert not found.differences, "\n".join(found.differences[:10])
    assert found.refused * 50 < sum(found.rules.values())
    assert min(found.outcomes[outcome] for outcome in (True, False, None)) * 20 > sum(found.outcomes.values())


def test_judges_agree_with_the_interpreter(tmp_path: Path) -> None:
    found = compare(range(5, 7), tmp_path, rules=20, records=30)
    require_none(found)
    judges = {"columns", "engine", "saxon"}
    assert {*found.rules} == judges | {f"{judge}, XPath 2" for judge in judges}


@pytest.mark.full
@pytest.mark.parametrize("batch", range(BATCHES))
def test_judges_agree_on_a_hundred_rules_and_records(batch: int, tmp_path: Path) -> None:
    require_none(compare([1000 + batch], tmp_path))


@pytest.mark.parametrize(
    ("text", "values", "outcome"),
    [
        ("a < b", {"a": "1", "b": "2"}, True),
        ("a < b", {"a": "1", "b": ""}, None),
        ("a < b", {"a": "1"}, None),
        ("a < b", {"a": "-9", "b": "2"}, None),
        ("a < b", {"a": "x", "b": "2"}, False),
        ("a != b + 0", {"a": "x", "b": "2"}, True),
        ("a / b == 1", {"a": "0", "b": "0"}, None),
        ("a / b > 100", {"a": "1", "b": "0"}, True),
        ("a / b == 1", {"a": "x", "b": "0"}, False),
        ("1 / a - 1 / b == 0", {"a": "0", "b": "0"}, None),
        ("a %% b == 0", {"a": "-3", "b": "2"}, False),
        ("a %in% c(1, 2)", {"a": ""}, False),
        ("a in {1, 2}", {"a": ""}, None),
        ("a not in {1, 2}", {"a": "3"}, True),
        ("grepl('x', s)", {"s": ""}, False),
        ("matches(s, 'x')", {"s": ""}, None),
        ("if a > 1 then b > 1", {"a": "1"}, True),
        ("if a > 1 then b > 1", {"a": "2"}, None),
        ("if a > 1 then b > 1 else c > 1", {"b": "2", "c": "2"}, True),
        ("if a > 1 then b > 1 else c > 1", {"b": "2", "c": "1"}, None),
        ("a > 1 or b > 1", {"a": "2"}, True),
        ("a > 1 and b > 1", {"a": "1"}, False),
        ("missing(a)", {"a": "99"}, False),
        ("missing(a)", {"a": "-9"}, True),
        ("sum(a) by s > 0", {"a": "", "s": "p"}, None),
        ("sum(a, na.rm=TRUE) by s == 0", {"a": "", "s": "p"}, True),
        ("mean(a, na.rm=TRUE) by s == 0", {"a": "", "s": "p"}, None),
        ("count(a) by s == 0", {"a": "", "s": "p"}, True),
        ("lag(a) > 1", {"a": "2"}, None),
        ("u == v", {"u": "1", "v": "1.0"}, False),
        ("a == b", {"a": "1", "b": "1.0"}, False),
        ("a + 0 == b", {"a": "1", "b": "1.0"}, True),
    ],
)
def test_the_interpreter_means_what_is_documented(text: str, values: Row, outcome: bool | None) -> None:
    node = parse(text)
    rows = [{name: values.get(name) for name in PATHS}]
    interpreter = Interpreter(rows, {"a": frozenset({"-9"})}, kinds_of([node], {}))
    assert interpreter.holds(node, 0) is outcome
