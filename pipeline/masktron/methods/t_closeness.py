"""t-closeness on the minimum spanning tree: groups whose classes are distributed as in the whole file."""

from __future__ import annotations

from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats, Labels
from masktron.errors import UsageError
from masktron.methods.base import RecordContext
from masktron.methods.mst import TreePartitioning
from masktron.methods.parameters import parameter
from masktron.partitions.crest import class_counts
from masktron.partitions.t_closeness import close_partition, distances


class TClosenessMethod(TreePartitioning):
    """The minimum spanning tree, cut only where both parts keep the distribution of a class within t.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2. There is no largest one.
    t : float
        Largest distance of the distribution of the class in a group to the overall one, from 0 to 1: half the sum
        of the absolute differences of the shares, which is the earth mover's distance with equal ground distance.
    scale : {"standard", "unit"}
        Coordinates as they are given, or each variable rescaled to [0, 1] among the records that are partitioned.

    Notes
    -----
    Source: Li and Sarkar (2013), section 6.1, the benchmark; Li, Li and Venkatasubramanian (2007), t-closeness.
    Several class attributes are one, of their combinations. Where the records that are partitioned are farther than
    t as a whole, they stay one group: no partition of them is within t.
    """

    name: ClassVar[str] = "t_closeness"
    title: ClassVar[str] = "t-closeness on the minimum spanning tree"
    says: ClassVar[str] = "As mst, but cut only where the class in both parts is distributed nearly as in the file."
    when: ClassVar[str] = "The class must not be guessed from a group, and large groups are acceptable."
    source: ClassVar[str] = "Li and Sarkar 2013, section 6.1; Li, Li and Venkatasubramanian 2007"
    attacker: ClassVar[str] = (
        "Classes are published as they are, and a group tells its shares. Nothing is drawn, so there is no secret "
        "that would undo it; but whoever knows the records of all others runs it with guesses of the one that he "
        "lacks, and sees which give the published file."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means of all variables, where the aggregate is the mean",
        "shares of the classes in each group, to t, where those of its stratum allow it",
    )
    needs_class: ClassVar[bool] = True
    t: float = parameter(
        "Largest distance of the class in a group to the class in the file, by half the sum of differences.",
        default=0.2,
        least=0,
        most=1,
    )

    @override
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        """Partition points by their minimum spanning tree and their class; see `Partitioning.partition`.

        With several class attributes, `shares` has an axis for each.
        """
        codes, overall = combined(context.classes, context.shares)
        return close_partition(self.scaled(points), int(self.k), float(self.t), codes, overall)

    def notes(self, labels: Labels, classes: Labels | None) -> tuple[str, ...]:
        """Say in how many groups the class is farther from the file than asked for; see `Partitioning.notes`."""
        return () if classes is None else _far(labels, classes, float(self.t))


def _far(labels: Labels, classes: Labels, t: float) -> tuple[str, ...]:
    """Say in how many groups the class is farther from the file than asked for."""
    _, codes = np.unique(classes, axis=0, return_inverse=True)
    counts = class_counts(labels, codes.ravel().astype(np.intp))
    own = distances(counts, counts.sum(axis=0) / counts.sum())
    far = int((own > t + 1e-12).sum())  # rounding of shares
    if not far:
        return ()
    return (
        f"in {far} of {len(own)} groups the class is farther than t = {t:g} from that of the file, by up to "
        f"{own.max():.3f}: rules and rare records make groups that the class does not allow; a larger t or k, or "
        "fewer variables, make them fewer",
    )


def combined(classes: Labels, shares: Floats | None) -> tuple[Labels, Floats]:
    """Make one class of several, of their combinations.

    Parameters
    ----------
    classes : ndarray of intp, shape (n, c)
    shares : ndarray of float64 with c axes, or None
        Place (i, j, ...) has the share of the codes i, j, ...; None for the shares among these records.

    Returns
    -------
    codes : ndarray of intp, shape (n,)
    shares : ndarray of float64, shape (combinations,)

    Raises
    ------
    UsageError
        The shares have another number of axes, or none for a code.
    """
    if shares is None:
        _, codes = np.unique(classes, axis=0, return_inverse=True)
        return codes.ravel(), np.bincount(codes.ravel()) / len(codes)
    if (
        shares.ndim != classes.shape[1]
        or (classes.min(axis=0) < 0).any()
        or (classes.max(axis=0) >= shares.shape).any()
    ):
        expected = f"as long in each of {classes.shape[1]} axes as a class attribute has classes"
        raise UsageError.of("bad-value", name="shares", expected=expected, given=repr(shares.shape))
    return np.ravel_multi_index(tuple(classes.T), shares.shape).astype(np.intp), shares.ravel()
