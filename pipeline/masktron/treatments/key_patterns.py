"""A file of keys in which cells are to be suppressed: what the algorithms of `suppression` share."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.distinct import factorized
from masktron.kernels.linear_algebra import product
from masktron.progress import Told, untold
from masktron.treatments.allowing import Allowed

_MOST_PATTERNS = 1023
"""Sets of keys that are tried: all of up to 10 keys, of more the small ones and a chain up to all keys."""
_BITS = 62
"""Of a number that stands for a combination."""


def cost_of(cells: NDArray[np.bool_], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the suppressed cells of each record cost, with the same bits on every processor.

    Parameters
    ----------
    cells : ndarray of bool, shape (n, m) or (m,)
    cost : ndarray of float64, shape (m,)

    Returns
    -------
    ndarray of float64, shape (n,) or (1,)
    """
    return product(np.atleast_2d(cells).astype(np.float64), cost[:, None])[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Suppressing:
    """Keys, how often a combination has to be there, and what a suppressed cell costs.

    Attributes
    ----------
    codes : ndarray of int64, shape (n, m)
        From 0; -1 where the value is missing.
    k : int
    cost : ndarray of float64, shape (m,)
    allowed : Allowed or None
        None where everything may be missing.
    digits : ndarray of int64, shape (n, m)
        The number of a combination is the sum of its digits; the digit of a missing value is 0.
    numbers : ndarray of int64, shape (n,)
        The combination of each record.
    with_gaps : frozenset of int
        Keys that are missing in some record.
    patterns : ndarray of bool, shape (p, m)
        Sets of keys that are suppressed together, from cheap to dear; the last has all keys.
    known : dict
        What `allowed` has said of records by pattern; filled as it is asked.
    told : Told
        Told how far the greedy algorithm is, and the bound after it: in sets of keys, each of which both go through.
    """

    codes: NDArray[np.int64]
    k: int
    cost: NDArray[np.float64]
    allowed: Allowed | None
    digits: NDArray[np.int64]
    numbers: NDArray[np.int64]
    with_gaps: frozenset[int]
    patterns: NDArray[np.bool_]
    known: dict[int, NDArray[np.int8]] = field(default_factory=dict)
    told: Told = untold

    def without(self, records: NDArray[np.intp], pattern: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the combinations of records as they are written without some keys, shape (r,)."""
        found = self.numbers[records]
        for key in np.flatnonzero(pattern).tolist():
            found -= self.digits[records, key]
        return found

    def price(self, records: NDArray[np.intp], pattern: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return what it costs to suppress these keys, where they have values, shape (r,)."""
        found = np.zeros(len(records))
        for key in np.flatnonzero(pattern).tolist():
            own = self.codes[:, key]
            found += self.cost[key] * (own[records] >= 0) if key in self.with_gaps else self.cost[key]
        return found

    def may(self, records: NDArray[np.intp], at: int) -> NDArray[np.bool_]:
        """Tell in which records the keys of a pattern may be missing, and nothing else, shape (r,)."""
        if self.allowed is None:
            return np.ones(len(records), dtype=np.bool_)
        known = self.known.setdefault(at, np.full(len(self.codes), -1, dtype=np.int8))
        new = records[known[records] < 0]
        if len(new):
            known[new] = self.may_be(new, self.patterns[at] & (self.codes[new] >= 0))
        return np.asarray(known[records] == 1)

    def may_be(self, records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which records may stand with these cells suppressed, shape (r,)."""
        fine = np.ones(len(records), dtype=np.bool_)
        some = np.flatnonzero(which.any(axis=1))
        if self.allowed is not None and len(some):
            fine[some] = self.allowed(records[some], which[some])
        return fine


def suppressing(
    codes: NDArray[np.int64],
    k: int,
    cost: NDArray[np.float64],
    allowed: Allowed | None,
    generator: np.random.Generator,
) -> Suppressing:
    """Prepare a file of keys; the generator is asked only where there are more combinations than numbers."""
    digits = np.asfortranarray(_digits(codes, generator))
    gaps = frozenset(np.flatnonzero((codes < 0).any(axis=0)).tolist())
    return Suppressing(codes, k, cost, allowed, digits, digits.sum(axis=1), gaps, _patterns(codes, cost))


def _digits(codes: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return numbers whose sums tell combinations apart.

    Digits of a mixed radix, where 62 bits hold all combinations; else random ones (Zobrist 1970), which take two
    combinations for one with a probability of 2**-63. The result is examined in any case (`suppression`).
    """
    if codes.max(initial=-1) > len(codes):
        codes = np.column_stack(
            [np.unique(np.append(column, -1), return_inverse=True)[1][:-1] - 1 for column in codes.T]
        )
    sizes = codes.max(axis=0, initial=-1) + 2
    if float(np.prod(sizes.astype(np.float64))) < 2.0**_BITS:
        return (codes + 1) * np.concatenate([[1], np.cumprod(sizes[:-1])]).astype(np.int64)
    digits = np.empty_like(codes)
    for at, size in enumerate(sizes.tolist()):
        table = generator.integers(-(2**63), 2**63, size, dtype=np.int64)
        table[0] = 0
        digits[:, at] = table[codes[:, at] + 1]
    return digits


def _patterns(codes: NDArray[np.int64], cost: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return sets of keys, from cheap to dear; of equal ones, first those with many values."""
    keys = codes.shape[1]
    found: set[tuple[int, ...]] = {tuple(range(keys))}
    size = 1
    while size < keys and len(found) + comb(keys, size) <= _MOST_PATTERNS:
        found.update(combinations(range(keys), size))
        size += 1
    chain = np.argsort(cost, kind="stable").tolist()
    for length in range(1, keys):
        found.update(tuple(sorted({*chain[:length], one})) for one in range(keys))
    values = codes.max(axis=0, initial=-1)
    ordered = sorted(found, key=lambda own: (sum(cost[at] for at in own), -sum(values[at] for at in own), own))
    table = np.zeros((len(ordered), keys), dtype=np.bool_)
    for row, own in zip(table, ordered, strict=True):
        row[list(own)] = True
    return table


def all_sets(keys: int, patterns: NDArray[np.bool_]) -> int:
    """Return the size up to which all sets of keys are among the patterns."""
    sizes = np.bincount(patterns.sum(axis=1), minlength=keys + 1)
    size = 0
    while size < keys and sizes[size + 1] == comb(keys, size + 1):
        size += 1
    return size


def least_cost(file: Suppressing) -> float:
    """Return a bound: no suppression that makes every combination as written occur k times costs less.

    Notes
    -----
    A record at risk i, one of fewer than k alike, ends in a combination without some set T of its keys, with at least
    k - 1 records that agree with it outside T: so T is one for which there are k such records, N(T) >= k. If V(T) of
    these are at risk, at most V(T) records at risk share the combination, and the others, at least k - V(T), pay at
    least the least price q that one of those that agree would pay. So the costs of a combination, shared equally
    among its records at risk, are at least c_i(T) + q max(0, k / V(T) - 1) for each, and the sum over records at risk
    of the least of that over T bounds the costs of all combinations from below. These are the prices of the greedy
    algorithm.
    """
    return float(record_bounds(file).sum())


def record_bounds(file: Suppressing) -> NDArray[np.float64]:
    """Return the share of each record at risk in `least_cost`, shape (n,); infinite where none is allowed."""
    everyone = np.arange(len(file.codes))
    numbers, distinct = factorized(file.numbers)
    risk = np.bincount(numbers, minlength=len(distinct))[numbers] < file.k
    rows = np.flatnonzero(risk)
    best = np.full(len(rows), np.inf)
    for at in range(len(file.patterns)):
        file.told(len(file.patterns) + at, 2 * len(file.patterns))
        np.minimum(best, _shares(file, everyone, risk, at)[rows], out=best)
    size = all_sets(file.codes.shape[1], file.patterns)
    if size < file.codes.shape[1]:
        gaps = (file.codes[rows] < 0).sum(axis=1)
        least = np.concatenate([[0.0], np.cumsum(np.sort(file.cost))])
        np.minimum(best, least[np.maximum(size + 1 - gaps, 0)], out=best)
    bounds = np.zeros(len(file.codes))
    bounds[rows] = best
    return bounds


def _shares(file: Suppressing, everyone: NDArray[np.intp], risk: NDArray[np.bool_], at: int) -> NDArray[np.float64]:
    """Return what a record at risk pays at least in a combination without the keys of a pattern, shape (n,)."""
    pattern = file.patterns[at]
    numbers, distinct = factorized(file.without(everyone, pattern))
    count = np.bincount(numbers, minlength=len(distinct))
    wanted = np.flatnonzero(risk & (count[numbers] >= file.k))
    found = np.full(len(everyone), np.inf)
    wanted = wanted[file.may(wanted, at)]
    at_risk = np.bincount(numbers[risk], minlength=len(distinct))
    lowest = np.full(len(distinct), np.inf)
    others = np.flatnonzero(~risk)
    np.minimum.at(lowest, numbers[others], file.price(others, pattern))
    few = np.maximum(file.k / np.maximum(at_risk, 1) - 1, 0)
    extra = np.where(few > 0, lowest, 0.0) * few
    found[wanted] = file.price(wanted, pattern) + extra[numbers[wanted]]
    return found


def combinations_of(numbers: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the combination of each record, numbered from 0, shape (n,), and how many records each has."""
    codes, distinct = factorized(numbers)
    return codes, np.bincount(codes, minlength=len(distinct))
