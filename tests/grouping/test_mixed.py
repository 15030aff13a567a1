"""Records that find no admissible group: mixed groups share what they can, and have a witness."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.grouping.disjuncts import Disjuncts
from masktron.grouping.record_groups import Fitting, group_records


def test_what_finds_no_company_goes_to_a_mixed_group() -> None:
    points = np.arange(12, dtype=float)[:, None]
    apart = np.zeros(12, dtype=np.intp)
    apart[5] = 1
    grouping = group_records(points, 3, apart=apart, patterns=apart)
    group = grouping.labels[5]
    assert grouping.mixed[group]
    assert grouping.pooled[group]
    assert grouping.sizes[group] >= 3
    assert grouping.mixed.sum() == 1


def test_what_finds_no_company_joins_a_group_that_shares_all() -> None:
    points = np.array([0.0, 1.0, 2.0, 6.0, 7.0, 8.0, 9.0, 10.0, 5.0])[:, None]
    first = np.array([1, 1, 1, 0, 0, 0, 0, 0, 1], dtype=bool)
    none = np.zeros(9, dtype=np.intp)
    rule = Disjuncts.of(9, (np.stack([first, ~first], axis=1),))
    grouping = group_records(points, 3, apart=none, patterns=none, disjuncts=rule)
    assert not grouping.mixed.any()
    assert sorted(grouping.sizes.tolist()) == [4, 5]


def test_mixed_groups_share_their_bonds_rather_than_their_pattern() -> None:
    points = np.arange(12, dtype=float)[:, None]
    bonds = np.array([0, 1] * 6, dtype=np.intp)
    patterns = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], dtype=np.intp)
    grouping = group_records(points, 3, apart=patterns * 2 + bonds, patterns=patterns, bonds=bonds)
    assert grouping.mixed.all()
    assert not grouping.varying(bonds[:, None]).any()
    assert grouping.pooled.any()


def test_mixed_groups_share_their_pattern_where_bonds_are_unique() -> None:
    points = np.arange(12, dtype=float)[:, None]
    bonds = np.arange(12, dtype=np.intp)
    patterns = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 2, 0, 1], dtype=np.intp)
    grouping = group_records(points, 4, apart=bonds, patterns=patterns, bonds=bonds)
    assert grouping.sizes.min() >= 4
    assert grouping.pooled.sum() == 1, "only the group that takes the rare record in"


WANTS = np.array([0] * 9 + [1] * 5 + [2] * 6)
"""A class that an unmasked field makes: 0 wants the value s, 1 wants r, 2 takes anything."""


def fits(donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Values: r for class 1, s for the others."""
    value = np.where(WANTS == 1, "r", "s")[donors]
    return (WANTS[hosts] == 2) | ((WANTS[hosts] == 0) & (value == "s")) | ((WANTS[hosts] == 1) & (value == "r"))


def test_rare_records_choose_first_those_with_whom_a_value_exists() -> None:
    """Classes 0 and 1 have no common value; class 2 is nearer to 0, but 1 cannot do without it."""
    points = np.concatenate([np.arange(9.0), np.arange(100.0, 105.0), np.full(6, 4.0)])[:, None]
    none = np.zeros(20, dtype=np.intp)
    rules = (np.stack([WANTS != 0, WANTS != 1], axis=1), np.stack([WANTS != 1, WANTS == 1], axis=1))
    grouping = group_records(
        points, 9, apart=none, patterns=none, bonds=WANTS, disjuncts=Disjuncts.of(20, rules), fits=fits
    )
    assert grouping.groups == 2
    for group in range(2):
        members = np.flatnonzero(grouping.labels == group)
        assert Fitting(WANTS, fits).witnesses(members).any()
        assert not {0, 1} <= set(WANTS[members].tolist())


def test_the_fewest_different_bonds_meet() -> None:
    """Nobody fits anybody else: whoever has to be with strangers is with one kind of them."""
    bonds = np.array([0] * 6 + [1] * 6 + [2] * 2)
    points = np.arange(14.0)[:, None]
    grouping = group_records(points, 3, apart=bonds, patterns=np.zeros(14, dtype=np.intp), bonds=bonds)
    kinds = [len(set(bonds[grouping.labels == group].tolist())) for group in range(grouping.groups)]
    assert sorted(kinds) in ([1, 1, 1, 2], [1, 1, 2])
    assert grouping.mixed.sum() == kinds.count(2)


@given(st.integers(0, 2**32 - 1))
def test_a_value_that_fits_all_is_found(seed: int) -> None:
    """One kind of record can stand for all; rare kinds of which k - 1 records take it in are never left alone."""
    generator = np.random.default_rng(seed)
    n, k = int(generator.integers(12, 40)), int(generator.integers(2, 6))
    bonds = np.concatenate([np.zeros(k + n // 2), 1 + np.arange(n) % int(generator.integers(1, n))]).astype(np.intp)
    points = generator.normal(size=(len(bonds), 2))

    def zero_fits(donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        return bonds[donors] == 0

    grouping = group_records(
        points, k, apart=bonds, patterns=np.zeros(len(bonds), dtype=np.intp), bonds=bonds, fits=zero_fits
    )
    for group in range(grouping.groups):
        members = np.flatnonzero(grouping.labels == group)
        assert len(members) >= k
        assert Fitting(bonds, zero_fits).witnesses(members).any()
