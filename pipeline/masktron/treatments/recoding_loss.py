"""What recoding loses: three measures, from 0, nothing, to 1, all keys of all records.

A record that breaks what is demanded counts as if all its keys were suppressed, as in the sources. Local suppression
takes less; so a recoding that leaves records to suppress loses at most what is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.treatments.leveled_keys import LeveledKey
from masktron.treatments.roll_up import KeyGroups

type _Floats = NDArray[np.float64]


class RecodingLoss(Protocol):
    """A measure of loss at a node of the lattice of levels."""

    def of_keys(self) -> Sequence[_Floats] | None:
        """Return the loss by each key at each of its levels with nothing suppressed; None where it is no such sum."""

    def at(self, groups: KeyGroups, left: NDArray[np.int64]) -> float:
        """Return the loss at a node, where `left` records of each combination break what is demanded."""

    def least(self, groups: KeyGroups) -> float:
        """Return what is lost here with nothing suppressed, and so at least at every node above."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyByKeyLoss:
    """A loss that is the sum of what each key loses in each record.

    Attributes
    ----------
    kept : tuple of ndarray of float64, shape (height + 1,) each
        For each key and level, the loss in all records together with nothing suppressed.
    labels : tuple of tuple of ndarray of float64
        For each key and level, by label, what suppression of one cell adds to it; the last entry is a missing value.
    """

    kept: tuple[_Floats, ...]
    labels: tuple[tuple[_Floats, ...], ...]

    def of_keys(self) -> Sequence[_Floats]:
        """Return `kept`."""
        return self.kept

    def at(self, groups: KeyGroups, left: NDArray[np.int64]) -> float:
        """Return the loss of the levels, and of suppression of what is left."""
        loss = self.least(groups)
        rows = np.flatnonzero(left)
        if len(rows):
            for codes, level, labels in zip(groups.codes, groups.levels, self.labels, strict=True):
                # whole numbers by label first: the sum does not depend on the order of the combinations
                cells = np.bincount(codes[rows] % len(labels[level]), left[rows], len(labels[level]))
                loss += float((cells * labels[level]).sum())
        return loss

    def least(self, groups: KeyGroups) -> float:
        """Return the loss of the levels."""
        return float(sum(kept[level] for kept, level in zip(self.kept, groups.levels, strict=True)))


def precision(keys: Sequence[LeveledKey]) -> KeyByKeyLoss:
    """Return the loss of precision: the mean of level by height over cells, 1 where a cell is suppressed.

    Parameters
    ----------
    keys : sequence of LeveledKey
        Their importance weighs the mean.

    Notes
    -----
    Source: Sweeney (2002), Achieving k-anonymity privacy protection using generalization and suppression, Prec; the
    loss is 1 - Prec.
    """
    n, total = max(1, len(keys[0])), sum(key.importance for key in keys)
    kept: list[_Floats] = []
    labels: list[tuple[_Floats, ...]] = []
    for key in keys:
        share = np.arange(key.height + 1) / max(1, key.height)
        kept.append(key.importance / total * share)
        more = key.importance / total * (1 - share) / n
        labels.append(
            tuple(np.full(int(own.max(initial=-1)) + 2, one) for own, one in zip(key.labels, more, strict=True))
        )
    return KeyByKeyLoss(tuple(kept), tuple(labels))


def entropy(keys: Sequence[LeveledKey]) -> KeyByKeyLoss:
    """Return non-uniform entropy: the mean of ``log(f(label) / f(value))`` over cells, by what suppressing all loses.

    f is the number of records with the value or with the label, n (those that have any) where a cell is suppressed.

    Parameters
    ----------
    keys : sequence of LeveledKey
        Their importance weighs the sums.

    Notes
    -----
    Missing values lose nothing. Where no key has two values, nothing can be lost, and the loss is 0.

    Source: Gionis and Tassa (2009), k-anonymization with minimal loss of information, non-uniform entropy; de Waal
    and Willenborg (1999), Information loss through global recoding and local suppression. It is the default of ARX.
    """
    kept: list[_Floats] = []
    labels: list[tuple[_Floats, ...]] = []
    whole = 0.0
    for key in keys:
        counts = np.bincount(key.codes[key.codes >= 0], minlength=len(key.labels[0]))
        n, used = int(counts.sum()), counts > 0
        rarity = _logs(counts)
        levels: list[float] = []
        by_label: list[_Floats] = []
        for own in key.labels:
            frequency = np.bincount(own, counts, int(own.max(initial=-1)) + 1)
            levels.append(key.importance * float((counts * (_logs(frequency)[own] - rarity))[used].sum()))
            by_label.append(key.importance * np.append(np.log(max(1, n)) - _logs(frequency), 0.0))
        kept.append(np.array(levels))
        labels.append(tuple(by_label))
        whole += key.importance * float((counts * (np.log(max(1, n)) - rarity))[used].sum())
    whole = whole or 1.0
    return KeyByKeyLoss(
        tuple(one / whole for one in kept), tuple(tuple(one / whole for one in levels) for levels in labels)
    )


def _logs(counts: NDArray[Any]) -> _Floats:
    found: _Floats = np.log(np.maximum(counts, 1))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Discernibility:
    """From how many records each cannot be told: the sum of the sizes of their combinations, n where suppressed.

    It is divided by n^2. The importance of fields does not enter.

    Notes
    -----
    Source: Bayardo and Agrawal (2005), Data privacy through optimal k-anonymization, discernibility metric. Sums of
    squares grow when combinations are put together: what is lost with nothing suppressed bounds all nodes above.
    """

    def of_keys(self) -> None:
        """Return None: no key has a share of its own."""
        return

    def at(self, groups: KeyGroups, left: NDArray[np.int64]) -> float:
        """Return the loss, with what is left suppressed."""
        n = int(groups.sizes.sum())
        return int(((groups.sizes - left) * groups.sizes + left * n).sum()) / max(1, n) ** 2

    def least(self, groups: KeyGroups) -> float:
        """Return the loss with nothing suppressed."""
        return self.at(groups, np.zeros(len(groups), dtype=np.int64))


def discernibility(keys: Sequence[LeveledKey]) -> Discernibility:
    """Return the measure of discernibility, which needs to know nothing of the keys."""
    del keys
    return Discernibility()


LOSSES: Mapping[str, Callable[[Sequence[LeveledKey]], RecodingLoss]] = {
    "entropy": entropy,
    "precision": precision,
    "discernibility": discernibility,
}
"""By name; the first is taken where none is named."""
