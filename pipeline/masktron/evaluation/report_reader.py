"""From what a report stylesheet writes to findings: the node, its line, and its XPath."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lxml import etree

from masktron.evaluation.findings import Finding, FindingKind
from masktron.read.parser import scan
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook

_MAX_LINE = 65_535
"""The largest line number that libxml2 keeps for a node."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A record in memory, with its position and its line in the file."""

    element: etree._Element
    record: int
    line: int


def records_of(root: etree._Element, layout: Layout) -> list[etree._Element]:
    """Return the record elements of a document, in order."""
    if root.tag != layout.record_path[0]:
        return []
    found = [root]
    for tag in layout.record_path[1:]:
        found = [child for parent in found for child in parent.iterchildren(tag)]
    return found


def document_of(places: Iterable[Place], layout: Layout) -> etree._Element:
    """Return a document with copies of some records."""
    parent: etree._Element | None = None
    for place in places:
        if parent is None:
            for ancestor in reversed(list(place.element.iterancestors())):
                attributes: dict[Any, Any] = dict(ancestor.attrib)
                nsmap: dict[Any, Any] = dict(ancestor.nsmap)
                if parent is None:
                    parent = etree.Element(ancestor.tag, attributes, nsmap)
                else:
                    parent = etree.SubElement(parent, ancestor.tag, attributes, nsmap)
        if parent is not None:
            parent.append(deepcopy(place.element))
    if parent is None:
        return etree.Element(layout.record_path[0])
    return parent.getroottree().getroot()


def read_report(
    text: str, layout: Layout, root: etree._Element | None, places: list[Place], rulebook: Rulebook
) -> Iterator[Finding]:
    """Yield the findings of a report.

    Parameters
    ----------
    text : str
        XML: ``f`` for each failure, in an ``r`` for each record, or directly in the root for nodes around them.
    root : Element or None
        Of the whole document; None for a chunk, which has nothing around its records.
    places : list of Place
        The records of the document that the report is about.
    """
    kinds = {c.index: c.kind for c in rulebook.checks}
    records = iter(places)
    for child in etree.fromstring(text.encode(), etree.XMLParser(huge_tree=True, resolve_entities=False)):
        if child.tag == "r":
            place = next(records)
            for failure in child:
                yield _finding(failure, layout, place, kinds)
        elif root is not None:
            yield _finding(child, layout, Place(root, -1, int(str(root.sourceline))), kinds)


def _finding(
    failure: etree._Element, layout: Layout, place: Place, kinds: dict[int, Literal["assert", "report"]]
) -> Finding:
    check = int(failure.get("c", ""))
    kind: FindingKind = "error"
    if failure.get("k") == "F":
        kind = "failed-assert" if kinds[check] == "assert" else "successful-report"
    node = place.element
    location = _record_location(place, layout) if place.record >= 0 else f"/{_name(str(node.tag))}"
    for step in failure.iterchildren("s"):
        node = [e for e in node if isinstance(e.tag, str)][int(step.text or 0)]
        location += f"/{_name(str(node.tag))}{_position(node)}"
    message = " ".join((failure.findtext("m") or "").split())
    return Finding(check, kind, place.record, _line(node, place), _leaf(failure, location), message)


def _leaf(failure: etree._Element, location: str) -> str:
    for leaf in failure:
        match leaf.tag:
            case "document":
                return "/"
            case "attribute":
                uri = leaf.get("uri", "")
                return f"{location}/@{_name(f'{{{uri}}}' * bool(uri) + leaf.get('name', ''))}"
            case "text" | "comment" | "processing-instruction":
                return f"{location}/{leaf.tag}()[{int(leaf.text or 0) + 1}]"
            case _:
                pass
    return location


def _record_location(place: Place, layout: Layout) -> str:
    path = "".join(f"/{_name(tag)}" for tag in layout.record_path)
    # deeper records may have different parents: there the position is one among all records
    return f"{path}[{place.record + 1}]" if len(layout.record_path) == 2 else f"({path})[{place.record + 1}]"


def _name(tag: str) -> str:
    return f"Q{tag}" if tag.startswith("{") else tag


def _position(node: etree._Element) -> str:
    same = sum(1 for _ in node.itersiblings(node.tag, preceding=True))
    alone = same == 0 and next(node.itersiblings(node.tag), None) is None
    return "" if alone else f"[{same + 1}]"


def _line(node: etree._Element, place: Place) -> int:
    """Return the line of a node, from the true line of its record."""
    if node is place.element:
        return place.line
    base, own = int(str(place.element.sourceline)), int(str(node.sourceline))
    if base == place.line and own < _MAX_LINE:
        return own
    # libxml2 lost count: add the line ends in what stands between, all but those inside tags
    lines = place.line
    for event, element in etree.iterwalk(place.element, events=("start", "end", "comment", "pi")):
        if event == "start" and element is node:
            break
        lines += ((element.text if event != "end" else element.tail) or "").count("\n")
    return lines


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
