"""Dominance: group totals that one contributor makes up so far that another can work it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting, require_value
from masktron.errors import UsageError
from masktron.kernels.distinct import factorized
from masktron.kernels.sums import scaled
from masktron.measures.base import require_finite


@dataclass(frozen=True, slots=True)
class Dominance:
    """Totals of groups that a rule calls sensitive, and the values that they give away.

    Attributes
    ----------
    totals : int
        Totals that were looked at: one for each group and variable with a value in it.
    sensitive : float
        Those that the rule calls sensitive, per cent of the totals; 0 where there are none.
    values : float
        Values that are at risk for that, per cent of the values that are not missing; 0 where there are none.
    """

    totals: int
    sensitive: float
    values: float


def p_percent(values: NDArray[np.float64], groups: NDArray[np.integer], percent: float = 10.0) -> Dominance:
    """Apply the p % rule to the total of every group in every variable.

    A group mean with the group's size publishes the total. Contributors know their own value and that no value is
    negative, so the total without their own value bounds anybody else's from above. With contributions
    ``x1 >= x2 >= ...`` and the rest ``R = x3 + x4 + ...``, the second largest contributor overestimates x1 by R: the
    total is sensitive if ``R < p/100 * x1``. Every value has its best informed intruder, the largest contributor of
    the others, and is at risk if that one's error is below p % of it.

    Theorem: up to p = 100 only x1 and x2 can be at risk, x2 if ``R < p/100 * x2``. Proof: the intruder of x2, x3, ...
    is the first contributor, whose error at xj is the sum of all but x1 and xj; for j >= 3 that holds x2 >= xj.

    Totals of a single contributor, or of two, are sensitive, unless they are 0. A missing value contributes nothing.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Contributions of the original, none negative; NaN where missing. Where weighted totals are published and
        the weights are known, multiply by them: who learns ``w * x`` to within p % learns x to within p %.
    groups : ndarray of int, shape (n,)
        Labels of the groups.
    percent : float
        p, above 0, at most 100.

    Returns
    -------
    Dominance
        Its figures do not fall where p grows.

    Raises
    ------
    UsageError
        A value is negative or infinite, p is out of range, or the labels do not go with the records.

    Notes
    -----
    Source: Hundepool et al. (2010), Handbook on Statistical Disclosure Control, section 4.2, p % rule.
    """
    require_value(0 < percent <= 100, "percent", "above 0, at most 100", percent)
    totals = sensitive = at_risk = cells = 0
    for table in _totals(values, groups):
        rest = table.beyond(2)
        first = 100.0 * rest < percent * table.at(0)
        totals += len(rest)
        cells += len(table.value)
        sensitive += int(first.sum())
        at_risk += int(first.sum()) + int((100.0 * rest < percent * table.at(1)).sum())
    return Dominance(totals, 100.0 * sensitive / totals if totals else 0.0, 100.0 * at_risk / cells if cells else 0.0)


@dataclass(frozen=True, slots=True)
class _Contributions:
    """Contributions to the totals of one variable, by group, the largest first, shape (c,) each."""

    value: NDArray[np.float64]
    group: NDArray[np.intp]
    place: NDArray[np.intp]
    starts: NDArray[np.intp]

    def at(self, place: int) -> NDArray[np.float64]:
        """Return the contribution at a place of every group, from 0; 0 where a group has fewer."""
        found = np.zeros(len(self.starts))
        there = self.place == place
        found[self.group[there]] = self.value[there]
        return found

    def beyond(self, place: int) -> NDArray[np.float64]:
        """Add up the contributions from a place on: never as a difference, in which small rests would vanish."""
        return np.add.reduceat(np.where(self.place >= place, self.value, 0.0), self.starts)


def _totals(values: NDArray[np.float64], groups: NDArray[np.integer]) -> Iterator[_Contributions]:
    """Yield the contributions to the totals of each variable that has values, scaled by a power of two."""
    require_fitting(values.ndim == 2 and groups.shape == (len(values),), values=values, groups=groups)
    require_finite(values)
    negative = (values < 0).any(axis=0)
    if negative.any():
        raise UsageError.of("unusable-values", f"column {int(np.argmax(negative)) + 1}", kind="negative")
    label = factorized(groups)[0]
    for column in values.T:
        present = ~np.isnan(column)
        if present.any():
            yield _sorted(column[present], label[present])


def _sorted(value: NDArray[np.float64], label: NDArray[np.intp]) -> _Contributions:
    order = np.lexsort((-value, label))
    value, label = value[order], label[order]
    new = np.concatenate([[True], label[1:] != label[:-1]])
    starts, group = np.flatnonzero(new), np.cumsum(new) - 1
    # n values of at most 1 have a sum that is finite
    power = -int(np.frexp(value.max())[1])
    return _Contributions(scaled(value, power), group, np.arange(len(value)) - starts[group], starts)
