"""A table of distinct keys, each with its number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.keys import intern, reslot
from masktron.sources.columns import decoded
from masktron.sources.lexicon import Lexicon

_SMALLEST = 1 << 10


class KeyTable:
    """Numbers the keys that records have, in the order in which they first come; keys are compared byte by byte.

    A key takes its bytes once, 16 bytes for its end and hash, and 8 to 16 for its slots; arrays that grow have up to
    half of that in reserve.
    """

    def __init__(self) -> None:
        self._known = 0
        self._slots = np.full(2 * _SMALLEST, -1, dtype=np.int32)
        self._hashes = np.zeros(_SMALLEST, dtype=np.uint64)
        self._ends = np.zeros(_SMALLEST + 1, dtype=np.int64)
        self._arena = np.zeros(_SMALLEST, dtype=np.uint8)

    def __len__(self) -> int:
        return self._known

    def number(
        self,
        buffer: NDArray[np.uint8],
        start: NDArray[np.int64],
        stop: NDArray[np.int64],
        present: NDArray[np.bool_],
    ) -> NDArray[np.int32]:
        """Return the number of the key ``buffer[start:stop]`` of each row; -1 where it is not present."""
        self._reserve(int(present.sum()), int((stop - start)[present].sum()))
        ids = np.empty(len(start), dtype=np.int32)
        self._known = int(
            intern(
                buffer,
                start,
                stop,
                present,
                self._slots,
                self._hashes,
                self._ends,
                self._arena,
                self._known,
                ids,
            )
        )
        return ids

    def texts(self, first: int, codec: str) -> list[str]:
        """Return the keys from a number on as texts."""
        return decoded(self._arena, self._ends[first : self._known], self._ends[first + 1 : self._known + 1], codec)

    def keys(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Return the bytes of some keys, by their numbers."""
        starts, stops = self._ends[numbers].tolist(), self._ends[numbers + 1].tolist()
        return [self._arena[start:stop].tobytes() for start, stop in zip(starts, stops, strict=True)]

    def lexicon(self, codec: str, more: Sequence[str | None]) -> Lexicon:
        """Return the keys as texts, and behind them some more that are none of them."""
        if codec == "utf-8":
            return Lexicon.placed(self._arena, self._ends[: self._known + 1], more)
        texts = [*self.texts(0, codec), *more]
        return Lexicon.of(texts, distinct=len(set(texts)) == len(texts))

    def _reserve(self, keys: int, size: int) -> None:
        """Make room for so many more keys, of so many bytes in all."""
        needed = self._known + keys
        if needed > len(self._hashes):
            room = max(needed, len(self._hashes) * 3 // 2)
            self._hashes = np.concatenate((self._hashes, np.zeros(room - len(self._hashes), dtype=np.uint64)))
            self._ends = np.concatenate((self._ends, np.zeros(room + 1 - len(self._ends), dtype=np.int64)))
        used = int(self._ends[self._known])
        if used + size > len(self._arena):
            room = max(used + size, len(self._arena) * 3 // 2)
            self._arena = np.concatenate((self._arena[:used], np.zeros(room - used, dtype=np.uint8)))
        if 2 * needed > len(self._slots):
            self._slots = np.full(1 << (2 * needed - 1).bit_length(), -1, dtype=np.int32)
            reslot(self._hashes, self._known, self._slots)
