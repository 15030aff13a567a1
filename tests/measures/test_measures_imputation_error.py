"""RMSE and RelRMSE of imputations, cell by cell."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.measures import imputation_error
from masktron.measures.imputation_error import ErrorQuartiles


def cell_by_cell(true: list[float], imputed: list[list[float]]) -> tuple[list[float], list[float]]:
    """Errors of the cells of one variable; `imputed` by record."""
    rmse, relative = [], []
    for y, draws in zip(true, imputed, strict=True):
        m = len(draws)
        if math.isnan(y) or any(map(math.isnan, draws)):
            continue
        mean = math.fsum(draws) / m
        spread = math.fsum((draw - mean) ** 2 for draw in draws) / ((m - 1) * m) if m > 1 else 0.0
        rmse.append(math.sqrt((mean - y) ** 2 + spread))
        if y:
            relative.append(100 * rmse[-1] / abs(y))
        elif not rmse[-1]:
            relative.append(0.0)
    return rmse, relative


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([0, 0.3]), st.sampled_from([1e-250, 1.0, 1e250]))
def test_definition(seed: int, m: int, gaps: float, scale: float) -> None:
    rng = np.random.default_rng(seed)
    original = rng.integers(-2, 3, size=(rng.integers(1, 20), 2)).astype(np.float64)
    imputed = original + rng.integers(-1, 2, size=(m, *original.shape))
    original[rng.random(original.shape) < gaps] = np.nan
    imputed[rng.random(imputed.shape) < gaps] = np.nan
    replaced = rng.random(original.shape) < 0.6
    found = imputation_error(original * scale, imputed * scale, replaced)
    assert len(found) == 2
    for j, errors in enumerate(found):
        cells = replaced[:, j]
        expected = cell_by_cell(original[cells, j].tolist(), imputed[:, cells, j].T.tolist())
        for quartiles, own, unit in zip((errors.rmse, errors.relative), expected, (scale, 1.0), strict=True):
            assert quartiles.cells == len(own)
            three = np.quantile(own, [0, 0.25, 0.5]) if own else [math.nan] * 3
            assert astuple(quartiles)[:3] == pytest.approx([value * unit for value in three], rel=1e-12, nan_ok=True)


def test_by_hand() -> None:
    # mean 12, off by 2; the variance of the mean of 9, 12, 15 is 18 / 6
    found = imputation_error(
        np.array([[10.0], [5.0]]),
        np.array([[[9.0], [1.0]], [[12.0], [1.0]], [[15.0], [1.0]]]),
        np.array([[True], [False]]),
    )
    error = math.sqrt(4 + 3)
    assert astuple(found[0].rmse) == pytest.approx((error, error, error, 1))
    assert astuple(found[0].relative) == pytest.approx((10 * error, 10 * error, 10 * error, 1))


def test_true_values_and_more_noise() -> None:
    rng = np.random.default_rng(2)
    original, noise = rng.lognormal(size=(40, 3)), rng.normal(size=(5, 40, 3))
    replaced = np.ones(original.shape, dtype=np.bool_)
    for one in imputation_error(original, np.stack([original] * 5), replaced):
        assert one.rmse == one.relative == ErrorQuartiles(0, 0, 0, 40)
    medians = [
        [one.rmse.median for one in imputation_error(original, original + t * noise, replaced)] for t in (0.1, 0.2, 1)
    ]
    assert np.diff(medians, axis=0).min() > 0
    assert medians[1] == pytest.approx([2 * value for value in medians[0]])


def test_one_imputation_has_no_spread() -> None:
    found = imputation_error(np.array([[4.0]]), np.array([[[5.0]]]), np.array([[True]]))
    assert found[0].rmse.median == 1
    assert found[0].relative.median == 25


def test_true_values_of_zero() -> None:
    original = np.zeros((2, 1))
    found = imputation_error(original, np.array([[[0.0], [1.0]]]), np.array([[True], [True]]))
    assert found[0].rmse.cells == 2
    assert found[0].relative == ErrorQuartiles(0, 0, 0, 1)


def test_nothing_replaced() -> None:
    found = imputation_error(np.ones((3, 1)), np.ones((2, 3, 1)), np.zeros((3, 1), dtype=np.bool_))
    assert found[0].rmse.cells == 0
    assert math.isnan(found[0].rmse.smallest)
    assert imputation_error(np.ones((3, 0)), np.ones((2, 3, 0)), np.zeros((3, 0), dtype=np.bool_)) == ()


@pytest.mark.parametrize(
    ("original", "imputed", "replaced", "message"),
    [
        (np.ones((3, 1)), np.ones((0, 3, 1)), np.ones((3, 1)), "do not go with"),
        (np.ones((3, 1)), np.ones((3, 1)), np.ones((3, 1)), "do not go with"),
        (np.ones((3, 1)), np.ones((2, 2, 1)), np.ones((3, 1)), "do not go with"),
        (np.ones((3, 1)), np.ones((2, 3, 1)), np.ones((2, 1)), "do not go with"),
        (np.full((1, 1), np.inf), np.ones((1, 1, 1)), np.ones((1, 1)), "infinite"),
        (np.ones((1, 1)), np.full((1, 1, 1), np.inf), np.ones((1, 1)), "infinite"),
    ],
)
def test_bad_arguments(
    original: NDArray[np.float64], imputed: NDArray[np.float64], replaced: NDArray[np.float64], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        imputation_error(original, imputed, replaced.astype(np.bool_))
