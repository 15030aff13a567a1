"""The probability that a record with its combination of keys is the respondent's, and what follows for the file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting
from masktron.measures.base import require_bounds
from masktron.measures.keys.combinations import KeyFrequencies

_SERIES_FROM = 50
"""Records of a combination from which on 50 terms of the series give all digits, whatever the weights are."""
_TERMS = 60


@dataclass(frozen=True, slots=True)
class ReidentificationRisk:
    """What individual risks add up to.

    Attributes
    ----------
    expected : float
        Records that somebody who tries all of them finds, on average.
    mean : float
        Mean risk of a record, from 0 to 1; NaN without records.
    largest : float
    """

    expected: float
    mean: float
    largest: float

    @property
    def per_cent(self) -> float:
        """The global risk: expected re-identifications in per cent of the records."""
        return 100 * self.mean


def individual_risk(frequencies: KeyFrequencies) -> NDArray[np.float64]:
    """Estimate for each record the probability that it is rightly matched by its keys.

    A record is one of F in the population that have its combination; who knows one of these persons picks the right
    record with 1/F. F is unknown: given f in the file it is negative binomial with p = f / (estimated F), so that the
    risk is ::

        r = E(1/F | f) = p * integral over v from 0 to 1 of v^(f-1) / (p + (1-p) v)

    which is -p log(p) / q for f = 1, p (p log(p) + q) / q^2 for 2, p (q (3q - 2) - 2 p^2 log(p)) / (2 q^3) for 3
    (q = 1 - p), by recursion for more, and as a series in q where p is above 1/2 or f is large. It is 1/f where
    the file is the population.

    Parameters
    ----------
    frequencies : KeyFrequencies
        Of `masktron.measures.keys.key_frequencies`.

    Returns
    -------
    ndarray of float64, shape (n,)
        Above 0, at most 1.

    Notes
    -----
    Source: Benedetti and Franconi (1998), Statistical and technological solutions for controlled data dissemination;
    Franconi and Polettini (2004), Individual risk estimation in mu-Argus: a review, for the closed forms.
    """
    pairs = np.column_stack([frequencies.sample, frequencies.population])
    if not len(pairs):
        return np.empty(0)
    distinct, which = _distinct(pairs)
    return _risk(distinct[:, 0], distinct[:, 1])[which]


def _distinct(pairs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the distinct rows, and which one each row is."""
    order = np.lexsort(pairs.T)
    ordered = pairs[order]
    new = np.ones(len(pairs), dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    which = np.empty(len(pairs), dtype=np.intp)
    which[order] = np.cumsum(new) - 1
    return ordered[new], which


def _risk(f: NDArray[np.float64], population: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import hyp2f1  # noqa: PLC0415 -- most runs do without

    p = np.minimum(f / population, 1.0)
    q = 1.0 - p
    found = np.empty(len(f))
    whole = f == np.floor(f)
    series = (p >= 0.5) | (f >= _SERIES_FROM)
    found[series] = _by_series(f[series], q[series])
    parts = ~series & ~whole
    found[parts] = hyp2f1(1.0, 1.0, f[parts] + 1.0, q[parts]) / f[parts]
    steps = ~series & whole
    found[steps] = _by_steps(f[steps], p[steps], q[steps])
    return p * found


def _by_series(f: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum q^j B(f, j + 1) over j: what is left after `_TERMS` is below 1e-16 of it."""
    term = 1.0 / f
    total = term.copy()
    for j in range(1, _TERMS):
        term = term * (q * j / (f + j))
        total += term
    return total


def _by_steps(f: NDArray[np.float64], p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take the integral from -log(p)/q for f = 1 to the f of each: errors shrink, as p < q."""
    value = -np.log(p) / q
    for step in range(1, int(f.max(initial=1))):
        value = np.where(f > step, (1.0 / step - p * value) / q, value)
    return value


def population_uniques(frequencies: KeyFrequencies) -> float:
    """Estimate how many sample uniques are alone in the population, too.

    Given f = 1, F is geometric, and 1 with probability p = 1 / (estimated F): the sum of p over the sample uniques.

    Parameters
    ----------
    frequencies : KeyFrequencies

    Returns
    -------
    float
        At most the number of sample uniques; that number where the file is the population.

    Notes
    -----
    Source: the model of `individual_risk`.
    """
    alone = frequencies.unique
    return float(np.minimum(frequencies.sample[alone] / frequencies.population[alone], 1.0).sum())


def household_risk(risks: NDArray[np.float64], households: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Compute the probability that at least one member of the household of each record is found.

    It is 1 - product of (1 - r) over the members, who are found independently of each other; whoever finds one knows
    all of them.

    Parameters
    ----------
    risks : ndarray of float64, shape (n,)
        Of single records, from 0 to 1.
    households : ndarray of int, shape (n,)
        Numbers from 0; -1 for a record whose household is unknown, which is one of its own.

    Returns
    -------
    ndarray of float64, shape (n,)
        The same for all members; never below the risk of one of them.

    Raises
    ------
    UsageError
        Shapes differ, a risk is outside 0 to 1, or a number is below -1.

    Notes
    -----
    Source: Templ, Kowarik and Meindl (2015), sdcMicro, section on household risk; Hundepool et al. (2012),
    Statistical disclosure control, section 3.6.
    """
    require_fitting(risks.shape == households.shape and risks.ndim == 1, risks=risks, households=households)
    require_bounds(0, 1, risks=risks)
    require_bounds(-1, households=households)
    known = households >= 0
    with np.errstate(divide="ignore"):
        spared = np.log1p(-risks)
    _, which = np.unique(households[known], return_inverse=True)
    found = risks.copy()
    found[known] = -np.expm1(np.bincount(which, spared[known], minlength=1))[which]
    # rounding of the sum takes nothing off what a member has
    return np.maximum(found, risks)


def global_risk(risks: NDArray[np.float64]) -> ReidentificationRisk:
    """Add up individual risks, or those of households.

    Parameters
    ----------
    risks : ndarray of float64, shape (n,)
        From 0 to 1.

    Returns
    -------
    ReidentificationRisk

    Raises
    ------
    UsageError
        A risk is outside 0 to 1.

    Notes
    -----
    No interval is given: the usual one, of the variance sum of r (1 - r), takes the risks for known, and held the
    truth in few samples of a known population (docs/keys.md).

    Source: Templ, Kowarik and Meindl (2015), sdcMicro, section on global risk.
    """
    require_bounds(0, 1, risks=risks)
    if not len(risks):
        return ReidentificationRisk(0.0, math.nan, math.nan)
    expected = float(risks.sum())
    return ReidentificationRisk(expected, expected / len(risks), float(risks.max()))
