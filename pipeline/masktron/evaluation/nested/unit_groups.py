"""Which units of a batch are composed alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.sources.level_tree import TOP, Level, LevelPath
from masktron.sources.unit_batches import UnitBatch
from masktron.sources.wide.wide_record import Composition

type _Codes = NDArray[np.uint64]

_FACTOR, _STEP, _START = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95), np.uint64(0x2545F4914F6CDD1D)
_SHIFT = np.uint64(29)


@dataclass(frozen=True, slots=True, eq=False)
class UnitMembers:
    """Where the records within records stand in a batch.

    Attributes
    ----------
    counts : mapping of LevelPath to ndarray of intp
        Of each level but the top: how many of its records stand in each record of the level above.
    first : mapping of LevelPath to ndarray of intp
        Likewise the row of the first of them.
    """

    batch: UnitBatch
    counts: Mapping[LevelPath, NDArray[np.intp]]
    first: Mapping[LevelPath, NDArray[np.intp]]

    @classmethod
    def of(cls, batch: UnitBatch) -> Self:
        """Count the records of a batch."""
        counts = {path: batch.counts(path) for path in batch.levels if path}
        return cls(batch, counts, {path: np.cumsum(own) - own for path, own in counts.items()})

    def composition(self, unit: int) -> Composition:
        """Return the composition of a unit."""
        return self._composed(TOP, self.batch.tree.top, unit)

    def _composed(self, path: LevelPath, level: Level, row: int) -> Composition:
        kinds = []
        for child in level.children:
            below = (*path, child.name)
            count, first = (int(own[below][row]) if below in own else 0 for own in (self.counts, self.first))
            kinds.append(tuple(self._composed(below, child, first + at) for at in range(count)))
        return Composition(tuple(kinds))

    def groups(self) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield a code of each composition with its units, in ascending order.

        Equal compositions have equal codes in all batches. That units of one code are composed alike is very likely,
        and left to be tested where it matters (`masktron.evaluation.nested.unit_program`).
        """
        codes = self._codes()[TOP]
        order = np.argsort(codes, kind="stable")
        known = codes[order]
        for group in np.split(order, np.flatnonzero(known[1:] != known[:-1]) + 1):
            if len(group):
                yield int(codes[group[0]]), group

    def _codes(self) -> dict[LevelPath, _Codes]:
        """Return a hash of the composition of each record: of the numbers of records in it, and of their hashes."""
        found = {path: np.full(len(rows), _START) for path, rows in self.batch.levels.items()}
        for path in reversed(found):  # what is within a level comes behind it
            if not path:
                continue
            own, counts, first = found[path], self.counts[path], self.first[path]
            position = np.arange(len(own)) - np.repeat(first, counts)
            powers = np.multiply.accumulate(np.full(int(counts.max(initial=0)) + 1, _STEP))
            sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(own * powers[position], dtype=np.uint64)))
            inner = sums[first + counts] - sums[first] + counts.astype(np.uint64) * _FACTOR
            above = found[path[:-1]]
            above ^= _mixed(inner, len(path) + self._place(path))
        return found

    def _place(self, path: LevelPath) -> int:
        return [child.name for child in self.batch.tree.level(path[:-1]).children].index(path[-1]) * 64


def _mixed(codes: _Codes, salt: int) -> _Codes:
    found = (codes + np.multiply(np.full(1, salt + 1, np.uint64), _FACTOR)) * _STEP
    return (found ^ (found >> _SHIFT)) * _FACTOR
