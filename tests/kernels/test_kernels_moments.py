"""Moments of columns and pairs against their definitions, record by record."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.kernels.moments import relative_changes, standardise

RNG = np.random.default_rng(5)


@st.composite
def columns(draw: st.DrawFn) -> NDArray[np.float64]:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p = draw(st.integers(1, 40)), draw(st.integers(1, 5))
    values = rng.integers(0, draw(st.integers(1, 9)), size=(n, p)).astype(np.float64)
    values[rng.random((n, p)) < draw(st.sampled_from([0, 0, 0.3, 0.8]))] = np.nan
    return values


@given(columns(), st.sampled_from([1e-250, 1.0, 1e250]), st.sampled_from([0, 1, 2**30]))
def test_standard_units_lead_back(values: NDArray[np.float64], scale: float, offset: int) -> None:
    values = (values + offset) * scale
    found = standardise(values)
    back = found.origins + found.means + found.units * found.deviations
    assert np.isnan(found.units).tolist() == np.isnan(values).tolist()
    for j, column in enumerate(values.T):
        own = column[~np.isnan(column)]
        if not own.size:
            assert np.isnan(found.means[j])
            assert np.isnan(found.deviations[j])
            continue
        assert back[~np.isnan(column), j] == pytest.approx(own, rel=1e-14, abs=1e-14 * scale)
        assert (found.deviations[j] == 0) == (own.min() == own.max())
        assert np.nanmean(found.units[:, j]) == pytest.approx(0, abs=1e-13)
        if found.deviations[j]:
            assert np.nanvar(found.units[:, j]) == pytest.approx(1)


def test_means_of_two_files_are_told_from_one_origin() -> None:
    """In doubles near 1e15 a mean has no digit for what these files differ by."""
    first = np.array([[1e15], [1e15 + 1]])
    second = first.copy()
    second[1] = 1e15 + 1.125
    one = standardise(first)
    other = standardise(second, one.origins)
    assert other.means[0] - one.means[0] == 0.0625


def test_a_constant_far_from_the_origin_is_constant() -> None:
    for n in range(1, 50):
        found = standardise(np.full((n, 1), 0.1), np.array([0.3]))
        assert found.means[0] == 0.1 - 0.3
        assert found.deviations[0] == 0
        assert (found.units == 0).all()


def test_relative_changes() -> None:
    nan = math.nan
    before = np.array([2.0, -2.0, 0.0, 0.0, 1e-14, 1e-14, 1.0, nan, 0.0, 5.0])
    after = np.array([3.0, -1.0, 0.0, 1.0, -1e-14, 1.0, nan, 1.0, nan, 5.0])
    found = relative_changes(before, after, 1.0)
    assert found.tolist()[:3] == [0.5, 0.5, 0.0]
    assert found[[4, 6, 9]].tolist() == [0.0, 1.0, 0.0]
    assert np.isnan(found[[3, 5, 7, 8]]).all()
    assert relative_changes(before, after, 0.0)[4] == 2
