"""l-diversity: how many values of a confidential field stand beside one combination of keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.measures.keys.class_counts import class_counts


@dataclass(frozen=True, slots=True)
class Diversity:
    """l of the class of each record, shape (n,) each; NaN where the record has no value of the field.

    Attributes
    ----------
    distinct : ndarray of float64
        Different values in the class.
    entropy : ndarray of float64
        The l for which the class is entropy l-diverse: exp of the entropy of its values.
    recursive : ndarray of float64
        The largest l for which it is recursively (c, l)-diverse; 0 where it is for none.
    """

    distinct: NDArray[np.float64]
    entropy: NDArray[np.float64]
    recursive: NDArray[np.float64]

    @property
    def smallest(self) -> float:
        """Different values of the class that has fewest; NaN where no record has a value."""
        return math.nan if np.isnan(self.distinct).all() else float(np.nanmin(self.distinct))


def l_diversity(
    keys: Sequence[NDArray[np.integer[Any]]], confidential: NDArray[np.integer[Any]], c: float = 3.0
) -> Diversity:
    """Compute l of each class of records that are alike in all keys.

    With the counts of a class r1 >= r2 >= ... >= rm: distinct l = m; entropy l = exp(-sum p log p); recursive l = the
    largest l with r1 < c (rl + ... + rm).

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where missing, which is alike with nothing but what lacks the same keys.
    confidential : ndarray of int, shape (n,)
        Codes from 0; a missing value, -1, counts as no value.
    c : float
        Above 0.

    Returns
    -------
    Diversity

    Raises
    ------
    UsageError
        There is no key, shapes differ, a code is below -1, or `c` is not above 0.

    Notes
    -----
    Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007), l-diversity: privacy beyond k-anonymity,
    definitions 4.1 and 4.2.
    """
    if not c > 0:
        raise UsageError(f"c must be above 0, not {c!r}")
    found = class_counts(keys, confidential)
    if not len(found.starts):
        nothing = np.full(len(confidential), np.nan)
        return Diversity(nothing, nothing, nothing)
    shares = found.shares
    distinct = np.diff(found.starts, append=len(found.counts)).astype(np.float64)
    entropy = np.exp(-np.add.reduceat(shares * np.log(shares), found.starts))
    # the largest first; what follows a value in its class, itself included
    order = np.lexsort((-found.counts, found.classes))
    counts, classes = found.counts[order], found.classes[order]
    ends = np.cumsum(found.sizes)[classes]
    rest = ends - np.cumsum(counts) + counts
    holds = counts[found.starts][classes] < c * rest
    # the rest falls with l, so that those that hold are the first ones
    recursive = np.add.reduceat(holds.astype(np.float64), found.starts)
    return Diversity(found.to_records(distinct), found.to_records(entropy), found.to_records(recursive))
