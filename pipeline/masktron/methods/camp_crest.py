"""CAMP-CREST: groups of mixed classes, and noise that gives back the covariance that averaging takes away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, override

import numpy as np

from masktron.arrays import Floats, Labels
from masktron.contracts import MethodContract, PartitionedSynthesis
from masktron.methods.base import Drawn, RandomMethod, RecordContext, require_records
from masktron.methods.crest import ClassRestrictedMethod, class_notes
from masktron.methods.parameters import parameter
from masktron.partitions.mdav import standardise
from masktron.synthesis.microperturbation import microperturb


class CampCrestMethod(ClassRestrictedMethod, RandomMethod):
    """Clustering and microperturbation with class-restricted spanning trees.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2. Groups have no upper bound.
    alpha : float
        Weight of distance against divergence of classes in the tree, 0 to 1; 1 is Partial CAMP-CREST.
    neighbours : int, optional
        Records among which classes around an edge are counted, at least 2; k if not given.
    several : {"compound", "averaged"}
        With several class attributes: groups by the combinations of their classes, or a run with its own groups for
        each of them, and the average of all.
    as_printed : bool
        Noise as in the paper, which is not centred within groups; variances come out too high, and too low where runs
        are averaged.
    random_state : int, RandomState or None
        For the estimator.

    Notes
    -----
    Source: Li and Sarkar (2013), section 5, theorems 1 and 2, (11), figure 5; several classes: section 8.
    """

    name: ClassVar[str] = "camp_crest"
    title: ClassVar[str] = "CAMP-CREST microperturbation"
    says: ClassVar[str] = (
        "The mean of a group of mixed classes and noise of the covariance within groups replace each record."
    )
    when: ClassVar[str] = (
        "A confidential category stays in the file, and variances and correlations matter more than equal records."
    )
    source: ClassVar[str] = "Li and Sarkar 2013, sections 4, 5 and 8, (6), (9), (11)"
    attacker: ClassVar[str] = (
        "Classes are published as they are. Noise is added to the mean of a group: the noise of a group sums to "
        "0, so that its mean is that of the original, but who is in it is not published. With the secret the means "
        "of the groups can be solved for, and no value within them. Two releases with other secrets have the same "
        "groups, and their average is nearer to the means."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means of all variables: exactly, by default",
        "variances and covariances: in expectation, by default",
        "exact linear relations between variables",
    )
    several: Literal["compound", "averaged"] = parameter(
        "What several class attributes are: one class of their combinations, or a run for each, averaged.",
        default="compound",
    )
    as_printed: bool = parameter(
        "Whether noise is drawn as in the paper, with variances that come out wrong.", default=False
    )

    @property
    def contract(self) -> MethodContract:
        """Values drawn for groups of at least k."""
        return PartitionedSynthesis(int(self.k))

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Replace records by the mean of their group and noise; see `masktron.synthesis.microperturbation`.

        Labels are those of the groups, or None where runs with different groups are averaged. Notes count classes of
        one record in a group, and groups of one class.
        """
        require_records(len(values), self.least(values.shape[1]), self.name)
        points = standardise(values)
        partitions = tuple(self.groups(points, one) for one in self._apart(context.classes))
        drawn = microperturb(values, partitions, generator, as_printed=self.as_printed)
        labels = partitions[0] if len(partitions) == 1 else None
        return Drawn(drawn, labels, self.told(partitions, context.classes), runs=partitions)

    @override
    def told(self, runs: Sequence[Labels], classes: Labels) -> tuple[str, ...]:
        """Say which classes the groups of each run give away; see `Method.told`."""
        if len(runs) == 1:
            return class_notes(runs[0], classes)
        return tuple(
            f"groups for class attribute {number}: {note}"
            for number, (labels, one) in enumerate(zip(runs, self._apart(classes), strict=True), start=1)
            for note in class_notes(labels, one)
        )

    def _apart(self, columns: Labels) -> Sequence[Labels]:
        """Return the class attributes of each run, shape (n, c) each."""
        return [column[:, None] for column in columns.T] if self.several == "averaged" else [columns]
