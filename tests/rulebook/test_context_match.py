"""Contexts as paths: which of them are some, and what makes a node one of theirs."""

from __future__ import annotations

import pytest

from masktron.rulebook.context_match import condition, may_be_positional, parse_context
from masktron.rulebook.context_paths import context_paths
from masktron.rulebook.expressions.parsing import parsed

NAMESPACES = (("h", "urn:h"),)


@pytest.mark.parametrize(
    ("context", "conditions"),
    [
        ("//A/B[C]", ["self::B[parent::A][C]"]),
        ("(A | h:B)//C", ["self::C[ancestor::A]", "self::C[ancestor::h:B]"]),
        ("/A", ["self::A[not(parent::*)]"]),
        ("/", ["not(parent::node())"]),
        (".", ["true()"]),
        ("../A", ["self::A"]),
        ("A/(B)", ["self::B[parent::A]"]),
        ("descendant::A", ["self::A"]),
        ("A[B = 1 = 1]", ["self::A[B = 1 = 1]"]),
        ("A[(B)[1]]", ["self::A[(B)[1]]"]),
    ],
)
def test_paths_down_are_turned_around(context: str, conditions: list[str]) -> None:
    paths = parse_context(context, NAMESPACES)
    assert paths is not None
    assert [condition(path) for path in paths] == conditions


@pytest.mark.parametrize(
    "context",
    [
        "(A)/../B",
        "(A)/self::B",
        "(. | A)/B",
        "A/..",
        "A[1]/..",
        "..//..",
        "(A/B)[1]",
        "self::A[1]",
        "descendant::A[1]",
        "preceding-sibling::A",
        "//.",
        "/@a",
        "@a/B",
        "id('x')/A",
        "g:A",
        "A[",
    ],
)
def test_what_is_no_path_down_is_decided_by_what_it_selects(context: str) -> None:
    assert parse_context(context, NAMESPACES) is None


@pytest.mark.parametrize(
    ("predicate", "positional"),
    [
        ("B", False),
        ("1", True),
        ("count(B)", True),
        ("B[position() = 1]", False),
        ("position() = 1", True),
        ("B[fn:last()] = fn:last()", True),
        ("B except C", False),
        ("if (B) then C else 1", True),
        ("map{1: 2}", True),
        ("not(position#0() = 1)", True),
    ],
)
def test_a_position_is_one_unless_known_not_to_be(predicate: str, positional: bool) -> None:
    assert may_be_positional(parsed(predicate)) is positional


def test_names_know_their_namespaces() -> None:
    paths = parse_context("h:A | B/@h:c | *:D | Q{urn:h}E | h:*", NAMESPACES)
    assert paths is not None
    assert [path.steps[-1].tag for path in paths] == ["{urn:h}A", "{urn:h}c", "", "{urn:h}E", ""]
    assert [path.steps[-1].plain_name for path in paths] == ["h:A", "h:c", None, None, None]


def test_prefixes_of_functions_are_no_names_that_a_context_asks_for() -> None:
    (path,) = context_paths("Record[xs:integer(V) > 1]", ())
    assert [name.local for name in path.names] == ["Record", "V"]
