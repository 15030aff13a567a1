"""Records put into another order without all of them in memory.

The new place of every record is known before the first is written. So the new file is cut into parts, and each record
is put down with those of its part: in a file without a name, or in memory where all of them are few. A part is small
enough to be put in order in memory.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.scratch import unnamed_file

PART = 1 << 24
"""Bytes of a part, if records are equally long: at least two parts are in memory at a time."""
MOST_PARTS = 1 << 10
"""A run of records gives a piece to each part, and pieces of a few hundred bytes are slow to read."""
HELD = 1 << 25
"""Bytes of a file whose records stay in memory."""

type _Octets = NDArray[np.uint8]
type _Offsets = NDArray[np.int64]
type Gather = Callable[[_Octets, _Offsets, _Offsets, _Offsets, _Octets], _Octets]
"""Joins pieces of some bytes: where each starts and stops, in which order, and what stands behind each."""

_NOTHING = np.zeros(0, dtype=np.uint8)


def parts_of(size: int) -> int:
    """Return into how many parts a file of so many bytes is cut."""
    return max(1, min(-(-size // PART), MOST_PARTS))


def place_for(size: int, beside: Path) -> AbstractContextManager[BinaryIO]:
    """Return where records of so many bytes are put down until all of them are there."""
    return nullcontext(io.BytesIO()) if size <= HELD else unnamed_file(beside)


def joined(octets: _Octets, starts: _Offsets, stops: _Offsets, order: _Offsets, separator: _Octets) -> _Octets:
    """Join pieces without compiled code, which takes longer to load than few records to join."""
    held, behind = octets.tobytes(), separator.tobytes()
    places = zip(starts[order].tolist(), stops[order].tolist(), strict=True)
    return np.frombuffer(b"".join(part for start, stop in places for part in (held[start:stop], behind)), np.uint8)


class Reordered:
    """Records that come in one order, and are written in another.

    Parameters
    ----------
    store : binary file
        Empty; written and read.
    order : ndarray of intp, shape (m,)
        The records that are written, by their positions in the order in which they come: each at most once.
    records : int
        How many come.
    parts : int
        Into how many parts the new file is cut.
    gather : callable
    """

    def __init__(self, store: BinaryIO, order: NDArray[np.intp], records: int, parts: int, gather: Gather) -> None:
        self._store, self._order, self._gather = store, order, gather
        self._bounds = np.linspace(0, len(order), parts + 1).astype(np.int64)
        self._part_of = np.full(records, parts, dtype=np.int16)
        for part, (begin, end) in enumerate(zip(self._bounds[:-1], self._bounds[1:], strict=True)):
            self._part_of[order[begin:end]] = part
        self._lengths = np.zeros(records, dtype=np.int64)
        self._extents: list[_Offsets] = []
        self._size = 0

    def put(self, first: int, octets: _Octets, lengths: _Offsets) -> None:
        """Take the next records.

        Parameters
        ----------
        first : int
            Position of the first of them.
        octets : ndarray of uint8
            One record after the other.
        lengths : ndarray of int64
            Bytes of each.

        Raises
        ------
        OSError
            The disk is full.
        """
        rows = slice(first, first + len(lengths))
        self._lengths[rows] = lengths
        parts = self._part_of[rows]
        count = len(self._bounds) - 1
        # stable: within a part, records stay in the order in which they come
        own = np.argsort(parts, kind="stable")[: int((parts < count).sum())]
        stops = np.cumsum(lengths)
        moved = self._gather(octets, stops - lengths, stops, own, _NOTHING)
        ends = np.concatenate([[0], np.cumsum(lengths[own])])
        self._extents.append(self._size + ends[np.searchsorted(parts[own], np.arange(count + 1))])
        _write_all(self._store, moved)
        self._size += len(moved)

    def parts(self, separator: bytes) -> Iterator[_Octets]:
        """Yield the records in their new order, with a separator between them.

        Raises
        ------
        DocumentError
            What was put down is not there any more.
        """
        between = np.frombuffer(bytearray(separator), dtype=np.uint8)  # what kernels take may be written to
        for part, (begin, end) in enumerate(zip(self._bounds[:-1], self._bounds[1:], strict=True)):
            own = self._order[begin:end]
            if not len(own):
                continue
            # the part holds its records in the order in which they came
            came = np.argsort(own)
            place = np.empty_like(came)
            place[came] = np.arange(len(own))
            lengths = self._lengths[own[came]]
            stops = np.cumsum(lengths)
            octets = self._gather(self._read(part, int(stops[-1])), stops - lengths, stops, place, between)
            yield octets[: len(octets) - len(between)] if end == len(self._order) else octets

    def _read(self, part: int, size: int) -> _Octets:
        """Read what was put down for a part, run by run."""
        found = np.empty(size, dtype=np.uint8)
        view, at = memoryview(found), 0
        for extents in self._extents:
            begin, end = int(extents[part]), int(extents[part + 1])
            self._store.seek(begin)
            while begin < end:
                read = self._store.readinto(view[at : at + end - begin])  # type: ignore[attr-defined]
                if not read:
                    raise DocumentError("the temporary file of the records was cut short while it was read")
                begin, at = begin + read, at + read
        return found


def _write_all(store: BinaryIO, octets: _Octets) -> None:
    """Write behind what is there: a file without a buffer may take less at once."""
    view = memoryview(octets)
    while view:
        view = view[store.write(view) :]
