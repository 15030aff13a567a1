"""Square roots of covariances, and draws whose sample moments are exactly the given ones; singular covariances too.

A root is taken of the correlation matrix, with small eigenvalues cut: variables of very different size count alike,
and an exact linear relation between them, a vector a with a' C a = 0, holds in every draw. What rounding leaves of it
is eps / sqrt(w), with w the smallest eigenvalue that is kept: about 1e-10 of the variables' deviations.
"""

from __future__ import annotations

import numpy as np

from masktron.arrays import Floats
from masktron.errors import UsageError
from masktron.kernels.linear_algebra import eigen_decomposition, orthogonal_triangular, product

CUT = 1e-12
"""Eigenvalues of a correlation matrix of p variables below p times this are those of exact linear relations."""
NEGATIVE = -1e-8
"""Smaller eigenvalues of a correlation matrix are not the work of rounding."""
SPARE = 2
"""Dimensions that draws need beyond the rank of what they have to reproduce.

In one dimension, draws with given moments are one vector or its mirror image. With this many to spare every direction
has a sphere to lie on, whatever is known of the others.
"""


def square_root(covariance: Floats) -> Floats:
    """Return L with L L' = covariance and as many columns as its rank.

    Parameters
    ----------
    covariance : ndarray of float64, shape (p, p)
        Symmetric and positive semidefinite; zeros for constant variables.

    Returns
    -------
    ndarray of float64, shape (p, r)
        The row of a constant variable is zeros. ``a' L`` is 0 to rounding for every null vector a of the covariance.

    Raises
    ------
    UsageError
        It is not symmetric and finite, or not positive semidefinite; the eigenvalue is named.
    """
    _require_symmetric(covariance)
    deviations = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    unit = np.where(deviations > 0, deviations, 1.0)
    correlation = covariance / unit[:, None] / unit
    eigenvalues, vectors = eigen_decomposition((correlation + correlation.T) / 2)
    if eigenvalues.size and eigenvalues[-1] < NEGATIVE:
        given = f"a matrix with the eigenvalue {eigenvalues[-1]:.3g} in units of the variances"
        raise UsageError.of("bad-value", name="covariance", expected="positive semidefinite", given=given)
    large = eigenvalues > CUT * len(eigenvalues)
    root = deviations[:, None] * vectors[:, large] * np.sqrt(eigenvalues[large])
    return np.asarray(root)


def orthonormal(draws: Floats, against: Floats) -> Floats:
    """Return an orthonormal basis of what draws have beyond other directions, uniformly distributed for normal draws.

    Parameters
    ----------
    draws : ndarray of float64, shape (..., n, r)
    against : ndarray of float64, shape (..., n, b)
        Orthonormal columns, or zeros.

    Returns
    -------
    ndarray of float64, shape (..., n, min(n, r))
        The first columns, as many as there are dimensions beyond `against`, are orthonormal and orthogonal to it.
    """
    rest = draws
    for _ in range(2):  # once leaves what rounding leaves
        rest = rest - product(against, product(np.matrix_transpose(against), rest))
    # uniform, as the triangle has no negative diagonal element: without that rule Householder's method gives the
    # first record of the first column the same sign in every draw
    return orthogonal_triangular(rest)[0]


def _require_symmetric(covariance: Floats) -> None:
    if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1] or not np.isfinite(covariance).all():
        given = f"an array of shape {covariance.shape}"
        raise UsageError.of("bad-value", name="covariance", expected="a finite square matrix", given=given)
    size = np.abs(covariance).max(initial=0.0)
    if np.abs(covariance - covariance.T).max(initial=0.0) > 1e-9 * size:
        given = "another one: give (C + C') / 2"
        raise UsageError.of("bad-value", name="covariance", expected="a symmetric matrix", given=given)
