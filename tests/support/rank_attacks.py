"""Attacks on files whose values were swapped by rank, by somebody who knows the original values of respondents.

He has the program and its parameters. Values keep their multiplicity, so that the released column tells the rank of
each original value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.synthesis.rank_swapping import RankSpread, rank_swapped

BINS = 60
SIMULATED = 30
"""Runs on the released file from which he knows how far values go."""


def rank_gaps(original: NDArray[np.float64], released: NDArray[np.float64]) -> NDArray[np.intp]:
    """Ranks between each known value (rows) and each released one (columns), shape (n, n); 0 for equal values."""
    ordered = np.sort(released)
    first = [np.searchsorted(ordered, one, side="left") for one in (original, released)]
    last = [np.searchsorted(ordered, one, side="right") - 1 for one in (original, released)]
    above = first[1][None, :] - last[0][:, None]
    below = first[0][:, None] - last[1][None, :]
    return np.maximum(np.maximum(above, below), 0)


def intersections(original: NDArray[np.float64], released: NDArray[np.float64], width: int) -> NDArray[np.bool_]:
    """Which released records are within the width in every variable, shape (n, n).

    Source: Nin, Herranz and Torra (2008), section 3: rank swapping record linkage.
    """
    candidates = np.ones((len(original), len(released)), dtype=np.bool_)
    for before, after in zip(original.T, released.T, strict=True):
        candidates &= rank_gaps(before, after) <= width
    return candidates


def links_by_intersection(original: NDArray[np.float64], released: NDArray[np.float64], width: int) -> float:
    """Share of the respondents of whom the only candidate is their own record."""
    candidates = intersections(original, released, width)
    return float((np.diagonal(candidates) & (candidates.sum(axis=1) == 1)).mean())


def links_by_likelihood(
    original: NDArray[np.float64],
    released: NDArray[np.float64],
    *,
    width: int,
    spread: RankSpread,
    generator: np.random.Generator,
) -> float:
    """Share of the respondents whose own record is the most likely of all; of t equally likely ones it counts 1 / t.

    He runs the program on the released columns to learn how likely each distance between ranks is, and adds the
    logarithms over the variables, as if these were swapped independently of each other, which they are.
    """
    score = np.zeros((len(original), len(released)))
    for before, after in zip(original.T, released.T, strict=True):
        edges = np.concatenate([[-0.5, 0.5], np.linspace(0.5, len(after), BINS)[1:]])
        seen = np.zeros(BINS)
        for _ in range(SIMULATED):
            again = rank_swapped(after, generator, width=width, spread=spread)
            gaps = _own_gaps(after, again)
            seen += np.histogram(gaps, edges)[0]
        apart = rank_gaps(before, after)
        placed = np.clip(np.searchsorted(edges, apart, side="right") - 1, 0, BINS - 1)
        all_pairs = np.bincount(placed.ravel(), minlength=BINS) + 1.0
        score += np.log((seen + 0.01) / all_pairs)[placed]
    best = score >= score.max(axis=1, keepdims=True) - 1e-9
    return float((np.diagonal(best) / best.sum(axis=1)).mean())


def _own_gaps(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.intp]:
    ordered = np.sort(after)
    lows = [np.searchsorted(ordered, one, side="left") for one in (before, after)]
    highs = [np.searchsorted(ordered, one, side="right") - 1 for one in (before, after)]
    return np.maximum(np.maximum(lows[1] - highs[0], lows[0] - highs[1]), 0)
