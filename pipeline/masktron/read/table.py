"""Columns of a plain file from its batches: every distinct text of a batch is looked at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.read.columns import Batch, Cell
from masktron.read.lexical import XML_SPACE
from masktron.read.plain import iter_batches
from masktron.read.records import Column, Layout, Records, Status

if TYPE_CHECKING:
    from masktron.read.blocks import PlainFile

type Read = Callable[[str, frozenset[str]], tuple[Status, float, int]]
"""Returns status, number and fraction digits of a lexeme, given the missing codes."""


def read_table(
    path: Path, layout: Layout, plain: PlainFile, missing: Mapping[str, frozenset[str]], read: Read
) -> Records | None:
    """Read a plain file into columns; None where a record or cell has markup inside.

    Parameters
    ----------
    path, layout, plain
        From `masktron.read.plain.survey_plain`.
    missing : mapping of str to frozenset of str
        Missing codes of every field.
    read : callable
        Has the last word on a lexeme that is not a plain decimal number.

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
    columns = {field.name: filling.column(layout) for field, filling in zip(layout.fields, fillings, strict=True)}
    return Records(path, layout, MappingProxyType(columns), np.concatenate(lines))


class _Filling:
    """A column, filled batch by batch."""

    def __init__(self, at: int, codes: frozenset[str], read: Read) -> None:
        self._at = at
        self._codes = codes
        self._read = read
        self._known: dict[str, str] = {}
        self._lexemes: list[NDArray[np.object_]] = [np.empty(0, dtype=object)]
        self._status: list[NDArray[np.uint8]] = [np.empty(0, dtype=np.uint8)]
        self._values: list[NDArray[np.float64]] = [np.empty(0)]
        self._decimals = 0

    def column(self, layout: Layout) -> Column:
        """Return what was filled in."""
        return Column(
            layout.fields[self._at],
            np.concatenate(self._lexemes),
            np.concatenate(self._status),
            np.concatenate(self._values),
            self._decimals,
        )

    def add(self, batch: Batch) -> bool:
        """Add the cells of a batch; tell whether none has markup inside."""
        texts = batch.texts(self._at)
        status, values = self._looked_at(batch, texts.values, texts.codes)
        # the code of an absent cell is -1, which takes the last entry
        known = map(self._known.setdefault, texts.values, texts.values)  # most texts are in many batches
        lexemes = np.array([*known, None], dtype=object)[texts.codes]
        states, numbers = status[texts.codes], values[texts.codes]
        for row in np.flatnonzero(batch.cells[self._at].status == Cell.ODD):
            lexeme = _parsed(batch, self._at, int(row))
            if lexeme is None:
                return False
            lexemes[row] = lexeme
            states[row], numbers[row], digits = self._read(lexeme, self._codes)
            self._decimals = max(self._decimals, digits)
        self._lexemes.append(lexemes)
        self._status.append(states)
        self._values.append(numbers)
        return True

    def _looked_at(
        self, batch: Batch, texts: tuple[str, ...], codes: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Return status and number of each distinct text, and at the end those of an absent cell."""
        numbers = batch.numbers(self._at)
        rows = np.flatnonzero(codes >= 0)[::-1]
        first = np.empty(len(texts), dtype=np.int64)
        first[codes[rows]] = rows
        scale = numbers.scale[first]
        values = np.append(numbers.double[first], np.nan)
        status = np.full(len(texts) + 1, Status.PRESENT, dtype=np.uint8)
        status[-1] = Status.ABSENT
        coded = np.zeros(len(texts), dtype=np.bool_)
        if self._codes:
            coded[:] = [text.strip(XML_SPACE) in self._codes for text in texts]
        self._decimals = max(self._decimals, int(scale[~coded].max(initial=0)))
        for at in np.flatnonzero((scale < 0) | coded).tolist():
            status[at], values[at], digits = self._read(texts[at], self._codes)
            self._decimals = max(self._decimals, digits)
        return status, values


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
