"""What of a file is not released beside records and fields: counted, since nothing is lost in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

from masktron.errors import DocumentError
from masktron.sources.record_layout import Layout
from masktron.sources.xml.outline import namespaces_of
from masktron.sources.xml.parser import namespace_parser, opened, scan

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import PlainFile

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
