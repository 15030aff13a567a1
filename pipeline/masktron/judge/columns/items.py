"""Values of XPath over the records of a batch: items of one type each, or what is left to an engine.

A sequence is a fixed list of items, each of which is there in some records and not in others; its type is the same
in all of them. What an engine has to decide is kept per record, beside the items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from typing import Literal as OneOf
from typing import Self

import numpy as np
from numpy.typing import NDArray


class NotColumnar(Exception):  # noqa: N818 -- no mistake: the expression goes to an engine
    """An expression has no evaluation over columns; the text says why, for `explain`."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The effective boolean value of a test in each record.

    Attributes
    ----------
    holds : ndarray of bool, shape (n,)
        Means nothing where `unsure`.
    unsure : ndarray of bool, shape (n,)
        Records that an engine has to decide: a dynamic error, a lexical form that only it should read.
    """

    holds: NDArray[np.bool_]
    unsure: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the checks of a program say of the records of a batch.

    Attributes
    ----------
    fired, failed : ndarray of uint8, shape (n, checks)
        Numbers of nodes of each record on which the check was evaluated, and on which it failed; 0 where `unsure`,
        and in the columns of checks that the program does not have.
    unsure : ndarray of bool, shape (n, checks)
        Where an engine has to evaluate the check on all nodes of the record.
    """

    fired: NDArray[np.uint8]
    failed: NDArray[np.uint8]
    unsure: NDArray[np.bool_]

    @classmethod
    def blank(cls, records: int, checks: int) -> Self:
        """Return an outcome in which nothing was evaluated."""
        # one check after the other is written, so columns are what should lie together
        fired, failed = (np.zeros((records, checks), np.uint8, "F") for _ in range(2))
        return cls(fired, failed, np.zeros((records, checks), np.bool_, "F"))

    def cleared(self, checks: Iterable[int]) -> Self:
        """Return this, without numbers of nodes where some checks are unsure."""
        for check in checks:
            unsure = self.unsure[:, check]
            if unsure.any():
                self.fired[unsure, check] = self.failed[unsure, check] = 0
        return self


type Bools = NDArray[np.bool_]
"""One for each record, or a single one for all."""
type Integers = NDArray[np.int64]
type Doubles = NDArray[np.float64]
type Atomic = str | bool | int | Decimal | float

RECORD = -1
"""Instead of the position of a field: the record."""
NOWHERE = -2
"""Instead of the position of a field: one that the file does not have, and that no record has."""
MAX_ITEMS = 4096
EXACT = 2.0**53
"""All integers of less size are doubles."""
DIGITS = 15
"""Doubles tell all decimals apart that have so many."""
_LEAST = -100


def _fixed(value: bool) -> Bools:
    array = np.array([value])
    array.flags.writeable = False
    return array


YES = _fixed(True)
NO = _fixed(False)


def some(where: Bools) -> Bools:
    """Return a mask, as the single `NO` where it is false everywhere: what follows is then cheap.

    One that has no records is kept: it depends on them.
    """
    return where if where.any() or not where.size else NO


def always(where: Bools) -> Bools:
    """Return a mask, as the single `YES` where it is true everywhere."""
    return YES if where.size and where.all() else where


