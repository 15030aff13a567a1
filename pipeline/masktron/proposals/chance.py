"""How likely it is that records without a rule look as if they had one.

A rule that was looked for among M others, and that holds in h of h + e records, would hold in each of them by chance
with a probability q, which is the share of records in which it holds when one of its fields is put beside the others
at random. The expected number of such rules is at most ``M * binomial(h + e, e) * q**h``: the union bound over the
rules and over the places of the exceptions. It is a bound for records that are independent of each other.

Chance is not all that makes a rule look true with exceptions. That an equality holds in 19 of 20 records has hardly
any other reason; that a number is above 0, or one field above another one, in most records, may be a matter of sizes.
There few records are exceptions (`MOST_ERRORS`), and only where they do not go on from the others (`errors`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

PLAUSIBLE = -6.0
"""Common logarithm of the expected number of chance rules from which one is proposed."""
STRONG = -12.0
"""The same, from which a rule without exceptions is called strong."""
MOST_EXCEPTIONS = 0.05
"""Share of the records in which an equality may fail, of those in which not all is 0."""
MOST_ERRORS = 0.01
"""The same of an inequality and of a condition."""
_NEIGHBOURS = 10
"""Records near a bound for each exception, in which a distribution that crosses it would show."""
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


def strength(expected: float, fails: int) -> Literal["strong", "fair"]:
    """Say how strong a rule is: exceptions contradict it."""
    return "strong" if expected <= STRONG and not fails else "fair"


def errors(margins: NDArray[np.int64]) -> bool:
    """Tell whether the negative ones of some numbers, if any, are errors, and no tail of the others.

    They are few, and lie farther from the least of the others than many of these lie from it: the numbers of a
    distribution that crosses 0 thin out, and errors stand behind a gap or before a crowd.

    Parameters
    ----------
    margins : ndarray of int64, shape (n,)
        How far each record is from breaking a rule; without records that hold 0 for want of anything else.
    """
    below, held = margins[margins < 0], np.sort(margins[margins >= 0])
    if not len(below) or len(below) > MOST_ERRORS * len(margins):
        return not len(below)
    near = held[min(_NEIGHBOURS * len(below), len(held)) - 1]
    return bool(near - held[0] <= held[0] - np.median(below))


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
