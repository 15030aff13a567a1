"""What the records of a group have to share: for each rule one disjunct, and limits that unmasked fields set."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.members import Members


@dataclass(frozen=True, slots=True, eq=False)
class UnmaskedBound:
    """An inequality in a disjunct between masked fields and an unmasked one, such as ``A <= CAP``.

    Attributes
    ----------
    rule, disjunct : int
        Where it stands.
    values : ndarray of float64, shape (n,)
        Its masked side.
    limits : ndarray of float64, shape (n,)
        What each record's own unmasked fields leave for it; not below its value where the disjunct holds.
    """

    rule: int
    disjunct: int
    values: NDArray[np.float64]
    limits: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Disjuncts:
    """The disjuncts of all rules, side by side.

    A group is *admissible* if, for each rule, its records share a disjunct, and one of its records is a *witness*:
    its values keep the bounds of these disjuncts in the place of every member.

    Theorem: in an admissible group whose records agree in the unmasked fields that stand in other atoms with masked
    ones, the values of the witness satisfy every rule in the place of every member. Proof: take a rule and the
    shared disjunct whose bounds the witness keeps. Atoms without masked fields hold for each member, since it
    satisfies the disjunct. Atoms without unmasked fields hold for the witness, and read its values alone. Bounds are
    kept by assumption, and in the other atoms all members have the unmasked fields of the witness.

    Attributes
    ----------
    holds : ndarray of bool, shape (n, d)
        Which disjuncts each record satisfies.
    starts : ndarray of intp, shape (rules,)
        First column of each rule.
    owners : ndarray of intp, shape (b,)
        Column of the disjunct in which each bound stands.
    values, limits : ndarray of float64, shape (n, b)
    """

    holds: NDArray[np.bool_]
    starts: NDArray[np.intp]
    owners: NDArray[np.intp]
    values: NDArray[np.float64]
    limits: NDArray[np.float64]

    @classmethod
    def of(cls, n: int, rules: Sequence[NDArray[np.bool_]], bounds: Sequence[UnmaskedBound] = ()) -> Self:
        """Put the disjuncts of several rules, each of shape (n, its disjuncts, at least one), side by side."""
        widths = np.array([holds.shape[1] for holds in rules], dtype=np.intp)
        starts = np.cumsum(widths) - widths
        holds = np.concatenate([np.zeros((n, 0), dtype=np.bool_), *rules], axis=1)
        owners = np.array([starts[bound.rule] + bound.disjunct for bound in bounds], dtype=np.intp)
        # Where the disjunct does not hold, a bound says nothing, and its sides may be missing.
        sides = [np.zeros((n, 0)), np.zeros((n, 0))]
        if bounds:
            told = holds[:, owners]
            sides[0] = np.where(told, np.stack([bound.values for bound in bounds], axis=1), 0.0)
            sides[1] = np.where(told, np.stack([bound.limits for bound in bounds], axis=1), 0.0)
        return cls(holds, starts, owners, sides[0], sides[1])

    @property
    def rules(self) -> list[slice]:
        """The columns of each rule."""
        edges = [*self.starts.tolist(), self.holds.shape[1]]
        return [slice(start, end) for start, end in itertools.pairwise(edges)]

    def of_records(self, records: NDArray[np.intp]) -> Disjuncts:
        """Return what some records satisfy, without the rules of which they all share a disjunct anyway."""
        holds = self.holds[records]
        bound = np.isin(np.arange(holds.shape[1]), self.owners)
        free = holds.all(axis=0) & ~bound if len(holds) else np.zeros(holds.shape[1], dtype=np.bool_)
        needed = [np.arange(rule.start, rule.stop) for rule in self.rules if not free[rule].any()]
        columns = np.concatenate([np.empty(0, dtype=np.intp), *needed])
        kept = np.flatnonzero(np.isin(self.owners, columns))
        widths = np.array([len(own) for own in needed], dtype=np.intp)
        return Disjuncts(
            holds[:, columns],
            np.cumsum(widths) - widths,
            np.searchsorted(columns, self.owners[kept]),
            self.values[np.ix_(records, kept)],
            self.limits[np.ix_(records, kept)],
        )

    def rows(self, records: NDArray[np.intp] | NDArray[np.bool_]) -> Disjuncts:
        """Return what some records satisfy, of all rules."""
        return replace(self, holds=self.holds[records], values=self.values[records], limits=self.limits[records])

    def unlimited(self) -> Disjuncts:
        """Return the same without bounds."""
        none = np.zeros((len(self.holds), 0))
        return replace(self, owners=np.empty(0, dtype=np.intp), values=none, limits=none)

    def lacking(self, counts: NDArray[np.intp], sizes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Count how many records would have to leave groups, rule by rule, for a disjunct to be shared.

        Parameters
        ----------
        counts : ndarray of intp, shape (groups, d)
            Records of each group that satisfy each disjunct.
        sizes : ndarray of intp, shape (groups,)

        Returns
        -------
        ndarray of intp, shape (groups,)
            Summed over the rules; 0 where each rule has a shared disjunct.
        """
        if not len(self.starts):
            return np.zeros(len(sizes), dtype=np.intp)
        most = np.maximum.reduceat(counts, self.starts, axis=1)
        missing: NDArray[np.intp] = (sizes[:, None] - most).sum(axis=1)
        return missing

    def witnesses(self, members: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which members keep the bounds of shared disjuncts in the place of all; shape (members,)."""
        shared = self.holds[members].all(axis=0)
        kept = np.repeat(shared[None, :], len(members), axis=0)
        fits = self.values[members] <= self.limits[members].min(axis=0)
        for owner, fit in zip(self.owners, fits.T, strict=True):
            kept[:, owner] &= fit
        return np.asarray(np.logical_or.reduceat(kept, self.starts, axis=1).all(axis=1))

    def admissible(self, members: NDArray[np.intp]) -> bool:
        """Tell whether records can form a group."""
        if len(self.owners):
            return bool(self.witnesses(members).any())
        if not len(self.starts):
            return True
        shared = self.holds[members].all(axis=0)
        return bool(np.logical_or.reduceat(shared, self.starts).all())

    def admissible_groups(self, members: Members) -> NDArray[np.bool_]:
        """Tell which groups are admissible, shape (groups,)."""
        if not len(self.starts) or not len(members):
            return np.ones(len(members), dtype=np.bool_)
        begins = members.starts[:-1]
        shared = np.logical_and.reduceat(self.holds[members.order], begins, axis=0)
        if not len(self.owners):
            return np.asarray(np.logical_or.reduceat(shared, self.starts, axis=1).all(axis=1))
        labels = members.labels
        kept = shared[labels]
        fits = self.values[members.order] <= np.minimum.reduceat(self.limits[members.order], begins, axis=0)[labels]
        for owner, fit in zip(self.owners, fits.T, strict=True):
            kept[:, owner] &= fit
        witnesses = np.logical_or.reduceat(kept, self.starts, axis=1).all(axis=1)
        return np.asarray(np.logical_or.reduceat(witnesses, begins))

    def vouched(self, members: Members) -> NDArray[np.bool_]:
        """Tell which groups are admissible with one limit for all of their members, shape (groups,).

        Limits say nothing in a rule of which the members share a disjunct without bounds.
        """
        fine = self.admissible_groups(members)
        if not len(self.owners) or not len(members):
            return fine
        begins = members.starts[:-1]
        shared = np.logical_and.reduceat(self.holds[members.order], begins, axis=0)
        shared[:, self.owners] = False
        free = np.logical_or.reduceat(shared, self.starts, axis=1)
        limits = self.limits[members.order]
        one = (limits == limits[begins][members.labels]).T
        for bound, rule in enumerate(np.searchsorted(self.starts, self.owners, side="right") - 1):
            fine &= free[:, rule] | np.logical_and.reduceat(one[bound], begins)
        return fine

    def cells(self) -> NDArray[np.intp]:
        """Return, for each record and rule, the first disjunct that holds, -1 where none does; shape (n, rules)."""
        columns = [
            np.where(own.any(axis=1), own.argmax(axis=1), -1) for own in (self.holds[:, rule] for rule in self.rules)
        ]
        return np.stack([np.zeros(len(self.holds), dtype=np.intp), *columns], axis=1)[:, 1:]
