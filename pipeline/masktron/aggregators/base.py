"""What an aggregator is: it replaces a group's records by one prototype and declares which edits survive that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import cell_place, require_fitting
from masktron.classify.forms import variables_of_atom
from masktron.constraints import Atom
from masktron.errors import UsageError
from masktron.problems.problem import Place


@dataclass(frozen=True, slots=True)
class GroupContext:
    """What is known of every group that an aggregator will be given.

    Attributes
    ----------
    replaced : frozenset of str
        The variables that the aggregator replaces together: same groups, same weights.
    constant : frozenset of str
        Variables that are not replaced and have the same lexeme (or lack) in all records of a group.
    one_signed : frozenset of str
        Variables that are negative, zero or positive throughout a group; the sign may differ between groups.
    nonnegative : frozenset of str
        Variables that are >= 0 in every record.
    positive : frozenset of str
        Variables that are > 0 in every record; they need not be named in the other two as well.
    """

    replaced: frozenset[str]
    constant: frozenset[str] = frozenset()
    one_signed: frozenset[str] = frozenset()
    nonnegative: frozenset[str] = frozenset()
    positive: frozenset[str] = frozenset()

    def all_one_signed(self, variables: frozenset[str]) -> bool:
        """Whether each of the variables has one sign per group."""
        return variables <= self.one_signed | self.positive | self.constant

    def all_nonnegative(self, variables: frozenset[str]) -> bool:
        """Whether each of the variables is >= 0."""
        return variables <= self.nonnegative | self.positive


def variables_of(atom: Atom) -> frozenset[str]:
    """Return the variables that an atom reads."""
    return frozenset(variables_of_atom(atom))


@dataclass(frozen=True, slots=True)
class Aggregator(ABC):
    """Replaces the records of each group by a prototype.

    Attributes
    ----------
    name : str
        The name that options and reports use.
    observed : bool
        Whether every value of a prototype is a cell of its group, so that the cell's lexeme is published.

    Notes
    -----
    A group shares its pattern of missing values: in each variable all cells are numbers or none is, except for the
    medoid. Where none is, the aggregate is NaN and the records keep their cells.
    """

    name: ClassVar[str]
    observed: ClassVar[bool] = False

    @final
    def preserves(self, atom: Atom, context: GroupContext) -> bool:
        """Whether the prototype satisfies the atom, before rounding, if every record of its group does.

        Theorem: an atom is kept if it reads no replaced variable, or if `keeps` vouches for it and all that it reads
        is replaced or constant in the group. Proof: in the first case nothing changes in what it reads. In the
        second, the atom is a condition on the prototype and the group's constants alone. Anything else is refused,
        because a record's own value of a variable that varies in the group meets values of other records.
        """
        variables = variables_of(atom)
        if not variables & context.replaced:
            return True
        return variables <= context.replaced | context.constant and self.keeps(atom, context)

    @abstractmethod
    def keeps(self, atom: Atom, context: GroupContext) -> bool:
        """Whether the aggregator's theorem covers an atom that reads replaced variables and constants only."""

    @abstractmethod
    def aggregate(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Compute the prototype of each group.

        Parameters
        ----------
        values : ndarray of float64, shape (n, p)
            Numbers, or integer codes of text; a column that is NaN throughout a group stays NaN there.
        labels : ndarray of intp, shape (n,)
            Group of each record, 0 to g - 1, none empty.
        weights : ndarray of float64, shape (n,), optional
            Not negative, with a positive sum in every group; all 1 where not given.

        Returns
        -------
        ndarray of float64, shape (g, p)

        Raises
        ------
        UsageError
            Shapes, labels, weights or values are not as described.
        """


@dataclass(frozen=True, slots=True)
class ObservedAggregator(Aggregator):
    """An aggregator whose every value is a cell of the group."""

    observed: ClassVar[bool] = True

    @abstractmethod
    def choose(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.intp]:
        """Return, shape (g, p), the record whose cell is published for each group and variable.

        Parameters and errors are those of `aggregate`.
        """

    def aggregate(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return the values of the chosen cells; see `Aggregator.aggregate`."""
        chosen = self.choose(values, labels, weights)
        return np.take_along_axis(values, chosen, axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Checked arguments of an aggregator, with the order that sorts records by group.

    Attributes
    ----------
    values : ndarray of float64, shape (n, p)
    labels : ndarray of intp, shape (n,)
    weights : ndarray of float64, shape (n,)
    order : ndarray of intp, shape (n,)
        Records sorted by group, in file order inside a group.
    sizes, starts : ndarray of intp, shape (g,)
        Of each group: its records, and where they begin in ``order``.
    """

    values: NDArray[np.float64]
    labels: NDArray[np.intp]
    weights: NDArray[np.float64]
    order: NDArray[np.intp]
    sizes: NDArray[np.intp]
    starts: NDArray[np.intp]


def checked_groups(
    values: NDArray[np.float64],
    labels: NDArray[np.intp],
    weights: NDArray[np.float64] | None,
    *,
    mixed_missing: bool = False,
) -> Groups:
    """Check the arguments of an aggregator.

    Parameters
    ----------
    values, labels, weights
        As in `Aggregator.aggregate`.
    mixed_missing : bool
        Whether a group may hold missing and present values of the same variable.

    Raises
    ------
    UsageError
        Naming the record, the group or the column that is wrong.
    """
    require_fitting(values.ndim == 2 and labels.shape == (len(values),), values=values, labels=labels)
    weight = np.ones(len(values)) if weights is None else weights
    require_fitting(weight.shape == labels.shape, labels=labels, weights=weight)
    sizes = np.bincount(labels) if len(labels) and labels.min() >= 0 else np.zeros(0, dtype=np.intp)
    if sizes.sum() != len(labels) or (sizes == 0).any():
        raise UsageError.of("bad-arrays", detail="labels of groups must be 0 to g - 1 without a gap")
    order = np.argsort(labels, kind="stable")
    groups = Groups(values, labels, weight, order, sizes, np.cumsum(sizes) - sizes)
    _check_weights(groups)
    _check_values(groups, mixed_missing)
    return groups


def _check_weights(groups: Groups) -> None:
    wrong = ~(np.isfinite(groups.weights) & (groups.weights >= 0))
    if wrong.any():
        record = int(np.flatnonzero(wrong)[0])
        given = groups.weights[record]
        raise UsageError.of("bad-value", Place(record=record + 1), name="a weight", expected="0 or more", given=given)
    if not len(groups.sizes):
        return
    heaviest = np.maximum.reduceat(groups.weights[groups.order], groups.starts)
    if not heaviest.all():
        group = int(np.flatnonzero(heaviest == 0)[0])
        first = int(groups.order[groups.starts[group]])
        size = int(groups.sizes[group])
        raise UsageError.of("group-without-weight", Place(record=first + 1), group=group, records=size)


def _check_values(groups: Groups, mixed_missing: bool) -> None:
    if (infinite := np.argwhere(np.isinf(groups.values))).size:
        raise UsageError.of("unusable-values", cell_place(*infinite[0]), kind="infinite")
    if mixed_missing or not len(groups.sizes):
        return
    missing = np.isnan(groups.values[groups.order])
    if not missing.any():
        return
    mixed = np.logical_or.reduceat(missing, groups.starts) & ~np.logical_and.reduceat(missing, groups.starts)
    if mixed.any():
        group, column = np.argwhere(mixed)[0].tolist()
        raise UsageError.of("mixed-missing-values", group=group, column=column + 1)
