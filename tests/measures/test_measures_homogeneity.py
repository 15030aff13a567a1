"""Records in groups of one class, counted group by group; figures of microaggregated medical records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from masktron.measures import homogeneity

RECORDS = st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 2)), max_size=40)


def split(records: list[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    groups, classes = np.array(records, dtype=np.int64).reshape(-1, 2).T
    return groups, classes


@given(RECORDS)
def test_group_by_group(records: list[tuple[int, int]]) -> None:
    members: dict[int, list[int]] = {}
    for group, kind in records:
        if kind >= 0:
            members.setdefault(group, []).append(kind)
    total = sum(map(len, members.values()))
    pure = sum(len(own) for own in members.values() if len(set(own)) == 1)
    assert homogeneity(*split(records)) == (100 * pure / total if total else 0)


@given(RECORDS, st.integers(0, 10**6))
def test_splitting_groups_never_helps(records: list[tuple[int, int]], seed: int) -> None:
    groups, classes = split(records)
    finer = groups * 2 + np.random.default_rng(seed).integers(0, 2, len(groups))
    assert homogeneity(finer, classes) >= homogeneity(groups, classes)


def test_corners() -> None:
    ones = np.ones(6, dtype=np.int64)
    assert homogeneity(np.arange(6), ones) == 100
    assert homogeneity(ones, ones) == 100
    assert homogeneity(ones, np.arange(6)) == 0
    assert homogeneity(ones, -ones) == 0
    assert homogeneity(ones[:0], ones[:0]) == 0
    # two records of group 0 have a class, the same; group 1 is mixed
    assert homogeneity(np.array([0, 0, 0, 1, 1]), np.array([2, -1, 2, 0, 1])) == 50


def tree_groups(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Cut the longest edge of the minimum spanning tree that leaves k records on both sides, again and again."""
    tree = minimum_spanning_tree(squareform(pdist(points)))
    for row, column in np.stack(tree.nonzero(), axis=1)[np.argsort(-tree.data, kind="stable")]:
        length, tree[row, column] = tree[row, column], 0
        cut = tree.copy()
        cut.eliminate_zeros()
        labels = connected_components(cut, directed=False)[1]
        if min(np.count_nonzero(labels == labels[end]) for end in (row, column)) < k:
            tree[row, column] = length
    tree.eliminate_zeros()
    return connected_components(tree, directed=False)[1].astype(np.int64)


def test_microaggregated_diabetes(shared_data: Path) -> None:
    """The paper's traditional method, on values from 0 to 1, put 163 of these 768 records in homogeneous groups."""
    pima = pd.read_csv(shared_data / "pima.csv")
    classes = pd.factorize(pima.pop("diabetes"))[0].astype(np.int64)
    values = pima.to_numpy(np.float64)
    groups = tree_groups((values - values.min(axis=0)) / np.ptp(values, axis=0), 5)
    assert homogeneity(groups, classes) == pytest.approx(21.2, abs=1)
