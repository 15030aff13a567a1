"""What stands beside and around protected members in a masked file, cell by cell against the original."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from masktron.counts import counted
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
        pair = _rows_of(released, original, path, units)
        shown = original.levels.shown(path)
        if pair is None:
            found.append(f"{shown}: the units have other numbers of them than in the original")
            continue
        anew = {one.field for one in original.sums if one.level == path}
        for own in level.fields:
            if own.name in removed.get(path, ()):
                if path in released.dataset.levels and own.name in released.dataset.levels[path].columns:
                    found.append(f"{shown}: the identifier {own.name} was to be removed and is in the file")
            elif own.name not in anew and (wrong := _differing(released, original, path, own.name, pair)):
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


def _rows_of(
    released: MemberSource, original: MemberSource, path: LevelPath, units: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Return rows of a level in both files that belong together; None where the numbers in a record differ."""
    mine, theirs = np.arange(len(units)), units
    for depth in range(len(path)):
        below = path[: depth + 1]
        if below not in released.dataset.levels:
            return (np.zeros(0, dtype=np.intp),) * 2 if not len(original.dataset.levels[below]) else None
        sides = []
        for source, above in ((released, mine), (original, theirs)):
            counts = source.dataset.counts(below)
            first = np.concatenate(([0], np.cumsum(counts)))[:-1]
            sides.append((counts[above], first[above]))
        if not np.array_equal(sides[0][0], sides[1][0]):
            return None
        within = _within(sides[0][0])
        mine, theirs = (np.repeat(first, counts) + within for counts, first in sides)
    return mine, theirs


def _within(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Number the members of each record from 0, one record after the other."""
    first = np.concatenate(([0], np.cumsum(counts)))[:-1]
    found: NDArray[np.intp] = np.arange(int(counts.sum())) - np.repeat(first, counts)
    return found


def _differing(
    released: MemberSource,
    original: MemberSource,
    path: LevelPath,
    name: str,
    pair: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> int:
    """Count cells of a field that are not as they were."""
    ours = released.dataset.levels.get(path)
    own = None if ours is None else ours.columns.get(name)
    before = original.dataset.levels[path].columns[name].lexemes[pair[1]]
    after = np.full(len(before), None, dtype=np.object_) if own is None else own.lexemes[pair[0]]
    return int(sum(one != other for one, other in zip(before, after, strict=True)))