class NodePart(Enum):
    """Which node of a field is meant."""

    FIELD = "field"
    TEXT = "text"
    """The text node of an element."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """The record (`RECORD`), a field of it or the text in a field.

    Attributes
    ----------
    there : ndarray of bool, or callable
        Where it is there, or what reads that: an expression reads no field but those that it depends on.
    """

    there: Bools | Callable[[], Bools]
    at: int
    kind: NodePart = NodePart.FIELD

    @property
    def present(self) -> Bools:
        """Where it is there."""
        return self.there() if callable(self.there) else self.there


@dataclass(frozen=True, slots=True, eq=False)
class Untyped:
    """What a field says, without a type: ``xs:untypedAtomic``."""

    present: Bools
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class String:
    """Strings: positions in a tuple of values, of which -1 is none."""

    present: Bools
    codes: Integers
    values: tuple[str, ...]
    constant: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TruthValue:
    """Truth values."""

    present: Bools
    holds: Bools
    constant: bool | None = None


type NumberType = OneOf["integer", "decimal", "double"]


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """Numbers: doubles, with NaN, infinities and signed zeros, or integers and decimals that doubles tell apart.

    Where it is not unsure, an integer is less than 2**53 in size, and a decimal is such an integer or has 15 digits
    at most. Theorem: such numbers compare as their nearest doubles do. Proof: rounding is monotone, so no two of them
    need to have one double. Such integers are doubles, and decimals of 15 digits have different ones. Where a decimal
    of 15 digits and such an integer have one, the integer has 15 digits too, or both are at least 10**15, and then
    the decimal is an integer.
    """

    present: Bools
    value: Doubles
    type: NumberType = "double"
    constant: Decimal | float | None = None


type Item = Node | Untyped | String | TruthValue | Number


class Doubt:
    """Gathers, while an operation is evaluated, the records that an engine has to decide."""

    __slots__ = ("mask",)

    def __init__(self, *masks: Bools) -> None:
        self.mask = NO
        for mask in masks:
            self.add(mask)

    def add(self, where: Bools) -> None:
        """Add records."""
        if where is not NO:
            self.mask = where if self.mask is NO else self.mask | where


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A sequence.

    Attributes
    ----------
    items : tuple of Item
    unsure : ndarray of bool
        Records in which an engine has to decide.
    single : bool
        Whether no record has more than one of the items.
    ordered : bool
        Whether the order of the items is that of the sequence.
    """

    items: tuple[Item, ...] = ()
    unsure: Bools = field(default_factory=lambda: NO)
    single: bool = True
    ordered: bool = True

    def __post_init__(self) -> None:
        if len(self.items) > MAX_ITEMS:
            raise NotColumnar("a long sequence")

    @property
    def count(self) -> NDArray[np.int64]:
        """Number of items in each record."""
        total = np.zeros(1, dtype=np.int64)
        for item in self.items:
            total = total + item.present
        return total


def one(item: Item, unsure: Bools = NO) -> Items:
    """Return the sequence of an item."""
    return Items((item,), unsure)


def where[I: Item](item: I, mask: Bools) -> I:
    """Return an item only in some records."""
    if mask is YES:
        return item
    present = some(item.present & mask)
    return replace(item, there=present) if isinstance(item, Node) else replace(item, present=present)


def restricted(items: Items, mask: Bools) -> Items:
    """Return a sequence only in some records; what is unsure elsewhere does not matter."""
    if mask is YES:
        return items
    unsure = items.unsure if items.unsure is NO else some(items.unsure & mask)
    return replace(items, items=tuple(where(item, mask) for item in items.items), unsure=unsure)


def joined(parts: Iterable[Items], *, exclusive: bool = False) -> Items:
    """Return sequences one after the other; ``exclusive`` where each record has one of them at most."""
    known = list(parts)
    filled = [part for part in known if part.items]
    doubt = Doubt(*(part.unsure for part in known))
    single = all(part.single for part in filled) and (exclusive or len(filled) < 2)
    items = tuple(item for part in filled for item in part.items)
    return Items(items, doubt.mask, single, all(part.ordered for part in filled))


def in_document_order(items: Items) -> Items:
    """Return nodes without repetition; how they follow each other in the record is not known."""
    nodes: dict[tuple[int, NodePart], Node] = {}
    for item in items.items:
        if not isinstance(item, Node):
            raise NotColumnar("a type error: nodes and values together")
        earlier = nodes.get((item.at, item.kind))
        again = earlier is not None and replace(item, there=earlier.present | item.present)
        nodes[item.at, item.kind] = again or item
    few = len(nodes) < 2
    return Items(tuple(nodes.values()), items.unsure, items.single or few, items.single or few)


def boolean(holds: Bools, unsure: Bools = NO) -> Items:
    """Return truth values as a sequence."""
    return one(TruthValue(YES, holds), unsure)


def same_text(text: str, present: Bools = YES) -> String:
    """Return one string for all records in which it is there."""
    return String(present, np.zeros(1, dtype=np.int64), (text,))


def literal(value: Atomic) -> Item:
    """Return a constant."""
    match value:
        case bool():
            return TruthValue(YES, YES if value else NO, constant=value)
        case str():
            return replace(same_text(value), constant=value)
        case _:
            return number_literal(value)


def number_literal(value: int | Decimal | float) -> Number:
    """Return a constant number."""
    match value:
        case float():
            return Number(YES, np.array([value]), constant=value)
        case int() if abs(value) < EXACT:
            return Number(YES, np.array([float(value)]), "integer", constant=Decimal(value))
        case Decimal() if len(value.as_tuple().digits) <= DIGITS and _LEAST < value.adjusted() < DIGITS:
            # a zero has no sign
            return Number(YES, np.array([float(value) + 0.0]), "decimal", constant=value)
        case _:
            raise NotColumnar("a number with many digits")


def constant_of(item: Item) -> Atomic | None:
    """Return the value of a constant that is there in every record."""
    return None if isinstance(item, Node | Untyped) or item.present is not YES else item.constant
