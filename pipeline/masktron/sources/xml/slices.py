"""Whole records cut from the bytes of a file, in documents of their own that an engine's parser reads.

Nothing here decides what XML is. Theorem: if every document of a cut passes `framed_test`, in the engine that reads
it, then their records, in order, are those of the file. Proof: expat saw the first record begin where the head ends,
so that there the parser stands in the content of the parent of records. In each document the mark that follows the
records is a node of the only parent, and no text or comment that the file left open, so behind the records the
parser stands there again; by induction it does so behind each slice of the file. The document without a slice has no
record, so the tail adds none.
"""

from __future__ import annotations

import mmap
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from lxml import etree

from masktron.sources.record_layout import Layout
from masktron.sources.xml.parser import Encoding, opened, tree_parser
from masktron.sources.xml.wellformed import Stamp, stamp_of

_TARGET = "masktron-end"
"""Of the processing instruction behind the records of a slice."""
_AROUND = 1 << 16
"""Most bytes before the first and behind the last record: they are read again with each slice."""
_LONGEST = 1 << 26
"""Bytes without the end of a record after which the file is not cut."""


class NotSlicedError(Exception):
    """The file has to be read in another way; it never reaches the user."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the records of a file.

    Attributes
    ----------
    path : Path
    head, tail : bytes
        All that is before the first record, and all behind the end tag of the last.
    end_tag : bytes
        Of a record, as the first one is spelled.
    encoding : Encoding
        One in which markup is ASCII.
    mark : str
        What no file can hold: whoever wrote it did not know.
    stamp : Stamp
        Tells the file from another of its name, as one may see who reads it later or elsewhere.
    """

    path: Path
    head: bytes
    tail: bytes
    end_tag: bytes
    encoding: Encoding
    mark: str
    stamp: Stamp

    def read(self, begin: int, end: int) -> bytes:
        """Return some bytes of the file.

        Raises
        ------
        NotSlicedError
            It is another file by now.
        """
        with self.path.open("rb") as stream:
            stream.seek(begin)
            found = stream.read(end - begin)
            if stamp_of(stream) != self.stamp:
                raise NotSlicedError("this is another file of the name")
        return found

    def document(self, records: bytes) -> bytes:
        """Return a document with some of the records, as bytes that declare their encoding."""
        return b"".join((self.head, records, f"<?{_TARGET} {self.mark}?>".encode(), self.tail))


def framed(path: Path, layout: Layout) -> Frame | None:
    """Find what stands around the records; None where the file cannot be cut.

    It cannot in UTF-16, where the record is the root, or where much stands around the records.

    Raises
    ------
    DocumentError
        The file cannot be opened.
    """
    with opened(path) as (stream, encoding):
        if encoding.codec.startswith("utf-16") or len(layout.record_path) < 2:
            return None
        stamp = stamp_of(stream)
        begin = stream.read(2 * _AROUND)
        stream.seek(-min(2 * _AROUND, path.stat().st_size), 2)
        end = stream.read()
    at = _first_record(begin, layout)
    name = re.match(rb"<([^\s/>]+)", begin[at:]) if 0 < at <= _AROUND else None
    if name is None:
        return None
    end_tag = b"</" + name[1] + b">"
    last = end.rfind(end_tag)
    if last < 0 or len(end) - last - len(end_tag) > _AROUND:
        return None
    return Frame(path, begin[:at], end[last + len(end_tag) :], end_tag, encoding, secrets.token_hex(16), stamp)


def _first_record(begin: bytes, layout: Layout) -> int:
    """Return where the start tag of the first record begins; -1 where it is not here."""
    parser = expat.ParserCreate(None, "}")
    open_tags: list[str] = []
    wanted = [tag.removeprefix("{") for tag in layout.record_path]
    found: list[int] = []

    def start(name: str, _attributes: object) -> None:
        open_tags.append(name)
        if open_tags == wanted:
            found.append(parser.CurrentByteIndex)

    def end(_name: str) -> None:
        open_tags.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(begin, False)
    except expat.ExpatError:
        return -1  # whoever reads the file as a whole says what is wrong with it
    return found[0] if found else -1


