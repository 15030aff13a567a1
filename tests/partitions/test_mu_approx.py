"""mu-Approx: sizes of groups on any file, the forest by the letter, random trees, branches by hand."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.partitions.cutting import by_size, cut_longest, forest
from masktron.partitions.mdav import partition
from masktron.partitions.mu_approx import approx_partition, around, grown
from tree_reference import groups_of, random_points, random_trees, squared_distance


def check_sizes(seeds: range) -> None:
    for seed in seeds:
        generator = np.random.default_rng(seed)
        n = int(generator.integers(2, 100))
        k = int(generator.integers(1, min(n, 12) + 1))
        labels = approx_partition(random_points(generator, n), k)
        sizes = np.bincount(labels)
        assert k <= sizes.min() <= sizes.max() <= 2 * k - 1, seed
        assert len(labels) == n


@pytest.mark.full
def test_groups_hold_k_to_2k_minus_1_records() -> None:
    check_sizes(range(600))


@pytest.mark.full
def test_groups_of_ten_thousand_files_hold_k_to_2k_minus_1_records() -> None:
    check_sizes(range(600, 10_600))


def parents_by_the_letter(points: np.ndarray, k: int) -> list[int]:
    """Every record from the origin outwards, all records measured, components as sets."""
    n = len(points)
    parent, part = [-1] * n, [{record} for record in range(n)]
    origin = np.zeros(points.shape[1])
    for u in sorted(range(n), key=lambda i: (squared_distance(points[i], origin), i)):
        if len(part[u]) >= k:
            continue
        assert parent[u] < 0
        outside = set(range(n)) - part[u]
        parent[u] = min(outside, key=lambda v, u=u: (squared_distance(points[u], points[v]), abs(u - v), v))  # type: ignore[misc]
        joined = part[u] | part[parent[u]]
        for record in joined:
            part[record] = joined
    return parent


def test_the_forest_is_grown_by_the_letter() -> None:
    for seed in range(250):
        generator = np.random.default_rng(seed)
        n = int(generator.integers(2, 50))
        points, k = random_points(generator, n), int(generator.integers(1, min(n, 8) + 1))
        trees = grown(points, k)
        found = [-1] * n
        for place, record in enumerate(trees.record.tolist()):
            up = int(trees.parent[place])
            found[record] = int(trees.record[up]) if up >= 0 else -1
        assert found == parents_by_the_letter(points, k), seed


def test_neighbours_are_listed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(7).integers(0, 9, size=(200, 2)).astype(np.float64)
    expected = approx_partition(points, 6).tolist()
    monkeypatch.setattr("masktron.partitions.mu_approx._BLOCK", 7)
    assert approx_partition(points, 6).tolist() == expected


def check_trees(seeds: range) -> None:
    """The theorem of `around`, on trees that no points have."""
    for seed in seeds:
        generator = np.random.default_rng(seed)
        k = int(generator.integers(1, 12))
        n = int(generator.integers(2 * k, 12 * k))
        order, parent = random_trees(generator, n, 1)
        if seed % 2:
            # few records with many branches
            parent[order[1:]] = order[np.minimum(generator.integers(0, 4, n - 1), np.arange(n - 1))]
        trees = forest(order, parent, generator.random(n))
        most = max(2 * k - 1, 3 * k - 5)
        seen = []
        for tree in cut_longest(trees, np.ones((n, 1), dtype=np.int64), by_size(k), most):
            *parts, rest = around(trees, tree, k, most)
            assert all(k <= len(part) <= 2 * k - 1 for part in parts), seed
            assert len(rest) >= k, seed
            seen += [*parts, rest]
        assert sorted(np.concatenate(seen).tolist()) == list(range(n))


@pytest.mark.full
def test_random_trees_leave_no_part_below_k() -> None:
    check_trees(range(1500))


@pytest.mark.full
def test_many_random_trees_leave_no_part_below_k() -> None:
    check_trees(range(1500, 60_000))


def star(*branches: int) -> tuple[np.ndarray, ...]:
    """Chains around record 0; the first ones are nearest to it."""
    parent, squared = [-1], [0.0]
    for number, length in enumerate(branches):
        for step in range(length):
            parent.append(len(parent) - 1 if step else 0)
            squared.append(1.0 + number)
    return np.arange(len(parent)), np.array(parent), np.array(squared)


def parts_around(k: int, *branches: int) -> list[list[int]]:
    order, parent, squared = star(*branches)
    trees = forest(order, parent, squared)
    most = max(2 * k - 1, 3 * k - 5)
    return [sorted(trees.record[part].tolist()) for part in around(trees, np.arange(len(order)), k, most)]


def test_branches_that_hold_k_minus_1_take_the_record() -> None:
    # k = 4: more than 7 records; branches of 3, 3, 3
    assert parts_around(4, 3, 3, 3) == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]]


def test_larger_sums_leave_the_record_to_the_rest() -> None:
    # k = 6: more than 13 records; branches of 4 and 4 are 8, then 4 and 2
    assert parts_around(6, 4, 2, 4, 4) == [[1, 2, 3, 4, 7, 8, 9, 10], [0, 5, 6, 11, 12, 13, 14]]
    # branches by descending size: 4, 3, 3, 3, 2, 2 with the nearest first; 7, then 6, then the record with 4
    assert [len(part) for part in parts_around(6, 3, 2, 4, 2, 3, 3)] == [7, 11]


def test_without_the_record_a_rest_below_k_is_not_left() -> None:
    # four branches of k - 1: one with the record, and three of which two would leave k - 1
    assert parts_around(6, 5, 5, 5, 5) == [[0, 1, 2, 3, 4, 5], list(range(6, 21))]
    # of five, two can be taken
    assert [len(part) for part in parts_around(6, 5, 5, 5, 5, 5)] == [6, 10, 10]


def test_the_root_may_be_in_a_branch() -> None:
    # 2 - 1 - 0 hangs on the record with the branches
    parent = np.array([-1, 0, 1, 2, 2, 2, 2, 2], dtype=np.intp)
    trees = forest(np.arange(8), parent, np.ones(8))
    assert [sorted(part.tolist()) for part in around(trees, np.arange(8), 3, 5)] == [[0, 1, 2], [3, 4, 5, 6, 7]]


def test_of_equal_branches_the_nearest_is_taken_first() -> None:
    # branches of 2 around record 2: 1 and 0 hang on it from above, by the edge of record 2
    parent = np.array([-1, 0, 1, 2, 3, 2, 5], dtype=np.intp)
    for length, first in ((0.5, [0, 1, 2]), (1.5, [2, 3, 4]), (2.5, [2, 3, 4])):
        trees = forest(np.arange(7), parent, np.array([0, 9.0, length, 1, 9, 2, 9]))
        assert sorted(trees.record[around(trees, np.arange(7), 3, 5)[0]].tolist()) == first


def test_natural_clusters_are_the_groups() -> None:
    generator = np.random.default_rng(0)
    centres = generator.permutation(12)[:, None] * 100.0
    sizes = generator.integers(5, 10, 12)
    member = generator.permutation(np.repeat(np.arange(12), sizes))
    points = centres[member] + generator.normal(size=(len(member), 1))
    assert groups_of(approx_partition(points, 5)) == groups_of(member)
    assert groups_of(partition(points, 5)) != groups_of(member)
