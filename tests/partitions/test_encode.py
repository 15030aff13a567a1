"""Distances of encoded variables are those of their kind."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.partitions.encode import encode_nominal, encode_ordinal


def test_different_categories_are_at_distance_one() -> None:
    values = np.array(["b", "a", "c", "b", "a"], dtype=object)
    points = encode_nominal(values)
    squared = np.square(points[:, None] - points[None]).sum(axis=2)
    assert squared == pytest.approx((values[:, None] != values[None]).astype(float))


def test_one_category_takes_no_room() -> None:
    assert encode_nominal(np.array([7, 7, 7])).shape == (3, 0)


def test_ordinal_distance_grows_with_the_categories_between() -> None:
    points = encode_ordinal(np.array([0.0, 2.0, 1.0, 3.0, 0.0]))[:, 0]
    assert points.mean() == pytest.approx(0)
    assert points.var() == pytest.approx(1)
    assert np.diff(points[[0, 2, 1, 3]]) == pytest.approx(points[2] - points[0])


def test_a_missing_rank_stays_missing_and_one_category_says_nothing() -> None:
    assert np.isnan(encode_ordinal(np.array([1.0, np.nan, 2.0]))[:, 0]).tolist() == [False, True, False]
    assert encode_ordinal(np.array([4.0, 4.0])).tolist() == [[0.0], [0.0]]
