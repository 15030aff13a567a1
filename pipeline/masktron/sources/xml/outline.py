"""What is released beside the values of records: declaration, root and white space; and what is left out, counted.

Of namespaces, those that names need are declared, once, on the root. Nothing else that the original has around its
values comes through: what it declares, says in comments and instructions, or calls its document type is nobody's to
check, and may tell of a record or of who wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from lxml import etree

from masktron.errors import DocumentError
from masktron.sources.record_layout import Layout
from masktron.sources.xml.microdata import iter_records
from masktron.sources.xml.parser import Encoding, namespace_parser, opened, scan

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import PlainFile


_XML = "http://www.w3.org/XML/1998/namespace"
CLOSING = "\n"
"""What is written behind the root."""


def opening(encoding: Encoding) -> str:
    """Return all that is written before the root."""
    mark = "\ufeff" if encoding.bom else ""
    return mark + (encoding.declaration + "\n" if encoding.declaration else "")


def namespaces_of(layout: Layout) -> dict[str | None, str]:
    """Return what the released root declares: by prefix, the namespaces of names, and of prefixes in its attributes.

    Namespaces that only records declare are declared here, under a prefix that tells nothing. A default namespace
    gets one where names inside have no namespace at all.
    """
    elements = {_uri(tag) for tag in (*layout.record_path, *(f.tag for f in layout.fields if not f.attribute))}
    own = [tag for tag, _ in layout.root_attributes]
    attributes = {_uri(tag) for tag in (*own, *(f.tag for f in layout.fields if f.attribute))}
    values = [value for _, value in layout.root_attributes]
    plain = "" in elements
    found = {
        prefix: uri
        for prefix, uri in layout.nsmap
        if (prefix is None and uri in elements and not plain)
        or (prefix is not None and uri in elements | attributes)
        or (prefix is not None and any(f"{prefix}:" in value for value in values))
    }
    prefixed = {uri for prefix, uri in found.items() if prefix is not None}
    lacking = sorted(((elements - {*found.values()}) | (attributes - prefixed)) - {"", _XML})
    taken = {prefix for prefix, _ in layout.nsmap}
    names = (name for number in range(len(lacking) + len(taken)) if (name := f"ns{number}") not in taken)
    return found | dict(zip(names, lacking, strict=False))


def _uri(tag: str) -> str:
    return tag[1:].partition("}")[0] if tag.startswith("{") else ""


def released(root: etree._Element, layout: Layout) -> etree._Element:
    """Move the records of a document of `microdata.iter_chunks` into one that declares what is needed.

    The elements between the root and the records come without attributes.
    """
    nsmap: Any = namespaces_of(layout)
    attributes: Any = dict(root.attrib)
    fresh = place = etree.Element(root.tag, attributes, nsmap)
    place.text = root.text
    for tag in layout.record_path[1:-1]:
        root = root[0]
        place = etree.SubElement(place, tag)
        place.text = root.text
    for record in list(root):
        place.append(record)
        etree.cleanup_namespaces(record)
    return fresh


@dataclass(frozen=True, slots=True)
class Spacing:
    """White space.

    Attributes
    ----------
    inner, closing : str
        Before each field of a record, and behind the last.
    between : str
        Between records.
    """

    inner: str
    closing: str
    between: str


def spacing_of(source: Path, layout: Layout) -> Spacing:
    """Take it from the first record with fields, and from behind the first record.

    Raises
    ------
    DocumentError
        The file cannot be read.
    """
    between: str | None = None
    with closing(iter_records(source, layout)) as records:
        for record in records:
            between = between if between is not None else record.tail or ""
            etree.strip_tags(record, etree.Comment, etree.ProcessingInstruction)
            if len(record):
                return Spacing(*map(plain_space, (record.text or "", record[-1].tail or "", between)))
    return Spacing("", "", plain_space(between or ""))


def plain_space(space: str) -> str:
    """Return white space without the returns that only a reference can have put there."""
    return space.replace("\r", "\n")


_NAMES = {
    "comments": "comment",
    "processing_instructions": "processing instruction",
    "document_types": "document type",
    "namespace_declarations": "namespace declaration",
    "attributes": "attribute of an element around the records",
}
_PLURALS = {"attributes": "attributes of elements around the records"}
_SIGNS = (b"<!", b"<?", b"xmlns")
"""One of them is in the bytes of all that is counted."""
_BLOCK = 1 << 23
"""Bytes that are looked through at a time."""
_PLACE = re.compile(r"[/\\@]")
"""What paths, addresses and the names of people's accounts have in them."""


