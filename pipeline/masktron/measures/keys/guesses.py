"""What other fields say of a value of a key: the guess of its group, of its neighbours in sorted order, of a line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Indices
from masktron.kernels.distinct import factorized

type CodedValues = NDArray[np.int32]
type Mask = NDArray[np.bool_]
type Guess = tuple[CodedValues, Floats]
"""A value for each record, -1 where there is no guess, and how sure it is, from 0 to 1."""

EXACT = 1e-6
"""How far a line may miss a value of the key, in standard deviations of the key."""
_LEAST_ROWS = 12
"""Records by which a line may be found: fewer would fit by chance."""
MOST_TERMS = 60
"""Numeric fields in one line."""


def grouped(columns: Sequence[CodedValues]) -> tuple[Indices, int]:
    """Number the records that are alike in all columns, shape (n,), and return a bound on these numbers.

    The number is -1 where a column is. The bound is at most 4 n + 1,000, so that tables of groups stay small.
    """
    n = len(columns[0])
    codes, count, there = np.zeros(n, dtype=np.intp), 1, np.ones(n, dtype=np.bool_)
    for column in columns:
        there &= column >= 0
        kinds = int(column.max(initial=0)) + 1
        codes, count = codes * kinds + np.maximum(column, 0), count * kinds
        if count > 4 * n + 1_000:
            codes, distinct = factorized(codes)
            count = len(distinct)
            if count == n:  # what follows cannot tell them further apart
                break
    return np.where(there, codes, -1), count


def by_groups(groups: Indices, count: int, shown: CodedValues, known: Mask) -> Guess:
    """Guess the value that most of the known records of a group show.

    Of m known records, of which t show it, the guess is sure to t / (m + 1): as if one more showed another value.

    Parameters
    ----------
    groups, count
        As `grouped` returns them.
    shown : ndarray of int32, shape (n,)
        The key as released, -1 where missing.
    known : ndarray of bool, shape (n,)
        Records that are looked at.
    """
    used = known & (groups >= 0)
    value, sure = np.full(count + 1, -1, dtype=np.int32), np.zeros(count + 1)
    if used.any():
        kinds = int(shown.max()) + 1
        cells, copies = np.unique(groups[used] * kinds + shown[used], return_counts=True)
        starts = np.flatnonzero(np.diff(cells // kinds, prepend=-1))
        most = np.maximum.reduceat(copies, starts)
        of_cell = np.repeat(most, np.diff(starts, append=len(cells)))
        best = np.flatnonzero(copies == of_cell)
        value[cells[best] // kinds] = cells[best] % kinds
        sure[cells[starts] // kinds] = most / (np.add.reduceat(copies, starts) + 1)
    return value[groups], sure[groups]


def by_neighbours(order: Indices, sides: int, shown: CodedValues, known: Mask) -> Guess:
    """Guess the value that most of the nearest known records show, so many on each side, itself left out.

    Parameters
    ----------
    order : ndarray of intp, shape (m,)
        Records in sorted order, without those that have no value to sort by.
    sides : int
        Of 2 s neighbours, of which t agree, the guess is sure to t / (2 s + 1).
    shown, known
        As for `by_groups`.
    """
    own = known[order]
    values, after = shown[order][own], np.cumsum(own)
    votes = []
    for step in range(sides):
        for places in (after - own - 1 - step, after + step):
            there = (places >= 0) & (places < len(values))
            votes.append(np.where(there, values.take(places, mode="clip"), -1) if len(values) else places * 0 - 1)
    agreeing = [np.ones(len(order), dtype=np.int8) for _ in votes]
    for one, two in combinations(range(len(votes)), 2):
        same = votes[one] == votes[two]
        agreeing[one] += same
        agreeing[two] += same
    best, most = np.full(len(order), -1, dtype=np.int32), np.zeros(len(order), dtype=np.int8)
    for vote, agree in zip(votes, agreeing, strict=True):
        better = (vote >= 0) & (agree > most)
        best[better], most[better] = vote[better], agree[better]
    value, sure = np.full(len(shown), -1, dtype=np.int32), np.zeros(len(shown))
    value[order], sure[order] = best, most / (2 * sides + 1)
    return value, sure


def _pursued(fields: Sequence[Floats], target: Floats, names: Sequence[int]) -> list[int]:
    """Choose few fields that give an exact line, where records are few; none where there is no such line.

    One or two of them, or more that are added one by one, by what is left (orthogonal matching pursuit: Pati,
    Rezaiifar and Krishnaprasad 1993), as long as there are three records for each.
    """
    standard = [(own - own.mean()) / (float(own.std()) or 1.0) for own in fields]
    exact = EXACT * (float(target.std()) or 1.0)

    def left_by(chosen: Sequence[int]) -> Floats:
        design = np.column_stack([*(standard[at] for at in chosen), np.ones(len(target))])
        return np.asarray(target - design @ np.linalg.lstsq(design, target, rcond=None)[0])

    for size in (1, 2):
        for pair in combinations(range(len(fields)), size):
            if np.abs(left_by(pair)).max() <= exact:
                return [names[at] for at in pair]
    chosen: list[int] = []
    left = left_by(chosen)
    while len(chosen) < min(len(fields), len(target) // 3 - 1) and np.abs(left).max() > exact:
        gains = [0.0 if at in chosen else abs(float(own @ left)) for at, own in enumerate(standard)]
        chosen.append(int(np.argmax(gains)))
        left = left_by(chosen)
    return [names[at] for at in sorted(chosen)] if np.abs(left).max() <= exact else []


def by_line(values: Sequence[Floats], numbers: Floats, shown: CodedValues, known: Mask) -> tuple[Guess, list[int]]:
    """Guess the number of a key from a linear combination of numeric fields, by least squares.

    Parameters
    ----------
    values : sequence of ndarray of float64, shape (n,) each
        The fields, NaN where missing.
    numbers : ndarray of float64, shape (c,)
        The number of each value of the key, NaN where it is none.
    shown, known
        As for `by_groups`.

    Returns
    -------
    guess : Guess
        The code c where the line gives a number that the key never has.
    used : list of int
        Fields with a share in the line. None where the fit has too few records, and guesses nothing.
    """
    nothing = np.full(len(shown), -1, dtype=np.int32), np.zeros(len(shown))
    known = known & np.isfinite(numbers)[np.maximum(shown, 0)]
    there = [np.isfinite(own) for own in values]
    # a field counts if some value differs; those that are missing most often go until enough records are complete
    kept = [at for at, own in enumerate(values) if (some := own[there[at] & known]).size and np.ptp(some) > 0]
    kept = sorted(kept, key=lambda at: -int(there[at].sum()))[:MOST_TERMS]
    while kept:
        complete = np.logical_and.reduce([there[at] for at in kept])
        rows = np.flatnonzero(complete & known)
        if len(rows) >= _LEAST_ROWS:
            break
        kept.pop()
    if not kept:
        return nothing, []
    rows = rows[: 20 * (len(kept) + 1)]
    if len(rows) < 3 * (len(kept) + 1) + 10:
        kept = _pursued([values[at][rows] for at in kept], numbers[shown[rows]], kept)
        if not kept:
            return nothing, []
        complete = np.logical_and.reduce([there[at] for at in kept])
    fields = np.column_stack([values[at] for at in kept])
    middle, spread = fields[rows].mean(axis=0), fields[rows].std(axis=0)
    spread[spread == 0] = 1.0
    target = numbers[shown[rows]]
    design = np.column_stack([(fields[rows] - middle) / spread, np.ones(len(rows))])
    shares = np.linalg.lstsq(design, target, rcond=None)[0]
    unit = float(target.std()) or 1.0
    used = [at for at, share in zip(kept, shares[:-1].tolist(), strict=True) if abs(share) > 1e-3 * unit]
    fitted = np.where(complete, ((fields - middle) / spread * shares[:-1]).sum(axis=1) + shares[-1], np.nan)
    order = np.argsort(numbers, kind="stable")[: int(np.isfinite(numbers).sum())]
    places = np.searchsorted(numbers[order], fitted - EXACT * unit)
    nearest = order[np.minimum(places, len(order) - 1)]
    hit = np.abs(numbers[nearest] - fitted) <= EXACT * unit
    value = np.where(complete, np.where(hit, nearest, len(numbers)), -1).astype(np.int32)
    return (value, complete.astype(np.float64)), used
