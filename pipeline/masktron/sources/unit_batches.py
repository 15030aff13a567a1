"""Batches of units of a nested file: offsets into its bytes, level by level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.sources.columns import Batch, Cells
from masktron.sources.level_tree import LevelPath, Tree
from masktron.sources.wide.composition import Composition


@dataclass(frozen=True, slots=True, eq=False)
class LevelRows:
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
class WidePart:
    """Units of a batch that are composed alike, as wide records.

    Attributes
    ----------
    code : int
        Of the composition.
    composition : Composition
    units : ndarray of intp, shape (n,)
        Their rows in the batch.
    batch : Batch
        Of the wide records.
    """

    code: int
    composition: Composition
    units: NDArray[np.intp]
    batch: Batch


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
    levels : mapping of LevelPath to LevelRows
        Each level before those within it.
    given : tuple of WidePart, optional
        The wide records to be evaluated, where they are not those of the levels.
    kept : list of WidePart
        Those that were evaluated.
    """

    tree: Tree
    mixed: NDArray[np.bool_]
    levels: Mapping[LevelPath, LevelRows]
    given: tuple[WidePart, ...] | None = None
    kept: list[WidePart] = field(default_factory=list, init=False, repr=False)

    def counts(self, path: LevelPath) -> NDArray[np.intp]:
        """Return how many records of a level, other than the top, stand in each record of the level above."""
        return np.bincount(self.levels[path].parent, minlength=len(self.levels[path[:-1]])).astype(np.intp)

    def misread(self) -> tuple[NDArray[np.int64], UnitBatch]:
        """Return the units in which libxml2 misreads a number, and a batch with what it reads; see `Batch.misread`.

        Looked through are the wide records that were kept.
        """
        found = [(part, *part.batch.misread()) for part in self.kept]
        found = [one for one in found if len(one[1])]
        units = [part.units[rows] for part, rows, _ in found]
        rows = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *units]))
        given = tuple(
            WidePart(part.code, part.composition, np.searchsorted(rows, own), taken)
            for (part, _, taken), own in zip(found, units, strict=True)
        )
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
