"""Batches of flat records as offsets into the bytes of the file, and the columns that are made of them on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.numbers import powers_of_ten, read_numbers
from masktron.kernels.texts import code_texts
from masktron.sources.lexical import libxml2_number
from masktron.sources.lexicon import Lexicon
from masktron.sources.record_layout import Layout

_SHORT = 64
"""Bytes of a text that is worth a row of a table."""
_ASCII = 128


class Cell(IntEnum):
    """What stands in a field of a record, as bytes."""

    ABSENT = 0
    """No element or attribute."""
    EMPTY = 1
    """There, without a character in it."""
    TEXT = 2
    """Characters that mean themselves; white space is one of them."""
    ODD = 3
    """What only an XML parser should read: references, CDATA, comments, carriage returns, attributes, repetition."""


class NumberForm(IntEnum):
    """Which kind of number a cell spells, white space around it apart."""

    NOTHING = 0
    """The cell is absent or odd."""
    BLANK = 1
    """No character but white space."""
    INTEGER = 2
    """``-?[0-9]+``"""
    DECIMAL = 3
    """``-?([0-9]+\\.[0-9]*|\\.[0-9]+)``"""
    WORDS = 4
    """Holds a character that no number of any XPath version has: surely not a number."""
    OTHER = 5
    """Anything else: exponents, plus signs, ``INF``, ``NaN``, lone signs; the engine that decides has to read it."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """One field of a batch.

    Attributes
    ----------
    start, stop : ndarray of int64, shape (n,)
        Where the text stands in the buffer; equal where there is none.
    status : ndarray of uint8, shape (n,)
        `Cell` codes.
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    status: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The cells of a field as numbers.

    Attributes
    ----------
    form : ndarray of uint8, shape (n,)
        `NumberForm` codes.
    double : ndarray of float64, shape (n,)
        Correctly rounded, as XPath 2 and later read it; NaN where the form is neither INTEGER nor DECIMAL.
    libxml2 : ndarray of float64, shape (n,)
        As libxml2's ``number()`` reads it, bit by bit; NaN likewise.
    mantissa : ndarray of int64, shape (n,)
    scale : ndarray of int16, shape (n,)
        The exact value is ``mantissa / 10**scale``; -1 where the form is neither INTEGER nor DECIMAL, or the number
        has more than 18 digits without leading zeros.
    """

    form: NDArray[np.uint8]
    double: NDArray[np.float64]
    libxml2: NDArray[np.float64]
    mantissa: NDArray[np.int64]
    scale: NDArray[np.int16]


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """The cells of a field as text, each distinct one once.

    Attributes
    ----------
    codes : ndarray of int32, shape (n,)
        Positions in `values`; -1 where the cell is absent or odd.
    values : tuple of str
        Distinct contents of this batch, exactly as an XML parser gives them; an empty cell is the empty string.
    """

    codes: NDArray[np.int32]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Consecutive records of a flat file.

    Attributes
    ----------
    layout : Layout
    codec : str
        Python's codec of the bytes: UTF-8 or one byte per character.
    buffer : ndarray of uint8
        Whole records, with what stands between them.
    offset : int
        Of the buffer in the file.
    first : int
        Position of the first record in the file, from 0.
    starts, stops : ndarray of int64, shape (n,)
        Each record in the buffer: from the first byte of its start tag to behind the last of its end tag.
    lines : ndarray of int64, shape (n,)
        Source line (from 1) on which each record begins.
    odd : ndarray of bool, shape (n,)
        Records that are not plain as a whole (namespace declarations, comments, text between fields ...): only an
        engine should read them. What the cells of these say means nothing.
    cells : sequence of Cells
        In the order of ``layout.fields``.
    """

    layout: Layout
    codec: str
    buffer: NDArray[np.uint8]
    offset: int
    first: int
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    lines: NDArray[np.int64]
    odd: NDArray[np.bool_]
    cells: Sequence[Cells]
    _numbers: dict[int, Numbers] = field(default_factory=dict, init=False, repr=False)
    _texts: dict[int, Texts] = field(default_factory=dict, init=False, repr=False)
    _theirs: dict[int, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def made(self) -> bool:
        """Whether records are written as XML when they are asked for, as the file has none."""
        return False

    def numbers(self, at: int) -> Numbers:
        """Return a field, by its position in the layout, as numbers; made once."""
        found = self._numbers.get(at)
        if found is None:
            found = self._numbers[at] = numbers_of(self.buffer, self.cells[at])
        return found

    def texts(self, at: int) -> Texts:
        """Return a field, by its position in the layout, as text; made once."""
        found = self._texts.get(at)
        if found is None:
            found = self._texts[at] = _texts_of(self.buffer, self.cells[at], self.codec)
        return found

    def misread(self) -> tuple[NDArray[np.int64], Batch]:
        """Return the records in which libxml2 misreads a number that has been read, and a batch with what it reads.

        The numbers of that batch are what libxml2 reads; those of fields that have not been read as numbers so far
        are made as usual.
        """
        rows = self.misread_rows()
        return rows, self.as_libxml2_reads(rows)

    def misread_rows(self) -> NDArray[np.int64]:
        """Return the records in which libxml2 misreads a number that has been read."""
        apart = np.zeros(len(self), dtype=np.bool_)
        for at, own in self._numbers.items():
            # NaN has one pattern of bits in both
            apart |= self._libxml2(at).view(np.int64) != own.double.view(np.int64)
        return np.flatnonzero(apart)

    def as_libxml2_reads(self, rows: NDArray[np.int64]) -> Batch:
        """Return a batch of some records, of which the numbers that have been read are as libxml2 reads them."""
        theirs = {at: self._libxml2(at) for at in self._numbers}
        cells = tuple(Cells(c.start[rows], c.stop[rows], c.status[rows]) for c in self.cells) if len(rows) else ()
        taken = Batch(
            self.layout,
            self.codec,
            self.buffer,
            self.offset,
            self.first,
            self.starts[rows],
            self.stops[rows],
            self.lines[rows],
            self.odd[rows],
            cells,
        )
        for at, own in theirs.items():
            known = self._numbers[at]
            taken._numbers[at] = Numbers(
                known.form[rows], own[rows], own[rows], known.mantissa[rows], known.scale[rows]
            )
        return taken

    def _libxml2(self, at: int) -> NDArray[np.float64]:
        """Return what libxml2 reads in a field, exponents included, which the kernel leaves out; made once."""
        if at in self._theirs:
            return self._theirs[at]
        numbers, cells = self._numbers[at], self.cells[at]
        other = np.flatnonzero((numbers.form == NumberForm.OTHER) & (cells.status == Cell.TEXT))
        found = numbers.libxml2.copy() if len(other) else numbers.libxml2
        read: dict[bytes, float] = {}  # many records have one text
        for row, start, stop in zip(
            other.tolist(), cells.start[other].tolist(), cells.stop[other].tolist(), strict=True
        ):
            text = self.buffer[start:stop].tobytes()
            if text not in read:
                read[text] = libxml2_number(text.decode("ascii"))
            found[row] = read[text]
        return self._theirs.setdefault(at, found)

    def record(self, row: int) -> bytes:
        """Return the bytes of one record."""
        return self.buffer[self.starts[row] : self.stops[row]].tobytes()

    def records(self, rows: NDArray[np.int64]) -> bytes:
        """Return the bytes of some records, in ascending order; what stands between neighbours may come with them."""
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self.buffer[self.starts[rows[0]] : self.stops[rows[-1]]].tobytes()
        return b"".join(self.record(int(row)) for row in rows)


def numbers_of(buffer: NDArray[np.uint8], cells: Cells) -> Numbers:
    """Read cells as numbers."""
    count = len(cells.start)
    numbers = Numbers(
        np.empty(count, dtype=np.uint8),
        np.empty(count, dtype=np.float64),
        np.empty(count, dtype=np.float64),
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int16),
    )
    unsettled = np.empty(count, dtype=np.int64)
    left = read_numbers(
        buffer,
        cells.start,
        cells.stop,
        cells.status,
        powers_of_ten(),
        numbers.form,
        numbers.double,
        numbers.libxml2,
        numbers.mantissa,
        numbers.scale,
        unsettled,
    )
    for row in unsettled[:left]:
        # Python rounds every decimal correctly; ASCII is all that such a cell has
        numbers.double[row] = float(buffer[cells.start[row] : cells.stop[row]].tobytes())
    return numbers


