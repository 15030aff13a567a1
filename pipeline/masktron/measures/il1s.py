"""IL1s: how far cells have moved, in standard deviations of their variables."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.sums import scaled
from masktron.measures.base import FieldPairs, require_finite


def il1s(original: NDArray[np.float64], masked: NDArray[np.float64]) -> float:
    """Compute the mean over cells of ``|x - y| / (sqrt(2) s)``, per cent.

    s is the standard deviation (divisor n - 1) of the variable in the original. A cell that is missing in one of the
    files is left out, from s too. A variable that is constant in the original has no unit and is left out, even if
    it was changed, as in `information_loss`; with no other variable the loss is 0.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The same records and variables in the same order; NaN where missing.

    Returns
    -------
    float
        Per cent; 0 where nothing changed, without an upper bound. In proportion to the noise: t times the differences
        give t times the loss. Infinite where a difference is more than 1e308 standard deviations.

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    Source: Mateo-Sanz, Domingo-Ferrer and Sebé (2005), Probabilistic information loss measures; Yancey, Winkler and
    Creecy (2002), Disclosure risk assessment in perturbative microdata protection. Two independent values of a
    variable differ by sqrt(2) s, hence the unit.
    """
    return il1s_of_fields(FieldPairs.over(original, masked))


def il1s_of_fields(pairs: FieldPairs) -> float:
    """Compute `il1s` field by field; it is the same to the last bit."""
    moved, cells = 0.0, 0
    for before, after in pairs:
        require_finite(before, after)
        both = ~(np.isnan(before) | np.isnan(after))
        known, released = before[both], after[both]
        if not known.size or known.min() == known.max():
            continue
        # a power of two: nothing is rounded, and no square overflows or vanishes
        power = -int(np.frexp(np.abs(known).max())[1])
        with np.errstate(over="ignore"):
            unit = scaled(known, power)
            moved += float(np.abs(scaled(released, power) - unit).sum() / unit.std(ddof=1))
        cells += known.size
    return 100.0 * moved / (math.sqrt(2.0) * cells) if cells else 0.0
