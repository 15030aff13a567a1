"""Draws from normal models: their moments over many draws, against what theory says of them."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.arrays import Floats
from masktron.synthesis.imputation import imputed, normal
from masktron.synthesis.regression import regress


def repeated(times: int, size: int = 12) -> tuple[Floats, Floats]:
    """One group many times: three confidential variables, the last the sum of the others, and a kept one."""
    generator = np.random.default_rng(5)
    kept = generator.normal(size=(size, 1))
    two = generator.normal(size=(size, 2)) * [1.0, 300.0] + kept * [2.0, -100.0]
    known = np.column_stack([two, two.sum(axis=1)])
    return np.repeat(known[None], times, axis=0), np.repeat(kept[None], times, axis=0)


def covariances(values: Floats) -> Floats:
    """Covariances with divisor n of each group, shape (g, p, p)."""
    centred = values - values.mean(axis=1, keepdims=True)
    return np.matrix_transpose(centred) @ centred / values.shape[1]


def test_normal_draws_keep_means_and_covariances_on_average() -> None:
    known, kept = repeated(20_000)
    drawn = normal(regress(known, kept), np.random.default_rng(1))
    before = covariances(np.concatenate([known, kept], axis=2))[0]
    after = covariances(np.concatenate([drawn, kept], axis=2))
    error = after.std(axis=0) / np.sqrt(len(after))
    assert (np.abs(after.mean(axis=0) - before) <= 5 * error + 1e-12).all()
    means = drawn.mean(axis=1)
    assert (np.abs(means.mean(axis=0) - known[0].mean(axis=0)) < 5 * means.std(axis=0) / np.sqrt(len(means))).all()


@pytest.mark.full
def test_imputed_residuals_have_the_expectation_of_the_posterior() -> None:
    """E[Sigma] = E'E / (m - r - 1), with m = 10 degrees of freedom and rank r = 2."""
    known, kept = repeated(40_000)
    regression = regress(known, kept)
    drawn = imputed(regression, np.random.default_rng(2))
    residuals = known[0] - regression.values(np.zeros_like(known))[0]
    sigma = residuals.T @ residuals / (10 - 2 - 1)
    basis = regression.basis
    left_over = drawn - basis @ (np.matrix_transpose(basis) @ drawn)
    after = np.matrix_transpose(left_over) @ left_over / 10
    error = after.std(axis=0) / np.sqrt(len(after))
    assert (np.abs(after.mean(axis=0) - sigma) < 5 * error).all()
    # in each direction of [1, Y] coefficients vary with Sigma, and so do the records about them
    around = np.matrix_transpose(basis) @ (drawn - regression.values(np.zeros_like(known)))
    for direction in range(2):
        one = around[:, direction]
        each = one[:, :, None] * one[:, None, :]
        assert (np.abs(each.mean(axis=0) - 2 * sigma) < 5 * each.std(axis=0) / np.sqrt(len(each))).all()


def test_a_group_of_lower_rank_draws_as_it_would_alone() -> None:
    """Beside groups of rank 3 the Wishart draw of a group of rank 1 has one dimension; E[Sigma] shows it."""
    generator = np.random.default_rng(7)
    low = generator.normal(size=(9, 1)) * [1.0, -2.0, 4.0]
    high = generator.normal(size=(9, 3))
    known = np.concatenate([np.repeat(low[None], 40_000, axis=0), np.repeat(high[None], 10, axis=0)])
    regression = regress(known, np.empty((len(known), 9, 0)))
    assert regression.rank.tolist()[0] == 1
    assert regression.rank.tolist()[-1] == 3
    drawn = imputed(regression, np.random.default_rng(3))[:40_000]
    after = covariances(drawn)[:, 0, 0] * 9 / 8
    expected = np.square(low[:, 0] - low[:, 0].mean()).sum() / (8 - 1 - 1)
    assert abs(after.mean() - expected) < 5 * after.std() / np.sqrt(len(after))


def test_exact_relations_are_kept_by_both() -> None:
    known, kept = repeated(50)
    for draw in (normal, imputed):
        drawn = draw(regress(known, kept), np.random.default_rng(4))
        assert np.abs(drawn @ [1.0, 1.0, -1.0]).max() < 1e-10 * np.abs(drawn).max()
        assert not np.isclose(drawn, known).any(axis=2).all()
