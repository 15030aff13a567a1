"""A nested file in memory: a table for each level, and in which record of the level above each record stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.sources.level_tree import TOP, Level, LevelPath, Tree
from masktron.sources.records import Records


@dataclass(frozen=True, slots=True, eq=False)
class LevelTable:
    """The records of one level, in the order of the file.

    Attributes
    ----------
    level : Level
    records : Records
        With the fields of the level alone.
    parent : ndarray of intp, shape (n,)
        Row of each record's parent in the table of the level above, never falling; of the top level, the own row.
    """

    level: Level
    records: Records
    parent: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True, slots=True, eq=False)
class LevelTables:
    """All levels of a nested file.

    Attributes
    ----------
    source : Path
    tree : Tree
    tables : mapping of tuple of str to LevelTable
        By path, in the order of ``tree.levels()``.
    """

    source: Path
    tree: Tree
    tables: Mapping[LevelPath, LevelTable]

    @property
    def top(self) -> LevelTable:
        """The units."""
        return self.tables[TOP]

    def counts(self, path: LevelPath) -> NDArray[np.intp]:
        """Return how many records of a level, other than the top, stand in each record of the level above."""
        return np.bincount(self.tables[path].parent, minlength=len(self.tables[path[:-1]])).astype(np.intp)

    def units(self, path: LevelPath) -> NDArray[np.intp]:
        """Return the row of the unit in which each record of a level stands."""
        found = self.tables[path].parent
        for depth in range(len(path) - 1, 0, -1):
            found = self.tables[path[:depth]].parent[found]
        return found
