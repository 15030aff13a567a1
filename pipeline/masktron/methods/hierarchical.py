"""Partially synthetic data: values beyond thresholds are replaced from clusters of like records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar, Self, override

import numpy as np

from masktron.arrays import Floats
from masktron.contracts import MarkedReplaced, MethodContract
from masktron.counts import counted
from masktron.methods.base import Drawn, RandomMethod, RecordContext, require_records
from masktron.methods.parameters import parameter
from masktron.partitions.centroid import LIMITS, Stop, agglomerate
from masktron.synthesis.hierarchical import Marked, Release, Side, mark, replace_marked


class HierarchicalMethod(RandomMethod):
    """Values beyond thresholds, drawn by the Bayesian bootstrap from clusters of records that have such values.

    Parameters
    ----------
    variables : sequence of int, optional
        Columns with a threshold; all when not given.
    thresholds : sequence of float, optional
        One for each of `variables`; `quantile` says it when not given.
    quantile : float
        Of the records that are masked together; for the lower side 1 minus it.
    side : {"upper", "lower", "both"}
        Which values are beyond the threshold; ``both`` goes with `quantile` alone.
    stop : {"small", "counts", "spr", "rmsstd"}
        When clusters are joined no further; see `masktron.partitions.centroid.agglomerate`.
    cluster, distinct : int
        Fewest records, and fewest different values, in a cluster.
    limit : float, optional
        Of the rules ``spr`` and ``rmsstd``.
    releases : int
        Files that are released together.
    release : int
        The one that `mask` makes. From one generator it is the same however many there are.
    random_state : int, RandomState instance or None
        Seed of the estimator.

    Notes
    -----
    Source: Aslanyan and Topchyan, hierarchical cluster analysis for partially synthetic data (2013), sections 2, 3.
    """

    name: ClassVar[str] = "hierarchical"
    title: ClassVar[str] = "Partially synthetic data by hierarchical clusters"
    says: ClassVar[str] = (
        "Replaces values beyond thresholds by those of donors that have some too, in several releases."
    )
    when: ClassVar[str] = "Only extreme values are confidential, and analysts combine several files."
    source: ClassVar[str] = "Aslanyan and Topchyan 2013, sections 2 and 3; Reiter 2003 for combining"
    attacker: ClassVar[str] = (
        "What is not beyond a threshold is published as it is, and identifies who has it. What is beyond is the "
        "value of some respondent beyond it; with the secret, whoever knows the clusters computes whose."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "values within the thresholds",
        "combinations of replaced values are those of a respondent, where one has them",
    )
    loses: ClassVar[tuple[str, ...]] = (
        "how a replaced value goes with other fields within its cluster: slopes of regressions come out too small; "
        "their nominal 95 % intervals covered 66 to 87 % on lognormal data, those of means 93 to 96 %; more releases "
        "do not help, smaller clusters and robust standard errors do",
    )

    variables: Iterable[int] | None = parameter("Variables with a threshold; auto for all.", default=None)
    thresholds: Sequence[float] | None = parameter(
        "Values strictly beyond are replaced: a number for each of the variables; auto for their quantile.",
        default=None,
    )
    quantile: float = parameter("The threshold as a quantile of each variable.", default=0.85, least=0, most=1)
    side: Side = parameter("Which values are beyond a threshold.", default="upper")
    stop: Stop = parameter(
        "When clusters are joined no further: small, each when it has enough; counts, all when none lacks anything; "
        "spr and rmsstd, before a joining that exceeds a limit of homogeneity.",
        default="small",
    )
    cluster: int = parameter("Fewest records in a cluster.", default=10, least=2)
    distinct: int = parameter("Fewest different values of the variable in a cluster.", default=3, least=1)
    limit: float | None = parameter(
        f"Where spr or rmsstd stops the joining; auto for {LIMITS['spr']} and {LIMITS['rmsstd']}.",
        default=None,
        least=0,
    )
    releases: int = parameter("How many files are released together.", default=5, least=1)
    release: int = parameter("Which of them this one is, from 1.", default=1, least=1)

    @property
    def contract(self) -> MethodContract:
        """Values beyond thresholds are replaced."""
        return MarkedReplaced(int(self.cluster))

    def check(self) -> Self:
        """Refuse parameters that are wrong, or do not go together."""
        super().check()
        if self.release > self.releases:
            raise self.parameters["release"].error(self.release, f"from 1 to {self.releases}, the number of releases")
        if self.thresholds is not None and self.side == "both":
            raise self.parameters["side"].error(self.side, "upper or lower where thresholds are given")
        if self.distinct > self.cluster:
            expected = f"at most {self.cluster}, the records of a cluster"
            raise self.parameters["distinct"].error(self.distinct, expected)
        return self

    def least(self, variables: int) -> int:
        """Return the records of a cluster."""
        del variables
        return int(self.cluster)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Make one release; see `Method.mask`."""
        marked = self.marked(values)
        made = self._made(values, marked, generator.spawn(int(self.release))[-1])
        return Drawn(
            made.values, notes=tuple(_notes(marked, made, self._without(values, marked))), marked=marked.cells
        )

    def all_releases(self, values: Floats, generator: np.random.Generator) -> Floats:
        """Make all releases, shape (m, n, p); release j is what `mask` makes with ``release=j`` and the same seed.

        Raises
        ------
        InfeasibleError
            There are fewer records than a cluster needs.
        """
        marked = self.marked(values)
        return np.stack([self._made(values, marked, own).values for own in generator.spawn(int(self.releases))])

    def marked(self, values: Floats) -> Marked:
        """Return which values are replaced.

        Raises
        ------
        InfeasibleError
            There are fewer records than a cluster needs.
        UsageError
            Variables and thresholds do not fit the file or each other.
        """
        n, p = values.shape
        require_records(n, self.least(p), self.name)
        variables = list(range(p)) if self.variables is None else list(self.variables)
        if len(set(variables)) < len(variables) or not set(variables) <= set(range(p)):
            raise self.parameters["variables"].error(variables, f"different ones of the {p}")
        if self.thresholds is not None and len(self.thresholds) != len(variables):
            expected = f"one number for each of {len(variables)} variables"
            raise self.parameters["thresholds"].error(self.thresholds, expected)
        return mark(
            values,
            variables,
            side=self.side,
            quantile=float(self.quantile),
            thresholds=self.thresholds,
            records=int(self.cluster),
            distinct=int(self.distinct),
        )

    def _without(self, values: Floats, marked: Marked) -> int:
        """Count the variables with a threshold that no value is beyond."""
        variables = range(values.shape[1]) if self.variables is None else self.variables
        return sum(not marked.cells[:, j].any() for j in variables)

    def _made(self, values: Floats, marked: Marked, generator: np.random.Generator) -> Release:
        clusters = partial(
            agglomerate,
            records=int(self.cluster),
            distinct=int(self.distinct),
            stop=self.stop,
            limit=self.limit,
        )
        return replace_marked(values, marked, generator, clusters)


def _notes(marked: Marked, made: Release, without: int) -> Iterable[str]:
    if without:
        yield f"no value is beyond the threshold, so that all stay as they are, in {counted(without, 'variable')}"
    if marked.more:
        yield (
            "values within a threshold were replaced as well, where too few lay beyond it for a cluster, in "
            f"{counted(len(marked.more), 'variable')}"
        )
    if marked.all:
        among = counted(len(marked.all), "variable")
        yield f"all values were replaced, since there are too few different ones, in {among}"
    if made.apart:
        yield (
            f"{made.apart} of {made.replaced} replaced values go with others of their record as no respondent's do: "
            "the donor of the others has no value beyond the threshold there"
        )
    if made.replaced:
        yield (
            "how replaced values go with other fields is kept between clusters, not within them: slopes of "
            "regressions come out too small, and their intervals cover less than they say (masktron methods "
            "hierarchical)"
        )
