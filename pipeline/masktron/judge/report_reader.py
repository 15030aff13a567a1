"""From what a stylesheet reports of the nodes of a document to findings: the node, where it stands, its XPath."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.judge.findings import (
    Finding,
    FindingKind,
    Position,
    Shown,
    Steps,
    Verdict,
    elements_of,
    starts_within,
)
from masktron.judge.stylesheet import decode
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.sources.xml.parser import scan

_HEAD = re.compile(r'<report(?: [^ =<>"]+="[^"<]*")*>')
_TAIL = "</report>"
_PART = re.compile(r'(<r>|</r>|<r/>|<f c="([0-9]+)" k="([A-Z])">(?:<m>([^<]*)</m>|<m/>)</f>)')


@dataclass(frozen=True, slots=True, eq=False)
class RecordPlace:
    """A record in memory.

    Attributes
    ----------
    record, line, column : int
        Its position, line and column in the file.
    text : callable
        Returns the file in UTF-8 from the record on, in blocks; None where the file is no XML.
    """

    element: etree._Element
    record: int
    line: int
    column: int
    text: Callable[[], Iterable[bytes]] | None


def records_of(root: etree._Element, layout: Layout) -> list[etree._Element]:
    """Return the record elements of a document, in order."""
    if root.tag != layout.record_path[0]:
        return []
    found = [root]
    for tag in layout.record_path[1:]:
        found = [child for parent in found for child in parent.iterchildren(tag)]
    return found


def document_of(places: Iterable[RecordPlace], layout: Layout) -> etree._Element:
    """Return a document with copies of some records."""
    return document_with((place.element for place in places), layout)


def document_with(records: Iterable[etree._Element], layout: Layout) -> etree._Element:
    """Return a document with copies of some record elements."""
    parent: etree._Element | None = None
    for record in records:
        if parent is None:
            for ancestor in reversed(list(record.iterancestors())):
                attributes: dict[Any, Any] = dict(ancestor.attrib)
                nsmap: dict[Any, Any] = dict(ancestor.nsmap)
                if parent is None:
                    parent = etree.Element(ancestor.tag, attributes, nsmap)
                else:
                    parent = etree.SubElement(parent, ancestor.tag, attributes, nsmap)
        if parent is not None:
            parent.append(deepcopy(record))
    if parent is None:
        return etree.Element(layout.record_path[0])
    return parent.getroottree().getroot()


class Failure(NamedTuple):
    """What a report stylesheet says of one check on one node.

    Attributes
    ----------
    place : int
        Position of the record among the places; -1 for a node outside the records.
    steps : tuple of int
        The way from the record, or from the root, down to the element.
    leaf : tuple of str
        Element, node in it (``@id``, ``text()[1]``) or nothing, or ``/`` for the document.
    notes : tuple of str
        The texts of the diagnostics and properties of the check.
    subject : tuple of str
        The Clark names on the way from the node to the one that is pointed at, ``@`` before that of an attribute.
    """

    check: int
    kind: FindingKind
    place: int
    steps: Steps
    leaf: str
    message: str
    notes: tuple[str, ...] = ()
    subject: tuple[str, ...] = ()


def read_report(text: str, rulebook: Rulebook) -> Iterator[Failure]:
    """Yield what a report says, in its order.

    Parameters
    ----------
    text : str
        XML: ``f`` for each failure, in an ``r`` for each record, or directly in the root for nodes around them.
    rulebook : Rulebook
    """
    kinds = {c.index: c.kind for c in rulebook.checks}
    subjects = {c.index: _subject(c.subject, dict(rulebook.namespaces)) for c in rulebook.checks if c.subject}
    for failure in _failures(text, kinds):
        yield failure._replace(subject=subjects[failure.check]) if failure.check in subjects else failure


def _subject(path: str, namespaces: Mapping[str, str]) -> tuple[str, ...]:
    tags = []
    for step in path.split("/"):
        prefix, colon, local = step.removeprefix("@").rpartition(":")
        tags.append("@" * step.startswith("@") + (f"{{{namespaces.get(prefix, '')}}}{local}" if colon else local))
    return tuple(tags)


def _failures(text: str, kinds: Mapping[int, Literal["assert", "report"]]) -> Iterator[Failure]:
    plain = _plain_failures(text, kinds)
    if plain is not None:
        yield from plain
        return
    record = -1
    for child in etree.fromstring(text.encode(), etree.XMLParser(huge_tree=True, resolve_entities=False)):
        if child.tag == "r":
            record += 1
            for failure in child:
                yield _failure(failure, record, kinds)
        else:
            yield _failure(child, -1, kinds)


def _plain_failures(text: str, kinds: Mapping[int, Literal["assert", "report"]]) -> list[Failure] | None:
    """Read a report of nothing but failures on whole records; None for every other."""
    text = text.rstrip("\n")
    head = _HEAD.match(text)
    if head is None or not text.endswith(_TAIL):
        return None
    found: list[Failure] = []
    place, inside, read = -1, False, head.end() + len(_TAIL)
    for part, check, code, content in _PART.findall(text, head.end(), len(text) - len(_TAIL)):
        read += len(part)
        if not check:
            inside = part == "<r>"
            place += part != "</r>"
            continue
        kind = _kind(int(check), code, kinds)
        message = etree.fromstring(f"<m>{content}</m>").text or "" if "&" in content else content
        found.append(Failure(int(check), kind, place if inside else -1, (), "", " ".join(message.split())))
    return found if read == len(text) else None


def _kind(check: int, code: str, kinds: Mapping[int, Literal["assert", "report"]]) -> FindingKind:
    if code != "F":
        return "error"
    return "failed-assert" if kinds[check] == "assert" else "successful-report"


def _failure(failure: etree._Element, place: int, kinds: Mapping[int, Literal["assert", "report"]]) -> Failure:
    check = int(failure.get("c", ""))
    kind = _kind(check, failure.get("k", ""), kinds)
    steps = tuple(int(step.text or 0) for step in failure.iterchildren("s"))
    texts = [" ".join((m.text or "").split()) for m in failure.iterchildren("m")]
    return Failure(check, kind, place, steps, _leaf(failure), texts[0], tuple(texts[1:]))


class FindingMaker:
    """Makes findings of what a report says of the records of a document.

    Parameters
    ----------
    layout : Layout
    places : sequence of RecordPlace
        The records that the report is about.
    shown : Shown
    outside : Outside, optional
        What stands around the records; a chunk has nothing there.
    """

    def __init__(
        self, layout: Layout, places: Sequence[RecordPlace], shown: Shown, outside: Outside | None = None
    ) -> None:
        self.layout = layout
        self.places = places
        self.shown = shown
        self.outside = outside
        path = "".join(f"/{expanded_name(tag)}" for tag in layout.record_path)
        # deeper records may have different parents: there the position is one among all records
        self._path = path if len(layout.record_path) == 2 else f"({path})"
        self._starts: tuple[int, dict[Steps, Position]] = (-1, {})
        self._named: tuple[int, str, str | None] = (-1, "", None)
        """The record of the last finding, its path and what its key says."""

    def __call__(self, failure: Failure) -> Finding:
        """Return the finding."""
        if failure.place < 0:
            return self._around(failure)
        place = self.places[failure.place]
        if self._named[0] != failure.place:
            path, record_id = f"{self._path}[{place.record + 1}]", self.shown.record_id_of(place.element)
            self._named = failure.place, path, record_id
        around = self.shown.around(place.element, failure.steps)
        failure = _led(place.element, failure)
        line, column = place.line, place.column
        if failure.steps and place.text is not None:
            if self._starts[0] != failure.place:
                self._starts = failure.place, starts_within(place.text(), line, column)
            line, column = self._starts[1][failure.steps]
        _, location, record_id = self._named
        return Finding(
            failure.check,
            failure.kind,
            place.record,
            line,
            _location(place.element, failure, location),
            failure.message,
            column,
            record_id,
            self.shown.values_of(around, failure.check),
            notes=failure.notes,
            member=self.shown.member_of(around),
            among=self.shown.among(around, failure.check),
        )

    def _around(self, failure: Failure) -> Finding:
        if self.outside is None:
            raise ValueError("the document of a report has nothing outside its records")
        failure = _led(self.outside.root, failure)
        line, column = self.outside.starts[failure.steps]
        location = _location(self.outside.root, failure, f"/{expanded_name(str(self.outside.root.tag))}")
        return Finding(failure.check, failure.kind, -1, line, location, failure.message, column, notes=failure.notes)


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """The root of a whole document, and where elements outside its records begin."""

    root: etree._Element
    starts: Mapping[Steps, Position]


def _led(top: etree._Element, failure: Failure) -> Failure:
    """Return a failure that points at its subject; at the node itself where that has none."""
    if not failure.subject or failure.leaf:
        return failure
    node, steps = top, list(failure.steps)
    for step in steps:
        node = elements_of(node)[step]
    for tag in failure.subject:
        if tag.startswith("@"):
            known = tag[1:] in node.attrib
            leaf = f"/@{expanded_name(tag[1:])}"
            return failure._replace(steps=tuple(steps), leaf=leaf) if known else failure
        child = next(node.iterchildren(tag), None)
        if child is None:
            return failure
        steps.append(elements_of(node).index(child))
        node = child
    return failure._replace(steps=tuple(steps))


def _location(node: etree._Element, failure: Failure, location: str) -> str:
    for step in failure.steps:
        node = elements_of(node)[step]
        location += f"/{expanded_name(str(node.tag))}{_position(node)}"
    return failure.leaf if failure.leaf == "/" else location + failure.leaf


def _leaf(failure: etree._Element) -> str:
    for leaf in failure:
        match leaf.tag:
            case "document":
                return "/"
            case "attribute":
                uri = leaf.get("uri", "")
                return f"/@{expanded_name(f'{{{uri}}}' * bool(uri) + leaf.get('name', ''))}"
            case "text" | "comment" | "processing-instruction":
                return f"/{leaf.tag}()[{int(leaf.text or 0) + 1}]"
            case _:
                pass
    return ""


def expanded_name(tag: str) -> str:
    """Return a Clark name as XPath 3 writes it, and a name without a namespace as it is."""
    return f"Q{tag}" if tag.startswith("{") else tag


def _position(node: etree._Element) -> str:
    same = sum(1 for _ in node.itersiblings(node.tag, preceding=True))
    alone = same == 0 and next(node.itersiblings(node.tag), None) is None
    return "" if alone else f"[{same + 1}]"


def outside_names(path: Path, layout: Layout) -> frozenset[str]:
    """Return the Clark names of the elements outside the records of a file, with ``@`` of their attributes.

    The elements that records stand in are left out; their attributes are not.
    """
    names = [tag.removeprefix("{") for tag in layout.record_path]
    last = len(names) - 1
    found: set[str] = set()
    depth = matched = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, matched
        if matched > last:
            depth += 1
            return
        on_path = depth == matched and name == names[matched]
        if not on_path:
            found.add(name)
        if not (on_path and matched == last):
            found.update(f"@{key}" for key in attributes)
        matched += on_path
        depth += 1

    def end(_name: str) -> None:
        nonlocal depth, matched
        depth -= 1
        matched = min(matched, depth)

    def attach(parser: Any) -> None:
        parser.StartElementHandler = start
        parser.EndElementHandler = end

    scan(path, attach)
    return frozenset(_clark(name) for name in found)


def _clark(name: str) -> str:
    at = "@" if name.startswith("@") else ""
    name = name.removeprefix("@")
    return f"{at}{{{name}" if "}" in name else f"{at}{name}"


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """What happened on the nodes of a document, in document order; record -1 is outside the records."""

    records: int
    record: NDArray[np.int64]
    check: NDArray[np.int64]
    verdict: NDArray[np.int64]
    """`Verdict` codes, with NOT_FIRED for an error in the context."""
    alone: Events | None = None
    """What libxml2 says of the same document, where that is something else; see `masktron.judge.recommended`."""

    @classmethod
    def of(cls, text: str) -> Events:
        """Decode what a stylesheet wrote."""
        points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        breaks = points == ord("\n")
        record = np.cumsum(breaks) - 1
        check, verdict = decode(points[~breaks])
        return cls(int(breaks.sum()), record[~breaks], check, verdict)

    @property
    def fails(self) -> NDArray[np.bool_]:
        """Which of them are findings."""
        return np.not_equal(self.verdict, Verdict.HOLDS)

    @property
    def kinds(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """In which of them a check was evaluated, failed, raised an error."""
        wrong = (self.verdict == Verdict.ERROR) | (self.verdict == Verdict.NOT_FIRED)
        return np.not_equal(self.verdict, Verdict.NOT_FIRED), np.equal(self.verdict, Verdict.FAILS), wrong

    def counts(self, checks: int) -> NDArray[np.int64]:
        """Numbers of nodes by kind and check, shape (3, checks)."""
        return np.array([np.bincount(self.check[kind], minlength=checks) for kind in self.kinds], dtype=np.int64)

    def part(self, chosen: NDArray[np.bool_]) -> Events:
        """Return some of the events."""
        return Events(self.records, self.record[chosen], self.check[chosen], self.verdict[chosen])

    def of_checks(self, checks: NDArray[np.int64]) -> Events:
        """Return the events of some checks, with what libxml2 alone says of them."""
        alone = None if self.alone is None else self.alone.of_checks(checks)
        return replace(self.part(np.isin(self.check, checks)), alone=alone)

    def replaced(self, out: NDArray[np.bool_], new: Events) -> Events:
        """Return these events, some of which others take the place of; these remain as what libxml2 says alone."""
        stay = self.part(~out)
        columns = [np.concatenate(pair) for pair in zip(stay._columns(), new._columns(), strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        record, check, verdict = (column[order] for column in columns)
        found = Events(self.records, record, check, verdict)
        return found if found._is_as(self) else replace(found, alone=self)

    def _columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        return self.record, self.check, self.verdict

    def _is_as(self, other: Events) -> bool:
        """Whether the same happens, in whatever order the nodes of one record come."""
        if len(self.record) != len(other.record):
            return False
        one, two = (np.array(events._columns()) for events in (self, other))
        return np.array_equal(one[:, np.lexsort(one[::-1])], two[:, np.lexsort(two[::-1])])

    def departures(self, checks: int) -> NDArray[np.int64]:
        """Count by check the records that libxml2 alone refuses, and those that it alone accepts; (2, checks)."""
        if self.alone is None:
            return np.zeros((2, checks), dtype=np.int64)
        mine, its = (
            np.unique(np.stack((events.record[events.fails], events.check[events.fails])), axis=1)
            for events in (self, self.alone)
        )
        width = np.int64(checks)
        own, other = ((pairs[0] + 1) * width + pairs[1] for pairs in (mine, its))
        return np.stack(
            [np.bincount(np.setdiff1d(*pair) % width, minlength=checks) for pair in ((other, own), (own, other))]
        )

    def fill(self, verdicts: NDArray[np.uint8]) -> None:
        """Raise the verdicts of each record and check to the worst of its nodes."""
        code = np.where(self.verdict == Verdict.NOT_FIRED, Verdict.ERROR, self.verdict)
        for worst in (Verdict.HOLDS, Verdict.FAILS, Verdict.ERROR):
            chosen = (code == worst) & (self.record >= 0)
            verdicts[self.record[chosen], self.check[chosen]] = worst
