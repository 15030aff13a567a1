"""The four types of XPath 1.0 over columns, and the conversions between them as libxml2 has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.coded import Coded, chosen, constant, distinct, mapped, texts_of, truth_of
from masktron.evaluation.columns.kleene import either, sure
from masktron.evaluation.columns.outcome import NotColumnar, Truth
from masktron.read.columns import Batch, Cell, Form
from masktron.read.lexical import libxml2_number

_EXPONENT = re.compile(r"[0-9.][eE]")
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Numbers of records, with the records where an engine has to say which; arrays of shape (n,) or ()."""

    values: NDArray[np.float64]
    unsure: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """An expression of type number."""

    fields: frozenset[int]
    of: Callable[[Batch], Figures]


@dataclass(frozen=True, slots=True, eq=False)
class Boolean:
    """An expression of type boolean."""

    fields: frozenset[int]
    of: Callable[[Batch], Truth]


@dataclass(frozen=True, slots=True, eq=False)
class String:
    """An expression of type string."""

    fields: frozenset[int]
    of: Callable[[Batch], Coded[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A node that a node-set may have.

    Attributes
    ----------
    node : int or None
        None for the record, else the position of a field.
    text : bool
        Whether it is the text in the field.
    fields : frozenset of int
        What decides whether it is in the set.
    present : callable
        Whether the set has it.
    """

    node: int | None
    text: bool
    fields: frozenset[int]
    present: Callable[[Batch], Truth]


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """An expression of type node-set.

    Attributes
    ----------
    members : tuple of Member
        Each node once.
    reads : frozenset of int
        Fields that decide it beside those of the members: a field without children has them only where it is odd.
    """

    members: tuple[Member, ...]
    reads: frozenset[int] = frozenset()

    @property
    def fields(self) -> frozenset[int]:
        """What decides which nodes it has."""
        return self.reads.union(*(member.fields for member in self.members))

    @property
    def held(self) -> frozenset[int]:
        """What decides which nodes it has and what they hold."""
        return self.fields | {member.node for member in self.members if member.node is not None}


type Value = Number | Boolean | String | Nodes


def the_record() -> Member:
    """Return the record, which is always there."""
    return Member(None, False, frozenset(), lambda batch: sure(True))


def the_field(at: int) -> Member:
    """Return a field of the record."""
    return Member(at, False, frozenset({at}), lambda batch: sure(batch.cells[at].status != Cell.ABSENT))


def the_focus(focus: int | None) -> Member:
    """Return the node that an expression is evaluated on: nothing is evaluated where it is not there."""
    return Member(focus, False, frozenset(), lambda batch: sure(True))


def the_text(at: int) -> Member:
    """Return the text in a field: an empty one has none."""
    return Member(at, True, frozenset({at}), lambda batch: sure(batch.cells[at].status == Cell.TEXT))


def numbers_of(batch: Batch, at: int) -> Figures:
    """Return what libxml2 reads in a field as number; NaN where it is absent."""
    numbers = batch.numbers(at)
    return Figures(numbers.libxml2, numbers.form == Form.OTHER)


def field_of(member: Member) -> int:
    """Return the field of a member whose text is asked for.

    Raises
    ------
    NotColumnar
        It is the record, whose text is that of all fields and of what stands between them.
    """
    if member.node is None:
        raise NotColumnar("the text of the whole record")
    return member.node


def to_boolean(value: Value) -> Boolean:
    """Convert as ``boolean()`` does."""
    match value:
        case Boolean():
            return value
        case Number(fields, figures):
            return Boolean(fields, lambda batch: _nonzero(figures(batch)))
        case String(fields, text):
            return Boolean(fields, lambda batch: truth_of(mapped(bool, [text(batch)])))
        case Nodes(members):
            present = [member.present for member in members]
            return Boolean(
                value.fields, lambda batch: reduce(either, (there(batch) for there in present), sure(False))
            )


def _nonzero(figures: Figures) -> Truth:
    return Truth((figures.values != 0) & ~np.isnan(figures.values), figures.unsure)


def to_number(value: Value) -> Number:
    """Convert as ``number()`` does."""
    match value:
        case Number():
            return value
        case Boolean(fields, truth):
            return Number(fields, lambda batch: _as_figures(truth(batch)))
        case Nodes((), _):
            return Number(value.held, lambda batch: Figures(np.array(np.nan), np.zeros((), dtype=np.bool_)))
        case Nodes((member,), _):
            at = field_of(member)
            return Number(value.held, lambda batch: _number_where(member.present(batch), numbers_of(batch, at)))
        case String() | Nodes():
            text = to_string(value)
            return Number(text.fields, lambda batch: _parsed(text.of(batch)))


def _as_figures(truth: Truth) -> Figures:
    return Figures(truth.holds.astype(np.float64), truth.unsure)


def _number_where(present: Truth, figures: Figures) -> Figures:
    return Figures(np.where(present.holds, figures.values, np.nan), present.unsure | (present.holds & figures.unsure))


def _parsed(text: Coded[str]) -> Figures:
    read = [_read(value) for value in text.values]
    values = np.array([number for number, _ in read], dtype=np.float64)
    unsure = np.array([doubt for _, doubt in read], dtype=np.bool_)
    return Figures(values[text.codes], unsure[text.codes] | text.unsure)


def _read(text: str) -> tuple[float, bool]:
    """Return the number in a text, and whether only libxml2 should say: with an exponent its power decides."""
    return (np.nan, True) if _EXPONENT.search(text) else (libxml2_number(text), False)


def to_string(value: Value) -> String:
    """Convert as ``string()`` does: of a node-set, the first node in the order of the document."""
    match value:
        case String():
            return value
        case Boolean(fields, truth):
            return String(fields, lambda batch: _words(truth(batch)))
        case Number(fields, figures):
            return String(fields, lambda batch: _written(figures(batch)))
        case Nodes():
            return String(value.held, first(value, lambda member: _text_of(field_of(member))))


def _text_of(at: int) -> Callable[[Batch], Coded[str]]:
    return lambda batch: texts_of(batch, at)


def _words(truth: Truth) -> Coded[str]:
    return Coded(truth.holds.astype(np.int64), ("false", "true"), truth.unsure)


def _written(figures: Figures) -> Coded[str]:
    """Write numbers: libxml2 has its own digits for all that is not an integer of 32 bits."""
    coded = distinct(figures.values, figures.unsure)
    known = np.array([_is_short(number) for number in coded.values], dtype=np.bool_)
    return Coded(coded.codes, [_digits(number) for number in coded.values], coded.unsure | ~known[coded.codes])


def _is_short(number: float) -> bool:
    return not np.isfinite(number) or (number.is_integer() and _INT_MIN < number < _INT_MAX)


def _digits(number: float) -> str:
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return str(int(number))


def first(nodes: Nodes, what: Callable[[Member], Callable[[Batch], Coded[str]]]) -> Callable[[Batch], Coded[str]]:
    """Return what is asked for of the first node of a set in the order of the document; the empty text of none."""
    read = [what(member) for member in nodes.members]
    if len(read) > 1:
        for member in nodes.members:
            field_of(member)

    def of(batch: Batch) -> Coded[str]:
        which, unsure = _order(nodes, batch)
        parts = [part(batch) for part in read]
        for k, part in enumerate(parts):
            unsure = unsure | (part.unsure & (which == k))
        return chosen(which, [*parts, constant("")], unsure)

    return of


def _order(nodes: Nodes, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the position of the first member that is there, and where this is unsure."""
    present = [member.present(batch) for member in nodes.members]
    unsure = np.zeros((), dtype=np.bool_)
    for there in present:
        unsure = unsure | there.unsure
    if len(present) < 2:
        holds = present[0].holds if present else np.zeros((), dtype=np.bool_)
        return np.where(holds, 0, len(present)), unsure
    starts, known = places(nodes, batch, present)
    several = np.sum([there.holds for there in present], axis=0) > 1
    nearest = np.argmin(starts, axis=0)
    nothing = ~np.logical_or.reduce([there.holds for there in present])
    return np.where(nothing, len(present), nearest), unsure | (several & ~known)


def places(nodes: Nodes, batch: Batch, present: list[Truth]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where the members stand, absent ones last, and whether all that are there have a place.

    An empty cell need not have one: its element may be a single tag.
    """
    last = np.iinfo(np.int64).max
    starts = []
    known = np.ones(len(batch), dtype=np.bool_)
    for member, there in zip(nodes.members, present, strict=True):
        cells = batch.cells[field_of(member)]
        starts.append(np.where(there.holds, cells.start, last))
        known &= ~there.holds | (cells.status == Cell.TEXT)
    return np.array(starts), known
