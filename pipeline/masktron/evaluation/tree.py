"""A test's tree evaluated on the fields of one record, with numbers of any kind; what is not known stays unknown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Numbers
from fractions import Fraction

from masktron.evaluation.xpath1_conversions import RELATIONS
from masktron.reading.nodes import (
    And,
    Arithmetic,
    Boolean,
    Call,
    Cast,
    Comparison,
    Expression,
    FieldRef,
    If,
    Negative,
    Not,
    Or,
    Quantified,
    Sequence,
    Text,
)
from masktron.reading.nodes import Number as Literal
from masktron.sources.lexical import XML_SPACE

type RealNumber = Fraction | float
type TreeItem = UntypedText | str | RealNumber
type TreeItems = tuple[TreeItem, ...]

NEAR = 1e-9
"""Relative distance beyond which two numbers that are read have the same order exactly and in doubles."""
_PLAIN = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_NUMERIC_CASTS = frozenset({"decimal", "double", "integer", "float"})


class _Unclear(Exception):  # noqa: N818 -- no mistake: the value is not known
    """A value that is not known here."""


class UntypedText(str):
    """The text of a node, which no schema gives a type."""

    __slots__ = ()


class TreeEvaluation:
    """A test on the fields of a record, with numbers of one kind.

    Parameters
    ----------
    fields : mapping of str to tuple
        Their texts by name, none where absent; what is not in it is not known.
    reading : callable
        Makes a number of a plain decimal: ``float``, ``Fraction`` or libxml2's reading.
    old : bool
        Whether the expression is XPath 1.0.

    Attributes
    ----------
    doubtful : bool
        Whether a comparison was made that exact numbers might decide otherwise.
    """

    def __init__(self, fields: Mapping[str, TreeItems], reading: Callable[[str], RealNumber], old: bool) -> None:
        self.fields = fields
        self.reading = reading
        self.old = old
        self.doubtful = False

    # truth: None where it is not known

    def truth(self, test: Expression) -> bool | None:
        """Return the effective boolean value."""
        try:
            return self._truth(test)
        except (_Unclear, ArithmeticError, RecursionError):
            return None

    def _truth(self, test: Expression) -> bool | None:  # noqa: PLR0911 -- one branch per kind
        match test:
            case And(parts=parts):
                return _all(self.truth(part) for part in parts)
            case Or(parts=parts):
                return _any(self.truth(part) for part in parts)
            case Not(operand=operand):
                found = self.truth(operand)
                return None if found is None else not found
            case Call(name="boolean", arguments=(operand,)):
                return self.truth(operand)
            case Boolean(value=value):
                return value
            case If(condition=condition, then=then, otherwise=otherwise):
                return self._branch(condition, then, otherwise)
            case Quantified(every=every, cases=cases):
                known = [self.truth(case) for item, case in cases if self.items(item)]
                return _all(known) if every else _any(known)
            case Comparison():
                return self._compared(test)
            case Call(name=("exists" | "empty") as name, arguments=(operand,)):
                return bool(self.items(operand)) is (name == "exists")
            case FieldRef():
                return bool(self.items(test))
            case _:
                return None

    def _branch(self, condition: Expression, then: Expression, otherwise: Expression) -> bool | None:
        chosen = self.truth(condition)
        if chosen is not None:
            return self.truth(then if chosen else otherwise)
        first, second = self.truth(then), self.truth(otherwise)
        return first if first is second else None

    def _compared(self, test: Comparison) -> bool | None:
        left, right = self.items(test.left), self.items(test.right)
        if not test.general and max(len(left), len(right)) > 1:
            raise _Unclear
        plain = _is_plain(test.left) and _is_plain(test.right)
        return _any([self._pair(test, one, other, plain) for one in left for other in right])

    def _pair(self, test: Comparison, left: TreeItem, right: TreeItem, plain: bool) -> bool | None:
        texts = isinstance(left, str) and isinstance(right, str)
        if texts and not (self.old and test.operator not in ("=", "!=")):
            return RELATIONS[test.operator](str(left), str(right))
        if not self.old and not all(_comparable(item, test.general) for item in (left, right)):
            return None  # a type error, or a comparison as texts
        one, other = self.number(left), self.number(right)
        self.doubtful |= not plain or _size(one - other) <= NEAR * max(_size(one), _size(other))
        return RELATIONS[test.operator](one, other)

    # values

    def number(self, item: TreeItem) -> RealNumber:
        """Return the number that an item is, NaN where it is none."""
        if not isinstance(item, str):
            return item
        text = item.strip(XML_SPACE)
        if _PLAIN.fullmatch(text):
            return self.reading(text)
        if not self.old:
            raise _Unclear  # an error in XPath 2
        return math.nan

    def items(self, expression: Expression) -> TreeItems:  # noqa: PLR0911 -- as above
        """Return the items of a value."""
        match expression:
            case FieldRef(name=name):
                return self._field(name, text=expression.text)
            case Literal(value=value):
                return (self.reading(_decimal(value)) if _is_decimal(value) else self._quotient(value),)
            case Text(value=text):
                return (text,)
            case Sequence(items=parts):
                return tuple(item for part in parts for item in self.items(part))
            case Arithmetic(operator=operator, left=left, right=right):
                return self._computed(operator, self.operand(left), self.operand(right))
            case Negative(operand=operand):
                return tuple(-number for number in self.operand(operand))
            case Cast(target=target, operand=operand) if target in _NUMERIC_CASTS:
                return self._cast(target, self.operand(operand))
            case Call(name=name, arguments=arguments):
                return self._called(name, arguments)
            case If(condition=condition, then=then, otherwise=otherwise):
                chosen = self.truth(condition)
                if chosen is None:
                    raise _Unclear
                return self.items(then if chosen else otherwise)
            case _:
                raise _Unclear

    def _field(self, name: str, *, text: bool) -> TreeItems:
        if name not in self.fields:
            raise _Unclear
        return tuple(item for item in self.fields[name] if item or not text)

    def _quotient(self, value: Fraction) -> RealNumber:
        one, other = self.reading(str(value.numerator)), self.reading(str(value.denominator))
        return _arithmetic("div", one, other)

    def operand(self, expression: Expression) -> tuple[RealNumber, ...]:
        """Return the number of an operand; none for the empty sequence of XPath 2."""
        items = self._single(expression)
        if any(isinstance(item, str) and not isinstance(item, UntypedText) for item in items) and not self.old:
            raise _Unclear
        return tuple(map(self.number, items)) or ((math.nan,) if self.old else ())

    def _single(self, expression: Expression) -> TreeItems:
        """Return the items where one is asked for: in XPath 1.0 the first of a node set."""
        items = self.items(expression)
        if len(items) > 1 and not self.old:
            raise _Unclear
        return items[:1]

    def _computed(
        self, operator: str, left: tuple[RealNumber, ...], right: tuple[RealNumber, ...]
    ) -> tuple[RealNumber, ...]:
        return tuple(_arithmetic(operator, one, other) for one in left for other in right)

    def _cast(self, target: str, numbers: tuple[RealNumber, ...]) -> tuple[RealNumber, ...]:
        if target == "integer" and any(number != math.floor(number) for number in numbers):
            raise _Unclear
        return numbers

    def _called(self, name: str, arguments: tuple[Expression, ...]) -> TreeItems:
        match name, arguments:
            case "number", (operand,):
                items = self._single(operand)
                return tuple(map(self.number, items)) or (math.nan,)
            case "data", (operand,):
                return self.items(operand)
            case (("abs" | "floor" | "ceiling" | "round"), (operand,)):
                return tuple(_FUNCTIONS[name]((number,)) for number in self.operand(operand))
            case "count", (operand,):
                return (self.reading(str(len(self.items(operand)))),)
            case (("sum" | "min" | "max" | "avg"), (operand,)):
                numbers = tuple(map(self.number, self.items(operand)))
                if not numbers:
                    return (self.reading("0"),) if name == "sum" else ()
                return (_FUNCTIONS[name](numbers),)
            case _:
                raise _Unclear


def _comparable(item: TreeItem, general: bool) -> bool:
    """Whether an item can be compared with a number in XPath 2 and later."""
    return not isinstance(item, str) or (general and isinstance(item, UntypedText))


def _is_plain(expression: Expression) -> bool:
    """Whether a number is read, not computed: exact numbers then have the same order, unless they are very near."""
    match expression:
        case FieldRef() | Literal() | Text():
            return True
        case Call(name="number" | "data", arguments=(operand,)) | Negative(operand=operand):
            return _is_plain(operand)
        case Sequence(items=items):
            return all(map(_is_plain, items))
        case _:
            return False


def _is_decimal(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _decimal(value: Fraction) -> str:
    """Spell a fraction whose denominator has no primes but 2 and 5."""
    places = 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    digits = str(abs(value.numerator)).rjust(places + 1, "0")
    cut = len(digits) - places
    return ("-" if value < 0 else "") + digits[:cut] + (f".{digits[cut:]}" if places else "")


def _all(found: Iterable[bool | None]) -> bool | None:
    known = list(found)
    return False if False in known else None if None in known else True


def _any(found: Iterable[bool | None]) -> bool | None:
    known = list(found)
    return True if True in known else None if None in known else False


# arithmetic on doubles and on fractions alike


def _arithmetic(operator: str, left: RealNumber, right: RealNumber) -> RealNumber:  # noqa: PLR0911 -- one per operator
    """Apply an arithmetic operator; NaN goes through.

    Raises
    ------
    _Unclear
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
        raise _Unclear
    if operator == "div":
        return left / right
    if operator == "idiv":
        return type(left)(math.trunc(left / right))
    if isinstance(left, float) or isinstance(right, float):
        return math.fmod(left, right)
    return left - right * math.trunc(left / right)


