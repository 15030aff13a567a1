"""Many texts in two arrays: what Python's own objects would take 60 bytes each for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.distinct import factorized
from masktron.large_arrays import new_array

if TYPE_CHECKING:
    import pyarrow as pa

_NOTHING = 0xFF
"""The byte that stands for an absent text: none of UTF-8 has it."""
_LONG = 64
"""Bytes of a text that is not worth to be compared eight bytes at a time."""
_WORD = 8
_FIRST = np.array([(1 << 8 * size) - 1 for size in range(_WORD + 1)], dtype="<u8")
"""Masks of the first bytes of a word, by their number."""
_AT_ONCE = 1 << 15
"""Texts that are made into objects together."""


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Texts one behind the other, each a `str` or None, by their position.

    Attributes
    ----------
    data : ndarray of uint8
        UTF-8; a text that is absent (None) is the byte 0xFF.
    ends : ndarray of int32 or int64, shape (m + 1,)
        Text i is ``data[ends[i]:ends[i + 1]]``.
    distinct : bool
        Whether no two texts are equal; False where nobody knows.
    """

    data: NDArray[np.uint8]
    ends: NDArray[np.int32] | NDArray[np.int64]
    distinct: bool = False

    @classmethod
    def of(cls, texts: Sequence[str | None], *, distinct: bool = False) -> Lexicon:
        """Take texts as they are."""
        encoded = [b"\xff" if text is None else text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in encoded], out=ends[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), narrow_ends(ends), distinct)

    @classmethod
    def placed(
        cls, data: NDArray[np.uint8], ends: NDArray[np.int64] | NDArray[np.int32], more: Sequence[str | None] = ()
    ) -> Lexicon:
        """Copy texts that stand one behind the other in UTF-8, and put some more behind them; all are distinct."""
        others = cls.of(more)
        first, last = int(ends[0]), int(ends[-1])
        behind = others.ends[1:].astype(np.int64) + (last - first)
        found = np.concatenate([ends.astype(np.int64, copy=False) - first, behind])
        return cls(np.concatenate([data[first:last], others.data]), narrow_ends(found), distinct=True)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, at: int) -> str | None:
        at = range(len(self))[at]
        return _text(self.data[self.ends[at] : self.ends[at + 1]].tobytes())

    def objects(self) -> NDArray[np.object_]:
        """Return all texts as objects, shape (m,); made anew at each call."""
        found = np.empty(len(self), dtype=np.object_)
        for start in range(0, len(self), _AT_ONCE):
            part = self.ends[start : start + _AT_ONCE + 1]
            found[start : start + _AT_ONCE] = list(_cut(self.data[part[0] : part[-1]], part - part[0]))
        return found

    def some(self, which: NDArray[np.intp]) -> NDArray[np.object_]:
        """Return the texts at some positions as objects, shape of `which`; made anew at each call."""
        found = np.empty(len(which), dtype=np.object_)
        for start in range(0, len(which), _AT_ONCE):
            part = which[start : start + _AT_ONCE]
            found[start : start + _AT_ONCE] = [
                _text(self.data[begin:end].tobytes())
                for begin, end in zip(self.ends[part].tolist(), self.ends[part + 1].tolist(), strict=True)
            ]
        return found

    def part(self, which: slice) -> Lexicon:
        """Return texts that stand behind each other, which are not copied."""
        ends = self.ends[which.start : which.stop + 1]
        return Lexicon(self.data[ends[0] : ends[-1]], ends - ends[0], self.distinct)

    def only(self, which: NDArray[np.integer]) -> Lexicon:
        """Return the texts at some positions, one behind the other."""
        import pyarrow as pa  # noqa: PLC0415 -- takes a while

        taken = np.zeros(len(self), dtype=np.bool_)
        taken[which] = True
        distinct = self.distinct and int(np.count_nonzero(taken)) == len(which)
        return self.of_octets(self.octets().take(pa.array(which)), distinct=distinct)

    @classmethod
    def joined(cls, parts: Sequence[Lexicon]) -> Lexicon:
        """Put the texts of several behind each other."""
        starts = np.concatenate([[0], np.cumsum([int(part.ends[-1]) for part in parts])])
        ends = [part.ends[1:].astype(np.int64) + start for part, start in zip(parts, starts.tolist(), strict=False)]
        behind = np.concatenate([np.zeros(1, dtype=np.int64), *ends])
        return cls(np.concatenate([np.empty(0, dtype=np.uint8), *(part.data for part in parts)]), narrow_ends(behind))

    def same(self) -> NDArray[np.intp]:
        """Return, for each text, the first position of an equal one, shape (m,)."""
        if self.distinct:
            return np.arange(len(self))
        sizes = self.ends[1:] - self.ends[:-1]
        by_size = np.argsort(sizes, kind="stable")
        found, windows = new_array(len(self), np.intp), self.windows()
        for alike in np.split(by_size, np.flatnonzero(np.diff(sizes[by_size])) + 1):
            # rows of one size are in ascending order
            found[alike] = alike[self._first_of_equal(alike, windows)] if len(alike) > 1 else alike
        return found

    def _first_of_equal(self, rows: NDArray[np.intp], windows: NDArray[np.uint8]) -> NDArray[np.intp]:
        """Return, for each text of some of one length in bytes, the first place of an equal one among them."""
        size = int(self.ends[rows[0] + 1] - self.ends[rows[0]])
        if size > _LONG:
            places: dict[bytes, int] = {}
            texts = (self.data[begin : begin + size].tobytes() for begin in self.ends[rows].tolist())
            return np.fromiter((places.setdefault(text, at) for at, text in enumerate(texts)), np.intp, len(rows))
        codes, starts = np.zeros(len(rows), dtype=np.intp), self.ends[rows].astype(np.int64)
        for begin in range(0, size, _WORD):
            words = windows[starts + begin].view(np.uint64).ravel()
            words &= _FIRST[min(size - begin, _WORD)]
            own, distinct = factorized(words)
            # both numbers are at most 2**31, so that the product fits
            codes = own if not begin else factorized(codes * len(distinct) + own)[0]
        first = np.empty(int(codes.max()) + 1, dtype=np.intp)
        first[codes[::-1]] = np.arange(len(rows))[::-1]  # of several assignments the last one stays
        return first[codes]

    def windows(self) -> NDArray[np.uint8]:
        """Return the eight bytes from each place on, beyond the end too, shape (bytes + 1, 8)."""
        padded = np.concatenate([self.data, np.zeros(_WORD, dtype=np.uint8)])
        return np.lib.stride_tricks.sliding_window_view(padded, _WORD)

    @classmethod
    def of_octets(cls, texts: pa.LargeBinaryArray, *, distinct: bool = False) -> Lexicon:
        """Take texts as `octets` returns them, without a copy."""
        if not len(texts):
            return cls.of([], distinct=distinct)
        _, ends, data = texts.buffers()
        places = np.frombuffer(ends, dtype=np.int64)[: len(texts) + 1]
        return cls(np.frombuffer(data or b"", dtype=np.uint8)[: places[-1]], narrow_ends(places), distinct)

    def octets(self) -> pa.LargeBinaryArray:
        """Return the bytes of all texts, those of an absent one too, without a copy of them."""
        import pyarrow as pa  # noqa: PLC0415 -- takes a while

        ends = pa.py_buffer(self.ends.astype(np.int64, copy=False))
        return pa.Array.from_buffers(pa.large_binary(), len(self), [None, ends, pa.py_buffer(self.data)])

    def absent(self) -> NDArray[np.bool_]:
        """Return which texts are None, shape (m,)."""
        starts = self.ends[:-1]
        found: NDArray[np.bool_] = (self.ends[1:] - starts) == 1
        found[found] = self.data[starts[found]] == _NOTHING
        return found


