"""Weighted totals: what a survey estimates from a file, before and after masking."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.groups import two_product
from masktron.kernels.sums import rounded_sum, scaled
from masktron.measures.base import FieldPairs


@dataclass(frozen=True, slots=True)
class WeightedTotal:
    """The weighted total of one variable.

    Attributes
    ----------
    before, after : float
        ``sum(w * x)`` over the records of the original, or of the masked file, in which the variable is present.
    records : int
        Records in which it is present: in the file that has fewer of them.
    """

    before: float
    after: float
    records: int

    @classmethod
    def of_parts(cls, parts: Collection[Self]) -> Self:
        """Return the total of several variables."""
        before, after = (math.fsum(getattr(one, side) for one in parts) for side in ("before", "after"))
        return cls(before, after, sum(one.records for one in parts))

    @property
    def change(self) -> float:
        """Relative change, per cent of the magnitude before; NaN where there was nothing and is something."""
        if self.before == self.after:
            return 0.0
        # Divided first: the difference of two large numbers of opposite signs may overflow.
        return 100.0 * (self.after / abs(self.before) - math.copysign(1.0, self.before)) if self.before else math.nan


def weighted_totals(
    original: NDArray[np.float64], masked: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> tuple[WeightedTotal, ...]:
    """Add up each variable over the records in which it is present, with survey weights.

    Theorem: the weighted mean keeps ``sum(w * x)`` of each group, and so of the file, before rounding. Proof: a group
    shares its pattern of missing values, so either no cell counts, before and after, or all do; then each cell
    becomes ``sum(w * x) / sum(w)``, and ``sum(w)`` times that is ``sum(w * x)``.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The same records and variables in the same order; NaN where missing.
    weights : ndarray of float64, shape (n,), optional
        Of the records; all 1 where not given.

    Returns
    -------
    tuple of WeightedTotal
        One for each variable, each sum rounded once.

    Raises
    ------
    UsageError
        The shapes differ.
    """
    return totals_of_fields(FieldPairs.over(original, masked, weights))


def totals_of_fields(
    pairs: FieldPairs,
    *,
    read: Iterable[NDArray[np.float64]] | None = None,
    weights_read: NDArray[np.float64] | None = None,
) -> tuple[WeightedTotal, ...]:
    """Add up as `weighted_totals`, field by field, each file with its own weights.

    Parameters
    ----------
    pairs : FieldPairs
    read : iterable of ndarray of float64, shape (m,) each, optional
        Each variable in all records of the original, where more records count before than after.
    weights_read : ndarray of float64, shape (m,), optional
        Of these records.
    """
    own, now = (None, None) if pairs.weights is None else pairs.weights
    originals = ((before, own) for before, _ in pairs) if read is None else ((one, weights_read) for one in read)
    return tuple(
        WeightedTotal(
            _total(*original),
            _total(after, now),
            int(min((~np.isnan(before)).sum(), (~np.isnan(after)).sum())),
        )
        for original, (before, after) in zip(originals, pairs, strict=True)
    )


def _total(values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """Sum of products in exact arithmetic, rounded once; infinite where no double is as large."""
    present = ~np.isnan(values)
    if not present.any():
        return 0.0
    # Powers of two bring both factors to at most 1 without rounding: no product overflows.
    held, power = _small(values[present])
    if weights is None:
        total = rounded_sum(held)
    else:
        factors, weight_power = _small(weights[present])
        power += weight_power
        total = rounded_sum(np.concatenate(two_product(held, factors)))
    with np.errstate(over="ignore"):
        return float(np.ldexp(total, power))


def _small(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Write values as numbers of at most 1 and a power of two."""
    power = int(np.frexp(np.abs(values).max())[1])
    return scaled(values, -power), power
