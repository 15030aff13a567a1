"""Conditions on counts and totals over the file, and their figures in exact arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.constraints import Relation, Tally
from masktron.grouping.record_groups import RecordGroups
from masktron.settle.grid import LONG, common_measure
from masktron.sources.lexical import parse_number

type TextColumns = Mapping[str, NDArray[np.object_]]
"""Lexemes by field, record by record; None where absent."""


@dataclass(frozen=True, slots=True, eq=False)
class TallyTerm:
    """A coefficient times a figure of some records.

    Attributes
    ----------
    chosen : ndarray of bool, shape (n,)
        Records that count.
    decimals : int or None
        Fraction digits of the field, where it is a masked number that is summed; None for what no step moves.
    """

    tally: Tally
    coefficient: Fraction
    chosen: NDArray[np.bool_]
    decimals: int | None = None

    def figure(self, columns: TextColumns) -> Fraction | None:
        """Return the sum, average or count, exactly; None where a value is no number, or an average of nothing."""
        if not self.tally.field:
            return Fraction(int(self.chosen.sum()))
        found = Counter(lexeme for lexeme in columns[self.tally.field][self.chosen] if lexeme is not None)
        if self.tally.function == "count":
            return Fraction(found.total())
        total = Fraction(0)
        for lexeme, count in found.items():
            if np.isnan(parse_number(lexeme)):
                return None
            total += count * Fraction(lexeme.strip())
        if self.tally.function == "sum":
            return total
        return total / found.total() if found else None

    def weights(self, columns: TextColumns, labels: NDArray[np.intp], groups: int) -> list[Fraction]:
        """Return by how much the part grows when the value of each group grows by 1."""
        there = self.chosen & np.array([lexeme is not None for lexeme in columns[self.tally.field]], dtype=np.bool_)
        factor = self.coefficient
        if self.tally.function == "avg":
            factor /= int(there.sum()) or 1
        return [factor * int(count) for count in np.bincount(labels[there], minlength=groups)]


@dataclass(frozen=True, slots=True, eq=False)
class TotalCondition:
    """``sum(coefficient * figure) relation bound`` for one class of records.

    Attributes
    ----------
    rule : int
        Index of the check.
    key : tuple
        Tells the condition among all: rule, position of the bound, class of records.
    """

    rule: int
    key: tuple[object, ...]
    parts: tuple[TallyTerm, ...]
    relation: Relation
    bound: Fraction

    def figure(self, columns: TextColumns) -> Fraction | None:
        """Return the left side; None where it is not a number."""
        total = Fraction(0)
        for part in self.parts:
            value = part.figure(columns)
            if value is None:
                return None
            total += part.coefficient * value
        return total

    def holds(self, figure: Fraction | None) -> bool:
        """Whether the left side may have this value."""
        if figure is None:
            return False
        if self.relation == "=":
            return figure == self.bound
        return figure < self.bound or (self.relation == "<=" and figure == self.bound)

    @property
    def moving(self) -> tuple[TallyTerm, ...]:
        """Parts that steps of the groups move."""
        return tuple(part for part in self.parts if part.decimals is not None)

    @property
    def summed(self) -> frozenset[str]:
        """Masked numbers that the condition sums up."""
        return frozenset(part.tally.field for part in self.moving)

    @property
    def step(self) -> Fraction:
        """The smallest step of the grids of the fields that are summed."""
        return min((Fraction(1, 10 ** (part.decimals or 0)) for part in self.moving), default=Fraction(1))

    def measure(self, columns: TextColumns, groupings: Mapping[str, RecordGroups], *, finer: int) -> Fraction | None:
        """Return what the moving parts add up to a multiple of, whatever the groups hold; None where unknown.

        Parameters
        ----------
        groupings : mapping of field name to RecordGroups
            Of the fields that are summed; without one of them nothing is known.
        finer : int
            Fraction digits that a field with decimals may gain.

        Notes
        -----
        Theorem: in a file whose groups share their values, the moving parts add up to a multiple of the common
        measure of coefficient * (records of the group that count) * (step of the finest grid), over all groups and
        parts; and if all of these numbers move freely, to every multiple. Proof: a group adds coefficient * records *
        value, and its value is a multiple of the step; the rest is the theorem of `common_measure`.
        """
        numbers: list[Fraction] = []
        for part in self.moving:
            if part.tally.field not in groupings or (part.decimals or 0) > LONG:
                return None
            grouping, step = groupings[part.tally.field], step_of(part.decimals or 0, finer)
            numbers += [step * weight for weight in part.weights(columns, grouping.labels, grouping.groups)]
        return common_measure(numbers) if numbers else None


def step_of(decimals: int, finer: int) -> Fraction:
    """Return the step of the finest grid that a field may be written on; integers stay integers."""
    return Fraction(1, 10 ** (decimals + finer if decimals else 0))
