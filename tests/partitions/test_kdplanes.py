"""Planes of a sample part points into blocks, wherever the points come from."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from masktron.partitions.kdplanes import Edge, KdPlanes

POINTS = st.tuples(st.integers(1, 80), st.integers(1, 3), st.integers(1, 12), st.integers(0, 2**32 - 1))


@given(POINTS, st.integers(1, 30))
def test_a_block_has_few_records_or_one_place(shape: tuple[int, int, int, int], most: int) -> None:
    n, d, values, seed = shape
    points = np.random.default_rng(seed).integers(0, values, (n, d)).astype(np.float64)
    planes = KdPlanes.of(points, most)
    places = planes.places(points)
    assert places.min() >= 0
    assert places.max() == planes.blocks - 1, "no block is empty"
    for block in range(planes.blocks):
        own = points[places == block]
        assert 0 < len(own) <= most or (own == own[0]).all()


@given(POINTS, st.integers(1, 30))
def test_blocks_are_boxes_side_by_side(shape: tuple[int, int, int, int], most: int) -> None:
    n, d, values, seed = shape
    points = np.random.default_rng(seed).integers(0, values, (n, d)).astype(np.float64)
    planes = KdPlanes.of(points, most)
    places = planes.places(points)
    boxes = [
        (points[places == block].min(axis=0), points[places == block].max(axis=0)) for block in np.unique(places)
    ]
    for at, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:at]:
            assert ((high < other_low) | (other_high < low)).any(), "a plane is between any two"


def test_what_lies_outside_the_sample_has_its_block() -> None:
    planes = KdPlanes.of(np.array([[0.0], [1.0], [2.0], [3.0]]), 2)
    assert planes.places(np.array([[-9.0], [1.0], [1.5], [99.0]])).tolist() == [0, 0, 1, 1]


def test_a_large_value_of_half_the_records_is_parted_from_the_others() -> None:
    planes = KdPlanes.of(np.array([[0.0], [5.0], [5.0], [5.0]]), 3)
    assert planes.places(np.array([[0.0], [4.0], [5.0]])).tolist() == [0, 1, 1]


def test_points_without_a_coordinate_are_one_block() -> None:
    assert KdPlanes.of(np.empty((4, 0)), 1).blocks == 1


@given(POINTS, st.integers(0, 30))
def test_few_points_lie_beyond_the_edge_and_all_of_them_farther_out(
    shape: tuple[int, int, int, int], far: int
) -> None:
    n, d, values, seed = shape
    points = np.random.default_rng(seed).integers(0, values, (n, d)).astype(np.float64)
    beyond = Edge.of(points, min(far, n - 1)).beyond(points)
    distances = np.square(points - np.median(points, axis=0)).sum(axis=1)
    assert beyond.sum() <= far
    assert distances[~beyond].max() < distances[beyond].min(initial=np.inf)
