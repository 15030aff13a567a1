"""Arithmetic of XPath on doubles and on fractions alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

type RealNumber = Fraction | float


class Unclear(Exception):  # noqa: N818 -- no mistake: the value is not known
    """A value that is not known here."""


def computed(operator: str, left: RealNumber, right: RealNumber) -> RealNumber:  # noqa: PLR0911 -- one per operator
    """Apply an arithmetic operator; NaN goes through.

    Raises
    ------
    Unclear
        A division by zero or of what is not finite, which XPath has many rules for.
    """
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    if not right or not (math.isfinite(left) and math.isfinite(right)):
        raise Unclear
    if operator == "div":
        return left / right
    if operator == "idiv":
        return type(left)(math.trunc(left / right))
    if isinstance(left, float) or isinstance(right, float):
        return math.fmod(left, right)
    return left - right * math.trunc(left / right)


def size(number: RealNumber) -> RealNumber:
    """Return the absolute value."""
    return -number if number < 0 else number


def _whole(rounded: Callable[[RealNumber], int]) -> Callable[[Sequence[RealNumber]], RealNumber]:
    def function(numbers: Sequence[RealNumber]) -> RealNumber:
        (number,) = numbers
        if isinstance(number, float):
            return float(rounded(number)) if math.isfinite(number) else number
        return Fraction(rounded(number))

    return function


def _half_up(number: RealNumber) -> int:
    """Round as ``round()`` does: halves towards positive infinity; in doubles, 0.5 is not added to just below it."""
    low = math.floor(number)
    return low + 1 if number - low >= Fraction(1, 2) else low


def _total(numbers: Sequence[RealNumber]) -> RealNumber:
    result = numbers[0]
    for number in numbers[1:]:
        result = result + number
    return result


def _known(choose: Callable[[Sequence[RealNumber]], RealNumber]) -> Callable[[Sequence[RealNumber]], RealNumber]:
    def function(numbers: Sequence[RealNumber]) -> RealNumber:
        if any(isinstance(number, float) and math.isnan(number) for number in numbers):
            return math.nan
        return choose(numbers)

    return function


FUNCTIONS: Mapping[str, Callable[[Sequence[RealNumber]], RealNumber]] = {
    "abs": lambda numbers: size(numbers[0]),
    "floor": _whole(math.floor),
    "ceiling": _whole(math.ceil),
    "round": _whole(_half_up),
    "sum": _total,
    "avg": lambda numbers: computed("div", _total(numbers), type(numbers[0])(len(numbers))),
    "min": _known(min),
    "max": _known(max),
}
"""Functions of numbers, none of them without any."""
