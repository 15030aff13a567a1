"""Draws from the normal model of a group: from the fitted one, and from its posterior predictive distribution."""

from __future__ import annotations

import numpy as np

from masktron.arrays import Floats
from masktron.kernels.linear_algebra import product, times_inverse
from masktron.synthesis.regression import Regression


def normal(regression: Regression, generator: np.random.Generator) -> Floats:
    """Draw confidential values from the normal model that was fitted to each group.

    Residuals are Z S V' / sqrt(n - 1) with standard normal Z: then the covariances of the group, with kept variables
    as well, are what comes out on average.

    Parameters
    ----------
    regression : Regression
        Of groups of at least 2.
    generator : numpy.random.Generator

    Returns
    -------
    ndarray of float64, shape (g, n, p)
    """
    scores = generator.standard_normal(regression.left.shape)
    return regression.values(regression.spread(scores / np.sqrt(scores.shape[1] - 1)))


def imputed(regression: Regression, generator: np.random.Generator) -> Floats:
    """Draw confidential values from the posterior predictive distribution of a Bayesian normal model of each group.

    With the prior p(B, Sigma) proportional to det(Sigma)^(-(r + 1) / 2), Sigma is inverse Wishart with m degrees of
    freedom and E'E, and B normal about the least squares with Sigma for each direction of [1, Y]. In the coordinates
    of V both are standard: with W = A A' a Wishart draw and P the basis of [1, Y], values are
    fitted + (P G + Z) A^-1 S V' for standard normal G and Z.

    Parameters
    ----------
    regression : Regression
        Of groups that are not `lacking`: then Sigma has an expectation.
    generator : numpy.random.Generator

    Returns
    -------
    ndarray of float64, shape (g, n, p)

    Notes
    -----
    Source: Rubin (1993), Discussion: statistical disclosure limitation; Gelman et al., Bayesian Data Analysis, on the
    multivariate normal model.
    """
    groups, _, width = regression.left.shape
    around = product(regression.basis, generator.standard_normal((groups, regression.basis.shape[2], width)))
    scores = around + generator.standard_normal(regression.left.shape)
    root = _wishart_roots(regression, generator)
    return regression.values(regression.spread(times_inverse(scores, root)))


def _wishart_roots(regression: Regression, generator: np.random.Generator) -> Floats:
    """Draw lower triangular A, shape (g, r, r), with A A' Wishart; beyond the rank of a group a diagonal."""
    groups, _, width = regression.left.shape
    place = np.arange(width)
    inside = place < regression.rank[:, None]
    normals = generator.standard_normal((groups, width, width))
    root = np.tril(normals, -1) * inside[:, :, None]
    chi = generator.chisquare(np.maximum(regression.freedom[:, None] - place, 1))
    root[:, place, place] = np.sqrt(chi)
    return root
