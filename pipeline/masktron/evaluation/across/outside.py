"""Checks that fire on nodes outside the records, where nothing of the records is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masktron.errors import RulebookError
from masktron.evaluation.across.paths import Map, Spot, called
from masktron.rulebook.schema import Rule, Rulebook, ValueOf
from masktron.xpath.context_match import parse_context
from masktron.xpath.lexer import tokenize, variables
from masktron.xpath.namespaces import with_standard
from masktron.xpath.tokens import parse

_WORDS = (
    "and or = != < <= > >= eq ne lt le gt ge + - * div mod idiv , to || if ( (string) (integer) (decimal) (float)"
)
_OPERATORS = frozenset(_WORDS.split())
_NAMES = "not boolean true false number abs floor ceiling round round-half-to-even sum count concat min max avg"
_FUNCTIONS = frozenset(_NAMES.split())


def stands_alone(rulebook: Rulebook, map_: Map, bases: Mapping[tuple[int, int], Spot], check: int) -> bool:
    """Whether a check fires on a node above the records, and reads nothing of these.

    Parameters
    ----------
    rulebook : Rulebook
        With values in the place of what is read of the records.
    bases : mapping
        Where each rule fires.
    """
    for p, pattern in enumerate(rulebook.patterns):
        for r, rule in enumerate(pattern.rules):
            asked = next((c for c in rule.checks if c.index == check), None)
            if asked is None:
                continue
            base = bases.get((p, r))
            if base is None or base.level >= map_.record.level or not _plain(rule, map_):
                return False
            if not all(_apart(earlier, rule) for earlier in pattern.rules[:r]):
                return False
            lets = {let.name: let.value for let in (*rulebook.lets, *pattern.lets, *rule.lets)}
            expressions = [asked.test, *(part.select for part in asked.message if isinstance(part, ValueOf))]
            return all(_reads_nothing(e, rulebook, lets, map_) for e in expressions)
    return False


def _plain(rule: Rule, map_: Map) -> bool:
    """Whether the context is a path of plain names, the last of which no other element has."""
    paths = parse_context(rule.context)
    if paths is None or any(step.predicates or step.kind != "element" for path in paths for step in path.steps):
        return False
    names = [path.steps[-1].name.rpartition(":")[2] for path in paths if path.steps]
    locals_ = [tag.rpartition("}")[2] for tag in (*map_.outside, *(f.tag for f in map_.layout.fields))]
    locals_.append(map_.layout.record_tag.rpartition("}")[2])
    return not set(names) & {name.removeprefix("@") for name in locals_}


def _apart(earlier: Rule, rule: Rule) -> bool:
    """Whether no node is in both contexts, by the names of their last steps."""
    one, two = (parse_context(r.context) for r in (earlier, rule))
    if one is None or two is None:
        return False
    ends = [{p.steps[-1].plain_name if p.steps else "/" for p in paths} for paths in (one, two)]
    return None not in ends[0] | ends[1] and not {_local(n) for n in ends[0]} & {_local(n) for n in ends[1]}


def _local(name: str | None) -> str:
    return (name or "").rpartition(":")[2]


def _reads_nothing(expression: str, rulebook: Rulebook, lets: Mapping[str, str], map_: Map) -> bool:
    try:
        token = parse(expression, with_standard(rulebook.namespaces))
    except RulebookError:
        return False
    if not _harmless(token, map_):
        return False
    read = variables(tokenize(expression))
    return all(name in lets and _reads_nothing(lets[name], rulebook, _without(lets, name), map_) for name in read)


def _without(lets: Mapping[str, str], name: str) -> dict[str, str]:
    return {other: value for other, value in lets.items() if other != name}


def _harmless(token: Any, map_: Map) -> bool:
    symbol = token.symbol
    if symbol == "$":
        return True
    if symbol in ("/", "//", "(name)", "@", ":"):
        call = called(token)
        if call is not None:
            return call[0] in _FUNCTIONS and all(_harmless(part, map_) for part in call[1])
        return _leads_aside(token, map_)
    call = called(token)
    if call is not None:
        return call[0] in _FUNCTIONS and bool(call[1] or call[0] in ("true", "false")) and _all(call[1], map_)
    if symbol not in _OPERATORS or (symbol == "*" and not len(token)):
        return False
    return _all(list(token), map_)


def _all(tokens: list[Any], map_: Map) -> bool:
    return all(_harmless(part, map_) for part in tokens)


def _leads_aside(token: Any, map_: Map) -> bool:
    """Whether a path of plain names leads through an element that is neither above the records nor in them."""
    names: list[str] = []
    for part in token.iter():
        if part.symbol == "(name)":
            names.append(str(part.value))
        elif part.symbol not in ("/", "//", "@"):
            return False
    layout = map_.layout
    tags = (*layout.record_path, *(f.tag for f in layout.fields))
    inside = {tag.rpartition("}")[2] for tag in tags}
    aside = {name.rpartition("}")[2].removeprefix("@") for name in map_.outside}
    return any(name in aside and name not in inside for name in names)
