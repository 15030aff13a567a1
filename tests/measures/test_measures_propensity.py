"""Propensity scores: shares of tables, nulls by simulation, moments kept exactly, and what cannot be fitted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.kernels import logistic as kernel
from masktron.kernels.mdav import mdav
from masktron.kernels.standardise import standardised
from masktron.measures import pmse, pmse_cart
from masktron.measures.propensity import Terms

RNG = np.random.default_rng(17)
SKEWED = RNG.gamma(2.0, size=(400, 4)) @ (np.eye(4) + 0.3 * RNG.random((4, 4)))
NOISE = RNG.normal(size=SKEWED.shape) * SKEWED.std(0)
BOTH: tuple[Terms, ...] = ("squares", "cubic")


def by_cells(original: NDArray[np.float64], masked: NDArray[np.float64]) -> float:
    """The value where there is a parameter for each distinct row: scores are the shares of masked rows."""
    _, cell = np.unique(np.concatenate([original, masked]), axis=0, return_inverse=True)
    n = len(original)
    share = np.bincount(cell[n:], minlength=cell.max() + 1) / np.bincount(cell)
    return float(np.mean((share[cell] - 0.5) ** 2))


def microaggregated(original: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    group = mdav(standardised(original), k)
    return np.array([original[group == own].mean(axis=0) for own in range(group.max() + 1)])[group]


def with_moments_of(original: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Normal records with the very means and covariances."""
    drawn = rng.normal(size=original.shape)
    drawn -= drawn.mean(axis=0)
    root = np.linalg.cholesky(np.cov(drawn.T))
    return original.mean(axis=0) + np.linalg.solve(root, drawn.T).T @ np.linalg.cholesky(np.cov(original.T)).T


@pytest.mark.parametrize(
    ("levels", "variables", "terms"),
    [(2, 1, "squares"), (2, 2, "squares"), (3, 1, "squares"), (2, 3, "cubic"), (4, 1, "cubic")],
)
def test_tables_have_the_shares_of_their_cells(levels: int, variables: int, terms: Terms) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        original, masked = rng.integers(0, levels, size=(2, int(rng.integers(1, 40)), variables)).astype(np.float64)
        found = pmse(original, masked, terms)
        assert found.value == pytest.approx(by_cells(original, masked), abs=1e-8)
        # few records leave cells without one of the files: a limit, no estimate
        assert found.converged


@given(seed=st.integers(0, 10**6), n=st.integers(0, 50), p=st.integers(0, 5), terms=st.sampled_from(BOTH))
def test_any_files(seed: int, n: int, p: int, terms: Terms) -> None:
    """Ties, constants, duplicates, missing values, exact relations: no warning, and what does not depend on them."""
    rng = np.random.default_rng(seed)
    original, masked = rng.integers(0, rng.integers(1, 9), size=(2, n, p)).astype(np.float64)
    for values in (original, masked):
        values[rng.random((n, p)) < rng.choice([0, 0.2])] = np.nan
    if p > 2:
        original[:, 2], masked[:, 2] = (values[:, 0] + values[:, 1] for values in (original, masked))
    found = pmse(original, masked, terms)
    assert found.converged
    assert 0 <= found.value <= 0.25
    assert found.parameters < max(2 * n, 1)
    assert found.null_halves == 2 * found.null_synthesis == (found.parameters / (8 * n) if n else 0)
    assert found.value == pytest.approx(found.ratio * found.null_synthesis)
    order, columns = rng.permutation(n), rng.permutation(p)
    scale, shift = 10.0 ** rng.integers(-3, 9, p), rng.integers(-5, 5, p)
    others = [
        pmse(masked, original, terms),
        pmse(original[order][:, columns], masked[rng.permutation(n)][:, columns], terms),
        pmse(original * scale * -1 + shift, masked * scale * -1 + shift, terms),
    ]
    for other in others:
        assert other.parameters == found.parameters
        assert other.value == pytest.approx(found.value, abs=1e-7)
    same = pmse(original, original, terms)
    assert (same.value, same.ratio, same.certain) == (0, 0, 0)


@pytest.mark.parametrize("terms", BOTH)
def test_more_noise_is_seen_better(terms: Terms) -> None:
    values = [pmse(SKEWED, SKEWED + size * NOISE, terms).value for size in (0, 0.1, 0.3, 0.6, 1, 2)]
    assert values == sorted(values)
    assert values[0] == 0
    assert values[1] < 0.01
    assert 0.05 < values[-1] < 0.25


def test_nothing_and_almost_nothing() -> None:
    for shape in ((0, 3), (5, 0), (0, 0)):
        found = pmse(np.empty(shape), np.empty(shape))
        assert (found.value, found.null_synthesis, found.ratio, found.parameters) == (0, 0, 0, 0)
        cart = pmse_cart(np.empty(shape), np.empty(shape))
        assert (cart.value, cart.null, cart.ratio) == (0, 0, 0)
    one = pmse(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]]))
    assert (one.value, one.null_synthesis, one.parameters, one.certain) == (0.25, 1 / 16, 1, 100)
    two = pmse(np.array([[1.0], [2.0]]), np.array([[2.0], [3.0]]))
    # scores 0, 1/2, 1/2, 1
    assert two.value == pytest.approx(1 / 8, abs=1e-8)
    assert two.certain == 50


