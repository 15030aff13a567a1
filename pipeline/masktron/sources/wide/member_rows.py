"""Where the members of units stand in the tables of a nested file, and their canonical order in a wide record.

The order of the file says nothing of members, and tells them: whoever knows that a household lists its children by
their names knows which is which. Members are sorted by fields that are written as they are, so that whoever has the
published file finds the same order. Theorem: `MemberOrder.sequence` of a file and of what is written of its units is
the same permutation of each unit's members, where these fields are as they were and members stand in their order.
Proof: it sorts by the values of the fields, by numbers of members below, and by the order of the file, all of which
are the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import TOP, Level, LevelPath
from masktron.sources.lexicon import Lexicon
from masktron.sources.wide.wide_record import Composition, UnitPlace, WideRecord


@dataclass(frozen=True, slots=True)
class OrderKey:
    """A field by which members are sorted.

    Attributes
    ----------
    field : str
        Its own name, within its level.
    values : tuple of str, or None
        Its texts, in their order; None where it holds numbers, which come from the lowest to the highest.
    """

    field: str
    values: tuple[str, ...] | None = None

    def ranks(self, column: Column) -> NDArray[np.float64]:
        """Return what cells are sorted by, shape (n,): what is not known, or not there, comes last."""
        if self.values is None:
            return np.where(column.present & column.is_number, column.values, np.inf)
        place = {text: float(at) for at, text in enumerate(self.values)}
        known = [place.get(text, np.inf) for text in column.lexicon.objects()]
        return np.where(column.present, np.array(known, dtype=np.float64)[column.codes], np.inf)


@dataclass(frozen=True, slots=True)
class MemberOrder:
    """By what members of each kind are sorted; those of other kinds stand in the order of the file.

    Attributes
    ----------
    keys : mapping of tuple of str to tuple of OrderKey
        By the path of the level.
    """

    keys: Mapping[LevelPath, tuple[OrderKey, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def by_fields(
        cls,
        dataset: Dataset,
        fields: Mapping[LevelPath, Sequence[str]],
        orders: Mapping[tuple[LevelPath, str], Sequence[str]] = MappingProxyType({}),
    ) -> Self:
        """Return the order by some fields of each level.

        Numbers come in their order. Texts come by how many units have them, the most common first, since what each
        unit has once, such as a head, then stands in one place; equally common ones by their letters.

        Parameters
        ----------
        dataset : Dataset
            Of the original.
        fields : mapping of tuple of str to sequence of str
            By level, the names of its own fields.
        orders : mapping of (tuple of str, str) to sequence of str
            Of fields whose values have an order that somebody gave.
        """
        keys = {
            path: tuple(OrderKey(name, _texts(dataset, path, name, orders.get((path, name), ()))) for name in names)
            for path, names in fields.items()
            if names
        }
        return cls(MappingProxyType(keys))

    @classmethod
    def from_plain(cls, content: object) -> Self:
        """Return the order that `as_dict` has written.

        Raises
        ------
        TypeError, KeyError
            It is none.
        """
        if not isinstance(content, list):
            raise TypeError("'member_order' is no list")
        keys: dict[LevelPath, tuple[OrderKey, ...]] = {}
        for entry in content:
            path, fields = entry["level"], entry["by"]
            if not isinstance(path, str) or not isinstance(fields, list):
                raise TypeError("'member_order' has an entry that is none of a level")
            keys[tuple(path.split("/"))] = tuple(map(_key, fields))
        return cls(MappingProxyType(keys))

    def as_dict(self) -> list[dict[str, Any]]:
        """Return it as plain data."""
        return [
            {
                "level": "/".join(path),
                "by": [
                    {"field": key.field, "values": None if key.values is None else list(key.values)} for key in keys
                ],
            }
            for path, keys in self.keys.items()
        ]

    def without(self, paths: frozenset[LevelPath]) -> Self:
        """Return the order without some kinds of members, which stay in the order of the file."""
        return type(self)(MappingProxyType({path: keys for path, keys in self.keys.items() if path not in paths}))

    def sequence(self, dataset: Dataset, path: LevelPath) -> NDArray[np.intp]:
        """Return the rows of a level, record of the level above by record of that level, in their order.

        Returns
        -------
        ndarray of intp, shape (n,)
            A permutation of the rows.
        """
        table = dataset.levels[path]
        keys = self.keys.get(path)
        if keys is None:
            return np.arange(len(table))
        sorted_by: list[NDArray[Any]] = [np.arange(len(table))]
        sorted_by += [
            dataset.counts((*path, child.name))
            for child in table.level.children
            if (*path, child.name) in dataset.levels
        ]
        columns = table.columns
        sorted_by += [key.ranks(columns[key.field]) for key in reversed(keys) if key.field in columns]
        return np.lexsort([*sorted_by, table.parent]).astype(np.intp)


FILE_ORDER = MemberOrder()
"""All members in the order of the file."""


def _key(entry: object) -> OrderKey:
    if not isinstance(entry, dict) or not isinstance(entry["field"], str):
        raise TypeError("'member_order' has a field without a name")
    values = entry["values"]
    if values is None:
        return OrderKey(entry["field"])
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise TypeError("'member_order' has values that are no texts")
    return OrderKey(entry["field"], tuple(values))


def _texts(dataset: Dataset, path: LevelPath, name: str, order: Sequence[str]) -> tuple[str, ...] | None:
    """Return the texts of a field in their order; None where all are numbers and nobody gave an order."""
    column = dataset.levels[path].columns[name]
    if column.numeric and not order:
        return None
    units, rows = dataset.units(path), np.flatnonzero(column.states[column.codes] == Status.PRESENT)
    lexemes = column.lexemes_of(rows)
    found: dict[str, set[int]] = {}
    for text, unit in zip(lexemes.tolist(), units[rows].tolist(), strict=True):
        found.setdefault(text, set()).add(unit)
    rest = sorted((text for text in found if text not in order), key=lambda text: (-len(found[text]), text))
    return (*order, *rest)


def joint_composition(dataset: Dataset, order: MemberOrder = FILE_ORDER) -> Composition:
    """Return the least composition that covers every unit of a file, with members in an order."""
    return _most(dataset, order, TOP, dataset.tree.top, np.arange(len(dataset.top)))


def composition_below(dataset: Dataset, order: MemberOrder, path: LevelPath, rows: NDArray[np.intp]) -> Composition:
    """Return the least composition that covers some records of a level with all that is below them."""
    return _most(dataset, order, path, dataset.tree.level(path), rows)


def _most(dataset: Dataset, order: MemberOrder, path: LevelPath, level: Level, rows: NDArray[np.intp]) -> Composition:
    """Return what covers some records of a level with all that is below them."""
    kinds = []
    for child in level.children:
        below = (*path, child.name)
        counts = dataset.counts(below)[rows]
        first = np.concatenate(([0], np.cumsum(dataset.counts(below))))[:-1][rows]
        sequence = order.sequence(dataset, below)
        least, most = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
        members = []
        for at in range(most):
            there = sequence[first[counts > at] + at]
            inner = _most(dataset, order, below, child, there)
            members.append(Composition(inner.members, sure=at < least))
        kinds.append(tuple(members))
    return Composition(tuple(kinds))


@dataclass(frozen=True, slots=True, eq=False)
class MemberRows:
    """The rows of members, place by place.

    Attributes
    ----------
    dataset : Dataset
    wide : WideRecord
    rows : mapping of str to ndarray of intp, shape (units,)
        By the name of a place, the row of each unit's member in the table of its level; -1 where it has none.
    """

    dataset: Dataset
    wide: WideRecord
    rows: Mapping[str, NDArray[np.intp]]

    @classmethod
    def of(cls, dataset: Dataset, wide: WideRecord, order: MemberOrder = FILE_ORDER) -> MemberRows:
        """Return where the members of all units of a file stand, in an order.

        Raises
        ------
        ValueError
            A unit has more members than the wide record.
        """
        return cls.below(dataset, wide, order, {wide.unit.name: np.arange(len(dataset.top))}, wide.unit)

    @classmethod
    def below(
        cls,
        dataset: Dataset,
        wide: WideRecord,
        order: MemberOrder,
        known: Mapping[str, NDArray[np.intp]],
        around: UnitPlace,
    ) -> MemberRows:
        """Return where members stand within a place, given the rows of that and of what is around it.

        Raises
        ------
        ValueError
            A record has more members than the wide record.
        """
        found = dict(known)
        records = len(found[around.name])
        for place in around.below():
            for kind, child in zip(place.members, place.level.children, strict=True):
                path = (*place.level_path, child.name)
                if path not in dataset.levels:  # no unit of this file has any
                    found.update((member.name, np.full(records, -1)) for member in kind)
                    continue
                counts = dataset.counts(path)
                first = np.concatenate(([0], np.cumsum(counts)))
                above = found[place.name]
                has = np.where(above >= 0, counts[above], 0) if len(counts) else np.zeros(len(above), dtype=np.intp)
                if len(has) and has.max() > len(kind):
                    raise ValueError(f"a unit has {has.max()} {child.name}, the wide record {len(kind)}")
                sequence = np.append(order.sequence(dataset, path), -1)
                for at, member in enumerate(kind):
                    found[member.name] = sequence[np.where(has > at, first[above] + at, -1)]
        return cls(dataset, wide, found)

    def present(self) -> frozenset[str]:
        """Name the wide fields that some unit has."""
        found = set()
        for place in self.wide.places:
            rows = self.rows[place.name]
            rows = rows[rows >= 0]
            columns = self.dataset.levels[place.level_path].columns
            for leaf in place.leaves:
                column = columns.get(leaf.field.name)
                if column is not None and (column.states[column.codes[rows]] != Status.ABSENT).any():
                    found.add(leaf.name)
        return frozenset(found)

    def kinds(self) -> list[frozenset[str]]:
        """Return the compositions of all units, each by the names of its members, in an order of their own."""
        names, there = self._there()
        return [frozenset(names[at] for at in np.flatnonzero(row)) for row in np.unique(there, axis=0)]

    def kind_codes(self, kinds: Sequence[frozenset[str]]) -> NDArray[np.intp]:
        """Return the composition of each unit, shape (units,), as a place among some; -1 where it is none of them."""
        names, there = self._there()
        found, inverse = np.unique(there, axis=0, return_inverse=True)
        places = {kind: at for at, kind in enumerate(kinds)}
        codes = [places.get(frozenset(names[at] for at in np.flatnonzero(row)), -1) for row in found]
        return np.array(codes, dtype=np.intp)[inverse.ravel()] if codes else np.zeros(0, dtype=np.intp)

    def _there(self) -> tuple[list[str], NDArray[np.bool_]]:
        names = [name for name in self.rows if name]
        columns = [self.rows[name] >= 0 for name in names]
        units = len(self.dataset.top)
        return names, np.stack(columns, axis=1) if columns else np.zeros((units, 0), dtype=np.bool_)

    def folded(self, cells: Mapping[str, Column]) -> dict[LevelPath, dict[str, Column]]:
        """Return cells of wide fields, in the order of the units, as cells of the fields of the levels.

        A field of which the wide record has new cells in some places alone is left as it is in the others only where
        no member stands there.

        Raises
        ------
        ValueError
            Of a field, some members would have new cells and others not.
        """
        found: dict[LevelPath, dict[str, Column]] = {}
        for (path, own), leaves in self.wide.by_field().items():
            if any(leaf.name in cells for leaf in leaves):
                new = [(self.rows[leaf.place.name], cells.get(leaf.name)) for leaf in leaves]
                found.setdefault(path, {})[own.name] = self._joined(path, own.name, new)
        return found

    def _joined(self, path: LevelPath, name: str, parts: list[tuple[NDArray[np.intp], Column | None]]) -> Column:
        column = self.dataset.levels[path].columns[name]
        codes = np.full(len(self.dataset.levels[path]), -1, dtype=np.intp)
        texts: list[Lexicon] = []
        size = 0
        for rows, cells in parts:
            there = rows >= 0
            if cells is None:
                if column.present[rows[there]].any():
                    raise ValueError(f"some members have new values of {name}, and others not")
                continue
            codes[rows[there]] = cells.codes[there] + size
            texts.append(cells.lexicon)
            size += len(cells.lexicon)
        nothing = Lexicon.of([None])
        return Column.of_texts(column.variable, Lexicon.joined([*texts, nothing]), np.where(codes < 0, size, codes))
