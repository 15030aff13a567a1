"""What findings show of their records: what names them, what a rule reads, and which member of nested ones it is.

Values are read from the records of findings that are shown, and from no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from masktron.evaluation.findings import MemberValues
from masktron.evaluation.positions import Steps
from masktron.sources.record_layout import Field

MOST_MEMBERS = 8
"""Members whose values a finding lists of a field."""
MOST_CHARACTERS = 120
"""Characters after which it lists no further member."""

type LevelTags = tuple[str, ...]
"""Clark names of the levels below the unit, the outermost first; none for the unit itself."""
type _Values = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class ShownLevel:
    """How findings name a record of a level below the unit: by its place, and by a field where one names it."""

    name: str
    record_id: Field | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What findings show of their records.

    Attributes
    ----------
    record_id : Field or None
        The field that names the unit.
    fields : tuple of tuple of Field
        Of each check, called as reports call them; none where nothing is to be shown.
    below : mapping of str to tuple of str
        The level of each of them that is no field of the unit, by its name.
    levels : mapping of tuple of str to ShownLevel
        The levels below the unit.
    """

    record_id: Field | None = None
    fields: tuple[tuple[Field, ...], ...] = ()
    below: Mapping[str, LevelTags] = field(default_factory=dict)
    levels: Mapping[LevelTags, ShownLevel] = field(default_factory=dict)

    def record_id_of(self, record: etree._Element) -> str | None:
        """Return what the field says that names the record, without white space around it."""
        return None if self.record_id is None else _record_id_text(record, self.record_id)

    def around(self, record: etree._Element, steps: Steps) -> tuple[etree._Element, ...]:
        """Return the record and the members on the way down to a node, the innermost last."""
        found, tags = [record], []
        for step in steps if self.levels else ():
            node = elements_of(found[-1])[step]
            tags.append(str(node.tag))
            if tuple(tags) not in self.levels:
                break
            found.append(node)
        return tuple(found)

    def member_of(self, around: Sequence[etree._Element]) -> str | None:
        """Return which member a finding is about: ``Person 2``, ``Person 2 (PID 17)``, ``Person 2, Spell 1``."""
        tags = _tags(around)
        said = []
        for depth, member in enumerate(around[1:], 1):
            level = self.levels[tags[:depth]]
            place = 1 + sum(1 for _ in member.itersiblings(member.tag, preceding=True))
            record_id = "" if level.record_id is None else _record_id_text(member, level.record_id)
            said.append(
                f"{level.name} {place}"
                + (f" ({level.record_id.name} {record_id})" if level.record_id and record_id else "")
            )
        return ", ".join(said) or None

    def values_of(self, around: Sequence[etree._Element], check: int) -> _Values:
        """Return the fields that a check reads of the member and of what is around it, with their text."""
        tags = _tags(around)
        found: list[tuple[str, str | None]] = []
        for shown in self.fields[check] if self.fields else ():
            level = self.below.get(shown.name, ())
            if tags[: len(level)] == level:
                texts = _texts(around[len(level)], shown)
                found += [(shown.name, text) for text in texts] or [(shown.name, None)]
        return tuple(found)

    def among(self, around: Sequence[etree._Element], check: int) -> tuple[MemberValues, ...]:
        """Return the fields that a check reads of other members: within the record, or beside the member.

        Members that do not have the field are left out.
        """
        tags = _tags(around)
        found = []
        for shown in self.fields[check] if self.below and self.fields else ():
            level = self.below.get(shown.name, ())
            if tags[: len(level)] == level:
                continue
            common = next((at for at, pair in enumerate(zip(tags, level, strict=False)) if pair[0] != pair[1]), None)
            depth = min(len(tags), len(level)) if common is None else common
            texts, more = _first(_all_texts(around[depth], level[depth:], shown))
            if texts:
                found.append(MemberValues(shown.name, texts, more))
        return tuple(found)


NOTHING_SHOWN = Shown()
"""Findings show no more of their records than where they stand."""


def elements_of(node: etree._Element) -> list[etree._Element]:
    """Return the child elements."""
    return [e for e in node if isinstance(e.tag, str)]


def _tags(around: Sequence[etree._Element]) -> LevelTags:
    return tuple(str(member.tag) for member in around[1:])


def _record_id_text(record: etree._Element, name: Field) -> str:
    return next((text for text in _texts(record, name)), "").strip()


def _first(texts: Iterator[str]) -> tuple[tuple[str, ...], int]:
    """Return the first texts that have room, and how many more there are."""
    found: list[str] = []
    more = characters = 0
    for text in texts:
        if more or len(found) == MOST_MEMBERS or (found and characters + len(text) > MOST_CHARACTERS):
            more += 1
        else:
            found.append(text)
            characters += len(text)
    return tuple(found), more


def _all_texts(record: etree._Element, level: LevelTags, shown: Field) -> Iterator[str]:
    if not level:
        yield from _texts(record, shown)
        return
    for member in record.iterchildren(level[0]):
        yield from _all_texts(member, level[1:], shown)


def _texts(record: etree._Element, shown: Field) -> list[str]:
    if shown.attribute:
        value = record.get(shown.tag)
        return [] if value is None else [value]
    return [str(e.xpath("string()")) if len(e) else e.text or "" for e in record.iterchildren(shown.tag)]
