"""Microaggregation-based hybrid data: small groups, and values drawn anew in each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast, override

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.contracts import MethodContract, PartitionedSynthesis
from masktron.errors import UsageError
from masktron.methods.base import Drawn, GroupedMethod, KeepingMethod, Partitioning, RecordContext, require_records
from masktron.methods.conditioned import ConditionedMethod, Conditioning
from masktron.methods.parameters import parameter
from masktron.methods.partitionings import PARTITIONINGS
from masktron.partitions.mdav import standardise
from masktron.problems.problem import Known
from masktron.synthesis.imputation import imputed, normal
from masktron.synthesis.ipso import ipso
from masktron.synthesis.moments import lacking, needed, require_change, require_freedom
from masktron.synthesis.regression import Regression, regress
from masktron.synthesis.within import Draw, joined, synthesise

PARTITIONS = {method.name: method for method in PARTITIONINGS}
"""Methods whose groups can be taken, by their names."""
DRAWS: Mapping[str, Draw] = {"ipso": ipso, "normal": normal, "multiple_imputation": imputed}
"""Synthesisers by their names."""


class _ByPartition:
    """Whether a class is needed: as the partition of an instance says, and no where no instance is asked."""

    def __get__(self, instance: MicrohybridMethod | None, owner: type[MicrohybridMethod]) -> bool:
        return instance is not None and _partitioning(instance.partition).needs_class


class MicrohybridMethod(GroupedMethod, KeepingMethod, ConditionedMethod):
    """Any partition, and any synthesiser in its groups; R-microhybrid with mdav or mu_approx, and ipso.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2; more where the synthesiser needs more.
    partition : str
        Name of the method that forms the groups.
    synthesiser : {"ipso", "normal", "multiple_imputation"}
        What draws the values of a group: with its moments exactly, in expectation, or from the posterior predictive
        distribution of a Bayesian normal model (fully synthetic multiple imputation).
    keep : sequence of int
        Columns that stay as they are (Y of the papers); may be empty. Groups are formed of the other columns alone.
    random_state : int, RandomState or None
        Used by the estimator alone.

    Notes
    -----
    Source: Domingo-Ferrer and Gonzalez-Nicolas (2009 and 2010), procedure 1; Rubin (1993) for multiple imputation. A
    group that would return a variable as it is joins the nearest other one, and so does one that lacks degrees of
    freedom.

    Groups are near in what is masked: the number of groups and the figures on EIA in print are those of such groups.

    A column that is constant in a group stays so there: the moments of the group say so, and its records share it.
    """

    name: ClassVar[str] = "microhybrid"
    title: ClassVar[str] = "Microaggregation-based hybrid data"
    says: ClassVar[str] = (
        "Draws values anew in groups of near records with like conditions, and keeps the means and covariances of "
        "each."
    )
    when: ClassVar[str] = (
        "Analyses of parts of the file, and higher moments, have to stay near; variances have to be exact."
    )
    source: ClassVar[str] = "Domingo-Ferrer and Gonzalez-Nicolas 2010, sections 3 and 4; Rubin 1993"
    attacker: ClassVar[str] = (
        "Values are drawn from means and covariances of groups alone: with the secret, too, there is nothing to "
        "invert for a record but what these tell, and in small groups of few variables that is much. With ipso "
        "they are exact: whoever knows all records of the file or of a cell of like conditions but one computes that "
        "one from the means, but for rounding."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means, variances and covariances of each group, of each cell of like conditions and of the file, also with "
        "the numbers of keep: exactly with ipso, in expectation with normal",
        "exact linear relations between variables",
        "nearly: third and fourth moments, and moments of parts of the file, the nearer the smaller k",
    )
    loses: ClassVar[tuple[str, ...]] = (
        "differences by condition within a cell",
        "relations with unmasked fields that are not conditions",
    )
    conditioning: ClassVar[Conditioning] = Conditioning.CELLS
    # what type checkers see is what an instance answers
    needs_class: ClassVar[bool] = cast("bool", _ByPartition())

    partition: str = parameter("Method whose groups are taken.", default="mdav", choices=tuple(PARTITIONS))
    synthesiser: str = parameter("What draws the values of a group.", default="ipso", choices=tuple(DRAWS))

    @property
    def contract(self) -> MethodContract:
        """Values drawn for groups of at least k."""
        return PartitionedSynthesis(int(self.k))

    def least(self, variables: int) -> int:
        """Return the fewest records for variables that are linearly independent."""
        return max(int(self.k), 2 if self.synthesiser == "normal" else variables + 3)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Form groups and draw the records of each anew; see `Method.mask`."""
        n = len(values)
        require_records(n, max(int(self.k), 2), self.name)
        kept = self.kept(values.shape[1])
        whole = regress(values[None, :, ~kept], values[None, :, kept])
        require_change(whole, self.name)
        size, notes = self._size(whole)
        points = standardise(values[:, ~kept])
        partitioning: Any = _partitioning(self.partition)
        labels = partitioning(k=size).check().partition(points, classes=context.classes)
        groups = int(labels.max()) + 1

        def lacks(rows: Labels) -> NDArray[np.bool_]:
            records = values[rows]
            return self._lacks(regress(records[:, :, ~kept], records[:, :, kept]))

        labels = joined(points, labels, lacks)
        fewer = groups - int(labels.max()) - 1
        if fewer:
            notes += (
                f"{fewer} of {groups} groups joined the nearest other one: with the figures of such a group exact, a "
                "variable would be as it was",
            )
        drawn = synthesise(values, kept, labels, DRAWS[self.synthesiser], generator)
        same = int((drawn == values)[:, ~kept].all(axis=1).sum())
        if same:
            stay = "stays as it is" if same == 1 else "stay as they are"
            notes += (f"{same} of {n} records {stay}: those of their group are equal in what is masked",)
        return Drawn(drawn, labels, notes)

    def _size(self, whole: Regression) -> tuple[int, tuple[str, ...]]:
        """Return the size of groups, and what there is to say of it."""
        if self.synthesiser == "normal":
            return int(self.k), ()
        n, rank = whole.basis.shape[1], int(whole.rank[0])
        regressors = n - int(whole.freedom[0])
        size = max(int(self.k), regressors + int(needed(whole.rank)[0]))
        require_freedom(whole, self.name)
        if size == self.k:
            return size, ()
        what = f"{rank} linearly independent variables beside {regressors - 1} kept ones"
        return size, (
            f"groups have at least {size} records, not {self.k}: {self.synthesiser} needs so many for {what}",
        )

    def _lacks(self, regression: Regression) -> NDArray[np.bool_]:
        if self.synthesiser == "normal":
            return regression.unchanged.any(axis=1)
        return lacking(regression)


def _partitioning(name: str) -> type[Partitioning]:
    if name not in PARTITIONS:
        raise UsageError.of("unknown-name", kind="partition", name=name, known=Known(name, tuple(PARTITIONS)))
    return PARTITIONS[name]
