"""The records of a plain file as bytes of the new one, batch by batch.

A kernel writes them. What it does not understand is parsed, edited and written by libxml2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.assembling import KEPT, REMOVED, assemble, lay_out
from masktron.progress import Told, untold
from masktron.sources.columns import Batch
from masktron.sources.record_layout import Layout
from masktron.sources.xml.blocks import PlainFile
from masktron.sources.xml.edits import Edits, records_of, serialised
from masktron.sources.xml.microdata import cut_document
from masktron.sources.xml.new_texts import octets_of
from masktron.sources.xml.plain import iter_batches

_ROOM = 1 << 23
"""Bytes that are put together before they are written."""
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True, eq=False)
class RecordRun:
    """Consecutive records as bytes.

    Attributes
    ----------
    first : int
        Position of the first of them in the source.
    lengths : ndarray of int64, shape (n,)
        Bytes of each record, with the white space before it; 0 for one that is not kept.
    parts : list of memoryview
        One behind the other.
    """

    first: int
    lengths: NDArray[np.int64]
    parts: list[memoryview]


class Pieces:
    """The records that are kept, in the order of the source, to be iterated over once.

    Attributes
    ----------
    end : int
        Where the last record ends in the source.
    """

    def __init__(
        self,
        source: Path,
        edits: Edits,
        plain: PlainFile,
        names: RawNames,
        head: bytes,
        kept: NDArray[np.bool_],
        apart: NDArray[np.bool_],
        told: Told = untold,
    ) -> None:
        """Prepare.

        Parameters
        ----------
        source, edits, plain, names
        head : bytes
            What the source has before the first record.
        kept, apart : ndarray of bool, shape (n,)
            Which records are written, and which of them have white space before them.
        told : callable, optional
            Told of the records that are put together, and of how many there are.
        """
        self.end = plain.start
        self._source, self._edits, self._plain = source, edits, plain
        self._kept, self._apart = kept, apart
        self._parsed = _Parsed(edits, head, plain.codec)
        self._told = told
        fields = edits.layout.fields
        replaced = [f for f in fields if f.name in edits.replacements]
        self._columns = [octets_of(edits.replacements[f.name], plain.codec, attribute=f.attribute) for f in replaced]
        lines = {f.name: line for line, f in enumerate(replaced)} | dict.fromkeys(edits.removed, REMOVED)
        self._table = (
            np.array(list(names.record), dtype=np.uint8),
            np.array(list(b"".join(names.fields)), dtype=np.uint8),
            np.cumsum([0, *map(len, names.fields)]).astype(np.int64),
            names.attributes,
            np.array([lines.get(f.name, KEPT) for f in fields], dtype=np.int64),
        )
        inner, last, between = (
            np.array(list(space.encode(plain.codec)), dtype=np.uint8)
            for space in (edits.spacing.inner, edits.spacing.closing, edits.spacing.between)
        )
        self._spaces = (inner, last, between)
        self._out = np.empty(_ROOM, dtype=np.uint8)
        self._texts = np.empty(_ROOM, dtype=np.uint8)

    def __iter__(self) -> Iterator[memoryview]:
        """Yield bytes, each time until the next are asked for.

        Raises
        ------
        DocumentError
            The source cannot be read, or changed since it was surveyed.
        """
        for run in self.runs():
            yield from run.parts

    def runs(self) -> Iterator[RecordRun]:
        """Yield consecutive records, each time until the next are asked for.

        Raises
        ------
        DocumentError
            As `__iter__`.
        """
        with closing(iter_batches(self._source, self._edits.layout, self._plain)) as batches:
            for batch in batches:
                self.end = batch.offset + int(batch.stops[-1])
                yield from self._written(batch)
                self._told(batch.first + len(batch), len(self._kept))

    def _written(self, batch: Batch) -> Iterator[RecordRun]:
        rows = len(batch)
        part = slice(batch.first, batch.first + rows)
        texts = self._laid_out(part)
        ends, left = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
        row = 0
        while row < rows:
            stop, size, need = assemble(
                batch.buffer,
                batch.starts,
                batch.stops,
                batch.odd,
                self._kept[part],
                self._apart[part],
                row,
                *self._table,
                *self._spaces,
                self._texts,
                *texts,
                self._out,
                ends,
                left,
            )
            if stop > row:
                lengths = np.diff(ends[row:stop], prepend=0)
                parts = list(self._spliced(self._out[:size], batch, (row, stop), ends, left, lengths))
                yield RecordRun(batch.first + row, lengths, parts)
            if need > len(self._out):
                self._out = np.empty(need, dtype=np.uint8)
            row = stop

    def _laid_out(self, part: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Put the new texts of some records together, and return where they stand, by field and record."""
        shape = (len(self._columns), part.stop - part.start)
        starts, stops = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        size = 0
        for at, column in enumerate(self._columns):
            given = (column.octets, column.spans, column.codes[part])
            while (after := lay_out(*given, self._texts, size, starts[at], stops[at])) > len(self._texts):
                self._texts = np.append(self._texts[:size], np.empty(2 * after - size, dtype=np.uint8))
            size = after
        return starts, stops

    def _spliced(
        self,
        out: NDArray[np.uint8],
        batch: Batch,
        rows: tuple[int, int],
        ends: NDArray[np.int64],
        left: NDArray[np.bool_],
        lengths: NDArray[np.int64],
    ) -> Iterator[memoryview]:
        """Yield what the kernel wrote, with what it left at its place; its length is added."""
        begin = 0
        for at, text in self._parsed.texts(batch, *rows, left):
            yield memoryview(out[begin : ends[at]])
            yield memoryview(text)
            lengths[at - rows[0]] += len(text)
            begin = ends[at]
        yield memoryview(out[begin:])


