"""Groups of unequal sizes, where a total of integers needs them.

Where all groups have k records, every total of integers is a multiple of k, while the original's need not be. One
group is then dissolved: each of its records joins the nearest group with which it shares all that its own shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.record_groups import RecordGroups
from masktron.masking.record_rules import RecordRules
from masktron.masking.totals.file_conditions import FileConditions
from masktron.masking.totals.total_condition import TotalCondition
from masktron.plan import Partition
from masktron.settle.lattice import FINER

TRIED = 60
"""Groups of which the cheapest to dissolve is taken."""


def with_unequal_sizes(
    rules: RecordRules, partition: Partition, grouping: RecordGroups, tallies: FileConditions, apart: NDArray[np.intp]
) -> RecordGroups:
    """Dissolve a group where totals that have to stay are no multiples of what the sizes of the groups allow.

    Parameters
    ----------
    apart : ndarray of intp, shape (n,)
        Records with different codes may not share a group.

    Returns
    -------
    Grouping
        The same where nothing is needed, or where no group can be dissolved; no group is smaller than before.
    """
    wanted = {condition: _total(rules, condition) for condition in tallies.on(rules.file.texts) if condition.moving}
    while stuck := _stuck(rules, partition, wanted, grouping):
        chosen = np.logical_or.reduce([part.chosen for condition in stuck for part in condition.moving])
        dissolving = _Dissolving(rules, partition, grouping, apart)
        options = (dissolving.without(int(group)) for group in dissolving.candidates(chosen))
        better = [
            (cost, position, option)
            for position, (cost, option) in enumerate(found for found in options if found is not None)
            if len(_stuck(rules, partition, wanted, option)) < len(stuck)
        ]
        if not better:
            break
        grouping = min(better, key=lambda one: one[:2])[2]
    return grouping


def _total(rules: RecordRules, condition: TotalCondition) -> Fraction:
    """What the moving parts of a condition add up to in the original."""
    figures = ((part.coefficient, part.figure(rules.file.texts)) for part in condition.moving)
    return sum((factor * figure for factor, figure in figures if figure is not None), Fraction(0))


def _stuck(
    rules: RecordRules, partition: Partition, wanted: Mapping[TotalCondition, Fraction], grouping: RecordGroups
) -> list[TotalCondition]:
    """Return the equalities to which no prototypes of these groups give the total that they have in the original."""
    groupings = dict.fromkeys(partition.variables, grouping)
    found: list[TotalCondition] = []
    for condition, total in wanted.items():
        if condition.relation == "=":
            unit = condition.measure(rules.file.texts, groupings, finer=FINER)
            found += [condition] if unit and total % unit else []
    return found


class _Dissolving:
    """The groups, their centres, and what keeps records from joining them."""

    def __init__(
        self, rules: RecordRules, partition: Partition, grouping: RecordGroups, apart: NDArray[np.intp]
    ) -> None:
        points = rules.file.points(partition.variables)
        self._points = np.where(np.isnan(points), 0.0, points)
        self._grouping = grouping
        self._apart = apart
        self._members = grouping.members
        self._centres = np.stack([self._points[members].mean(axis=0) for members in self._members])
        self._codes = np.array([apart[members[0]] for members in self._members])
        forms = [form for block in partition.blocks for form in rules.forms(block) if len(form) > 1]
        self._holding = [rules.satisfied_by(form) for form in forms]
        self._shared = [
            np.stack([holding[members].all(axis=0) for members in self._members]) for holding in self._holding
        ]

    def candidates(self, chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return groups that hold chosen records and that may be dissolved, those that are near to others first."""
        own = np.bincount(self._grouping.labels, chosen, minlength=self._grouping.groups) > 0
        groups = np.flatnonzero(own & ~self._grouping.mixed)
        near = np.array([self._gaps(self._centres[group], int(group)).min(initial=np.inf) for group in groups])
        ranked: NDArray[np.intp] = groups[np.lexsort((groups, near))][:TRIED]
        return ranked

    def _gaps(self, point: NDArray[np.float64], group: int) -> NDArray[np.float64]:
        """Squared distances from a point to the other groups that records of a group may join, shape (groups,)."""
        gaps = ((self._centres - point) ** 2).sum(axis=1)
        closed = self._grouping.mixed | (self._codes != self._codes[group])
        closed[group] = True
        return np.where(closed, np.inf, gaps)

    def without(self, group: int) -> tuple[float, RecordGroups] | None:
        """Return the groups without one of them, and the sum of squared distances of its records to their new ones.

        No two records join the same group while another is open, so that the sizes become different. None where a
        record has nowhere to go.
        """
        labels, cost = self._grouping.labels.copy(), 0.0
        shared = [common.copy() for common in self._shared]
        taken = np.zeros(self._grouping.groups, dtype=np.bool_)
        for record in self._members[group]:
            gaps = self._gaps(self._points[record], group)
            for common, holding in zip(shared, self._holding, strict=True):
                gaps[~(common & holding[record]).any(axis=1)] = np.inf
            gaps = np.where(taken, np.inf, gaps) if np.isfinite(gaps[~taken]).any() else gaps
            nearest = int(gaps.argmin())
            if not np.isfinite(gaps[nearest]):
                return None
            labels[record], taken[nearest] = nearest, True
            cost += float(gaps[nearest])
            for common, holding in zip(shared, self._holding, strict=True):
                common[nearest] &= holding[record]
        labels -= labels > group
        flags = (np.delete(self._grouping.mixed, group), np.delete(self._grouping.pooled, group))
        return cost, RecordGroups(labels, *flags)
