"""The geometric mean against powers of rationals, with signs and zeros."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.aggregators import GeometricMean
from masktron.errors import UsageError
from refusals import refused

POSITIVE = st.floats(1e-300, 1e300)


@given(values=st.lists(POSITIVE, min_size=1, max_size=12), negative=st.booleans(), data=st.data())
def test_power_of_the_mean_is_the_product(values: list[float], negative: bool, data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    weights[0] += 1
    sign = -1 if negative else 1
    labels = np.zeros(len(values), dtype=np.intp)
    mean = GeometricMean().aggregate(sign * np.array(values)[:, None], labels, np.array(weights, dtype=float)).item()
    assert sign * mean > 0
    # Compared in logs: the product itself overflows. A log is at most 700, known to 1e-13.
    exact = sum(w * np.log(v) for v, w in zip(values, weights, strict=True)) / sum(weights)
    assert np.log(abs(mean)) == pytest.approx(exact, abs=1e-12)
    assert min(values) <= abs(mean) <= max(values)


@given(value=st.floats(allow_nan=False, allow_infinity=False), count=st.integers(1, 20))
def test_constant(value: float, count: int) -> None:
    assert GeometricMean().aggregate(np.full((count, 1), value), np.zeros(count, dtype=np.intp)).item() == value


def test_zeros_and_signs() -> None:
    values = np.array([[0.0, -2.0, 4.0], [5.0, -8.0, 9.0]])
    assert GeometricMean().aggregate(values, np.array([0, 0])).tolist() == [
        [0.0, pytest.approx(-4), pytest.approx(6)]
    ]


def test_a_zero_without_weight_says_nothing() -> None:
    values = np.array([[0.0], [3.0]])
    assert GeometricMean().aggregate(values, np.array([0, 0]), np.array([0.0, 1.0])).item() == pytest.approx(3)


def test_two_signs_are_refused() -> None:
    values = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, -2.0]])
    with refused(UsageError, "mixed-signs", group=1, column=2):
        GeometricMean().aggregate(values, np.array([0, 1, 1]))
