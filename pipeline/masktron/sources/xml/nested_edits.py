"""Records with records in them as trees: new values set at every level."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

from masktron.sources.level_tree import TOP, Level, LevelPath, Tree
from masktron.sources.records import Coded, Field, Layout
from masktron.sources.xml.microdata import iter_records
from masktron.sources.xml.spacing import Spacing, plain_space


@dataclass(slots=True)
class LevelEdits:
    """What is done to the records of one level.

    Attributes
    ----------
    level : Level
    replacements : mapping of str to Coded
    removed : collection of str
    inner, closing : str
        White space before each child of a record, and behind the last.
    below : mapping of str to LevelEdits
        By the tags of the records within.
    done : int
        Records that were made anew: they come in the order of the file.
    """

    level: Level
    replacements: Mapping[str, Coded]
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
        coded = self.replacements.get(f.name)
        if coded is None:
            return None if f.name in self.removed else given
        lexeme: str | None = coded.texts[coded.codes[row]]
        return lexeme


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
    replacements: Mapping[LevelPath, Mapping[str, Coded]],
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
