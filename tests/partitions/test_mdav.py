"""MDAV: the published figures, and a slow twin with exact means."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from examples import examples, spread
from masktron.errors import UsageError
from masktron.kernels.mdav import mdav
from masktron.partitions.mdav import partition, standardise
from refusals import refused
from slow_mdav import slow_mdav

EIA = [
    "UTILITYID",
    "RESREVENUE",
    "RESSALES",
    "COMREVENUE",
    "COMSALES",
    "INDREVENUE",
    "INDSALES",
    "OTHREVENUE",
    "OTHRSALES",
    "TOTREVENUE",
    "TOTSALES",
]


@st.composite
def tied_points(draw: st.DrawFn) -> NDArray[np.float64]:
    shape = (draw(st.integers(1, 60)), draw(st.integers(1, 5)))
    element = draw(st.sampled_from([st.integers(0, 2), st.integers(-3, 9), st.integers(0, 10**6)]))
    points = draw(arrays(np.int64, shape, elements=element, fill=st.just(0))).astype(np.float64)
    scale = draw(st.sampled_from([1.0, 0.1, 1 / 3]))
    return standardise(points) if draw(st.booleans()) else points * scale


@examples(30, full=150)
@given(points=tied_points(), k=st.integers(1, 7))
def test_fast_and_slow_agree(points: NDArray[np.float64], k: int) -> None:
    k = min(k, len(points))
    assert partition(points, k).tolist() == slow_mdav(points, k)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(6))
def test_fast_and_slow_agree_on_larger_tied_files(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, rng.choice([2, 5, 40]), size=(260, int(rng.integers(1, 9)))).astype(np.float64)
    points = standardise(values / 10)
    k = int(rng.integers(2, 9))
    assert mdav(points, k).tolist() == slow_mdav(points, k)


@pytest.mark.parametrize("seed", range(6))
def test_mean_decides_ties_exactly(seed: int) -> None:
    """In a file that is its own mirror image, the last bit of the mean decides which end is the farthest."""
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 5, size=(70, int(rng.integers(1, 4)))).astype(np.float64)
    values = np.concatenate([half, half.max() - half]) / 10
    points = standardise(values) if seed % 2 else values
    assert mdav(points, 3).tolist() == slow_mdav(points, 3)


def test_standardise() -> None:
    z = standardise(np.array([[1.0, 0.1, 1e300], [2.0, 0.1, -1e300], [6.0, 0.1, 5e299]]))
    assert z.mean(axis=0) == pytest.approx(0, abs=1e-15)
    assert z.var(axis=0) == pytest.approx([1, 0, 1])
    assert not z[:, 1].any()


def test_standardise_keeps_missing_values_and_counts_the_others() -> None:
    z = standardise(np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]]))
    assert z[[0, 2], 0].tolist() == [-1, 1]
    assert np.isnan(z).tolist() == [[False, True], [True, True], [False, True]]
    with refused(UsageError, "unusable-values", where="column 1, record 1", kind="infinite"):
        standardise(np.array([[np.inf]]))


def read(path: Path, names: list[str] | None) -> NDArray[np.float64]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return np.array([[float(row[name]) for name in names or row] for row in rows])


def loss(points: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, weights=column) / sizes for column in points.T], axis=1)
    return float(100 * np.square(points - means[labels]).sum() / np.square(points).sum())


@pytest.mark.parametrize(
    ("file", "names", "k", "published"),
    spread(
        [
            ("census.csv", None, 3, 5.692),
            ("census.csv", None, 4, 7.495),
            ("census.csv", None, 5, 9.088),
            ("census.csv", None, 10, 14.156),
            ("eia.csv", EIA, 3, 0.483),
            ("eia.csv", EIA, 4, 0.671),
            ("eia.csv", EIA, 5, 1.667),
            ("eia.csv", EIA, 10, 3.840),
        ],
        every=2,
    ),
)
def test_published_figures(shared_data: Path, file: str, names: list[str] | None, k: int, published: float) -> None:
    points = standardise(read(shared_data / file, names))
    assert round(loss(points, partition(points, k)), 3) == published