def ranked(texts: Lexicon, codes: NDArray[np.integer]) -> tuple[Lexicon, NDArray[np.intp]]:
    """Return the distinct texts of some cells in sorted order, absent first, and which of these each cell has.

    Parameters
    ----------
    texts : Lexicon
    codes : ndarray of int, shape (n,)
        The text of each cell.

    Notes
    -----
    Texts are sorted by their bytes: those of UTF-8 are in the order of the characters.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 -- takes a while

    asked = np.zeros(len(texts), dtype=np.bool_)
    asked[codes] = True
    used = np.flatnonzero(asked)
    own = texts if len(used) == len(texts) else texts.only(used)
    # the byte of absent texts is above all others
    order = np.roll(pc.sort_indices(own.octets()).to_numpy().astype(np.intp), int(np.count_nonzero(own.absent())))
    found, first = own.only(order), np.ones(len(order), dtype=np.bool_)
    if not own.distinct:
        rows = np.arange(1, len(order))
        first[1:] = ~same_texts(found, rows - 1, found, rows)
        found = replace(found.only(np.flatnonzero(first)), distinct=True)
    places = np.zeros(len(texts), dtype=np.intp)
    places[used[order]] = np.cumsum(first) - 1
    return found, places[codes]


def same_texts(
    one: Lexicon, own: NDArray[np.integer], other: Lexicon, others: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Return in which rows the texts of two lexicons are equal, or absent both.

    Parameters
    ----------
    one : Lexicon
    own : ndarray of int, shape (n,)
        The text of each row in `one`.
    other : Lexicon
    others : ndarray of int, shape (n,)
        The text of each row in `other`.
    """
    same = np.empty(len(own), dtype=np.bool_)
    before, after = one.windows(), other.windows()
    for start in range(0, len(own), _AT_ONCE):
        left, right = own[start : start + _AT_ONCE], others[start : start + _AT_ONCE]
        begin, again = one.ends[left].astype(np.int64), other.ends[right].astype(np.int64)
        size = one.ends[left + 1] - begin
        alike = size == other.ends[right + 1] - again
        rows, done = np.flatnonzero(alike), 0
        while rows.size:
            apart = before[begin[rows] + done] ^ after[again[rows] + done]
            asked = np.minimum(size[rows] - done, _WORD)
            unlike = (apart.view(np.uint64).ravel() & _FIRST[asked]) != 0
            alike[rows[unlike]] = False
            done += _WORD
            rows = rows[~unlike & (size[rows] > done)]
        same[start : start + _AT_ONCE] = alike
    return same


def _cut(data: NDArray[np.uint8], ends: NDArray[np.signedinteger]) -> Iterator[str | None]:
    octets = data.tobytes()
    if octets.isascii():
        text = octets.decode("ascii")
        return (text[begin:end] for begin, end in pairwise(ends.tolist()))
    return (_text(octets[begin:end]) for begin, end in pairwise(ends.tolist()))


def _text(octets: bytes) -> str | None:
    return None if octets == b"\xff" else octets.decode("utf-8", "surrogatepass")


def narrow_ends(ends: NDArray[np.int64]) -> NDArray[np.int32] | NDArray[np.int64]:
    """Return ends of texts in 32 bits, where these are enough."""
    return ends.astype(np.int32) if ends[-1] <= np.iinfo(np.int32).max else ends
