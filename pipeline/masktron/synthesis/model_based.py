"""Draws for the clusters of a mixture: numbers, and categories beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.errors import InfeasibleError
from masktron.kernels.standardise import standardised
from masktron.synthesis.em import FLOOR, MixtureRecords
from masktron.synthesis.mixture import Mixture, MixtureSearch, fit_mixture, independent
from masktron.synthesis.within import SPARE, draw_codes, draw_normal, joined, rank, short, unchanged


@dataclass(frozen=True, slots=True, eq=False)
class Synthesised:
    """What was drawn for the clusters of a mixture.

    Attributes
    ----------
    values : ndarray of float64, shape (n, p)
    labels : ndarray of intp, shape (n,)
        Clusters, 0 to g - 1.
    mixture : Mixture
    log_likelihood, bic : float
        In the units of the numbers that the mixture is of; BIC is 2 log L - parameters x log n, larger is better.
    fewest : int
        Components that were asked for at least.
    least : int
        Records of a cluster that is large enough.
    joins : int
        Clusters that were too small and joined with near ones.
    alike : str
        What is to be said of records that stay as they are.
    """

    values: Floats
    labels: Labels
    mixture: Mixture
    log_likelihood: float
    bic: float
    fewest: int
    least: int
    joins: int
    alike: str

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user has to know."""
        fit, mixture = self.mixture.fit, self.mixture
        count = len(fit.components.weights)
        floored = int(fit.components.floored.sum())
        found = [
            f"mixture of {count} normal components, family {fit.family}: log-likelihood {self.log_likelihood:.1f}, "
            f"BIC {self.bic:.1f} (2 log L - parameters x log n: larger is better)"
        ]
        if count < self.fewest:
            found.append(
                f"no mixture of {self.fewest} or more components has {self.least} records in each: fewer were taken"
            )
        if floored:
            found.append(
                f"{floored} of {count} components are nearly singular, their records lie on a plane or at a point: "
                f"no variance was let fall below {FLOOR:g} of the file's"
            )
        if self.joins:
            found.append(
                f"clusters of fewer than {self.least} records were joined with the nearest ones ({self.joins})"
            )
        if self.alike:
            found.append(self.alike)
        if mixture.unfinished:
            found.append(f"{mixture.unfinished} mixtures did not converge and were left out")
        if mixture.sampled is not None:
            found.append(f"EM was started from the agglomeration of {mixture.sampled} records that were drawn")
        return tuple(found)


def draw_clusters(
    values: Floats,
    nominal: NDArray[np.bool_],
    search: MixtureSearch,
    generator: np.random.Generator,
    *,
    exact: bool,
) -> Synthesised:
    """Fit a mixture, and draw the values of every record for its most probable component.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite; categories as codes.
    nominal : ndarray of bool, shape (p,)
        Columns of categories.
    search : MixtureSearch
        Its `least` is the fewest records of a cluster; more are needed where they differ in many directions.
    generator : numpy.random.Generator
    exact : bool
        Whether means, covariances and shares of categories are those of the clusters exactly.

    Raises
    ------
    InfeasibleError
        There are too few records, or no mixture converged.
    """
    numbers = values[:, ~nominal]
    search = replace(search, least=least_cluster(numbers, search.least))
    points = standardised(numbers)
    codes, known = _coded(values[:, nominal])
    own = independent(points)
    observed = MixtureRecords(np.ascontiguousarray(points[:, own]), codes, _shares(codes))
    mixture = fit_mixture(observed, search, generator)
    labels = joined(points, mixture.labels, lambda rows: short(numbers[rows], search.least))
    drawn = np.empty_like(values)
    drawn[:, ~nominal] = draw_normal(numbers, labels, generator, exact=exact)
    for column, (place, codes_of) in enumerate(zip(np.flatnonzero(nominal), known, strict=True)):
        drawn[:, place] = codes_of[draw_codes(codes[:, [column]], labels, generator, exact=exact)[:, 0]]
    units = len(values) * float(_log_deviations(numbers[:, own]).sum())
    fit = mixture.fit
    return Synthesised(
        drawn,
        labels,
        mixture,
        fit.log_likelihood - units,
        fit.bic - 2 * units,
        search.fewest,
        search.least,
        int(mixture.labels.max() - labels.max()),
        unchanged(values, labels),
    )


def least_cluster(numbers: Floats, k: int) -> int:
    """Return how many records a cluster needs to be drawn anew.

    Raises
    ------
    InfeasibleError
        There are fewer.
    """
    least = max(k, rank(numbers) + SPARE)
    if len(numbers) < least:
        what = f"drawing records that differ in {rank(numbers)} directions"
        raise InfeasibleError.of("too-few-records", what=what, least=least, records=len(numbers))
    return least


def _log_deviations(numbers: Floats) -> Floats:
    """Logarithms of standard deviations, shape (p,), where squares may overflow or vanish."""
    powers = np.frexp(np.abs(numbers).max(axis=0, initial=0.0))[1]
    deviations: Floats = np.log(np.ldexp(numbers, -powers).std(axis=0)) + powers * np.log(2.0)
    return deviations


def _coded(columns: Floats) -> tuple[Labels, list[Floats]]:
    """Codes from 0 of columns of categories, and the value of each code."""
    pairs = [np.unique(column, return_inverse=True) for column in columns.T]
    codes = np.empty(columns.shape, dtype=np.intp)
    for place, (_, found) in enumerate(pairs):
        codes[:, place] = found
    return codes, [known for known, _ in pairs]


def _shares(codes: Labels) -> tuple[Floats, ...]:
    return tuple(np.bincount(column) / len(column) for column in codes.T)
