"""Microdata in XML, as a `Source`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from lxml import etree

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Field as FieldName
from masktron.problems.problem import Known, Place
from masktron.progress import Progress, Told, untold
from masktron.sources.array_stores import FolderStore
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import TOP, Level, LevelPath, Tree
from masktron.sources.record_layout import AsDocument, Field, Layout, Shape, Vocabulary
from masktron.sources.source import Changes, EngineDocument, Reading, Source
from masktron.sources.xml.layout import confirm_tree, vocabulary
from masktron.sources.xml.microdata import iter_records, read_records
from masktron.sources.xml.nested import read_levels
from masktron.sources.xml.nested_units import NestedUnits
from masktron.sources.xml.new_texts import check_replacements
from masktron.sources.xml.outline import Spacing, left_out, namespaces_of, outline_notes, plain_space
from masktron.sources.xml.parser import HEAD, opened, sniff
from masktron.sources.xml.plain import PlainRecords, Surveyed, survey_file
from masktron.sources.xml.wellformed import WellFormedness
from masktron.sources.xml.writer import check_choice, write_masked, write_parsed


@dataclass(slots=True)
class LevelEdits:
    """What is done to the records of one level.

    Attributes
    ----------
    level : Level
    replacements : mapping of str to Column
    removed : collection of str
    inner, closing : str
        White space before each child of a record, and behind the last.
    below : mapping of str to LevelEdits
        By the tags of the records within.
    done : int
        Records that were made anew: they come in the order of the file.
    """

    level: Level
    replacements: Mapping[str, Column]
    removed: Collection[str]
    inner: str
    closing: str
    below: dict[str, LevelEdits] = field(default_factory=dict)
    done: int = 0
    _ranks: dict[str, int] = field(init=False, default_factory=dict)
    _plain: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._ranks.update({f.tag: rank for rank, f in enumerate(self.level.fields) if not f.attribute})
        # another prefix for the same name may stand in each record, until the element is made anew
        self._plain = not any(tag.startswith("{") for tag in self._ranks)

    def apply(self, record: etree._Element) -> None:
        """Make the next record anew, with those in it: children in their order, attributes in that of the level.

        A field that was not there comes before the first of the record that comes later, or else behind its last.
        """
        row, self.done = self.done, self.done + 1
        children = list(record)
        given = {tag: child for child in children if (tag := str(child.tag)) in self._ranks}
        attributes = {str(tag): str(value) for tag, value in record.attrib.items()}
        record.attrib.clear()
        texts: dict[str, str] = {}
        for f in self.level.fields:
            before = attributes.get(f.tag) if f.attribute else _text_of(given.get(f.tag))
            lexeme = self._lexeme(f, row, before)
            if f.attribute and lexeme is not None:
                record.set(f.tag, lexeme)
            elif lexeme is not None:
                texts[f.tag] = lexeme
        if self._plain and texts.keys() == given.keys():
            self._set(record, children, texts)
            return
        order = [child if child.tag in self.below else str(child.tag) for child in children]
        for tag in texts:
            if tag not in given:
                order.insert(self._place_of(tag, order), tag)
        del record[:]
        self._fill(record, [one for one in order if not isinstance(one, str) or one in texts], texts)

    def _set(self, record: etree._Element, children: Sequence[etree._Element], texts: Mapping[str, str]) -> None:
        """Set the texts of a record that keeps its elements, which are not made anew: most records are such."""
        for child in children:
            text = texts.get(tag := str(child.tag))
            if text is None:
                self.below[tag].apply(child)
            else:
                child.text = text or None
            child.tail = self.inner
        record.text = self.inner if children else None
        if children:
            record[-1].tail = self.closing

    def _place_of(self, tag: str, order: Sequence[str | etree._Element]) -> int:
        ranks = [(at, self._ranks[one]) for at, one in enumerate(order) if isinstance(one, str)]
        later = [at for at, rank in ranks if rank > self._ranks[tag]]
        return later[0] if later else ranks[-1][0] + 1 if ranks else 0

    def _fill(
        self, record: etree._Element, children: Sequence[str | etree._Element], texts: Mapping[str, str]
    ) -> None:
        for one in children:
            if isinstance(one, str):
                element = etree.SubElement(record, one)
                element.text = texts[one] or None
            else:
                element = one
                self.below[str(one.tag)].apply(one)
                record.append(one)
            element.tail = self.inner
        record.text = self.inner if children else None
        if children:
            record[-1].tail = self.closing

    def _lexeme(self, f: Field, row: int, given: str | None) -> str | None:
        new = self.replacements.get(f.name)
        if new is None:
            return None if f.name in self.removed else given
        return new.lexeme(row)


def _text_of(element: etree._Element | None) -> str | None:
    return None if element is None else element.text or ""


@dataclass(frozen=True, slots=True)
class NestedEdits:
    """What is done to each unit, as `masktron.sources.xml.edits.Edits` does it to flat records.

    Attributes
    ----------
    layout : Layout
        With the names of all levels, as the released root declares their namespaces.
    spacing : Spacing
        Of the top level.
    levels : mapping of tuple of str to LevelEdits
    """

    layout: Layout
    spacing: Spacing
    levels: Mapping[LevelPath, LevelEdits]

    def apply(self, record: etree._Element, i: int) -> None:
        """Make anew the unit with position i, which follows the one before."""
        if i != self.levels[TOP].done:
            raise ValueError("units are made anew in the order of the file")
        etree.strip_tags(record, etree.Comment, etree.ProcessingInstruction)
        self.levels[TOP].apply(record)


def nested_edits(
    source: Path,
    tree: Tree,
    replacements: Mapping[LevelPath, Mapping[str, Column]],
    removed: Mapping[LevelPath, Collection[str]],
) -> NestedEdits:
    """Prepare what is done to the units of a file.

    Raises
    ------
    DocumentError
        The file cannot be read.
    """
    spaces, between = _spaces_of(source, tree)
    levels: dict[LevelPath, LevelEdits] = {}
    for path, level in tree.levels():
        levels[path] = LevelEdits(level, replacements.get(path, {}), removed.get(path, ()), *spaces[path])
        if path:
            levels[path[:-1]].below[level.tag] = levels[path]
    return NestedEdits(tree.outline, Spacing(*spaces[TOP], between), levels)


type _Spaces = dict[LevelPath, tuple[str, str]]


def _spaces_of(source: Path, tree: Tree) -> tuple[_Spaces, str]:
    """Take the space in records from the first of a level that holds an element, and that behind the first unit."""
    found: _Spaces = {}
    wanted = {path for path, level in tree.levels() if level.children or any(not f.attribute for f in level.fields)}
    between: str | None = None
    with closing(iter_records(source, tree.layout)) as records:
        for record in records:
            between = between if between is not None else record.tail or ""
            etree.strip_tags(record, etree.Comment, etree.ProcessingInstruction)
            _look(record, TOP, tree, found)
            if wanted <= found.keys():
                break
    return {path: found.get(path, ("", "")) for path, _ in tree.levels()}, plain_space(between or "")


def _look(record: etree._Element, path: LevelPath, tree: Tree, found: _Spaces) -> None:
    if len(record) and path not in found:
        found[path] = (plain_space(record.text or ""), plain_space(record[-1].tail or ""))
    names = {child.tag: child.name for child in tree.level(path).children}
    for child in record:
        if (name := names.get(str(child.tag))) is not None:
            _look(child, (*path, name), tree, found)


def write_nested(source: Path, target: Path, tree: Tree, changes: Changes) -> int:
    """Write a copy of a nested file with new lexemes in some fields of some levels.

    Which records stand in which, their order within the unit, and that of fields and records in a record stay. All
    else is as `masktron.sources.xml.writer.write_masked` has it: white space is that of the first record of each
    level that holds an element, comments and instructions are left out, CDATA sections and references become text.

    Parameters
    ----------
    source : Path
    target : Path
        Written directly: give it a path from `masktron.write.atomic.atomic_path`.
    tree : Tree
        Of the source.
    changes : Changes
        Of units, which are written with all that is in them. A value where there was none is inserted.

    Returns
    -------
    int
        Number of units written.

    Raises
    ------
    DocumentError
        The source cannot be parsed or has changed, or a lexeme has characters that XML forbids.
    UsageError
        An unknown level or field, or an array that does not have one entry for each record.
    """
    confirm_tree(source, tree)
    units = tree.top.count
    _check_names(tree, changes.replacements, changes.removed)
    check_choice(units, changes.keep, changes.order)
    _check_texts(tree, changes.replacements)
    kept = np.ones(units, dtype=np.bool_) if changes.keep is None else changes.keep
    edits = nested_edits(source, tree, changes.replacements, changes.removed)
    write_parsed(source, target, edits, kept, changes.order, changes.told)
    _check_all_written(source, edits)
    changes.told(units, units)
    return int(kept.sum())


def _check_names(
    tree: Tree,
    replacements: Mapping[LevelPath, Mapping[str, Column]],
    removed: Mapping[LevelPath, Collection[str]],
) -> None:
    known = dict(tree.levels())
    for path in (*replacements, *removed):
        if path not in known:
            names, asked = tuple(map(tree.shown, known)), "/".join(path)
            raise UsageError.of("unknown-name", kind="level", name=asked, known=Known(asked, names))
    for path, level in known.items():
        new, gone = replacements.get(path, {}), removed.get(path, ())
        for name in (*new, *gone):
            if level.field(name) is None:
                own = tuple(f.name for f in level.fields)
                raise UsageError.of("unknown-name", name=FieldName(name), known=Known(name, own), kind="field")
        for name in new:
            if name in gone:
                raise UsageError.of(
                    "bad-arrays", Place(field=FieldName(name)), detail="it is both replaced and removed"
                )


def _check_texts(tree: Tree, replacements: Mapping[LevelPath, Mapping[str, Column]]) -> None:
    for path, level in tree.levels():
        layout = tree.layout_of(path)
        shown = {f.name: "/".join((*path, f.name)) for f in level.fields}
        named = replace(layout, fields=tuple(replace(f, name=shown[f.name]) for f in level.fields))
        new = {shown[name]: coded for name, coded in replacements.get(path, {}).items()}
        check_replacements(named, new, level.count)


def _check_all_written(source: Path, edits: NestedEdits) -> None:
    """Refuse a file that has become another one since it was looked at.

    Raises
    ------
    DocumentError
    """
    for one in edits.levels.values():
        if one.done != one.level.count:
            raise DocumentError.of("file-changed", source)


_BLOCK = 1 << 20
"""Characters that are looked through at a time."""
_LONGEST = 10_000
"""Characters of a name, with its prefix: more of what may be a tag that goes on is not kept."""


class XmlSource(Source):
    """A file in XML, which engines read as it is.

    Parameters
    ----------
    path : Path
    record : str, optional
        The record element, by local or Clark name.
    hints : collection of str
        Local names of elements that rules have as contexts.
    progress : callable, optional
        Told of what takes long in the survey.
    judge : WellFormedness, optional
        Of this file, where libxml2 has begun to read it.
    document : {"never", "otherwise", "always"}
        Whether it is judged as one document.
    """

    def __init__(
        self,
        path: Path,
        *,
        record: str | None = None,
        hints: Collection[str] = (),
        progress: Progress | None = None,
        judge: WellFormedness | None = None,
        document: AsDocument = "never",
    ) -> None:
        super().__init__(path)
        self._record, self._hints, self._progress, self._judge = record, hints, progress, judge
        self._document = document

    @cached_property
    def _surveyed(self) -> Surveyed:
        return survey_file(
            self.path,
            record=self._record,
            hints=self._hints,
            progress=self._progress,
            judge=self._judge,
            document=self._document,
        )

    @property
    def layout(self) -> Layout:
        """Where records and fields stand."""
        return self._surveyed.layout

    @property
    def shape(self) -> Shape:
        """Whether the file is a plain table."""
        return self._surveyed.shape

    @property
    def tree(self) -> Tree | None:
        """The levels of a file whose records hold other records; None where they do not, or are no tree."""
        return self._surveyed.tree

    @property
    def count(self) -> int | None:
        """Number of records of a file that the reader of columns reads."""
        plain = self._surveyed.plain
        return None if plain is None else plain.records

    def estimate(self) -> int:
        """Count what looks like the start tag of a record."""
        return _start_tags(self.path, self.layout.record_tag.rpartition("}")[2])

    def vocabulary(self) -> Vocabulary:
        """Return every name of the file with its place; files that are neither flat nor a tree are read once more."""
        return vocabulary(self.path, self.layout, self.shape, self.tree)

    def require_readable(self) -> None:
        """Refuse a file that is not there, or is no XML by its first bytes."""
        with opened(self.path):
            pass

    def read(self, asked: Reading) -> Dataset:
        """Read the records as columns; for a few fields only, by the parser alone."""
        plain = self._surveyed.plain if asked.only is None else None
        store = None if asked.storage is None else FolderStore(asked.storage)
        options: dict[str, Any] = {"missing": asked.missing, "told": asked.told, "only": asked.only}
        return read_records(self.path, self.layout, plain=plain, store=store, **options)

    def level_records(
        self, *, missing: Mapping[str, frozenset[str]] = MappingProxyType({}), told: Told = untold
    ) -> Dataset:
        """Read the records of all levels; see `masktron.sources.xml.nested.read_levels`."""
        if self.tree is None:
            return super().level_records(missing=missing, told=told)
        return read_levels(self.path, self.tree, missing=missing, nested=self._surveyed.nested, told=told)

    @property
    def document_path(self) -> Path:
        """The file itself."""
        return self.path

    @property
    def document(self) -> EngineDocument:
        """The file itself."""
        found, path = self._surveyed, self.path
        flat = None if found.plain is None else PlainRecords(path, found.layout, found.plain)
        known, nested = found.tree, found.nested
        units = None if known is None or nested is None else NestedUnits(path, known, nested)
        return EngineDocument(path, found.layout, flat, nested=units)

    def rewrite(self, target: Path, changes: Changes) -> int:
        """Write a file like this one; see `masktron.sources.xml.writer.write_masked`."""
        return write_masked(
            self.path,
            target,
            self.layout,
            changes.replacements[TOP],
            removed=changes.removed[TOP],
            keep=changes.keep,
            order=changes.order,
            plain=self._surveyed.plain,
            told=changes.told,
        )

    def rewrite_levels(self, target: Path, changes: Changes) -> int:
        """Write a nested file like this one; see `masktron.sources.xml.xml_source.write_nested`."""
        if self.tree is None:
            return super().rewrite_levels(target, changes)
        return write_nested(self.path, target, self.tree, changes)

    def alike(self, path: Path) -> Self:
        """Return another file in XML with records of the same name."""
        return type(self)(path, record=self.layout.record_tag, progress=self._progress)

    def has_layout_of(self, original: Source, removed: Collection[str]) -> bool:
        """Whether path of the records, encoding, attributes and namespaces of the root are those released."""
        own, other = self.layout, original.layout
        around = (own.record_path, own.encoding, dict(own.root_attributes), dict(own.nsmap))
        released = (other.record_path, other.encoding, dict(other.root_attributes), namespaces_of(other))
        return around == released and self.shape.flat and self.has_fields_of(original, removed)

    def left_out(self) -> dict[str, int]:
        """Count comments, instructions, declarations and attributes around the records, which `write` drops."""
        tree = self.tree
        return left_out(self.path, self.layout if tree is None else tree.outline, self._surveyed.plain)

    def outline_notes(self, counts: Mapping[str, int]) -> tuple[str, ...]:
        """Say what was left out, and which attributes of the root were not."""
        return tuple(outline_notes(self.layout, counts))


def _start_tags(path: Path, name: str) -> int:
    """Count what looks like a start tag of this name, in blocks: enough for an estimate."""
    tag = re.compile(rf"<(?:[^\s<>/:!?]+:)?{re.escape(name)}(?=[\s/>])")
    count, rest = 0, ""
    with path.open("rb") as head:
        codec = sniff(head.read(HEAD), str(path), DocumentError).codec
    with path.open(encoding=codec, errors="replace") as file:
        while block := file.read(_BLOCK):
            rest += block
            if (last := rest.rfind("<")) < 0:
                rest = ""
                continue
            # the last tag may go on in the next block
            count += sum(1 for _ in tag.finditer(rest, 0, last))
            rest = rest[last : last + _LONGEST]
    return count + sum(1 for _ in tag.finditer(rest))
