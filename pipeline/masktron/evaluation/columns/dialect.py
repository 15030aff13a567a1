"""How an expression is compiled in either dialect: it is tried without records, which tells what it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from masktron.evaluation.columns.comparisons import holding
from masktron.evaluation.columns.field_source import BatchSource, DrySource
from masktron.evaluation.columns.outcome import Truth
from masktron.evaluation.columns.scope import ColumnScope
from masktron.evaluation.columns.state import Evaluate, ScopedLet, start
from masktron.sources.columns import Batch


@dataclass(frozen=True, slots=True, eq=False)
class CompiledTest:
    """A test that is evaluated over columns.

    Attributes
    ----------
    fields : frozenset of int
        Positions in the layout of the fields that it reads.
    """

    token: Any
    scope: ColumnScope
    evaluate: Evaluate
    fields: frozenset[int]
    _never: set[tuple[int, int]]

    def truth(self, batch: Batch) -> Truth:
        """Evaluate it in every record of a batch; records and cells that are odd may get any answer."""
        source = BatchSource(batch)
        # divisions by zero and the like are answers of IEEE, or unsure
        with np.errstate(all="ignore"):
            holds, unsure = holding(self.evaluate(self.token, start(source, self.scope, self._never)), source)
        rows = (len(batch),)
        return Truth(np.broadcast_to(holds, rows), np.broadcast_to(unsure, rows))


@dataclass(frozen=True, slots=True)
class Dialect:
    """XPath 1.0, or XPath 2.0 to 3.1.

    Attributes
    ----------
    parse : callable
        From an expression and its scope to the token tree.
    evaluate : callable
        From a token and the state in which it stands to its value.
    """

    parse: Callable[[str, ColumnScope], Any]
    evaluate: Evaluate

    def compile_test(self, source: str, scope: ColumnScope) -> CompiledTest:
        """Compile a test to its effective boolean value.

        Raises
        ------
        NotColumnar
            An engine has to evaluate it; the text says why.
        """
        token = self.parse(source, scope)
        dry = DrySource()
        with np.errstate(all="ignore"):
            tried = start(dry, scope)
            holding(self.evaluate(token, tried), dry)
        return CompiledTest(token, scope, self.evaluate, frozenset(dry.read), tried.never)

    def compile_let(self, source: str, scope: ColumnScope) -> ScopedLet:
        """Compile the value of a variable, for `ColumnScope.bind`.

        Raises
        ------
        NotColumnar
            An engine has to evaluate it; the text says why.
        """
        token = self.parse(source, scope)
        with np.errstate(all="ignore"):
            self.evaluate(token, start(DrySource(), scope))
        return ScopedLet(token, scope)
