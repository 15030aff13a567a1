"""HybridMicro: moments of every group, sizes of groups, what is said of larger ones."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.methods.base import Drawn
from masktron.methods.hybrid_micro import HybridMicroMethod
from masktron.partitions.mdav import partition, standardise
from ugly_files import RELATION, moments_differ, ugly


def masked(values: np.ndarray, seed: int = 0, **parameters: object) -> Drawn:
    return HybridMicroMethod(**parameters).check().mask(values, np.random.default_rng(seed))  # type: ignore[arg-type]


def keeps_what_it_declares(seed: int) -> None:
    values = ugly(seed)
    drawn = masked(values, seed, k=6)
    assert drawn.labels is not None
    assert np.isfinite(drawn.values).all()
    assert np.bincount(drawn.labels).min() >= 6
    for label in range(int(drawn.labels.max()) + 1):
        own = drawn.labels == label
        assert moments_differ(values[own], drawn.values[own]) < 1e-9
    assert np.abs(drawn.values[:, :3] @ RELATION).max() <= 1e-9 * np.abs(values).max()


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(40))
def test_ugly_files(seed: int) -> None:
    keeps_what_it_declares(seed)


@pytest.mark.full
def test_many_ugly_files() -> None:
    for seed in range(40, 10_000):
        keeps_what_it_declares(seed)


def test_the_groups_are_those_of_mdav() -> None:
    values = np.random.default_rng(0).lognormal(size=(100, 3))
    drawn = masked(values, k=10)
    assert drawn.labels is not None
    assert drawn.labels.tolist() == partition(standardise(values), 10).tolist()
    assert drawn.notes == ()


def test_larger_groups_are_formed_where_draws_need_them_and_it_is_said() -> None:
    values = np.random.default_rng(0).normal(size=(60, 4))
    drawn = masked(values, k=3)
    assert drawn.labels is not None
    assert np.bincount(drawn.labels).min() == 7
    assert drawn.notes[0].startswith("groups of at least 7 records were formed, not of 3: records differ in 4 dir")
    related = np.column_stack([values[:, 0], 2 * values[:, 0], values[:, 0] - 1])
    found = masked(related, k=3)
    assert found.labels is not None
    assert np.bincount(found.labels).min() == 4


def test_plain_draws() -> None:
    values = np.random.default_rng(0).normal(size=(300, 2))
    assert 1e-5 < moments_differ(values, masked(values, exact=False).values) < 0.5


def test_relations_that_are_none_within_a_group_make_it_larger() -> None:
    """A rounded total of heavy tails is exact beside the largest values, and not among small ones."""
    parts = np.random.default_rng(0).lognormal(8, 6, size=(300, 2)).round(2)
    values = np.column_stack([parts, parts.sum(axis=1).round()])
    drawn = masked(values, k=3)
    assert drawn.labels is not None
    assert "groups joined the nearest other one" in drawn.notes[-1]
    for label in range(int(drawn.labels.max()) + 1):
        own = drawn.labels == label
        assert moments_differ(values[own], drawn.values[own]) < 1e-9


def test_equal_records_stay_and_it_is_said() -> None:
    values = np.concatenate([np.full((12, 2), 7.0), np.random.default_rng(0).normal(size=(12, 2))])
    drawn = masked(values, k=12)
    assert (drawn.values[:12] == 7).all()
    assert drawn.notes == ("12 of 24 records stay as they are: those of their group are equal",)