def test_constants_tell_only_where_they_were_changed() -> None:
    constant = np.full((30, 1), 0.1)
    varying = RNG.normal(size=(30, 1))
    assert pmse(np.hstack([constant, varying]), np.hstack([constant, varying[::-1]])).parameters == 2
    assert pmse(constant, constant + 1).value == 0.25
    # its square is constant over both files: nothing but the rounding of the mean
    assert pmse(constant, constant + 1).parameters == 1


def test_missing_values_are_a_main_effect() -> None:
    original = np.repeat([0.0, 1.0, np.nan], [10, 20, 10])[:, None]
    masked = np.repeat([0.0, 1.0, np.nan], [20, 10, 10])[:, None]
    found = pmse(original, masked)
    # 0, 1 and missing are three cells, for which there are the variable, its square and the gap
    assert found.parameters == 2
    assert found.value == pytest.approx(60 / 80 * (1 / 6) ** 2, abs=1e-9)
    assert pmse(np.full((9, 1), np.nan), np.full((9, 1), np.nan)).parameters == 0
    assert pmse(np.full((9, 1), np.nan), np.ones((9, 1))).value == 0.25


def test_an_exact_relation_changes_nothing_and_a_broken_one_tells_every_record() -> None:
    masked = SKEWED + 0.3 * NOISE

    def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([values, values[:, 0] + values[:, 1], values[:, 2] * 1e6 - 3])

    for terms in BOTH:
        plain, related = pmse(SKEWED, masked, terms), pmse(summed(SKEWED), summed(masked), terms)
        assert related.parameters == plain.parameters
        assert related.dropped > plain.dropped == 0
        assert related.value == pytest.approx(plain.value, abs=1e-9)
    rounding = summed(masked) * (1 + 1e-12 * RNG.normal(size=(400, 6)))
    assert pmse(summed(SKEWED), rounding).value == pytest.approx(pmse(SKEWED, masked).value, abs=1e-7)
    broken = summed(masked)
    broken[:, 4] += RNG.choice([-0.01, 0.01], 400)
    found = pmse(summed(SKEWED), broken)
    assert (found.value, found.certain, found.converged) == (0.25, 100, True)


def test_as_many_terms_as_rows() -> None:
    original = RNG.normal(size=(6, 5))
    found = pmse(original, original + 0.1)
    assert (found.value, found.parameters, found.dropped) == (0.25, 11, 9)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
def test_absurd_scales(scale: float) -> None:
    masked = SKEWED + 0.3 * NOISE
    assert pmse(SKEWED * scale, masked * scale).value == pytest.approx(pmse(SKEWED, masked).value, rel=1e-9)


def test_moments_kept_exactly_are_seen_by_the_companions_alone() -> None:
    """Woo et al.'s terms see means and covariances, and nothing of a normal file in the place of a skewed one."""
    original = np.exp(RNG.normal(size=(1000, 3)))
    masked = with_moments_of(original, RNG)
    squares, cubic, cart = pmse(original, masked), pmse(original, masked, "cubic"), pmse_cart(original, masked)
    assert squares.value == pytest.approx(0, abs=1e-18)
    assert squares.certain == 0
    assert cubic.value > 0.02
    assert cubic.ratio > 15
    assert cart.value > 0.1
    assert cart.ratio > 5


def test_cubes_alone_where_there_are_many_variables() -> None:
    original = RNG.normal(size=(300, 8))
    counts = {p: pmse(original[:, :p], original[::-1, :p], "cubic").parameters for p in (7, 8)}
    assert counts == {7: 119, 8: 8 + 36 + 8}


@pytest.mark.full
@pytest.mark.parametrize("terms", BOTH)
def test_two_random_halves_have_the_null_of_halves(terms: Terms) -> None:
    rng = np.random.default_rng(5)
    people = rng.gamma(2.0, size=(2000, 4)) @ (np.eye(4) + 0.3 * rng.random((4, 4)))
    values = []
    for _ in range(200):
        order = rng.permutation(2000)
        found = pmse(people[order[:1000]], people[order[1000:]], terms)
        assert found.null_halves == found.parameters / 8000  # N counts both files
        values.append(found.value / found.null_halves)
    assert np.mean(values) == pytest.approx(1, abs=0.1)


@pytest.mark.full
@pytest.mark.parametrize("terms", BOTH)
def test_resampled_synthetic_data_have_the_null_of_synthesis(terms: Terms) -> None:
    rng = np.random.default_rng(6)
    people = rng.gamma(2.0, size=(1000, 4)) @ (np.eye(4) + 0.3 * rng.random((4, 4)))
    ratios = [pmse(people, people[rng.integers(0, 1000, 1000)], terms).ratio for _ in range(200)]
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


