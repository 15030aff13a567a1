"""Record linkage against all pairs of distances."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from examples import examples
from masktron.figures import FIGURES
from masktron.kernels.compiling import told_of_compiling
from masktron.measures import linkage
from masktron.measures.linkage import TREE_FROM, _credit, credit_through_tree, linkage_points
from masktron.methods.noise import NoiseMethod


def brute_force(original: NDArray[np.float64], masked: NDArray[np.float64]) -> float:
    known, released = linkage_points(original, masked)
    return 100 * all_pairs(known, released).sum() / len(original)


def all_pairs(known: NDArray[np.float64], released: NDArray[np.float64]) -> NDArray[np.float64]:
    credit = np.zeros(len(known))
    for i, row in enumerate(released):
        squared = np.zeros(len(known))
        for column in range(known.shape[1]):
            squared += np.square(row[column] - known[:, column])
        nearest = np.flatnonzero(squared == squared.min())
        credit[i] = (i in nearest) / len(nearest)
    return credit


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


@examples(60, full=300)
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


def test_distances_in_which_single_precision_says_nothing() -> None:
    """Originals far closer to each other than single precision tells, and masked records beyond its numbers."""
    rng = np.random.default_rng(5)
    known = np.concatenate([1.0 + 1e-9 * rng.integers(0, 90, size=(900, 2)), [[1e6, -1e6]]])
    released = known + 1e-9 * rng.integers(-1, 2, size=known.shape)
    released[7], released[8, 1] = 1e150, -1e30
    found = credit_through_tree(known, released, 1)
    assert (found == all_pairs(known, released)).all()
    assert 0.2 < found.mean() < 0.8


@pytest.mark.full
def test_roundings_of_single_precision_add_up_over_many_dimensions() -> None:
    for value in np.random.default_rng(1).uniform(1, 2, 40).tolist():
        known = np.array([[value], [-value]]) * np.ones(300)
        assert credit_through_tree(known, np.zeros((2, 300)), 1).tolist() == [0.5, 0.5]


@pytest.mark.full
def test_many_records_go_through_the_tree_and_few_do_not_load_the_compiler() -> None:
    rng = np.random.default_rng(6)
    original = np.round(rng.normal(size=(TREE_FROM, 3)), 2)
    masked = np.round(original + 0.05 * rng.normal(size=original.shape), 2)
    expected = 100.0 * float(_credit(*linkage_points(original, masked)).sum()) / len(original)
    assert linkage(original, masked, workers=2) == linkage(original, masked) == expected
    code = (
        "import sys, numpy as np; from masktron.measures.linkage import linkage; "
        "points = np.random.default_rng(0).random((200, 3)); linkage(points, points); "
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_a_run_is_told_of_the_search_that_its_threads_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.kernels.compiling.is_compiled", lambda _: False)
    told, points = set[threading.Thread](), np.random.default_rng(1).normal(size=(50, 2))
    with told_of_compiling(lambda stage, done: told.add(threading.current_thread())):
        credit_through_tree(*linkage_points(points, points + 0.1), workers=2)
    assert told - {threading.current_thread()}


def test_linkage_is_no_bound_and_nobody_says_so() -> None:
    """Mahalanobis distance and one-to-one assignment find far more than the nearest by plain distance after noise."""
    rng = np.random.default_rng(2)
    original = np.exp(rng.normal(size=(300, 2)) @ rng.normal(size=(2, 6)) / 2 + 0.2 * rng.normal(size=(300, 6)))
    masked = NoiseMethod().mask(original, np.random.default_rng(0)).values
    inverse = np.linalg.inv(np.cov(original.T))
    gaps = masked[:, np.newaxis] - original
    _, assigned = linear_sum_assignment(np.einsum("ijp,pq,ijq->ij", gaps, inverse, gaps))
    better = 100 * float((assigned == np.arange(300)).mean())
    assert linkage(original, masked) < 0.7 * better, (linkage(original, masked), better)
    for figure in FIGURES:
        assert "worst case" not in figure.meaning.lower()
