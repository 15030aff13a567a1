"""Information preserving statistical obfuscation: other residuals with the same means and covariances, exactly."""

from __future__ import annotations

import numpy as np

from masktron.arrays import Floats
from masktron.synthesis.moments import orthonormal
from masktron.synthesis.regression import Regression


def ipso(regression: Regression, generator: np.random.Generator, *, strict: bool = False) -> Floats:
    """Draw confidential values with the original means and covariances, with each other and with kept variables.

    The residuals E = U S V' become Q S V', with Q an orthonormal basis of normal draws orthogonal to [1, Y] (strict:
    to [1, Y, X]). Then Q'Q = U'U = I gives E'E, and Q'[1, Y] = 0 leaves the coefficients, without a matrix to invert
    or a root to take: this is as exact for singular residuals, and null vectors of E are those of V'.

    Parameters
    ----------
    regression : Regression
        Of groups that are not `masktron.synthesis.moments.lacking`.
    generator : numpy.random.Generator
    strict : bool
        Whether drawn residuals are uncorrelated with the original ones.

    Returns
    -------
    ndarray of float64, shape (g, n, p)

    Notes
    -----
    Source: Burridge (2003), Information preserving statistical obfuscation; edit constraints and numerical hybrid
    microdata (2009), first paper, section 2.1.
    """
    against = np.concatenate([regression.basis, regression.left], axis=2) if strict else regression.basis
    basis = orthonormal(generator.standard_normal(regression.left.shape), against)
    return regression.values(regression.spread(basis))
