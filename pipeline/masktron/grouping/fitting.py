"""Which records' masked values satisfy the rules beside the unmasked fields of which others."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.members import Members

_PAIRS = 1_000_000
"""Pairs that are judged at once."""


class Fits(Protocol):
    """Tells whether the masked values of some records satisfy the rules beside the unmasked fields of others."""

    def __call__(self, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Judge pairs of records, both of shape (pairs,)."""
        ...


class Fitting:
    """`Fits` with the shortcut that records with equal bonds fit each other."""

    def __init__(self, bonds: NDArray[np.intp], fits: Fits | None) -> None:
        self._bonds = bonds
        self._fits = fits

    def __call__(self, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Judge pairs of records, both of shape (pairs,)."""
        fine = self._bonds[donors] == self._bonds[hosts]
        if self._fits is not None and not fine.all():
            fine[~fine] = self._fits(donors[~fine], hosts[~fine])
        return np.asarray(fine)

    def donors(self, host: int, among: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which records have values that fit a host."""
        return self(among, np.full(len(among), host))

    def hosts(self, donor: int, among: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which records a donor's values fit."""
        return self(np.full(len(among), donor), among)

    def witnesses(self, members: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which members' values fit all members."""
        if (self._bonds[members] == self._bonds[members[0]]).all():
            return np.ones(len(members), dtype=np.bool_)
        _, kinds = np.unique(self._bonds[members], return_index=True)
        donors, hosts = np.meshgrid(members, members[kinds], indexing="ij")
        return np.asarray(self(donors.ravel(), hosts.ravel()).reshape(donors.shape).all(axis=1))

    def witnesses_of(self, members: Members) -> NDArray[np.bool_]:
        """Which members' values fit all members of their groups, in the order of `members.order`."""
        bonds, labels = self._bonds[members.order], members.labels
        first = np.ones(len(bonds), dtype=np.bool_)
        ranked = np.lexsort((bonds, labels))
        first[ranked[1:]] = (np.diff(labels[ranked]) != 0) | (np.diff(bonds[ranked]) != 0)
        kinds = np.bincount(labels, first, minlength=len(members)).astype(np.intp)
        found = np.ones(len(bonds), dtype=np.bool_)
        hosts = Members.of(np.where(first, labels, -1), len(members))
        mixed = np.flatnonzero(kinds[labels] > 1)
        ends = np.cumsum(kinds[labels[mixed]])
        for part in np.split(mixed, np.searchsorted(ends, np.arange(_PAIRS, ends.max(initial=0), _PAIRS))):
            self._judge(part, labels[part], members, hosts, found)
        return found

    def _judge(
        self,
        donors: NDArray[np.intp],
        labels: NDArray[np.intp],
        members: Members,
        hosts: Members,
        found: NDArray[np.bool_],
    ) -> None:
        """Let donors, by their places in `members.order`, meet one host of each kind in their groups."""
        counts = hosts.sizes[labels]
        begins = np.cumsum(counts) - counts
        steps = np.arange(counts.sum()) - np.repeat(begins, counts)
        met = members.order[hosts.order[np.repeat(hosts.starts[labels], counts) + steps]]
        fine = self(np.repeat(members.order[donors], counts), met)
        if len(donors):
            found[donors] = np.logical_and.reduceat(fine, begins)
