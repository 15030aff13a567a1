"""Trees of records: numbers of places, what hangs on what, and which parts are cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.partitions.cutting import by_size, cut_longest, forest, in_file_order, labels_of
from tree_reference import random_trees


def hanging(parent: NDArray[np.intp], record: int) -> set[int]:
    found = {record}
    while more := {child for child, up in enumerate(parent.tolist()) if up in found} - found:
        found |= more
    return found


def test_what_hangs_on_a_record_follows_it_without_a_gap() -> None:
    for seed in range(60):
        generator = np.random.default_rng(seed)
        n = int(generator.integers(1, 30))
        roots = int(generator.integers(1, n + 1))
        order, parent = random_trees(generator, n, roots)
        squared = generator.integers(0, 4, n).astype(np.float64)
        trees = forest(order, parent, squared)
        assert sorted(trees.record.tolist()) == list(range(n))
        assert len(trees.roots) == roots
        for place, record in enumerate(trees.record.tolist()):
            assert set(trees.record[place : trees.end[place]].tolist()) == hanging(parent, record)
            up = int(trees.parent[place])
            assert (trees.record[up] if up >= 0 else -1) == parent[record]
        edges = trees.record[trees.descending].tolist()
        keys = [(squared[i], abs(i - parent[i]), min(i, parent[i])) for i in edges]
        assert keys == sorted(keys, reverse=True)
        assert trees.rank[trees.descending].tolist() == list(range(len(edges)))[::-1]


def test_parts_are_cut_at_their_own_longest_edges() -> None:
    # 0-1-2-3-4-5-6-7, the longest edges at the ends, where they leave too little
    lengths = np.array([0.0, 9, 1, 5, 1, 7, 1, 8])
    chain = forest(np.arange(8), np.arange(-1, 7), lengths)
    ones = np.ones((8, 1), dtype=np.int64)
    assert [part.tolist() for part in cut_longest(chain, ones, by_size(8), 1)] == [list(range(8))]
    assert sorted(part.tolist() for part in cut_longest(chain, ones, by_size(2), 3)) == [[0, 1, 2], [3, 4], [5, 6, 7]]
    assert sorted(part.tolist() for part in cut_longest(chain, ones, by_size(2), 5)) == [[0, 1, 2, 3, 4], [5, 6, 7]]


def test_trees_are_cut_apart_from_each_other() -> None:
    parent = np.array([-1, 0, 1, 2, -1, 4, 5, 6], dtype=np.intp)
    two = forest(np.arange(8), parent, np.array([0.0, 1, 2, 1, 0, 1, 2, 1]))
    parts = cut_longest(two, np.ones((8, 1), dtype=np.int64), by_size(2), 3)
    assert sorted(part.tolist() for part in parts) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert labels_of(two, parts).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_groups_are_numbered_by_their_first_record() -> None:
    assert in_file_order(np.array([2, 0, 2, 1, 0])).tolist() == [0, 1, 0, 2, 1]
