"""What the evaluation of rules on records yields: findings, where they stand, and what they show of records.

Values are read from the records of findings that are shown, and from no others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.parsers import expat

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.sources.record_layout import Field
from masktron.sources.xml.parser import scan


class Verdict(IntEnum):
    """What became of one check on one record; over several nodes of the record, the worst."""

    NOT_FIRED = 0
    HOLDS = 1
    FAILS = 2
    ERROR = 3
    """A dynamic error of XPath 2 or later; it fails the rule."""


type FindingKind = Literal["failed-assert", "successful-report", "error"]


class MemberValues(NamedTuple):
    """What members of a record say in one field that a check reads: the first texts, and how many more there are."""

    name: str
    texts: tuple[str, ...]
    more: int = 0


class Finding(NamedTuple):
    """One check that one node does not obey.

    Attributes
    ----------
    check : int
        Index of the check.
    record : int
        Position of the record in the file, from 0; -1 for a node outside all records.
    line : int
        Line on which the node begins, from 1; of an attribute, text or other node without a start tag, that of the
        element around it.
    location : str
        XPath of the node from the document, with positions.
    message : str
        The rule's text with ``value-of`` filled: confidential, as it may show values.
    column : int
        Column, in characters from 1, of the ``<`` of the node; 0 where it is not known.
    record_id : str or None
        What the field that names the record says, without white space around it. Empty where the record lacks the
        field; None where no field names records, and outside the records. Confidential.
    values : tuple of (str, str or None)
        The fields that the check reads with their text, None where absent; a repeated field is there as often as the
        record has it. Confidential.
    artefact : bool
        Whether the check holds in exact decimals: it fails for the rounding of doubles alone.
    notes : tuple of str
        The texts of the diagnostics and properties that the check names, in their order. Confidential.
    member : str or None
        Which record within the record it is about: ``Person 2``, its place among those of its name, with its key
        where it has one; None where it is about the record itself. Confidential.
    among : tuple of MemberValues
        The fields that the check reads of members within the record or beside the member. Confidential.
    """

    check: int
    kind: FindingKind
    record: int
    line: int
    location: str
    message: str
    column: int = 0
    record_id: str | None = None
    values: tuple[tuple[str, str | None], ...] = ()
    artefact: bool = False
    notes: tuple[str, ...] = ()
    member: str | None = None
    among: tuple[MemberValues, ...] = ()


@dataclass(frozen=True, slots=True)
class HandedBack:
    """A check that was to be evaluated across records in two passes and was not, for what the first of them met.

    Attributes
    ----------
    whole : bool
        Whether it needed the whole document, instead of one record at a time.
    """

    check: int
    reason: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Departure:
    """A check of XPath 1.0 on which libxml2, reading or writing numbers in its way, says something else.

    Attributes
    ----------
    refused, accepted : int
        Records that libxml2 alone refuses, and those that it alone accepts.
    """

    check: int
    refused: int
    accepted: int


class Tier(Enum):
    """How a check is evaluated, as it is shown."""

    COLUMNS = "1: columns"
    RECORDS = "2: record by record"
    ACROSS = "2: across records, two passes"
    DOCUMENT = "3: whole document"


@dataclass(frozen=True, slots=True)
class Assigned:
    """The tier of a check.

    Attributes
    ----------
    reason : str
        Why it is not a lower one; empty for columns.
    """

    tier: Tier
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.tier.value}{self.reason and f' ({self.reason})'}"


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The outcome of all checks on all records.

    Attributes
    ----------
    verdicts : ndarray of uint8, shape (records, checks), or None
        `Verdict` codes of the checks on records, where they were asked for: they grow with the file.
    fired, failed, errors : ndarray of int64, shape (checks,)
        Exact numbers of nodes: on which the check was evaluated; where it failed (asserts that are false, reports
        that are true; errors not included); where it raised a dynamic error.
    findings : tuple of Finding
        The first ``limit`` of each check.
    engine : str
        Name and version of the engine that decided.
    records : int
    handed_back : tuple of HandedBack
    departures : tuple of Departure
        As far as it is known. Over columns it is not for checks that make numbers of texts, or texts of numbers.
    first : ndarray of int64, shape (checks,)
        Position, from 0, of the first record with a failure or an error, where an engine saw all records; else -1.
    left : mapping of int to str
        Checks that were not judged, with the reason; empty of those that are left to the recount.
    objections : mapping of int to str
        Checks of which something else than the counts is wrong.
    tiers : tuple of Assigned
        How each check was judged, of a file that was read as columns.
    """

    verdicts: NDArray[np.uint8] | None
    fired: NDArray[np.int64]
    failed: NDArray[np.int64]
    errors: NDArray[np.int64]
    findings: tuple[Finding, ...]
    engine: str
    records: int
    handed_back: tuple[HandedBack, ...] = ()
    departures: tuple[Departure, ...] = ()
    first: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    left: Mapping[int, str] = field(default_factory=dict)
    objections: Mapping[int, str] = field(default_factory=dict)
    tiers: tuple[Assigned, ...] = ()

    @property
    def judged(self) -> NDArray[np.uint8]:
        """The verdicts, where they were asked for.

        Raises
        ------
        ValueError
            They were not.
        """
        if self.verdicts is None:
            raise ValueError("the verdicts on single records were not kept")
        return self.verdicts

    @property
    def violations(self) -> int:
        """Failed asserts, fired reports and errors, summed over checks and nodes."""
        return int(self.failed.sum() + self.errors.sum())


