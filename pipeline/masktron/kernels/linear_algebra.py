"""Products of matrices and decompositions that have the same bits on every processor.

What BLAS and LAPACK return depends on the processor and on the number of threads: they add up in another order, and
fused operations round once where others round twice. Mostly that changes the last digits alone. But a decomposition
is no continuous function: singular vectors may change their signs, and where singular values are equal, or zero, they
are any basis of a space. A draw that is multiplied by such vectors becomes another draw, and the masked file another
file.

Here only sums, products, quotients and square roots of doubles are taken, each of them an operation of numpy of its
own, which IEEE 754 rounds in one way; and sums are taken in an order that depends on the shapes of arrays alone. So
the same arrays give the same bits, with the same version of numpy. Nothing is compiled, and nothing calls BLAS.

What is free in a decomposition is settled as well, so that a last digit of the input does not turn a direction about:
singular values and eigenvalues descend, the largest coefficient of a direction is positive (of equal ones the first),
and triangles have no negative diagonal element.

Sources: Golub and Van Loan, Matrix Computations, sections 5.2 (Householder's reflections) and 8.6 (one-sided Jacobi);
Demmel and Veselic (1992), Jacobi's method is more accurate than QR; Brent and Luk (1985) for the order of rotations.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

type _Numbers = NDArray[np.float64]

_INNER = 64
"""Length up to which products are added one after the other; longer ones are summed pairwise, block by block."""
_BLOCK = 1 << 14
"""Records summed together: with some columns they stay in the cache."""
_AT_ONCE = 1 << 16
"""Numbers reflected together; more than a cache holds are reflected column by column."""
_ORTHOGONAL = 2.0**-50
"""Cosine below which two directions count as orthogonal."""
_SWEEPS = 60
"""Rounds over all pairs at most. Ten are usual; what is left then is of the size of roundings."""


def product(left: _Numbers, right: _Numbers) -> _Numbers:
    """Multiply matrices.

    Parameters
    ----------
    left : ndarray of float64, shape (..., m, k)
    right : ndarray of float64, shape (..., k, n)

    Returns
    -------
    ndarray of float64, shape (..., m, n)
    """
    m, k = left.shape[-2:]
    n = right.shape[-1]
    leading = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    found = np.zeros((*leading, m, n))
    if k <= _INNER:
        pace = max(_INNER, _AT_ONCE // max(1, n * math.prod(leading)))
        for start in range(0, m, pace):
            part = found[..., start : start + pace, :]
            for at in range(k):
                part += left[..., start : start + pace, at, None] * right[..., None, at, :]
        return found
    for start in range(0, k, _BLOCK):
        rows = np.ascontiguousarray(left[..., :, start : start + _BLOCK])
        columns = np.ascontiguousarray(np.matrix_transpose(right[..., start : start + _BLOCK, :]))
        if m <= n:
            for at in range(m):
                found[..., at, :] += (rows[..., at, None, :] * columns).sum(axis=-1)
        else:
            for at in range(n):
                found[..., :, at] += (rows * columns[..., at, None, :]).sum(axis=-1)
    return found


def triangular(matrix: _Numbers) -> _Numbers:
    """Return R of `orthogonal_triangular` alone, shape (..., min(n, p), p)."""
    rows = np.array(np.matrix_transpose(matrix), dtype=np.float64, order="C")
    _reflectors(rows)
    return _triangle_of(rows)


def orthogonal_triangular(matrix: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Decompose matrices as Q R, by Householder's reflections.

    Parameters
    ----------
    matrix : ndarray of float64, shape (..., n, p)
        Finite, and so near 1 that no square overflows.

    Returns
    -------
    basis : ndarray of float64, shape (..., n, min(n, p))
        Q: orthonormal columns, also where those of the matrix depend on each other.
    triangle : ndarray of float64, shape (..., min(n, p), p)
        R: upper triangular, no diagonal element negative.
    """
    rows = np.array(np.matrix_transpose(matrix), dtype=np.float64, order="C")
    reflectors = _reflectors(rows)
    count = len(reflectors)
    basis = np.zeros((*rows.shape[:-2], count, rows.shape[-1]))
    place = np.arange(count)
    basis[..., place, place] = 1.0
    for at in reversed(range(count)):
        _reflect(basis[..., at:, at:], *reflectors[at])
    basis *= _signs(rows)
    return np.matrix_transpose(basis), _triangle_of(rows)


