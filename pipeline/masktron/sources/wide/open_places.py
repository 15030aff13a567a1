"""Wide records of members: a member with all that is within it, and what is not masked of the records around it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masktron.sources.level_tables import LevelTables
from masktron.sources.level_tree import Level, LevelPath
from masktron.sources.wide.composition import Composition
from masktron.sources.wide.member_order import MemberOrder
from masktron.sources.wide.member_rows import MemberRows, composition_below
from masktron.sources.wide.wide_record import UnitPlace, WideRecord


def member_record(
    tables: LevelTables, path: LevelPath, order: MemberOrder, hidden: Mapping[LevelPath, Collection[str]]
) -> WideRecord:
    """Return the wide record of a member of a level, with the records around it and without those beside it.

    Parameters
    ----------
    tables : LevelTables
    path : tuple of str
        Of the level; not of the top.
    order : MemberOrder
        Of members within it.
    hidden : mapping of tuple of str to collection of str
        Fields of levels around it that are not shown, as their values change.
    """
    tree = tables.tree
    inner = composition_below(tables, order, path, np.arange(len(tables.tables[path])))
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
    return shown.only(member_rows(tables, shown, path, order).present())


def member_rows(tables: LevelTables, wide: WideRecord, path: LevelPath, order: MemberOrder) -> MemberRows:
    """Return in which rows the members stand, one after the other, and what is around and within them."""
    found: dict[str, NDArray[np.intp]] = {}
    rows = np.arange(len(tables.tables[path]))
    around = list(_chain(wide, path))
    for place in reversed(around):
        found[place.name] = rows
        rows = tables.tables[place.level_path].parent[rows]
    return MemberRows.below(tables, wide, order, found, around[-1])


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
