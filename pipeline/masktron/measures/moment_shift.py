"""What masking does to means, variances and correlations: as drawn, and as written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting


@dataclass(frozen=True, slots=True)
class Correlations:
    """The correlation of two variables: in the original, as drawn and as written.

    Attributes
    ----------
    first, second : int
        Columns.
    original, drawn, written : float
        NaN where one of the two does not vary.
    """

    first: int
    second: int
    original: float
    drawn: float
    written: float

    @property
    def drawn_off(self) -> float:
        """How far the correlation as drawn is from that of the original; NaN where there is none."""
        return abs(self.drawn - self.original)

    @property
    def written_off(self) -> float:
        """How far the correlation as written is from that of the original; NaN where there is none."""
        return abs(self.written - self.original)


@dataclass(frozen=True, slots=True)
class MomentShift:
    """Means, variances and correlations of masked variables beside those of the original.

    Attributes
    ----------
    means_drawn, means_written : tuple of float
        By variable: mean of the masked values less that of the original, in standard deviations of the original.
        NaN where the original is constant and the mean is another.
    variances_drawn, variances_written : tuple of float
        By variable: variance of the masked values divided by that of the original. 1 where both are zero.
    worst_drawn, worst_written : Correlations or None
        The pair of variables whose correlation is farthest from that of the original, as drawn and as written, of
        those that vary before and after; of equally far ones the first. None where there is no such pair.
    """

    means_drawn: tuple[float, ...]
    means_written: tuple[float, ...]
    variances_drawn: tuple[float, ...]
    variances_written: tuple[float, ...]
    worst_drawn: Correlations | None
    worst_written: Correlations | None


def moment_shift(
    original: NDArray[np.float64], drawn: NDArray[np.float64], written: NDArray[np.float64]
) -> MomentShift:
    """Compare moments of an original with those of what a method drew and of what was written.

    Parameters
    ----------
    original, drawn, written : ndarray of float64, shape (n, p)
        Row i of all three is the same respondent; NaN where missing. A cell counts where all three have a value, and
        a correlation is that of the respondents for which both variables count.

    Raises
    ------
    UsageError
        The shapes differ.

    Notes
    -----
    Variances have divisor n: the ratio is the same for n - 1.
    """
    fitting = original.shape == drawn.shape == written.shape
    require_fitting(fitting, original=original, drawn=drawn, written=written)
    missing = np.isnan(original) | np.isnan(drawn) | np.isnan(written)
    means_drawn, variances_drawn = _by_variable(original, drawn, missing)
    means_written, variances_written = _by_variable(original, written, missing)
    pairs = list(_correlations(original, drawn, written, missing))
    return MomentShift(
        means_drawn,
        means_written,
        variances_drawn,
        variances_written,
        max((pair for pair in pairs if not isnan(pair.drawn_off)), key=lambda pair: pair.drawn_off, default=None),
        max((pair for pair in pairs if not isnan(pair.written_off)), key=lambda pair: pair.written_off, default=None),
    )


def _by_variable(
    original: NDArray[np.float64], masked: NDArray[np.float64], missing: NDArray[np.bool_]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    shifts, ratios = [], []
    for before, after, gone in zip(original.T, masked.T, missing.T, strict=True):
        # by a power of two, so that no square overflows
        power = int(np.frexp(np.abs([before[~gone], after[~gone]]).max(initial=0.0))[1])
        own, now = np.ldexp(before[~gone], -power), np.ldexp(after[~gone], -power)
        constant = not own.size or bool((own == own[0]).all())
        deviation = 0.0 if constant else float(own.std())
        shift = float(now.mean() - own.mean()) if own.size else 0.0
        spread = float(now.std()) if own.size and not (now == now[0]).all() else 0.0
        shifts.append(shift / deviation if deviation else (0.0 if shift == 0.0 else float("nan")))
        ratios.append((spread / deviation) ** 2 if deviation else (1.0 if spread == 0.0 else float("inf")))
    return tuple(shifts), tuple(ratios)


def _correlations(
    original: NDArray[np.float64],
    drawn: NDArray[np.float64],
    written: NDArray[np.float64],
    missing: NDArray[np.bool_],
) -> Iterator[Correlations]:
    for second in range(original.shape[1]):
        for first in range(second):
            both = ~(missing[:, first] | missing[:, second])
            own, *masked = (_pearson(table[both, first], table[both, second]) for table in (original, drawn, written))
            yield Correlations(first, second, own, *masked)


def _pearson(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    if not left.size or (left == left[0]).all() or (right == right[0]).all():
        return nan
    first, second = (side / max(float(np.abs(side).max()), np.finfo(np.float64).tiny) for side in (left, right))
    first, second = first - first.mean(), second - second.mean()
    scale = float(np.sqrt(np.square(first).sum()) * np.sqrt(np.square(second).sum()))
    return float((first * second).sum()) / scale if scale > 0.0 else nan
