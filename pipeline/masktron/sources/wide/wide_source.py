"""A nested file whose records are its units with all their members."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.problems.problem import Field, Sentence
from masktron.sources.dataset import Dataset
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.source import Changes, Reading, Source
from masktron.sources.twin_source import TwinSource
from masktron.sources.variables import Variable
from masktron.sources.wide.member_rows import FILE_ORDER, MemberOrder, MemberRows, joint_composition
from masktron.sources.wide.wide_record import UnitField, UnitPlace, WideRecord, kind_text
from masktron.sources.xml.xml_source import XmlSource

_AT_ONCE = 5000
"""Units of which the texts are in memory at a time."""
_ATTRIBUTE = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_ELEMENT = {"\r": "&#13;"}


def write_wide(path: Path, members: MemberRows) -> None:
    """Write the wide records of all units of a nested file, in their order, each on a line of its own.

    A field has the text that it has in the nested file; what is not there has no element or attribute.
    """
    *around, record = members.wide.layout.record_path
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("<?xml version='1.0' encoding='UTF-8'?>\n" + "".join(f"<{tag}>" for tag in around) + "\n")
        units = len(members.rows[members.wide.unit.name])
        kinds = members.kind_codes(members.wide.kinds) if members.wide.kind else None
        for first in range(0, units, _AT_ONCE):
            for line in _lines(members, record, kinds, np.arange(first, min(first + _AT_ONCE, units))):
                file.write(line)
        file.write("".join(f"</{tag}>" for tag in reversed(around)) + "\n")


def _lines(
    members: MemberRows, record: str, kinds: NDArray[np.intp] | None, units: NDArray[np.intp]
) -> Iterator[str]:
    tags: list[list[str]] = []
    elements: list[list[str]] = []
    if kinds is not None:
        tags.append([f' {members.wide.kind}="{kind_text(code)}"' for code in kinds[units].tolist()])
    for place in members.wide.places:
        rows = members.rows[place.name][units]
        if place.presence:
            tags.append([f' {place.presence}="1"' if row >= 0 else "" for row in rows.tolist()])
        for leaf in place.leaves:
            (tags if leaf.field.attribute else elements).append(_cells(members, place, leaf, rows))
    for parts in zip(zip(*tags, strict=True), zip(*elements, strict=True), strict=True) if tags and elements else ():
        yield f"<{record}{''.join(parts[0])}>{''.join(parts[1])}</{record}>\n"
    if not (tags and elements):
        for one in zip(*(tags or elements), strict=True):
            yield f"<{record}{''.join(one)}/>\n" if tags else f"<{record}>{''.join(one)}</{record}>\n"


def _cells(members: MemberRows, place: UnitPlace, leaf: UnitField, rows: NDArray[np.intp]) -> list[str]:
    """Return the cells of a field of some members in XML, the empty text where there is none."""
    path = place.level_path
    table = members.dataset.levels.get(path)
    column = None if table is None else table.columns.get(leaf.field.name)
    if column is None:  # a field, or a kind of members, that no unit of this file has
        return [""] * len(rows)
    there = rows >= 0
    codes, which = np.unique(column.codes[rows[there]], return_inverse=True)
    distinct = [_cell(leaf, text) for text in column.lexicon.some(codes.astype(np.intp))]
    found = np.full(len(rows), "", dtype=np.object_)
    found[there] = np.array(distinct, dtype=np.object_)[which]
    return list(found.tolist())


def _cell(leaf: UnitField, text: str | None) -> str:
    if text is None:
        return ""
    name = leaf.name.removeprefix("@")
    if leaf.field.attribute:
        return f' {name}="{escape(text, _ATTRIBUTE)}"'
    return f"<{name}>{escape(text, _ELEMENT)}</{name}>" if text else f"<{name}/>"


MOST_KINDS = 100
"""Compositions up to which rules are written for each; beyond, for all together, with what members there may be."""


class WideSource(TwinSource):
    """A nested file as a flat one: each record is a unit with the fields of all its members, position by position.

    Rules and engines see the flat document of these records. What is written is a nested file like the one that was
    read.

    Parameters
    ----------
    nested : Source
        With a `tree`.
    wide : WideRecord, optional
        That of the file from which this one was written; by default what covers all units of this one.
    member_order : MemberOrder
        In which the members of a unit stand in its record; they are written in the order of the file.
    """

    def __init__(
        self, nested: Source, wide: WideRecord | None = None, member_order: MemberOrder = FILE_ORDER
    ) -> None:
        super().__init__(nested.path)
        if nested.tree is None:
            raise ValueError(f"{nested.path} is no nested file")
        self.nested, self._wide, self.member_order = nested, wide, member_order
        self.levels: Tree = nested.tree

    @property
    def record_level(self) -> LevelPath:
        """Path of the level of which each record is one: that of the units."""
        return TOP

    @property
    def has_members(self) -> bool:
        """Whether a level lies within that of the records: who recognises a member then knows the record."""
        return bool(self.levels.level(self.record_level).children)

    @cached_property
    def dataset(self) -> Dataset:
        """The records of all levels."""
        return self.nested.level_records()

    def in_order(self, member_order: MemberOrder) -> WideSource:
        """Return the same file with members in another order, whose records are not read again."""
        found = WideSource(self.nested, member_order=member_order)
        found.dataset = self.dataset
        return found

    @cached_property
    def wide(self) -> WideRecord:
        """The fields of a record."""
        if self._wide is not None:
            return self._wide
        composition = joint_composition(self.dataset, self.member_order)
        whole = WideRecord.of(self.levels.top, composition, self.levels.layout)
        rows = MemberRows.of(self.dataset, whole, self.member_order)
        kinds = rows.kinds()
        found = whole.only(rows.present())
        return found.of_kinds(kinds) if 1 < len(kinds) <= MOST_KINDS else found

    @cached_property
    def members(self) -> MemberRows:
        """Where the members of units stand."""
        try:
            return MemberRows.of(self.dataset, self.wide, self.member_order)
        except ValueError as problem:
            raise UsageError.of("not-of-one-run", self.path, reason=str(problem)) from problem

    @cached_property
    def _twin(self) -> XmlSource:
        write_wide(self._twin_path, self.members)
        return XmlSource(self._twin_path, record=self.wide.layout.record_tag)

    @property
    def digest(self) -> str:
        """SHA-256 of the nested file."""
        return self.nested.digest

    @property
    def size(self) -> int:
        """Bytes of the nested file."""
        return self.nested.size

    @property
    def part(self) -> tuple[str, ...]:
        """Which tables of the nested file are read."""
        return self.nested.part

    @property
    def own_variables(self) -> tuple[Variable, ...]:
        """What tables say of their columns, of each wide field that comes from one; XML says nothing."""
        known = self.nested.level_variables if isinstance(self.nested, JoinedSource) else {}
        return tuple(
            replace(known[place.level_path, leaf.field.name], name=leaf.name)
            for place in self.wide.places
            for leaf in place.leaves
            if (place.level_path, leaf.field.name) in known and self.layout.field(leaf.name) is not None
        )

    @property
    def reading_options(self) -> Mapping[str, str]:
        """How the nested file is written."""
        return self.nested.reading_options

    @property
    def notes(self) -> tuple[Sentence, ...]:
        """What there is to know of the nested file."""
        return self.nested.notes

    def estimate(self) -> int:
        """Number of units."""
        return len(self.dataset.top)

    def require_readable(self) -> None:
        """Refuse a file that is not there, or is of another format."""
        self.nested.require_readable()

    def read(self, asked: Reading) -> Dataset:
        """Read the wide records as columns, with their lines in the nested file."""
        found = self._twin.read(asked)
        lines = self.dataset.levels[self.record_level].lines
        return Dataset.flat(self.path, found.layout, found.columns, lines)

    def place(self, record: int, line: int, column: int) -> tuple[int, int]:
        """Return where a unit begins in the nested file."""
        del line, column
        return (int(self.dataset.lines[record]), 0) if record >= 0 else (0, 0)

    def rewrite(self, target: Path, changes: Changes) -> int:
        """Write a nested file like this one with new values in some fields of wide records."""
        folded = self.members.folded(dict(changes.replacements[TOP]))
        gone = self._removed(changes.removed[TOP])
        return self.nested.rewrite_levels(target, replace(changes, replacements=folded, removed=gone))

    def releasing(self, nested: JoinedSource, places: Mapping[str, Path], removed: Collection[str]) -> Self:
        """Return who writes tables to some places, given the nested file that this one has the wide records of."""
        found = copy(self)
        found.nested = nested.releasing(places, self._removed(removed))
        return found

    def _removed(self, names: Collection[str]) -> dict[LevelPath, frozenset[str]]:
        """Return the fields that no record of a level keeps, given wide fields.

        Raises
        ------
        UsageError
            Some members would lose a field and others not.
        """
        found: dict[LevelPath, frozenset[str]] = {}
        for (path, own), leaves in self.wide.by_field().items():
            known = {leaf.name for leaf in leaves if self.layout.field(leaf.name) is not None}
            gone = known.intersection(names)
            if gone and gone != known:
                raise UsageError.of("member-roles-differ", self.path, field=Field("/".join((*path, own.name))))
            if gone:
                found[path] = found.get(path, frozenset()) | {own.name}
        return found

    def alike(self, path: Path) -> Self:
        """Return another nested file with the same wide records."""
        return type(self)(self.nested.alike(path), self.wide, self.member_order)

    def has_layout_of(self, original: Source, removed: Collection[str]) -> bool:
        """Whether this file has no other fields than the original releases."""
        return self.shape.flat and self.has_fields_of(original, removed)

    def left_out(self) -> dict[str, int]:
        """Count what a write does not copy."""
        return self.nested.left_out()

    def outline_notes(self, counts: Mapping[str, int]) -> tuple[str, ...]:
        """Say what was left out."""
        return self.nested.outline_notes(counts)


def as_read(source: Source) -> Source:
    """Return the nested file of which a source has the wide records; any other source as it is."""
    return source.nested if isinstance(source, WideSource) else source


def releasing(source: Source, places: Mapping[str, Path], removed: Collection[str]) -> Source:
    """Return who writes a release, and reads it back: of tables that keys join, to some places; else the source.

    Parameters
    ----------
    source : Source
    places : mapping of str to Path
        By level, where a table beside that of the data is written.
    removed : collection of str
        Fields that are not released.
    """
    if not isinstance(source, WideSource) or not isinstance(source.nested, JoinedSource):
        return source
    return source.releasing(source.nested, places, removed)
