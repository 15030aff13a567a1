"""Arithmetic: promotion by static type, exact results or none."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np

from masktron.judge.columns.items import (
    DIGITS,
    EXACT,
    Doubt,
    NotColumnar,
    Number,
    constant_of,
    number_literal,
    some,
)
from masktron.judge.columns.number_items import together

type Numbers = tuple[Number, ...]

MAX_ALTERNATIVES = 64
_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"+": operator.add, "-": operator.sub, "*": operator.mul, "div": operator.truediv, "mod": np.fmod}
)
_FOLDED = frozenset({"+", "-", "*", "div"})


def arithmetic(sign: str, ones: Numbers, others: Numbers, doubt: Doubt) -> Numbers:
    """Return the value of a binary operator, of alternatives of which no record has two."""
    if len(ones) * len(others) > MAX_ALTERNATIVES:
        raise NotColumnar("arithmetic on many alternatives")
    return tuple(_calculated(sign, a, b, doubt) for a in ones for b in others)


def _calculated(sign: str, a: Number, b: Number, doubt: Doubt) -> Number:
    types = {a.type, b.type}
    if sign not in _OPERATIONS:
        raise NotColumnar(f"'{sign}' has no evaluation over columns")
    if "double" in types:
        return Number(together(a, b), _OPERATIONS[sign](a.value, b.value))
    left, right = constant_of(a), constant_of(b)
    if isinstance(left, Decimal) and isinstance(right, Decimal) and right and sign in _FOLDED:
        exact = _OPERATIONS[sign](left, right)
        return number_literal(int(exact) if types == {"integer"} and sign != "div" else exact)
    if "decimal" in types:
        raise NotColumnar("decimal arithmetic, in which Saxon keeps more digits")
    return (_quotient if sign == "div" else _integers)(sign, a, b, doubt)


def _quotient(_: str, top: Number, bottom: Number, doubt: Doubt) -> Number:
    """Return the quotient of integers as a decimal where it has three digits behind the point at most."""
    present = together(top, bottom)
    sure = (np.fmod(1000 * top.value, bottom.value) == 0) & (np.abs(top.value) < 10.0 ** (DIGITS - 3))
    doubt.add(some(~sure & present))
    return Number(present, np.where(sure, top.value / bottom.value, 0.0) + 0.0, "decimal")


def _integers(sign: str, a: Number, b: Number, doubt: Doubt) -> Number:
    """Return an integer where the double surely is the result; a zero has no sign."""
    present, value = together(a, b), _OPERATIONS[sign](a.value, b.value)
    lost = ~(np.abs(value) < EXACT)
    doubt.add(some(lost & present))
    return Number(present, np.where(lost, 0.0, value) + 0.0, "integer")


def negated(item: Number) -> Number:
    """Return the value of unary minus."""
    constant = None if item.constant is None else -item.constant
    value = -item.value if item.type == "double" else 0.0 - item.value
    return replace(item, value=value, constant=constant)
