"""Texts compared as bytes: no text has to be made of cells that are asked for equality alone."""

from __future__ import annotations

import codecs

import numpy as np
from numpy.typing import NDArray

from masktron.sources.columns import Batch, Cell

_BIJECTIVE = frozenset({"utf-8", "ascii", "iso8859-1"})
_LONGEST = 64
"""Longer cells are left to texts, each distinct one of which is made once."""


def same(batch: Batch, at: int, other: int | str) -> NDArray[np.bool_] | None:
    """Return in which records a field has the text of another field, or a given text; None where bytes do not tell.

    Absent cells count as empty, and odd ones get any answer.
    """
    if codecs.lookup(batch.codec).name not in _BIJECTIVE:
        return None
    starts, lengths = _extent(batch, at)
    if isinstance(other, str):
        return _is_constant(batch, starts, lengths, other)
    others, widths = _extent(batch, other)
    alike: NDArray[np.bool_] = lengths == widths
    rows = np.flatnonzero(alike & (lengths > 0))
    longest = int(lengths[rows].max(initial=0))
    if longest > _LONGEST:
        return None
    for k in range(longest):
        rows = rows[lengths[rows] > k]
        differ = rows[batch.buffer[starts[rows] + k] != batch.buffer[others[rows] + k]]
        if len(differ):
            alike[differ] = False
            rows = rows[alike[rows]]
    return alike


def _extent(batch: Batch, at: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    cells = batch.cells[at]
    return cells.start, np.where(cells.status == Cell.TEXT, cells.stop - cells.start, 0)


def _is_constant(batch: Batch, starts: NDArray[np.int64], lengths: NDArray[np.int64], text: str) -> NDArray[np.bool_]:
    try:
        wanted = text.encode(batch.codec)
    except UnicodeEncodeError:
        return np.zeros(len(batch), dtype=np.bool_)
    alike: NDArray[np.bool_] = lengths == len(wanted)
    rows = np.flatnonzero(alike) if wanted else np.zeros(0, dtype=np.int64)
    for k, byte in enumerate(wanted):
        agree = batch.buffer[starts[rows] + k] == byte
        alike[rows[~agree]] = False
        rows = rows[agree]
    return alike
