"""Bins of two files: none small, every value in one, edges that tell no value."""

from __future__ import annotations

import bisect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.measures.joined_bins import joined_bins, round_step

COLUMNS = st.lists(
    st.one_of(st.integers(-50, 50).map(float), st.floats(-1e12, 1e12, allow_nan=False), st.just(float("nan"))),
    min_size=0,
    max_size=80,
).map(np.array)


@given(COLUMNS, COLUMNS, st.integers(1, 8))
def test_no_bin_is_small_and_every_value_is_in_one(original: np.ndarray, masked: np.ndarray, least: int) -> None:
    bins = joined_bins(original.astype(float), masked.astype(float), least)
    if bins is None:
        return
    assert len(bins.before) == len(bins.after) == len(bins.edges) + 1 >= 2
    assert list(bins.edges) == sorted(set(bins.edges))
    for counts, values in ((bins.before, original), (bins.after, masked)):
        assert min(counts) >= least
        own = [0] * len(counts)
        for value in values[~np.isnan(values)].tolist():
            own[bisect.bisect_right(bins.edges, value)] += 1
        assert tuple(own) == counts


def test_whole_numbers_have_a_bin_each_where_there_are_few() -> None:
    column = np.repeat([1.0, 2.0, 3.0, 7.0], 10)
    bins = joined_bins(column, column, 5)
    assert bins is not None
    assert bins.edges == (1.5, 2.5, 3.5)  # nobody has 4, 5 or 6
    assert bins.before == bins.after == (10, 10, 10, 10)


def test_neighbours_are_joined_until_both_files_have_enough() -> None:
    original, masked = np.repeat([1.0, 2.0, 3.0], [6, 2, 6]), np.repeat([1.0, 2.0, 3.0], [2, 6, 6])
    bins = joined_bins(original, masked, 3)
    assert bins is not None
    assert (bins.edges, bins.before, bins.after) == ((2.5,), (8, 6), (8, 6))


def test_what_is_left_goes_to_the_last_bin() -> None:
    column = np.repeat([1.0, 2.0, 3.0], [5, 5, 1])
    bins = joined_bins(column, column, 3)
    assert bins is not None
    assert bins.before == (5, 6)


def test_edges_are_multiples_of_a_round_step() -> None:
    values = np.random.default_rng(5).lognormal(10, 1, 3000)
    bins = joined_bins(values, values * 1.01, 5)
    assert bins is not None
    assert bins.step == 10_000.0
    assert all(edge % bins.step == 0 for edge in bins.edges)
    assert not {*bins.edges} & {*values.tolist()}
    assert max(bins.edges) < values.max() / 2  # a few extreme values do not stretch the bins


@pytest.mark.parametrize("values", [[5.0] * 20, [1.0, 2.0, 3.0], [float("nan")] * 20, []])
def test_a_single_bin_says_nothing(values: list[float]) -> None:
    column = np.array(values, dtype=float)
    assert joined_bins(column, column, 3) is None


@pytest.mark.parametrize(
    ("width", "step"), [(0.0, 0.0), (0.7, 1.0), (1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (7.0, 10.0), (0.03, 0.05)]
)
def test_steps_are_round(width: float, step: float) -> None:
    assert round_step(width) == pytest.approx(step)
