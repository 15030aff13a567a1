"""CREST: groups of near records in which the confidential classes are mixed as in the file."""

from __future__ import annotations

from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats, Labels
from masktron.counts import counted
from masktron.methods.base import Drawn, GroupedMethod, Partitioning, RecordContext
from masktron.methods.parameters import parameter
from masktron.partitions.crest import class_counts, compound, crest


class ClassRestrictedMethod(GroupedMethod):
    """A method whose groups mix the classes of near records.

    Parameters
    ----------
    alpha : float
        Weight of distance against divergence of classes in the tree, 0 to 1; 1 is Partial CREST.
    neighbours : int, optional
        Records among which classes around an edge are counted, at least 2; k if not given.
    """

    needs_class: ClassVar[bool] = True
    alpha: float = parameter(
        "Weight of distance against mixed classes while the tree grows; 1 is Partial CREST, a minimum spanning tree.",
        default=0.5,
        least=0,
        most=1,
    )
    neighbours: int | None = parameter(
        "Records among which the classes around an edge of the tree are counted; as many as k if auto.",
        default=None,
        least=2,
    )

    def groups(self, points: Floats, classes: Labels, shares: Floats | None = None) -> Labels:
        """Return the groups of points; see `masktron.partitions.crest.crest`."""
        near = None if self.neighbours is None else int(self.neighbours)
        return crest(points, int(self.k), classes, shares=shares, alpha=float(self.alpha), neighbours=near)


class CrestMethod(ClassRestrictedMethod, Partitioning):
    """Class-restricted spanning tree: near records whose classes tell as little as those of the file.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2. Groups have no upper bound.
    alpha : float
        Weight of distance against divergence of classes in the tree, 0 to 1; 1 is Partial CREST.
    neighbours : int, optional
        Records among which classes around an edge are counted, at least 2; k if not given.

    Notes
    -----
    Source: Li and Sarkar (2013), section 4, equations (6) and (9), figure 4. Several class attributes count as one,
    whose classes are their combinations.
    """

    name: ClassVar[str] = "crest"
    title: ClassVar[str] = "CREST, class-restricted spanning tree"
    says: ClassVar[str] = (
        "Groups of near records in which a confidential class is spread as in the file share their aggregate."
    )
    when: ClassVar[str] = "A confidential category stays in the file, and a group must not give it away."
    source: ClassVar[str] = "Li and Sarkar 2013, section 4, (6), (9), figure 4"
    attacker: ClassVar[str] = (
        "Classes are published as they are. Nothing is drawn, so there is no secret that would undo it; but whoever "
        "knows the records of all others runs it with guesses of the one that he lacks, and sees which give the "
        "published file."
    )
    preserves: ClassVar[tuple[str, ...]] = ("means of all variables, where the aggregate is the mean",)

    @override
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        """Partition points by CREST; see `Partitioning.partition`."""
        return self.groups(points, context.classes, context.shares)

    def notes(self, labels: Labels, classes: Labels | None) -> tuple[str, ...]:
        """Say which classes groups give away; see `class_notes`."""
        return () if classes is None else class_notes(labels, classes)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Replace the records of each group by their mean; classes that groups give away are noted."""
        drawn = super()._mask(values, generator, context)
        assert drawn.labels is not None  # noqa: S101 -- a partitioning has groups
        return Drawn(drawn.values, drawn.labels, class_notes(drawn.labels, context.classes))


_LONE = ("record is the only one of its class", "records are the only one of their class")


def class_notes(labels: Labels, classes: Labels) -> tuple[str, ...]:
    """Say what groups tell of the classes of their records: classes of one record, and groups of one class.

    Parameters
    ----------
    labels : ndarray of intp, shape (n,)
        Groups, 0 to g - 1.
    classes : ndarray of intp, shape (n,) or (n, c)
        Of each of c class attributes, from 0.

    Returns
    -------
    tuple of str
        A sentence for each finding and class attribute; none where all is well, or the file has one class only.

    Notes
    -----
    Source: class-restricted clustering (2013), section 7: who can tell the group of a record knows the class of the
    only record of it there.
    """
    notes: list[str] = []
    columns = classes.reshape(len(labels), -1).T
    for number, column in enumerate(columns, start=1):
        counts = class_counts(labels, compound(column))
        if counts.shape[1] < 2:
            continue
        which = f" of class attribute {number}" if len(columns) > 1 else ""
        lone = counts == 1
        if lone.any():
            notes.append(
                f"in {int(lone.any(axis=1).sum())} of {counted(len(counts), 'group')}, "
                f"{counted(int(lone.sum()), *_LONE)}{which}: a larger k makes them fewer"
            )
        single = (counts > 0).sum(axis=1) == 1
        if single.any():
            notes.append(
                f"{int(single.sum())} of {counted(len(counts), 'group')}, with "
                f"{counted(int(counts[single].sum()), 'record')}, {'has' if single.sum() == 1 else 'have'} one class "
                f"only{which}: who knows the group of a record knows its class; ask for a larger k"
            )
    return tuple(notes)
