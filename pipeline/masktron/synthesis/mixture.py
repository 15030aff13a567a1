"""The Gaussian mixture of a file: components and family of covariances by BIC, EM from agglomeration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from masktron.arrays import Floats, Labels
from masktron.errors import InfeasibleError
from masktron.kernels.standardise import standardised
from masktron.synthesis.em import (
    FAMILIES,
    FLOOR,
    Components,
    CovarianceFamily,
    MixtureRecords,
    begin,
    expect,
    log_joint,
    maximise,
    parameters,
)
from masktron.synthesis.threads import blas_in_one_thread

type StartingGroups = Callable[[int], Labels]
"""Given a number of groups, the group of each record; fewer groups where the records have no more."""


def starts(observed: MixtureRecords, drawn: int, generator: np.random.Generator) -> Iterator[StartingGroups]:
    """Yield the ways to start.

    Two trees of Ward's agglomeration, of the records as they are and of the ranks of their values, so that few
    records far out do not use up the groups; then nearest records among some that are drawn. Categories count as
    indicators, scaled so that two records differ on average as much as in a number.

    Parameters
    ----------
    observed : MixtureRecords
        Some thousand records at most: the trees take memory for every pair.
    drawn : int
        Starts around drawn records.
    generator : numpy.random.Generator
        Not touched if `drawn` is 0.
    """
    indicators = [_indicators(column) for column in observed.codes.T]
    plain = np.column_stack([observed.points, *indicators])
    yield _ward(plain)
    if observed.points.shape[1]:
        yield _ward(np.column_stack([_scores(observed.points), *indicators]))
    for _ in range(drawn):
        yield _around(plain, generator.permutation(len(plain)))


def _ward(points: Floats) -> StartingGroups:
    from scipy.cluster.hierarchy import fcluster, linkage  # noqa: PLC0415 -- a tenth of a second, for these methods

    tree = linkage(points, "ward")

    def cut(groups: int) -> Labels:
        found: Labels = fcluster(tree, groups, "maxclust").astype(np.intp) - 1
        return found

    return cut


def _around(points: Floats, order: Labels) -> StartingGroups:
    def nearest(groups: int) -> Labels:
        centres = np.unique(points[order[:groups]], axis=0)
        squares = np.square(points[:, None, :] - centres).sum(axis=2)
        return np.unique(squares.argmin(axis=1), return_inverse=True)[1].astype(np.intp)

    return nearest


def _scores(points: Floats) -> Floats:
    """Normal scores of the mean ranks; equal values stay equal."""
    from scipy.special import ndtri  # noqa: PLC0415
    from scipy.stats import rankdata  # noqa: PLC0415

    return standardised(ndtri((rankdata(points, axis=0) - 0.5) / len(points)))


def _indicators(column: Labels) -> Floats:
    present, places = np.unique(column, return_inverse=True)
    shares = np.bincount(places) / len(places)
    apart = 1.0 - float(np.square(shares).sum())
    return np.asarray(np.eye(len(present))[places] / np.sqrt(apart if apart > 0 else 1.0))


AGGLOMERATED = 2_000
"""Records that are agglomerated at most; the pairs of more take too much memory. mclust samples as many."""
TOLERANCE = 1e-5
"""EM has converged when a step adds less to the log-likelihood of a record."""
_DECISIVE = 7
"""Decimals of a log-likelihood of a record that decide between mixtures and components. EM goes by products of BLAS,
whose last digits depend on the processor; where these alone differ the first is taken, on every processor."""
_FINALISTS = 6
"""Models that are fitted to all records of a large file: the best ones by what the sample lets expect."""


@dataclass(frozen=True, slots=True)
class MixtureSearch:
    """Which mixtures are tried.

    Attributes
    ----------
    fewest, most : int
        Components.
    families : tuple of CovarianceFamily
    least : int
        Records that a component is expected to have at least, to the nearest number; mixtures with a smaller one are
        left out.
    iterations : int
        Steps of EM, after which a mixture is left out.
    drawn : int
        Random starts, beside the trees.
    """

    fewest: int = 2
    most: int = 10
    families: tuple[CovarianceFamily, ...] = FAMILIES
    least: int = 5
    iterations: int = 500
    drawn: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A mixture that EM came to.

    Attributes
    ----------
    components : Components
    family : CovarianceFamily
    log_likelihood, bic : float
        Of the standardised records. BIC is 2 log L - parameters x log n, as in mclust: larger is better.
    steps : int
    """

    components: Components
    family: CovarianceFamily
    log_likelihood: float
    bic: float
    steps: int


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """The mixture with the largest BIC.

    Attributes
    ----------
    fit : Fit
    labels : ndarray of intp, shape (n,)
        The component of each record that is most probable; components without a record are passed over.
    unfinished : int
        Mixtures left out because EM did not converge.
    sampled : int or None
        Records of the sample in which EM was started; None where it was all of them.
    """

    fit: Fit
    labels: Labels
    unfinished: int
    sampled: int | None


