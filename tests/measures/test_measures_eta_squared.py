"""Eta squared against pandas, scikit-learn's F test and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import f_classif

from masktron.measures import eta_squared


@pytest.mark.parametrize("seed", range(12))
def test_pandas_and_scikit_learn_find_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, scale = int(rng.integers(12, 200)), rng.choice([1e-200, 1.0, 1e200])
    codes = rng.integers(-1, 4, n).astype(np.int32)
    values = scale * (codes * rng.choice([0.0, 0.5, 3.0]) + rng.normal(50, 1, n))
    values[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame({"x": values / scale, "c": codes})[~np.isnan(values) & (codes >= 0)]
    means = frame.groupby("c").x.transform("mean")
    found = eta_squared(values, codes)
    assert found.share == pytest.approx(100 * means.var(ddof=0) / frame.x.var(ddof=0), abs=1e-9)
    assert found.p_value == pytest.approx(f_classif(frame[["x"]], frame.c)[1][0], rel=1e-6)


def test_weights_are_repetitions() -> None:
    rng = np.random.default_rng(1)
    codes, times = rng.integers(0, 3, 80), rng.integers(1, 9, 80)
    values = codes + rng.normal(size=80)
    weighted = eta_squared(values, codes, times / 7)
    assert weighted.share == pytest.approx(eta_squared(np.repeat(values, times), np.repeat(codes, times)).share)
    assert weighted.share != pytest.approx(eta_squared(values, codes).share, abs=0.1)
    equal = eta_squared(values, codes, np.full(80, 3.0))
    assert (equal.share, equal.p_value) == pytest.approx(
        (eta_squared(values, codes).share, eta_squared(values, codes).p_value)
    )


def test_corners() -> None:
    categories = np.array([0, 0, 1, 1])
    assert eta_squared(np.array([1.0, 1, 5, 5]), categories).share == 100
    assert eta_squared(np.array([1.0, 5, 1, 5]), categories).share == 0
    alone = eta_squared(np.arange(4.0), np.arange(4))
    assert alone.share == pytest.approx(100) and math.isnan(alone.p_value)
    for values, codes in (
        (np.ones(4), categories),
        (np.arange(4.0), np.zeros(4, dtype=np.intp)),
        (np.full(4, np.nan), categories),
    ):
        assert math.isnan(eta_squared(values, codes).share)
