"""Analyses of a rulebook, each made once.

What the checks read, how far they look, which engine decides them: whoever evaluates, masks or explains asks for it.
Some of it depends on the layout of the file, which is known later than the rulebook, and rewritten rulebooks are
analysed like those that were read. So an analysis is a function of a rulebook, and the rulebook keeps its result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate

from masktron.rulebook.schema import Rulebook
from masktron.xpath.context_match import ContextPath, parse_context


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
    """Return the paths of a context; see `masktron.xpath.context_match.parse_context`."""
    return parse_context(context, rulebook.namespaces)
