"""Fuzzy microaggregation: prototypes are the centres of fuzzy c-means, to which all records contribute."""

from __future__ import annotations

from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats, Labels
from masktron.methods.base import Drawn, Partitioning, RecordContext, require_records
from masktron.methods.parameters import parameter
from masktron.partitions.fuzzy import Clusters, centres_of, cluster, partition, starting_centres, weighted_centres
from masktron.partitions.mdav import standardise


class FuzzyMethod(Partitioning):
    """Fuzzy c-means whose prototypes keep linear rules, with at least k records on each of them.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2.
    m : float
        Fuzzifier, above 1: near 1 clusters are crisp, and the larger it is, the nearer are all centres to the mean of
        the file.
    clusters : int, optional
        Clusters to start with; one for every k records when not given.
    tolerance : float
        Largest move of a centre, in standard deviations, at which the clustering is done.
    rounds : int
        Most rounds of the clustering.

    Notes
    -----
    Source: Torra, Cano and Navarro-Arribas (2009), section 3.1, and its reference 17, Torra (2009). The clustering
    starts at the means of the groups of MDAV, so that nothing is random.

    Theorem: a linear equality or inequality that all records satisfy holds for every prototype. Proof: a prototype is
    a mean of all records with weights that are not negative, the same for all variables.
    """

    name: ClassVar[str] = "fuzzy"
    title: ClassVar[str] = "Fuzzy c-means with linear constraints"
    says: ClassVar[str] = "Groups of at least k records share the centre of a fuzzy cluster, to which all contribute."
    when: ClassVar[str] = (
        "Where a prototype should depend on more records than those that share it; with m of 1.05 to 1.1."
    )
    source: ClassVar[str] = "Torra, Cano and Navarro-Arribas 2009, section 3.1; Torra 2009; Bezdek 1981"
    attacker: ClassVar[str] = (
        "Nothing is drawn, so there is no secret that would undo it; but whoever knows the records of all others "
        "runs it with guesses of the one that he lacks, and sees which give the published file. Every centre is a "
        "weighted mean of all records."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "linear equalities and inequalities that all records satisfy, to rounding",
        "the range of every variable",
    )

    m: float = parameter(
        "Fuzzifier: 1.05 to 1.1 with many small clusters, where the 2 of textbooks lets centres run together.",
        default=1.1,
        least=1.01,
        most=10,
    )
    clusters: int | None = parameter(
        "Clusters to start with; auto is one for every k records.", default=None, least=1
    )
    tolerance: float = parameter("Move of a centre at which the clustering is done.", default=1e-3, above=0)
    rounds: int = parameter("Most rounds of the clustering.", default=50, least=1)

    @override
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        """Partition points by their largest membership; see `Partitioning.partition`."""
        most = max(1, len(points) // int(self.k))
        count = most if self.clusters is None else min(int(self.clusters), most)
        return partition(points, self._clustered(points, starting_centres(points, count)).centres, int(self.k))

    def prototypes(self, values: Floats, points: Floats, labels: Labels, weights: Floats | None = None) -> Floats:
        """Return the fuzzy prototypes of groups.

        Parameters
        ----------
        values : ndarray of float64, shape (n, p)
            What is aggregated.
        points : ndarray of float64, shape (n, d)
            What the records were grouped by.
        labels : ndarray of intp, shape (n,)
            From `partition`.
        weights : ndarray of float64, shape (n,), optional
            Survey weights; they multiply memberships, and the clustering does not ask for them.

        Returns
        -------
        ndarray of float64, shape (g, p)
            Means of all records, weighted by memberships to the power m. The clustering goes on with one cluster for
            each group, from the means of the groups.
        """
        centres = self._clustered(points, centres_of(points, labels)).centres
        return weighted_centres(values, points, centres, float(self.m), weights)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Replace the records of each group by its fuzzy prototype."""
        require_records(len(values), self.least(values.shape[1]), self.name)
        points = standardise(values)
        labels = self.partition(points)
        return Drawn(self.prototypes(values, points, labels)[labels], labels)

    def _clustered(self, points: Floats, start: Floats) -> Clusters:
        return cluster(points, start, m=float(self.m), tolerance=float(self.tolerance), most=int(self.rounds))
