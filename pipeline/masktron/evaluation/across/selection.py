"""What an expression asks of other records: which ones, what of them, and how that is put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from masktron.rulebook.schema import XPathVersion

type RecordSource = Literal["file", "original"]
type Reach = Literal["all", "before", "after", "others"]
"""Which records: all of the file, those before or after the record at hand, or both of these."""
type Fold = Literal["count", "sum", "avg", "min", "max", "exists", "distinct", "differs"]
"""``exists``: whether there is one. ``distinct``: number of distinct values. ``differs``: whether one of the values
is another than the key of the record at hand."""


@dataclass(frozen=True, slots=True)
class Word:
    """A text inside a key."""

    text: str


@dataclass(frozen=True, slots=True)
class Key:
    """A value of a record by which records are compared.

    Attributes
    ----------
    kind : {"node", "string", "normal", "number", "concat"}
        A node that may be absent, its text (empty where it is absent), its text without superfluous white space, its
        number, or several texts one behind the other.
    parts : tuple
        Positions of fields in the layout; in a ``concat`` also texts.
    """

    kind: Literal["node", "string", "normal", "number", "concat"]
    parts: tuple[int | Word, ...]

    @property
    def fields(self) -> frozenset[int]:
        """Positions of the fields that it reads."""
        return frozenset(part for part in self.parts if isinstance(part, int))


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
    """

    source: str
    field: int | None
    scope: int = -1


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
    join : tuple of (Key, Key)
        A key of the other record, and the one of the record at hand that it equals.
    """

    source: RecordSource
    target: int | None
    version: XPathVersion
    reach: Reach = "all"
    where: tuple[Predicate, ...] = ()
    join: tuple[tuple[Key, Key], ...] = ()

    @property
    def constant(self) -> bool:
        """Whether it is the same for all records."""
        return self.reach == "all" and not self.join


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value made of a selection; `own` is what ``differs`` compares with."""

    fold: Fold
    selection: Selection
    own: Key | None = None

    @property
    def constant(self) -> bool:
        """Whether all records have the same value."""
        return self.selection.constant and self.own is None
