"""Whose masked values fit whose unmasked fields."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.grouping import record_groups
from masktron.grouping.members import Members, codes_of
from masktron.grouping.record_groups import Fitting

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


@given(st.integers(0, 2**32 - 1))
def test_witnesses_of_many_groups_are_those_of_each(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(1, 40))
    bonds, value = (generator.integers(0, 5, size=n) for _ in range(2))
    most = generator.integers(0, 5, size=5)[bonds]  # what a host asks is in its bonds

    def fits(donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        return value[donors] <= most[hosts]

    labels = codes_of(generator.integers(0, 4, size=(n, 1)))
    members, fitting = Members.of(labels), Fitting(bonds, fits)
    expected = np.concatenate([fitting.witnesses(own) for own in members])
    for pairs in (record_groups._PAIRS, 3):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(record_groups, "_PAIRS", pairs)
            assert (fitting.witnesses_of(members) == expected).all()
