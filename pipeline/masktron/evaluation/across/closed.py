"""Checks that read nothing but the values of aggregates: one verdict for each combination of these."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from masktron.errors import RulebookError
from masktron.evaluation.across.paths import called
from masktron.read.forbidden import STANDARD_NAMESPACES
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook
from masktron.read.schematron_context import parse_context
from masktron.read.schematron_lexer import tokenize, variables
from masktron.read.xpath_parser import parse

_WORDS = "and or = != < <= > >= eq ne lt le gt ge + - * div mod idiv if ( (string) (integer) (decimal) (float)"
_OPERATORS = frozenset(_WORDS.split())
_FUNCTIONS = frozenset({"not", "boolean", "true", "false", "number", "abs", "floor", "ceiling", "round"})


def closed_checks(
    rulebook: Rulebook, layout: Layout, checks: Collection[int], names: Collection[str]
) -> frozenset[int]:
    """Return the checks that fire on every record, and read nothing but some attributes of it.

    Parameters
    ----------
    rulebook : Rulebook
        With aggregates in the place of what reads other records.
    names : collection of str
        The attributes that carry the aggregates.
    """
    found: set[int] = set()
    for pattern in rulebook.patterns:
        rule = pattern.rules[0] if pattern.rules else None
        if rule is None or not _every_record(rule.context, rulebook, layout):
            continue
        lets = {let.name: let.value for let in (*rulebook.lets, *pattern.lets, *rule.lets)}
        for check in rule.checks:
            if check.index in checks and _closed(check.test, rulebook, lets, names):
                found.add(check.index)
    return frozenset(found)


def _every_record(context: str, rulebook: Rulebook, layout: Layout) -> bool:
    """Whether a context selects all records: its steps, without conditions, are the last names on the way to them."""
    paths = parse_context(context, rulebook.namespaces)
    if paths is None or len(paths) != 1:
        return False
    path = paths[0]
    if not path.steps or (path.absolute and len(path.steps) != len(layout.record_path) and not path.steps[0].gap):
        return False
    if any(
        s.predicates or s.kind != "element" or s.plain_name is None or (s.gap and i) for i, s in enumerate(path.steps)
    ):
        return False
    names = dict(rulebook.namespaces)
    tags = []
    for step in path.steps:
        prefix, colon, local = step.name.rpartition(":")
        tags.append(f"{{{names.get(prefix, '')}}}{local}" if colon else local)
    return tuple(tags) == layout.record_path[-len(tags) :]


def _closed(expression: str, rulebook: Rulebook, lets: Mapping[str, str], names: Collection[str]) -> bool:
    try:
        token = parse(expression, {**STANDARD_NAMESPACES, **dict(rulebook.namespaces)})
    except RulebookError:
        return False
    if not _reads_only(token, names):
        return False
    read = variables(tokenize(expression))
    rest = {name: value for name, value in lets.items() if name not in read}
    return all(name in lets and _closed(lets[name], rulebook, rest, names) for name in read)


def _reads_only(token: Any, names: Collection[str]) -> bool:
    symbol = token.symbol
    if symbol == "$":
        return True
    if symbol == "@":
        return token[0].symbol == "(name)" and str(token[0].value) in names
    call = called(token)
    if call is not None:
        plain = call[0] in _FUNCTIONS and bool(call[1] or call[0] in ("true", "false"))
        return plain and all(_reads_only(part, names) for part in call[1])
    if symbol == ":" and len(token) == 2 and token[1].label == "constructor function":
        return all(_reads_only(part, names) for part in token[1])
    if symbol not in _OPERATORS or (symbol == "*" and not len(token)):
        return False
    return all(_reads_only(part, names) for part in token)
