"""The columns of tables that belong to a level of nested records; their rows joined by keys, with their parents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.level_settings import LevelSetting, LevelSettings, joining
from masktron.problems.problem import Field, Known, Place
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import TOP, LevelPath
from masktron.sources.lexical import XML_SPACE
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


def columns_of_levels(
    levels: LevelSettings, tables: Sequence[Source], identifiers: Collection[str] = ()
) -> tuple[LevelColumns, ...]:
    """Return the columns of each level, the top first, each before those within it.

    Parameters
    ----------
    levels : mapping of str to LevelSetting
    tables : sequence of Source
        That of the data, then those of the levels that have one, in their order.
    identifiers : collection of str
        Fields that tables may lack where they are the key of a level and join nothing.

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
        own_key = one.key
        if not joining(levels, one.name):
            path = "/".join(paths[one.name])
            gone_from_release = {name for name in one.key if not {name, f"{path}/{name}"}.isdisjoint(identifiers)}
            own_key = tuple(name for name in one.key if name in names[at] or name not in gone_from_release)
        key, parent_key = finder.all_of("key", own_key), finder.all_of("parent_key", one.parent_key)
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


type JoinKey = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LevelRows:
    """The records of one level, which are rows of a table or groups of them.

    Attributes
    ----------
    columns : LevelColumns
    rows : ndarray of intp, shape (records,)
        The first row of each record. Records come in the order of those above them.
    record_of : ndarray of intp, shape (rows,)
        The record of each row of the table.
    parent : ndarray of intp, shape (records,)
        The record of the level above; of the top level, the own number.
    """

    columns: LevelColumns
    rows: NDArray[np.intp]
    record_of: NDArray[np.intp]
    parent: NDArray[np.intp]

    @property
    def fields(self) -> tuple[str, ...]:
        """Columns of its own."""
        return self.columns.fields or ()


def joined(levels: Sequence[LevelColumns], tables: Sequence[Dataset]) -> dict[LevelPath, LevelRows]:
    """Join the records of all levels.

    Parameters
    ----------
    levels : sequence of LevelColumns
        Each before those within it.
    tables : sequence of Dataset
        What `LevelColumns.table` numbers.

    Raises
    ------
    DocumentError
        A key is empty or occurs twice, names no record, or a row says something else than another one of its record.
    UsageError
        Nobody says which columns are those of a level, of which several rows are one record.
    """
    found: dict[LevelPath, LevelRows] = {}
    for one in levels:
        table = _KeyedTable(one, tables[one.table])
        if one.path and one.parent_key:
            made = _of_own_table(one, table, found[one.path[:-1]], tables)
        elif one.path:
            made = _within(one, table, found[one.path[:-1]])
        else:
            made = _top(one, table)
        _require_apart(made, table)
        if one.grouped:
            _require_constant(made, table)
        found[one.path] = made
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _KeyedTable:
    """A table with the keys of its rows."""

    level: LevelColumns
    records: Dataset

    def keys(self, names: Sequence[str]) -> list[JoinKey]:
        """Return the key of each row.

        Raises
        ------
        DocumentError
            One is empty.
        """
        texts = []
        for name in names:
            column = self.records.columns.get(name)
            cells = [None] * len(self.records) if column is None else column.lexemes.tolist()
            empty = next((at for at, text in enumerate(cells) if not (text or "").strip(XML_SPACE)), None)
            if empty is not None:
                raise self.bad_key(empty, f"it belongs to no {self._owner(names)}", f"no {name}")
            texts.append(cells)
        return list(zip(*texts, strict=True))

    def _owner(self, names: Sequence[str]) -> str:
        own = self.level.setting
        return own.parent if tuple(names) == self.level.parent_key else own.name

    def bad_key(self, row: int, detail: str, key: str) -> DocumentError:
        """Return an error that names the line of a row, and what is wrong with its key."""
        place = Place(str(self.records.path), int(self.records.lines[row]), record=row + 1)
        return DocumentError.of("bad-key", place, detail=detail, key=key, table=self.level.setting.name)


def shown_key(names: Sequence[str], key: JoinKey) -> str:
    """Return a key as messages have it: ``HID = 17``."""
    return ", ".join(f"{name} = {text}" for name, text in zip(names, key, strict=True))


def _top(one: LevelColumns, table: _KeyedTable) -> LevelRows:
    size = len(table.records)
    every = np.arange(size, dtype=np.intp)
    if not one.grouped:
        return LevelRows(one, every, every, every)
    numbers: dict[JoinKey, int] = {}
    of = np.fromiter((numbers.setdefault(key, len(numbers)) for key in table.keys(one.key)), np.intp, size)
    rows = np.unique(of, return_index=True)[1].astype(np.intp)
    return LevelRows(one, rows, of, np.arange(len(rows), dtype=np.intp))


