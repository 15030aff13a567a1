"""Which documents the checks of a rulebook read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from masktron.rulebook.analysis import once
from masktron.rulebook.forbidden import screen
from masktron.rulebook.schema import Let, Origin, Rulebook, ValueOf
from masktron.xpath.lexer import tokenize, variables


@once
def readers(rulebook: Rulebook) -> Mapping[int, frozenset[str]]:
    """Return what each check reads: in its test, its message, its context or an earlier one, or by a variable."""
    found: dict[int, frozenset[str]] = {}
    for pattern, position, check in rulebook.situated():
        rule = pattern.rules[position]
        contexts = [earlier.context for earlier in pattern.rules[: position + 1]]
        shown = [part.select for part in check.message if isinstance(part, ValueOf)]
        lets = (*rulebook.lets, *pattern.lets, *rule.lets)
        names = _read([check.test, *shown, *contexts], lets, check.origin, rulebook.namespaces)
        if names:
            found[check.index] = names
    return found


def _read(
    texts: Iterable[str], lets: tuple[Let, ...], origin: Origin, namespaces: tuple[tuple[str, str], ...]
) -> frozenset[str]:
    values: dict[str, list[str]] = {}
    for let in lets:
        values.setdefault(let.name, []).append(let.value)
    found: set[str] = set()
    waiting, seen = list(texts), set[str]()
    while waiting:
        text = waiting.pop()
        found |= {call.uri for call in screen(text, origin, namespaces)}
        for name in variables(tokenize(text)) - seen:
            seen.add(name)
            waiting += values.get(name, [])
    return frozenset(found)
