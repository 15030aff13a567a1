"""Analyses of a rulebook, each made once.

What the checks read, how far they look, which engine decides them: whoever evaluates, masks or explains asks for it.
Some of it depends on the layout of the file, which is known later than the rulebook, and rewritten rulebooks are
analysed like those that were read. So an analysis is a function of a rulebook, and the rulebook keeps its result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Concatenate

from masktron.rulebook.context_match import ContextPath, parse_context
from masktron.rulebook.expressions.forbidden import screen
from masktron.rulebook.expressions.words import variables
from masktron.rulebook.schema import Let, Rulebook, ValueOf


def once[**P, R](analysis: Callable[Concatenate[Rulebook, P], R]) -> Callable[Concatenate[Rulebook, P], R]:
    """Have an analysis made once for each rulebook, and for each value of what else it is given.

    Parameters
    ----------
    analysis : callable
        Its result depends on its arguments alone and is not changed by anybody; all but the rulebook are hashable.
    """
    name = f"{analysis.__module__}.{analysis.__qualname__}"
    asked = inspect.signature(analysis)

    @wraps(analysis)
    def known(rulebook: Rulebook, /, *given: P.args, **named: P.kwargs) -> R:
        bound = asked.bind(rulebook, *given, **named)
        bound.apply_defaults()  # the same question, however it is spelled
        key: Hashable = (name, *list(bound.arguments.items())[1:])
        if key not in rulebook.analyses:
            rulebook.analyses[key] = analysis(rulebook, *given, **named)
        found: R = rulebook.analyses[key]
        return found

    return known


@once
def context_of(rulebook: Rulebook, context: str) -> tuple[ContextPath, ...] | None:
    """Return the paths of a context; see `masktron.rulebook.context_match.parse_context`."""
    return parse_context(context, rulebook.namespaces)


def with_lets(texts: Iterable[str], lets: Iterable[Let]) -> Iterator[str]:
    """Yield expressions, and once each the values of all variables that they use, directly or through others.

    Where several variables have one name, all of their values count.
    """
    values: dict[str, list[str]] = {}
    for let in lets:
        values.setdefault(let.name, []).append(let.value)
    waiting = list(texts)
    while waiting:
        text = waiting.pop(0)
        yield text
        for name in sorted(variables(text) & values.keys()):
            waiting += values.pop(name)


@once
def readers(rulebook: Rulebook) -> Mapping[int, frozenset[str]]:
    """Return what each check reads: in its test, its message, its context or an earlier one, or by a variable."""
    found: dict[int, frozenset[str]] = {}
    own, spaces = rulebook.own_functions, rulebook.namespaces
    bodies = [(text, part.origin) for one in rulebook.programs for part in one.walk() for text in part.expressions]
    by_functions = frozenset(call.uri for text, origin in bodies for call in screen(text, origin, spaces, own))
    for pattern, position, check in rulebook.situated():
        rule = pattern.rules[position]
        contexts = [earlier.context for earlier in pattern.rules[: position + 1]]
        shown = [part.select for part in check.message if isinstance(part, ValueOf)]
        lets = (*rulebook.lets, *pattern.lets, *rule.lets)
        calls = (
            call
            for text in with_lets([check.test, *shown, *contexts], lets)
            for call in screen(text, check.origin, rulebook.namespaces, own)
        )
        # whatever functions of the rulebook read, each check may read that calls one
        if names := frozenset(call.uri for call in calls) | by_functions:
            found[check.index] = names
    return found
