"""XPath 2.0 to 3.1 over the columns of a batch, as Saxon has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from masktron.errors import RulebookError
from masktron.evaluation.columns.outcome import NotColumnar, Truth
from masktron.evaluation.columns.scope import Scope
from masktron.evaluation.columns.xpath2_compare import holding
from masktron.evaluation.columns.xpath2_expressions import evaluate
from masktron.evaluation.columns.xpath2_source import BatchSource, DrySource
from masktron.evaluation.columns.xpath2_steps import Let, start
from masktron.sources.columns import Batch
from masktron.xpath.tokens import parse

_STANDARD = (
    ("xs", "http://www.w3.org/2001/XMLSchema"),
    ("fn", "http://www.w3.org/2005/xpath-functions"),
    ("math", "http://www.w3.org/2005/xpath-functions/math"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A boolean expression that is evaluated over columns.

    Attributes
    ----------
    fields : frozenset of int
        Positions in the layout of the fields that it reads.
    """

    token: Any
    scope: Scope
    fields: frozenset[int]

    def truth(self, batch: Batch) -> Truth:
        """Evaluate it in every record of a batch; records and cells that are odd may get any answer."""
        source = BatchSource(batch)
        # divisions by zero and the like are answers of IEEE, or unsure
        with np.errstate(all="ignore"):
            holds, unsure = holding(evaluate(self.token, start(source, self.scope, {})), source)
        rows = (len(batch),)
        return Truth(np.broadcast_to(holds, rows), np.broadcast_to(unsure, rows))


def compile_test(source: str, scope: Scope) -> Expression:
    """Compile a test.

    Parameters
    ----------
    source : str
        XPath 2.0 to 3.1; the version makes no difference, as the engine that decides has one for all.
    scope : Scope

    Raises
    ------
    NotColumnar
        An engine has to evaluate it.
    """
    token = _parsed(source, scope)
    dry = DrySource()
    with np.errstate(all="ignore"):
        holding(evaluate(token, start(dry, scope, {})), dry)
    return Expression(token, scope, frozenset(dry.read))


def compile_let(source: str, scope: Scope) -> Let:
    """Compile the value of a variable, for `Scope.bind`.

    Raises
    ------
    NotColumnar
        An engine has to evaluate it.
    """
    token = _parsed(source, scope)
    with np.errstate(all="ignore"):
        evaluate(token, start(DrySource(), scope, {}))
    return Let(token, scope)


def _parsed(source: str, scope: Scope) -> Any:
    try:
        return parse(source, dict((*_STANDARD, *scope.namespaces)))
    except RulebookError as error:
        raise NotColumnar(f"the expression cannot be read: {error}") from None
