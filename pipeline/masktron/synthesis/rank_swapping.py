"""Rank swapping: values change places with values of near rank, column by column, and each stays in the file."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats

type RankSpread = Literal["distribution", "buckets", "window"]
"""How far a value may go; the first is the default."""
_TRIES = 6
"""Ranks that are drawn for a value before the nearest free one is taken."""

type _Ranks = NDArray[np.intp]


def swapped_ranks(n: int, generator: np.random.Generator, *, width: int, spread: RankSpread) -> _Ranks:
    """Draw which ranks change places.

    Ranks are taken in ascending order. One that is free is drawn a partner j among the free ones above it:

    - ``window`` (Moore 1996): uniform on i + 1 .. i + width, and no further;
    - ``distribution`` (Nin, Herranz and Torra 2008, p-distribution): ``j = i + |r|``, r normal with mean and standard
      deviation width / 2;
    - ``buckets`` (the same, p-buckets): the ranks are cut into buckets of `width`; with i in bucket b, j is uniform
      in bucket b + g, where g = 0, 1, 2, ... has the probability ``2**-(g + 1)``.

    Where the partners that were drawn are taken, it is the nearest free rank to the first of them.

    Parameters
    ----------
    n : int
        Number of values.
    generator : numpy.random.Generator
    width : int
        Ranks that a value may move (window), or moves in the order of; at least 1.
    spread : {"distribution", "buckets", "window"}

    Returns
    -------
    ndarray of intp, shape (n,)
        The partner of each rank; a permutation that is its own inverse. Of an odd number of ranks one, drawn at
        random, has none and is its own.

    Notes
    -----
    Moore (1996) in the form of Domingo-Ferrer and Torra (2001); the remedies of Nin, Herranz and Torra (2008),
    Rethinking rank swapping to decrease disclosure risk, Data & Knowledge Engineering 64(1), sections 4.1 and 4.2.
    There a negative r is a rank that has its partner already; here its size counts.
    """
    partner = list(range(n))
    free = bytearray(b"\1" * n)
    if n % 2:
        free[int(generator.integers(n))] = 0
    drawn = _drawn(n, generator, width, spread).tolist()
    for at in range(n - 1):
        if not free[at]:
            continue
        free[at] = 0
        beyond = min(at + width + 1, n) if spread == "window" else n
        other = next((rank for rank in drawn[at] if at < rank < beyond and free[rank]), -1)
        if other < 0:
            other = _nearest_free(free, at, min(max(drawn[at][0], at + 1), beyond - 1), beyond)
        if other >= 0:
            free[other] = 0
            partner[at], partner[other] = other, at
    return np.array(partner, dtype=np.intp)


def rank_swapped(
    values: Floats, generator: np.random.Generator, *, width: int, spread: RankSpread = "distribution"
) -> Floats:
    """Swap the values of one column among its records; see `swapped_ranks`.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Finite. Equal values are ranked in random order, so that the order of the records says nothing.
    generator : numpy.random.Generator
    width : int
    spread : {"distribution", "buckets", "window"}

    Returns
    -------
    ndarray of float64, shape (n,)
        A permutation of the values.
    """
    order = np.lexsort((generator.permutation(len(values)), values))
    swapped = np.empty_like(values)
    swapped[order] = values[order[swapped_ranks(len(values), generator, width=width, spread=spread)]]
    return swapped


def _drawn(n: int, generator: np.random.Generator, width: int, spread: RankSpread) -> _Ranks:
    """Ranks that are drawn for each rank, shape (n, tries); some are none, or are below it."""
    at = np.arange(n, dtype=np.intp)[:, None]
    shape = (n, _TRIES)
    match spread:
        case "window":
            return at + generator.integers(1, width + 1, shape)
        case "distribution":
            steps = np.abs(np.rint(width / 2 * (1.0 + generator.standard_normal(shape))))
            return at + np.maximum(steps, 1).astype(np.intp)
        case "buckets":
            bucket = at // width + generator.geometric(0.5, shape) - 1
            return bucket * width + generator.integers(width, size=shape)


def _nearest_free(free: bytearray, at: int, wanted: int, beyond: int) -> int:
    """The free rank above `at` and below `beyond` that is nearest to one that is wanted; -1 where there is none."""
    above, below = free.find(1, wanted, beyond), free.rfind(1, at + 1, wanted)
    if above < 0 or below < 0:
        return max(above, below)
    return above if above - wanted <= wanted - below else below
