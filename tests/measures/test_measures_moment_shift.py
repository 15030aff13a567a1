"""Shifts of moments against numpy's on the same cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.measures.moment_shift import moment_shift


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 4))
def test_the_moments_are_those_of_numpy(seed: int, n: int, p: int) -> None:
    generator = np.random.default_rng(seed)
    original, drawn, written = generator.normal(5.0, 2.0, size=(3, n, p))
    shift = moment_shift(original, drawn, written)
    drawn_off = shift.worst_drawn.drawn_off if shift.worst_drawn else 0.0
    written_off = shift.worst_written.written_off if shift.worst_written else 0.0
    for masked, means, variances, correlation in (
        (drawn, shift.means_drawn, shift.variances_drawn, drawn_off),
        (written, shift.means_written, shift.variances_written, written_off),
    ):
        np.testing.assert_allclose(means, (masked.mean(axis=0) - original.mean(axis=0)) / original.std(axis=0))
        np.testing.assert_allclose(variances, masked.var(axis=0) / original.var(axis=0))
        before, after = (np.atleast_2d(np.corrcoef(table.T)) for table in (original, masked))
        assert correlation == pytest.approx(np.abs(before - after).max(), abs=1e-12)


def test_cells_that_are_missing_anywhere_do_not_count() -> None:
    original = np.array([[1.0], [2.0], [3.0], [np.nan], [100.0]])
    drawn = np.array([[1.0], [2.0], [6.0], [7.0], [100.0]])
    written = np.array([[1.0], [2.0], [3.0], [7.0], [np.nan]])
    shift = moment_shift(original, drawn, written)
    assert shift.means_drawn == (pytest.approx(1.0 / np.std([1.0, 2.0, 3.0])),)
    assert shift.means_written == (0.0,)
    assert shift.variances_written == (1.0,)


def test_constant_columns() -> None:
    original = np.array([[2.0, 1.0], [2.0, 2.0]])
    other = np.array([[3.0, 1.0], [5.0, 2.0]])
    shift = moment_shift(original, original, other)
    assert shift.means_drawn == (0.0, 0.0)
    assert shift.variances_drawn == (1.0, 1.0)
    assert np.isnan(shift.means_written[0])
    assert shift.variances_written[0] == np.inf
    assert shift.worst_written is None


def test_no_record() -> None:
    nothing = np.empty((0, 2))
    shift = moment_shift(nothing, nothing, nothing)
    assert shift.means_drawn == (0.0, 0.0)
    assert shift.variances_written == (1.0, 1.0)


def test_huge_values_do_not_overflow_a_correlation() -> None:
    original = np.array([[1e200, 1.0], [2e200, 2.0], [4e200, 1.0]])
    worst = moment_shift(original, original[::-1].copy(), original).worst_written
    assert worst is not None
    assert worst.written_off == 0.0
