"""Columns of a plain file from its batches: every distinct text is looked at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.progress import Told, untold
from masktron.sources.columns import Batch, Cell, Cells, Numbers, numbers_of
from masktron.sources.key_table import KeyTable
from masktron.sources.missing_codes import codes_of_field
from masktron.sources.records import Column, Field, Layout, Records, Status
from masktron.sources.xml.plain import iter_batches

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import PlainFile

type Read = Callable[[str, frozenset[str]], tuple[Status, float, int]]
"""Returns status, number and fraction digits of a lexeme, given the missing codes."""


def read_table(
    path: Path,
    layout: Layout,
    plain: PlainFile,
    missing: Mapping[str, frozenset[str]],
    read: Read,
    told: Told = untold,
) -> Records | None:
    """Read a plain file into columns; None where a record or cell has markup inside.

    Parameters
    ----------
    path, layout, plain
        From `masktron.sources.xml.plain.survey_plain`.
    missing : mapping of str to frozenset of str
        Missing codes of every field.
    read : callable
        Has the last word on a lexeme that is not a plain decimal number.
    told : callable, optional
        Told of the records read, and of how many there are.

    Raises
    ------
    DocumentError
        The file cannot be read, or changed since it was surveyed.
    """
    fillings = [_Filling(at, missing[field.name], read) for at, field in enumerate(layout.fields)]
    lines = [np.empty(0, dtype=np.int64)]
    with closing(iter_batches(path, layout, plain)) as batches:
        for batch in batches:
            if batch.odd.any() or not all(filling.add(batch) for filling in fillings):
                return None
            lines.append(batch.lines)
            told(batch.first + len(batch), plain.records)
    # a filling is let go with what it knows as soon as its column is made
    columns = {field.name: fillings.pop(0).column(field) for field in layout.fields}
    return Records(path, layout, MappingProxyType(columns), np.concatenate(lines))


class _Filling:
    """A column, filled batch by batch; what is to be known of a text is found out once for the whole file."""

    def __init__(self, at: int, codes: frozenset[str], read: Read) -> None:
        self._at = at
        self._codes = codes
        self._read = read
        self._keys = KeyTable()
        self._numbered: list[NDArray[np.int32]] = [np.empty(0, dtype=np.int32)]
        self._codec = "utf-8"
        self._status: list[NDArray[np.uint8]] = []
        self._values: list[NDArray[np.float64]] = []
        self._apart: dict[int, str] = {}
        self._rows = 0
        self._decimals = 0

    def column(self, field: Field) -> Column:
        """Return what was filled in."""
        which = np.concatenate(self._numbered)
        self._numbered.clear()
        known = len(self._keys)
        places, others = self._placed(list(dict.fromkeys(self._apart.values())))
        new = [lexeme for lexeme, place in places.items() if place >= known]
        for row, lexeme in self._apart.items():
            which[row] = places[lexeme]
        read = [self._read(lexeme, self._codes) for lexeme in new]
        gone = which < 0
        if gone.any():
            which[gone] = known + len(new)
            read.append((Status.ABSENT, np.nan, 0))
        return Column(
            field,
            which,
            self._keys.lexicon(self._codec, [*others, *([None] if gone.any() else [])]),
            np.concatenate([*self._status, np.array([state for state, *_ in read], dtype=np.uint8)]),
            np.concatenate([*self._values, np.array([number for _, number, _ in read], dtype=np.float64)]),
            max([self._decimals, *(digits for *_, digits in read)]),
        )

    def _placed(self, lexemes: list[str]) -> tuple[dict[str, int], list[str]]:
        """Number distinct texts that a parser has read; return also those that no cell can hold as they are.

        Texts that are new come in the order of their numbers.
        """
        encoded = {lexeme: _encoded(lexeme, self._codec) for lexeme in lexemes}
        keys = [one for one in encoded.values() if one is not None]
        ends = np.cumsum([0, *map(len, keys)])
        octets = np.frombuffer(b"".join(keys), dtype=np.uint8)
        found = self._keys.number(octets, ends[:-1], ends[1:], np.ones(len(keys), dtype=np.bool_))
        numbered = (lexeme for lexeme, one in encoded.items() if one is not None)
        places = dict(zip(numbered, found.tolist(), strict=True))
        others = [lexeme for lexeme, one in encoded.items() if one is None]
        return {**places, **{lexeme: len(self._keys) + at for at, lexeme in enumerate(others)}}, others

    def add(self, batch: Batch) -> bool:
        """Add the cells of a batch; tell whether none has markup inside."""
        cells = batch.cells[self._at]
        plain = (cells.status == Cell.TEXT) | (cells.status == Cell.EMPTY)
        known, self._codec = len(self._keys), batch.codec
        which = self._keys.number(batch.buffer, cells.start, cells.stop, plain)
        self._numbered.append(which)
        if len(self._keys) > known:
            new = np.flatnonzero(which >= known)
            first = np.empty(len(self._keys) - known, dtype=np.int64)
            first[which[new[::-1]] - known] = new[::-1]
            few = Cells(cells.start[first], cells.stop[first], cells.status[first])
            self._look_at(self._keys.texts(known, batch.codec), numbers_of(batch.buffer, few))
        for row in np.flatnonzero(cells.status == Cell.ODD).tolist():
            lexeme = _parsed(batch, self._at, row)
            if lexeme is None:
                return False
            self._apart[self._rows + row] = lexeme
        self._rows += len(batch)
        return True

    def _look_at(self, texts: list[str], numbers: Numbers) -> None:
        """Find status and number of texts that come for the first time."""
        scale, values = numbers.scale, numbers.double
        status = np.full(len(texts), Status.PRESENT, dtype=np.uint8)
        # one that is no plain number is read below
        coded = (scale >= 0) & np.isin(values, codes_of_field(self._codes).doubles)
        self._decimals = max(self._decimals, int(scale[~coded].max(initial=0)))
        for at in np.flatnonzero((scale < 0) | coded).tolist():
            status[at], values[at], digits = self._read(texts[at], self._codes)
            self._decimals = max(self._decimals, digits)
        self._status.append(status)
        self._values.append(values)


def _encoded(lexeme: str, codec: str) -> bytes | None:
    """Return a text as a cell of the file would have it; None where its encoding lacks a character of it."""
    try:
        return lexeme.encode(codec)
    except UnicodeEncodeError:
        return None


def _parsed(batch: Batch, at: int, row: int) -> str | None:
    """Let a parser read a cell with references or carriage returns; None where its text is not in one piece."""
    cells = batch.cells[at]
    raw = batch.buffer[cells.start[row] : cells.stop[row]].tobytes().decode(batch.codec)
    if not raw:
        return None
    if batch.layout.fields[at].attribute:
        quote = "'" if '"' in raw else '"'
        return etree.fromstring(f"<cell text={quote}{raw}{quote}/>").get("text")
    return etree.fromstring(f"<cell>{raw}</cell>").text