def _size(number: RealNumber) -> RealNumber:
    """Return the absolute value."""
    return -number if number < 0 else number


def _whole(rounded: Callable[[RealNumber], int]) -> Callable[[Numbers[RealNumber]], RealNumber]:
    def function(numbers: Numbers[RealNumber]) -> RealNumber:
        (number,) = numbers
        if isinstance(number, float):
            return float(rounded(number)) if math.isfinite(number) else number
        return Fraction(rounded(number))

    return function


def _half_up(number: RealNumber) -> int:
    """Round as ``round()`` does: halves towards positive infinity; in doubles, 0.5 is not added to just below it."""
    low = math.floor(number)
    return low + 1 if number - low >= Fraction(1, 2) else low


def _total(numbers: Numbers[RealNumber]) -> RealNumber:
    result = numbers[0]
    for number in numbers[1:]:
        result = result + number
    return result


def _known(choose: Callable[[Numbers[RealNumber]], RealNumber]) -> Callable[[Numbers[RealNumber]], RealNumber]:
    def function(numbers: Numbers[RealNumber]) -> RealNumber:
        if any(isinstance(number, float) and math.isnan(number) for number in numbers):
            return math.nan
        return choose(numbers)

    return function


_FUNCTIONS: Mapping[str, Callable[[Numbers[RealNumber]], RealNumber]] = {
    "abs": lambda numbers: _size(numbers[0]),
    "floor": _whole(math.floor),
    "ceiling": _whole(math.ceil),
    "round": _whole(_half_up),
    "sum": _total,
    "avg": lambda numbers: _arithmetic("div", _total(numbers), type(numbers[0])(len(numbers))),
    "min": _known(min),
    "max": _known(max),
}
"""Functions of numbers, none of them without any."""
