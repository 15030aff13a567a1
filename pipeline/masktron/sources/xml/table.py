"""Columns of a plain file from its batches: every distinct text is looked at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.progress import Told, untold
from masktron.sources.array_stores import ArrayStore, MemoryStore
from masktron.sources.column import Column, Status
from masktron.sources.columns import Batch, Cell, Cells, Numbers, numbers_of
from masktron.sources.dataset import Dataset
from masktron.sources.key_table import KeyTable
from masktron.sources.lexicon import Lexicon, narrow_ends
from masktron.sources.missing_codes import MissingCodes, codes_of_field
from masktron.sources.record_layout import Field, Layout
from masktron.sources.variables import UNTYPED, Typed
from masktron.sources.xml.plain import iter_batches

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import PlainFile

type Read = Callable[[str, MissingCodes], tuple[Status, float, int]]
"""Returns status, number and fraction digits of a lexeme, given the missing codes."""


def read_table(
    path: Path,
    layout: Layout,
    plain: PlainFile,
    missing: Mapping[str, frozenset[str]],
    read: Read,
    told: Told = untold,
    store: ArrayStore | None = None,
) -> Dataset | None:
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
    store : ArrayStore, optional
        Where the columns are; in memory by default.

    Raises
    ------
    DocumentError
        The file cannot be read, or changed since it was surveyed; or the store has no room.
    """
    codes = {name: codes_of_field(own) for name, own in missing.items()}
    counted = functools.partial(_told_of, told, plain.records)
    with closing(iter_batches(path, layout, plain)) as batches:
        return columns_of_batches(path, layout, batches, codes, read, told=counted, store=store)


def columns_of_batches(
    path: Path,
    layout: Layout,
    batches: Iterable[Batch],
    codes: Mapping[str, MissingCodes],
    read: Read,
    *,
    typed: Mapping[str, Typed] = MappingProxyType({}),
    told: Callable[[int], None],
    store: ArrayStore | None = None,
) -> Dataset | None:
    """Read batches of flat records into columns; None where a record or cell has markup inside.

    Parameters
    ----------
    path, layout
        Of the file.
    batches : iterable of Batch
    codes : mapping of str to MissingCodes
        Of every field.
    read : callable
        Has the last word on a lexeme that is not a plain decimal number.
    typed : mapping of str to Typed, optional
        What the types of columns say.
    told : callable
        Told of the records read.
    store : ArrayStore, optional
        Where the columns are; in memory by default.

    Raises
    ------
    DocumentError
        The store has no room.
    """
    filling = TableFilling(layout, codes, read, typed=typed, store=store)
    for batch in batches:
        if not filling.add(batch):
            return None
        told(batch.first + len(batch))
    return Dataset.flat(path, layout, filling.columns(), filling.lines())


class TableFilling:
    """Flat records, read batch by batch into columns.

    Parameters
    ----------
    layout, codes, read, typed, store
        As in `columns_of_batches`.
    """

    def __init__(
        self,
        layout: Layout,
        codes: Mapping[str, MissingCodes],
        read: Read,
        *,
        typed: Mapping[str, Typed] = MappingProxyType({}),
        store: ArrayStore | None = None,
    ) -> None:
        store = MemoryStore() if store is None else store
        self._layout, self._typed = layout, typed
        self._fillings = [_Filling(at, codes[field.name], read, store) for at, field in enumerate(layout.fields)]
        self._lines = store.growing(np.int64)

    def add(self, batch: Batch) -> bool:
        """Add the records of a batch; tell whether neither a record nor a cell has markup inside."""
        if batch.odd.any() or not all(filling.add(batch) for filling in self._fillings):
            return False
        self._lines.add(batch.lines)
        return True

    def columns(self) -> dict[str, Column]:
        """Return what was added; once, as a filling is let go with what it knows as soon as its column is made."""
        return {
            f.name: self._fillings.pop(0).column(f, self._typed.get(f.name, UNTYPED)) for f in self._layout.fields
        }

    def lines(self) -> NDArray[np.int64]:
        """Return the lines of the records that were added."""
        return self._lines.whole()


def _told_of(told: Told, records: int, done: int) -> None:
    told(done, records)


class _Filling:
    """A column, filled batch by batch; what is to be known of a text is found out once for the whole file.

    Where the store bounds how many texts are looked up, they are written to it when they are so many, and a table of
    others begins: equal texts of two tables are two texts of the column.
    """

    def __init__(self, at: int, codes: MissingCodes, read: Read, store: ArrayStore) -> None:
        self._at = at
        self._codes = codes
        self._read = read
        self._most = store.most_texts
        self._keys = KeyTable()
        self._codec = "utf-8"
        self._numbered = store.growing(np.int32)
        self._octets = store.growing(np.uint8)
        self._ends = store.growing(np.int64)
        self._ends.add(np.zeros(1, dtype=np.int64))
        self._status = store.growing(np.uint8)
        self._values = store.growing(np.float64)
        self._apart: dict[int, str] = {}
        self._rows = 0
        self._decimals = 0
        self._before = 0
        """Texts of tables that are written."""
        self._bytes = 0
        """Of these texts."""
        self._distinct = True

    def column(self, field: Field, typed: Typed) -> Column:
        """Return what was filled in."""
        which = self._numbered.whole()
        known = len(self._keys)
        places, others = self._placed(list(dict.fromkeys(self._apart.values())))
        new = [lexeme for lexeme, place in places.items() if place >= known]
        for row, lexeme in self._apart.items():
            which[row] = self._before + places[lexeme]
        read = [self._read(lexeme, self._codes) for lexeme in new]
        gone = which < 0
        if gone.any():
            which[gone] = self._before + known + len(new)
            read.append((Status.ABSENT, np.nan, 0))
        self._write([*others, *([None] if gone.any() else [])])
        self._status.add(np.array([state for state, *_ in read], dtype=np.uint8))
        self._values.add(np.array([number for _, number, _ in read], dtype=np.float64))
        ends = self._ends.whole()
        return Column(
            field,
            which,
            Lexicon(self._octets.whole(), narrow_ends(ends) if self._most is None else ends, self._distinct),
            self._status.whole(),
            self._values.whole(),
            max([self._decimals, *(digits for *_, digits in read)]),
            typed,
        )

    def _write(self, more: Sequence[str | None] = ()) -> None:
        """Put the texts of the table into the store, and some more behind them; begin another table."""
        lexicon = self._keys.lexicon(self._codec, more)
        self._distinct &= lexicon.distinct and not self._before
        self._octets.add(lexicon.data)
        self._ends.add(lexicon.ends[1:].astype(np.int64) + self._bytes)
        self._before += len(lexicon)
        self._bytes += len(lexicon.data)
        self._keys = KeyTable()

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
        self._numbered.add(np.where(which < 0, which, which + np.int32(self._before)))
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
        if self._most is not None and len(self._keys) > self._most:
            self._write()
        return True

    def _look_at(self, texts: list[str], numbers: Numbers) -> None:
        """Find status and number of texts that come for the first time."""
        scale, values = numbers.scale, numbers.double
        status = np.full(len(texts), Status.PRESENT, dtype=np.uint8)
        # one that is no plain number is read below
        coded = (scale >= 0) & np.isin(values, self._codes.doubles)
        self._decimals = max(self._decimals, int(scale[~coded].max(initial=0)))
        for at in np.flatnonzero((scale < 0) | coded).tolist():
            status[at], values[at], digits = self._read(texts[at], self._codes)
            self._decimals = max(self._decimals, digits)
        self._status.add(status)
        self._values.add(values)


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