@pytest.mark.full
def test_the_tree_of_permuted_labels_has_the_null_of_halves() -> None:
    rng = np.random.default_rng(7)
    people = rng.gamma(2.0, size=(1000, 4))
    ratios = []
    for seed in range(20):
        order = rng.permutation(1000)
        ratios.append(pmse_cart(people[order[:500]], people[order[500:]], seed=seed).ratio)
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


def test_a_tree_of_one_split() -> None:
    original, masked = np.repeat([0.0, 1.0], [60, 40])[:, None], np.repeat([0.0, 1.0], [30, 70])[:, None]
    found = pmse_cart(original, masked)
    assert found.value == pytest.approx(by_cells(original, masked))
    assert found.permutations == 20
    assert found.ratio == pytest.approx(found.value / found.null)
    # leaves of 20 rows at least: 19 rows of their own are not seen
    for few, value in ((19, 0), (20, by_cells)):
        rare = np.repeat([0.0, 1.0], [100 - few, few])[:, None]
        expected = value(np.zeros((100, 1)), rare) if callable(value) else value
        assert pmse_cart(np.zeros((100, 1)), rare).value == pytest.approx(expected)


def test_the_tree_sees_ranks() -> None:
    masked = SKEWED + 0.3 * NOISE
    found = pmse_cart(SKEWED, masked)
    assert pmse_cart(np.exp(SKEWED), np.exp(masked)) == found
    assert pmse_cart(SKEWED, SKEWED).value == pmse_cart(SKEWED, SKEWED[::-1]).value == 0
    # equal in single precision
    assert pmse_cart(np.full((50, 1), 1e9), np.full((50, 1), 1e9 + 1)).value == 0.25
    gaps = SKEWED.copy()
    gaps[:200, 0] = np.nan
    assert pmse_cart(SKEWED, gaps).value > 0.05
    assert pmse_cart(gaps, gaps).value == 0


def test_the_tree_is_seeded() -> None:
    masked = SKEWED + 0.3 * NOISE
    assert pmse_cart(SKEWED, masked, seed=3) == pmse_cart(SKEWED, masked, seed=3)
    assert pmse_cart(SKEWED, masked, seed=3).null != pmse_cart(SKEWED, masked, seed=4).null
    values = [pmse_cart(SKEWED, SKEWED + size * NOISE).value for size in (0, 0.3, 2)]
    assert values == sorted(values)


@pytest.mark.parametrize("measure", [pmse, pmse_cart])
def test_a_sample_has_the_same_respondents_of_both_files(measure: Callable[..., object]) -> None:
    masked = SKEWED + 0.3 * NOISE
    chosen = np.sort(np.random.default_rng(9).choice(400, 150, replace=False))
    assert measure(SKEWED, masked, sample=150, seed=9) == measure(SKEWED[chosen], masked[chosen], seed=9)
    assert measure(SKEWED, masked, sample=400, seed=9) == measure(SKEWED, masked, sample=None, seed=9)


@pytest.mark.parametrize("seed", range(6))
def test_cells_that_only_masking_made_missing(seed: int) -> None:
    """They separate a few records, in whose directions rounding would go on for ever."""
    generator = np.random.default_rng(seed)
    original = np.exp(0.1 * generator.normal(size=(40, 4)))
    original[:, 2] = original[:, 0] + original[:, 1]
    masked = original + 1e-9 * generator.normal(size=original.shape)
    masked[generator.random(masked.shape) < 0.1] = np.nan
    found = pmse(original, masked)
    assert found.converged
    assert 0 < found.certain < 100


def test_an_unfinished_regression_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_STEPS", 1)
    assert not pmse(SKEWED, SKEWED + NOISE).converged


def test_reference_data(shared_data: Path) -> None:
    """Diabetes and census of model-based hybrid (2012), as far as plain microaggregation goes."""
    diabetes = pd.read_csv(shared_data / "diabetes_reaven_miller.csv")[["glucose", "insulin", "sspg"]].to_numpy(float)
    assert pmse(diabetes, microaggregated(diabetes, 5)).value == pytest.approx(10.8e-3, abs=0.05e-3)
    census = pd.read_csv(shared_data / "census.csv")
    three = census[["AGI", "EMCONTRB", "FEDTAX"]].to_numpy(float)
    assert 6.9e-3 <= round(pmse(three, microaggregated(three, 10)).value, 4) <= 16.7e-3
    every = census.to_numpy(float)
    # PTOTVAL = POTHVAL + PEARNVAL, which means keep: 14 of 104 terms are given by others
    kept = pmse(every, microaggregated(every, 5))
    assert (kept.parameters, kept.dropped, kept.converged) == (90, 14, True)
    assert 0.05 < kept.value < 0.2
    # and noise does not
    noisy = every + 0.15 * every.std(0) * RNG.normal(size=every.shape)
    assert (pmse(every, noisy).value, pmse(every, noisy).dropped) == (0.25, 0)
