"""Exchanges of drawn values between records, so that fewer rules are broken and each value stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class BrokenRules:
    """What tells how many rules records break.

    Attributes
    ----------
    read : ndarray of bool, shape (p,)
        Columns that rules read.
    count : callable
        Takes values, shape (m, p), and the positions of their records, shape (m,), and returns how many rules each
        breaks, shape (m,).
    """

    read: NDArray[np.bool_]
    count: Callable[[Floats, NDArray[np.intp]], NDArray[np.intp]]


ROUNDS = 80
"""Times that each record that breaks a rule tries an exchange; after these, what is left is little."""
WIDER = 10
"""Rounds after which records that are farther away are tried as well."""


def exchanged(
    values: Floats,
    drawn: Floats,
    generator: np.random.Generator,
    *,
    broken: BrokenRules,
    columns: NDArray[np.bool_],
    known: NDArray[np.bool_],
    near: int,
    limit: int | None = None,
    completed: Callable[[Floats], Floats] = lambda made: made,
) -> Floats:
    """Exchange values of records that break rules with records whose value is near.

    In each round every such record draws a column, and a record whose drawn value is at most `near` ranks away, in
    later rounds some times that. The two exchange their values of the column where they break fewer rules together
    then, neither gets its own original value back, and `limit` is kept.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        The original.
    drawn : ndarray of float64, shape (n, p)
        In `columns` a permutation of the known values.
    generator : numpy.random.Generator
    broken : BrokenRules
        Judges completed records.
    columns : ndarray of bool, shape (p,)
        In which values are exchanged.
    known : ndarray of bool, shape (n, p)
        Values that exist.
    near : int
        Ranks, at least 1.
    limit : int, optional
        Ranks that a value may be away from the value of its record in the original; equal values are 0 ranks away.
    completed : callable, optional
        Computes the other columns.

    Returns
    -------
    ndarray of float64, shape (n, p)
        Every column of `columns` is the same permutation of values, or another one; the rules that records break are
        as many as before, or fewer.

    Notes
    -----
    Theorem: each column keeps the multiset of its values, and the number of broken rules over all records never
    grows. Proof: pairs of a round are disjoint, each exchanges two values of one column, and only where the number
    of the two falls; what a record breaks depends on the record alone.
    """
    made = drawn.copy()
    everyone = np.arange(len(made), dtype=np.intp)
    bad = broken.count(completed(made), everyone)
    choices = np.flatnonzero(columns)
    for attempt in range(ROUNDS if choices.size else 0):
        at = np.flatnonzero(bad)
        if not at.size:
            break
        column = choices[generator.integers(len(choices), size=len(at))]
        reach = min(near * (1 + attempt // WIDER), len(made) - 1)
        one, other, column = _pairs(made, known, at, column, reach, generator)
        fine = _allowed(values, made, one, other, column, limit)
        one, other, column = one[fine], other[fine], column[fine]
        if not one.size:
            continue
        pair = np.concatenate([one, other])
        tried = made[pair]
        tried[np.arange(len(one)), column] = made[other, column]
        tried[np.arange(len(one), 2 * len(one)), column] = made[one, column]
        still = broken.count(completed(tried), pair)
        before, after = (flags.reshape(2, -1).sum(axis=0) for flags in (bad[pair], still))
        better = np.tile(after < before, 2)
        made[pair[better]] = tried[better]
        bad[pair[better]] = still[better]
    return completed(made)


def _pairs(
    made: Floats,
    known: NDArray[np.bool_],
    at: NDArray[np.intp],
    column: NDArray[np.intp],
    near: int,
    generator: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Draw a partner for each record in its column; of pairs that share a record, the first in random order stays."""
    partner = np.full(len(at), -1, dtype=np.intp)
    for name in np.unique(column).tolist():
        asking = np.flatnonzero((column == name) & known[at, name])
        holders = np.flatnonzero(known[:, name])
        order = holders[np.lexsort((generator.permutation(len(holders)), made[holders, name]))]
        place = np.empty(len(made), dtype=np.intp)
        place[order] = np.arange(len(order))
        step = generator.integers(1, near + 1, size=len(asking)) * generator.choice((-1, 1), size=len(asking))
        wanted = place[at[asking]] + step
        inside = (wanted >= 0) & (wanted < len(order))
        partner[asking[inside]] = order[wanted[inside]]
    asked = generator.permutation(np.flatnonzero(partner >= 0))
    both = np.stack([at[asked], partner[asked]], axis=1).ravel()
    first = np.zeros(len(both), dtype=np.bool_)
    first[np.unique(both, return_index=True)[1]] = True
    kept = asked[first.reshape(-1, 2).all(axis=1)]
    return at[kept], partner[kept], column[kept]


def _allowed(
    values: Floats,
    made: Floats,
    one: NDArray[np.intp],
    other: NDArray[np.intp],
    column: NDArray[np.intp],
    limit: int | None,
) -> NDArray[np.bool_]:
    """Which exchanges give neither record its own value back, and stay within the limit."""
    gets = made[other, column], made[one, column]
    had = values[one, column], values[other, column]
    fine = (gets[0] != had[0]) & (gets[1] != had[1])
    if limit is None:
        return np.asarray(fine)
    for name in np.unique(column).tolist():
        rows = column == name
        for new, own in zip(gets, had, strict=True):
            fine[rows] &= rank_gap(values[:, name], own[rows], new[rows]) <= limit
    return np.asarray(fine)


def rank_gap(column: Floats, one: Floats, other: Floats) -> NDArray[np.intp]:
    """Ranks between two values of a column each, 0 where they are equal; between the nearest of equal ones."""
    ordered = np.sort(column)
    low, high = np.minimum(one, other), np.maximum(one, other)
    gap = np.searchsorted(ordered, high, side="left") - np.searchsorted(ordered, low, side="right") + 1
    return np.where(low == high, 0, gap).astype(np.intp)
