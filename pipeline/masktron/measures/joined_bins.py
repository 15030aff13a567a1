"""Bins for the distribution of a number before and after masking, none of which holds few records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_value
from masktron.measures.base import require_finite

_BINS = 24
_TAIL = 0.01
"""Share of the values on either side that lie in an open bin, as a few extreme ones would hide the rest."""


@dataclass(frozen=True, slots=True)
class JoinedBins:
    """Counts of two files over the same bins.

    Attributes
    ----------
    edges : tuple of float
        Between bins, ascending: one less than there are bins. The outer bins are open; multiples of a round step, so
        that no edge is a value of a record but by chance.
    step : float
        Of which the edges are multiples, or halves between whole numbers.
    before, after : tuple of int
        Records in each bin, at least as many as was asked for.
    """

    edges: tuple[float, ...]
    step: float
    before: tuple[int, ...]
    after: tuple[int, ...]


def joined_bins(original: NDArray[np.float64], masked: NDArray[np.float64], least: int) -> JoinedBins | None:
    """Sort the values of two files into bins of a round width, and join neighbours until none is small.

    Parameters
    ----------
    original, masked : ndarray of float64, shapes (n,) and (m,)
        One variable; NaN where missing, which is in no bin.
    least : int
        Records that each bin has in both files; at least 1.

    Returns
    -------
    JoinedBins or None
        None where there would be a single bin: the variable hardly varies, or the files have few values.

    Raises
    ------
    UsageError
        `least` is below 1, or a value is infinite.

    Notes
    -----
    Bins go from left to right: one that has too few records in a file takes its right neighbour, and what is left at
    the end goes to the last one. Minimum frequencies of a table are the usual rule of disclosure control: Hundepool
    et al. (2012), Statistical Disclosure Control, section 4.2.
    """
    require_value(least >= 1, "least", "1 or more", least)
    values = [column[~np.isnan(column)] for column in (original, masked)]
    together = np.concatenate(values)
    require_finite(together)
    if min(map(len, values)) < 2 * least:
        return None
    edges, step = _edges(together)
    before, after = (np.bincount(np.searchsorted(edges, one, "right"), minlength=len(edges) + 1) for one in values)
    kept: list[int] = []
    counts: list[tuple[int, int]] = []
    own = now = 0
    for at in range(len(edges) + 1):
        own, now = own + int(before[at]), now + int(after[at])
        if min(own, now) >= least and at < len(edges):
            counts.append((own, now))
            kept.append(at)
            own = now = 0
    if min(own, now) >= least:
        counts.append((own, now))
    elif counts:
        last = counts.pop()
        counts.append((last[0] + own, last[1] + now))
        kept.pop()
    if len(counts) < 2:
        return None
    return JoinedBins(
        tuple(float(edges[at]) for at in kept), step, tuple(one for one, _ in counts), tuple(one for _, one in counts)
    )


def _edges(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Edges between bins of a round width; halves between whole numbers where there are few of these."""
    lowest, highest = float(values.min()), float(values.max())
    if highest - lowest <= _BINS and (values == np.rint(values)).all():
        return np.arange(lowest + 0.5, highest, 1.0), 1.0
    low, high = (float(np.quantile(values, share)) for share in (_TAIL, 1 - _TAIL))
    if low == high:
        low, high = lowest, highest
    step = round_step((high / _BINS) - (low / _BINS))
    if step == 0.0:
        return np.empty(0), 0.0
    first, last = math.ceil(low / step), math.floor(high / step)
    return np.arange(first, last + 1, dtype=np.float64) * step, step


def round_step(width: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below a width; 0 for none."""
    if width <= 0 or not math.isfinite(width):
        return 0.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(times * power for times in (1, 2, 5, 10, 20) if times * power >= width * (1 - 1e-12))
