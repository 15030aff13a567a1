"""Tables of results as data: columns and cells, whoever draws them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

type Tone = Literal["", "good", "fair", "bad", "noted", "quiet"]
NOTHING = "\N{EN DASH}"
"""A cell without a value."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A word in a table, or a fact, that is to be seen at once; it says everything without its colour."""

    text: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Ranged:
    """A figure in a table, and below it from where to where it goes."""

    text: str
    between: str


type ResultCell = str | Ranged | Mark | tuple[Mark, ...]
"""What stands in a table; several marks stand one below the other."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of a result, which a terminal and a page draw.

    Attributes
    ----------
    title : str
    columns : tuple of str
    rows : tuple of tuple of ResultCell
    numbers : frozenset of str
        Columns of numbers.
    anchors : tuple of str
        An address for each row, to which pictures may lead; empty where none does.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[ResultCell, ...], ...]
    numbers: frozenset[str] = frozenset()
    anchors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse rows that are not as long as there are columns.

        Raises
        ------
        ValueError
        """
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of {self.title!r} has not {len(self.columns)} cells")
        if not self.numbers <= {*self.columns}:
            raise ValueError(f"{self.title!r} lacks a column of numbers")

    @property
    def stacked(self) -> bool:
        """Whether a narrow window shows each row as a list: a table of texts, which nobody reads down its columns."""
        return len(self.columns) - len(self.numbers) > 2

    def without(self, *names: str) -> Self:
        """Return the table without columns."""
        kept = [at for at, name in enumerate(self.columns) if name not in names]
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(tuple(row[at] for at in kept) for row in self.rows),
            numbers=self.numbers - {*names},
        )
