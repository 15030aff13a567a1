"""Which checks read the order of the records, so that they may fail where the records stand in another one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from masktron.errors import RulebookError
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Check, Let, Rule, Rulebook
from masktron.sources.records import Layout
from masktron.xpath.namespaces import with_standard
from masktron.xpath.tokens import parse

AXES = frozenset({"preceding", "following", "preceding-sibling", "following-sibling"})
_PLACES = frozenset({"position", "last"})
_IN_ORDER = frozenset(
    {"<<", ">>", "head", "tail", "subsequence", "reverse", "remove", "insert-before", "index-of"}
    | {"fold-left", "fold-right", "for-each-pair"}
)
_LITERALS = frozenset({"(integer)", "(decimal)", "(float)"})
_VARIABLE = re.compile(r"\$\s*([\w.:-]+)")


def reads_order(rulebook: Rulebook, layout: Layout) -> tuple[str, ...]:
    """Return for each check what in it reads the order of records; the empty string where nothing does.

    Axes to siblings, positions and functions of sequences are looked for in tests, contexts and variables that leave
    the record. That the first of several nodes becomes a number is not seen here.
    """
    reasons = locality(rulebook, layout)
    found: list[str] = []
    for pattern in rulebook.patterns:
        contexts = tuple(rule.context for rule in pattern.rules)
        for rule in pattern.rules:
            lets = (*rulebook.lets, *pattern.lets, *rule.lets)
            found += [_read(check, rule, contexts, lets, rulebook, reasons[check.index]) for check in rule.checks]
    return tuple(found)


def in_order_by(text: str, namespaces: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Return what in an expression depends on the order of nodes, in its own words and each once.

    Axes come last. An expression that cannot be read has nothing.
    """
    try:
        token = parse(text, with_standard(namespaces))
    except RulebookError:
        return ()
    words = dict.fromkeys(_words(token))
    return tuple(sorted(words, key=lambda word: word in AXES))


def _read(
    check: Check, rule: Rule, contexts: tuple[str, ...], lets: tuple[Let, ...], rulebook: Rulebook, reason: str
) -> str:
    """Name the first thing that reads the order, or nothing."""
    if not reason:
        return ""
    # an earlier rule of the pattern takes nodes away from this one
    texts = [check.test, *_used(f"{check.test} {rule.context}", lets), *contexts]
    return next((word for text in texts for word in in_order_by(text, rulebook.namespaces)), "")


def _used(text: str, lets: tuple[Let, ...]) -> Iterator[str]:
    """Yield the values of the variables that an expression uses, and of those that these use."""
    known, waiting = {let.name: let.value for let in lets}, _VARIABLE.findall(text)
    while waiting:
        value = known.pop(waiting.pop(), None)
        if value is not None:
            yield value
            waiting += _VARIABLE.findall(value)


def _words(token: Any) -> Iterator[str]:
    stack = [token]
    while stack:
        one = stack.pop()
        symbol, parts = one.symbol, list(one)
        if symbol in AXES and one.label == "axis":
            yield symbol
        elif symbol in _PLACES or symbol in _IN_ORDER:
            yield symbol if symbol in ("<<", ">>") else f"{symbol}()"
        elif symbol == "[" and len(parts) > 1 and parts[1].symbol in _LITERALS:
            yield f"[{parts[1].value}]"
        stack.extend(part for part in parts if hasattr(part, "symbol"))
