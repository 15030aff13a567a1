"""That every byte of a file is a plain table of records.

Three readers share the work. libxml2 parses every byte, in a thread of its own, and only says whether the file is
well-formed. The kernel tokenizes the records. What the kernel does not understand to the last byte (what stands
before, between and behind the records, records that are odd, names it sees for the first time) is given to expat,
as if the plain records were not there; so the tree of paths is the one that expat makes of the whole file, and so
are its refusals: libxml2 lets undeclared prefixes and other errors of namespaces pass. A record without
declarations, made of names that expat has accepted in the same place, cannot have such an error.

Where anything is otherwise, the file goes the exact way, which raises the errors and says what is not flat.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.scanner import ALIEN, END, LOOK_BEFORE, LOOK_RECORD, MORE, UNKNOWN
from masktron.sources.flat_records import RecordSlice
from masktron.sources.record_layout import Field, Layout, Shape
from masktron.sources.text_places import column_behind
from masktron.sources.xml.blocks import SLICED, Found, Name, PlainFile, ScanTable, joined
from masktron.sources.xml.parser import Encoding, deaf_parser
from masktron.sources.xml.prefix import NotPlain, Paths, Start
from masktron.sources.xml.shapes import shape_of
from masktron.sources.xml.wellformed import Stamp, WellFormedness, stamp_of

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import LevelScan

_ROWS = 1 << 12
_LONGEST = 1 << 25
"""Longest record, or gap between two, that is carried from block to block."""
MOST_NAMES = 4096
"""Names of records, as written, beyond which no table of them is made."""
SHOWN = 2
"""So many records are shown to expat in any case: it has to see that the record element repeats."""
_IN_FLIGHT = 2
_FORBIDDEN = ("\ufffe", "\uffff")


def established(
    path: Path,
    stream: BinaryIO,
    encoding: Encoding,
    start: Start,
    record: str | None,
    hints: Collection[str],
    block: int,
    judge: WellFormedness | None = None,
) -> tuple[Layout, Shape, PlainFile]:
    """Read a whole file, whose first records were found to be flat.

    libxml2 reads it here too, unless it has begun before.

    Raises
    ------
    NotPlain
        The file is not a plain table all through.
    XMLSyntaxError, ExpatError, UnicodeDecodeError, MasktronError
        It cannot be parsed, or nothing tells which element is the record.
    """
    stamp = stamp_of(stream)
    reading = _Reading(Paths(path, encoding), start, encoding.codec)
    read_whole(reading, stream, stamp, block, judge)
    layout, node = reading.walk.found(encoding, record, hints)
    shape = shape_of(node)
    if layout.record_path != start.path or not shape.flat or stamp_of(stream) != stamp:
        raise NotPlain
    plain = PlainFile(
        codec=encoding.codec,
        start=start.offset,
        line=start.line,
        records=reading.records,
        record=start.raw,
        names=reading.names_in(layout),
        stamp=stamp,
        slices=reading.slices(),
    )
    return layout, shape, plain


def read_whole(
    reading: KernelReading, stream: BinaryIO, stamp: Stamp, block: int, judge: WellFormedness | None
) -> None:
    """Read a file of which the first records are known to be as they should be.

    Raises
    ------
    NotPlain
        The file is not all through what the kernel reads, or has changed.
    XMLSyntaxError, ExpatError, UnicodeDecodeError
        It cannot be parsed.
    """
    stream.seek(0)
    start = reading.start
    head = stream.read(start.offset)
    reading.begin(head)
    # records that declare their own namespace are other elements than those of the same name that do not
    if reading.walk.clark(start.raw, attribute=False) != start.path[-1]:
        raise NotPlain
    if judge is None:
        _take_all(reading, stream, block, head)
    else:
        while read := stream.read(block):
            reading.take(read)
        if judge.verdict() != stamp:
            raise NotPlain
    reading.finish()


def _take_all(reading: KernelReading, stream: BinaryIO, block: int, head: bytes) -> None:
    """Read a file, with libxml2 behind in a thread."""
    parser = deaf_parser()
    with ThreadPoolExecutor(max_workers=1) as helper:
        judged: deque[Future[None]] = deque([helper.submit(parser.feed, head)])
        while read := stream.read(block):
            judged.append(helper.submit(parser.feed, read))
            reading.take(read)
            while len(judged) > _IN_FLIGHT:
                judged.popleft().result()
        for verdict in judged:
            verdict.result()
        helper.submit(parser.close).result()


class KernelReading(ABC):
    """The kernel's pass over a file, with expat for what it does not understand.

    Parameters
    ----------
    walk : Paths
        Fed with nothing yet.
    start : Start
    codec : str
    """

    def __init__(self, walk: Paths, start: Start, codec: str) -> None:
        self.walk = walk
        self.start = start
        self.records = 0
        self._decoder = codecs.getincrementaldecoder(codec)()
        self._rest: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._ended = False
        self._table = self._new_table()
        self._line = start.line

    @abstractmethod
    def _new_table(self) -> ScanTable | LevelScan:
        """Return what the kernel is called with, from the names that are known."""

    @abstractmethod
    def _learn(self, raw: bytes, found: Found) -> None:
        """Take a name into the table, after a record that has it was shown to expat."""

    @abstractmethod
    def _show(self, data: NDArray[np.uint8], found: Found) -> bool:
        """Give expat what it has to see of these records; tell whether there was anything."""

    @abstractmethod
    def _check_shape(self) -> None:
        """Give up as soon as something is not as it should be."""

    def begin(self, head: bytes) -> None:
        """Read what stands before the records."""
        self.walk.feed(head)

    def take(self, block: bytes) -> None:
        """Read the next bytes of the file."""
        self._check_characters(block)
        if self._ended:
            self.walk.feed(block)
            self._check_shape()
            return
        data, size = joined(self._rest, block, self._table.padding)
        reason, shown = -1, False
        while reason not in (MORE, END):
            found = self._table.scan(data, size, self._line, learn=True)
            reason = found.reason
            shown |= self._show(data, found)
            self._pass(data, found)
            self.records += found.rows
            if reason == UNKNOWN:
                self._learn(data[found.name_start : found.name_stop].tobytes(), found)
                if len(data) - size < self._table.padding:
                    data, size = joined(data[:size], b"", self._table.padding)
            data, size = data[found.at :], size - found.at
            if reason == ALIEN:
                raise NotPlain
        if reason == END:
            self._ended = shown = True
            self._end(data[:size].tobytes())
        if size > _LONGEST:
            raise NotPlain
        self._rest = data[:size]
        if shown:
            self._check_shape()

    def finish(self) -> None:
        """Take note that the file ends here."""
        if not self._ended:
            raise NotPlain
        self._decoder.decode(b"", True)
        self.walk.feed(b"", final=True)

    def _end(self, rest: bytes) -> None:
        """Read what comes behind the records."""
        self.walk.feed(rest)

    def _pass(self, data: NDArray[np.uint8], found: Found) -> None:
        """Take note of where records end."""
        self._line = found.line

    def _spans(self, data: NDArray[np.uint8], rows: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records that expat has to see, by row, with what stands before them where it has to see that."""
        look, starts, stops = self._table.look, self._table.starts, self._table.stops
        look[: max(0, min(rows, SHOWN - self.records))] |= LOOK_RECORD
        for row in np.flatnonzero(look[:rows]).tolist():
            begin = starts[row]
            if look[row] & LOOK_BEFORE:
                begin = stops[row - 1] if row else 0
            stop = stops[row] if look[row] & LOOK_RECORD else starts[row]
            yield row, data[begin:stop].tobytes()

    def _check_characters(self, block: bytes) -> None:
        """Refuse what the encoding does not have, and the two characters beyond ASCII that XML forbids."""
        if block.isascii() and not self._decoder.getstate()[0]:
            return
        text = self._decoder.decode(block)
        if any(character in text for character in _FORBIDDEN):
            raise NotPlain


