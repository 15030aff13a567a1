"""Weighted totals are exact, and the weighted mean keeps them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.aggregators import Mean
from masktron.measures import weighted_totals

NAN = math.nan
VALUE = st.one_of(st.integers(-(10**6), 10**6).map(float), st.sampled_from([1e16, -1e16, 0.1, -12.75, 3e-7]))
WEIGHT = st.one_of(st.integers(1, 9).map(float), st.floats(0.01, 1e5))


def test_by_hand() -> None:
    original = np.array([[1.0, 10.0], [2.0, NAN], [4.0, -10.0]])
    masked = np.array([[2.0, 10.0], [2.0, NAN], [4.0, NAN]])
    one, two = weighted_totals(original, masked, np.array([1.0, 0.5, 2.0]))
    assert (one.before, one.after, one.records) == (10.0, 11.0, 3)
    assert one.change == pytest.approx(10.0)
    assert (two.before, two.after, two.records) == (-10.0, 10.0, 1)
    assert two.change == pytest.approx(200.0), "relative to the magnitude"


def test_without_weights_they_are_one() -> None:
    (total,) = weighted_totals(np.array([[1.0], [2.0]]), np.array([[1.5], [1.5]]))
    assert (total.before, total.after, total.change) == (3.0, 3.0, 0.0)


def test_a_change_from_nothing_has_no_figure() -> None:
    (total,) = weighted_totals(np.array([[0.0]]), np.array([[1.0]]))
    assert math.isnan(total.change)
    (nothing,) = weighted_totals(np.array([[NAN]]), np.array([[NAN]]))
    assert (nothing.before, nothing.after, nothing.change, nothing.records) == (0.0, 0.0, 0.0, 0)


@given(st.lists(st.tuples(VALUE, WEIGHT), min_size=1, max_size=30))
def test_a_total_is_the_exact_one_rounded_once(rows: list[tuple[float, float]]) -> None:
    values = np.array([[x] for x, _ in rows])
    (total,) = weighted_totals(values, values, np.array([w for _, w in rows]))
    assert total.before == float(sum((Fraction(x) * Fraction(w) for x, w in rows), Fraction(0)))


def test_large_products_do_not_overflow_on_the_way() -> None:
    values = np.array([[1.5e308], [-1.5e308], [3.0]])
    (total,) = weighted_totals(values, values, np.array([100.0, 100.0, 2.0]))
    assert total.before == 6.0


@given(
    st.lists(st.tuples(st.integers(0, 3), VALUE, WEIGHT), min_size=1, max_size=40),
    st.sets(st.integers(0, 3)),
)
def test_the_weighted_mean_keeps_the_total(rows: list[tuple[int, float, float]], without: set[int]) -> None:
    """The theorem of `weighted_totals`, with groups in which the variable is missing."""
    _, labels = np.unique([group for group, _, _ in rows], return_inverse=True)
    values = np.array([[NAN if group in without else x] for group, x, _ in rows])
    weights = np.array([w for _, _, w in rows])
    masked = Mean().aggregate(values, labels, weights)[labels]
    (total,) = weighted_totals(values, masked, weights)
    magnitude = math.fsum(abs(w * x) for group, x, w in rows if group not in without)
    assert abs(total.after - total.before) <= 1e-13 * magnitude
