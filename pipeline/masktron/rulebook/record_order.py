"""Which checks read the order of the records, so that they may fail where the records stand in another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from masktron.rulebook.analysis import with_lets
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import (
    SIDEWAYS,
    Call,
    Comparison,
    Expression,
    Filter,
    Literal,
    Opaque,
    Step,
    walk,
)
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Check, Let, Rule, Rulebook
from masktron.sources.record_layout import Layout

_IN_ORDER = frozenset(
    {"position", "last", "head", "tail", "subsequence", "reverse", "remove", "insert-before", "index-of"}
    | {"fold-left", "fold-right", "for-each-pair"}
)


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
    tree = understood(text, namespaces)
    words = dict.fromkeys(() if tree is None else _words(tree))
    return tuple(sorted(words, key=lambda word: word in SIDEWAYS))


def _read(
    check: Check, rule: Rule, contexts: tuple[str, ...], lets: tuple[Let, ...], rulebook: Rulebook, reason: str
) -> str:
    """Name the first thing that reads the order, or nothing."""
    if not reason:
        return ""
    # an earlier rule of the pattern takes nodes away from this one
    texts = (*with_lets((check.test, rule.context), lets), *contexts)
    return next((word for text in texts for word in in_order_by(text, rulebook.namespaces)), "")


def _words(expression: Expression) -> Iterator[str]:
    for one in walk(expression):
        match one:
            case Step(axis=axis) if axis in SIDEWAYS:
                yield axis
            case Call(name=name) if name in _IN_ORDER:
                yield f"{name}()"
            case Opaque(symbol="#", parts=(function, _)) if function.text in _IN_ORDER:
                yield f"{function}()"
            case Comparison(sign="<<" | ">>" as sign):
                yield sign
        if isinstance(one, Step | Filter):
            positions = (part for part in one.predicates if isinstance(part, Literal))
            yield from (f"[{part.value}]" for part in positions if not isinstance(part.value, str))
