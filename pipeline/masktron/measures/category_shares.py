"""Shares of categories: how far masking has moved the distribution of a categorical variable."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting
from masktron.kernels.distinct import factorized

_EXACT = 2.0**53
"""Integers whose magnitudes add up to less are added without rounding, in any order."""


@dataclass(frozen=True, slots=True)
class CategoryShares:
    """The weighted counts of the categories of one variable.

    Attributes
    ----------
    before, after : mapping of str to float
        Sum of the weights of the records that hold each category; the same categories, in sorted order.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]

    @classmethod
    def of_parts(cls, parts: Collection[Self]) -> Self:
        """Return the counts of several variables together."""
        categories = dict.fromkeys(category for one in parts for category in one.before)
        before, after = (
            {category: math.fsum(getattr(one, side).get(category, 0.0) for one in parts) for category in categories}
            for side in ("before", "after")
        )
        return cls(before, after)

    @property
    def distance(self) -> float:
        """Total variation distance of the two distributions, per cent; NaN where a file has no value.

        Half the sum of the differences of shares: the share of weight that has moved to other categories.
        """
        totals = math.fsum(self.before.values()), math.fsum(self.after.values())
        if not all(totals):
            return math.nan
        return 50.0 * math.fsum(
            abs(count / totals[0] - self.after[category] / totals[1]) for category, count in self.before.items()
        )


def category_shares(
    original: NDArray[np.object_],
    masked: NDArray[np.object_],
    weights: NDArray[np.float64] | None = None,
    *,
    weights_before: NDArray[np.float64] | None = None,
) -> CategoryShares:
    """Count the categories of one variable with survey weights, before and after masking.

    Parameters
    ----------
    original, masked : ndarray of object, shape (n,)
        Lexemes of the same records in the same order; None where the value is missing.
    weights : ndarray of float64, shape (n,), optional
        Of the records; all 1 where not given.
    weights_before : ndarray of float64, shape (n,), optional
        Those of the original, where it has others, or more records.

    Returns
    -------
    CategoryShares

    Raises
    ------
    UsageError
        The shapes differ.
    """
    weight = np.ones(len(masked)) if weights is None else weights
    earlier = weight if weights_before is None else weights_before
    fitting = original.shape == earlier.shape and masked.shape == weight.shape
    require_fitting(fitting, original=original, masked=masked, weights=weight)
    counts = [_counts(original, earlier), _counts(masked, weight)]
    categories = sorted({*counts[0], *counts[1]})
    before, after = ({category: count.get(category, 0.0) for category in categories} for count in counts)
    return CategoryShares(before, after)


def moved_by_group(
    original: NDArray[np.object_], masked: NDArray[np.object_], groups: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Count the records of each group that would have to change category to get its old counts back.

    Parameters
    ----------
    original, masked : ndarray of object, shape (n,)
        Lexemes of the same records in the same order, none of them None.
    groups : ndarray of intp, shape (n,), optional
        The group of each record; each is its own group when not given.

    Returns
    -------
    ndarray of float64, shape (number of groups,)
        Half the sum of the differences of counts, in the order of the numbers of the groups.
    """
    labels = np.arange(len(original)) if groups is None else np.unique(groups, return_inverse=True)[1]
    codes, categories = factorized(np.concatenate((original, masked)))
    cells, places = np.unique(np.tile(labels, 2) * len(categories) + codes, return_inverse=True)
    differences = np.bincount(places, np.repeat((-1.0, 1.0), len(original)), len(cells))
    return np.bincount(cells // max(len(categories), 1), np.abs(differences) / 2, int(labels.max(initial=-1)) + 1)


def _counts(lexemes: NDArray[np.object_], weights: NDArray[np.float64]) -> dict[str, float]:
    codes, categories = factorized(lexemes)
    held = codes >= 0
    codes, weights = codes[held], weights[held]
    if (weights == np.floor(weights)).all() and np.abs(weights).sum() < _EXACT:
        sums = np.bincount(codes, weights, minlength=len(categories)).tolist()
    else:
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(categories)))[:-1]
        sums = [math.fsum(own.tolist()) for own in np.split(weights[order], ends)]
    return dict(zip(categories.tolist(), sums, strict=True))