def slices(frame: Frame, size: int) -> Iterator[bytes]:
    """Yield the records with what stands between them, in pieces of about `size` bytes that end with a record.

    Raises
    ------
    NotSlicedError
        No record ends for a long way, or the file changed.
    """
    with frame.path.open("rb") as stream:
        left = frame.path.stat().st_size - len(frame.head) - len(frame.tail)
        stream.seek(len(frame.head))
        piece = b""
        while left > 0:
            block = stream.read(min(size, left))
            if not block or len(piece) > _LONGEST:
                raise NotSlicedError("no end of a record")
            left -= len(block)
            piece += block
            end = piece.rfind(frame.end_tag) + len(frame.end_tag)
            if end >= len(frame.end_tag):
                yield piece[:end]
                piece = piece[end:]
    if piece:
        raise NotSlicedError("the file changed")


def cuts(frame: Frame, size: int) -> Iterator[tuple[int, int]]:
    """Yield where each piece of `slices` begins and ends in the file, without reading more than its end.

    Raises
    ------
    NotSlicedError
        As `slices`.
    """
    with frame.path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
        end = len(text) - len(frame.tail)
        begin, reach = len(frame.head), len(frame.head)
        while reach < end:
            reach = min(reach + size, end)
            found = text.rfind(frame.end_tag, begin, reach)
            if found >= 0:
                yield begin, (begin := found + len(frame.end_tag))
            elif reach - begin > _LONGEST:
                raise NotSlicedError("no end of a record")
        if begin != end:
            raise NotSlicedError("the file changed")


def places(frame: Frame, records: Iterable[int], size: int) -> tuple[list[tuple[int, int]], int]:
    """Find where some records stand, each with what is before it, by nothing but end tags; and count these.

    Where an end tag is none, as in a comment, the count is wrong, and the documents made of such places hold no such
    number of records: who asks has to compare both.

    Parameters
    ----------
    records : iterable of int
        Positions, ascending; those that the file does not have are left out.
    size : int
        Bytes that are looked through at a time.
    """
    wanted = iter(records)
    following = next(wanted, None)
    found: list[tuple[int, int]] = []
    before = 0
    with frame.path.open("rb") as stream:
        for begin, end in cuts(frame, size):
            stream.seek(begin)
            text = stream.read(end - begin)
            here = text.count(frame.end_tag)
            if following is not None and following < before + here:
                ends = [0, *(one.end() for one in re.finditer(re.escape(frame.end_tag), text))]
                while following is not None and following < before + here:
                    at = following - before
                    found.append((begin + ends[at], begin + ends[at + 1]))
                    following = next(wanted, None)
            before += here
    return found, before


def names_around(frame: Frame, layout: Layout) -> frozenset[str]:
    """Return what `outside_names` finds in a file of which all documents pass `framed_test`.

    Raises
    ------
    NotSlicedError
        What stands around the records is no document.
    """
    try:
        root = etree.fromstring(frame.document(b""), tree_parser())
    except etree.XMLSyntaxError as problem:
        raise NotSlicedError(str(problem)) from None
    found: set[str] = set()
    for element in root.iter(etree.Element):
        tags = (*reversed([str(above.tag) for above in element.iterancestors()]), str(element.tag))
        if tags != layout.record_path[: len(tags)]:
            found.add(str(element.tag))
        found.update(f"@{name!s}" for name in element.attrib)
    return frozenset(found)


def framed_test(frame: Frame, layout: Layout) -> tuple[str, dict[str, str]]:
    """Return what is true of a framed document if records alone stand in their only parent, and the prefixes.

    It is XPath 1.0, with a prefix for each namespace.
    """
    prefixes: dict[str, str] = {}
    names: list[str] = []
    for tag in layout.record_path:
        uri, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
        if uri:
            prefix = next((p for p, u in prefixes.items() if u == uri), f"m{len(prefixes)}")
            prefixes[prefix] = uri
            local = f"{prefix}:{local}"
        names.append(local)
    path = "".join(f"/{name}" for name in names[:-1])
    only = f"count({path}) = 1 and not({path}/*[not(self::{names[-1]})])"
    return f"{only} and count({path}/processing-instruction('{_TARGET}')[. = '{frame.mark}']) = 1", prefixes
