"""Tables of nested records written again: rows in the order of their units, keys that agree in all tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.problems.problem import Field
from masktron.sources.column import Column
from masktron.sources.joined.level_rows import LevelColumns, LevelRows, units_of
from masktron.sources.level_tree import LevelPath
from masktron.sources.source import Source
from masktron.sources.variables import Variable

type _Numbers = dict[str, NDArray[np.intp]]
"""By column of a key, the number from 0 that each record of a level has in the place of its value."""


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRelease:
    """What is written of nested records; see `masktron.sources.source.Changes`.

    Attributes
    ----------
    replacements : mapping of tuple of str to mapping of str to Column
    removed : mapping of tuple of str to collection of str
        Fields that are not written. A key that joins rows is written all the same, as numbers that count the records
        in the order in which they are written.
    keep : ndarray of bool, shape (units,)
    order : ndarray of intp, shape (units,)
    """

    replacements: Mapping[LevelPath, Mapping[str, Column]]
    removed: Mapping[LevelPath, Collection[str]]
    keep: NDArray[np.bool_]
    order: NDArray[np.intp]


def write_joined(
    levels: Mapping[LevelPath, LevelRows], tables: Sequence[Source], targets: Sequence[Path], release: JoinedRelease
) -> int:
    """Write all tables, and return the number of units.

    Rows come in the order of their units, and within a unit in the order that they have in the file.

    Parameters
    ----------
    levels : mapping of tuple of str to LevelRows
        Each before those within it.
    tables : sequence of Source
        What `LevelColumns.table` numbers.
    targets : sequence of Path
        Where each of them is written, directly.
    release : JoinedRelease

    Raises
    ------
    DocumentError, UsageError
        A table has changed, or a value cannot be written; or a key that joins rows is to get other values.
    """
    _refuse_new_keys(levels, release)
    places = {path: _places(levels, path, release) for path in levels}
    numbers = _numbers(levels, places, release)
    for at, (table, target) in enumerate(zip(tables, targets, strict=True)):
        seated = {path: own for path, own in levels.items() if own.columns.table == at}
        deepest = list(seated)[-1]
        rows = seated[deepest].record_of
        units = units_of(levels, deepest)[rows]
        table.write(
            target,
            dict(_new_cells(seated, levels, numbers, release)),
            removed=frozenset(_gone(seated, release)),
            keep=release.keep[units],
            order=np.argsort(places[deepest][rows], kind="stable").astype(np.intp),
        )
    return int(release.keep.sum())


def _refuse_new_keys(levels: Mapping[LevelPath, LevelRows], release: JoinedRelease) -> None:
    for path, own in levels.items():
        one = own.columns
        if both := sorted({*(one.key if one.joins else ())}.intersection(release.replacements.get(path, {}))):
            raise UsageError.of("key-would-change", field=Field(both[0]), level=one.setting.name)


def _places(levels: Mapping[LevelPath, LevelRows], path: LevelPath, release: JoinedRelease) -> NDArray[np.intp]:
    """Return the place of each record of a level among all of its level, those that are not written at the end."""
    rank = np.empty(len(release.order), dtype=np.intp)
    written = np.concatenate(
        [release.order[release.keep[release.order]], release.order[~release.keep[release.order]]]
    )
    rank[written] = np.arange(len(rank), dtype=np.intp)
    found = rank
    for depth in range(1, len(path) + 1):
        above = found[levels[path[:depth]].parent]
        found = np.empty_like(above)
        found[np.argsort(above, kind="stable")] = np.arange(len(above), dtype=np.intp)
    return found


def _numbers(
    levels: Mapping[LevelPath, LevelRows], places: Mapping[LevelPath, NDArray[np.intp]], release: JoinedRelease
) -> dict[LevelPath, _Numbers]:
    """Return the numbers of keys that are removed and join rows: the places in which their records are written."""
    found: dict[LevelPath, _Numbers] = {}
    for path, own in levels.items():
        one = own.columns
        passed = _passed_on(own, levels, found)
        new = {name for name in one.key if one.joins and name in release.removed.get(path, ())}
        found[path] = {**passed, **dict.fromkeys(new - passed.keys(), places[path])}
    return found


def _passed_on(
    own: LevelRows, levels: Mapping[LevelPath, LevelRows], numbers: Mapping[LevelPath, _Numbers]
) -> _Numbers:
    """Return the numbers of the record above, by the columns of a level that hold its key."""
    one = own.columns
    if not one.parent_key:
        return {}
    above = levels[one.path[:-1]].columns
    return {
        mine: numbers[above.path][theirs][own.parent]
        for mine, theirs in zip(one.parent_key, above.key, strict=True)
        if theirs in numbers[above.path]
    }


def _new_cells(
    seated: Mapping[LevelPath, LevelRows],
    levels: Mapping[LevelPath, LevelRows],
    numbers: Mapping[LevelPath, _Numbers],
    release: JoinedRelease,
) -> Iterator[tuple[str, Column]]:
    """Yield new cells of the columns of a table, row by row."""
    for path, own in seated.items():
        for name, coded in release.replacements.get(path, {}).items():
            yield name, coded.taken(own.record_of)
        for name, number in numbers[path].items():
            texts = [str(at + 1) for at in range(len(number) and int(number.max()) + 1)]
            yield name, Column.of_texts(Variable.named(name), texts, number[own.record_of])


def _gone(seated: Mapping[LevelPath, LevelRows], release: JoinedRelease) -> Iterator[str]:
    """Yield the columns of a table that are left out."""
    for path, own in seated.items():
        one = own.columns
        for name in release.removed.get(path, ()):
            if not _joins(one, name):
                yield name


def _joins(one: LevelColumns, name: str) -> bool:
    return name in one.parent_key or (one.joins and name in one.key)
