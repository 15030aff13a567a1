"""The measures of class-restricted clustering: biases of means, deviations, correlations; classes within groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.moments import average, pair_moments, relative_changes, standardise_columns
from masktron.measures.base import FieldPairs, require_classes


@dataclass(frozen=True, slots=True)
class Biases:
    """Average absolute relative biases of a masked file, per cent; NaN where nothing could be compared.

    Attributes
    ----------
    abim : float
        Of means, over variables.
    abisd : float
        Of standard deviations, over variables.
    abico : float
        Of correlations, over pairs of variables.
    left_out : int
        Means, deviations and correlations that are 0 in the original and not in the masked file, or undefined in the
        original: no relative bias.
    """

    abim: float
    abisd: float
    abico: float
    left_out: int


def biases(
    original: NDArray[np.float64], masked: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> Biases:
    """Compute ABIM, ABISD and ABICO: the mean of ``|t' - t| / |t|`` for means, deviations and correlations.

    A statistic that is 0 in both files has no bias; one that is 0 in the original alone is left out, as is a
    correlation with a variable that is constant in the original. Zero is what is below 1e-12 of the unit: of the
    deviation and the first value for means, of 1 for correlations. So exact linear relations do no harm, and
    uncorrelated variables no more than their definition: an r of 0.001 that becomes 0.002 counts 100 per cent.
    A statistic that the masked file does not have (a correlation of what became constant) counts 100 per cent.
    One record has deviations 0 and no correlation; two have correlations of 1 or -1; without records all is NaN.

    Missing values: each file's statistics are of its own present cells, correlations of the records with both.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The same variables; the order of records does not matter without weights. NaN where missing.
    weights : ndarray of float64, shape (n,), optional
        Of the records; all 1 where not given.

    Returns
    -------
    Biases
        All 0 where nothing changed. Without an upper bound.

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    Source: class-restricted clustering (2013), section 6.1, equations (14) to (16), after Adam and Wortmann (1989).
    Divisors n and n - 1 of the deviations give the same where no value is missing.
    """
    return biases_of_fields(FieldPairs.over(original, masked, weights))


def biases_of_fields(pairs: FieldPairs) -> Biases:
    """Compute `biases` from one field after the other; they are the same to the last bit."""
    own, now = pairs.relative_weights(0), pairs.relative_weights(1)
    known = standardise_columns(pairs.side(0), pairs.shape, weights=own)
    released = standardise_columns(pairs.side(1), pairs.shape, known.origins, now)
    upper = np.triu_indices(len(pairs), 1)
    before = pair_moments(known.units, own).correlations[upper]
    after = pair_moments(released.units, now).correlations[upper]
    with np.errstate(over="ignore", invalid="ignore"):
        # an infinite size would make every mean 0
        size = np.minimum(np.abs(known.origins) + known.deviations, np.finfo(np.float64).max)
        kinds = (
            relative_changes(known.origins + known.means, known.origins + released.means, size),
            relative_changes(known.deviations, released.deviations, 0.0),
            relative_changes(before, after, 1.0),
        )
    left_out = sum(int(np.isnan(kind).sum()) for kind in kinds)
    abim, abisd, abico = (100.0 * average(kind) for kind in kinds)
    return Biases(abim, abisd, abico, left_out)


def class_chi_square(groups: NDArray[np.integer[Any]], classes: NDArray[np.integer[Any]]) -> float:
    """Compute X^2: how far the classes within groups are from those of the file, averaged over groups.

    For each group the sum over classes of ``(n_gk - n_g N_k / N)^2 / (n_g N_k / N)``. Records whose class is missing
    are left out, and groups that have no others.

    Parameters
    ----------
    groups : ndarray of int, shape (n,)
        Groups of records that are masked together, from 0.
    classes : ndarray of int, shape (n,)
        Codes of a confidential categorical variable, from 0; -1 where missing.

    Returns
    -------
    float
        0 where each group has the classes of the file in their shares, as one group of all records does; 0 without
        records. Groups of single records give one less than the number of classes.

    Raises
    ------
    UsageError
        The shapes differ, or a code is below 0 (classes: below -1).

    Notes
    -----
    Source: class-restricted clustering (2013), section 6.1, equation (13).
    """
    require_classes(groups, classes)
    held = classes >= 0
    if not held.any():
        return 0.0
    _, group, sizes = np.unique(groups[held], return_inverse=True, return_counts=True)
    _, kind, totals = np.unique(classes[held], return_inverse=True, return_counts=True)
    cells, counts = np.unique(group * len(totals) + kind, return_counts=True)
    expected = sizes[cells // len(totals)] * (totals[cells % len(totals)] / len(kind))
    present = np.square(counts - expected) / expected
    # of a class that a group lacks the term is what was expected of it: the rest of the group's size
    lacking = sizes.sum() - expected.sum()
    return max(0.0, float(present.sum() + lacking)) / len(sizes)
