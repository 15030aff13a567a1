"""Whose masked values fit whose unmasked fields."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.methods.fitting import Fitting

BONDS = np.array([0, 0, 1, 1, 2])
VALUE = np.array([1, 2, 2, 3, 5])
MOST = np.array([2, 2, 3, 3, 9])


def below(donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
    return VALUE[donors] <= MOST[hosts]


def test_a_witness_fits_every_member() -> None:
    fitting = Fitting(BONDS, below)
    assert fitting.witnesses(np.array([0, 2, 3, 4])).tolist() == [True, True, False, False]
    assert fitting.donors(0, np.arange(5)).tolist() == [True, True, True, False, False]
    assert fitting.hosts(4, np.arange(5)).tolist() == [False, False, False, False, True]


def test_equal_bonds_fit_without_being_asked() -> None:
    fitting = Fitting(BONDS, lambda donors, hosts: np.zeros(len(donors), dtype=bool))
    assert fitting.witnesses(np.array([0, 1])).all()
    assert not fitting.witnesses(np.array([0, 2])).any()
    assert Fitting(BONDS, None).hosts(2, np.arange(5)).tolist() == [False, False, True, True, False]
