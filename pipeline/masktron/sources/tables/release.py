"""What is to be written of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.tables.column_strings import strings_of
from masktron.sources.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """What is to be written of a table.

    Attributes
    ----------
    original : Dataset
        The file like which it is written; a file of its own if its format state is nothing that the format knows.
    dataset : Dataset
        What is written: columns of the original, in its order, as they are released.
    rows : ndarray of intp, shape (len(dataset),)
        The position in the original of each record.
    masked : frozenset of str
        Variables that were masked: how a cell of these was stored or spelled in the original must not tell whether
        its value is the respondent's own.
    """

    original: Dataset
    dataset: Dataset
    rows: NDArray[np.intp]
    masked: frozenset[str] = frozenset()
    _cells: dict[str, pa.ChunkedArray] = field(default_factory=dict, init=False, repr=False)
    _changed: dict[str, NDArray[np.bool_]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def new(cls, dataset: Dataset) -> Self:
        """Return a whole table that is like no file."""
        return cls(replace(dataset, format_state=None), dataset, np.arange(len(dataset), dtype=np.intp))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Those that are released."""
        return self.dataset.variables

    def cells(self, name: str) -> pa.ChunkedArray:
        """Return the lexemes of a released variable as strings, null where a record does not have it."""
        if name not in self._cells:
            self._cells[name] = strings_of(self.dataset.columns[name])
        return self._cells[name]

    def changed(self, name: str) -> NDArray[np.bool_]:
        """Mask of the records in which the cell of a variable is written anew, shape (len(dataset),).

        Those are all of a masked variable, whatever its lexemes are; of another one, those with another lexeme.
        """
        if name in self.masked:
            return np.ones(len(self.rows), dtype=np.bool_)
        if name not in self._changed:
            before = self.original.columns[name].taken(self.rows)
            self._changed[name] = ~before.same_texts(self.dataset.columns[name])
        return self._changed[name]

    def as_it_was(self, name: str) -> bool:
        """Whether a variable is released with all of its cells as they were.

        What the original says of the values of any other variable, such as its categories or the length of its
        longest text, may tell of values that are not released: it is made anew from those that are.
        """
        return len(self.rows) == len(self.original) and not self.changed(name).any()


@dataclass(frozen=True, slots=True, eq=False)
class StreamedRelease:
    """What is to be written of a table of which a block of records is in memory at a time.

    Attributes
    ----------
    variables : tuple of Variable
        Those that are released, in the order of the original.
    rows : ndarray of intp, shape (n,)
        The position in the original of each record.
    masked : mapping of str to Column
        New lexemes of the variables that were masked, for each record of the original.
    folder : Path
        For temporary files; the owner's alone.
    """

    variables: tuple[Variable, ...]
    rows: NDArray[np.intp]
    masked: Mapping[str, Column]
    folder: Path


def losses_by_column(dataset: Dataset, *losses: tuple[str, Callable[[Variable], object]]) -> Iterator[str]:
    """Name, for each loss, the columns of which it is true."""
    for what, is_lost in losses:
        if columns := [variable.column for variable in dataset.variables if is_lost(variable)]:
            yield f"{what}: {', '.join(columns)}"
