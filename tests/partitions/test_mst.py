"""Minimum spanning trees and their cuts: the paper by the letter, all pairs, the compiled twin, ties by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import masktron.kernels.mst as dispatch
from masktron.kernels.mst import plain_spanning_tree, prim, spanning_tree
from masktron.measures.homogeneity import homogeneity
from masktron.measures.linkage import linkage
from masktron.methods.base import group_means
from masktron.methods.mst import MstMethod
from masktron.partitions.mst import to_unit, tree_partition
from tree_reference import component, cut_by_the_letter, groups_of, kruskal, random_points


def compare(seeds: range) -> None:
    for seed in seeds:
        generator = np.random.default_rng(seed)
        n = int(generator.integers(2, 33))
        points, k = random_points(generator, n), int(generator.integers(1, min(n, 6) + 1))
        expected = cut_by_the_letter(kruskal(points), n, lambda part, k=k: len(part) >= k)  # type: ignore[misc]
        assert groups_of(tree_partition(points, k)) == expected, seed


def test_partitions_are_those_of_the_paper() -> None:
    compare(range(250))


@pytest.mark.full
def test_partitions_of_thousands_of_files_are_those_of_the_paper() -> None:
    compare(range(250, 5250))


def test_edges_are_those_of_all_pairs_in_order() -> None:
    for seed in range(150):
        generator = np.random.default_rng(seed)
        points = random_points(generator, int(generator.integers(1, 40)))
        order, parent, squared = spanning_tree(points)
        edges = [(float(squared[i]), abs(i - int(parent[i])), min(i, int(parent[i]))) for i in order[1:].tolist()]
        assert sorted(edges) == kruskal(points)


@pytest.mark.parametrize("n", [1, 2, 37, 512, 513, 1300])
def test_compiled_code_makes_the_same_tree(n: int) -> None:
    generator = np.random.default_rng(n)
    for points in (generator.normal(size=(n, 3)), generator.integers(0, 4, size=(n, 2)).astype(np.float64)):
        for ours, twin in zip(plain_spanning_tree(points), prim(np.ascontiguousarray(points.T)), strict=True):
            assert ours.tolist() == twin.tolist()


def test_many_records_take_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(1).normal(size=(90, 2))
    expected = tree_partition(points, 4).tolist()
    monkeypatch.setattr(dispatch, "COMPILED_FROM", 90)
    monkeypatch.setattr(dispatch, "plain_spanning_tree", None)
    assert tree_partition(points, 4).tolist() == expected


def test_equal_records_are_a_path_in_the_order_of_the_file() -> None:
    points = np.zeros((12, 2))
    _, parent, squared = spanning_tree(points)
    assert parent.tolist() == [-1, *range(11)]
    assert not squared.any()
    # the edge whose first record is last is the longest
    assert groups_of(tree_partition(points, 5)) == [tuple(range(7)), tuple(range(7, 12))]


def test_near_records_are_spread_over_equal_ones() -> None:
    points = np.array([[0.0, 0], [0, 0], [0, 0], [1, 0], [0, 0], [0, 0], [0, 0], [0, 1]])
    _, parent, _ = spanning_tree(points)
    assert parent[3] == 2
    assert parent[7] == 6


def test_a_star_stays_whole_and_a_chain_does_not() -> None:
    star = np.vstack((np.zeros((1, 8)), np.eye(8), -np.eye(8)))
    assert np.bincount(tree_partition(star, 2)).tolist() == [17]
    chain = np.cumsum([0.0, 1, 1, 3, 1, 1, 1, 2, 1, 1])[:, None]
    assert groups_of(tree_partition(chain, 3)) == [(0, 1, 2), (3, 4, 5, 6), (7, 8, 9)]


@pytest.mark.full
def test_a_long_chain_is_cut_without_recursion() -> None:
    points = np.arange(30_000.0)[:, None]
    sizes = np.bincount(tree_partition(points, 7000))
    assert sizes.min() >= 7000
    assert sizes.sum() == 30_000


def test_unit_scale_knows_no_units() -> None:
    generator = np.random.default_rng(4)
    points = np.column_stack((generator.normal(size=70), np.full(70, 3.0), generator.exponential(size=70)))
    expected = MstMethod(5, scale="unit").partition(points).tolist()
    assert to_unit(points).shape == (70, 2)
    assert (to_unit(points).min(axis=0), to_unit(points).max(axis=0)) == pytest.approx((0.0, 1.0))
    assert MstMethod(5, scale="unit").partition(points * [2.0**9, 5.0, 2.0**-40]).tolist() == expected
    assert MstMethod(5).partition(points * [2.0**9, 5.0, 2.0**-40]).tolist() != expected


def test_contract() -> None:
    assert component([(1.0, 1, 0)], 0) == {0, 1}


def pima(shared_data: Path) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    table = pd.read_csv(shared_data / "pima.csv")
    return table.iloc[:, :-1].to_numpy(np.float64), (table["diabetes"] == "pos").to_numpy(np.intp)


def test_pima_as_in_the_paper(shared_data: Path) -> None:
    values, classes = pima(shared_data)
    labels = MstMethod(5, scale="unit").partition(values)
    # 163 and 83 in print, whose tree and linkage are not told
    assert round(homogeneity(labels, classes) * len(values) / 100) == 169
    assert round(linkage(values, group_means(values, labels)[labels]) * len(values) / 100) == 106
