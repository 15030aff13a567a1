"""Interval disclosure: how often a masked value gives the original one away up to a narrow interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.kernels.sums import scaled
from masktron.measures.base import FieldPairs, require_finite

type File = Literal["masked", "original"]

PERCENTS = tuple(range(1, 11))
"""Half-widths over which the published measure is averaged."""


def by_ranks(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    *,
    percents: Sequence[int] = PERCENTS,
    ranks_in: File = "masked",
) -> float:
    """Compute the share of original values that lie within some ranks of their masked value (ID).

    The n values that a variable has in one file are ranked from 1 to n. The interval of a masked value reaches from
    the lowest to the highest value whose rank differs from its own by at most p % of n, both included, and always
    holds the masked value itself. An original value is inside if it lies there, whether or not it is in that file.
    Shares are averaged over the half-widths p and over variables.

    A value that occurs several times has the mean of its ranks, so that the order of records is of no importance; one
    that does not occur in the file lies halfway between its neighbours' ranks. Cells that are missing in one of the
    files are left out, and a variable without any other; missing values have no rank. A variable that is constant in
    both files with the same value counts as disclosed, since an intruder does know the value.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.
    percents : sequence of int
        Half-widths, per cent of the number of values, 1 to 100.
    ranks_in : "masked" or "original"
        The file in which values are ranked. An intruder has the masked one.

    Returns
    -------
    float
        Per cent; 100 for identical files, 0 without records. Does not fall where a half-width grows.

    Raises
    ------
    UsageError
        The shapes differ, a value is infinite, or a half-width is no whole per cent.

    Notes
    -----
    Source: Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for microdata, which asks
    for ranks that differ by less than p %, and says neither which file ranks nor what ties are.
    """
    return ranks_of_fields(FieldPairs.over(original, masked), percents=percents, ranks_in=ranks_in)


def ranks_of_fields(pairs: FieldPairs, *, percents: Sequence[int] = PERCENTS, ranks_in: File = "masked") -> float:
    """Compute `by_ranks` field by field; it is the same to the last bit."""
    _require_percents(percents)

    def shares(before: NDArray[np.float64], after: NDArray[np.float64]) -> float | None:
        ranked = _present(after if ranks_in == "masked" else before)
        return _within_ranks(*_in_both(before, after), np.sort(ranked), percents)

    return _mean_over_variables(pairs, shares)


def by_deviation(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    *,
    percents: Sequence[int] = PERCENTS,
    deviation_of: File = "original",
) -> float:
    """Compute the share of original values that lie within some per cent of a deviation of their masked value (SDID).

    The interval reaches p % of the standard deviation (divisor n) of the variable to both sides of the masked value,
    both ends included. Shares are averaged over the half-widths p and over variables.

    Cells that are missing in one of the files are left out, and a variable without any other; missing values do not
    count in the deviation either. Where that is 0, only unchanged values are inside.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.
    percents : sequence of int
        Half-widths, per cent of the standard deviation, 1 to 100.
    deviation_of : "masked" or "original"
        The file whose standard deviation is the unit.

    Returns
    -------
    float
        Per cent; 100 for identical files, 0 without records. Does not fall where a half-width grows.

    Raises
    ------
    UsageError
        The shapes differ, a value is infinite, or a half-width is no whole per cent.

    Notes
    -----
    Source: Mateo-Sanz, Sebe and Domingo-Ferrer (2004), Outlier protection in continuous microdata masking. With the
    deviation of the original the figures of constrained microaggregation (2009, section 5) are met; sdcMicro's dRisk
    takes that of the masked file.
    """
    return deviations_of_fields(FieldPairs.over(original, masked), percents=percents, deviation_of=deviation_of)


def deviations_of_fields(
    pairs: FieldPairs, *, percents: Sequence[int] = PERCENTS, deviation_of: File = "original"
) -> float:
    """Compute `by_deviation` field by field; it is the same to the last bit."""
    _require_percents(percents)

    def shares(before: NDArray[np.float64], after: NDArray[np.float64]) -> float | None:
        unit = _present(after if deviation_of == "masked" else before)
        return _within_deviation(*_in_both(before, after), unit, percents)

    return _mean_over_variables(pairs, shares)


def _require_percents(percents: Sequence[int]) -> None:
    if not percents or any(percent != int(percent) or not 1 <= percent <= 100 for percent in percents):
        expected = "whole numbers from 1 to 100 (per cent)"
        raise UsageError.of("bad-value", name="percents", expected=expected, given=list(percents))


def _mean_over_variables(
    pairs: FieldPairs, share: Callable[[NDArray[np.float64], NDArray[np.float64]], float | None]
) -> float:
    shares = []
    for before, after in pairs:
        require_finite(before, after)
        if (value := share(before, after)) is not None:
            shares.append(value)
    return 100.0 * sum(shares) / len(shares) if shares else 0.0


def _within_ranks(
    before: NDArray[np.float64], after: NDArray[np.float64], ranked: NDArray[np.float64], percents: Sequence[int]
) -> float | None:
    """Share of values inside, over all half-widths; None without values."""
    if not len(before):
        return None
    # sorted, so that each search begins where the last one ended
    order = np.argsort(after)
    before, after = before[order], after[order]
    n = len(ranked)
    # ranks are doubled: a mean of ranks is then an integer, and so is every bound
    rank = np.searchsorted(ranked, after, "left") + np.searchsorted(ranked, after, "right") + 1
    # nothing is at or above what stands behind the last rank, and nothing at or below what stands before the first
    values = np.concatenate([[-np.inf], ranked, [np.inf]])
    inside = 0
    for percent in percents:
        reach = 2 * int(percent) * n // 100
        lowest = np.maximum((rank - reach + 1) // 2, 1)
        highest = np.minimum((rank + reach) // 2, n)
        inside += int(((values[lowest] <= before) & (before <= values[highest])).sum())
    return inside / (len(before) * len(percents))


def _within_deviation(
    before: NDArray[np.float64], after: NDArray[np.float64], unit: NDArray[np.float64], percents: Sequence[int]
) -> float | None:
    """Share of values inside, over all half-widths; None without values."""
    if not len(before):
        return None
    # a power of two brings values near 1 without rounding, so that no square overflows or vanishes
    power = -int(np.frexp(np.abs(unit).max())[1])
    deviation = scaled(unit, power).std() if unit.min() < unit.max() else 0.0
    with np.errstate(over="ignore"):
        distance = 100.0 * np.abs(scaled(after, power) - scaled(before, power))
    inside = sum(int((distance <= percent * deviation).sum()) for percent in percents)
    return inside / (len(before) * len(percents))


def _present(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return column[~np.isnan(column)]


def _in_both(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    both = ~(np.isnan(before) | np.isnan(after))
    return before[both], after[both]