def singular_decomposition(matrix: _Numbers) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Decompose matrices as U S V', by Jacobi's rotations of the triangle of a QR decomposition.

    Parameters
    ----------
    matrix : ndarray of float64, shape (..., n, p)
        Finite, and so near 1 that no square overflows.

    Returns
    -------
    left : ndarray of float64, shape (..., n, r)
        U, r = min(n, p): orthonormal columns.
    singular : ndarray of float64, shape (..., r)
        Descending.
    right : ndarray of float64, shape (..., r, p)
        V': orthonormal rows, the largest coefficient of each positive.

    Notes
    -----
    Where a singular value is 0 the vector along the longer side is zeros: the matrix tells nothing of it.
    """
    if matrix.shape[-2] < matrix.shape[-1]:
        turned, singular, left = singular_decomposition(np.matrix_transpose(matrix))
        right = np.matrix_transpose(turned)
        signs = _upright(right)
        return np.matrix_transpose(left * signs), singular, right * signs
    basis, triangle = orthogonal_triangular(matrix)
    turned, singular, right = _rotated(triangle)
    return product(basis, np.matrix_transpose(turned)), singular, right


def singular_values(matrix: _Numbers) -> _Numbers:
    """Return the singular values of matrices, shape (..., min(n, p)), descending; see `singular_decomposition`."""
    tall = matrix if matrix.shape[-2] >= matrix.shape[-1] else np.matrix_transpose(matrix)
    return _rotated(triangular(tall))[1]


def eigen_decomposition(matrix: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Decompose symmetric matrices as W diag(values) W', by Jacobi's rotations.

    Parameters
    ----------
    matrix : ndarray of float64, shape (..., p, p)
        Symmetric, finite, and so near 1 that no square overflows.

    Returns
    -------
    values : ndarray of float64, shape (..., p)
        Descending, each to some roundings of the largest.
    vectors : ndarray of float64, shape (..., p, p)
        W: orthonormal columns, the largest coefficient of each positive.
    """
    # moved so far that the least eigenvalue is the smallest singular value: none is negative then
    shift = np.abs(matrix).sum(axis=-1).max(axis=-1, initial=0.0)[..., None]
    moved = matrix + shift[..., None] * np.eye(matrix.shape[-1])
    _, _, right = singular_decomposition(moved)
    # the quotient of Rayleigh: the error of a direction enters squared, and that of the shift not at all
    values = (product(right, matrix) * right).sum(axis=-1)
    order = np.argsort(-values, axis=-1, kind="stable")
    vectors = np.take_along_axis(right, order[..., None], axis=-2)
    return np.take_along_axis(values, order, axis=-1), np.matrix_transpose(vectors)


def times_inverse(values: _Numbers, triangle: _Numbers) -> _Numbers:
    """Return ``values @ inverse(triangle)``.

    Parameters
    ----------
    values : ndarray of float64, shape (..., n, r)
    triangle : ndarray of float64, shape (..., r, r)
        Lower triangular, no diagonal element 0.
    """
    found = np.array(values, dtype=np.float64)
    for at in reversed(range(triangle.shape[-1])):
        for beyond in range(at + 1, triangle.shape[-1]):
            found[..., :, at] -= found[..., :, beyond] * triangle[..., beyond, at, None]
        found[..., :, at] /= triangle[..., at, at, None]
    return found


def _reflectors(rows: _Numbers) -> list[tuple[_Numbers, _Numbers]]:
    """Make the columns of matrices triangular, in place; they are the rows here, so that each is contiguous.

    Returns the reflections ``1 - factor * v v'``, each as v, shape (..., n - at), and factor, shape (...).
    """
    made = []
    for at in range(min(rows.shape[-2:])):
        vector = rows[..., at, at:].copy()
        length = np.sqrt(np.square(vector).sum(axis=-1))
        vector[..., 0] += np.copysign(length, vector[..., 0])
        size = np.square(vector).sum(axis=-1)
        factor = np.where(size > 0, 2.0 / np.where(size > 0, size, 1.0), 0.0)
        made.append((vector, factor))
        _reflect(rows[..., at:, at:], vector, factor)
    return made


def _reflect(rows: _Numbers, vector: _Numbers, factor: _Numbers) -> None:
    """Reflect rows, shape (..., m, n), in place."""
    if rows.size <= _AT_ONCE:
        along = (rows * vector[..., None, :]).sum(axis=-1) * factor[..., None]
        rows -= along[..., None] * vector[..., None, :]
        return
    for at in range(rows.shape[-2]):
        along = (rows[..., at, :] * vector).sum(axis=-1) * factor
        rows[..., at, :] -= along[..., None] * vector