def left_out(source: Path, layout: Layout, plain: PlainFile | None = None) -> dict[str, int]:
    """Count what `masktron.sources.xml.writer.write_masked` does not copy.

    Parameters
    ----------
    source : Path
    layout : Layout
    plain : PlainFile, optional
        Of a large file: it is not parsed where there is nothing to count among its records.

    Returns
    -------
    dict of str to int
        ``comments``, ``processing_instructions``, ``document_types``, ``namespace_declarations``, and ``attributes``
        of the elements between the root and the records.

    Raises
    ------
    DocumentError
        The file cannot be read.
    """
    counting = _Counting(layout)
    if plain is None or _has_signs(source, plain.start):
        scan(source, counting.attach)
    else:
        with opened(source) as (stream, encoding):
            parser = namespace_parser(source, encoding, DocumentError)
            counting.attach(parser)
            parser.Parse(stream.read(plain.start), False)
    return counting.found()


def _has_signs(source: Path, start: int) -> bool:
    most = max(map(len, _SIGNS)) - 1
    with source.open("rb") as stream:
        stream.seek(start)
        rest = b""
        while block := stream.read(_BLOCK):
            rest += block
            if any(sign in rest for sign in _SIGNS):
                return True
            rest = rest[-most:]  # a sign may go on in the next block
    return False


class _Counting:
    def __init__(self, layout: Layout) -> None:
        self._counts = dict.fromkeys(_NAMES, 0)
        self._depth = len(layout.record_path)
        kept = namespaces_of(layout)
        self._declared = sum(kept.get(prefix) == uri for prefix, uri in layout.nsmap)
        self._level = 0

    def attach(self, parser: expat.XMLParserType) -> None:
        guard = parser.StartDoctypeDeclHandler

        def doctype(name: str, system_id: str | None, public_id: str | None, internal: bool) -> None:
            if guard is not None:
                guard(name, system_id, public_id, internal)
            self._counts["document_types"] += 1

        def start(_name: str, attributes: Mapping[str, str]) -> None:
            # one element is in another down to the first record
            self._level += 1
            if self._level >= self._depth:
                parser.StartElementHandler = None
            elif self._level > 1:
                self._counts["attributes"] += len(attributes)

        parser.StartDoctypeDeclHandler = doctype
        parser.StartElementHandler = start
        parser.CommentHandler = lambda _text: self._add("comments")
        parser.ProcessingInstructionHandler = lambda _target, _text: self._add("processing_instructions")
        parser.StartNamespaceDeclHandler = lambda _prefix, _uri: self._add("namespace_declarations")

    def _add(self, what: str) -> None:
        self._counts[what] += 1

    def found(self) -> dict[str, int]:
        """The counts, without the declarations of the root that are kept."""
        declared = self._counts["namespace_declarations"] - self._declared
        return self._counts | {"namespace_declarations": declared}


def left_out_notes(counts: Mapping[str, int]) -> Iterator[str]:
    """Say what was left out."""
    told = [
        f"{count:,} {_NAMES[what] if count == 1 else _PLURALS.get(what, _NAMES[what] + 's')}"
        for what, count in counts.items()
        if count
    ]
    if told:
        yield f"left out, since nobody knows what they tell: {', '.join(told)}"


def outline_notes(layout: Layout, counts: Mapping[str, int]) -> Iterator[str]:
    """Say what was left out, and which attributes of the root were not."""
    yield from left_out_notes(counts)
    if layout.root_attributes:
        names = (
            tag.rpartition("}")[2] + (" (a path or an address)" if _PLACE.search(value) else "")
            for tag, value in layout.root_attributes
        )
        yield f"released as they are, the attributes of the root: {', '.join(names)}; look at what they tell"
