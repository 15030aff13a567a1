"""Log-linear risk: fits against maximum likelihood, sums against populations that were drawn."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import poisson

from masktron.measures.keys import individual_risk, key_frequencies, log_linear, log_linear_risk


@pytest.mark.parametrize("f", [1, 2, 3, 40, 700])
@pytest.mark.parametrize("h", [0.0, 1e-9, 0.3, 1.0, 7.0, 300.0])
def test_mean_of_one_over_a_size(f: int, h: float) -> None:
    others = np.arange(2000)
    exact = (poisson.pmf(others, h) / (f + others)).sum()
    found = float(log_linear.mean_inverse(np.array([float(f)]), np.array([h]))[0])
    assert found == pytest.approx(exact, rel=1e-10)
    drawn = 1 / (f + np.random.default_rng(5).poisson(h, 40_000))
    assert abs(drawn.mean() - found) <= 5 * drawn.std() / 200 + 1e-9


def test_main_effects_are_products_of_weighted_shares() -> None:
    rng = np.random.default_rng(0)
    keys = [rng.integers(0, size, 60) for size in (3, 4, 5)]
    weights = rng.uniform(1, 20, 60)
    rows = list(zip(*(key.tolist() for key in keys), strict=True))
    expected = tau1 = 0.0
    for row in rows:
        like = np.array([other == row for other in rows])
        share = np.prod([weights[key == value].sum() for key, value in zip(keys, row, strict=True)])
        unseen = (1 - like.sum() / weights[like].sum()) * share / weights.sum() ** 2
        masses = poisson.pmf(np.arange(3000), unseen)
        expected += float((masses / (like.sum() + np.arange(3000))).sum())
        tau1 += float(masses[0]) if like.sum() == 1 else 0.0
    found = log_linear_risk(keys, weights, pairs=())
    assert (found.expected, found.tau1, found.records) == pytest.approx((expected, tau1, 60))


def likeliest(table: NDArray[np.float64], pairs: log_linear.KeyPairs) -> NDArray[np.float64]:
    """Fit by maximum likelihood: a parameter for each value of a key, and for each pair of values."""
    cells = list(product(*map(range, table.shape)))
    margins = [(axis,) for axis in range(table.ndim)] + list(pairs)
    columns = sorted({(axes, tuple(cell[at] for at in axes)) for axes in margins for cell in cells})
    design = np.array([[tuple(cell[at] for at in axes) == own for axes, own in columns] for cell in cells], float)

    def loss(beta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        fitted = np.exp(design @ beta)
        return float(fitted.sum() - table.ravel() @ design @ beta), design.T @ (fitted - table.ravel())

    best = minimize(loss, np.full(len(columns), 0.1), jac=True, method="BFGS", options={"gtol": 1e-7})
    return np.exp(design @ best.x).reshape(table.shape)


@pytest.mark.parametrize("pairs", [((0, 1),), ((0, 1), (1, 2), (0, 2))])
def test_fits_are_those_of_maximum_likelihood(pairs: log_linear.KeyPairs) -> None:
    table = np.random.default_rng(3).integers(1, 30, size=(3, 4, 2)).astype(np.float64)
    fitted, chosen = log_linear._with_pairs(table, table, 0.5, pairs)
    assert chosen == pairs
    assert fitted == pytest.approx(likeliest(table, pairs), rel=1e-4)


def test_minimum_error_by_numerical_derivatives() -> None:
    rng = np.random.default_rng(1)
    counts, fitted, fraction = rng.integers(0, 4, size=(3, 5)), rng.uniform(1e-4, 60, size=(3, 5)), 0.05
    table = counts / fraction

    def inverse(mean: float) -> float:
        return float((1 - np.exp(-(1 - fraction) * mean)) / ((1 - fraction) * mean))

    terms = []
    for f, mean in zip(counts.ravel(), fitted.ravel(), strict=True):
        step = mean * 1e-3
        slope = (inverse(mean + step) - inverse(mean - step)) / (2 * step)
        bend = (inverse(mean + step) - 2 * inverse(mean) + inverse(mean - step)) / step**2
        off = f / fraction - mean
        error = bend * (off**2 - f / fraction**2) / 2 - slope * off
        terms.append(fraction * mean * np.exp(-fraction * mean) * error)
    exact = sum(terms) / np.sqrt(np.square(terms).sum())
    assert log_linear.minimum_error(table, counts.astype(float), fitted, fraction) == pytest.approx(exact, rel=1e-3)


def drawn(rng: np.random.Generator, dependent: bool) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """Draw a population of 30,000, and of these 1,500; return their keys and how many share them in all."""
    first = rng.choice(12, 30_000, p=rng.dirichlet(np.full(12, 2.0)))
    noise, other = rng.integers(0, 12, 30_000), rng.choice(60, 30_000, p=rng.dirichlet(np.full(60, 2.0)))
    second = np.where(rng.random(30_000) < 0.8, first, noise) if dependent else noise
    keys = [first, second, other]
    cells = np.ravel_multi_index(tuple(keys), (12, 12, 60))
    sizes = np.bincount(cells)[cells]
    rows = rng.choice(30_000, 1500, replace=False)
    return [key[rows] for key in keys], sizes[rows].astype(float)


def test_re_identifications_of_drawn_populations() -> None:
    """Means over samples: the model is near the truth, and its pair is found where there is one."""
    for dependent in (False, True):
        rng, sums, pairs = np.random.default_rng(11), np.zeros(3), []
        for _ in range(12):
            keys, sizes = drawn(rng, dependent)
            found = log_linear_risk(keys, np.full(1500, 20.0))
            by_weights = individual_risk(key_frequencies(keys, np.full(1500, 20.0))).sum()
            sums += (1 / sizes).sum(), found.expected, by_weights
            pairs.append(found.pairs)
        assert sums[1] / sums[0] == pytest.approx(1, abs=0.12)
        assert abs(sums[2] / sums[0] - 1) > 0.2, "what the weights alone say is not"
        expected = ((0, 1),) if dependent else ()
        assert sum(one == expected for one in pairs) >= 10, pairs


def test_what_a_census_shows_is_sure() -> None:
    found = log_linear_risk([np.array([0, 1, 1, 2, 3])])
    assert (found.expected, found.tau1, found.tau2, found.pairs) == (4, 3, 3, ())


def test_combinations_with_their_sizes_are_the_same_as_records() -> None:
    rng = np.random.default_rng(2)
    keys = [rng.integers(0, size, 500) for size in (9, 9, 12)]
    keys[1] = np.where(rng.random(500) < 0.8, keys[0], keys[1])
    weights = np.full(500, 6.0)
    rows, which, counts = np.unique(np.column_stack(keys), axis=0, return_inverse=True, return_counts=True)
    sizes, sums = counts.astype(float), np.bincount(which.ravel(), weights)
    of_records = log_linear_risk(keys, weights)
    frequencies = log_linear.KeyFrequencies(sizes, sums)
    of_sizes = log_linear_risk(list(rows.T), sums, frequencies=frequencies, sizes=sizes)
    assert of_records.pairs == of_sizes.pairs == ((0, 1),)
    assert of_sizes.expected == pytest.approx(of_records.expected)


def test_a_record_that_lacks_a_key_may_be_anybody_with_the_others() -> None:
    rng = np.random.default_rng(4)
    keys = [rng.integers(0, 3, 200), rng.integers(0, 4, 200)]
    keys[1] = np.where(rng.random(200) < 0.6, keys[0], keys[1])
    keys[1][0] = -1
    for pairs in ((), ((0, 1),)):
        fitted, _ = log_linear._fitted(keys, np.full(200, 5.0), np.ones(200), pairs)
        # the margin of the first key, of the records that have both or, by main effects, of all
        usable = slice(1, None) if pairs else slice(None)
        assert fitted[0] == pytest.approx(1000 * np.mean(keys[0][usable] == keys[0][0]))


def test_bounds() -> None:
    many = [np.arange(300), np.arange(300), np.arange(300)]
    assert log_linear_risk(many, np.full(300, 2.0)).pairs == ()
    nothing = log_linear_risk([np.array([], dtype=np.int32)])
    assert (nothing.expected, str(nothing.mean)) == (0, "nan")
    assert log_linear_risk([np.array([-1]), np.array([-1])], np.array([5.0])).expected == pytest.approx(
        (1 - np.exp(-4)) / 4
    ), "one of five, of whom nothing is known"


def test_a_unique_of_rare_values_and_two_by_chance() -> None:
    """The example of docs/keys.md: margins 60, 38, 2 and 70, 28, 2."""
    cells = {"Na": 47, "Nb": 13, "Sa": 22, "Sb": 15, "Sc": 1, "Xa": 1, "Xc": 1}
    rows = [key for key, many in cells.items() for _ in range(many)]
    keys = [np.array(["NSX".index(row[0]) for row in rows]), np.array(["abc".index(row[1]) for row in rows])]
    found = log_linear_risk(keys, np.full(100, 10.0), pairs=())
    assert found.tau1 == pytest.approx(sum(np.exp(-9 * mu) for mu in (2 * 2 / 100, 38 * 2 / 100, 2 * 70 / 100)))
    assert round(found.tau1, 2) == 0.70


def drawn_keys(seed: int, *, tied: bool) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Draw a sample of a tenth by four keys, of which the second is the first in four of five people, or is not."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 12, 1500)
    second = np.where(generator.random(1500) < (0.8 if tied else 0), first, generator.integers(0, 12, 1500))
    return [first, second, *generator.integers(0, 9, (2, 1500))], np.full(1500, 10.0)


def test_only_pairs_that_belong_together_are_fitted() -> None:
    for seed in range(5):
        assert log_linear_risk(*drawn_keys(seed, tied=False)).pairs == ()
        assert log_linear_risk(*drawn_keys(seed, tied=True)).pairs[0] == (0, 1)


def test_an_interaction_has_to_earn_its_parameters() -> None:
    """Any interaction raises the likelihood; 121 parameters for nothing do not lower Akaike's criterion."""
    keys, _ = drawn_keys(1, tied=False)
    table = np.zeros((12, 12, 9, 9))
    np.add.at(table, tuple(keys), 1)
    margins = [table.sum(axis=tuple(at for at in range(4) if at != own), keepdims=True) for own in range(4)]
    independent = math.prod(margins[1:], start=margins[0]) / 1500**3
    assert log_linear._associated(table, independent) == ()
