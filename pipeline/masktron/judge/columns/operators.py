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
    Bools,
    Doubles,
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
    if "double" in types and sign != "idiv":
        return Number(together(a, b), _OPERATIONS[sign](a.value, b.value))
    left, right = constant_of(a), constant_of(b)
    if isinstance(left, Decimal) and isinstance(right, Decimal) and right and sign in _FOLDED:
        exact = _OPERATIONS[sign](left, right)
        return number_literal(int(exact) if types == {"integer"} and sign != "div" else exact)
    if "decimal" in types:
        raise NotColumnar("decimal arithmetic, in which Saxon keeps more digits")
    match sign:
        case "div":
            return quotient(a, b.value, together(a, b), doubt)
        case "idiv":
            return _integer_division(a, b, doubt)
        case _:
            return _integers(_OPERATIONS[sign](a.value, b.value), together(a, b), doubt)


def quotient(top: Number, bottom: Doubles, present: Bools, doubt: Doubt) -> Number:
    """Return the quotient of integers as a decimal where it has three digits behind the point at most."""
    sure = (np.fmod(1000 * top.value, bottom) == 0) & (np.abs(top.value) < 10.0 ** (DIGITS - 3))
    doubt.add(some(~sure & present))
    return Number(present, np.where(sure, top.value / bottom, 0.0) + 0.0, "decimal")


def _integer_division(a: Number, b: Number, doubt: Doubt) -> Number:
    present = together(a, b)
    whole = np.trunc(a.value / b.value)
    # where the quotient was rounded up to an integer, engines may differ
    rounded = (whole == a.value / b.value) & (np.fmod(a.value, b.value) != 0)
    doubt.add(some((rounded | np.isinf(b.value)) & present))
    return _integers(whole, present, doubt)


def _integers(value: Doubles, present: Bools, doubt: Doubt) -> Number:
    """Return doubles as integers where they surely are the result; a zero has no sign."""
    lost = ~(np.abs(value) < EXACT)
    doubt.add(some(lost & present))
    return Number(present, np.where(lost, 0.0, value) + 0.0, "integer")


def negated(item: Number) -> Number:
    """Return the value of unary minus."""
    constant = None if item.constant is None else -item.constant
    value = -item.value if item.type == "double" else 0.0 - item.value
    return replace(item, value=value, constant=constant)