def fit_mixture(observed: MixtureRecords, search: MixtureSearch, generator: np.random.Generator) -> Mixture:
    """Fit mixtures and return the one with the largest BIC.

    Parameters
    ----------
    observed : MixtureRecords
        At least one record.
    search : MixtureSearch
        Where the records are too few for so many components, fewer are tried.
    generator : numpy.random.Generator
        Draws the sample of a large file, and random starts.

    Raises
    ------
    InfeasibleError
        EM converged for none of them.

    Notes
    -----
    Source: model-based hybrid (2012), section 2, equations (2) to (4); Fraley and Raftery (2002). Where they start EM
    from agglomeration by the classification likelihood, this starts from Ward's, which costs less, twice.
    """
    # of small products more threads gain little, and they would add up in another order
    with blas_in_one_thread():
        n = len(observed.points)
        part = observed
        if n > AGGLOMERATED:
            part = observed.some(np.sort(generator.choice(n, AGGLOMERATED, replace=False)))
        counted = _Counted()
        fits = list(counted.converged(_fits(part, n, search, generator)))
        if part is not observed:
            fits.sort(key=lambda fit: -round(_expected_bic(fit, part, n) / n, _DECISIVE))
            begun = fits[:_FINALISTS]
            fits = list(counted.converged(_run(observed, one.components, one.family, search) for one in begun))
        if not fits:
            _require_convergence(counted.unfinished, search)
            fits = list(counted.converged(_singles(observed, search)))
        best = max(fits, key=lambda fit: round(fit.bic / n, _DECISIVE))
        labels = np.concatenate([_likeliest(log_joint(best.components, *chunk)) for chunk in observed.chunks()])
    renumbered = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    return Mixture(best, renumbered, counted.unfinished, None if part is observed else len(part.points))


def _likeliest(joint: Floats) -> Labels:
    """Return the most probable component of each record, the first of those that are equal but for roundings."""
    return np.asarray((joint >= joint.max(axis=0) - 10.0**-_DECISIVE).argmax(axis=0), dtype=np.intp)


class _Counted:
    """Passes over what EM gave up, and counts what did not converge."""

    def __init__(self) -> None:
        self.unfinished = 0

    def converged(self, fits: Iterable[Fit | None]) -> Iterator[Fit]:
        for fit in fits:
            if fit is None:
                continue
            if fit.steps < 0:
                self.unfinished += 1
            else:
                yield fit


def _fits(
    part: MixtureRecords, n: int, search: MixtureSearch, generator: np.random.Generator
) -> Iterator[Fit | None]:
    """Fits to a part of n records, for every start, number of components and family."""
    dimensions = part.points.shape[1]
    if len(part.points) < n:
        search = replace(search, least=dimensions + 1)
    highest = max(1, min(search.most, len(part.points) // search.least))
    lowest = min(search.fewest, highest)
    if not dimensions and not part.codes.shape[1]:
        lowest = highest = 1
    if lowest == 1:
        yield from _singles(part, search)
    if highest == 1:
        return
    for start in starts(part, search.drawn, generator):
        for groups in range(max(lowest, 2), highest + 1):
            labels = start(groups)
            if labels.max() + 1 < groups:
                continue
            found = begin(labels, part)
            for family in _distinct(search.families, dimensions):
                # groups of few records have no covariance of their own yet
                first = maximise(found, family, part.shares, pooled=dimensions + 1)
                yield _run(part, first, family, search)


def _singles(observed: MixtureRecords, search: MixtureSearch) -> Iterator[Fit | None]:
    """Fits of one component."""
    found = begin(np.zeros(len(observed.points), dtype=np.intp), observed)
    for family in _distinct(search.families, observed.points.shape[1]):
        yield _run(observed, maximise(found, family, observed.shares), family, search)


def _run(observed: MixtureRecords, first: Components, family: CovarianceFamily, search: MixtureSearch) -> Fit | None:
    """Run EM: None where a component has too few records, steps of -1 where it does not converge."""
    n, dimensions = observed.points.shape
    components, before = first, -np.inf
    free = parameters(family, len(first.weights), dimensions, observed.categories)
    for step in range(search.iterations):
        found, likelihood = expect(components, observed)
        alone = len(first.weights) == 1
        # clusters of just so many records have expected ones that are a little fewer
        if not alone and found.counts.min() < search.least - 0.5:
            return None
        if alone or abs(likelihood - before) < TOLERANCE * n:
            return Fit(components, family, likelihood, 2 * likelihood - free * np.log(n), step)
        before = likelihood
        components = maximise(found, family, observed.shares)
    return Fit(components, family, before, -np.inf, -1)


def _expected_bic(fit: Fit, part: MixtureRecords, n: int) -> float:
    """BIC that a fit to a sample lets expect of all n records.

    The fit to m records has ``parameters / 2`` more of log-likelihood than the truth has on them; on all records it
    will have as much more.
    """
    m, dimensions = part.points.shape
    free = parameters(fit.family, len(fit.components.weights), dimensions, part.categories)
    return float(2 * n * (fit.log_likelihood - free / 2) / m + free - free * np.log(n))


def _distinct(families: tuple[CovarianceFamily, ...], dimensions: int) -> tuple[CovarianceFamily, ...]:
    """Families that differ with so many dimensions."""
    if dimensions > 1:
        return families
    spherical: dict[str, CovarianceFamily] = {"E": "EII", "V": "VII"}
    return tuple(dict.fromkeys(spherical[family[0]] for family in families))[: 2 if dimensions else 1]


def _require_convergence(unfinished: int, search: MixtureSearch) -> None:
    if unfinished:
        raise InfeasibleError.of(
            "mixture-not-converged", fewest=search.fewest, most=search.most, iterations=search.iterations
        )


def independent(points: Floats) -> Labels:
    """Return the columns that the ones before them do not give, in order.

    Parameters
    ----------
    points : ndarray of float64, shape (n, p)
        Standardised. A column is given where less than `FLOOR` of its variance is left after regressing it on the
        ones before it; constant columns always are.
    """
    basis = np.empty((len(points), 0))
    chosen: list[int] = []
    for place, column in enumerate(points.T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        length = float(np.sqrt(rest @ rest))
        if length > np.sqrt(FLOOR * len(points)):
            basis = np.column_stack([basis, rest / length])
            chosen.append(place)
    return np.array(chosen, dtype=np.intp)
