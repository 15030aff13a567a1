"""Where EM starts: partitions of the records by agglomeration, and around records drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from masktron.arrays import Floats, Labels
from masktron.kernels.standardise import standardised
from masktron.synthesis.em import MixtureRecords

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
