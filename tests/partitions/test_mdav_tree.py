"""MDAV through the tree: the very partition of brute force, and means that are exact."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import masktron.kernels.mdav as dispatch
import masktron.kernels.mdav_tree as tree
from examples import examples, parts, spread
from masktron.kernels.mdav import brute_force, mdav
from masktron.kernels.standardise import standardised
from slow_mdav import slow_mdav


def through_tree(points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "TREE_FROM", 0)
        patch.setattr(dispatch, "_TREE_GROUPS", 0)
        return mdav(points, k)


def lognormals(n: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A mixture of three lognormals with a rounded and a tied column."""
    logs = rng.normal(size=(3, d))[rng.integers(0, 3, n)] + rng.normal(0, 0.7, (n, d))
    points = np.exp(logs)
    points[:, 0] = np.round(points[:, 0] * 10)
    if d > 3:
        points[:, 1] = np.round(points[:, 1])
    return standardised(points)


def random_points(seed: int, most: int) -> tuple[NDArray[np.float64], int]:
    """Points of all kinds: ties, integers, duplicates, constant columns, far apart, tiny."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, most)), int(rng.integers(1, 12))
    d = int(rng.integers(1, 51)) if seed % 5 == 0 else int(rng.integers(1, 9))
    match seed % 8:
        case 0:
            points = rng.integers(-2, 3, (n, d)) / 3
        case 1:
            points = rng.integers(0, 10**6, (n, d)).astype(np.float64)
        case 2:
            points = np.repeat(rng.normal(size=(n // 7 + 1, d)), 7, axis=0)[:n]
        case 3:
            points = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-12, 12, (n, d))
        case 4:
            points = rng.normal(size=(n, d)) + 1e9
        case 5:
            points = rng.normal(size=(n, d)) * 1e-200
        case _:
            points = lognormals(n, d, rng)
    if seed % 3 == 0:
        points[:, rng.integers(0, d)] = 2.5
    return np.ascontiguousarray(points), min(k, n)


def same(seeds: range, most: int) -> None:
    for seed in seeds:
        points, k = random_points(seed, most)
        expected, found = brute_force(points, k), through_tree(points, k)
        assert (found == expected).all(), f"seed {seed}: {points.shape}, k = {k}"


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 160), marks=pytest.mark.full)])
def test_partition_of_brute_force(seeds: range) -> None:
    same(seeds, 900)


DIMENSIONS = (1, 2, 3, 4, 7, 8, 9, 16, 33, 50)
"""Those that are always tried."""


@pytest.mark.few(3)
@pytest.mark.parametrize("d", parts([*DIMENSIONS, *({*range(1, 51)} - {*DIMENSIONS})], len(DIMENSIONS)))
def test_partition_of_brute_force_in_every_number_of_dimensions(d: int) -> None:
    """Integers, ties, duplicates, and a mixture, all of which reach several levels of the tree."""
    rng = np.random.default_rng(d)
    kinds = [
        rng.integers(0, 3, (700, d)) / 10,
        rng.integers(-(10**6), 10**6, (700, d)).astype(np.float64),
        np.repeat(rng.normal(size=(140, d)), 5, axis=0),
        lognormals(700, d, rng),
    ]
    for at, points in enumerate(kinds):
        assert (through_tree(points, 2 + (d + at) % 5) == brute_force(points, 2 + (d + at) % 5)).all()


@pytest.mark.parametrize("seed", spread(range(4), every=3))
def test_partition_where_the_order_of_distances_holds_some_records(seed: int) -> None:
    points = lognormals(9_000, 2 + seed, np.random.default_rng(seed))
    assert (through_tree(points, 5 + seed) == brute_force(points, 5 + seed)).all()


@pytest.mark.full
def test_partition_of_brute_force_on_two_thousand_files() -> None:
    same(range(160, 2160), 3000)
    assert {random_points(seed, 3000)[0].shape[1] for seed in range(160, 2160)} == set(range(1, 51))


@pytest.mark.full
@pytest.mark.parametrize("d", [3, 6, 13])
def test_partition_of_a_hundred_thousand(d: int) -> None:
    points = lognormals(100_000, d, np.random.default_rng(d))
    assert (mdav(points, 5) == brute_force(points, 5)).all()


def test_equal_points_are_grouped_in_order() -> None:
    found = through_tree(np.ones((700, 3)), 4)
    assert found.tolist() == sorted(found.tolist())


def reference(path: Path) -> NDArray[np.float64]:
    import pandas as pd

    return pd.read_csv(path).select_dtypes("number").dropna(axis=1).to_numpy(dtype=np.float64)


@pytest.mark.parametrize("file", ["census.csv", "eia.csv"])
def test_reference_data(shared_data: Path, file: str) -> None:
    values = reference(shared_data / file)
    for points in (standardised(values), np.ascontiguousarray(values)):
        for k in (3, 5, 10):
            assert (through_tree(points, k) == brute_force(points, k)).all()


@pytest.mark.full
@pytest.mark.parametrize("file", ["census.csv", "eia.csv"])
def test_reference_data_by_the_definition_with_fractions(shared_data: Path, file: str) -> None:
    points = standardised(reference(shared_data / file))
    for k in (3, 5, 10):
        assert through_tree(points, k).tolist() == slow_mdav(points, k)


@examples(60, full=300)
@given(
    values=st.lists(st.floats(-1e60, 1e60, allow_subnormal=False), min_size=1, max_size=12),
    count=st.integers(1, 2**31 - 1),
)
def test_means_are_correctly_rounded(values: list[float], count: int) -> None:
    exact = sum(map(Fraction, values)) / count
    if 0 < abs(exact) < Fraction(2) ** -1022:
        return
    points = np.array(values).reshape(-1, 1)
    sums, lowest = tree.sums_of(points)
    mean = np.empty(1)
    tree.mean_into(sums, count, lowest, np.empty(sums.shape[1] + 4, np.int64), mean)
    assert mean[0] == float(exact)


def test_sums_come_back_to_zero() -> None:
    points = np.random.default_rng(1).normal(size=(500, 3)) * 10.0 ** np.arange(-8, 10, 8)[:3]
    points = np.ascontiguousarray(points)
    sums, lowest = tree.sums_of(points)
    for record in range(500):
        tree.add(sums, points.view(np.int64), record, -1, lowest)
    mean = np.empty(3)
    tree.mean_into(sums, 1, lowest, np.empty(sums.shape[1] + 4, np.int64), mean)
    assert mean.tolist() == [0.0, 0.0, 0.0]
