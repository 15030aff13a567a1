"""Square roots of covariances, draws with exactly the given sample moments, and the degrees of freedom they need.

A root is taken of the correlation matrix, with small eigenvalues cut: variables of very different size count alike,
and an exact linear relation between them, a vector a with a' C a = 0, holds in every draw. What rounding leaves of it
is eps / sqrt(w), with w the smallest eigenvalue that is kept: about 1e-10 of the variables' deviations.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.errors import InfeasibleError, UsageError
from masktron.kernels.linear_algebra import eigen_decomposition, orthogonal_triangular, product
from masktron.synthesis.regression import Regression

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


def needed(rank: NDArray[np.intp], *, strict: bool = False) -> NDArray[np.intp]:
    """Return the degrees of freedom, records less the rank of [1, Y], that residuals of some rank need.

    Exactness needs as many as the rank (strict: twice that, since draws are orthogonal to the original residuals).
    With no more, a single variable gets its original residuals or their mirror image (strict: one vector or its
    mirror image), so there have to be `SPARE` beyond the rank. Where all is constant none are needed.
    """
    least = np.maximum(2 * rank, rank + SPARE) if strict else rank + SPARE
    return np.asarray(np.where(rank > 0, least, 0))


def lacking(regression: Regression, *, strict: bool = False) -> NDArray[np.bool_]:
    """Tell which groups lack degrees of freedom, or would return a variable as it is; shape (g,)."""
    short = regression.freedom < needed(regression.rank, strict=strict)
    return np.asarray(short | regression.unchanged.any(axis=1))


def require_freedom(regression: Regression, name: str, *, strict: bool = False) -> None:
    """Refuse a group with too few degrees of freedom.

    Parameters
    ----------
    regression : Regression
        Of one group.
    name : str
        Of the method, for the message.
    strict : bool

    Raises
    ------
    InfeasibleError
    """
    rank, freedom = regression.rank[0], regression.freedom[0]
    least = needed(regression.rank, strict=strict)[0]
    _, n, columns = regression.basis.shape
    if freedom < least:
        what = f"{name}, for {rank} linearly independent variables beside {columns - 1} kept ones,"
        raise InfeasibleError.of("too-few-records", what=what, least=int(n + least - freedom), records=n)


def require_change(regression: Regression, name: str) -> None:
    """Refuse a group that would return a variable as it is, with the parameters of `require_freedom`.

    Raises
    ------
    InfeasibleError
    """
    unchanged = np.flatnonzero(regression.unchanged[0])
    if unchanged.size:
        refuse_original(name, int(unchanged[0]), regression.basis.shape[1], "kept variables")


def refuse_original(method: str, variable: int, records: int, others: str) -> NoReturn:
    """Refuse to return a variable, counted from 0, as it is, where others determine it.

    Raises
    ------
    InfeasibleError
    """
    raise InfeasibleError.of(
        "would-return-original", method=method, variable=variable + 1, records=records, others=others
    )
