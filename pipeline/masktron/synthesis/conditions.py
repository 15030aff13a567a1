"""What stays of each record, given which its other values are drawn: regressors, questions of trees, or cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.synthesis.linear_relations import basis
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

        A missing number is the mean of the others. Categories of fewer than `least` records are one category;
        `least` is doubled until there are `RECORDS` records for each column, and at most `MOST` columns.
        """
        numbers = [np.where(np.isnan(one), _mean(one), one) for one in self.values[:, ~self.nominal].T]
        codes = self._factors()
        levels, _ = levels_of(codes, self.least, self._most())
        factors = [indicators(own[column]) for own, column in zip(levels, codes, strict=True)]
        return np.column_stack([np.empty((len(self.values), 0)), *numbers, *factors])

    def least_regressed(self) -> int:
        """Return the fewest records of a category that `regressors` tells apart."""
        return levels_of(self._factors(), self.least, self._most())[1]

    def together(self, least: int) -> Floats:
        """Return the share of records in categories of fewer than `least`, which are one category; shape (q,)."""
        shares = np.zeros(len(self.nominal))
        for at in np.flatnonzero(self.nominal).tolist():
            codes = _coded(self.values[:, at])
            count = int(codes.max(initial=0)) + 1
            levels = pooled(codes, count, least)
            shared = np.bincount(levels)[levels] > 1
            shares[at] = shared[codes].mean()
        return shares

    def _factors(self) -> list[Labels]:
        missing = [np.isnan(one).astype(np.intp) for one in self.values[:, ~self.nominal].T if np.isnan(one).any()]
        return [*map(_coded, self.values[:, self.nominal].T), *missing]

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

        Parameters
        ----------
        values : ndarray of float64, shape (n, p)
            What is drawn; finite.
        nominal : ndarray of bool, shape (p,)
        generator : numpy.random.Generator
        """
        told: list[int] = []
        step = -(-len(values) // ASKED)
        some = replace(self, values=self.values[::step])
        for column, category in zip(values[::step].T, nominal.tolist(), strict=True):
            outcome = outcome_of(column, generator, nominal=category)
            if (outcome == outcome[0]).all():
                continue
            while (left := [at for at in range(len(self.nominal)) if at not in told]) and (
                _explained(some.chosen(left).regressors(), outcome) > EXPLAINED
            ):
                told.append(max(left, key=lambda at: _explained(some.chosen([at]).regressors(), outcome)))
        return told


def levels_of(columns: list[Labels], least: int, most: int) -> tuple[list[Labels], int]:
    """Return the level of each code of some columns, and `least`: codes of fewer records share a level.

    `least` is doubled until the levels of all columns, but for the last of each, are at most `most`.
    """
    while True:
        levels = [pooled(codes, int(codes.max(initial=0)) + 1, least) for codes in columns]
        if sum(int(own.max(initial=0)) for own in levels) <= max(0, most):
            return levels, least
        least *= 2


def indicators(levels: Labels) -> Floats:
    """Return an indicator for each level of some records but the last, shape (n, levels - 1)."""
    return np.asarray(levels[:, None] == np.arange(int(levels.max(initial=0))), dtype=np.float64)


def _coded(column: Floats) -> Labels:
    """Codes of categories from 0; what is missing is one of its own."""
    support, codes = np.unique(column, return_inverse=True)  # all NaN are one
    del support
    return codes.astype(np.intp)


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


def _explained(regressors: Floats, outcome: Floats) -> float:
    """Return the share of the variance of an outcome that a regression explains."""
    q = regressors.shape[1]
    held = basis(np.column_stack([regressors, outcome]))
    loads = np.square(held.loads[:, q:] * held.scale[q:])
    return float(loads[:q].sum() / loads.sum())
