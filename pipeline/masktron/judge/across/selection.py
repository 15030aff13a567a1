"""What an expression asks of other records: which ones, what of them, and how that is put together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from masktron.rulebook.expressions.tree import GeneralSign
from masktron.rulebook.schema import XPathVersion

type RecordSource = Literal["file", "original"]
type Fold = Literal["count", "exists", "distinct", "sum", "avg", "min", "max", "node"]
"""``exists``: whether there is one. ``distinct``: number of distinct values. ``node``: a field of the one record."""
type Sign = GeneralSign


class NotAcross(Exception):  # noqa: N818 - an outcome, not an error: the check goes to an engine as it is
    """An expression has no evaluation as an aggregate; the text says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """A text inside a key."""

    text: str


@dataclass(frozen=True, slots=True)
class Key:
    """A value of a record by which records are compared.

    Attributes
    ----------
    kind : {"node", "string", "normal", "number", "concat", "position"}
        A node that may be absent, its text (empty where it is absent), its text without superfluous white space, its
        number, several texts one behind the other, or where the record stands in the file.
    parts : tuple
        Positions of fields in the layout; in a ``concat`` also texts.
    """

    kind: Literal["node", "string", "normal", "number", "concat", "position"]
    parts: tuple[int | Word, ...] = ()

    @property
    def fields(self) -> frozenset[int]:
        """Positions of the fields that it reads."""
        return frozenset(part for part in self.parts if isinstance(part, int))


POSITION = Key("position")


@dataclass(frozen=True, slots=True)
class Join:
    """A comparison of a key of the other record with one of the record at hand."""

    other: Key
    sign: Sign
    own: Key


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on a record alone.

    Attributes
    ----------
    source : str
        As written.
    field : int or None
        Position of the field at which it stands; None for the record.
    scope : int
        Position of the pattern whose variables it sees; -1 for those of the schema only.
    name : str
        Of the variable that is the node at which it stands, if there is one.
    """

    source: str
    field: int | None
    scope: int = -1
    name: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Records, or one field of them.

    Attributes
    ----------
    target : int or None
        Position of the field whose nodes are meant; None for the records themselves.
    version : str
        Of XPath, in which it is written.
    where : tuple of Predicate
        All of them hold.
    joins : tuple of Join
        All of them hold; at most one is no equality. That gives the records an order, by position or by a value.
    nth : int
        Which one of the records is meant, counted from the record at hand where all are before it, and else from the
        first; -1 for the last, 0 for all of them.
    """

    source: RecordSource
    target: int | None
    version: XPathVersion
    where: tuple[Predicate, ...] = ()
    joins: tuple[Join, ...] = ()
    nth: int = 0

    @property
    def equal(self) -> tuple[Join, ...]:
        """The equalities: records for which all of them hold are a class."""
        return tuple(join for join in self.joins if join.sign == "=")

    @property
    def order(self) -> Join | None:
        """What else is compared, within a class."""
        return next((join for join in self.joins if join.sign != "="), None)

    def joined(self, join: Join) -> Selection:
        """Return these with one more comparison.

        Raises
        ------
        NotAcross
            There would be two orders.
        """
        if join.sign != "=" and self.order is not None:
            raise NotAcross("records are chosen by two comparisons that are no equalities")
        return replace(self, joins=(*self.joins, join))


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value made of a selection.

    Attributes
    ----------
    required : bool
        Whether a record without the key is an error.
    """

    fold: Fold
    selection: Selection
    required: bool = False

    @property
    def constant(self) -> bool:
        """Whether all records have the same value, which can be written in the place of the expression."""
        return not self.selection.joins and self.fold != "node"

    @property
    def version(self) -> XPathVersion:
        """Of XPath, in which it is written."""
        return self.selection.version

    @property
    def type(self) -> Literal["integer", "boolean", "double", "node"]:
        """Which type the value has."""
        match self.fold:
            case "count" | "distinct":
                return "integer"
            case "exists":
                return "boolean"
            case "node":
                return "node"
            case _:
                return "double"
