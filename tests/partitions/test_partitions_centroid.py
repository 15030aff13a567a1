"""Centroid agglomeration: every rule against a slow reference, and what each cluster has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

from masktron.partitions import centroid
from masktron.partitions.centroid import agglomerate, pooled_deviation, semi_partial

RULES = ("small", "counts", "spr", "rmsstd")


def slow(
    points: NDArray[np.float64], codes: NDArray[np.intp], records: int, distinct: int, stop: str
) -> list[list[int]]:
    """All pairs at every step, word for word; `stop` small or counts."""
    clusters = [[i] for i in range(len(points))]

    def lacks(cluster: list[int]) -> bool:
        return len(cluster) < records or len(set(codes[cluster].tolist())) < distinct

    while any(map(lacks, clusters)) and len(clusters) > 1:
        apart = [
            (float(((points[a].mean(axis=0) - points[b].mean(axis=0)) ** 2).sum()), i, j)
            for i, a in enumerate(clusters)
            for j, b in enumerate(clusters[:i])
        ]
        both = [pair for pair in apart if all(lacks(clusters[at]) for at in pair[1:])]
        one = [pair for pair in apart if any(lacks(clusters[at]) for at in pair[1:])]
        pairs = apart if stop == "counts" else both or one
        _, i, j = min(pairs)
        clusters[j] = sorted(clusters[j] + clusters[i])
        del clusters[i]
    return sorted(clusters)


def groups(labels: NDArray[np.intp]) -> list[list[int]]:
    return sorted(np.flatnonzero(labels == label).tolist() for label in range(labels.max() + 1))


@pytest.mark.full
@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(["small", "counts"]), st.integers(1, 6), st.integers(1, 3))
def test_against_all_pairs(seed: int, stop: centroid.Stop, records: int, distinct: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 26))
    points, codes = rng.normal(size=(n, 2)), rng.integers(0, 4, size=n)
    if len(np.unique(codes)) < distinct:
        return
    found = agglomerate(points, codes, records=records, distinct=distinct, stop=stop)
    assert groups(found) == slow(points, codes, records, distinct, stop)


@pytest.mark.parametrize("stop", RULES)
@pytest.mark.parametrize("seed", range(12))
def test_every_cluster_has_enough(stop: centroid.Stop, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 300))
    points = np.round(rng.lognormal(0, 1.5, size=(n, 3)), int(rng.integers(0, 3)))
    codes = rng.integers(0, 5, size=n)
    codes[:3] = [0, 1, 2]
    labels = agglomerate(points, codes, stop=stop)
    assert set(labels) == set(range(labels.max() + 1))
    for label in range(labels.max() + 1):
        assert (labels == label).sum() >= 10
        assert len(set(codes[labels == label])) >= 3


def test_indices_of_homogeneity() -> None:
    points = np.random.default_rng(3).normal(size=(30, 2))
    tree = linkage(points, "centroid")
    assert semi_partial(tree, points).sum() == pytest.approx(1)
    deviation = pooled_deviation(tree, points)
    assert deviation[-1] == pytest.approx(np.sqrt(points.var(axis=0, ddof=1).mean()))
    first = tree[0, :2].astype(int)
    assert deviation[0] == pytest.approx(np.sqrt(points[first].var(axis=0, ddof=1).mean()))


def test_homogeneity_stops_the_joining() -> None:
    # two heaps of 20: joining them would add nearly all of the sum of squares
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 50])
    codes = np.arange(40)
    for stop, limit in (("spr", 0.5), ("rmsstd", 5.0)):
        assert groups(agglomerate(points, codes, stop=stop, limit=limit)) == [list(range(20)), list(range(20, 40))]  # type: ignore[arg-type]
        assert agglomerate(points, codes, stop=stop, limit=1e9).max() == 0  # type: ignore[arg-type]


def test_a_record_apart_leaves_one_cluster_by_counts_alone() -> None:
    points = np.concatenate([np.random.default_rng(2).normal(size=(80, 2)), [[1e3, 0.0]]])
    codes = np.arange(81)
    assert agglomerate(points, codes, stop="counts").max() == 0
    assert agglomerate(points, codes).max() >= 3


@pytest.mark.parametrize("stop", RULES)
def test_many_points_are_cut_first(stop: centroid.Stop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(centroid, "TOGETHER", 40)
    rng = np.random.default_rng(6)
    points, codes = rng.normal(size=(300, 2)), np.zeros(300, dtype=np.intp)
    codes[:150] = np.arange(150) % 7
    labels = agglomerate(points, codes, stop=stop)
    assert min(np.bincount(labels)) >= 10
    assert all(len(set(codes[labels == label])) >= 3 for label in range(labels.max() + 1))


def test_equal_points() -> None:
    labels = agglomerate(np.zeros((25, 2)), np.arange(25) % 3, stop="rmsstd")
    assert np.bincount(labels).min() >= 10
