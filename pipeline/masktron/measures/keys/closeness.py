"""How far a confidential field beside one combination of keys is from the field in the whole file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.measures.keys.class_counts import ConfidentialCounts, class_counts


@dataclass(frozen=True, slots=True)
class Closeness:
    """Earth mover's distance of the class of each record to the file, shape (n,) each, from 0 to 1.

    NaN where the record has no value of the field.

    Attributes
    ----------
    equal : ndarray of float64
        With one distance between any two values.
    ordered : ndarray of float64
        With the distance of values in the order of their codes.
    """

    equal: NDArray[np.float64]
    ordered: NDArray[np.float64]


def t_closeness(keys: Sequence[NDArray[np.integer[Any]]], confidential: NDArray[np.integer[Any]]) -> Closeness:
    """Compute t of each class of records that are alike in all keys.

    With shares p of the m values in the class and q in the file: equal, half the sum of abs(p - q); ordered, the sum
    over values of abs(sum up to it of p - q), divided by m - 1.

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where missing, which is alike with nothing but what lacks the same keys.
    confidential : ndarray of int, shape (n,)
        Codes from 0 in the order of the values; -1 where missing. Codes that do not occur are no values.

    Returns
    -------
    Closeness

    Raises
    ------
    UsageError
        There is no key, shapes differ, or a code is below -1.

    Notes
    -----
    Source: Li, Li and Venkatasubramanian (2007), t-closeness: privacy beyond k-anonymity and l-diversity, section 5.
    """
    found = _of_occurring(keys, confidential)
    if not len(found.starts):
        nothing = np.full(len(confidential), np.nan)
        return Closeness(nothing, nothing)
    shares, file = found.shares, found.totals / found.totals.sum()
    over = np.maximum(0.0, shares - file[found.values])
    # both sums of differences, above and below, are the same
    equal = np.add.reduceat(over, found.starts)
    return Closeness(found.to_records(equal), found.to_records(_ordered(found, shares, file)))


def beta_likeness(
    keys: Sequence[NDArray[np.integer[Any]]], confidential: NDArray[np.integer[Any]]
) -> NDArray[np.float64]:
    """Compute by how much the share of a value in each class is above that in the file, relatively: the most.

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where missing, which is alike with nothing but what lacks the same keys.
    confidential : ndarray of int, shape (n,)
        Codes from 0; -1 where missing.

    Returns
    -------
    ndarray of float64, shape (n,)
        The largest (p - q) / q over the values of the class of each record; 0 where the class is as the file; NaN
        where the record has no value.

    Raises
    ------
    UsageError
        There is no key, shapes differ, or a code is below -1.

    Notes
    -----
    Source: Cao and Karras (2012), Publishing microdata with a robust privacy guarantee, basic beta-likeness.
    """
    found = class_counts(keys, confidential)
    if not len(found.starts):
        return np.full(len(confidential), np.nan)
    file = (found.totals / found.totals.sum())[found.values]
    gain = np.maximum(0.0, (found.shares - file) / file)
    return found.to_records(np.maximum.reduceat(gain, found.starts))


def _of_occurring(
    keys: Sequence[NDArray[np.integer[Any]]], confidential: NDArray[np.integer[Any]]
) -> ConfidentialCounts:
    held = confidential >= 0
    codes = np.full(len(confidential), -1, dtype=np.int64)
    codes[held] = np.unique(confidential[held], return_inverse=True)[1]
    return class_counts(keys, codes)


def _ordered(
    found: ConfidentialCounts, shares: NDArray[np.float64], file: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum abs(P_i - Q_i) for each class: P is constant between two of its values, and Q grows.

    A stretch from value a up to before b, where P is c, has (b - a) terms. Q is below c up to some place s, so that
    its sum is c (s - a) - (Q_a + ... + Q_(s-1)) + (Q_s + ... + Q_(b-1)) - c (b - s).
    """
    most = len(file)
    if most == 1:
        return np.zeros(len(found.starts))
    up_to = np.cumsum(file)
    sums = np.concatenate([[0.0], np.cumsum(up_to)])
    total = np.cumsum(shares)
    before = np.where(found.starts > 0, total[found.starts - 1], 0.0)[found.classes]
    level = total - before
    ends = np.append(found.values[1:], most)
    ends[np.append(found.starts[1:], len(ends)) - 1] = most

    def stretch(first: NDArray[np.intp], end: NDArray[np.intp], height: NDArray[np.float64]) -> NDArray[np.float64]:
        middle = np.clip(np.searchsorted(up_to, height), first, end)
        below = height * (middle - first) - (sums[middle] - sums[first])
        above = (sums[end] - sums[middle]) - height * (end - middle)
        both: NDArray[np.float64] = below + above
        return both

    found_here = np.add.reduceat(stretch(found.values, ends, level), found.starts)
    firsts = found.values[found.starts]
    leading = stretch(np.zeros_like(firsts), firsts, np.zeros(len(firsts)))
    result: NDArray[np.float64] = np.maximum(0.0, found_here + leading) / (most - 1)
    return result