class _Reading(KernelReading):
    """The pass over a flat file."""

    def __init__(self, walk: Paths, start: Start, codec: str) -> None:
        self._names: dict[tuple[bytes, bool], Field | None] = {}
        self._columns: dict[Field, int] = {}
        super().__init__(walk, start, codec)
        self._codec, self._offset, self._column = codec, start.offset, 1
        self._places: list[RecordSlice] = []

    def begin(self, head: bytes) -> None:
        super().begin(head)
        self._column = column_behind(head, 1, self._codec)
        self._places = [self._here()]

    def take(self, block: bytes) -> None:
        super().take(block)
        if not self._ended and self._offset >= self._places[-1].begin + SLICED:
            self._places.append(self._here())

    def slices(self) -> tuple[RecordSlice, ...]:
        """Return the file in slices."""
        places = [place for place in self._places if place.first < self.records]
        ends = [(place.first, place.begin) for place in places[1:]] + [(self.records, -1)]
        return tuple(
            replace(place, records=following - place.first, end=end)
            for place, (following, end) in zip(places, ends, strict=True)
        )

    def _pass(self, data: NDArray[np.uint8], found: Found) -> None:
        super()._pass(data, found)
        self._column = column_behind(data[: found.at].tobytes(), self._column, self._codec)
        self._offset += found.at

    def _here(self) -> RecordSlice:
        return RecordSlice(self.records, 0, self._offset, -1, self._line, self._column)

    def names_in(self, layout: Layout) -> tuple[Name, ...]:
        """Return the names that were met, with their columns in a layout."""
        columns = {(f.tag, f.attribute): at for at, f in enumerate(layout.fields)}
        return tuple(
            Name(raw, attribute, columns[field.tag, field.attribute] if field else -1)
            for (raw, attribute), field in self._names.items()
        )

    def _new_table(self) -> ScanTable:
        names = [
            Name(raw, attribute, self._columns[field] if field else -1)
            for (raw, attribute), field in self._names.items()
        ]
        return ScanTable(self.start.raw, names, len(self._columns), _ROWS)

    def _learn(self, raw: bytes, found: Found) -> None:
        field, attribute = None, found.is_attribute
        tag = self.walk.clark(raw, attribute=attribute)
        if tag is not None and tag in self._known(attribute=attribute):
            field = Field("", tag, attribute)
            self._columns.setdefault(field, len(self._columns))
        self._names[raw, attribute] = field
        if len(self._names) > MOST_NAMES:
            raise NotPlain
        self._table = self._new_table()

    def _known(self, *, attribute: bool) -> Collection[str]:
        node = self.walk.at(self.start.path)
        return node.attributes if attribute else [child.tag for child in node.children.values()]

    def _show(self, data: NDArray[np.uint8], found: Found) -> bool:
        shown = b"".join(text for _, text in self._spans(data, found.rows))
        if shown:
            self.walk.feed(shown)
        return bool(shown)

    def _check_shape(self) -> None:
        if not shape_of(self.walk.at(self.start.path)).flat:
            raise NotPlain
