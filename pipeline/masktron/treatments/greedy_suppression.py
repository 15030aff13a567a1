"""Suppression in files of any size: combinations are joined from cheap to dear; what is too much is taken back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.treatments.key_patterns import Suppressing, combinations_of, cost_of

_ROUNDING = 1e-9
"""Of sums of costs."""
_ROUNDS = 8
"""Times that records for which nothing was left are put first."""


def greedy(file: Suppressing) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Suppress cells until every combination as written occurs k times.

    Returns
    -------
    cells : ndarray of bool, shape (n, m)
    left : ndarray of intp
        Records for which no way was found; empty where all is well.

    Notes
    -----
    Sets T of keys and numbers r are gone through by the price of a record at risk, c(T) max(1, k / r), as in the
    greedy algorithm for weighted covers (Chvatal 1979): r or more records at risk that agree outside T are written
    without T; what lacks to k comes from combinations that have more than k records, or, last, from whole
    combinations. A record that finds nothing since others have taken what it needs comes first in another round.
    """
    first = np.zeros(len(file.codes), dtype=np.bool_)
    for _ in range(_ROUNDS):
        run = _Run(file)
        if first.any():
            run.go(first)
        left = run.go(np.ones(len(file.codes), dtype=np.bool_))
        if not len(left):
            run.improve()
            return run.cells, left
        if first[left].all():
            break
        first[left] = True
    return run.cells, left


