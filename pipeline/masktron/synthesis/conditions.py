"""What stays of each record, given which its other values are drawn: regressors, questions of trees, or cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.synthesis.free_columns import basis
from masktron.synthesis.trees import Leaves, Question, outcome_of, pooled

RECORDS = 10
"""Records for each regressor: categories are pooled until there are so many."""
MOST = 100
"""Regressors at most: categories are pooled until there are so few."""
ASKED = 10_000
"""Records in which conditions are looked for that give a variable away."""
LEAST_LEVEL = 5
"""Fewest records of a category that has a coefficient of its own."""
EXPLAINED = 0.99
"""Share of the variance of a variable that conditions may explain which nobody has named."""


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """What stays of some records.

    Attributes
    ----------
    values : ndarray of float64, shape (n, q)
        Numbers, and codes of categories; NaN where missing.
    nominal : ndarray of bool, shape (q,)
        Columns of codes.
    least : int
        Fewest records of a category that has a coefficient of its own.
    """

    values: Floats
    nominal: NDArray[np.bool_]
    least: int = LEAST_LEVEL

    @classmethod
    def none(cls, n: int) -> Self:
        """Return those of n records of which nothing stays."""
        return cls(np.empty((n, 0)), np.zeros(0, dtype=np.bool_))

    def __bool__(self) -> bool:
        return bool(self.values.shape[1])

    def part(self, records: Labels) -> Self:
        """Return those of some of the records."""
        return replace(self, values=self.values[records])

    def chosen(self, columns: NDArray[np.bool_] | list[int]) -> Self:
        """Return some of the columns."""
        return replace(self, values=self.values[:, columns], nominal=self.nominal[columns])

    def questions(self) -> list[Question]:
        """Return them as questions of a tree, each with the same answer for a record and for what is drawn for it."""
        columns = zip(self.values.T, self.nominal.tolist(), strict=True)
        return [Question(column, column, nominal) for column, nominal in columns]

    def numbers(self) -> Floats:
        """Return the numbers that every record has, shape (n, r)."""
        return self.values[:, ~self.nominal & ~np.isnan(self.values).any(axis=0)]

    def regressors(self) -> Floats:
        """Return columns for a regression: numbers, and indicators of categories and of what is missing; (n, r).

        A missing number is the mean of the others. Categories of fewer than `least` records are one category, and so
        are the rarest of more than one for each `RECORDS` records, or than `MOST`, less the numbers.
        """
        numbers = [np.where(np.isnan(one), _mean(one), one) for one in self._numbers()]
        factors = [indicators(own, codes) for own, codes in zip(self._levels(), self._factors(), strict=True)]
        return np.column_stack([np.empty((len(self.values), 0)), *numbers, *factors])

    def clipped(self, count: int) -> Self:
        """Take the `count` smallest and largest numbers of each column for the last of these.

        One number far out would have nearly all weight in its own fitted value.
        """
        values = self.values.copy()
        for place in np.flatnonzero(~self.nominal).tolist():
            column = values[:, place]
            ordered = np.sort(column[~np.isnan(column)])
            at = min(count, (len(ordered) + 1) // 2) - 1
            if at > 0:
                values[:, place] = np.clip(column, ordered[at], ordered[-1 - at])
        return replace(self, values=values)

    def _levels(self) -> list[Labels]:
        """Return the level of each category, by column of categories, then of what is missing.

        Categories of two columns may tell one record apart that neither does, and give its own value all weight in
        the fitted one. Rarer ones are pooled until no weight is above that of one in `least` records.
        """
        codes, least = self._factors(), self.least
        while True:
            levels = levels_of(codes, least, self._most())
            factors = [indicators(own, column) for own, column in zip(levels, codes, strict=True)]
            design = np.column_stack([np.empty((len(self.values), 0)), *factors])
            if least > len(design) or leverages(design).max() <= 1 / self.least:
                return levels
            least *= 2

    def regressed(self) -> list[Labels]:
        """Return the level of each category in `regressors`, by column of categories."""
        return self._levels()[: int(self.nominal.sum())]

    def pooled(self, least: int) -> list[Labels]:
        """Return the level of each category where those of fewer than `least` records are one, by such column."""
        return [pooled(codes, int(codes.max(initial=0)) + 1, least) for codes in self._codes()]

    def together(self, levels: list[Labels]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return what levels of categories leave, by column.

        Returns
        -------
        shares : ndarray of float64, shape (q,)
            Share of the records in categories that are not told apart from others, but for the largest of these.
        tell : ndarray of bool, shape (q,)
            Whether there are two levels, or two numbers.
        """
        shares = np.zeros(len(self.nominal))
        tell = np.array([len(np.unique(one[~np.isnan(one)])) > 1 for one in self.values.T], dtype=np.bool_)
        places = np.flatnonzero(self.nominal).tolist()
        for at, codes, own in zip(places, self._codes(), levels, strict=True):
            sizes, joined = np.bincount(codes, minlength=len(own)), np.bincount(own) > 1
            tell[at] = own.max(initial=0) > 0
            for level in np.flatnonzero(joined).tolist():
                of_level = sizes[own == level]
                shares[at] += (of_level.sum() - (of_level.max() if tell[at] else 0)) / len(codes)
        return shares, tell

    def _codes(self) -> list[Labels]:
        return [*map(_coded, self.values[:, self.nominal].T)]

    def _numbers(self) -> Floats:
        return self.values[:, ~self.nominal].T

    def _factors(self) -> list[Labels]:
        missing = [np.isnan(one).astype(np.intp) for one in self._numbers() if np.isnan(one).any()]
        return [*self._codes(), *missing]

    def _most(self) -> int:
        return min(MOST, len(self.values) // RECORDS) - int((~self.nominal).sum())

    def cells(self, values: Floats, nominal: NDArray[np.bool_], least: int, generator: np.random.Generator) -> Labels:
        """Part records by their conditions, so that records of a cell are alike in what is drawn; shape (n,).

        Parameters
        ----------
        values : ndarray of float64, shape (n, p)
            What is drawn; finite.
        nominal : ndarray of bool, shape (p,)
        least : int
            Fewest records in a cell.
        generator : numpy.random.Generator
        """
        outcome = _unit_outcomes(values, nominal, generator)
        return Leaves.grown(outcome, self.questions(), least, generator, cells=True).original

    def telling(self, values: Floats, nominal: NDArray[np.bool_], generator: np.random.Generator) -> list[int]:
        """Return columns, without which the others explain at most `EXPLAINED` of each variable that is drawn.

        A variable is looked at in the records that have it, and a number in those that have both: alone, whatever the
        curve is that relates them, and beside all others by a regression.

        Parameters
        ----------
        values : ndarray of float64, shape (n, p)
            What is drawn; NaN where missing.
        nominal : ndarray of bool, shape (p,)
        generator : numpy.random.Generator
        """
        rows = np.sort(generator.permutation(len(values))[:ASKED])
        some, told = self.part(rows), set[int]()
        for column, category in zip(values[rows].T, nominal.tolist(), strict=True):
            there = np.flatnonzero(~np.isnan(column))
            if len(np.unique(column[there])) < 2:
                continue
            outcome, own = outcome_of(column[there], generator, nominal=category), some.part(there)
            alone = [own.chosen([at])._alone(outcome) for at in range(len(self.nominal))]
            told.update(at for at, share in enumerate(alone) if share > EXPLAINED)
            while (left := [at for at in range(len(alone)) if at not in told]) and (
                own.chosen(left)._explaining(outcome) > EXPLAINED
            ):
                told.add(max(left, key=alone.__getitem__))
        return sorted(told)

    def _alone(self, outcome: Floats) -> float:
        """Return the share of the variance of an outcome, or of its ranks, that one column explains.

        Of a number, that is 1 less half the mean square of the steps between neighbours in its order, in units of the
        variance (von Neumann 1941): a curve leaves no such steps.
        """
        number = self.values[:, 0]
        there = ~np.isnan(number)
        if self.nominal[0]:
            return max(map(self._between, (outcome, _ranks(outcome))))
        if there.sum() < 2:
            return 0.0
        ordered = outcome[there][np.lexsort((*outcome[there].T, number[there]))]
        return max(self._explaining(outcome), *map(_in_order, (ordered, _ranks(ordered))))

    def _between(self, outcome: Floats) -> float:
        """Return the share of the variance of an outcome between the categories of the only column."""
        levels = self.pooled(self.least)[0][self._codes()[0]]
        sizes = np.bincount(levels)
        means = np.stack([np.bincount(levels, one) / sizes for one in outcome.T], axis=1)
        total = float(outcome.var(axis=0).sum())
        return float(means[levels].var(axis=0).sum()) / total if total > 0 else 0.0

    def _explaining(self, outcome: Floats) -> float:
        """Return the share of the variance of an outcome that a regression on all columns explains."""
        there = ~np.isnan(self.values[:, ~self.nominal]).any(axis=1)
        if there.sum() < RECORDS or (outcome[there] == outcome[there][0]).all():
            return 0.0
        regressors = self.part(np.flatnonzero(there)).regressors()
        q = regressors.shape[1]
        held = basis(np.column_stack([regressors, outcome[there]]))
        loads = np.square(held.loads[:, q:] * held.scale[q:])
        return float(loads[:q].sum() / loads.sum())


def leverages(design: Floats) -> Floats:
    """Return the weight that each record has in its own fitted value, in a regression on columns and a constant."""
    return np.asarray(1.0 / len(design) + np.square(basis(design).coordinates(design)).sum(axis=1))


def _ranks(outcome: Floats) -> Floats:
    return np.stack([np.unique(one, return_inverse=True)[1] for one in outcome.T], axis=1).astype(np.float64)


def _in_order(outcome: Floats) -> float:
    steps, total = np.square(np.diff(outcome, axis=0)).mean(axis=0).sum(), outcome.var(axis=0).sum()
    return float(1.0 - steps / 2.0 / total) if total > 0 else 0.0


def levels_of(columns: list[Labels], least: int, most: int) -> list[Labels]:
    """Return the level of each code of some columns, where at most `most` codes of them have one of their own.

    These are the codes of most records, and at least `least`; all others of a column share a level.
    """
    sizes = [np.bincount(codes) for codes in columns]
    every = np.concatenate([np.empty(0, dtype=np.intp), *sizes])
    apart = np.zeros(len(every), dtype=np.bool_)
    apart[np.argsort(-every, kind="stable")[: max(0, most)]] = True
    parts = np.split(apart, np.cumsum([len(own) for own in sizes])[:-1]) if sizes else []
    return [pooled(codes, len(own), least, part) for codes, own, part in zip(columns, sizes, parts, strict=True)]


def indicators(levels: Labels, codes: Labels) -> Floats:
    """Return an indicator for each level of codes but the last, shape (n, levels - 1)."""
    return np.asarray(levels[codes][:, None] == np.arange(int(levels.max(initial=0))), dtype=np.float64)


def _coded(column: Floats) -> Labels:
    """Codes of categories from 0; what is missing is one of its own."""
    return np.asarray(np.unique(column, return_inverse=True)[1], dtype=np.intp)  # all NaN are one


def _mean(column: Floats) -> float:
    known = column[~np.isnan(column)]
    return float(known.mean()) if known.size else 0.0


def _unit_outcomes(values: Floats, nominal: NDArray[np.bool_], generator: np.random.Generator) -> Floats:
    """Return all variables as outcomes side by side, each with the variance 1 in all its columns together."""
    found = [np.empty((len(values), 0))]
    for column, category in zip(values.T, nominal.tolist(), strict=True):
        outcome = outcome_of(column, generator, nominal=category)
        total = float(outcome.var(axis=0).sum())
        if total > 0:
            found.append((outcome - outcome.mean(axis=0)) / np.sqrt(total))
    return np.column_stack(found) if len(found) > 1 else np.zeros((len(values), 1))
