"""The medoid against a search for the least sum of squares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.aggregators import Medoid
from masktron.partitions.mdav import standardise


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.integers(-9, 9), st.integers(0, 40), st.integers(0, 3)), max_size=25
    )
)
def test_least_sum_of_squares(rows: list[tuple[int, int, int, int]]) -> None:
    rows += [(g, 1, g, 1) for g in range(3)]
    values = np.array([[float(x), float(y)] for _, x, y, _ in rows])
    labels = np.array([g for g, _, _, _ in rows])
    weights = np.array([float(w) for _, _, _, w in rows])
    chosen = Medoid().choose(values, labels, weights)
    points = standardise(values)
    squared = np.square(points[:, None] - points[None]).sum(axis=2)
    for g in range(3):
        own = np.flatnonzero(labels == g)
        cost = squared[np.ix_(own, own)] @ weights[own]
        record = chosen[g, 0]
        assert chosen[g].tolist() == [record, record]
        assert record in own
        assert cost[own == record].item() == pytest.approx(cost.min(), rel=1e-9, abs=1e-9)


def test_lowest_index_of_equals() -> None:
    values = np.array([[0.0], [1.0], [0.0], [1.0]])
    assert Medoid().choose(values, np.zeros(4, dtype=np.intp)).item() == 0


def test_scale_of_a_variable_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(60, 3))
    labels = np.arange(60) // 6
    chosen = Medoid().choose(values, labels)
    assert Medoid().choose(values * [1e9, 1, 1e-9], labels).tolist() == chosen.tolist()


def test_distance_in_other_coordinates() -> None:
    values = np.array([[0.0], [5.0], [10.0]])
    points = np.array([[0.0], [9.0], [1.0]])
    assert Medoid().choose(values, np.zeros(3, dtype=np.intp), points=points).item() == 2


def test_the_usual_missingness_wins() -> None:
    values = np.array([[np.nan, 5.0], [1.0, np.nan], [2.0, np.nan], [3.0, np.nan]])
    labels = np.zeros(4, dtype=np.intp)
    assert Medoid().choose(values, labels).tolist() == [[2, 2]]
    assert Medoid().aggregate(values, labels)[0, 0] == 2.0
    alone = np.array([1.0, 0.0, 0.0, 0.0])
    assert Medoid().choose(values, labels, alone).tolist() == [[0, 0]]
