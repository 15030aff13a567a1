"""What stands beside and around protected members in a masked file, cell by cell against the original."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from masktron.counts import counted
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import LevelPath
from masktron.sources.wide.member_source import MemberSource


def changed_beside(
    released: MemberSource,
    original: MemberSource,
    rows: NDArray[np.intp],
    removed: Mapping[LevelPath, Collection[str]],
) -> list[str]:
    """Say what of the levels around and beside members is not as it was.

    Fields that were computed anew are left to the rules that say how.

    Parameters
    ----------
    released, original : MemberSource
    rows : ndarray of intp, shape (n,)
        For each released member its row in the original.
    removed : mapping of tuple of str to collection of str
        Fields that are not written.
    """
    units = _units(released, original, rows, removed)
    if units is None:
        return ["the units of the file are not those of the original"]
    found: list[str] = []
    for path, level in original.levels.levels():
        if path[: len(original.level)] == original.level:
            continue
        rows_there = rows_of_level(original.dataset, released.dataset, path, units)
        shown = original.levels.shown(path)
        if rows_there is None:
            found.append(f"{shown}: the units have other numbers of them than in the original")
            continue
        anew = {one.field for one in original.sums if one.level == path}
        for own in level.fields:
            if own.name in removed.get(path, ()):
                if path in released.dataset.levels and own.name in released.dataset.levels[path].columns:
                    found.append(f"{shown}: the identifier {own.name} was to be removed and is in the file")
            elif own.name not in anew and (wrong := _differing(released, original, path, own.name, rows_there)):
                found.append(f"{shown}: {own.name} differs from the original in {counted(wrong, 'record')}")
    return found


def _units(
    released: MemberSource,
    original: MemberSource,
    rows: NDArray[np.intp],
    removed: Mapping[LevelPath, Collection[str]],
) -> NDArray[np.intp] | None:
    """Return the unit of the original of each released one; None where there is no such.

    Those without members are put together by what they hold, in whatever order the file has them.
    """
    found = np.full(len(released.dataset), -1, dtype=np.intp)
    found[released.units] = original.units[rows]
    if not np.array_equal(found[released.units], original.units[rows]):
        return None
    empty = np.flatnonzero(found < 0)
    others = np.setdiff1d(np.arange(len(original.dataset)), original.units)  # without members, none is left out
    if len(empty) != len(others):
        return None
    found[released.by_content(empty, removed)] = original.by_content(others, removed)
    return found


def rows_of_level(
    original: Dataset, released: Dataset, path: LevelPath, units: NDArray[np.intp]
) -> NDArray[np.intp] | None:
    """Return the row of the original of each released record of a level; None where the numbers in a record differ.

    Parameters
    ----------
    original, released : Dataset
    path : tuple of str
    units : ndarray of intp, shape (units,)
        The unit of the original of each released one.
    """
    found = units
    for depth in range(1, len(path) + 1):
        at = path[:depth]
        if at not in released.levels:
            return np.zeros(0, dtype=np.intp) if not len(original.levels[at]) else None
        counts, every = released.counts(at), original.counts(at)
        if not np.array_equal(counts, every[found]):
            return None
        before = np.cumsum(every) - every  # rows of earlier records
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        found = (np.repeat(before[found], counts) + within).astype(np.intp)
    return found


def _differing(
    released: MemberSource,
    original: MemberSource,
    path: LevelPath,
    name: str,
    rows: NDArray[np.intp],
) -> int:
    """Count cells of a field that are not as they were."""
    ours = released.dataset.levels.get(path)
    own = None if ours is None else ours.columns.get(name)
    before = original.dataset.levels[path].columns[name].lexemes[rows]
    after = np.full(len(before), None, dtype=np.object_) if own is None else own.lexemes
    return int(sum(one != other for one, other in zip(before, after, strict=True)))
