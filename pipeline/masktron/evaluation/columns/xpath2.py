"""XPath 2.0 to 3.1 over the columns of a batch, as Saxon has it."""

from __future__ import annotations

from typing import Any

from masktron.errors import RulebookError
from masktron.evaluation.columns.dialect import Dialect
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.scope import ColumnScope
from masktron.evaluation.columns.xpath2_expressions import evaluate
from masktron.xpath.namespaces import STANDARD_NAMESPACES
from masktron.xpath.tokens import parse

_STANDARD = tuple((prefix, STANDARD_NAMESPACES[prefix]) for prefix in ("xs", "fn", "math"))


def _parsed(source: str, scope: ColumnScope) -> Any:
    try:
        return parse(source, dict((*_STANDARD, *scope.namespaces)))
    except RulebookError as error:
        raise NotColumnar(f"the expression cannot be read: {error}") from None


XPATH2 = Dialect(_parsed, evaluate)
"""The version makes no difference, as the engine that decides has one for all."""
