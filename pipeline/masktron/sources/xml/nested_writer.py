"""A nested file again, with new values in some fields of some levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.progress import Told, untold
from masktron.sources.level_tables import LevelTables
from masktron.sources.level_tree import TOP, Level, LevelPath, Tree
from masktron.sources.records import Coded, Field, Layout
from masktron.sources.xml.microdata import iter_records
from masktron.sources.xml.new_texts import check_replacements
from masktron.sources.xml.spacing import Spacing, spacing_of
from masktron.sources.xml.writer import is_permutation, write_parsed


def write_nested(
    tables: LevelTables,
    target: Path,
    replacements: Mapping[LevelPath, Mapping[str, Coded]],
    *,
    removed: Mapping[LevelPath, Collection[str]],
    keep: NDArray[np.bool_] | None = None,
    order: NDArray[np.intp] | None = None,
    told: Told = untold,
) -> int:
    """Write a copy of a nested file with new lexemes in some fields, and return the number of its units.

    Which elements stand in which, and in which order, stays; so does all that is said of flat files in
    `masktron.sources.xml.writer.write_masked`. White space within the records of a level is that of the first one.

    Parameters
    ----------
    tables : LevelTables
        Of the file as it is.
    target : Path
    replacements : mapping of tuple of str to mapping of str to Coded
        By level and field, lexemes in the order of the table of the level; None where a record shall not have it.
    removed : mapping of tuple of str to collection of str
        Fields that no record of a level keeps.
    keep : ndarray of bool, shape (units,), optional
    order : ndarray of intp, shape (units,), optional
        Permutation of the units, `keep` applied after it.
    told : callable, optional

    Raises
    ------
    DocumentError
        The file cannot be parsed or has changed, or a lexeme has characters that XML forbids.
    UsageError
        An array does not have one entry for each record.
    """
    tree, n = tables.tree, len(tables.top)
    for path, columns in replacements.items():
        check_replacements(tree.layout_of(path), columns, len(tables.tables[path]))
    for name, array in (("keep", keep), ("order", order)):
        if array is not None and array.shape != (n,):
            raise UsageError(f"{name} has the shape {array.shape}, and the file has {n:,} units")
    if order is not None and not is_permutation(order):
        raise UsageError(f"order is not a permutation of the {n:,} units")
    kept = np.ones(n, dtype=np.bool_) if keep is None else keep
    edits = NestedEdits(
        _whole_layout(tree),
        spacing_of(tables.source, tree.layout),
        tree,
        replacements,
        removed,
        dict(_spacings(tables.source, tree)),
    )
    write_parsed(tables.source, target, edits, kept, order, told)
    told(n, n)
    return int(kept.sum())


def _whole_layout(tree: Tree) -> Layout:
    """Return the layout of the units with the names of all levels, for the namespaces that these need."""
    fields = [f for _, level in tree.levels() for f in level.fields]
    fields += [Field(level.name, level.tag) for path, level in tree.levels() if path != TOP]
    return replace(tree.layout, fields=tuple(fields))


def _spacings(source: Path, tree: Tree) -> Iterator[tuple[LevelPath, Spacing]]:
    """Yield the white space within the first record of each level that holds an element."""
    lacking = {path for path, _ in tree.levels()}
    with closing(iter_records(source, tree.layout)) as records:
        for unit in records:
            if not lacking:
                return
            etree.strip_tags(unit, etree.Comment, etree.ProcessingInstruction)
            for path, element in list(_below(unit, tree.top, TOP)):
                if path in lacking and len(element):
                    lacking.discard(path)
                    yield path, Spacing(_plain(element.text), _plain(element[-1].tail), "")


def _below(element: etree._Element, level: Level, path: LevelPath) -> Iterator[tuple[LevelPath, etree._Element]]:
    yield path, element
    kinds = {child.tag: child for child in level.children}
    for inner in element:
        if (child := kinds.get(str(inner.tag))) is not None:
            yield from _below(inner, child, (*path, child.name))


def _plain(space: str | None) -> str:
    return (space or "").replace("\r", "\n")


@dataclass(slots=True)
class NestedEdits:
    """What is done to each unit, one after the other in the order of the file.

    Attributes
    ----------
    layout : Layout
        Of the units, with the names of all levels.
    spacing : Spacing
        Between units.
    """

    layout: Layout
    spacing: Spacing
    tree: Tree
    replacements: Mapping[LevelPath, Mapping[str, Coded]]
    removed: Mapping[LevelPath, Collection[str]]
    spacings: Mapping[LevelPath, Spacing]
    _rows: Counter[LevelPath] = field(default_factory=Counter)

    def apply(self, record: etree._Element, i: int) -> None:
        """Make a unit anew, with all that is within it; `i` is its position in the file."""
        if i != self._rows[TOP]:
            raise ValueError(f"unit {i} comes after unit {self._rows[TOP] - 1}")
        etree.strip_tags(record, etree.Comment, etree.ProcessingInstruction)
        self._element(record, self.tree.top, TOP)

    def _element(self, element: etree._Element, level: Level, path: LevelPath) -> None:
        row = self._rows[path]
        self._rows[path] += 1
        attributes = {str(tag): str(value) for tag, value in element.attrib.items()}
        element.attrib.clear()
        for own in level.fields:
            if own.attribute and (lexeme := self._lexeme(path, own, row, attributes.get(own.tag))) is not None:
                element.set(own.tag, lexeme)
        inside = list(element)
        del element[:]
        element.text = None
        for inner in self._inside(inside, level, path, row):
            element.append(inner)
        spacing = self.spacings.get(path)
        if len(element) and spacing is not None:
            for inner in element:
                inner.tail = spacing.inner
            element.text, element[-1].tail = spacing.inner, spacing.closing

    def _inside(
        self, given: list[etree._Element], level: Level, path: LevelPath, row: int
    ) -> Iterator[etree._Element]:
        """Yield the fields and the records within a record; a field that was not there comes where others have it."""
        ranks = {own.tag: rank for rank, own in enumerate(level.fields) if not own.attribute}
        kinds = {child.tag: child for child in level.children}
        texts = {str(one.tag): one.text or "" for one in given if one.tag in ranks}
        lexemes = {
            own.tag: self._lexeme(path, own, row, texts.get(own.tag)) for own in level.fields if not own.attribute
        }
        waiting = [tag for tag in ranks if tag not in texts and lexemes[tag] is not None]
        for one in given:
            tag = str(one.tag)
            if (child := kinds.get(tag)) is not None:
                self._element(one, child, (*path, child.name))
            while waiting and ranks[waiting[0]] < ranks.get(tag, len(ranks) + len(level.fields)):
                yield _leaf(first := waiting.pop(0), lexemes[first])
            if child is not None:
                yield one
            elif lexemes[tag] is not None:
                yield _leaf(tag, lexemes[tag])
        for tag in waiting:
            yield _leaf(tag, lexemes[tag])

    def _lexeme(self, path: LevelPath, own: Field, row: int, given: str | None) -> str | None:
        coded = self.replacements.get(path, {}).get(own.name)
        if coded is None:
            return None if own.name in self.removed.get(path, ()) else given
        lexeme: str | None = coded.texts[coded.codes[row]]
        return lexeme


def _leaf(tag: str, text: str | None) -> etree._Element:
    element = etree.Element(tag)
    element.text = text or None
    return element
