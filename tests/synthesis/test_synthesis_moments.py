"""Roots of covariances and draws with exact moments: against products, by hand, and with exact linear relations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.synthesis.moments import orthonormal, square_root
from refusals import refused

RELATION = np.array([1.0, -2.0, 3.0, -1.0])
"""Null vector of `related`: the fourth variable is made of the other three."""


def related(n: int = 200) -> NDArray[np.float64]:
    """Four variables from thousandths to millions, the last an exact combination of the others."""
    three = np.random.default_rng(1).normal(size=(n, 3)) * [1e-3, 1.0, 1e6]
    return np.column_stack([three, three @ RELATION[:3]])


def covariance(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.cov(values.T, bias=True)


def test_the_root_is_one_and_has_as_many_columns_as_the_rank() -> None:
    given = covariance(related())
    root = square_root(given)
    unit = np.sqrt(np.diagonal(given))
    assert root.shape == (4, 3)
    assert np.abs((root @ root.T - given) / unit / unit[:, None]).max() < 1e-11


def test_an_exact_relation_is_in_the_root() -> None:
    root = square_root(covariance(related()))
    assert np.abs(RELATION @ root).max() < 1e-9 * np.abs(root).max()


def test_variables_of_very_different_size_keep_their_variance() -> None:
    """The smaller two vary by 1e-18 of the largest: a root of the covariance itself would cut them."""
    given = np.diag([1e-6, 1.0, 1e12])
    assert np.allclose(np.sort(np.abs(square_root(given)).sum(axis=1)), [1e-3, 1.0, 1e6], rtol=1e-12)


def test_a_constant_variable_has_a_row_of_zeros() -> None:
    root = square_root(np.array([[4.0, 0.0], [0.0, 0.0]]))
    assert root.shape == (2, 1)
    assert np.abs(root).tolist() == [[2.0], [0.0]]
    assert square_root(np.zeros((3, 3))).shape == (3, 0)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive semidefinite"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "a symmetric matrix"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "a finite square matrix"),
        (np.ones((2, 3)), "a finite square matrix"),
    ],
)
def test_what_is_no_covariance_is_refused(wrong: NDArray[np.float64], expected: str) -> None:
    with refused(UsageError, "bad-value", name="covariance", expected=expected):
        square_root(wrong)


def test_no_record_has_a_sign_of_its_own() -> None:
    """A QR decomposition by Householder's method gives the first record the same sign in every draw."""
    generator = np.random.default_rng(7)
    basis = orthonormal(generator.standard_normal((2000, 6, 2)), np.full((2000, 6, 1), 6**-0.5))
    positive = (basis > 0).mean(axis=0)
    assert np.abs(positive - 0.5).max() < 5 * 0.5 / np.sqrt(2000)
    # uniform on the sphere of a five-dimensional space: every record has the mean square 1/6
    assert np.abs(np.square(basis).mean(axis=0) - 1 / 6).max() < 0.02


def test_a_basis_is_orthogonal_to_what_it_is_against() -> None:
    generator = np.random.default_rng(8)
    against = orthonormal(generator.standard_normal((50, 9, 3)), np.full((50, 9, 1), 1 / 3))
    basis = orthonormal(generator.standard_normal((50, 9, 4)), against)
    assert np.abs(np.matrix_transpose(against) @ basis).max() < 1e-14
    assert np.abs(np.matrix_transpose(basis) @ basis - np.eye(4)).max() < 1e-14
