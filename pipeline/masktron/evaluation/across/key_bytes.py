"""Keys of records as stretches of bytes: equal bytes, equal keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.across.paths import NotAcross
from masktron.evaluation.across.selection import Key, Word
from masktron.sources.columns import Batch, Cell, NumberForm
from masktron.sources.lexical import XML_SPACE


@dataclass(frozen=True, slots=True, eq=False)
class KeySpans:
    """One stretch ``buffer[start:stop]`` for each record that has a key.

    All stretches of a file are in one encoding, in which equal texts have equal bytes.
    """

    buffer: NDArray[np.uint8]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    present: NDArray[np.bool_]

    def only(
        self, chosen: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the parts, with the keys of chosen records only."""
        return self.buffer, self.start, self.stop, self.present if chosen is None else self.present & chosen


def spans(batch: Batch, key: Key) -> KeySpans:
    """Return the keys of the records of a batch.

    Raises
    ------
    NotAcross
        A cell is one that only an engine should read.
    """
    for at in key.fields:
        if batch.odd.any() or (batch.cells[at].status == Cell.ODD).any():
            raise NotAcross(f"there are values of {batch.layout.fields[at].name} with markup or references in them")
    first = key.parts[0]
    match key.kind:
        case "node" | "string":
            assert isinstance(first, int)  # noqa: S101 - for the type checker
            cells = batch.cells[first]
            there = cells.status != Cell.ABSENT
            if key.kind == "node":
                return KeySpans(batch.buffer, cells.start, cells.stop, there)
            start, stop = np.where(there, cells.start, 0), np.where(there, cells.stop, 0)
            return KeySpans(batch.buffer, start, stop, np.ones(len(batch), dtype=np.bool_))
        case "number":
            assert isinstance(first, int)  # noqa: S101 - for the type checker
            return _numbers(batch, first)
        case _:
            return _written(batch, key)


def _numbers(batch: Batch, at: int) -> KeySpans:
    """NaN equals nothing, and both zeros are one."""
    numbers = batch.numbers(at)
    if (numbers.form == NumberForm.OTHER).any():
        raise NotAcross("a value that may or may not be a number")
    values = numbers.double + 0.0
    start = np.arange(len(values), dtype=np.int64) * 8
    return KeySpans(values.view(np.uint8), start, start + 8, ~np.isnan(values))


def _written(batch: Batch, key: Key) -> KeySpans:
    """Texts that stand nowhere in the file: made record by record."""
    columns = [_column(batch, part) for part in key.parts]
    rows = ["".join(parts) for parts in zip(*columns, strict=True)]
    if key.kind == "normal":
        rows = [" ".join(part for part in _words(row)) for row in rows]
    try:
        encoded = [row.encode(batch.codec) for row in rows]
    except UnicodeEncodeError:
        raise NotAcross("a text with characters that the file's encoding does not have") from None
    stop = np.cumsum([len(row) for row in encoded], dtype=np.int64)
    start = np.concatenate((np.zeros(1, dtype=np.int64), stop[:-1])) if len(stop) else stop
    buffer = np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)
    return KeySpans(buffer, start, stop, np.ones(len(rows), dtype=np.bool_))


def _words(text: str) -> list[str]:
    for space in XML_SPACE[1:]:
        text = text.replace(space, " ")
    return [word for word in text.split(" ") if word]


def _column(batch: Batch, part: int | Word) -> list[str]:
    if isinstance(part, Word):
        return [part.text] * len(batch)
    texts = batch.texts(part)
    return [texts.values[code] if code >= 0 else "" for code in texts.codes]
