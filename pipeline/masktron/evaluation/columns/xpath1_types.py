"""The four types of XPath 1.0 over columns: numbers, booleans, texts, and sets of nodes of a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.coded import Coded
from masktron.evaluation.columns.kleene import sure
from masktron.evaluation.columns.outcome import NotColumnar, Truth
from masktron.sources.columns import Batch, Cell


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
    """An expression of type string; ``literal`` is its value where that is written in it."""

    fields: frozenset[int]
    of: Callable[[Batch], Coded[str]]
    literal: str | None = None


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
    """Return the number in a field; NaN where it is absent, and in every form that XPath 1.0 does not have."""
    return Figures(batch.numbers(at).double, np.zeros((), dtype=np.bool_))


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