type Steps = tuple[int, ...]
"""The way from an element down to another: positions among the child elements, from 0."""
type Position = tuple[int, int]
"""Line and column, from 1."""


class _Complete(Exception):  # noqa: N818 - an outcome, not an error
    """The element that was to be read has ended."""


def starts_within(text: Iterable[bytes], line: int, column: int) -> dict[Steps, Position]:
    """Return where an element and all elements in it begin.

    Parameters
    ----------
    text : iterable of bytes
        The element in UTF-8, and possibly what follows it.
    line, column : int
        Where it begins.
    """
    found: dict[Steps, Position] = {}
    parser = expat.ParserCreate("UTF-8")

    def note(steps: Steps) -> None:
        below, right = parser.CurrentLineNumber - 1, parser.CurrentColumnNumber
        found[steps] = (line + below, right + (1 if below else column))

    _Walk(note, _stop).attach(parser)
    try:
        for block in text:
            parser.Parse(block, False)
        parser.Parse(b"", True)
    except _Complete:
        pass
    return found


def _stop() -> None:
    raise _Complete


def starts_in_file(path: Path, wanted: Collection[Steps]) -> dict[Steps, Position]:
    """Return where some elements of a file begin, by the way from the root; reads up to the last of them."""
    found: dict[Steps, Position] = {}
    chosen = frozenset(wanted)

    def attach(parser: Any) -> None:
        def note(steps: Steps) -> None:
            if steps in chosen:
                found[steps] = (parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
                if len(found) == len(chosen):
                    _stop()

        _Walk(note, lambda: None).attach(parser)

    with suppress(_Complete):
        scan(path, attach)
    return found


class _Walk:
    """Handlers of expat that know the way down to the element at hand."""

    def __init__(self, note: Callable[[Steps], None], ended: Callable[[], None]) -> None:
        self.note = note
        self.ended = ended
        self.steps: list[int] = []
        self.children = [0]

    def attach(self, parser: expat.XMLParserType) -> None:
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end

    def start(self, _name: str, _attributes: object) -> None:
        self.steps.append(self.children[-1])
        self.children[-1] += 1
        self.children.append(0)
        self.note(tuple(self.steps[1:]))

    def end(self, _name: str) -> None:
        self.steps.pop()
        self.children.pop()
        if not self.steps:
            self.ended()


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
        if len(around) == 1:
            return None
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
        return ", ".join(said)

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
        if not (self.below and self.fields):
            return ()
        tags = _tags(around)
        found = []
        for shown in self.fields[check]:
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
    return tuple(str(member.tag) for member in around[1:]) if len(around) > 1 else ()


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
