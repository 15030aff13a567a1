"""Nested records in tables, as a `Source` that reads and writes them: the levels that a nested file in XML has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Self, TextIO
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.level_settings import LevelSettings, released_levels
from masktron.problems.problem import Field, Sentence
from masktron.progress import Progress, Told, untold
from masktron.sources.column import Column
from masktron.sources.dataset import DataLevel, Dataset
from masktron.sources.joined.level_rows import LevelColumns, LevelRows, columns_of_levels, joined, units_of
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.output_names import table_beside
from masktron.sources.record_layout import NO_CONTEXTS, ContextNames
from masktron.sources.source import Changes, Reading, Source
from masktron.sources.tables.table_view import TwinNames, twin_frame, twin_names
from masktron.sources.twin_source import TwinSource
from masktron.sources.variables import Variable
from masktron.sources.xml.microdata import iter_records
from masktron.sources.xml.nested import read_levels
from masktron.sources.xml.xml_source import XmlSource

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
    _refuse_new_keys(levels, release.replacements)
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


def _refuse_new_keys(levels: Mapping[LevelPath, LevelRows], new: Mapping[LevelPath, Mapping[str, Column]]) -> None:
    for path, own in levels.items():
        one = own.columns
        if both := sorted({*(one.key if one.joins else ())}.intersection(new.get(path, {}))):
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


_BREAKS = {"\r": "&#13;", "\n": "&#10;"}
_IN_ATTRIBUTES = {**_BREAKS, "\t": "&#9;"}
type _Texts = dict[str, str]


@dataclass(slots=True)
class _Level:
    """The records of one level as they are found.

    Attributes
    ----------
    columns : LevelColumns
    own : collection of str
        Its columns.
    heads : list of str
        Each record without what is within it and without its end tag.
    numbers : dict
        Of records by their key, with the number of the record above where only that tells them apart.
    within : list of list of int
        By level below, then by record: the records in it.
    """

    columns: LevelColumns
    own: Collection[str]
    below: list[_Level] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    numbers: dict[tuple[int, tuple[str, ...]], int] = field(default_factory=dict)
    members: list[list[int]] = field(default_factory=list)

    @property
    def tag(self) -> str:
        return self.columns.setting.name

    def add(self, texts: _Texts, above: int) -> int:
        """Take a record, or another row of one that is known; return its number."""
        one = self.columns
        place = (-1 if one.named or not one.path else above, tuple(texts[name] for name in one.key))
        if one.grouped and place in self.numbers:
            return self.numbers[place]
        number = len(self.heads)
        if one.joins:
            self.numbers[place] = number
        self.heads.append(_head(self.tag, self.own, texts))
        self.members.append([])
        return number


def write_nested_document(
    path: Path, levels: Sequence[LevelColumns], tables: Sequence[Source], names: TwinNames
) -> None:
    """Write the document of tables whose keys have been found to join them.

    Parameters
    ----------
    path : Path
    levels : sequence of LevelColumns
        Each before those within it.
    tables : sequence of Source
        What `LevelColumns.table` numbers.
    names : TwinNames
        What stands around the records of the top level, and the namespace of all.

    Raises
    ------
    DocumentError
        The second reader of a table finds keys that the first one did not.
    """
    made = [_Level(one, frozenset(one.fields or ())) for one in levels]
    by_path = {one.columns.path: one for one in made}
    for one in made[1:]:
        by_path[one.columns.path[:-1]].below.append(one)
    above = [(None if not one.columns.path else by_path[one.columns.path[:-1]]) for one in made]
    for at, table in enumerate(tables):
        here = [(one, over) for one, over in zip(made, above, strict=True) if one.columns.table == at]
        for number, texts in enumerate(_rows(table), start=1):
            try:
                _take(texts, here)
            except KeyError:
                raise DocumentError.of("readings-differ", table.path, what=f"the key of record {number}") from None
    with path.open("w", encoding="utf-8", newline="\n") as file:
        before, after = twin_frame(names)
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>{before}\n')
        for number in range(len(made[0].heads)):
            _put(file, made[0], number)
        file.write(f"{after}\n")


def _rows(table: Source) -> Iterator[_Texts]:
    """Yield the cells of each row of a table, attributes with their ``@``."""
    with table.in_own_places(), closing(iter_records(table.document_path, table.layout)) as records:
        for record in records:
            attributes = {"@" + str(name): str(text) for name, text in record.attrib.items()}
            yield attributes | {str(cell.tag): cell.text or "" for cell in record}


def _take(texts: _Texts, levels: Sequence[tuple[_Level, _Level | None]]) -> None:
    """Take the records of a row: one of each level of its table."""
    number = -1
    for level, over in levels:
        one, above = level.columns, number
        if over is not None and one.parent_key:
            above = over.numbers[-1, tuple(texts[name] for name in one.parent_key)]
        known = len(level.heads)
        number = level.add(texts, above)
        if over is not None and number == known:
            over.members[above].append(len(over.below) * number + over.below.index(level))


def _put(file: TextIO, level: _Level, number: int) -> None:
    file.write(level.heads[number])
    kinds = len(level.below)
    for kind, inner in enumerate(level.below):
        for place in level.members[number]:
            if place % kinds == kind:
                file.write("\n")
                _put(file, inner, place // kinds)
    file.write(f"</{level.tag}>" + ("" if level.columns.path else "\n"))


def _head(tag: str, own: Collection[str], texts: _Texts) -> str:
    attributes = "".join(
        f" {name[1:]}={quoteattr(text, _IN_ATTRIBUTES)}"
        for name, text in texts.items()
        if name in own and name.startswith("@")
    )
    inner = "".join(
        f"<{name}>{escape(text, _BREAKS)}</{name}>"
        for name, text in texts.items()
        if name in own and not name.startswith("@")
    )
    return f"<{tag}{attributes}>{inner}"


class JoinedSource(TwinSource):
    """Nested records in tables: several that keys join, or one with a number of the unit on every row.

    Rules and engines see the document in which the records of each level stand in those above them, made of what a
    second reader of each table has. The tree of levels is that of this document, and it is compared cell by cell with
    what the first readers have.

    Parameters
    ----------
    levels : mapping of str to LevelSetting
    tables : sequence of Source
        That of the data, then those of the levels that have one, in their order.
    identifiers : collection of str
        Fields that tables may lack where they are the key of a level and join nothing.
    contexts : ContextNames
        Of the rules: they say what stands around the records.
    progress : callable, optional
        Told of what takes long.
    """

    def __init__(
        self,
        levels: LevelSettings,
        tables: Sequence[Source],
        *,
        identifiers: Collection[str] = (),
        contexts: ContextNames = NO_CONTEXTS,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(tables[0].path)
        self.levels, self.tables = levels, tuple(tables)
        self._identifiers, self._contexts, self._progress = identifiers, contexts, progress
        self._places: Mapping[str, Path] = {}

    @property
    def others(self) -> dict[str, Source]:
        """The tables beside that of the data, by the names of their levels."""
        own = [name for name, one in self.levels.items() if one.data is not None]
        return dict(zip(own, self.tables[1:], strict=True))

    @cached_property
    def columns(self) -> tuple[LevelColumns, ...]:
        """The columns of each level."""
        return columns_of_levels(self.levels, self.tables, self._identifiers)

    @property
    def joining(self) -> dict[str, str]:
        """The fields that join rows of tables, by the names that settings have for them, each with its level."""
        own = {(one.path, name): one.setting.name for one in self.columns if one.joins for name in one.key}
        names = {} if self.tree is None else self.tree.names
        return {name: own[path, f.name] for name, (path, f) in names.items() if (path, f.name) in own}

    @cached_property
    def _read(self) -> tuple[Dataset, ...]:
        return tuple(table.records() for table in self.tables)

    @cached_property
    def rows(self) -> Mapping[LevelPath, LevelRows]:
        """The records of each level as rows of the tables.

        Raises
        ------
        DocumentError, UsageError
            Keys do not join the tables.
        """
        return joined(self.columns, self._read)

    @cached_property
    def _names(self) -> TwinNames:
        fields = {name for one in self.columns for name in one.fields or ()}
        inner = {one.setting.name for one in self.columns if one.path}
        return twin_names({*fields, *inner}, next(iter(self.levels)), self._contexts)

    @cached_property
    def _twin(self) -> XmlSource:
        """The nested document, which says the same as the tables."""
        rows = self.rows
        write_nested_document(self._twin_path, self.columns, self.tables, self._names)
        record = self._names.clark(self._names.record)
        found = XmlSource(self._twin_path, record=record, progress=self._progress)
        with self.in_own_places():
            tree = found.tree
        there = {} if tree is None else dict(tree.levels())
        if lacking := [one.setting for one in self.columns[1:] if one.path not in there]:
            raise DocumentError.of(
                "level-without-records",
                self.path,
                level=lacking[0].name,
                parent=lacking[0].parent or self.columns[0].setting.name,
            )
        _require_same(read_levels(self._twin_path, _tree_of(found)), rows, self._read, self.tables)
        return found

    @cached_property
    def level_variables(self) -> Mapping[tuple[LevelPath, str], Variable]:
        """What the tables say of the fields of each level, by path and name; only a unit has a weight."""
        found: dict[tuple[LevelPath, str], Variable] = {}
        for one in self.columns:
            own = {variable.name: variable for variable in self.tables[one.table].variables}
            for name in one.fields or ():
                found[one.path, name] = replace(own[name], weight=own[name].weight and one.path == TOP)
        return found

    @property
    def size(self) -> int:
        """Bytes of all tables."""
        return sum(table.size for table in self.tables)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file; of several tables, that of a line for each: the name of its level, and its SHA-256."""
        if len(self.tables) == 1:
            return self.tables[0].digest
        names = (next(iter(self.levels)), *self.others)
        lines = (f"{name} {table.digest}\n" for name, table in zip(names, self.tables, strict=True))
        return sha256("".join(lines).encode()).hexdigest()

    @property
    def part(self) -> tuple[str, ...]:
        """What the options say of the tables that are read."""
        return tuple(said for table in self.tables for said in table.part)

    @property
    def tree(self) -> Tree | None:
        """The levels."""
        return self._twin.tree

    @property
    def reading_options(self) -> Mapping[str, str]:
        """How the tables are written, where all are written alike, but for what separates cells, which is found."""
        first, *others = (one.reading_options for one in self.tables)
        alike = {name: own for name, own in first.items() if all(one.get(name) == own for one in others)}
        return alike if all({*one} - {*alike} <= {"delimiter"} for one in (first, *others)) else {}

    @property
    def notes(self) -> tuple[Sentence, ...]:
        """What there is to know of each table."""
        return tuple(dict.fromkeys(note for table in self.tables for note in table.notes))

    def estimate(self) -> int:
        """Return the number of units."""
        return len(self.rows[TOP].rows)

    def require_readable(self) -> None:
        """Refuse a table that is not there, or is of another format."""
        for table in self.tables:
            table.require_readable()

    def read(self, asked: Reading) -> Dataset:
        """Refuse: records that hold others are no rows of single values."""
        with self.in_own_places():
            return self._twin.read(asked)

    def level_records(
        self, *, missing: Mapping[str, frozenset[str]] = MappingProxyType({}), told: Told = untold
    ) -> Dataset:
        """Return the records of all levels, as the first readers of the tables have them."""
        tree = _tree_of(self._twin)
        codes: list[dict[str, frozenset[str]]] = [{"*": missing["*"]} if "*" in missing else {} for _ in self.tables]
        for name, (path, own) in tree.names.items():
            if name in missing:
                codes[self.rows[path].columns.table][own.name] = missing[name]
        read = (
            [table.records(missing=one) for table, one in zip(self.tables, codes, strict=True)]
            if missing
            else self._read
        )
        levels = {path: self._level(path, tree, read) for path, _ in tree.levels()}
        told(tree.top.count, tree.top.count)
        return Dataset(self.path, tree, MappingProxyType(levels))

    def _level(self, path: LevelPath, tree: Tree, read: Sequence[Dataset]) -> DataLevel:
        own, level = self.rows[path], tree.level(path)
        records = read[own.columns.table]
        columns = {f.name: records.columns[f.name].taken(own.rows) for f in level.fields}
        return DataLevel(level, columns, records.lines[own.rows], own.parent)

    def place(self, record: int, line: int, column: int) -> tuple[int, int]:
        """Return the line or row of the record that an engine means; of one in another table, that of its unit."""
        del column
        if record < 0:
            return 0, 0
        main = self._read[0].lines
        for path, own in self.rows.items():
            lines = self._twin_lines[path]
            at = int(np.searchsorted(lines, line))
            if own.columns.table == 0 and at < len(lines) and lines[at] == line:
                return int(main[own.rows[at]]), 0
        return int(main[self.rows[TOP].rows[record]]), 0

    @cached_property
    def _twin_lines(self) -> dict[LevelPath, NDArray[np.int64]]:
        found = read_levels(self._twin.path, _tree_of(self._twin))
        return {path: level.lines for path, level in found.levels.items()}

    def rewrite(self, target: Path, changes: Changes) -> int:
        """Write the tables with new values in fields of the top level."""
        return self.rewrite_levels(target, changes)

    def rewrite_levels(self, target: Path, changes: Changes) -> int:
        """Write the tables again; see `write_joined`."""
        units = self.estimate()
        release = JoinedRelease(
            changes.replacements,
            changes.removed,
            np.ones(units, dtype=np.bool_) if changes.keep is None else changes.keep,
            np.arange(units, dtype=np.intp) if changes.order is None else changes.order,
        )
        targets = (target, *self._targets(target).values())
        written = write_joined(self.rows, self.tables, targets, release)
        changes.told(units, units)
        return written

    def _targets(self, target: Path) -> dict[str, Path]:
        """Return where the tables beside that of the data are written, by level."""
        return {
            name: self._places.get(name) or table_beside(target, name, table.path)
            for name, table in self.others.items()
        }

    def releasing(self, places: Mapping[str, Path], removed: Mapping[LevelPath, Collection[str]]) -> Self:
        """Return who writes the tables to some places, and reads them back.

        Parameters
        ----------
        places : mapping of str to Path
            By level, where a table beside that of the data is written; beside the target where there is none.
        removed : mapping of tuple of str to collection of str
            Fields that are not released: those that join tables become numbers of the release.
        """
        found = copy(self)
        found._places = dict(places)
        found.levels = _levels_without(self.columns, removed)
        return found

    def treated_levels(
        self,
        dataset: Dataset,
        names: Mapping[LevelPath, Collection[str]],
        keep: NDArray[np.bool_],
        folder: Path,
        told: Told = untold,
    ) -> Self:
        """Return tables with other values in some fields; they are in memory, and no file has them."""
        new = {path: {name: dataset.levels[path].columns[name] for name in own} for path, own in names.items()}
        _refuse_new_keys(self.rows, new)
        tables = []
        for at, (table, read) in enumerate(zip(self.tables, self._read, strict=True)):
            seated = {path: own for path, own in self.rows.items() if own.columns.table == at}
            deepest = list(seated)[-1]
            cells = {
                name: column.taken(own.record_of)
                for path, own in seated.items()
                for name, column in new.get(path, {}).items()
            }
            kept = keep[units_of(self.rows, deepest)[seated[deepest].record_of]]
            tables.append(table.treated(read.with_columns(cells), cells.keys(), kept, folder, told))
        return type(self)(self.levels, tables, contexts=self._contexts, progress=self._progress)

    def alike(self, path: Path) -> Self:
        """Return other tables with the same levels."""
        targets = (path, *self._targets(path).values())
        tables = [table.alike(target) for table, target in zip(self.tables, targets, strict=True)]
        return type(self)(self.levels, tables, contexts=self._contexts, progress=self._progress)

    @property
    def respells_numbers(self) -> bool:
        """Whether one of the tables does."""
        return any(table.respells_numbers for table in self.tables)

    def has_layout_of(self, original: Source, removed: Collection[str]) -> bool:
        """Whether records and fields of the top level are those that the original releases."""
        return self.layout.record_path == original.layout.record_path and self.has_fields_of(original, removed)


