"""One estimate from those of several synthetic releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from masktron.arrays import require_value
from masktron.errors import UsageError
from masktron.serialised import Known

_LEAST_FREEDOM = 0.01
_SQUARED = "squared standard errors, none below 0 and not all 0"
FEW = 5.0
"""Degrees of freedom below which an interval is a third wider than with many releases, or more."""
ENOUGH = 10.0
"""Degrees of freedom with which it is an eighth wider."""
SELDOM = 0.01
"""Share of estimates of which T may turn out not to be above 0 by chance."""
ROUNDING = 1e-12
"""Estimates are equal if they differ by no more than this share of the largest."""
MOST = 1000
"""Releases beyond which none are advised."""


@dataclass(frozen=True, slots=True)
class Combined:
    """What m releases say together of one quantity.

    Attributes
    ----------
    estimate : float
        Mean of the estimates.
    variance : float
        T, of the estimate.
    between : float
        b, sample variance of the estimates (divisor m - 1).
    within : float
        v, mean of the variances.
    freedom : float
        Degrees of freedom of the t distribution; infinite where the interval is normal.
    low, high : float
        Confidence interval; infinite below 0.01 degrees of freedom.
    releases : int
        m.
    adjusted : bool
        Whether T was negative or zero, and another variance was taken for it.
    advised : int or None
        Where T was adjusted, or there are fewer than 5 degrees of freedom: how many releases are enough, at most
        1000. None where these are.
    name : str
        In lists of several.
    """

    estimate: Known
    variance: Known
    between: Known
    within: Known
    freedom: float
    low: float
    high: float
    releases: int
    adjusted: bool = False
    advised: int | None = None
    name: str = field(default="", compare=False)


def combine(
    estimates: Sequence[float],
    variances: Sequence[float],
    *,
    full: bool = False,
    population: bool = False,
    level: float = 0.95,
    ratio: float = 1.0,
) -> Combined:
    """Combine the estimates of one quantity from m releases.

    Partially synthetic: ``T = b / m + v`` with ``(m - 1) (1 + m v / b)^2`` degrees of freedom.

    Fully synthetic, of r times the records of the original: ``T = v (r + (1 + r) / m)``, and a normal interval.
    An estimate of the original has the variance r v; each release adds r v, since its parameters are drawn anew, and
    v of its own, and the mean of m has an m-th of both. So b says nothing that v does not say better.

    Samples of synthetic populations: ``T = (1 + 1/m) b - v`` with ``(m - 1) (1 - m v / ((m + 1) b))^2`` degrees of
    freedom; where T is not above 0, ``T = ratio v`` with m - 1, since the others belong to the variance that was not
    taken.

    Parameters
    ----------
    estimates, variances : sequence of float, length m
        From each release as if it were the original: the estimate, and its squared standard error.
    full : bool
        Whether every value was drawn, so that no field stayed as it was.
    population : bool
        Whether each release is a sample, of whatever design, from a synthetic population of its own.
    level : float
        Of the confidence interval, between 0 and 1.
    ratio : float
        Records of a release, divided by those of the original; for fully synthetic releases.

    Raises
    ------
    UsageError
        Both rules are asked for, there are fewer than two releases, the lengths differ, a number is missing, infinite
        or too large, a variance is negative, all estimates are equal, or every variance of fully synthetic releases
        is 0.

    Notes
    -----
    Source: Reiter (2003), Inference for partially synthetic, public use microdata sets; Raab, Nowok and Dibben
    (2016), Practical data synthesis for large samples: T_p, for parameters that are drawn anew for each release (T_s,
    for parameters that are taken as estimated, ``v (r + 1 / m)``, is smaller); Raghunathan, Reiter and Rubin (2003)
    for samples of synthetic populations, and Reiter (2002) for the adjustment. How many releases are
    advised: see `enough`.
    """
    from scipy.stats import t as student  # noqa: PLC0415 -- loads slowly

    if full and population:
        why = "; docs/combined-intervals.md explains when to give which"
        raise UsageError.of("given-twice", one="full", other="population", why=why)
    _check(estimates, variances, level, ratio)
    m = len(estimates)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, within = float(np.mean(estimates)), float(np.mean(variances))
        between = float(np.var(estimates, ddof=1))
    if not np.isfinite([mean, within, between]).all():
        raise UsageError.of("values-too-large", what="the estimates or variances")
    if not full and (not between or np.ptp(estimates) <= ROUNDING * np.max(np.abs(estimates))):
        raise UsageError.of("estimates-equal", releases=m, variance=within)
    adjusted = False
    if full:
        require_value(within, "variances", _SQUARED, "0 in all releases")
        variance, freedom = within * (ratio + (1 + ratio) / m), np.inf
    elif population:
        variance = (1 + 1 / m) * between - within
        share = 1 - m * within / ((m + 1) * between)
        freedom = (m - 1) * share * share
        if variance <= 0:
            variance, freedom, adjusted = ratio * within, m - 1.0, True
    else:
        variance = between / m + within
        share = 1 + m * within / between
        freedom = (m - 1) * share * share
    # SciPy's quantiles of next to no degrees of freedom are wrong, and the true ones have hundreds of digits
    quantile = float(student.ppf(0.5 + level / 2, freedom)) if freedom >= _LEAST_FREEDOM else np.inf
    half = quantile * float(np.sqrt(variance))
    few = adjusted or freedom < FEW
    advised = enough(m, between, within, population=population, ratio=ratio) if few else None
    return Combined(mean, variance, between, within, freedom, mean - half, mean + half, m, adjusted, advised)


def enough(releases: int, between: float, within: float, *, population: bool = False, ratio: float = 1.0) -> int:
    """Return the least number of releases, above those there are, with which an interval is of use; at most 1000.

    That is 10 degrees of freedom, and for samples of synthetic populations also that T is not above 0 in one of 100
    cases.

    Parameters
    ----------
    releases : int
        That there are.
    between, within : float
        b and v.
    population, ratio
        As in `combine`.

    Notes
    -----
    Of samples of synthetic populations, b is v (1 + ratio) in expectation, and this is taken where b came out
    smaller: the estimate of a release has the variance v, and the parameters that it is drawn from have that of the
    original.
    """
    m = np.arange(releases + 1, MOST + 1)
    if population:
        share = within / max(between, within * (1 + ratio)) if within else 0.0
        fine = ((m - 1) * np.square(1 - m * share / (m + 1)) >= ENOUGH) & (negative_chance(m, ratio) <= SELDOM)
    else:
        fine = (m - 1) * np.square(1 + m * (within / between)) >= ENOUGH
    return int(m[fine.argmax()]) if fine.any() else max(MOST, releases)


def negative_chance(releases: ArrayLike, ratio: float = 1.0) -> NDArray[np.float64]:
    """Return how probable it is that T of samples of synthetic populations is not above 0, though the model is right.

    Parameters
    ----------
    releases : int or array of int
    ratio : float
        Records of a release, divided by those of the original.

    Notes
    -----
    ``(m - 1) b / (v (1 + ratio))`` is chi-square with m - 1 degrees of freedom for normal estimates, and T is not
    above 0 where b is at most ``v / (1 + 1/m)``.
    """
    from scipy.stats import chi2  # noqa: PLC0415 -- loads slowly

    m = np.asarray(releases, dtype=np.float64)
    return np.asarray(chi2.cdf((m - 1) / ((1 + ratio) * (1 + 1 / m)), m - 1), dtype=np.float64)


def _check(estimates: Sequence[float], variances: Sequence[float], level: float, ratio: float) -> None:
    if len(estimates) != len(variances):
        shapes = (f"{len(estimates)} estimates", f"{len(variances)} variances")
        raise UsageError.of("arrays-differ", shapes=shapes)
    require_value(len(estimates) >= 2, "estimates", "of two releases or more", len(estimates))
    if not np.isfinite([*estimates, *variances]).all():
        raise UsageError.of("unusable-values", kind="missing or infinite")
    require_value(min(variances) >= 0, "variances", _SQUARED, f"{min(variances):g}")
    require_value(0 < level < 1, "level", "between 0 and 1; 0.95 is usual", level)
    require_value(0 < ratio < np.inf, "ratio", "above 0; 1 for as many records", ratio)
