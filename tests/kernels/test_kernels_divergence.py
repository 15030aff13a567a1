"""Divergence of classes: the worked example of the source, scipy as an oracle, and Lemma 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from masktron.kernels.divergence import jsd, wjsd

THIRDS = np.array([1 / 3, 2 / 3])
FIGURE_1 = np.array([[3, 0], [0, 3], [0, 3]])
"""Circles and squares in the groups of figure 1; those of figure 2 have one and two."""


def test_the_worked_example_of_the_source() -> None:
    assert jsd(FIGURE_1, THIRDS).round(3).tolist() == [0.459, 0.191, 0.191]
    assert jsd(np.array([[1, 2]]), THIRDS).tolist() == [0.0]
    assert round(wjsd(FIGURE_1, THIRDS), 3) == 0.280
    assert wjsd(np.array([[1, 2], [1, 2], [1, 2]]), THIRDS) == 0.0


def test_the_printed_mean_has_a_kullback_leibler_divergence_in_place_of_a_jsd() -> None:
    kld = np.log2(1 / (2 / 3))
    assert round((kld + 2 * jsd(FIGURE_1, THIRDS)[1]) / 3, 3) == 0.322
    assert round((0.585 + 2 * 0.191) / 3, 3) == 0.322


@given(
    st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any),
    st.lists(st.integers(1, 9), min_size=4, max_size=4),
)
def test_it_is_the_square_of_scipys_distance(counts: list[int], weights: list[int]) -> None:
    shares = np.array(weights) / sum(weights)
    expected = jensenshannon(np.array(counts) / sum(counts), shares, base=2) ** 2
    assert jsd(np.array([counts]), shares)[0] == pytest.approx(expected, abs=1e-12)


def test_nothing_in_common_is_1() -> None:
    assert jsd(np.array([[0, 7]]), np.array([1.0, 0.0])).tolist() == [1.0]


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=6))
def test_parts_are_never_less_divergent_than_the_whole(parts: list[list[int]]) -> None:
    counts, shares = np.array(parts), np.array([0.2, 0.3, 0.5])
    assert wjsd(counts, shares) >= jsd(counts.sum(axis=0, keepdims=True), shares)[0] - 1e-12