def _levels_without(columns: Sequence[LevelColumns], removed: Mapping[LevelPath, Collection[str]]) -> LevelSettings:
    """Return the levels of a release; columns have the names that rules have for them."""
    named = {
        one.setting.name: replace(
            one.setting, key=one.key, parent_key=one.parent_key, fields=one.fields if one.grouped else None
        )
        for one in columns
    }
    return released_levels(named, {one.setting.name: removed.get(one.path, ()) for one in columns})


def _tree_of(twin: XmlSource) -> Tree:
    if twin.tree is None:
        raise ValueError(f"{twin.path} is no nested file")
    return twin.tree


def _require_same(
    document: Dataset, rows: Mapping[LevelPath, LevelRows], read: Sequence[Dataset], tables: Sequence[Source]
) -> None:
    """Refuse tables of which the nested document says something else than their first readers.

    Raises
    ------
    DocumentError
    """
    for path, table in document.levels.items():
        own = rows[path]
        first = read[own.columns.table]
        same = np.array_equal(table.parent, own.parent) and all(
            bool(column.same_texts(first.columns[name].taken(own.rows)).all())
            for name, column in table.columns.items()
        )
        there = {name for name in own.fields if name in first.columns}
        if not same or there != set(table.columns):
            raise DocumentError.of(
                "readings-differ", tables[own.columns.table].path, what=f"the records of {own.columns.setting.name}"
            )
