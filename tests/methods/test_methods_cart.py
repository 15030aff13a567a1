"""Sequential trees: what a leaf gives, the Bayesian bootstrap, relations, categories, smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.methods.base import Drawn
from masktron.methods.cart import CartMethod
from masktron.synthesis import cart
from masktron.synthesis.bootstrap import bayesian_bootstrap


def made(
    values: NDArray[np.float64], seed: int = 0, nominal: list[bool] | None = None, **parameters: object
) -> Drawn:
    kinds = None if nominal is None else np.array(nominal)
    return CartMethod(**parameters).check().mask(values, np.random.default_rng(seed), nominal=kinds)  # type: ignore[arg-type]


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_every_value_is_one_of_the_file(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.lognormal(0, 3, size=(rng.integers(k, 60), 3))
    found = made(values, seed, k=k, smooth=False)
    for own, drawn in zip(values.T, found.values.T, strict=True):
        assert np.isin(drawn, own).all()
    smooth = made(values, seed, k=k)
    assert (smooth.values.min(axis=0) >= values.min(axis=0)).all()
    assert (smooth.values.max(axis=0) <= values.max(axis=0)).all()


@pytest.mark.parametrize("smooth", [True, False])
def test_leaves_hold_k_records(monkeypatch: pytest.MonkeyPatch, smooth: bool) -> None:
    smallest = []

    def spying(donors: NDArray[np.intp], *others: Any) -> NDArray[np.intp]:
        smallest.append(int(np.bincount(donors).min()))
        return bayesian_bootstrap(donors, *others)

    monkeypatch.setattr(cart, "bayesian_bootstrap", spying)
    made(np.random.default_rng(7).lognormal(size=(200, 4)), k=7, smooth=smooth)
    assert len(smallest) == 4
    assert 7 <= min(smallest) < 14


def test_smoothing_publishes_nobody_but_keeps_peaks() -> None:
    rng = np.random.default_rng(4)
    values = np.column_stack([rng.normal(size=400), np.where(rng.random(400) < 0.4, 0, rng.lognormal(size=400))])
    found = made(values).values
    assert not np.isin(found[:, 0], values[:, 0]).any()
    assert (found[:, 1] == 0).mean() == pytest.approx(0.4, abs=0.1)
    assert np.isin(found[found[:, 1] != 0, 1], values[:, 1]).mean() < 0.01
    assert found[:, 0].std() == pytest.approx(values[:, 0].std(), rel=0.15)


def test_smoothing_keeps_means_and_variances_of_small_leaves() -> None:
    rng = np.random.default_rng(10)
    group = np.repeat(np.arange(1_000.0), 6)
    own = 10 * group + rng.normal(size=6_000)
    zeros = np.where(rng.random(6_000) < 0.5, 0, rng.lognormal(3, 0.5, size=6_000))
    values = np.column_stack([group, own, zeros])
    found = made(values, nominal=[True, False, False], conditions=(0,)).values
    means = np.bincount(group.astype(int), own).repeat(6) / 6
    assert np.square(found[:, 1] - means).sum() == pytest.approx(np.square(own - means).sum(), rel=0.06)
    assert found[:, 2].mean() == pytest.approx(zeros.mean(), rel=0.04)
    assert not np.isin(found[:, 1:][found[:, 1:] != 0], values).any()


def test_bootstrap_draws_within_the_group_with_the_right_moments() -> None:
    generator = np.random.default_rng(2)
    donors = np.array([1, 0, 1, 2, 1, 0])
    drawn = np.array([2, 1, 1, 0, 1, 0] * 5)
    counts = []
    for _ in range(4_000):
        chosen = bayesian_bootstrap(donors, drawn, generator)
        assert (donors[chosen] == drawn).all()
        counts.append(np.bincount(chosen, minlength=6))
    counted = np.array(counts, dtype=np.float64)
    # group 1: 15 draws from 3 donors; the share of a donor has variance 2 / 36 (Dirichlet) and its count
    # 15 * (1/3)(2/3) * (15 + 3) / 4
    assert counted.mean(axis=0) == pytest.approx([5, 5, 5, 5, 5, 5], abs=0.25)
    assert counted[:, 0].var() == pytest.approx(15 * 2 / 9 * 18 / 4, rel=0.1)


def test_trees_carry_relations_that_are_not_linear() -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(-3, 3, size=2_000)
    values = np.column_stack([x, x**2 + rng.normal(0, 0.1, size=2_000)])
    found = made(values).values
    assert np.corrcoef(found[:, 0] ** 2, found[:, 1])[0, 1] > 0.99
    assert abs(np.corrcoef(found[:, 0], values[:, 0])[0, 1]) < 0.1


def test_categories_and_numbers_go_together() -> None:
    rng = np.random.default_rng(6)
    sector = rng.integers(0, 4, size=1_500)
    size = np.array([1e3, 5, 1e6, 1e2])[sector] * rng.uniform(1, 2, size=1_500)
    region = (sector % 2) * 3 + (rng.random(1_500) < 0.02)
    found = made(np.column_stack([sector, size, region]).astype(np.float64), nominal=[True, False, True]).values
    for code in range(4):
        low, high = size[sector == code].min(), size[sector == code].max()
        within = (found[found[:, 0] == code, 1] >= low) & (found[found[:, 0] == code, 1] <= high)
        assert within.mean() > 0.98
    assert ((found[:, 2] >= 3) == (found[:, 0] % 2 == 1)).mean() > 0.95
    assert np.bincount(found[:, 0].astype(int)) / 1_500 == pytest.approx(np.full(4, 0.25), abs=0.06)


def test_a_total_is_computed_from_its_parts() -> None:
    rng = np.random.default_rng(8)
    parts = rng.lognormal(3, 1, size=(300, 2))
    values = np.column_stack([parts, parts.sum(axis=1), 5 - parts[:, 0]])
    found = made(values).values
    assert np.abs(found[:, 0] + found[:, 1] - found[:, 2]).max() < 1e-9 * found.max()
    assert np.abs(5 - found[:, 0] - found[:, 3]).max() < 1e-9 * found.max()
    again = made(values, order=(2, 3), smooth=False).values
    assert np.isin(again[:, 2], values[:, 2]).all()
    assert np.abs(again[:, 0] + again[:, 1] - again[:, 2]).max() < 1e-9 * found.max()


def test_few_values_are_no_relation() -> None:
    # three different records: a line through two values of the first would leave those of the second
    values = np.repeat([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]], 10, axis=0)
    found = made(values, order=(2, 1), smooth=False).values
    assert np.isin(found, [0.0, 1.0]).all()


def test_large_numbers_and_constants() -> None:
    rng = np.random.default_rng(9)
    values = np.column_stack([rng.normal(size=40) * 1e300, np.full(40, 0.1), rng.normal(size=40) * 1e-300])
    for smooth in (False, True):
        found = made(values, smooth=smooth).values
        assert np.isfinite(found).all()
        assert (found[:, 1] == 0.1).all()


def test_trees_grow_on_numbers_whose_squares_overflow() -> None:
    rng = np.random.default_rng(3)
    x = rng.random((400, 4))
    values = np.column_stack([x, 1e300 * (x[:, 0] > 0.5) + 1e299 * rng.random(400)])
    found = made(values, k=40).values
    assert ((found[:, 4] > 5e299) == (found[:, 0] > 0.5)).mean() > 0.97
