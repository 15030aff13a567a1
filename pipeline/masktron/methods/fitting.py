"""Which records' masked values satisfy the rules beside the unmasked fields of which others."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


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
