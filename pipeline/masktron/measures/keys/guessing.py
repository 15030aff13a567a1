"""What can be guessed of a confidential value by who knows the keys, beside what can be guessed anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.measures.keys.class_counts import ConfidentialCounts, class_counts


@dataclass(frozen=True, slots=True)
class AttributeDisclosure:
    """Right guesses in per cent of the records that have a value; NaN where none has.

    Attributes
    ----------
    guessed : float
        By the most frequent value of the records alike in all keys, the own one among them.
    without_record : float
        By that of the other ones alike; by that of all others of the file where there is none. What the file tells
        of somebody who is not in it.
    baseline : float
        By the most frequent value of all other records of the file, without any key.
    """

    guessed: float
    without_record: float
    baseline: float

    @property
    def gain(self) -> float:
        """What being in the file adds to the right guesses, in per cent of the records."""
        return self.guessed - self.without_record


def attribute_disclosure(
    keys: Sequence[NDArray[np.integer[Any]]], confidential: NDArray[np.integer[Any]]
) -> AttributeDisclosure:
    """Compute how often the most frequent value is the right one: with the keys, without the record, without keys.

    Of t values that are most frequent, a guess takes each with 1/t.

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where missing, which is alike with nothing but what lacks the same keys.
    confidential : ndarray of int, shape (n,)
        Codes from 0; -1 where missing.

    Returns
    -------
    AttributeDisclosure

    Raises
    ------
    UsageError
        There is no key, shapes differ, or a code is below -1.

    Notes
    -----
    Source: the baseline is that of Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution
    probability for synthetic data, with the most frequent value in the place of a draw.
    """
    found = class_counts(keys, confidential)
    held = int((found.of_record >= 0).sum())
    if not held:
        return AttributeDisclosure(math.nan, math.nan, math.nan)
    file = class_counts([np.zeros(len(confidential), dtype=np.int8)], confidential)
    with_own, without = _credits(found)
    baseline = _credits(file)[1]
    # nobody else has these keys: what is left is the file
    alone = found.sizes[found.classes] == 1
    of_value = np.zeros(len(found.totals))
    of_value[file.values] = baseline
    without = np.where(alone, of_value[found.values], without)
    share = 100 / held
    return AttributeDisclosure(
        share * float((found.counts * with_own).sum()),
        share * float((found.counts * without).sum()),
        share * float((file.counts * baseline).sum()),
    )


def _credits(found: ConfidentialCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each class and value the share of right guesses, with a record of it in the class and with it taken out."""
    counts, classes, starts = found.counts, found.classes, found.starts
    most = np.maximum.reduceat(counts, starts)[classes]
    top = counts == most
    ties = np.add.reduceat(top.astype(np.float64), starts)[classes]
    second = np.maximum.reduceat(np.where(top, 0.0, counts), starts)[classes]
    seconds = np.add.reduceat((counts == second).astype(np.float64), starts)[classes]
    lone = top & (ties == 1)
    # a value that leads alone is followed by others, by one, or not at all when it has one record less
    without = np.where(lone & (most - 1 > second), 1.0, 0.0)
    level = lone & (most - 1 == second) & (second > 0)
    without = np.where(level, 1 / (seconds + 1), without)
    return np.where(top, 1 / ties, 0.0), without
