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
from masktron.sources.column import Column
from masktron.sources.columns import Batch, Cell
from masktron.sources.dataset import Dataset
from masktron.sources.key_table import KeyTable
from masktron.sources.lexicon import Lexicon, narrow_ends
from masktron.sources.record_layout import Layout
from masktron.sources.variables import Variable
from masktron.sources.xml.plain import iter_batches

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import PlainFile


def read_table(
    path: Path,
    layout: Layout,
    plain: PlainFile,
    missing: Mapping[str, frozenset[str]],
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
    told : callable, optional
        Told of the records read, and of how many there are.
    store : ArrayStore, optional
        Where the columns are; in memory by default.

    Raises
    ------
    DocumentError
        The file cannot be read, or changed since it was surveyed; or the store has no room.
    """
    counted = functools.partial(_told_of, told, plain.records)
    with closing(iter_batches(path, layout, plain)) as batches:
        return columns_of_batches(path, layout, batches, missing, told=counted, store=store)


def columns_of_batches(
    path: Path,
    layout: Layout,
    batches: Iterable[Batch],
    missing: Mapping[str, frozenset[str]],
    *,
    variables: Mapping[str, Variable] = MappingProxyType({}),
    told: Callable[[int], None],
    store: ArrayStore | None = None,
) -> Dataset | None:
    """Read batches of flat records into columns; None where a record or cell has markup inside.

    Parameters
    ----------
    path, layout
        Of the file.
    batches : iterable of Batch
    missing : mapping of str to frozenset of str
        Missing codes of every field.
    variables : mapping of str to Variable, optional
        What the file says of its columns.
    told : callable
        Told of the records read.
    store : ArrayStore, optional
        Where the columns are; in memory by default.

    Raises
    ------
    DocumentError
        The store has no room.
    """
    filling = TableFilling(layout, missing, variables=variables, store=store)
    for batch in batches:
        if not filling.add(batch):
            return None
        told(batch.first + len(batch))
    return Dataset.flat(path, layout, filling.columns(), filling.lines())


class TableFilling:
    """Flat records, read batch by batch into columns.

    Parameters
    ----------
    layout, missing, variables, store
        As in `columns_of_batches`.
    """

    def __init__(
        self,
        layout: Layout,
        missing: Mapping[str, frozenset[str]],
        *,
        variables: Mapping[str, Variable] = MappingProxyType({}),
        store: ArrayStore | None = None,
    ) -> None:
        store = MemoryStore() if store is None else store
        self._fillings = [
            _Filling(at, variables.get(field.name, Variable.named(field.name)), missing[field.name], store)
            for at, field in enumerate(layout.fields)
        ]
        self._lines = store.growing(np.int64)

    def add(self, batch: Batch) -> bool:
        """Add the records of a batch; tell whether neither a record nor a cell has markup inside."""
        if batch.odd.any() or not all(filling.add(batch) for filling in self._fillings):
            return False
        self._lines.add(batch.lines)
        return True

    def columns(self) -> dict[str, Column]:
        """Return what was added; once, as a filling is let go with what it knows as soon as its column is made."""
        columns = (self._fillings.pop(0).column() for _ in range(len(self._fillings)))
        return {column.name: column for column in columns}

    def lines(self) -> NDArray[np.int64]:
        """Return the lines of the records that were added."""
        return self._lines.whole()


def _told_of(told: Told, records: int, done: int) -> None:
    told(done, records)


class _Filling:
    """The texts of a column, filled batch by batch.

    Where the store bounds how many texts are looked up, they are written to it when they are so many, and a table of
    others begins: equal texts of two tables are two texts of the column.
    """

    def __init__(self, at: int, variable: Variable, missing: frozenset[str], store: ArrayStore) -> None:
        self._at, self._variable, self._missing = at, variable, missing
        self._most = store.most_texts
        self._keys = KeyTable()
        self._codec = "utf-8"
        self._numbered = store.growing(np.int32)
        self._octets = store.growing(np.uint8)
        self._ends = store.growing(np.int64)
        self._ends.add(np.zeros(1, dtype=np.int64))
        self._apart: dict[int, str] = {}
        self._rows = 0
        self._before = 0
        """Texts of tables that are written."""
        self._bytes = 0
        """Of these texts."""
        self._distinct = True

    def column(self) -> Column:
        """Return what was filled in."""
        which = self._numbered.whole()
        known = len(self._keys)
        places, others = self._placed(list(dict.fromkeys(self._apart.values())))
        new = [lexeme for lexeme, place in places.items() if place >= known]
        for row, lexeme in self._apart.items():
            which[row] = self._before + places[lexeme]
        gone = which < 0
        if gone.any():
            which[gone] = self._before + known + len(new)
        self._write([*others, *([None] if gone.any() else [])])
        ends = self._ends.whole()
        lexicon = Lexicon(self._octets.whole(), narrow_ends(ends) if self._most is None else ends, self._distinct)
        return Column.of_texts(self._variable, lexicon, which, self._missing)

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
        self._codec = batch.codec
        which = self._keys.number(batch.buffer, cells.start, cells.stop, plain)
        self._numbered.add(np.where(which < 0, which, which + np.int32(self._before)))
        for row in np.flatnonzero(cells.status == Cell.ODD).tolist():
            lexeme = _parsed(batch, self._at, row)
            if lexeme is None:
                return False
            self._apart[self._rows + row] = lexeme
        self._rows += len(batch)
        if self._most is not None and len(self._keys) > self._most:
            self._write()
        return True


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
