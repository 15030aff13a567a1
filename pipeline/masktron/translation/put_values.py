"""A value in the place of a field, in one condition; the numbers of a class, cut where conditions on them change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from masktron.classify.conditions import Conditions
from masktron.classify.crossrecord import CrossRecordError
from masktron.classify.forms import TooManyDisjunctsError, dnf
from masktron.classify.kinds import kind_of
from masktron.classify.truth import in_range, number_of
from masktron.constraints import Atom, Member, Missing, Present, Range
from masktron.reading.nodes import (
    Arithmetic,
    Call,
    Cast,
    Castable,
    Comparison,
    Expression,
    FieldRef,
    Negative,
    Number,
    OtherDocument,
    OtherField,
    OtherNodes,
    Quantified,
    Sequence,
    Text,
    Unknown,
    VariableReference,
    changed,
    fields_of,
    reads_everything,
    walk,
)
from masktron.reading.plain_text import decimal_text, source_of
from masktron.rulebook.expressions.tree import MIRRORED
from masktron.rulebook.schema import XPathVersion
from masktron.translation.recoded_spelling import LostError
from masktron.translation.truth_trees import Claim

type Growth = Literal["rising", "falling", "either"]
"""Whether a number grows with a field, falls, or does one of the two in each record."""

_PLAIN_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_OF_NODES = frozenset(
    {"count", "sum", "id", "name", "local-name", "namespace-uri", "node-name", "root", "path", "lang"}
)
_ROUNDED = frozenset({"number", "floor", "ceiling", "round"})
_LARGEST_TEXT = 60


def number_in(lexeme: str) -> Fraction | None:
    """Return the number that XPath of each version reads in a text; None where there is none."""
    text = lexeme.strip(" \t\r\n")
    return Fraction(text) if _PLAIN_NUMBER.fullmatch(text) else None


def is_decimal(value: Fraction) -> bool:
    """Whether a number has a decimal that ends."""
    return "/" not in decimal_text(value)


def reads(claim: Claim, field: str) -> bool:
    """Whether a condition reads a field, as far as it names it.

    Raises
    ------
    LostError
        It may read the field without naming it.
    """
    if reads_everything(claim.expression):
        raise LostError(f"{_shown(claim.expression)} reads all fields of the record")
    return field in fields_of(claim.expression)


def reads_alone(claim: Claim, field: str) -> bool:
    """Whether a condition reads one field and nothing else."""
    nodes = walk(claim.expression)
    free = any(isinstance(n, OtherNodes | OtherField | OtherDocument | VariableReference) for n in nodes)
    outside = any(isinstance(n, Unknown) and n.outside for n in walk(claim.expression))
    return fields_of(claim.expression) == {field} and not free and not outside


def put(claim: Claim, field: str, value: Text | Arithmetic, version: XPathVersion, *, numeric: bool = False) -> Claim:
    """Put a value in the place of a field.

    Theorem: the condition then says of a record what it says of the record that has this value in the field. Proof:
    a field that occurs once and has a text is read as this text wherever XPath does not ask for a node, which is
    refused here. A number is written where XPath makes a number of the text first: both are the same double.

    Parameters
    ----------
    claim : Claim
    field : str
    value : Text or Arithmetic
        A lexeme, or a number in terms of what is written.
    version : str
    numeric : bool
        Whether the value stands for a number of which the lexeme is not known.

    Raises
    ------
    LostError
        The condition reads the field as a node, or as a text where only the number is known.
    """
    putting = _Putting(field, value, modern=version != "1.0", numeric=numeric)
    return Claim(changed(claim.expression, putting.replaced), claim.negated)


class _Putting:
    def __init__(self, field: str, value: Text | Arithmetic, *, modern: bool, numeric: bool) -> None:
        self._field, self._value, self._modern = field, value, modern
        self._numeric = numeric or not isinstance(value, Text)

    def replaced(self, node: Expression) -> Expression | None:  # noqa: PLR0911 -- one branch per kind of node
        """Return what takes the place of a node; None where its parts are looked at."""
        if self._field not in fields_of(node):
            return node
        match node:
            case OtherNodes() | OtherField() | Unknown() | Sequence(union=True):
                raise LostError(f"{_shown(node)} reads {self._field} as a node")
            case Call(name=name) if name in _OF_NODES:
                raise LostError(f"{_shown(node)} reads {self._field} as a node")
            case Comparison(operator=operator, left=left, right=right, general=general):
                return Comparison(operator, self._side(node, left, right), self._side(node, right, left), general)
            case Arithmetic(operator=operator, left=left, right=right):
                return Arithmetic(operator, self._as_number(left), self._as_number(right))
            case Negative(operand=operand):
                return Negative(self._as_number(operand))
            case Call(name="number", arguments=(FieldRef(name=name),)) if name == self._field:
                return self._number()
            case FieldRef():
                return self._untyped()
            case Quantified() | Call() | Cast() | Castable():
                return None
            case _:
                return None

    def _is_field(self, node: Expression) -> bool:
        return isinstance(node, FieldRef) and node.name == self._field

    def _as_number(self, node: Expression) -> Expression:
        return self._number() if self._is_field(node) else changed(node, self.replaced)

    def _side(self, comparison: Comparison, side: Expression, other: Expression) -> Expression:
        if not self._is_field(side):
            return changed(side, self.replaced)
        kind = kind_of(other)
        if kind == "number" and comparison.general:
            return self._number()
        if not self._modern and comparison.operator not in ("=", "!=") and kind != "boolean":
            return self._number()
        return self._text() if kind in ("node", "string", "boolean") and not self._bare(kind) else self._untyped()

    def _bare(self, kind: str) -> bool:
        """Whether a text compares otherwise than a node: with a truth value in XPath 2.0 and later."""
        return self._modern and kind == "boolean"

    def _number(self) -> Expression:
        if not isinstance(self._value, Text):
            return self._value
        number = number_in(self._value.value)
        if number is None or self._modern:
            return Call("number", (self._value,))
        return Number(number)

    def _text(self) -> Expression:
        if self._numeric:
            raise LostError(f"it compares {self._field} as a text")
        return self._value

    def _untyped(self) -> Expression:
        if self._numeric:
            raise LostError(f"it reads {self._field} as a text")
        return Cast("untypedAtomic", self._value) if self._modern else self._value


def growth(expression: Expression, field: str) -> Growth | None:  # noqa: PLR0911 -- one branch per kind of node
    """Say how a number changes as a field grows; None where it does neither rise nor fall, or that is not known.

    Sums, differences and products of doubles are rounded monotonously, so that this holds of the numbers that engines
    compute, too.
    """
    match expression:
        case FieldRef():
            return "rising"
        case Call(name=name, arguments=(operand,)) if name in _ROUNDED:
            return growth(operand, field)
        case Negative(operand=operand):
            return _turned(growth(operand, field))
        case Arithmetic(operator=operator, left=left, right=right):
            in_left, in_right = (field in fields_of(side) for side in (left, right))
            if in_left and in_right:
                return None
            own = growth(left if in_left else right, field)
            match operator:
                case "+":
                    return own
                case "-":
                    return own if in_left else _turned(own)
                case "*":
                    return _scaled(own, right if in_left else left)
                case "div" if in_left:
                    return _scaled(own, right)
                case _:
                    return None
        case _:
            return None


def _turned(own: Growth | None) -> Growth | None:
    return {"rising": "falling", "falling": "rising"}.get(own or "", own)  # type: ignore[return-value]


def _scaled(own: Growth | None, factor: Expression) -> Growth | None:
    if own is None:
        return None
    match factor:
        case Number(value=value) if value > 0:
            return own
        case Negative(operand=Number(value=value)) if value > 0:
            return _turned(own)
        case _:
            return "either"


def compared(claim: Claim, field: str, version: XPathVersion) -> Comparison | None:
    """Return a comparison of numbers whose left side has the field, and whose right side has not.

    None where the condition is none, or reads the field more than once or as a text.
    """
    match claim.expression:
        case Comparison(operator=operator, left=left, right=right, general=general):
            pass
        case _:
            return None
    if sum(isinstance(n, FieldRef) and n.name == field for n in walk(claim.expression)) != 1:
        return None
    if field in fields_of(right):
        left, right, operator = right, left, MIRRORED[operator]
    kinds = {kind_of(left), kind_of(right)}
    if not kinds <= {"number", "node"} or (version != "1.0" and "number" not in kinds):
        return None
    return Comparison(operator, left, right, general)


def _shown(expression: Expression) -> str:
    text = " ".join(source_of(expression).split())
    return text if len(text) <= _LARGEST_TEXT else f"{text[:_LARGEST_TEXT]} ..."


@dataclass(frozen=True, slots=True)
class Changes:
    """Where a condition on one number changes.

    Attributes
    ----------
    at : frozenset of Fraction
        Between two neighbours of these it is the same for all numbers.
    unsure : frozenset of Fraction
        Those of them at which it depends on how the number is written.
    """

    at: frozenset[Fraction]
    unsure: frozenset[Fraction] = frozenset()


def changes_of(expression: Expression, version: XPathVersion) -> Changes | None:
    """Say where a condition that reads one field changes; None where that is not known.

    The form decides nothing here but where to look: whether the condition holds in between, an engine says.
    """
    try:
        formula = Conditions(version).truth(expression)
        forms = dnf(formula), dnf(formula, negated=True)
    except (CrossRecordError, TooManyDisjunctsError, RecursionError):
        return None
    at: set[Fraction] = set()
    unsure: set[Fraction] = set()
    for atom in {atom for form in forms for conjunction in form for atom in conjunction}:
        if not _gather(atom, at, unsure):
            return None
    return Changes(frozenset(at | unsure), frozenset(unsure))


def _gather(atom: Atom, at: set[Fraction], unsure: set[Fraction]) -> bool:
    match atom:
        case Range(low=low, high=high):
            at |= {end for end in (low, high) if end is not None}
        case Member(values=values):
            at |= {value for value in values if isinstance(value, Fraction)}
            numbers = (number_of(value) for value in values if isinstance(value, str))
            unsure |= {number for number in numbers if number is not None}
        case Missing() | Present():
            pass
        case _:
            return False
    return True


def cells(numbers: Range, at: Iterable[Fraction]) -> list[Range]:
    """Cut an interval at points: the points and what lies between them, from the lowest to the highest."""
    found: list[Range] = []
    low, open_ = numbers.low, numbers.low_open
    inner = sorted(point for point in set(at) if in_range(numbers, point))
    for point in inner:
        if low is None or low < point:
            found.append(Range(numbers.variable, low, point, low_open=open_, high_open=True))
        found.append(Range(numbers.variable, point, point))
        low, open_ = point, True
    last = Range(numbers.variable, low, numbers.high, low_open=open_, high_open=numbers.high_open)
    return [*found, last] if low is None or numbers.high is None or low < numbers.high else found or [last]


def one_of(cell: Range) -> Fraction:
    """Return a number in a cell, a whole one where that is easy."""
    if cell.low is not None and cell.high is not None:
        middle = (cell.low + cell.high) / 2
        whole = Fraction(round(middle))
        return whole if in_range(cell, whole) else middle
    if cell.low is not None:
        return cell.low + 1
    return Fraction(0) if cell.high is None else cell.high - 1
