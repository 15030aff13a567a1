"""Sums rounded once, against fsum; powers of two, against ldexp."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.kernels.sums import rounded_sum, scaled

UNIT = st.one_of(
    st.floats(-1, 1),
    st.sampled_from([0.1, -0.1, 1 / 3, 1.0, -1.0, -0.0, 2.0**-53, -(2.0**-54), 5e-324, -5e-324, 1e-300]),
)


@given(st.lists(UNIT, max_size=50))
def test_the_sum_is_that_of_fsum(values: list[float]) -> None:
    assert rounded_sum(np.array(values, dtype=np.float64)) == math.fsum(values)


@pytest.mark.parametrize("n", [65_535, 65_536, 200_001])
def test_many_values(n: int) -> None:
    rng = np.random.default_rng(n)
    for values in (rng.uniform(-1, 1, n), rng.lognormal(-40, 8, n).clip(0, 1), np.full(n, 1.0), np.full(n, 0.1)):
        assert rounded_sum(values) == math.fsum(values.tolist())


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_no_finite_number_has_no_sum(value: float) -> None:
    assert math.isnan(rounded_sum(np.array([0.5, value])))


@given(st.floats(allow_nan=False), st.integers(-2100, 2100))
def test_powers_of_two(value: float, power: int) -> None:
    with np.errstate(over="ignore"):
        found, expected = scaled(np.array([value]), power), np.ldexp(np.array([value]), power)
    assert found.tobytes() == expected.tobytes()