def plain_numbers(lexicon: Lexicon) -> Numbers:
    """Read texts as numbers."""
    start, stop = lexicon.ends[:-1].astype(np.int64), lexicon.ends[1:].astype(np.int64)
    status = np.where(start == stop, np.uint8(Cell.EMPTY), np.uint8(Cell.TEXT))
    return numbers_of(lexicon.data, Cells(start, stop, status))


def _texts_of(buffer: NDArray[np.uint8], cells: Cells, codec: str) -> Texts:
    count = len(cells.start)
    codes = np.empty(count, dtype=np.int32)
    firsts = np.empty(count, dtype=np.int32)
    slots = np.full(1 << (2 * count + 1).bit_length(), -1, dtype=np.int32)
    distinct = code_texts(buffer, cells.start, cells.stop, cells.status, slots, codes, firsts)
    which = firsts[:distinct]
    return Texts(codes, tuple(decoded(buffer, cells.start[which], cells.stop[which], codec)))


def decoded(buffer: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], codec: str) -> list[str]:
    """Return the texts that stand between some offsets: short ones of ASCII all at once."""
    if not buffer.size:
        return [""] * len(starts)
    lengths = stops - starts
    short = lengths <= _SHORT
    width = max(1, int(lengths[short].max(initial=0)))
    inside = np.arange(width) < lengths[:, None]
    octets = np.where(inside, buffer.take(starts[:, None] + np.arange(width), mode="clip"), 0).astype(np.uint8)
    plain = short & (octets < _ASCII).all(axis=1)
    octets[~plain] = 0
    texts: list[str] = octets.view(f"S{width}").ravel().astype("U").tolist()
    for at in np.flatnonzero(~plain).tolist():
        texts[at] = buffer[starts[at] : stops[at]].tobytes().decode(codec)
    return texts
