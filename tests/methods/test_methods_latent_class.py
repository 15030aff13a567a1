"""Latent classes: shares, moments, and what relates categories with each other and with numbers."""

from __future__ import annotations

import numpy as np
import pytest

from examples import spread
from masktron.methods.base import Drawn
from masktron.methods.latent_class import LatentClassMethod
from ugly_files import moments_differ, ugly

NOMINAL = np.array([False, True, False, True])


def mixed(n: int = 400, seed: int = 0) -> np.ndarray:
    """Two numbers and two categories that three classes relate."""
    generator = np.random.default_rng(seed)
    which = generator.integers(0, 3, n)
    job = np.where(generator.random(n) < 0.9, which, generator.integers(0, 3, n)) + 4.0
    region = np.where(generator.random(n) < 0.9, 10.0 * (which == 2), 20.0)
    pay = 5.0 * which + generator.normal(size=n)
    return np.column_stack([pay, job, 3 * pay + generator.normal(size=n), region])


def masked(values: np.ndarray, nominal: np.ndarray | None = NOMINAL, seed: int = 0, **parameters: object) -> Drawn:
    method = LatentClassMethod(**parameters).check()  # type: ignore[arg-type]
    return method.mask(values, np.random.default_rng(seed), nominal=nominal)


def association(one: np.ndarray, other: np.ndarray) -> float:
    """Cramer's V."""
    rows, columns = (np.unique(codes, return_inverse=True)[1] for codes in (one, other))
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / (min(table.shape) - 1)))


def explained(numbers: np.ndarray, codes: np.ndarray) -> float:
    """Share of the variance that lies between categories."""
    means = {code: numbers[codes == code].mean() for code in np.unique(codes)}
    return float(np.var([means[code] for code in codes]) / numbers.var())


def keeps_what_it_declares(seed: int) -> None:
    generator = np.random.default_rng(seed)
    numbers = ugly(seed, 14)
    n = len(numbers)
    rare = np.where(np.arange(n) == 0, 7.0, generator.integers(0, 2, n))
    values = np.column_stack([numbers[:, :3], rare, np.ones(n), numbers[:, 3:]])
    nominal = np.array([False, False, False, True, True, False, False])
    drawn = masked(values, nominal, seed)
    assert drawn.labels is not None
    for label in range(int(drawn.labels.max()) + 1):
        own = drawn.labels == label
        assert moments_differ(values[own][:, ~nominal], drawn.values[own][:, ~nominal]) < 1e-9
        for column in np.flatnonzero(nominal):
            assert sorted(values[own, column]) == sorted(drawn.values[own, column])
    assert np.bincount(drawn.labels).min() >= 5


@pytest.mark.parametrize("seed", spread(range(3), every=3))
def test_ugly_files(seed: int) -> None:
    keeps_what_it_declares(seed)


@pytest.mark.full
def test_many_ugly_files() -> None:
    for seed in range(3, 200):
        keeps_what_it_declares(seed)


@pytest.mark.full
@pytest.mark.parametrize("exact", [True, False])
def test_what_relates_the_variables_stays(exact: bool) -> None:
    values = mixed()
    drawn = masked(values, exact=exact).values
    assert association(drawn[:, 1], drawn[:, 3]) == pytest.approx(association(values[:, 1], values[:, 3]), abs=0.1)
    assert association(values[:, 1], values[:, 3]) > 0.5
    for code in (1, 3):
        was = explained(values[:, 0], values[:, code])
        assert was > 0.3
        assert explained(drawn[:, 0], drawn[:, code]) == pytest.approx(was, abs=0.1)
    shares = [np.unique(one[:, 1], return_counts=True)[1] / 400 for one in (values, drawn)]
    assert shares[1] == pytest.approx(shares[0], abs=1e-12 if exact else 0.06)
    assert set(np.unique(drawn[:, 3])) <= {0.0, 10.0, 20.0}


def test_a_single_class_would_lose_it() -> None:
    values = mixed()
    drawn = masked(values, fewest=1, most=1).values
    assert association(drawn[:, 1], drawn[:, 3]) < 0.15
    assert explained(drawn[:, 0], drawn[:, 1]) < 0.05


@pytest.mark.full
def test_categories_are_drawn_anew() -> None:
    values = mixed()
    drawn = masked(values).values
    assert 0.02 < (drawn[:, 1] != values[:, 1]).mean() < 0.9


def test_categories_alone() -> None:
    values = mixed()[:, [1, 3]]
    drawn = masked(values, np.ones(2, dtype=bool))
    assert association(*drawn.values.T) == pytest.approx(association(*values.T), abs=0.12)
    assert sorted(drawn.values[:, 0]) == sorted(values[:, 0])


@pytest.mark.full
def test_names_of_categories_do_not_matter() -> None:
    values = mixed(200)
    other = values.copy()
    other[:, 1] = 1000 - values[:, 1]
    assert (masked(other).values[:, 0] == masked(values).values[:, 0]).mean() > 0.99


@pytest.mark.full
def test_without_categories_it_is_a_mixture_of_numbers() -> None:
    values = mixed(200)[:, [0, 2]]
    drawn = masked(values, None)
    assert moments_differ(values, drawn.values) < 1e-9
