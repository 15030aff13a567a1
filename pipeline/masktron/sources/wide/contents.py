"""What records of a nested file hold, with all that is within them, as what they are compared and sorted by."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from masktron.sources.level_tables import LevelTables
from masktron.sources.level_tree import LevelPath

type RecordContent = tuple[object, ...]
"""Names and texts of the cells of a record; then names of the kinds of records in it, each with their contents."""


def contents(
    tables: LevelTables, path: LevelPath, rows: NDArray[np.intp], left: Mapping[LevelPath, Collection[str]]
) -> list[RecordContent]:
    """Return what some records of a level hold; of two files, the same records have the same content.

    Cells and kinds of records that are not there are not part of it, so that a file that nowhere has a field compares
    with one that has it elsewhere.

    Parameters
    ----------
    tables : LevelTables
    path : tuple of str
    rows : ndarray of intp, shape (n,)
    left : mapping of tuple of str to collection of str
        By level, fields that do not count.
    """
    columns = tables.tables[path].records.columns
    names = sorted(name for name in columns if name not in left.get(path, ()))
    texts = [columns[name].lexemes_of(rows).tolist() for name in names]
    cells = [
        tuple((name, own[at]) for name, own in zip(names, texts, strict=True) if own[at] is not None)
        for at in range(len(rows))
    ]
    within: list[list[tuple[str, tuple[RecordContent, ...]]]] = [[] for _ in cells]
    for kind in sorted(child.name for child in tables.tables[path].level.children):
        below = (*path, kind)
        if below not in tables.tables:
            continue
        counts = tables.counts(below)
        first = np.concatenate(([0], np.cumsum(counts)))[:-1]
        for at, row in enumerate(rows.tolist()):
            if counts[row]:
                inner = np.arange(first[row], first[row] + counts[row], dtype=np.intp)
                within[at].append((kind, tuple(contents(tables, below, inner, left))))
    return [(own, tuple(inner)) for own, inner in zip(cells, within, strict=True)]
