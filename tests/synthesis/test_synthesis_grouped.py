"""Groups of one size as one array, and groups that are joined: against loops over groups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.synthesis.regression import Regression
from masktron.synthesis.within import joined, stacks, synthesise


def test_stacks_have_every_group_once_by_size() -> None:
    labels = np.random.default_rng(0).integers(0, 30, 200).astype(np.intp)
    seen = {}
    sizes = []
    for groups, rows in stacks(labels):
        sizes.append(rows.shape[1])
        seen.update({int(group): sorted(part.tolist()) for group, part in zip(groups, rows, strict=True)})
    assert sizes == sorted(set(sizes))
    assert seen == {label: np.flatnonzero(labels == label).tolist() for label in range(30)}
    some = np.array([2, 3, 17], dtype=np.intp)
    assert sorted(int(group) for groups, _ in stacks(labels, some) for group in groups) == [2, 3, 17]


def test_drawn_values_land_in_their_cells() -> None:
    labels = np.array([1, 0, 1, 0, 0, 1, 1], dtype=np.intp)
    values = np.arange(21.0).reshape(7, 3)

    def means(regression: Regression, generator: np.random.Generator) -> NDArray[np.float64]:
        del generator
        return regression.location + 0.0 * regression.fitted

    drawn = synthesise(values, np.array([False, True, False]), labels, means, np.random.default_rng(0))
    by_hand = values.copy()
    for label in (0, 1):
        for column in (0, 2):
            by_hand[labels == label, column] = values[labels == label, column].mean()
    assert np.allclose(drawn, by_hand, rtol=1e-15)


def test_groups_join_until_none_lacks() -> None:
    """Twelve groups of two on a line; what lacks is smaller than six, so neighbours join."""
    points = np.sort(np.random.default_rng(1).normal(size=24))[:, None]
    labels = np.repeat(np.arange(12), 2).astype(np.intp)
    after = joined(points, labels, lambda rows: np.full(len(rows), rows.shape[1] < 6))
    sizes = np.bincount(after)
    assert sizes.min() >= 6
    assert sizes.sum() == 24
    assert len(sizes) > 1
    assert (np.diff(after) != 0).sum() == len(sizes) - 1  # on a line, neighbours alone have joined
    assert all(len(set(after[labels == one])) == 1 for one in range(12))


def test_no_more_groups_join_than_have_to() -> None:
    """A group that another one has joined may suffice, and is not sent on in the same round."""
    points = np.sort(np.random.default_rng(0).normal(size=24))[:, None]
    labels = np.repeat(np.arange(12), 2).astype(np.intp)
    after = joined(points, labels, lambda rows: np.full(len(rows), rows.shape[1] < 4))
    assert sorted(np.bincount(after).tolist()) == [4, 4, 4, 6, 6]


def test_what_never_suffices_ends_in_one_group() -> None:
    points = np.random.default_rng(2).normal(size=(30, 2))
    labels = np.repeat(np.arange(10), 3).astype(np.intp)
    after = joined(points, labels, lambda rows: np.ones(len(rows), dtype=bool))
    assert after.tolist() == [0] * 30


def test_groups_that_suffice_stay_as_they_are() -> None:
    points = np.random.default_rng(3).normal(size=(30, 2))
    labels = np.repeat(np.arange(10), 3).astype(np.intp)
    after = joined(points, labels, lambda rows: np.zeros(len(rows), dtype=bool))
    assert np.array_equal(after, labels)


def at_least(size: int) -> Callable[[NDArray[np.intp]], NDArray[np.bool_]]:
    return lambda rows: np.full(len(rows), rows.shape[1] < size)


def test_small_ones_go_to_the_nearest() -> None:
    points = np.array([0.0] * 5 + [10.0] * 5 + [9.0] * 2 + [1.0] * 3)[:, None]
    labels = np.repeat([0, 1, 2, 3], [5, 5, 2, 3])
    found = joined(points, labels, at_least(5))
    assert found.tolist() == [0] * 5 + [1] * 7 + [0] * 3
    assert labels.max() == 3


def test_small_ones_may_join_each_other_first() -> None:
    points = np.array([0.0] * 6 + [10.0] * 2 + [11.0] * 3)[:, None]
    found = joined(points, np.repeat([0, 1, 2], [6, 2, 3]), at_least(5))
    assert found.tolist() == [0] * 6 + [1] * 5


def test_one_cluster_stays() -> None:
    assert joined(np.zeros((3, 2)), np.zeros(3, dtype=np.intp), at_least(5)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_all_are_large_enough_and_without_gaps(seed: int) -> None:
    generator = np.random.default_rng(seed)
    labels = np.unique(generator.geometric(0.3, 60), return_inverse=True)[1]
    found = joined(generator.normal(size=(60, 2)), labels, at_least(7))
    assert np.bincount(found).min() >= 7
    for label in range(labels.max() + 1):
        assert len(set(found[labels == label].tolist())) == 1
