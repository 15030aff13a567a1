"""What is evaluated over columns, in batches: the records of a flat file, or the units of a nested one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.sources.columns import Batch, Cells
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.record_layout import Layout
from masktron.sources.wide.wide_record import Composition


@dataclass(frozen=True, slots=True)
class RecordSlice:
    """Where some records in a row stand: small, whatever they hold.

    Attributes
    ----------
    first, records : int
        Position of the first one, from 0, and their number.
    begin, end : int
        What the format finds them by: bytes, row groups or segments.
    line, column : int
        Place of the byte at `begin`, from 1, where the file is a text.
    """

    first: int
    records: int
    begin: int
    end: int
    line: int = 1
    column: int = 1


class InSlices:
    """A file that may be read slice by slice, of which each slice tells nothing but its records.

    Attributes
    ----------
    path : Path
        The file, for messages.
    """

    path: Path

    def remarks(self) -> object:
        """Return what the slice that was read last tells of the whole file: small, and picklable."""
        return None

    def settle(self, remarks: Sequence[object]) -> None:
        """Refuse what only all slices together tell.

        Parameters
        ----------
        remarks : sequence of object
            Of each slice.

        Raises
        ------
        DocumentError
        """
        if any(remark is not None for remark in remarks):
            raise ValueError(f"nobody knows what slices of {self.path} tell of it")


class FlatRecords(InSlices, ABC):
    """Reads the records of a file as often as wanted, a batch in memory at a time.

    It can be pickled where there are slices: what is read is the file, wherever that is done.

    Attributes
    ----------
    path : Path
        The file, for messages.
    layout : Layout
    """

    layout: Layout

    @property
    @abstractmethod
    def around(self) -> tuple[str, str] | None:
        """Tags before and behind the records, where no file has them; None where that at `path` has them."""

    @abstractmethod
    def batches(self) -> Generator[Batch]:
        """Yield the records, each time in the same batches.

        Raises
        ------
        DocumentError
            The file cannot be read, or has changed.
        """

    def slices(self) -> Sequence[RecordSlice]:
        """Return the whole file in slices of a fixed size, in their order; none where it cannot be cut."""
        return ()

    def batches_in(self, piece: RecordSlice) -> Generator[Batch]:
        """Yield the records of a slice.

        Raises
        ------
        DocumentError
            As `batches`.
        ValueError
            There are no slices.
        """
        raise ValueError(f"{self.path} cannot be cut at {piece.begin}")

    @abstractmethod
    def require_unchanged(self) -> None:
        """Refuse a file that is no longer the one that was surveyed.

        Raises
        ------
        DocumentError
        """


@dataclass(frozen=True, slots=True, eq=False)
class BatchRows:
    """The records of a level in some units, in the order of the file.

    Attributes
    ----------
    parent : ndarray of int64, shape (n,)
        Row of each record's parent in the level above, never falling; of a unit, its own row.
    lines : ndarray of int64, shape (n,)
        Source line (from 1) on which each begins.
    cells : tuple of Cells
        In the order of the fields of the level.
    """

    parent: NDArray[np.int64]
    lines: NDArray[np.int64]
    cells: tuple[Cells, ...]

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True, slots=True, eq=False)
class UnitPart:
    """Units of a batch, or records within them, as a flat table.

    Attributes
    ----------
    code : int
        Of the composition that the units share, where they are wide records.
    of : LevelPath or Composition
        The level of the records, or that composition.
    units : ndarray of intp, shape (n,)
        Row of each one's unit in the batch of units.
    batch : Batch
    """

    code: int
    of: LevelPath | Composition
    units: NDArray[np.intp]
    batch: Batch

    def within(self, units: NDArray[np.int64]) -> UnitPart:
        """Return those in some units, which ascend, as parts of these, with numbers as libxml2 reads them."""
        rows = np.flatnonzero(np.isin(self.units, units)).astype(np.int64)
        own = np.searchsorted(units, self.units[rows])
        return UnitPart(self.code, self.of, own, self.batch.as_libxml2_reads(rows))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UnitBatch(Batch):
    """Consecutive units of a nested file, with all records in them; as a `Batch`, with the fields of the units alone.

    Of odd units no records are known but themselves.

    Attributes
    ----------
    tree : Tree
    mixed : ndarray of bool, shape (n,)
        Units with a record in which elements come in another order than that of the tree: fields first, then the
        records of each kind.
    levels : mapping of LevelPath to BatchRows
        Each level before those within it; those that stand in odd units alone may be missing.
    given : tuple of UnitPart, optional
        What is to be evaluated, where that is not made of the levels.
    kept : list of UnitPart
        What was evaluated.
    """

    tree: Tree
    mixed: NDArray[np.bool_]
    levels: Mapping[LevelPath, BatchRows]
    given: tuple[UnitPart, ...] | None = None
    kept: list[UnitPart] = field(default_factory=list, init=False, repr=False)

    def unit_of(self, path: LevelPath) -> NDArray[np.intp]:
        """Return the row of the unit in which each record of a level stands."""
        found = self.levels[path].parent
        for depth in range(len(path) - 1, 0, -1):
            found = self.levels[path[:depth]].parent[found]
        return found.astype(np.intp)

    def table(self, path: LevelPath) -> Batch:
        """Return the records of a level as those of a flat file; where they begin and end is not known."""
        rows = self.levels[path]
        nowhere = np.zeros(len(rows), dtype=np.int64)
        return Batch(
            layout=self.tree.layout_of(path),
            codec=self.codec,
            buffer=self.buffer,
            offset=self.offset,
            first=self.first,
            starts=nowhere,
            stops=nowhere,
            lines=rows.lines,
            odd=self.odd if path == TOP else np.zeros(len(rows), dtype=np.bool_),
            cells=rows.cells,
        )

    def counts(self, path: LevelPath) -> NDArray[np.intp]:
        """Return how many records of a level, other than the top, stand in each record of the level above."""
        return np.bincount(self.levels[path].parent, minlength=len(self.levels[path[:-1]])).astype(np.intp)

    def misread(self) -> tuple[NDArray[np.int64], UnitBatch]:
        """Return the units in which libxml2 misreads a number, and a batch with what it reads; see `Batch.misread`.

        Looked through are the parts that were kept.
        """
        units = [part.units[part.batch.misread_rows()] for part in self.kept]
        rows = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *units])).astype(np.int64)
        given = tuple(part.within(rows) for part in self.kept) if len(rows) else ()
        return rows, UnitBatch(
            layout=self.layout,
            codec=self.codec,
            buffer=self.buffer,
            offset=self.offset,
            first=self.first,
            starts=self.starts[rows],
            stops=self.stops[rows],
            lines=self.lines[rows],
            odd=self.odd[rows],
            cells=(),
            tree=self.tree,
            mixed=self.mixed[rows],
            levels={},
            given=given,
        )


class UnitRecords(ABC):
    """Reads the units of a nested file as often as wanted, a batch in memory at a time.

    Attributes
    ----------
    path : Path
        The file, for messages.
    tree : Tree
    """

    path: Path
    tree: Tree

    @abstractmethod
    def batches(self) -> Generator[UnitBatch]:
        """Yield the units, each time in the same batches.

        Raises
        ------
        DocumentError
            The file cannot be read, or has changed.
        """

    @abstractmethod
    def require_unchanged(self) -> None:
        """Refuse a file that is no longer the one that was surveyed.

        Raises
        ------
        DocumentError
        """
