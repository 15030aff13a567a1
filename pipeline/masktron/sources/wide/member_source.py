"""A nested file whose records are the members of one level, each with what is within it and around it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import TOP, Level, LevelPath
from masktron.sources.source import Changes, Source
from masktron.sources.wide.member_rows import FILE_ORDER, MemberOrder, MemberRows, composition_below
from masktron.sources.wide.wide_record import Composition, SumOfMembers, UnitPlace, WideRecord
from masktron.sources.wide.wide_source import WideSource

type RecordContent = tuple[object, ...]
"""Names and texts of the cells of a record; then names of the kinds of records in it, each with their contents."""


def contents(
    dataset: Dataset, path: LevelPath, rows: NDArray[np.intp], left: Mapping[LevelPath, Collection[str]]
) -> list[RecordContent]:
    """Return what some records of a level hold; of two files, the same records have the same content.

    Cells and kinds of records that are not there are not part of it, so that a file that nowhere has a field compares
    with one that has it elsewhere.

    Parameters
    ----------
    dataset : Dataset
    path : tuple of str
    rows : ndarray of intp, shape (n,)
    left : mapping of tuple of str to collection of str
        By level, fields that do not count.
    """
    columns = dataset.levels[path].columns
    names = sorted(name for name in columns if name not in left.get(path, ()))
    texts = [columns[name].lexemes_of(rows).tolist() for name in names]
    cells = [
        tuple((name, own[at]) for name, own in zip(names, texts, strict=True) if own[at] is not None)
        for at in range(len(rows))
    ]
    within: list[list[tuple[str, tuple[RecordContent, ...]]]] = [[] for _ in cells]
    for kind in sorted(child.name for child in dataset.levels[path].level.children):
        below = (*path, kind)
        if below not in dataset.levels:
            continue
        counts = dataset.counts(below)
        first = np.concatenate(([0], np.cumsum(counts)))[:-1]
        for at, row in enumerate(rows.tolist()):
            if counts[row]:
                inner = np.arange(first[row], first[row] + counts[row], dtype=np.intp)
                within[at].append((kind, tuple(contents(dataset, below, inner, left))))
    return [(own, tuple(inner)) for own, inner in zip(cells, within, strict=True)]


class MemberSource(WideSource):
    """A nested file as a flat one: each record is a member of one level, with the fields around it that stay.

    Units are written whole, in an order of units, and left out whole.

    Parameters
    ----------
    nested : Source
        With a `tree`.
    level : tuple of str
        Path of the level of the members; not the top.
    sums : sequence of SumOfMembers
        Fields around the members that are computed anew when they are written.
    also_removed : mapping of tuple of str to frozenset of str
        Fields of other levels that are not written.
    wide : WideRecord, optional
        That of the file from which this one was written.
    member_order : MemberOrder
        Of members within the records.
    """

    def __init__(
        self,
        nested: Source,
        level: LevelPath,
        sums: Sequence[SumOfMembers] = (),
        also_removed: Mapping[LevelPath, frozenset[str]] | None = None,
        wide: WideRecord | None = None,
        member_order: MemberOrder = FILE_ORDER,
    ) -> None:
        super().__init__(nested, wide, member_order)
        self.level, self.sums, self.also_removed = level, tuple(sums), dict(also_removed or {})

    @cached_property
    def wide(self) -> WideRecord:
        """The fields of a record."""
        if self._wide is not None:
            return self._wide
        hidden: dict[LevelPath, list[str]] = {}
        for one in self.sums:
            hidden.setdefault(one.level, []).append(one.field)
        return member_record(self.dataset, self.level, self.member_order, hidden)

    @cached_property
    def members(self) -> MemberRows:
        """Where the members stand, and what is around and within them."""
        return member_rows(self.dataset, self.wide, self.level, self.member_order)

    @property
    def record_level(self) -> LevelPath:
        """Path of the level of which each record is one."""
        return self.level

    @property
    def units(self) -> NDArray[np.intp]:
        """Row of the unit of each record."""
        return self.dataset.units(self.level)

    def estimate(self) -> int:
        """Number of members."""
        return len(self.dataset.levels[self.level])

    def place(self, record: int, line: int, column: int) -> tuple[int, int]:
        """Return where a member begins in the nested file."""
        del line, column
        return (int(self.dataset.levels[self.level].lines[record]), 0) if record >= 0 else (0, 0)

    def shuffled(self, keep: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.intp]:
        """Return a random order of the kept members in which those of a unit stand together, as they stood.

        Returns
        -------
        ndarray of intp, shape (kept,)
            Positions among the kept members.
        """
        units = self.units[keep]
        distinct, codes = np.unique(units, return_inverse=True)
        rank = np.empty(len(distinct), dtype=np.intp)
        rank[generator.permutation(len(distinct))] = np.arange(len(distinct))
        return np.argsort(rank[codes], kind="stable").astype(np.intp)

    def rewrite(self, target: Path, changes: Changes) -> int:
        """Write a nested file like this one with new values of members; return the number of members."""
        folded = self.members.folded(dict(changes.replacements[TOP]))
        for one in self.sums:
            folded.setdefault(one.level, {})[one.field] = self._summed(one, folded.get(self.level, {}).get(one.of))
        gone = dict(self.also_removed)
        for path, names in self._removed(changes.removed[TOP]).items():
            gone[path] = gone.get(path, frozenset()) | names
        kept = self._kept_units(changes.keep)
        order = self._order_of_units(changes.order, kept)
        self.nested.rewrite_levels(target, Changes(folded, gone, kept, order, changes.told))
        return len(self.units) if changes.keep is None else int(changes.keep.sum())

    def _kept_units(self, keep: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        kept = np.ones(len(self.dataset.top), dtype=np.bool_)
        if keep is not None:
            kept[self.units[~keep]] = False
            if not np.array_equal(kept[self.units], keep):
                raise ValueError("some members of a unit would be written, and others not")
        return kept

    def _order_of_units(self, order: NDArray[np.intp] | None, kept: NDArray[np.bool_]) -> NDArray[np.intp] | None:
        """Return the order of units that one of members asks for; those without members follow, by what they hold."""
        if order is None:
            return None
        seen = list(dict.fromkeys(self.units[order].tolist()))
        empty = np.setdiff1d(np.arange(len(kept)), np.array(seen, dtype=np.intp))
        return np.array([*seen, *self.by_content(empty)], dtype=np.intp)

    def by_content(
        self, units: NDArray[np.intp], removed: Mapping[LevelPath, Collection[str]] | None = None
    ) -> NDArray[np.intp]:
        """Return units without members in an order that says nothing but what they hold, with all that is in them.

        Parameters
        ----------
        units : ndarray of intp, shape (n,)
        removed : mapping of tuple of str to collection of str, optional
            By level, fields that do not count, besides those that are computed anew; by default those that are not
            written.
        """
        left = {path: {*names} for path, names in (self.also_removed if removed is None else removed).items()}
        for one in self.sums:
            left.setdefault(one.level, set()).add(one.field)
        held = contents(self.dataset, TOP, units, left)
        return units[sorted(range(len(units)), key=held.__getitem__)]

    def _summed(self, one: SumOfMembers, new: Column | None) -> Column:
        """Return the sums of a field of members, where a record has the field that says so."""
        dataset, path = self.dataset, self.level
        own = dataset.levels[path].columns[one.of]
        texts = own.lexemes if new is None else new.lexemes
        around = _ancestors(dataset, path, one.level)
        column = dataset.levels[one.level].columns[one.field]
        totals = [Decimal(0)] * len(dataset.levels[one.level])
        for row, text in zip(around.tolist(), texts.tolist(), strict=True):
            if text is not None:
                totals[row] += _decimal(text)
        there = column.states[column.codes] != Status.ABSENT
        lexemes = [format(total, "f") if is_there else None for total, is_there in zip(totals, there, strict=True)]
        return Column.of_cells(column.variable, lexemes)

    def alike(self, path: Path) -> Self:
        """Return another nested file with the same records."""
        return type(self)(
            self.nested.alike(path), self.level, self.sums, self.also_removed, self.wide, self.member_order
        )


def _ancestors(dataset: Dataset, path: LevelPath, above: LevelPath) -> NDArray[np.intp]:
    """Return for each record of a level the row of the record around it of another level."""
    rows = np.arange(len(dataset.levels[path]))
    while path != above:
        rows = dataset.levels[path].parent[rows]
        path = path[:-1]
    return rows


def _decimal(text: str) -> Decimal:
    """Return a number as it is written; what is none adds nothing, and whoever judges the rule will say so."""
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        return Decimal(0)
    return found if found.is_finite() else Decimal(0)


def member_record(
    dataset: Dataset, path: LevelPath, order: MemberOrder, hidden: Mapping[LevelPath, Collection[str]]
) -> WideRecord:
    """Return the wide record of a member of a level, with the records around it and without those beside it.

    Parameters
    ----------
    dataset : Dataset
    path : tuple of str
        Of the level; not of the top.
    order : MemberOrder
        Of members within it.
    hidden : mapping of tuple of str to collection of str
        Fields of levels around it that are not shown, as their values change.
    """
    tree = dataset.tree
    inner = composition_below(dataset, order, path, np.arange(len(dataset.levels[path])))
    whole = WideRecord.of(tree.top, _around(tree.top, path, inner), tree.layout)
    gone: set[str] = set()
    for place in _chain(whole, path):
        if place.level_path == path:
            break
        for leaf in [leaf for leaf in place.leaves if leaf.field.name in hidden.get(place.level_path, ())]:
            place.leaves.remove(leaf)
            place.hidden.add(("@" if leaf.field.attribute else "") + leaf.field.tag)
            gone.add(leaf.name)
        place.hidden.update(child.tag for child in place.level.children)
    shown = replace(
        whole, layout=replace(whole.layout, fields=tuple(f for f in whole.layout.fields if f.name not in gone))
    )
    return shown.only(member_rows(dataset, shown, path, order).present())


def member_rows(dataset: Dataset, wide: WideRecord, path: LevelPath, order: MemberOrder) -> MemberRows:
    """Return in which rows the members stand, one after the other, and what is around and within them."""
    found: dict[str, NDArray[np.intp]] = {}
    rows = np.arange(len(dataset.levels[path]))
    around = list(_chain(wide, path))
    for place in reversed(around):
        found[place.name] = rows
        rows = dataset.levels[place.level_path].parent[rows]
    return MemberRows.below(dataset, wide, order, found, around[-1])


def _around(level: Level, path: LevelPath, inner: Composition) -> Composition:
    """Return the composition of a unit with nothing but one member of a level."""
    if not path:
        return inner
    return Composition(
        tuple((_around(child, path[1:], inner),) if child.name == path[0] else () for child in level.children)
    )


def _chain(wide: WideRecord, path: LevelPath) -> Iterator[UnitPlace]:
    """Yield the unit and what is around the member, and the member itself."""
    yield from (place for place in wide.places if path[: len(place.level_path)] == place.level_path)
