"""Distance-based record linkage: how often the original record that is nearest to a masked one is its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.kernels import linkage as kernel
from masktron.kernels.distinct import alike, codes_of
from masktron.kernels.nearest import nearest_places, squared_distances
from masktron.kernels.sums import scaled

TREE_FROM = 20_000
"""Records from which compiled code is worth loading."""


def linkage(original: NDArray[np.float64], masked: NDArray[np.float64], *, workers: int = 1) -> float:
    """Compute the share of masked records whose nearest original record is their own.

    Distance is Euclidean over all variables, standardised by mean and standard deviation of the original. If t
    original records are nearest and the own one is among them, the record counts 1/t. Distances tie when the sums
    of squares in float64, added in the order of the variables, are equal.

    A missing value is put at the mean of its variable, and whether it is missing counts as one more variable with
    values 0 and 1. A variable that is constant in the original tells no original records apart and is left out.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing. Text is encoded by the caller.
    workers : int
        Threads for a file of many records; the result does not depend on them.

    Returns
    -------
    float
        Per cent of the n records; 0 without records.

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    This is what one intruder finds, no bound on what can be found: a distance that allows for correlations
    (Mahalanobis) and one-to-one assignment link more. On census (1,080 records of 13 variables) with noise of
    c = 0.15 this is 37 %, and those two link 80 %.

    Source: Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for microdata.
    """
    require_linkable(original, masked)
    if not len(original):
        return 0.0
    known, released = linkage_points(original, masked)
    credit = credit_through_tree(known, released, workers) if _many(len(known)) else _credit(known, released)
    return 100.0 * float(credit.sum()) / len(original)


def require_linkable(original: NDArray[np.float64], masked: NDArray[np.float64]) -> None:
    """Refuse files that cannot be linked, with the errors of `linkage`."""
    if original.shape != masked.shape or original.ndim != 2:
        raise UsageError(f"files of shapes {original.shape} and {masked.shape} cannot be linked")
    if np.isinf(original).any() or np.isinf(masked).any():
        raise UsageError("an infinite value has no distance to others")


def compiles_first(n: int) -> bool:
    """Tell whether linking n records would have to wait for code to be compiled."""
    if not _many(n):
        return False
    return not kernel.links_ready()


def compile_for(n: int) -> None:
    """Compile what linking n records takes."""
    if _many(n):
        kernel.compile_links()


def _many(n: int) -> bool:
    return n >= TREE_FROM


def linkage_points(
    original: NDArray[np.float64], masked: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return original and masked records as points of the space in which `linkage` measures, shape (n, d) each."""
    units = [_unit(column) for column in original.T]
    gaps = [_tells_apart(np.isnan(column)) for column in original.T]
    shape = len(original), sum(unit is not None for unit in units) + sum(gaps)
    known, released = np.empty(shape), np.empty(shape)
    at = 0
    for before, after, unit, gap in zip(original.T, masked.T, units, gaps, strict=True):
        for column, points in ((before, known), (after, released)):
            if unit is not None:
                points[:, at] = _standardised(column, *unit)
            if gap:
                points[:, at + (unit is not None)] = np.isnan(column)
        at += (unit is not None) + gap
    return known, released


def _unit(column: NDArray[np.float64]) -> tuple[int, float, float] | None:
    """Power of two, mean and standard deviation that standardise a variable; None where it does not vary."""
    numbers = column[~np.isnan(column)]
    if not numbers.size or numbers.min() == numbers.max():
        return None
    power = -int(np.frexp(np.abs(numbers).max())[1])
    unit = scaled(numbers, power)
    return power, unit.mean(), unit.std()


def _tells_apart(flags: NDArray[np.bool_]) -> bool:
    return bool(flags.any() and not flags.all())


def _standardised(column: NDArray[np.float64], power: int, mean: float, deviation: float) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return _bounded((scaled(column, power) - mean) / deviation)


def _bounded(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put missing values at the mean, and absurd ones where they are still the farthest but can be squared."""
    return np.clip(np.where(np.isnan(points), 0.0, points), -1e150, 1e150)


def _credit(known: NDArray[np.float64], released: NDArray[np.float64]) -> NDArray[np.float64]:
    """Credit of each record: 1/t with its own original among the t nearest, else 0."""
    if not known.shape[1]:
        return np.full(len(known), 1.0 / len(known))
    # Equal records tie with certainty and would fill the candidate lists: each distinct one is handled once.
    places, people = np.unique(known, axis=0, return_counts=True)
    prototypes, prototype = np.unique(released, axis=0, return_inverse=True)
    best, ties = np.empty(len(prototypes)), np.empty(len(prototypes), dtype=np.intp)
    for near in nearest_places(places, prototypes, 1):
        best[near.points] = np.minimum.reduceat(near.squared, near.starts)
        tied = near.squared == near.spread(best[near.points])
        ties[near.points] = np.add.reduceat(np.where(tied, people[near.place], 0), near.starts)
    own = squared_distances(released, known)
    credit: NDArray[np.float64] = np.where(own == best[prototype], 1.0 / ties[prototype], 0.0)
    return credit


def credit_through_tree(
    known: NDArray[np.float64], released: NDArray[np.float64], workers: int, depth: int = 1
) -> NDArray[np.float64]:
    """Chance of each record that its own original is among the `depth` nearest, ties in random order.

    With depth 1 as `_credit`, by a search for each record that ends at the first original nearer than its own.
    """
    if not known.shape[1]:
        return np.full(len(known), min(1.0, depth / len(known)))
    place, count = alike(map(codes_of, known.T), len(known))
    prototype, _ = alike(map(codes_of, released.T), len(released))
    people = np.bincount(place)
    if count < len(known):
        first = np.empty(count, dtype=np.intp)
        # of equal records the last assignment stays
        first[place[::-1]] = np.arange(len(known))[::-1]
        known = known[first]
    return kernel.credits_of_links(known, people, place, released, prototype, workers, depth)
