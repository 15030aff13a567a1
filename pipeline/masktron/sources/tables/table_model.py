"""A table of microdata: what every format is read into and written from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.problems.problem import Sentence
from masktron.sources.column import Column
from masktron.sources.variables import Variable

_LARGE = 4_000_000
"""Bytes of cells: their twin is evaluated over columns, with kernels."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Records and what is said of them.

    Attributes
    ----------
    variables : tuple of Variable
        In the order of the file.
    cells : pyarrow.Table
        Lexemes: a column of strings for each variable, with its `name`; null where the record does not have it.
    title : str
        The description of the file.
    carried : object
        What the format needs to write a file like this one, for its own eyes.
    notes : tuple of str
        What a user should know of how the file reads, and what of it is not written again; in sentences.
    of_release : tuple of str
        What `mask` carries over into a release, or makes of the file there, that is to be looked at; in sentences.
    """

    variables: tuple[Variable, ...]
    cells: pa.Table
    title: str = ""
    carried: Any = None
    notes: tuple[Sentence, ...] = ()
    of_release: tuple[Sentence, ...] = ()

    def __len__(self) -> int:
        return int(self.cells.num_rows)

    @property
    def large(self) -> bool:
        """Whether kernels, for which a run may have to wait once, are worth it."""
        return bool(self.cells.nbytes >= _LARGE)

    def variable(self, name: str) -> Variable:
        """Return the variable with this name.

        Raises
        ------
        KeyError
        """
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise KeyError(name)


@dataclass(frozen=True, slots=True, eq=False)
class TableRelease:
    """What is to be written of a table.

    Attributes
    ----------
    original : Table
        The file like which it is written, its variables as they are released; a file of its own if that carries
        nothing that the format knows.
    cells : pyarrow.Table
        Lexemes of the released variables, in the order in which they are written.
    rows : ndarray of intp, shape (len(cells),)
        The position in the original of each record.
    masked : frozenset of str
        Variables that were masked: how a cell of these was stored or spelled in the original must not tell whether
        its value is the respondent's own.
    """

    original: Table
    cells: pa.Table
    rows: NDArray[np.intp]
    masked: frozenset[str] = frozenset()
    _changed: dict[str, NDArray[np.bool_]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def new(cls, table: Table) -> Self:
        """Return a whole table that is like no file."""
        return cls(replace(table, carried=None), table.cells, np.arange(len(table), dtype=np.intp))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Those that are released."""
        released = set(self.cells.column_names)
        return tuple(variable for variable in self.original.variables if variable.name in released)

    def changed(self, name: str) -> NDArray[np.bool_]:
        """Mask of the records in which the cell of a variable is written anew, shape (len(cells),).

        Those are all of a masked variable, whatever its lexemes are; of another one, those with another lexeme.
        """
        if name in self.masked:
            return np.ones(len(self.rows), dtype=np.bool_)
        if name not in self._changed:
            before = self.original.cells[name].take(pa.array(self.rows))
            self._changed[name] = _differ(before, self.cells[name])
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
        New lexemes of the variables that were masked, for each record of the original. Texts are made when they are
        asked for, so that each is asked once.
    folder : Path
        For temporary files; the owner's alone.
    """

    variables: tuple[Variable, ...]
    rows: NDArray[np.intp]
    masked: Mapping[str, Column]
    folder: Path


def _differ(before: pa.ChunkedArray, after: pa.ChunkedArray) -> NDArray[np.bool_]:
    apart = pc.not_equal(before, after)
    nulls = pc.not_equal(pc.is_null(before), pc.is_null(after))
    found: NDArray[np.bool_] = pc.fill_null(apart, nulls).to_numpy().astype(np.bool_)
    return found


def losses_by_column(table: Table, *losses: tuple[str, Callable[[Variable], object]]) -> Iterator[str]:
    """Name, for each loss, the columns of which it is true."""
    for what, is_lost in losses:
        if columns := [variable.column for variable in table.variables if is_lost(variable)]:
            yield f"{what}: {', '.join(columns)}"
