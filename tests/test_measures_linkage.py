"""Record linkage against all pairs of distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.measures import linkage
from masktron.measures.linkage import linkage_points


def brute_force(original: NDArray[np.float64], masked: NDArray[np.float64]) -> float:
    known, released = linkage_points(original, masked)
    credit = 0.0
    for i, row in enumerate(released):
        squared = np.zeros(len(known))
        for column in range(known.shape[1]):
            squared += np.square(row[column] - known[:, column])
        nearest = np.flatnonzero(squared == squared.min())
        credit += (i in nearest) / len(nearest)
    return 100 * credit / len(original)


@st.composite
def files(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p, top = draw(st.integers(1, 60)), draw(st.integers(0, 7)), draw(st.integers(1, 8))
    original = rng.integers(0, top, size=(n, p)).astype(np.float64)
    masked = original + rng.integers(-1, 2, size=(n, p)) * draw(st.sampled_from([0, 0.5, 1]))
    if draw(st.booleans()):
        labels = rng.integers(0, 1 + n // 3, size=n)
        for label in np.unique(labels):
            masked[labels == label] = original[labels == label].mean(axis=0)
    gaps = draw(st.sampled_from([0, 0, 0.2]))
    original[rng.random((n, p)) < gaps] = np.nan
    masked[rng.random((n, p)) < gaps] = np.nan
    return original, masked


@settings(max_examples=300)
@given(pair=files())
def test_all_pairs(pair: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    assert linkage(*pair) == pytest.approx(brute_force(*pair), rel=1e-12)


def test_many_ties_and_blocks() -> None:
    rng = np.random.default_rng(3)
    corners = rng.integers(0, 2, size=(700, 9)).astype(np.float64)
    centre = np.full((700, 9), 0.5)
    centre[:300] = corners[:300] * 0.5 + 0.25
    assert linkage(corners, centre) == pytest.approx(brute_force(corners, centre), rel=1e-12)


def test_unmasked_records_are_found_and_equal_ones_share() -> None:
    original = np.array([[1.0, 5.0], [2.0, 5.0], [2.0, 5.0], [9.0, 5.0]])
    assert linkage(original, original) == pytest.approx(100 * 3 / 4)


def test_nothing_to_go_by() -> None:
    constant = np.ones((5, 2))
    assert linkage(constant, np.zeros((5, 2))) == pytest.approx(20)
    assert linkage(np.empty((0, 2)), np.empty((0, 2))) == 0


def test_missingness_tells_records_apart() -> None:
    original = np.array([[np.nan], [1.0], [3.0]])
    assert linkage(original, original) == 100


def test_absurd_scales_do_not_overflow() -> None:
    original = np.array([[1e-300], [2e-300]])
    # So far off that the originals cannot be told apart in float64: each record has two nearest.
    assert linkage(original, np.array([[-1e300], [1e300]])) == 50


def test_bad_arguments() -> None:
    with pytest.raises(UsageError, match="cannot be linked"):
        linkage(np.zeros((2, 1)), np.zeros((1, 2)))
    with pytest.raises(UsageError, match="infinite"):
        linkage(np.zeros((1, 1)), np.full((1, 1), np.inf))
