"""A nested file of which the records of one level stand alone, each with the fields of the records around it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from masktron.sources.column import Column, ColumnForm
from masktron.sources.dataset import Dataset
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.level_tree import LevelPath, Tree
from masktron.sources.record_layout import Field, Layout, Shape
from masktron.sources.source import Reading, Source
from masktron.sources.variables import Variable
from masktron.sources.wide.wide_record import UnitField, UnitPlace, WideRecord
from masktron.sources.wide.wide_source import WideSource


def level_record(tree: Tree, path: LevelPath) -> WideRecord:
    """Return the record of one level with the fields around it, and with no member within it or beside it.

    A field has the name that it has in the tree; one that is called by its level has a dot in the place of the slash.
    """
    above: UnitPlace | None = None
    unit: UnitPlace | None = None
    fields: list[Field] = []
    for depth in range(len(path) + 1):
        at = path[:depth]
        level = tree.level(at)
        kinds = tuple((kind, 0) for kind in at)
        place = UnitPlace(level, ".".join(at), kinds, above, (0,) * depth)
        place.hidden.update(child.tag for child in level.children)
        for number, own in enumerate(level.fields):
            name = leaf_name(tree, at, own)
            place.leaves.append(UnitField(place, own, name, (*place.order, 0 if own.attribute else 1, number)))
            fields.append(Field(name, name.removeprefix("@"), attribute=own.attribute))
        if above is None:
            unit = place
        else:
            above.members.extend((place,) if child.name == level.name else () for child in above.level.children)
        above = place
    if unit is None or above is None:
        raise ValueError("a path has a level")
    above.members.extend(() for _ in above.level.children)
    record_path = tuple(tag.rpartition("}")[2] for tag in tree.layout.record_path)
    fields.sort(key=lambda one: not one.attribute)
    return WideRecord(unit, Layout(record_path, tuple(fields), encoding=tree.layout.encoding))


def leaf_name(tree: Tree, path: LevelPath, own: Field) -> str:
    """Return what a field is called in the records of its level, and in those within."""
    name = tree.name_of[path, own]
    if "/" not in name:
        return name
    level = path[-1] if path else tree.top.name
    return f"{'@' if own.attribute else ''}{level}.{own.name.removeprefix('@')}"


class LevelSource(WideSource):
    """The records of one level as those of a flat file, in memory; what is written is the nested file.

    Parameters
    ----------
    nested : Source
        With a `tree`.
    level : tuple of str
        Path of the level.
    dataset : Dataset
        The records of all levels, as they have become.
    """

    def __init__(self, nested: Source, level: LevelPath, dataset: Dataset) -> None:
        super().__init__(nested, level_record(dataset.tree, level))
        self.level, self.dataset = level, dataset

    @property
    def record_level(self) -> LevelPath:
        """Path of the level of which each record is one."""
        return self.level

    @property
    def layout(self) -> Layout:
        """Of the records of the level."""
        return self.wide.layout

    @property
    def shape(self) -> Shape:
        """Each record is a row of single values."""
        return Shape(flat=True)

    @property
    def document_path(self) -> Path:
        """That of the nested file: no rule on records of one level reads another document."""
        return self.nested.document_path

    def read(self, asked: Reading) -> Dataset:
        """Return the records, which are in memory."""
        del asked
        return level_records(self.dataset, self.level)

    def recoded(self, name: str, form: ColumnForm) -> Variable:
        """Return what the table of the level would say of a field whose values were recoded."""
        table = self._table
        if table is None:
            return super().recoded(name, form)
        return table.recoded(self._own_name(name), form)

    def class_values(self, name: str, labels: Sequence[str], taken: Collection[str]) -> tuple[str, ...]:
        """Return what the table of the level has for classes."""
        table = self._table
        if table is None:
            return super().class_values(name, labels, taken)
        return table.class_values(self._own_name(name), labels, taken)

    @property
    def _table(self) -> Source | None:
        """The table in which the records of the level stand."""
        if not isinstance(self.nested, JoinedSource):
            return None
        return self.nested.tables[self.nested.rows[self.level].columns.table]

    def _own_name(self, name: str) -> str:
        fields = self.levels.level(self.level).fields
        return next(own.name for own in fields if leaf_name(self.levels, self.level, own) == name)


def level_records(dataset: Dataset, path: LevelPath) -> Dataset:
    """Return the records of a level, with the fields of those around them, as the records of a flat file."""
    record = level_record(dataset.tree, path)
    columns: dict[str, Column] = {}
    rows = np.arange(len(dataset.levels[path]), dtype=np.intp)
    for place in reversed(record.places):
        table = dataset.levels[place.level_path]
        for leaf in place.leaves:
            column = table.columns[leaf.field.name].taken(rows)
            columns[leaf.name] = replace(column, variable=replace(column.variable, name=leaf.name))
        rows = table.parent[rows] if place.level_path else rows
    ordered = {one.name: columns[one.name] for one in record.layout.fields}
    return Dataset.flat(dataset.path, record.layout, ordered, dataset.levels[path].lines)
