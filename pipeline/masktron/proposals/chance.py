"""How likely it is that records without a rule look as if they had one.

A rule that was looked for among M others, and that holds in h of h + e records, would hold in each of them by chance
with a probability q, which is the share of records in which it holds when one of its fields is put beside the others
at random. The expected number of such rules is at most ``M * binomial(h + e, e) * q**h``: the union bound over the
rules and over the places of the exceptions. It is a bound for records that are independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

PLAUSIBLE = -6.0
"""Common logarithm of the expected number of chance rules from which one is proposed."""
STRONG = -12.0
"""The same, from which a rule without exceptions is called strong."""
MOST_LOOKED_AT = 4000
"""Records that are put together at random."""
_ROUNDS = 4
_SEED = 20260
PAIRS, SUBSETS = range(2)
"""Purposes of random numbers."""


def expected(looked_for: float, holds: int, fails: int, share: float) -> float:
    """Return the common logarithm of the expected number of rules that hold by chance.

    Parameters
    ----------
    looked_for : float
        Number of rules among which this one was found.
    holds, fails : int
        Records.
    share : float
        Probability that a record agrees by chance, above 0.
    """
    places = math.lgamma(holds + fails + 1) - math.lgamma(fails + 1) - math.lgamma(holds + 1)
    return math.log10(max(looked_for, 1.0)) + places / math.log(10) + holds * math.log10(min(share, 1.0))


def agreeing(rows: NDArray[np.intp], agree: Callable[[NDArray[np.intp], NDArray[np.intp]], int]) -> float:
    """Return the share of records that agree when one side of a rule is put beside the other at random.

    Parameters
    ----------
    rows : ndarray of intp, shape (m,)
        Records that count, at least one.
    agree : callable
        Takes the records of one side and those of the other, and returns how many of the pairs agree.

    Returns
    -------
    float
        ``(agreements + 1) / (pairs + 1)``, so above 0.
    """
    draws = generator(PAIRS)
    if len(rows) > MOST_LOOKED_AT:
        rows = np.sort(draws.choice(rows, MOST_LOOKED_AT, replace=False))
    found = sum(agree(rows, draws.permutation(rows)) for _ in range(_ROUNDS))
    return (found + 1) / (_ROUNDS * len(rows) + 1)


def generator(purpose: int) -> np.random.Generator:
    """Return random numbers that only choose records to look at, the same in every run: they protect nothing."""
    return np.random.default_rng((_SEED, purpose))