class _Parsed:
    """Records through libxml2."""

    def __init__(self, edits: Edits, head: bytes, codec: str) -> None:
        self._edits = edits
        self._head = head
        self._codec = codec

    def texts(self, batch: Batch, row: int, stop: int, left: NDArray[np.bool_]) -> list[tuple[int, bytes]]:
        """Return the text of each record that is left, from one row to another."""
        rows = (row + np.flatnonzero(left[row:stop])).tolist()
        return self._shown(batch, rows) if rows else []

    def _shown(self, batch: Batch, rows: list[int]) -> list[tuple[int, bytes]]:
        layout = self._edits.layout
        root = cut_document(self._head + b"".join(map(batch.record, rows)), layout)
        for at, tree in zip(rows, records_of(root, layout), strict=True):
            self._edits.apply(tree, batch.first + at)
        texts = (piece.text.encode(self._codec, "xmlcharrefreplace") for piece in serialised(root, layout))
        return list(zip(rows, texts, strict=True))


def space_at(text: bytes) -> bytes:
    """Return the white space at the beginning of a text, as a parser reads it."""
    space = text[: len(text) - len(text.lstrip(_SPACE))]
    return space.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


@dataclass(frozen=True, slots=True)
class RawNames:
    """The names of records.

    Attributes
    ----------
    record : bytes
        As written, with its prefix.
    fields : tuple of bytes
        Of each field of the layout; empty where none is known.
    attributes : int
        So many fields are attributes; they come first.
    """

    record: bytes
    fields: tuple[bytes, ...]
    attributes: int

    def frame(self, head: bytes, layout: Layout, codec: str) -> tuple[bytes, bytes] | None:
        """Return what is written around all records; None where libxml2 would not write names as they are.

        A tree knows namespaces, not prefixes: where a namespace has two, libxml2 chooses. A record with all names
        shows what it makes of the others.

        Parameters
        ----------
        head : bytes
            What the file has before the first record.
        layout : Layout
        codec : str
        """
        attributes = b"".join(b' %s=""' % raw for raw in self.fields[: self.attributes] if raw)
        children = b"".join(b"<%s/>" % raw for raw in self.fields[self.attributes :] if raw)
        sample = b"<%s%s>%s</%s>" % (self.record, attributes, children or b" ", self.record)
        root = cut_document(head + sample, layout)
        spaces = list(records_of(root, layout)[0].nsmap.values())
        if len(set(spaces)) < len(spaces):
            return None
        [piece] = serialised(root, layout)
        opening, text, closing = (
            part.encode(codec, "xmlcharrefreplace") for part in (piece.opening, piece.text, piece.closing)
        )
        return (opening, closing) if text == sample else None


def names_of(layout: Layout, plain: PlainFile) -> RawNames | None:
    """Take the names from a survey; None where a field has two, or the layout is not as surveys make it."""
    attributes = sum(f.attribute for f in layout.fields)
    known = [(name.column, name.raw) for name in plain.names if name.column >= 0]
    raw = dict(known)
    first = all(f.attribute for f in layout.fields[:attributes])
    if len(raw) < len(known) or len(layout.record_path) < 2 or not first:
        return None
    return RawNames(plain.record, tuple(raw.get(at, b"") for at in range(len(layout.fields))), attributes)