def _signs(rows: _Numbers) -> _Numbers:
    """Signs of the diagonal of a triangle, shape (..., r, 1)."""
    return np.where(np.diagonal(rows, axis1=-2, axis2=-1) < 0, -1.0, 1.0)[..., None]


def _triangle_of(rows: _Numbers) -> _Numbers:
    count = min(rows.shape[-2:])
    return np.triu(np.matrix_transpose(rows)[..., :count, :]) * _signs(rows)


def _rotated(triangle: _Numbers) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Decompose square matrices as U S V': rows of U', S, and V' in the order and with the signs of the module.

    Rotations of two columns each, until all are orthogonal: they are U S then, and the rotations make up V.
    """
    p = triangle.shape[-1]
    columns = np.array(np.matrix_transpose(triangle).reshape(math.prod(triangle.shape[:-2]), p, p), order="C")
    directions = np.zeros_like(columns)
    directions[:, np.arange(p), np.arange(p)] = 1.0
    turning = np.arange(len(columns))
    for _ in range(_SWEEPS):
        if not turning.size or p < 2:
            break
        own, turned = columns[turning], directions[turning]
        moved = np.zeros(len(turning), dtype=np.bool_)
        for one, other in _rounds(p):
            moved |= _rotate(own, turned, one, other)
        columns[turning], directions[turning] = own, turned
        turning = turning[moved]
    singular = np.sqrt(np.square(columns).sum(axis=-1))
    order = np.argsort(-singular, axis=-1, kind="stable")
    singular = np.take_along_axis(singular, order, axis=-1)
    columns = np.take_along_axis(columns, order[..., None], axis=-2)
    directions = np.take_along_axis(directions, order[..., None], axis=-2)
    unit = columns / np.where(singular > 0, singular, 1.0)[..., None]
    signs = _upright(directions)
    shape = triangle.shape[:-2]
    return (
        (unit * signs).reshape(*shape, p, p),
        singular.reshape(*shape, p),
        (directions * signs).reshape(*shape, p, p),
    )


def _rotate(
    columns: _Numbers, directions: _Numbers, one: NDArray[np.intp], other: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Make pairs of columns orthogonal, in place; tell in which matrices some were not, shape (g,)."""
    first, second = columns[:, one], columns[:, other]
    here, there = np.square(first).sum(axis=-1), np.square(second).sum(axis=-1)
    across = (first * second).sum(axis=-1)
    wanted = np.abs(across) > _ORTHOGONAL * np.sqrt(here) * np.sqrt(there)
    if not wanted.any():
        return np.asarray(wanted.any(axis=-1))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        slope = (there - here) / (2.0 * across)
        tangent = np.copysign(1.0, slope) / (np.abs(slope) + np.sqrt(1.0 + np.square(slope)))
    tangent = np.where(wanted, tangent, 0.0)
    cosine = 1.0 / np.sqrt(1.0 + np.square(tangent))
    sine = (cosine * tangent)[..., None]
    cosine = cosine[..., None]
    columns[:, one], columns[:, other] = cosine * first - sine * second, sine * first + cosine * second
    first, second = directions[:, one], directions[:, other]
    directions[:, one], directions[:, other] = cosine * first - sine * second, sine * first + cosine * second
    return np.asarray(wanted.any(axis=-1))


@cache
def _rounds(p: int) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
    """All pairs of p columns, in rounds in which each column is in one pair at most: a tournament."""
    places = list(range(p + p % 2))
    half = len(places) // 2
    made = []
    for _ in range(len(places) - 1):
        pairs = [sorted(pair) for pair in zip(places[:half], reversed(places[half:]), strict=True)]
        played = np.array([pair for pair in pairs if pair[1] < p], dtype=np.intp).reshape(-1, 2)
        made.append((played[:, 0], played[:, 1]))
        places = [places[0], places[-1], *places[1:-1]]
    return tuple(made)


def _upright(directions: _Numbers) -> _Numbers:
    """Signs that make the largest coefficient of each direction, the first of equal ones, positive; (..., r, 1)."""
    if not directions.shape[-1]:
        return np.ones((*directions.shape[:-1], 1))
    largest = np.abs(directions)
    # equal but for roundings, as in (1, -1) / sqrt(2), are equal
    alike = largest >= (1.0 - 1e-9) * largest.max(axis=-1, keepdims=True, initial=0.0)
    first = np.take_along_axis(directions, alike.argmax(axis=-1)[..., None], axis=-1)
    return np.where(first < 0, -1.0, 1.0)
