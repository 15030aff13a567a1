"""Which columns of which table belong to a level of nested records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from masktron.errors import UsageError
from masktron.level_settings import LevelSetting, LevelSettings
from masktron.problems.problem import Field, Known
from masktron.sources.level_tree import TOP, LevelPath
from masktron.sources.source import Source


@dataclass(frozen=True, slots=True)
class LevelColumns:
    """One level and its columns; names are those that rules have for them.

    Attributes
    ----------
    setting : LevelSetting
    path : tuple of str
        Of the level.
    table : int
        Which of the tables it stands in; 0 is that of the data.
    key, parent_key : tuple of str
    fields : tuple of str or None
        Columns of its own, in the order of the table: what joins it to the level above is none of them. None where
        nobody says which ones they are.
    grouped : bool
        Whether several rows are one record.
    named : bool
        Whether records of other tables name its key.
    """

    setting: LevelSetting
    path: LevelPath
    table: int
    key: tuple[str, ...]
    parent_key: tuple[str, ...]
    fields: tuple[str, ...] | None
    grouped: bool
    named: bool

    @property
    def joins(self) -> bool:
        """Whether its key says which records of another table, or which rows, belong to it."""
        return self.grouped or self.named


def columns_of_levels(levels: LevelSettings, tables: Sequence[Source]) -> tuple[LevelColumns, ...]:
    """Return the columns of each level, the top first, each before those within it.

    Parameters
    ----------
    levels : mapping of str to LevelSetting
    tables : sequence of Source
        That of the data, then those of the levels that have one, in their order.

    Raises
    ------
    UsageError
        A table does not have a column, or a column belongs to two levels.
    """
    table_of: dict[str, int] = {}
    paths: dict[str, LevelPath] = {}
    number = 0
    for one in levels.values():
        number += one.data is not None
        table_of[one.name] = number if one.data is not None else table_of.get(one.parent, 0)
        paths[one.name] = (*paths[one.parent], one.name) if one.parent else TOP
    within = {one.parent for one in levels.values() if one.same_table}
    named = {one.parent for one in levels.values() if one.data is not None}
    names = [_names_of(table) for table in tables]
    taken: dict[tuple[int, str], str] = {}
    found = []
    for one in levels.values():
        at = table_of[one.name]
        finder = _Finder(one, names[at], tables[at])
        key, parent_key = finder.all_of("key", one.key), finder.all_of("parent_key", one.parent_key)
        grouped = one.name in within
        own: tuple[str, ...] | None = tuple(dict.fromkeys(names[at].values()))
        if grouped:
            said = None if one.fields is None else finder.all_of("fields", one.fields)
            own = None if said is None or own is None else tuple(name for name in own if name in {*said, *key})
        gone = {*parent_key, *finder.all_of("numbered", one.numbered)}
        mine = [name for name in own or () if grouped or taken.get((at, name)) is None]
        for name in mine if grouped else ():
            if (at, name) in taken and name not in gone:
                raise UsageError.of(
                    "level-field",
                    tables[at].path,
                    field=Field(name),
                    level=one.name,
                    detail=f"belongs to {taken[at, name]} and to {one.name}",
                )
            taken[at, name] = one.name
        fields = None if own is None else tuple(name for name in mine if name not in gone)
        _refuse_level_names(one, fields or (), levels, tables[at])
        found.append(LevelColumns(one, paths[one.name], at, key, parent_key, fields, grouped, one.name in named))
    return tuple(found)


def _names_of(table: Source) -> dict[str, str]:
    """Return the names of the columns of a table, by these names and by those that the file has."""
    variables = table.own_variables
    return {**{one.column: one.name for one in variables}, **{one.name: one.name for one in variables}}


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds the columns of which settings speak."""

    setting: LevelSetting
    names: Mapping[str, str]
    table: Source

    def all_of(self, what: str, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the names of columns.

        Raises
        ------
        UsageError
            The table does not have one.
        """
        for column in columns:
            if column not in self.names:
                raise UsageError.of(
                    "unknown-name",
                    self.table.path,
                    kind=f"column for levels.{self.setting.name}.{what},",
                    name=column,
                    known=Known(column, tuple(self.names)),
                )
        return tuple(self.names[column] for column in columns)


def _refuse_level_names(one: LevelSetting, fields: Sequence[str], levels: LevelSettings, table: Source) -> None:
    """Refuse a column that is called like the records within its level."""
    inner = {other.name for other in levels.values() if other.parent == one.name}
    if both := sorted(inner.intersection(fields)):
        raise UsageError.of("name-taken", table.path, kind="level", name=both[0], first=f"by a column of {one.name}")
