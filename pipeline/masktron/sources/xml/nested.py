"""Nested files as tables: the records of all levels, each with the row of its parent; of small files by expat."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from dataclasses import field as made
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.problems.problem import Place
from masktron.progress import Told, untold
from masktron.sources.column import Column
from masktron.sources.dataset import DataLevel, Dataset
from masktron.sources.level_tree import TOP, Level, LevelPath, Tree
from masktron.sources.lexical import XML_SPACE
from masktron.sources.record_layout import Field
from masktron.sources.variables import Variable
from masktron.sources.xml.blocks import NestedFile
from masktron.sources.xml.microdata import EVERY_FIELD
from masktron.sources.xml.nested_units import iter_units
from masktron.sources.xml.parser import scan
from masktron.sources.xml.table import TableFilling

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import NestedFile


_OFTEN = 1 << 12
"""Units after which a stage is told how far it is."""


def read_levels(
    path: str | Path,
    tree: Tree,
    *,
    missing: Mapping[str, frozenset[str]] = MappingProxyType({}),
    nested: NestedFile | None = None,
    told: Told = untold,
) -> Dataset:
    """Read a nested file into tables, one for each level.

    Parameters
    ----------
    path : str or Path
    tree : Tree
        From `masktron.sources.xml.layout.survey_levels`.
    missing : mapping of str to frozenset of str
        Declared missing codes by the names of ``tree.names``, ``*`` for all fields.
    nested : NestedFile, optional
        What the survey knows of a large file: it is read in batches then, which changes nothing but the time.
    told : callable, optional
        Told of the units read, and of how many there are.

    Raises
    ------
    DocumentError
        The file cannot be parsed, or is not the one that was surveyed.
    """
    path = Path(path)
    everywhere = missing.get(EVERY_FIELD, frozenset())
    codes = {place: missing.get(name, frozenset()) | everywhere for name, place in _places(tree)}
    if nested is not None:
        found = fill_levels(path, tree, nested, codes, told)
        if found is not None:
            return found
    reading = _Reading(path, tree, told)
    scan(path, reading.attach)
    reading.close()
    levels = {at: _table(tree, at, place, codes) for at, place in reading.levels.items()}
    return Dataset(path, tree, MappingProxyType(levels))


def _places(tree: Tree) -> list[tuple[str, tuple[LevelPath, str]]]:
    return [(name, (at, f.name)) for name, (at, f) in tree.names.items()]


@dataclass(slots=True)
class _Texts:
    """The texts of one field, each distinct one once; the first is no text at all."""

    field: Field
    known: dict[str | None, int] = made(default_factory=lambda: {None: 0})
    codes: array[int] = made(default_factory=lambda: array("i"))

    def put(self, text: str) -> bool:
        """Give the latest record its value; tell whether it had none."""
        fresh = not self.codes[-1]
        self.codes[-1] = self.known.setdefault(text, len(self.known))
        return fresh


@dataclass(slots=True)
class _Place:
    """What may stand in one place of the file; names are those of expat.

    An element around the units has one child and nothing else; records have texts.
    """

    children: dict[str, _Place] = made(default_factory=dict)
    leaves: dict[str, _Texts] = made(default_factory=dict)
    attributes: dict[str, _Texts] = made(default_factory=dict)
    above: _Place | None = None
    unit: bool = False
    record: bool = False
    parents: array[int] = made(default_factory=lambda: array("q"))
    lines: array[int] = made(default_factory=lambda: array("q"))
    texts: tuple[_Texts, ...] = ()

    @classmethod
    def of_level(cls, level: Level, above: _Place | None) -> _Place:
        texts = tuple(map(_Texts, level.fields))
        found = cls(above=above, record=True, unit=above is None, texts=texts)
        for one in texts:
            (found.attributes if one.field.attribute else found.leaves)[_expat_name(one.field.tag)] = one
        return found

    def enter(self, line: int) -> None:
        """Begin a record, without any value yet."""
        self.parents.append(len(self.lines) if self.above is None else len(self.above.lines) - 1)
        self.lines.append(line)
        for one in self.texts:
            one.codes.append(0)


class _Reading:
    """Expat handlers that know all places of the file, and refuse what stands elsewhere."""

    def __init__(self, path: Path, tree: Tree, told: Told) -> None:
        self.levels: dict[LevelPath, _Place] = {}
        for at, level in tree.levels():
            place = _Place.of_level(level, self.levels[at[:-1]] if at else None)
            if at:
                self.levels[at[:-1]].children[_expat_name(level.tag)] = place
            self.levels[at] = place
        self._path, self._told, self._units = path, told, tree.top.count
        around = self.levels[TOP]
        for tag in reversed(tree.layout.record_path):
            around = _Place({_expat_name(tag): around})
        self._stack = [around]
        self._leaf: _Texts | None = None
        self._text: list[str] = []

    def attach(self, parser: expat.XMLParserType) -> None:
        """Listen to a parser."""
        self._parser = parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    def close(self) -> None:
        """Take note that the file has ended."""
        units = self.levels[TOP].lines
        self._told(len(units), self._units)
        if len(units) != self._units:
            raise DocumentError.of("file-changed", self._path)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        place = self._stack[-1]
        if self._leaf is not None:
            raise self._changed()
        if (leaf := place.leaves.get(name)) is not None:
            if attributes:
                raise self._changed()
            self._leaf = leaf
            return
        inner = place.children.get(name)
        if inner is None:
            raise self._changed()
        self._stack.append(inner)
        if inner.record:
            self._enter(inner, attributes)

    def _enter(self, place: _Place, attributes: dict[str, str]) -> None:
        if place.unit and len(place.lines) % _OFTEN == 0:
            self._told(len(place.lines), self._units)
        place.enter(self._parser.CurrentLineNumber)
        for name, text in attributes.items():
            texts = place.attributes.get(name)
            if texts is None:
                raise self._changed()
            texts.put(text)

    def _end(self, name: str) -> None:
        if self._leaf is None:
            self._stack.pop()
            return
        if not self._leaf.put("".join(self._text)):
            raise self._changed()
        self._leaf = None
        self._text.clear()

    def _characters(self, text: str) -> None:
        if self._leaf is not None:
            self._text.append(text)
        elif text.strip(XML_SPACE):
            raise self._changed()

    def _changed(self) -> DocumentError:
        return DocumentError.of("file-changed", Place(str(self._path), self._parser.CurrentLineNumber))


def _expat_name(tag: str) -> str:
    return tag.removeprefix("{")


def _table(
    tree: Tree, at: LevelPath, place: _Place, codes: Mapping[tuple[LevelPath, str], frozenset[str]]
) -> DataLevel:
    columns = {
        one.field.name: Column.of_texts(
            Variable.named(one.field.name),
            list(one.known),
            np.array(one.codes, dtype=np.int32),
            codes[at, one.field.name],
        )
        for one in place.texts
    }
    lines = np.array(place.lines, dtype=np.int64)
    return DataLevel(tree.level(at), columns, lines, np.array(place.parents, dtype=np.intp))


def fill_levels(
    path: Path,
    tree: Tree,
    nested: NestedFile,
    codes: Mapping[tuple[LevelPath, str], frozenset[str]],
    told: Told = untold,
) -> Dataset | None:
    """Read a nested file into tables; None where the scanner leaves a unit or a cell to a parser.

    Parameters
    ----------
    path : Path
    tree, nested
        From `masktron.sources.xml.nested_units.survey_nested`.
    codes : mapping of (LevelPath, str) to frozenset of str
        Missing codes of every field, by its level and its own name.
    told : callable, optional
        Told of the units read, and of how many there are.

    Raises
    ------
    DocumentError
        The file cannot be read, or changed since it was surveyed.
    """
    paths = [at for at, _ in tree.levels()]
    if {at for at, _ in nested.names} != {*paths}:
        return None  # some levels stand in units alone that a parser has to see
    fillings = {at: _filling(tree, at, codes) for at in paths}
    parents: dict[LevelPath, list[NDArray[np.intp]]] = {at: [] for at in paths}
    rows = dict.fromkeys(paths, 0)
    with closing(iter_units(path, tree, nested)) as batches:
        for batch in batches:
            if batch.odd.any() or not all(fillings[at].add(batch.table(at)) for at in paths):
                return None
            for at in paths:
                above = batch.first if at == TOP else rows[at[:-1]]
                parents[at].append((batch.levels[at].parent + above).astype(np.intp))
            for at in paths:
                rows[at] += len(batch.levels[at])
            told(rows[TOP], nested.units)
    none = np.zeros(0, dtype=np.intp)
    levels = {
        at: DataLevel(tree.level(at), filling.columns(), filling.lines(), np.concatenate([none, *parents[at]]))
        for at, filling in fillings.items()
    }
    return Dataset(path, tree, MappingProxyType(levels))


def _filling(tree: Tree, at: LevelPath, codes: Mapping[tuple[LevelPath, str], frozenset[str]]) -> TableFilling:
    layout = tree.layout_of(at)
    return TableFilling(layout, {field.name: codes[at, field.name] for field in layout.fields})