def _of_own_table(one: LevelColumns, table: _KeyedTable, above: LevelRows, tables: Sequence[Dataset]) -> LevelRows:
    """Join a table to the level above by the key of that."""
    keyed = _KeyedTable(above.columns, tables[above.columns.table])
    keys = keyed.keys(above.columns.key)
    known = {keys[row]: record for record, row in enumerate(above.rows.tolist())}
    own = table.keys(one.parent_key)
    parents = np.fromiter((known.get(key, -1) for key in own), np.intp, len(own))
    if (lost := np.flatnonzero(parents < 0)).size:
        row = int(lost[0])
        detail = f"no {above.columns.setting.name} has it ({len(lost):,} records are like this)"
        raise table.bad_key(row, detail, shown_key(one.parent_key, own[row]))
    return _grouped(one, table, parents) if one.grouped else _placed(one, parents)


def _within(one: LevelColumns, table: _KeyedTable, above: LevelRows) -> LevelRows:
    """Return a level whose records are rows of the table of the level above, or groups of them."""
    return _grouped(one, table, above.record_of) if one.grouped else _placed(one, above.record_of)


def _placed(one: LevelColumns, parents: NDArray[np.intp]) -> LevelRows:
    """Return a level each row of which is a record, given the record above of each row."""
    rows = np.argsort(parents, kind="stable").astype(np.intp)
    record_of = np.empty_like(rows)
    record_of[rows] = np.arange(len(rows), dtype=np.intp)
    return LevelRows(one, rows, record_of, parents[rows])


def _grouped(one: LevelColumns, table: _KeyedTable, parents: NDArray[np.intp]) -> LevelRows:
    """Return a level in which rows with one key, within one record above, are a record."""
    numbers: dict[tuple[int, JoinKey], int] = {}
    pairs = zip(parents.tolist(), table.keys(one.key), strict=True)
    of = np.fromiter((numbers.setdefault(pair, len(numbers)) for pair in pairs), np.intp, len(parents))
    first = np.unique(of, return_index=True)[1].astype(np.intp)
    order = np.argsort(parents[first], kind="stable").astype(np.intp)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=np.intp)
    return LevelRows(one, first[order], rank[of], parents[first][order])


def _require_apart(made: LevelRows, table: _KeyedTable) -> None:
    """Refuse a key that two records have: over the file where it joins other tables, else within the record above.

    Raises
    ------
    DocumentError
    """
    one = made.columns
    if not one.key:
        return
    alone = one.named or not one.path
    keys = table.keys(one.key)
    known: dict[tuple[int, JoinKey], int] = {}
    for row, above in zip(made.rows.tolist(), made.parent.tolist(), strict=True):
        place = (-1 if alone else above, keys[row])
        if place in known:
            here = "" if alone else f" within one {one.setting.parent}"
            raise table.bad_key(
                row, f"record {known[place] + 1}{here} has the same key", shown_key(one.key, keys[row])
            )
        known[place] = row


def _require_constant(made: LevelRows, table: _KeyedTable) -> None:
    """Refuse a field of a record that differs between its rows, and a level of which nobody says which fields it has.

    Raises
    ------
    DocumentError, UsageError
    """
    one, columns = made.columns, table.records.columns
    if one.fields is None:
        constant = [name for name in columns if differing(made, table.records, name) is None]
        columns_shown = tuple(f'"{name}"' for name in constant)
        level = one.setting.name
        raise UsageError.of("level-fields-missing", table.records.path, level=level, columns=columns_shown)
    for name in one.fields:
        row = differing(made, table.records, name) if name in columns else None
        if row is not None:
            first, level = int(made.rows[made.record_of[row]]), one.setting.name
            place = Place(str(table.records.path), int(table.records.lines[row]), record=row + 1)
            detail = f"differs between records {first + 1} and {row + 1}, which are one {level}"
            raise DocumentError.of("level-field", place, field=Field(name), level=level, detail=detail)


def differing(made: LevelRows, records: Dataset, name: str) -> int | None:
    """Return the first row with another text in a column than the first row of its record; None where none has."""
    column = records.columns[name]
    apart = np.flatnonzero(~column.same_texts(column.taken(made.rows[made.record_of])))
    return int(apart[0]) if apart.size else None


def units_of(levels: Mapping[LevelPath, LevelRows], path: LevelPath) -> NDArray[np.intp]:
    """Return the unit of each record of a level."""
    found = levels[path].parent
    for depth in range(len(path) - 1, 0, -1):
        found = levels[path[:depth]].parent[found]
    return found
