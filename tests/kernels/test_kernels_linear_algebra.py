"""Decompositions and products in a fixed order, against LAPACK and exact sums, and what they settle."""

from __future__ import annotations

import math

import numpy as np
import pytest

from masktron.kernels.linear_algebra import (
    eigen_decomposition,
    orthogonal_triangular,
    product,
    singular_decomposition,
    singular_values,
    times_inverse,
    triangular,
)

SHAPES = [(1, 1), (4, 1), (1, 4), (5, 5), (40, 7), (7, 40), (3, 9, 4), (2, 3, 6, 6), (2, 0, 3), (2, 5, 0), (0, 4, 3)]


def matrices(shape: tuple[int, ...], kind: str) -> np.ndarray:
    made = np.random.default_rng(len(shape) + shape[-1]).normal(size=shape)
    if kind == "related" and shape[-1] > 2:
        made[..., 2] = made[..., 0] - made[..., 1]
        made[..., 1] *= 1e-9
    if kind == "whole":
        made = np.rint(made)
    return made * 0.0 if kind == "zero" else made


def transposed(matrix: np.ndarray) -> np.ndarray:
    return np.matrix_transpose(matrix)


@pytest.mark.parametrize("kind", ["any", "related", "whole", "zero"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_singular_decompositions_are_those_of_lapack(shape: tuple[int, ...], kind: str) -> None:
    matrix = matrices(shape, kind)
    left, singular, right = singular_decomposition(matrix)
    reference = np.linalg.svd(matrix, compute_uv=False)
    assert singular == pytest.approx(reference, abs=1e-13)
    assert singular_values(matrix) == pytest.approx(reference, abs=1e-13)
    assert (np.diff(singular, axis=-1) <= 0).all()
    assert product(left * singular[..., None, :], right) == pytest.approx(matrix, abs=1e-13)
    # along the longer side, directions of which rounding alone tells are none of the matrix
    told = (singular > 1e-14)[..., None, :]
    expected = np.broadcast_to(np.eye(singular.shape[-1]), (*shape[:-2], *2 * singular.shape[-1:]))
    longer, shorter = (left, transposed(right)) if shape[-2] >= shape[-1] else (transposed(right), left)
    assert transposed(shorter) @ shorter == pytest.approx(expected, abs=1e-13)
    assert transposed(longer * told) @ (longer * told) == pytest.approx(expected * told, abs=1e-12)


@pytest.mark.parametrize("kind", ["any", "related", "whole", "zero"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_triangles_have_no_negative_diagonal_element(shape: tuple[int, ...], kind: str) -> None:
    matrix = matrices(shape, kind)
    basis, triangle = orthogonal_triangular(matrix)
    count = min(shape[-2:])
    assert (np.diagonal(triangle, axis1=-2, axis2=-1) >= 0).all()
    assert np.array_equal(triangle, np.triu(triangle))
    assert np.array_equal(triangle, triangular(matrix))
    assert basis @ triangle == pytest.approx(matrix, abs=1e-13)
    expected = np.broadcast_to(np.eye(count), (*shape[:-2], count, count))
    assert transposed(basis) @ basis == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(
    "matrix", [[[0.0, 1.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, -3.0]], [[1.0, 2.0], [2.0, 4.0]], [[0.0]]]
)
def test_eigenvalues_of_either_sign(matrix: list[list[float]]) -> None:
    values, vectors = eigen_decomposition(np.array(matrix))
    assert values == pytest.approx(np.linalg.eigvalsh(matrix)[::-1], abs=4e-15)
    assert (vectors * values) @ vectors.T == pytest.approx(np.array(matrix), abs=4e-15)


def test_many_eigenvalues_are_those_of_lapack() -> None:
    made = np.random.default_rng(0).normal(size=(3, 20, 8))
    covariances = transposed(made) @ made / 20
    values, vectors = eigen_decomposition(covariances)
    assert values == pytest.approx(np.linalg.eigvalsh(covariances)[:, ::-1], abs=1e-14)
    assert transposed(vectors) @ vectors == pytest.approx(np.broadcast_to(np.eye(8), (3, 8, 8)), abs=1e-13)


def test_last_digits_do_not_turn_directions_about() -> None:
    matrix = matrices((30, 6), "any")
    near = matrix * (1 + 1e-15 * np.random.default_rng(1).normal(size=matrix.shape))
    for one, other in zip(singular_decomposition(matrix), singular_decomposition(near), strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    assert singular_decomposition(-matrix)[2] == pytest.approx(singular_decomposition(matrix)[2], abs=1e-12)
    for at in range(6):
        direction = singular_decomposition(matrix)[2][at]
        assert direction[np.abs(direction).argmax()] > 0


def test_of_coefficients_equal_but_for_roundings_the_first_is_positive() -> None:
    for tilt in (-1e-15, 0.0, 1e-15):
        _, vectors = eigen_decomposition(np.array([[1.0 + tilt, -1.0], [-1.0, 1.0 - tilt]]))
        assert vectors[0, 0] > 0 > vectors[1, 0]


@pytest.mark.parametrize(
    ("m", "k", "n"), [(3, 5, 4), (3, 40_000, 2), (2, 40_000, 3), (70_000, 3, 2), (2, 0, 3), (1, 65, 1)]
)
def test_products_are_exact_to_some_roundings(m: int, k: int, n: int) -> None:
    generator = np.random.default_rng(2)
    left, right = generator.normal(size=(m, k)), generator.normal(size=(k, n))
    found = product(left, right)
    assert found.shape == (m, n)
    for i in {0, m - 1}:
        for j in {0, n - 1}:
            exact = math.fsum(left[i] * right[:, j])
            size = math.fsum(np.abs(left[i] * right[:, j]))
            assert abs(found[i, j] - exact) <= 1e-15 * size


def test_products_of_stacks() -> None:
    generator = np.random.default_rng(3)
    left, right = generator.normal(size=(4, 1, 5, 80)), generator.normal(size=(3, 80, 2))
    assert product(left, right) == pytest.approx(left @ right, abs=1e-13)


def test_large_matrices_are_reflected_column_by_column() -> None:
    matrix = np.random.default_rng(4).normal(size=(20_000, 5))
    basis, triangle = orthogonal_triangular(matrix)
    reference = np.linalg.qr(matrix, mode="r")
    assert triangle == pytest.approx(reference * np.sign(np.diagonal(reference))[:, None], abs=1e-10)
    assert basis.T @ basis == pytest.approx(np.eye(5), abs=1e-13)


def test_division_by_triangles() -> None:
    generator = np.random.default_rng(5)
    triangle = np.tril(generator.normal(size=(3, 4, 4))) + 3 * np.eye(4)
    values = generator.normal(size=(3, 6, 4))
    assert times_inverse(values, triangle) @ triangle == pytest.approx(values, abs=1e-13)
