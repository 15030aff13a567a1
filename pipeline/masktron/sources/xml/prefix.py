"""The first records of a file, read by expat: which element is the record, and where it begins."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO, NamedTuple

from masktron.errors import DocumentError
from masktron.sources.record_layout import Layout
from masktron.sources.xml.layout import Survey
from masktron.sources.xml.parser import Encoding, namespace_parser
from masktron.sources.xml.shapes import PathNode, shape_of, tree_of

_PREFIX = 1 << 20
_GLANCE = 1 << 16
"""Enough to see the first records of most files, where it is known which element they are."""
_MIN_RECORDS = 3
_TAG = re.compile(rb"<([^ \t\r\n/>]+)")


class NotPlain(Exception):  # noqa: N818 -- no mistake: the file goes the exact way
    """A file is not the plain table that the kernel reads."""


class Start(NamedTuple):
    """Where records begin.

    Attributes
    ----------
    path : tuple of str
        Clark names from the root to the record.
    raw : bytes
        Name of the record element as written.
    offset, line : int
        Of the first record's first byte; lines count from 1.
    """

    path: tuple[str, ...]
    raw: bytes
    offset: int
    line: int


class Paths(Survey):
    """A survey that is fed, and knows where each path begins and what prefixes mean."""

    def __init__(self, path: Path, encoding: Encoding) -> None:
        super().__init__(path)
        self.places: dict[tuple[str, ...], int] = {}
        """Byte at which the first element of each path begins."""
        self._codec = encoding.codec
        self._scope: dict[str | None, list[str]] = {}
        self._expat = namespace_parser(path, encoding, DocumentError)
        self.attach(self._expat)
        self._expat.EndNamespaceDeclHandler = self._undeclare
        # newer expats put off what they could parse at once, and the scope would come late
        if hasattr(self._expat, "SetReparseDeferralEnabled"):
            self._expat.SetReparseDeferralEnabled(False)

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Parse what comes next.

        Raises
        ------
        ExpatError, DocumentError
            It is refused.
        """
        self._expat.Parse(data, final)

    def clark(self, raw: bytes, *, attribute: bool) -> str | None:
        """Return the Clark name of a name as written, read where the parser stands; None if nothing says it."""
        prefix, colon, local = raw.decode(self._codec).rpartition(":")
        if attribute and not colon:
            return local
        uri = (self._scope.get(prefix if colon else None) or [""])[-1]
        if uri:
            return f"{{{uri}}}{local}"
        return None if colon else local

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        known = self._paths
        super()._start(name, attributes)
        if self._paths != known:
            self.places[self._stack[-1].path] = self._parser.CurrentByteIndex

    def _namespace(self, prefix: str | None, uri: str | None) -> None:
        super()._namespace(prefix, uri)
        self._scope.setdefault(prefix, []).append(uri or "")

    def _undeclare(self, prefix: str | None) -> None:
        self._scope[prefix].pop()


def first_record(
    path: Path, stream: BinaryIO, encoding: Encoding, record: str | None, hints: Collection[str]
) -> Start:
    """Find the record element as `masktron.sources.xml.plain.survey` would if the file ended after its first part.

    Raises
    ------
    NotPlain
        The kernel cannot read the encoding, there are too few records, or they are not flat.
    ExpatError, MasktronError
        The file cannot be parsed, or nothing tells which element is the record.
    """
    start, node = _begun(path, stream, encoding, record, hints)
    if not shape_of(node).flat:
        raise NotPlain
    return start


def first_unit(
    path: Path, stream: BinaryIO, encoding: Encoding, record: str | None, hints: Collection[str]
) -> tuple[Start, PathNode]:
    """Do what `first_record` does for a nested file; return also what the first part of the file holds of units.

    Raises
    ------
    NotPlain
        As there, or they are flat, or no records of records.
    ExpatError, MasktronError
        As there.
    """
    start, node = _begun(path, stream, encoding, record, hints)
    if tree_of(node, Layout(start.path, ())) is None:
        raise NotPlain
    return start, node


def _begun(
    path: Path, stream: BinaryIO, encoding: Encoding, record: str | None, hints: Collection[str]
) -> tuple[Start, PathNode]:
    """Return where the records begin, and what the first part of the file holds of them."""
    if encoding.codec.startswith("utf-16"):
        raise NotPlain
    head = stream.read(min(_GLANCE, _PREFIX))
    walk = Paths(path, encoding)
    walk.feed(head)
    if not _is_told(walk, {record} if record else set(hints)):
        more = stream.read(_PREFIX - len(head))
        walk.feed(more)
        head += more
    if not walk.top.children:
        raise NotPlain
    _, node = walk.found(encoding, record, hints)
    if node.count < _MIN_RECORDS:
        raise NotPlain
    offset = walk.places[node.path]
    raw = _TAG.match(head, offset)
    if raw is None:
        raise NotPlain
    return Start(node.path, raw[1], offset, node.line), node


def _is_told(walk: Paths, names: set[str]) -> bool:
    """Tell whether enough records were seen of an element that somebody named."""
    return any(
        node.complex and node.count >= _MIN_RECORDS and not names.isdisjoint({node.tag, node.tag.rpartition("}")[2]})
        for node in walk.top.descendants()
    )
