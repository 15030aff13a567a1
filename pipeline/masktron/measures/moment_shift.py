"""What masking does to means, variances and correlations: as drawn, and as written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError


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
    correlation_drawn, correlation_written : float
        Largest difference of a correlation to that of the original, over all pairs of variables that vary before and
        after; 0 where there is none.
    """

    means_drawn: tuple[float, ...]
    means_written: tuple[float, ...]
    variances_drawn: tuple[float, ...]
    variances_written: tuple[float, ...]
    correlation_drawn: float
    correlation_written: float


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
    if not original.shape == drawn.shape == written.shape:
        raise UsageError(f"arrays of different shapes: {original.shape}, {drawn.shape} and {written.shape}")
    missing = np.isnan(original) | np.isnan(drawn) | np.isnan(written)
    means_drawn, variances_drawn = _by_variable(original, drawn, missing)
    means_written, variances_written = _by_variable(original, written, missing)
    return MomentShift(
        means_drawn,
        means_written,
        variances_drawn,
        variances_written,
        _correlation(original, drawn, missing),
        _correlation(original, written, missing),
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


def _correlation(original: NDArray[np.float64], masked: NDArray[np.float64], missing: NDArray[np.bool_]) -> float:
    largest = 0.0
    for one in range(original.shape[1]):
        for other in range(one):
            both = ~(missing[:, one] | missing[:, other])
            before, after = (_pearson(table[both, one], table[both, other]) for table in (original, masked))
            if before is not None and after is not None:
                largest = max(largest, abs(after - before))
    return largest


def _pearson(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    if not left.size or (left == left[0]).all() or (right == right[0]).all():
        return None
    first, second = (side / max(float(np.abs(side).max()), np.finfo(np.float64).tiny) for side in (left, right))
    first, second = first - first.mean(), second - second.mean()
    scale = float(np.sqrt(np.square(first).sum()) * np.sqrt(np.square(second).sum()))
    return float((first * second).sum()) / scale if scale > 0.0 else None
