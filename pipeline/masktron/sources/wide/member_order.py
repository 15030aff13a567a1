"""The canonical order of members: in which each unit's members of a kind stand in its wide record.

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

from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.known_texts import Status
from masktron.sources.level_tree import LevelPath


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
