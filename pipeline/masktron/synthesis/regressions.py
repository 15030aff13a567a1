"""Sequential regressions: every column drawn from its normal regression on the columns before it."""

from __future__ import annotations

import numpy as np

from masktron.arrays import Floats
from masktron.errors import InfeasibleError
from masktron.synthesis.linear_relations import basis

LEAST_FREEDOM = 5
"""Degrees of freedom that every regression keeps: with fewer, drawn values have no fourth moment."""


def draw_regressions(values: Floats, generator: np.random.Generator, *, bayesian: bool = True) -> Floats:
    """Draw as many records as there are, column after column.

    Column j is ``a + sum_i c_i u_i + s e`` with e standard normal, where the u are the coordinates of the columns
    before it in an orthogonal basis of the original (`masktron.synthesis.linear_relations`). In this basis the
    coefficients are independent given s: plug-in takes the estimates, with ``s^2 = RSS / (n - 1)`` so that the
    covariances of what is drawn are those of the file whatever the order, and the Bayesian draw takes
    ``s^2 = RSS / chi2(f)``, f the degrees of freedom, and ``c_i`` normal around its estimate with variance ``s^2``,
    a with ``s^2 / n``.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite.
    generator : numpy.random.Generator
    bayesian : bool
        Whether coefficients and residual variances are drawn from their posterior under the flat prior.

    Returns
    -------
    ndarray of float64, shape (n, p)

    Raises
    ------
    InfeasibleError
        A regression has fewer than 5 degrees of freedom.

    Notes
    -----
    Theorem: a linear relation that all records satisfy holds in the draws, to rounding. Proof: in the order of the
    columns, the last of the relation is a function of the ones before it, so that its residual is zero, it has no
    coordinate of its own, and it is that function of the drawn columns.
    """
    n, p = values.shape
    held = basis(values)
    coordinates, drawn = np.zeros((n, p)), np.empty((n, p))
    before: list[int] = []
    for j in range(p):
        standardised = held.told(j, coordinates)
        if held.free[j]:
            freedom = n - 1 - len(before)
            if freedom < LEAST_FREEDOM:
                raise InfeasibleError(
                    f"a regression on {len(before)} variables keeps {freedom} of n_samples = {n} degrees of freedom",
                    hint=f"mask at least {len(before) + 1 + LEAST_FREEDOM} records together, or fewer variables",
                )
            rss = held.loads[j, j] ** 2
            if bayesian:
                spread = np.sqrt(rss / generator.chisquare(freedom))
                shifts = spread * generator.standard_normal(len(before) + 1)
                standardised += shifts[0] / np.sqrt(n)
                standardised += np.einsum("ij,j->i", coordinates[:, before], shifts[1:])
            else:
                spread = np.sqrt(rss / (n - 1))
            standardised += spread * generator.standard_normal(n)
            coordinates[:, j] = held.coordinate(j, standardised, coordinates)
            before.append(j)
        drawn[:, j] = held.center[j] + held.scale[j] * standardised
    return drawn
