"""Small clusters are joined with near ones."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.synthesis.clusters import joined


def test_the_smallest_goes_to_the_nearest() -> None:
    points = np.array([0.0] * 5 + [10.0] * 5 + [9.0] * 2 + [1.0] * 3)[:, None]
    labels = np.repeat([0, 1, 2, 3], [5, 5, 2, 3])
    found, joins = joined(points, labels, 5)
    assert found.tolist() == [0] * 5 + [1] * 7 + [0] * 3
    assert joins == 2
    assert labels.max() == 3


def test_small_ones_may_join_each_other_first() -> None:
    points = np.array([0.0] * 6 + [10.0] * 2 + [11.0] * 3)[:, None]
    found, joins = joined(points, np.repeat([0, 1, 2], [6, 2, 3]), 5)
    assert found.tolist() == [0] * 6 + [1] * 5
    assert joins == 1


def test_one_cluster_stays() -> None:
    found, joins = joined(np.zeros((3, 2)), np.zeros(3, dtype=np.intp), 5)
    assert (found.tolist(), joins) == ([0, 0, 0], 0)


@pytest.mark.parametrize("seed", range(20))
def test_all_are_large_enough_and_without_gaps(seed: int) -> None:
    generator = np.random.default_rng(seed)
    labels = np.unique(generator.geometric(0.3, 60), return_inverse=True)[1]
    found, joins = joined(generator.normal(size=(60, 2)), labels, 7)
    assert np.bincount(found).min() >= 7
    assert joins == labels.max() - found.max()
    for label in range(labels.max() + 1):
        assert len(set(found[labels == label].tolist())) == 1
