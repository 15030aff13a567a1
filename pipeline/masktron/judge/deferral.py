"""Records of a batch as small documents for the engine that decides, which is asked once about equal cells.

Theorem: a check that reads some fields of its record and nothing else does the same on two records whose cells in
these fields are there in both or in neither, and equal byte for byte. Its outcome is a function of what an XML parser
makes of these cells, and that is a function of their bytes, as cells of the statuses EMPTY and TEXT have no markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.judge.report_reader import RecordPlace, records_of
from masktron.problems.problem import Place
from masktron.sources.columns import Batch, Cell
from masktron.sources.flat_records import FlatRecords
from masktron.sources.record_layout import Layout
from masktron.sources.text_places import characters, column_behind, line_end
from masktron.sources.xml.microdata import frame_of
from masktron.sources.xml.parser import parse_text

_HERE = "<!--records-->"
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class DocumentFrame:
    """What stands around the records of a file, with the namespaces and attributes of their ancestors.

    Attributes
    ----------
    path : Path
    before, after : bytes
        Start and end tags, in UTF-8.
    outside : frozenset of str
        Clark names of the attributes there, with ``@``.
    """

    path: Path
    before: bytes
    after: bytes
    outside: frozenset[str]

    @classmethod
    def of(cls, path: Path, layout: Layout) -> DocumentFrame | None:
        """Read the beginning of a file; None where it has no record."""
        parent = frame_of(path, layout)
        if parent is None:
            return None
        parent.append(etree.Comment("records"))
        root = parent.getroottree().getroot()
        before, _, after = etree.tostring(root, encoding="unicode").partition(_HERE)
        outside = frozenset(f"@{name!s}" for element in root.iter(etree.Element) for name in element.attrib)
        return cls(path, before.encode(), after.encode(), outside)

    @classmethod
    def around(cls, flat: FlatRecords) -> DocumentFrame | None:
        """Return what stands around the records of a flat file; None where it has no record."""
        if flat.around is None:
            return cls.of(flat.path, flat.layout)
        before, after = flat.around
        return cls(flat.path, before.encode(), after.encode(), frozenset())

    def empty(self) -> etree._Element:
        """Return the document without its records."""
        return parse_text(self.before + self.after)

    def document(self, batch: Batch, rows: NDArray[np.int64]) -> etree._Element:
        """Return a document of some records, in ascending order; what stands between neighbours comes with them.

        Raises
        ------
        DocumentError
            The bytes are not the records that they were taken for.
        """
        try:
            root = parse_text(self.before + _utf8(batch.records(rows), batch.codec) + self.after)
        except etree.XMLSyntaxError:
            root = None
        if root is None or len(records_of(root, batch.layout)) != len(rows):
            first, last = (batch.first + int(row) + 1 for row in (rows[0], rows[-1]))
            place = Place(str(self.path), int(batch.lines[rows[0]]))
            raise DocumentError.of(
                "file-changed", place, what=f": records {first:,} to {last:,} are no longer what they were"
            )
        return root


def places_of(
    root: etree._Element, batch: Batch, rows: NDArray[np.int64], columns: Mapping[int, int]
) -> list[RecordPlace]:
    """Return the places in the file of the records of a document, from the columns that they begin in."""
    return [
        RecordPlace(
            record,
            batch.first + int(row),
            int(batch.lines[row]),
            columns[int(row)],
            None if batch.made else partial(_text, batch, int(row)),
        )
        for record, row in zip(records_of(root, batch.layout), rows, strict=True)
    ]


def _text(batch: Batch, row: int) -> tuple[bytes, ...]:
    return (_utf8(batch.record(row), batch.codec),)


def _utf8(text: bytes, codec: str) -> bytes:
    return text if codec in ("utf-8", "ascii") else text.decode(codec).encode()


class ColumnCounter:
    """Counts the characters before records in their lines; records are asked for in the order of the file.

    Every byte is looked at once, also in a file that is one long line.

    Parameters
    ----------
    path : Path
    at, column : int
        A byte before all that is asked for, and the column, from 1, that it stands in.
    """

    def __init__(self, path: Path, at: int = 0, column: int = 1) -> None:
        self.path = path
        self._at = at
        self._column = column
        self._held: tuple[Batch | None, bytes] = (None, b"")

    def of(self, batch: Batch, row: int) -> int:
        """Return the column, from 1, of the start tag of a record; 1 where no file has the tag."""
        if batch.made:
            return 1
        if self._held[0] is not batch:
            self._held = (batch, batch.buffer.tobytes())
        text, start = self._held[1], int(batch.starts[row])
        known = self._at - batch.offset
        if (end := line_end(text, max(known, 0), start)) >= 0:
            column = 1 + characters(text[end + 1 : start], batch.codec)
        else:
            if known < 0:
                self._pass_over(batch)
            column = self._column + characters(text[max(known, 0) : start], batch.codec)
        self._at, self._column = batch.offset + start, column
        return column

    def _pass_over(self, batch: Batch) -> None:
        """Go on to the beginning of a batch, through what the file has before it."""
        with self.path.open("rb") as stream:
            stream.seek(self._at)
            while block := stream.read(min(_BLOCK, batch.offset - self._at)):
                self._column = column_behind(block, self._column, batch.codec)
                self._at += len(block)


type CellsKey = tuple[int, tuple[bytes | None, ...]]
type OutcomeCounts = tuple[int, int, int, int, int]
"""Nodes of a record on which a check was evaluated, failed, and raised an error; whether libxml2 alone refuses the
record, and accepts it."""


class OutcomeCache:
    """Outcomes of checks by the cells that they read.

    Parameters
    ----------
    reads : callable
        Returns the fields, by position in the layout, that decide a check and its contexts.
    size : int
        Number of outcomes to keep; later ones are forgotten at once. 0 remembers nothing.
    """

    def __init__(self, reads: Callable[[int], frozenset[int]], size: int) -> None:
        self.size = size
        self._reads = reads
        self._known: dict[CellsKey, OutcomeCounts] = {}

    def keys(self, batch: Batch, check: int, rows: NDArray[np.int64]) -> list[CellsKey | None]:
        """Return under what the outcomes of a check on some records are known; None where they cannot be."""
        if not self.size:
            return [None] * len(rows)
        cells = [batch.cells[at] for at in sorted(self._reads(check))]
        odd = batch.odd[rows].copy()
        for cell in cells:
            odd |= cell.status[rows] == Cell.ODD
        text = memoryview(batch.buffer)
        columns = [
            [
                None if status == Cell.ABSENT else bytes(text[start:stop])
                for status, start, stop in zip(
                    cell.status[rows].tolist(), cell.start[rows].tolist(), cell.stop[rows].tolist(), strict=True
                )
            ]
            for cell in cells
        ]
        contents = zip(*columns, strict=True) if columns else [()] * len(rows)
        return [None if bad else (check, content) for bad, content in zip(odd.tolist(), contents, strict=True)]

    def recall(self, key: CellsKey | None) -> OutcomeCounts | None:
        """Return the outcome, where it is known."""
        return None if key is None else self._known.get(key)

    def store(self, key: CellsKey | None, counts: OutcomeCounts) -> None:
        """Remember an outcome, while there is room."""
        if key is not None and len(self._known) < self.size:
            self._known[key] = counts
