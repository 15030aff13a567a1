"""The records of a file of microdata in memory: columns, level by level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from masktron.problems.problem import Sentence
from masktron.sources.column import Column
from masktron.sources.level_tree import TOP, Level, LevelPath, Tree
from masktron.sources.record_layout import TABLE_PATH, Field, Layout
from masktron.sources.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class DataLevel:
    """The records of one level, in the order of the file.

    Attributes
    ----------
    level : Level
    columns : mapping of str to Column
        By the names that fields have within the level, in the order of its fields.
    lines : ndarray of int64, shape (n,)
        True source line (from 1) on which each record begins.
    parent : ndarray of intp, shape (n,)
        Row of each record's parent in the level above, never falling. In the top level nobody asks for it: it is the
        own row, or empty where the file is flat.
    """

    level: Level
    columns: Mapping[str, Column]
    lines: NDArray[np.int64]
    parent: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """The records of a file: of one level where it is flat. What is said of a record or a column is of the top level.

    Attributes
    ----------
    path : Path
        The file, for messages.
    tree : Tree
    levels : mapping of tuple of str to DataLevel
        By path, in the order of ``tree.levels()``.
    title : str
        The description of the file.
    format_state : object
        What its format needs to write a file like this one, for its own eyes.
    notes : tuple of str
        What a user should know of how the file reads, and what of it is not written again; in sentences.
    of_release : tuple of str
        What `mask` carries over into a release, or makes of the file there, that is to be looked at; in sentences.
    """

    path: Path
    tree: Tree
    levels: Mapping[LevelPath, DataLevel]
    title: str = ""
    format_state: Any = None
    notes: tuple[Sentence, ...] = ()
    of_release: tuple[Sentence, ...] = ()

    @classmethod
    def flat(cls, path: Path, layout: Layout, columns: Mapping[str, Column], lines: NDArray[np.int64]) -> Self:
        """Return the records of a flat file."""
        tree = Tree.flat(layout, len(lines))
        top = DataLevel(tree.top, MappingProxyType(dict(columns)), lines, np.zeros(0, dtype=np.intp))
        return cls(path, tree, MappingProxyType({TOP: top}))

    @classmethod
    def of_columns(cls, path: Path, columns: Iterable[Column], lines: NDArray[np.int64] | int) -> Self:
        """Return the records of a table, which says neither what its records are called nor what is around them.

        Parameters
        ----------
        path : Path
        columns : iterable of Column
            Whose variables have other names each.
        lines : ndarray of int64, or int
            The lines or rows of all records; their number where they are counted from 1.
        """
        named = {column.name: column for column in columns}
        fields = tuple(Field(name, name.removeprefix("@"), name.startswith("@")) for name in named)
        own = np.arange(1, lines + 1, dtype=np.int64) if isinstance(lines, int) else lines
        return cls.flat(path, Layout(TABLE_PATH, fields), named, own)

    def __len__(self) -> int:
        return len(self.top)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """What the file says of the columns of the top level, in their order."""
        return tuple(column.variable for column in self.columns.values())

    @property
    def top(self) -> DataLevel:
        """The records, or the units of a nested file."""
        return self.levels[TOP]

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns of the top level, by field name."""
        return self.top.columns

    @property
    def lines(self) -> NDArray[np.int64]:
        """Source line (from 1) on which each record of the top level begins."""
        return self.top.lines

    @property
    def layout(self) -> Layout:
        """Where records and fields of the top level stand."""
        return self.tree.layout

    def with_columns(self, columns: Mapping[str, Column], path: LevelPath = TOP) -> Self:
        """Return the same records with other columns in a level; all else is shared."""
        level = replace(self.levels[path], columns=MappingProxyType({**self.levels[path].columns, **columns}))
        return replace(self, levels=MappingProxyType({**self.levels, path: level}))

    def with_variables(self, variables: Iterable[Variable]) -> Self:
        """Return the same cells of a table, given what is said of each column now; names may be others."""
        pairs = zip(self.columns.values(), variables, strict=True)
        columns = [replace(column, variable=variable) for column, variable in pairs]
        other = self.of_columns(self.path, columns, self.lines)
        return replace(self, tree=other.tree, levels=other.levels)

    def taken(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> Self:
        """Return some records of a flat file, in the order of their positions."""
        columns = {name: column.taken(which) for name, column in self.columns.items()}
        other = self.flat(self.path, self.layout, columns, self.lines[which])
        return replace(self, tree=other.tree, levels=other.levels)

    def counts(self, path: LevelPath) -> NDArray[np.intp]:
        """Return how many records of a level, other than the top, stand in each record of the level above."""
        return np.bincount(self.levels[path].parent, minlength=len(self.levels[path[:-1]])).astype(np.intp)

    def units(self, path: LevelPath) -> NDArray[np.intp]:
        """Return the row of the unit in which each record of a level stands."""
        found = self.levels[path].parent
        for depth in range(len(path) - 1, 0, -1):
            found = self.levels[path[:depth]].parent[found]
        return found