class _Run:
    """The file as it is written so far.

    Attributes
    ----------
    cells : ndarray of bool, shape (n, m)
        What is suppressed.
    written : ndarray of int64, shape (n,)
        The combination of each record.
    open : ndarray of bool, shape (n,)
        Records whose combination occurs fewer than k times.
    """

    def __init__(self, file: Suppressing) -> None:
        self.file = file
        self.cells = np.zeros(file.codes.shape, dtype=np.bool_)
        self.written = file.numbers.copy()
        own, count = combinations_of(self.written)
        self.open = count[own] < file.k
        self._supply: _Supply | None = None

    def go(self, active: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Join the open records among the active ones; return those for which nothing is left."""
        self._supply = None
        steps, sets = self._steps(), len(self.file.patterns)
        for number, (at, least) in enumerate(steps):
            self.file.told(sets * number // len(steps), 2 * sets)
            rows = np.flatnonzero(self.open & active)
            if not len(rows):
                break
            rows = rows[self.file.may(rows, at)]
            if len(rows):
                self._step(at, least, rows, active)
        return np.flatnonzero(self.open & active)

    def _steps(self) -> list[tuple[int, int]]:
        """Return patterns and how many records at risk must agree, by price; 0 where whole combinations are taken."""
        file, levels = self.file, [self.file.k]
        while levels[-1] > 1:
            levels.append(levels[-1] // 2)
        steps = []
        for at, pattern in enumerate(file.patterns):
            price = file.cost[pattern].sum()
            steps += [(price * file.k / least, at, least) for least in levels]
            steps.append((price * (file.k + 1), at, 0))
        return [(at, least) for _, at, least in sorted(steps, key=lambda step: (step[0], step[1], -step[2]))]

    def _step(self, at: int, least: int, rows: NDArray[np.intp], active: NDArray[np.bool_]) -> None:
        file, pattern = self.file, self.file.patterns[at]
        numbers = file.without(rows, pattern)
        supply = self._supplied(active)
        hosted = supply.has(numbers)
        if hosted.any():
            self._write(rows[hosted], pattern)
            rows, numbers = rows[~hosted], numbers[~hosted]
            if not len(rows):
                return
        distinct, which = np.unique(numbers, return_inverse=True)
        count = np.bincount(which, minlength=len(distinct))
        full = count >= file.k
        if least < file.k:
            wanted = ~full & (count >= max(1, least))
            full |= self._fetch(pattern, distinct, np.where(wanted, file.k - count, 0), supply, whole=not least)
        if full[which].any():
            self._write(rows[full[which]], pattern)

    def _fetch(
        self,
        pattern: NDArray[np.bool_],
        distinct: NDArray[np.int64],
        need: NDArray[np.int64],
        supply: _Supply,
        *,
        whole: bool,
    ) -> NDArray[np.bool_]:
        """Write records of other combinations without the pattern, so many as are needed; tell where they suffice."""
        file = self.file
        enough = np.zeros(len(distinct), dtype=np.bool_)
        have = self.cells[supply.one]
        numbers = supply.numbers - np.where(have, 0, file.digits[supply.one])[:, pattern].sum(axis=1)
        place = np.minimum(np.searchsorted(distinct, numbers), len(distinct) - 1)
        fits = (distinct[place] == numbers) & (need[place] > 0)
        if not whole:
            fits &= supply.spare > 0
        groups = np.flatnonzero(fits)
        if not len(groups):
            return enough
        rows, group = supply.members(groups, None if whole or file.allowed is not None else need[place])
        may = file.may_be(rows, (pattern | self.cells[rows]) & (file.codes[rows] >= 0))
        price = cost_of(pattern & ~self.cells[rows] & (file.codes[rows] >= 0), file.cost)
        if whole:
            refused = np.bincount(group[~may], minlength=len(numbers)) > 0
            keep = ~refused[group]
            total = np.bincount(group[keep], price[keep], len(numbers))
            order = np.lexsort((group[keep], total[group[keep]], place[group[keep]]))
        else:
            keep = may.copy()
            keep[may] = _rank(group[may]) < supply.spare[group[may]]
            order = np.lexsort((price[keep], place[group[keep]]))
        rows, group = rows[keep][order], group[keep][order]
        own = place[group]
        enough |= np.bincount(own, minlength=len(distinct)) >= np.maximum(need, 1)
        taken = enough[own] & (_rank(own) < need[own])
        if whole:
            chosen = np.zeros(len(numbers), dtype=np.bool_)
            chosen[group[taken]] = True
            taken = chosen[group] & enough[own]
        if taken.any():
            self._write(rows[taken], pattern)
        return enough

    def _write(self, rows: NDArray[np.intp], pattern: NDArray[np.bool_]) -> None:
        """Suppress keys of records, whose combination then occurs k times."""
        self.cells[rows] |= pattern & (self.file.codes[rows] >= 0)
        self.written[rows] = np.where(self.cells[rows], 0, self.file.digits[rows]).sum(axis=1)
        self.open[rows] = False
        self._supply = None

    def _supplied(self, active: NDArray[np.bool_]) -> _Supply:
        if self._supply is None:
            self._supply = _Supply(self.written, self.open, active, self.file.k)
        return self._supply

    def improve(self) -> None:
        """Move records to cheaper combinations that are there, and write again what all of a combination share."""
        before = np.inf
        while (cost := float(cost_of(self.cells, self.file.cost).sum())) < before:
            before = cost
            self._move()
            self._restore()

    def _move(self) -> None:
        file = self.file
        spent = cost_of(self.cells, file.cost)
        distinct, own, count = np.unique(self.written, return_inverse=True, return_counts=True)
        for at, pattern in enumerate(np.vstack([np.zeros_like(file.patterns[:1]), file.patterns])):
            rows = np.flatnonzero((spent > 0) & (count > file.k)[own])
            rows = rows[file.price(rows, pattern) < spent[rows] - _ROUNDING]
            if not len(rows):
                continue
            numbers = file.without(rows, pattern)
            place = np.minimum(np.searchsorted(distinct, numbers), len(distinct) - 1)
            there = (distinct[place] == numbers) & (count[place] > 0)
            rows, place = rows[there], place[there]
            if at and len(rows):
                may = file.may(rows, at - 1)
                rows, place = rows[may], place[may]
            leaving = _rank(own[rows]) < count[own[rows]] - file.k
            rows, place = rows[leaving], place[leaving]
            self.cells[rows] = pattern & (file.codes[rows] >= 0)
            spent[rows] = cost_of(self.cells[rows], file.cost)
            count -= np.bincount(own[rows], minlength=len(count))
            own[rows] = place
            count += np.bincount(place, minlength=len(count))
            self.written[rows] = distinct[place]

    def _restore(self) -> None:
        file = self.file
        for key in np.argsort(-file.cost, kind="stable").tolist():
            own, count = combinations_of(self.written)
            low, high = np.full(len(count), np.iinfo(np.int64).max), np.full(len(count), -1)
            np.minimum.at(low, own, file.codes[:, key])
            np.maximum.at(high, own, file.codes[:, key])
            rows = np.flatnonzero(self.cells[:, key] & (low == high)[own])
            which = self.cells[rows]
            which[:, key] = False
            refused = np.unique(own[rows[~file.may_be(rows, which)]])
            rows = rows[~np.isin(own[rows], refused)]
            self.cells[rows, key] = False
            self.written[rows] += file.digits[rows, key]


class _Supply:
    """Combinations that others can join, or whose records can be taken.

    Attributes
    ----------
    numbers : ndarray of int64, shape (g,)
    one : ndarray of intp, shape (g,)
        A record of each.
    spare : ndarray of int64, shape (g,)
        Records that each can do without.
    """

    def __init__(
        self, written: NDArray[np.int64], is_open: NDArray[np.bool_], active: NDArray[np.bool_], k: int
    ) -> None:
        rows = np.flatnonzero(~(is_open & active))
        order = rows[np.argsort(written[rows], kind="stable")]
        self._order = order
        changes = np.flatnonzero(np.diff(written[order], prepend=written[order[:1]] - 1 if len(order) else 0))
        self._starts = np.append(changes, len(order))
        self.one = order[changes]
        self.numbers = written[self.one]
        size = np.diff(self._starts)
        waiting = is_open[self.one]  # they are joined later, with what is left of them
        self.spare = np.where(waiting, size, size - k)
        self._hosts = self.numbers[~waiting]

    def has(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which combinations occur k times already."""
        if not len(self._hosts):
            return np.zeros(len(numbers), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self._hosts, numbers), len(self._hosts) - 1)
        return np.asarray(self._hosts[place] == numbers)

    def members(
        self, groups: NDArray[np.intp], most: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the records of combinations, at most so many of each, and the combination of each record."""
        starts, stops = self._starts[groups], self._starts[groups + 1]
        if most is not None:
            stops = np.minimum(stops, starts + most[groups])
        lengths = stops - starts
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        return self._order[np.repeat(starts, lengths) + within], np.repeat(groups, lengths)


def _rank(own: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the place of each entry among the equal ones, from 0."""
    order = np.argsort(own, kind="stable")
    changes = np.flatnonzero(np.diff(own[order], prepend=-1))
    starts = np.repeat(changes, np.diff(np.append(changes, len(own))))
    rank = np.empty(len(own), dtype=np.intp)
    rank[order] = np.arange(len(own)) - starts
    return rank
