"""How much of means, variances and correlations masking has kept, and how many records decide about that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.sums import scaled
from masktron.measures.base import require_comparable


@dataclass(frozen=True, slots=True)
class KeptVariation:
    """What masking did to the mean and the variance of one variable.

    Attributes
    ----------
    records : int
        With a value in both files; all else is of these.
    shift : float
        Mean after less mean before, in standard deviations of the original.
    ratio : float
        Variance after divided by variance before. NaN, as `shift` is, where the original does not vary.
    groups : int
        Groups that the records are in.
    record_share : float
        Largest share, 0 to 1, that one respondent has of the sum of squares before.
    change_share : float
        Largest share that one group has of the change of the sum of squares; 0 where nothing changed.
    largest_change : float
        That largest change, as a share of the sum of squares before.
    respondents : int
        Whose records these are: as many as there are records, unless some have several.
    """

    records: int
    shift: float
    ratio: float
    groups: int
    record_share: float
    change_share: float
    largest_change: float
    respondents: int


@dataclass(frozen=True, slots=True)
class KeptCorrelation:
    """What masking did to the correlation of two variables.

    Attributes
    ----------
    records : int
        With both values in both files; all else is of these.
    change : float
        Absolute difference of the correlations. NaN where a variable does not vary in one of the files.
    groups : int
        Groups that the records are in; the smaller number, where the variables have groups of their own.
    record_share : float
        Largest share, 0 to 1, that one respondent has of the magnitudes of the products before.
    change_share : float
        Largest share that one group has of the magnitudes of the changes; 0 where nothing changed.
    largest_change : float
        That largest change, in units of the correlation.
    respondents : int
        Whose records these are, as for `KeptVariation`.
    """

    records: int
    change: float
    groups: int
    record_share: float
    change_share: float
    largest_change: float
    respondents: int


def kept_variation(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    groups: NDArray[np.intp] | None = None,
    respondents: NDArray[np.intp] | None = None,
) -> tuple[KeptVariation, ...]:
    """Compare mean and variance of each variable, and say how much a single group decides.

    With ``d = x - mean(x)`` and ``e = y - mean(x)``, a group contributes ``|sum(d * d - e * e)|`` to the change, and
    a respondent ``sum(d * d)`` over his records to the sum of squares before.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The same records and variables in the same order; NaN where missing.
    groups : ndarray of intp, shape (n,), optional
        The group of each record, from 0; each is its own group when not given.
    respondents : ndarray of intp, shape (n,), optional
        Whose each record is, from 0, such as the household of each person; each is of its own when not given.

    Returns
    -------
    tuple of KeptVariation
        One for each variable.

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    Variances have divisor n. The shares are the dominance rule of magnitude tables (Hundepool et al. 2012, section
    4.2) applied to a sum of squares: a figure that one contributor decides gives this contributor away.
    """
    require_comparable(original, masked)
    return tuple(
        _of_one(before, after, groups, respondents) for before, after in zip(original.T, masked.T, strict=True)
    )


def intervals_left(original: NDArray[np.float64], masked: NDArray[np.float64], *, step: float) -> NDArray[np.float64]:
    """Say how far each value stays open for whoever knows all other ones and the share of variance that is kept.

    He has the masked file, and the share ``v(y) / v(x)`` rounded to multiples of `step`, so that ``v(x)`` is between
    ``v(y) / (share + step / 2)`` and ``v(y) / (share - step / 2)``. With ``m`` the mean of the other n - 1 values,
    and ``q`` the sum of their squared deviations from it, ``n v(x) = q + (n - 1) / n (t - m)**2`` for the unknown
    value t. So ``(t - m)**2`` is between two numbers. He is taken to know on which side of ``m`` the value is, where
    this leaves two intervals; and no sign, range, or rounding of values.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n,)
        NaN where missing; records that miss a value in one of them do not count.
    step : float

    Returns
    -------
    ndarray of float64, shape (m,)
        Width of the interval of each of the m records that count, in standard deviations of the original; infinite
        where nothing follows.

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.
    """
    require_comparable(original[:, np.newaxis], masked[:, np.newaxis])
    both = ~(np.isnan(original) | np.isnan(masked))
    own, now = original[both], masked[both]
    n = len(own)
    if n < 2 or own.min() == own.max():
        return np.full(n, np.inf)
    power = -int(np.frexp(max(np.abs(own).max(), np.abs(now).max()))[1])
    own, now = scaled(own, power), scaled(now, power)
    deviations, spread = own - own.mean(), float(own.std())
    if spread == 0.0:  # of which no double has the square
        return np.full(n, np.inf)
    now_units = now / spread
    squared = np.square(deviations / spread * n / (n - 1))
    others = n - (n - 1) / n * squared
    left = float(now_units.var())
    share = step * round(left / step)
    least = n * left / (share + step / 2)
    most = n * left / (share - step / 2) if share > step / 2 else np.inf
    low, high = (np.maximum((total - others) * n / (n - 1), 0.0) for total in (least, most))
    widths: NDArray[np.float64] = np.where(low > 0, np.sqrt(high) - np.sqrt(low), 2 * np.sqrt(high))
    return widths


def _numbered(labels: NDArray[np.intp] | None, which: NDArray[np.bool_]) -> tuple[NDArray[np.intp], int]:
    """Return labels of some records from 0 on, and how many there are; each record has its own where None."""
    found = np.arange(int(which.sum())) if labels is None else np.unique(labels[which], return_inverse=True)[1]
    return found.astype(np.intp, copy=False), int(found.max(initial=-1)) + 1


def _of_one(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: NDArray[np.intp] | None,
    respondents: NDArray[np.intp] | None,
) -> KeptVariation:
    both = ~(np.isnan(before) | np.isnan(after))
    own, now = before[both], after[both]
    (labels, count), (whose, people) = _numbered(groups, both), _numbered(respondents, both)
    if not own.size or own.min() == own.max():
        return KeptVariation(len(own), math.nan, math.nan, count, 0.0, 0.0, 0.0, people)
    power = -int(np.frexp(max(np.abs(own).max(), np.abs(now).max()))[1])
    own, now = scaled(own, power), scaled(now, power)
    deviations, moved = own - own.mean(), now - own.mean()
    squares = np.square(deviations)
    total = float(squares.sum())
    if total == 0.0:  # a spread of which no double has the square
        return KeptVariation(len(own), math.nan, math.nan, count, 0.0, 0.0, 0.0, people)
    change = np.abs(np.bincount(labels, squares - np.square(moved), count))
    changed = float(change.sum())
    return KeptVariation(
        records=len(own),
        shift=float(moved.mean()) / math.sqrt(total / len(own)),
        ratio=float(now.var()) * len(own) / total,
        groups=count,
        record_share=float((squares if respondents is None else np.bincount(whose, squares)).max()) / total,
        change_share=float(change.max()) / changed if changed else 0.0,
        largest_change=float(change.max()) / total,
        respondents=people,
    )


def kept_correlation(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    groups: Sequence[NDArray[np.intp] | None] = (None, None),
    respondents: NDArray[np.intp] | None = None,
) -> KeptCorrelation:
    """Compare the correlation of two variables, and say how much a single respondent or group decides.

    With deviations ``u, v`` in standard deviations, a record contributes ``u * v / n`` to the correlation of a file,
    and a group the sum of the differences of what its records contribute to that before and after.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, 2)
        The same records and variables in the same order; NaN where missing.
    groups : sequence of two of ndarray of intp, shape (n,), or None
        The group of each record, from 0, for each variable; each record is its own group where None.
    respondents : ndarray of intp, shape (n,), optional
        Whose each record is, as for `kept_variation`.

    Returns
    -------
    KeptCorrelation
        Of groups the shares are those of the variable where one group decides more.

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    The dominance rule as in `kept_variation`, for a sum of products in the place of a sum of squares.
    """
    require_comparable(original, masked)
    both = ~(np.isnan(original).any(axis=1) | np.isnan(masked).any(axis=1))
    records = int(both.sum())
    labels, counts = zip(*(_numbered(one, both) for one in groups), strict=True)
    whose, people = _numbered(respondents, both)
    if not records:
        return KeptCorrelation(0, math.nan, 0, 0.0, 0.0, 0.0, 0)
    before, after = (
        _standardised(table[both, 0]) * _standardised(table[both, 1]) / records for table in (original, masked)
    )
    change = abs(float(np.clip(after.sum(), -1.0, 1.0)) - float(np.clip(before.sum(), -1.0, 1.0)))
    if math.isnan(change):
        return KeptCorrelation(records, math.nan, min(counts), 0.0, 0.0, 0.0, people)
    sizes = [np.abs(np.bincount(one, before - after, count)) for one, count in zip(labels, counts, strict=True)]
    products = np.abs(before) if respondents is None else np.bincount(whose, np.abs(before))
    return KeptCorrelation(
        records=records,
        change=change,
        groups=min(counts),
        record_share=float(products.max() / products.sum()) if products.any() else 0.0,
        change_share=max(float(one.max() / one.sum()) if one.any() else 0.0 for one in sizes),
        largest_change=max(float(one.max()) for one in sizes),
        respondents=people,
    )


def correlations(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations of variables, each from the records in which both are present.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        NaN where missing.

    Returns
    -------
    ndarray of float64, shape (p, p)
        1 on the diagonal; NaN where a variable does not vary among those records.
    """
    count = values.shape[1]
    found = np.full((count, count), np.nan)
    whole = not np.isnan(values).any()
    if whole and count and len(values):
        unit = np.stack([_standardised(column) for column in values.T], axis=1)
        found = np.clip(unit.T @ unit / len(values), -1.0, 1.0)
    else:
        for row in range(count):
            for column in range(row):
                both = ~(np.isnan(values[:, row]) | np.isnan(values[:, column]))
                if both.any():
                    pair = _standardised(values[both, row]) @ _standardised(values[both, column]) / both.sum()
                    found[row, column] = found[column, row] = np.clip(pair, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def _standardised(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviations from the mean in standard deviations; NaN where there are none."""
    if column.min() == column.max():
        return np.full(len(column), np.nan)
    held = scaled(column, -int(np.frexp(np.abs(column).max())[1]))
    deviations = held - held.mean()
    spread = float(np.sqrt(np.square(deviations).mean()))
    return deviations / spread if spread else np.full(len(column), np.nan)
