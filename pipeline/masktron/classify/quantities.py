"""What a numeric expression is worth: rational functions of the fields, with cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from masktron.classify.formula import Formula
from masktron.classify.polynomial import MonomialSum

_MAX_PARTS = 32
ZERO, ONE = MonomialSum.constant(Fraction(0)), MonomialSum.constant(Fraction(1))


class UntranslatableError(Exception):
    """A subexpression has no normal form; caught where the smallest condition around it becomes one atom."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Quantity:
    """``numerator / denominator``.

    Attributes
    ----------
    poles : tuple of MonomialSum
        Every divisor, as often as it divides.
    operands : frozenset of str
        Fields that were read, those that cancel included: where one is missing, so is the quantity.
    empties : frozenset of str
        Operands that, absent, make the quantity the empty sequence of XPath 2, with which every comparison is false.
    whole : frozenset of str
        Operands that were cast to an integer, which fails for other numbers.
    nan : bool
        Never a number.
    """

    numerator: MonomialSum
    denominator: MonomialSum = ONE
    poles: tuple[MonomialSum, ...] = ()
    operands: frozenset[str] = frozenset()
    empties: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    nan: bool = False


@dataclass(frozen=True, slots=True)
class Cases:
    """One amount where a condition holds, another where it does not."""

    condition: Formula
    then: Amount
    otherwise: Amount


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An amount without a formula; a comparison with it is left to the engine."""

    reason: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """The empty sequence of XPath 2: computing with it gives nothing, and every comparison with it is false."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """The greatest (or the least) of some amounts, none of them with cases; NaN where one of them is.

    ``max(a, b) <= c`` is a conjunction and ``max(a, b) >= c`` a disjunction, without asking which is greater.
    """

    maximum: bool
    parts: tuple[Quantity | Extreme, ...]


type Amount = Quantity | Cases | Extreme | Unresolved | Nothing

NOT_A_NUMBER = Quantity(ZERO, nan=True)


def constant(value: Fraction | int) -> Quantity:
    """Make an amount from a number."""
    return Quantity(MonomialSum.constant(Fraction(value)))


def lift(  # noqa: PLR0911 -- one branch per kind of amount
    operation: Callable[[Quantity, Quantity], Quantity], left: Amount, right: Amount
) -> Amount:
    """Apply an operation case by case."""
    if isinstance(left, Cases):
        return Cases(left.condition, lift(operation, left.then, right), lift(operation, left.otherwise, right))
    if isinstance(right, Cases):
        return Cases(right.condition, lift(operation, left, right.then), lift(operation, left, right.otherwise))
    if isinstance(left, Unresolved) or isinstance(right, Unresolved):
        return left if isinstance(left, Unresolved) else right
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        return Nothing()
    if isinstance(left, Extreme) or isinstance(right, Extreme):
        return _lift_extreme(operation, left, right)
    try:
        return operation(left, right)
    except UntranslatableError as error:
        return Unresolved(error.reason)


def _lift_extreme(
    operation: Callable[[Quantity, Quantity], Quantity], left: Quantity | Extreme, right: Quantity | Extreme
) -> Amount:
    """Move an operation inside: exact, because adding keeps the order, and a factor keeps or turns it."""
    if operation not in (add, subtract):
        sign = sign_of(right)
        if isinstance(left, Quantity) and operation is multiply:
            left, right, sign = right, left, sign_of(left)
        if sign is None or not isinstance(left, Extreme):
            return Unresolved("it multiplies or divides by a maximum")
        return extreme(left.maximum == (sign >= 0), [lift(operation, part, right) for part in left.parts])
    if isinstance(left, Extreme):
        return extreme(left.maximum, [lift(operation, part, right) for part in left.parts])
    assert isinstance(right, Extreme)  # noqa: S101 -- for the type checker
    return extreme(right.maximum == (operation is add), [lift(operation, left, part) for part in right.parts])


def sign_of(amount: Amount) -> int | None:
    """Return the sign of an amount that is a number; None for any other."""
    if not isinstance(amount, Quantity) or amount.operands or amount.nan or amount.denominator != ONE:
        return None
    value = amount.numerator.value
    return None if value is None else (value > 0) - (value < 0)


def extreme(maximum: bool, amounts: Sequence[Amount]) -> Amount:
    """Return the greatest or the least of amounts."""
    parts: list[Quantity | Extreme] = []
    for position, amount in enumerate(amounts):
        match amount:
            case Cases(condition=condition, then=then, otherwise=otherwise):
                rest = amounts[position + 1 :]
                return Cases(
                    condition,
                    extreme(maximum, [*parts, then, *rest]),
                    extreme(maximum, [*parts, otherwise, *rest]),
                )
            case Unresolved() | Nothing():
                return amount
            case Extreme(maximum=same, parts=inner) if same == maximum:
                parts += inner
            case _:
                parts.append(amount)
    if len(parts) > _MAX_PARTS:
        return Unresolved("it takes the maximum of too many terms")
    return parts[0] if len(parts) == 1 else Extreme(maximum, tuple(dict.fromkeys(parts)))


def _joined(left: Quantity, right: Quantity, numerator: MonomialSum, denominator: MonomialSum) -> Quantity:
    return Quantity(
        numerator,
        denominator,
        (*left.poles, *right.poles),
        left.operands | right.operands,
        left.empties | right.empties,
        left.whole | right.whole,
        left.nan or right.nan,
    )


def add(left: Quantity, right: Quantity) -> Quantity:
    """Sum of two quantities."""
    if left.denominator == right.denominator:
        return _joined(left, right, left.numerator + right.numerator, left.denominator)
    crossed = left.numerator * right.denominator + right.numerator * left.denominator
    return _joined(left, right, crossed, left.denominator * right.denominator)


def negate(amount: Quantity) -> Quantity:
    """The opposite."""
    return replace(amount, numerator=-amount.numerator)


def subtract(left: Quantity, right: Quantity) -> Quantity:
    """Difference of two quantities."""
    return add(left, negate(right))


def multiply(left: Quantity, right: Quantity) -> Quantity:
    """Product of two quantities."""
    return _joined(left, right, left.numerator * right.numerator, left.denominator * right.denominator)


def divide(left: Quantity, right: Quantity) -> Quantity:
    """Quotient of two quantities.

    Raises
    ------
    UntranslatableError
        The divisor is the constant zero.
    """
    if right.denominator == ONE and (value := right.numerator.value) is not None:
        if not value:
            raise UntranslatableError("it divides by zero")
        return _joined(left, right, left.numerator.scaled(1 / value), left.denominator)
    quotient = _joined(left, right, left.numerator * right.denominator, left.denominator * right.numerator)
    return replace(quotient, poles=(*quotient.poles, right.numerator))


def total(parts: Sequence[Amount]) -> Amount:
    """Sum of amounts; zero for none."""
    result: Amount = constant(0)
    for part in parts:
        result = lift(add, result, part)
    return result
