"""Rounded numbers: ``round(A * B) = C`` and ``floor(A div 10) >= 2`` as bounds on what is rounded."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor

from masktron.classify.comparing import REVERSED, Comparing, compare
from masktron.classify.formula import FALSE, All, Formula, Leaf, Negation
from masktron.classify.integrality import fractional
from masktron.classify.quantities import (
    Amount,
    Cases,
    Extreme,
    Nothing,
    Quantity,
    Unresolved,
    UntranslatableError,
    add,
    constant,
    lift,
    subtract,
)
from masktron.classify.values import present
from masktron.constraints import Missing, Present, Whole
from masktron.xpath.ir import Call, Comparison, ComparisonOperator, Expression, FieldRef


def rounded(
    comparison: Comparison, amount: Callable[[Expression], Amount], how: Comparing, version: str
) -> Formula | None:
    """Translate the comparison of a rounded number with a constant, or its equality with a field.

    With an integer y, ``floor(x) = y`` says that ``y <= x < y + 1``; ``ceiling(x)`` is ``-floor(-x)``, and
    ``round(x)`` is ``floor(x + 1/2)`` in all versions of XPath.

    Returns
    -------
    Formula or None
        None where the comparison is of another kind.
    """
    for call, other, operator in (
        (comparison.left, comparison.right, comparison.operator),
        (comparison.right, comparison.left, REVERSED[comparison.operator]),
    ):
        match call:
            case Call(name="floor" | "ceiling" | "round" as name, arguments=(inner,)):
                try:
                    value, limit = amount(inner), amount(other)
                except UntranslatableError:
                    return None  # whoever asks finds the reason again, on the way to the engine
                return _floor(*_as_floor(name, operator, value, limit), how, version)
            case _:
                pass
    return None


def _as_floor(
    name: str, operator: ComparisonOperator, value: Amount, limit: Amount
) -> tuple[ComparisonOperator, Amount, Amount]:
    """Write a comparison of a rounded value with a limit as one of ``floor(value)``."""
    zero = constant(0)
    match name:
        case "ceiling":
            return REVERSED[operator], lift(subtract, zero, value), lift(subtract, zero, limit)
        case "round":
            return operator, lift(add, value, constant(Fraction(1, 2))), limit
        case _:
            return operator, value, limit


def _floor(
    operator: ComparisonOperator, value: Amount, limit: Amount, how: Comparing, version: str
) -> Formula | None:
    if not isinstance(limit, Quantity) or limit.nan or (limit.poles and operator != "="):
        return None
    if operator == "!=":
        equal = _floor("=", value, limit, how, version)
        there = sorted(how.direct | limit.empties | _empties(value))
        return None if equal is None else All((*(present(FieldRef(name)) for name in there), Negation(equal)))
    number = None if limit.operands else limit.numerator.value
    if number is not None:
        return _against_number(operator, value, number / (limit.denominator.value or 1), how)
    whole = _whole(limit, version) if operator == "=" else None
    if whole is None:
        return None
    above = compare("<", value, lift(add, limit, constant(1)), how)
    return All((compare("<=", limit, value, how), above, whole))


def _against_number(operator: ComparisonOperator, value: Amount, number: Fraction, how: Comparing) -> Formula:
    """``floor(x) <= c`` is ``x < floor(c) + 1``, ``floor(x) >= c`` is ``x >= ceil(c)``, and so on."""
    match operator:
        case "<=":
            return compare("<", value, constant(floor(number) + 1), how)
        case "<":
            return compare("<", value, constant(ceil(number)), how)
        case ">=":
            return compare(">=", value, constant(ceil(number)), how)
        case ">":
            return compare(">=", value, constant(floor(number) + 1), how)
        case _ if number.denominator != 1:
            return FALSE
        case _:
            return All((compare(">=", value, constant(number), how), compare("<", value, constant(number + 1), how)))


def _whole(limit: Quantity, version: str) -> Formula | None:
    """Ask that a field plus an integer, or an integer minus a field, is an integer; None for other limits."""
    if limit.denominator.value != 1 or limit.whole or limit.operands != limit.numerator.variables:
        return None
    if len(limit.operands) != 1 or not limit.numerator.linear:
        return None
    if any(abs(c) != 1 if powers else c.denominator != 1 for powers, c in limit.numerator.terms):
        return None
    (name,) = limit.operands
    lacking = Present(name, negated=True) if name in limit.empties else Missing(name)
    return Leaf(((Whole(name),),), (*fractional(name, version), (lacking,)))


def _empties(amount: Amount) -> frozenset[str]:
    match amount:
        case Quantity(empties=empties):
            return empties
        case Extreme(parts=parts):
            return frozenset[str]().union(*map(_empties, parts))
        case Cases(then=then, otherwise=otherwise):
            return _empties(then) | _empties(otherwise)
        case Unresolved() | Nothing():
            return frozenset()
