"""The hybrid generator of Muralidhar and Sarathy: a share of every original, and noise that makes up for the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self, override

import numpy as np

from masktron.arrays import Floats
from masktron.contracts import MethodContract, NoiseAdded
from masktron.errors import InfeasibleError
from masktron.kernels.linear_algebra import eigen_decomposition, product
from masktron.methods.base import Drawn, KeepingMethod, RandomMethod, RecordContext, require_records
from masktron.methods.parameters import parameter
from masktron.synthesis.moments import NEGATIVE, orthonormal, require_change, require_freedom, square_root
from masktron.synthesis.regression import Regression, regress


class MuralidharSarathyMethod(KeepingMethod, RandomMethod):
    """Non-synthetic perturbed data by sufficient statistics, with a diagonal matrix alpha.

    Parameters
    ----------
    alpha : float or sequence of float
        Share of the original in each masked variable, from 0 to below 1: one for all, or one for each variable that
        is not kept. Different shares may be impossible.
    keep : sequence of int
        Columns that stay as they are (Y of the papers); may be empty.
    random_state : int, RandomState or None
        Used by the estimator alone.

    Notes
    -----
    Source: Muralidhar and Sarathy (2008); Domingo-Ferrer and Gonzalez-Nicolas (2010), section 5.1. The noise is
    orthogonal to X and Y and has exactly the covariance that is missing, so means and covariances are exact. Alpha of
    0 is IPSO in its strict form.
    """

    name: ClassVar[str] = "muralidhar_sarathy"
    title: ClassVar[str] = "Muralidhar and Sarathy's hybrid data"
    says: ClassVar[str] = "Each value is a share of its original, what kept fields predict, and noise for the rest."
    when: ClassVar[str] = (
        "Means and covariances have to be exact, and records may stay near their originals by a share."
    )
    source: ClassVar[str] = "Muralidhar and Sarathy 2008; Domingo-Ferrer and Gonzalez-Nicolas 2010, section 5.1"
    attacker: ClassVar[str] = (
        "The share alpha of the value of the record itself is published under noise of known variance: whoever "
        "knows several variables of a respondent finds many records. With the secret the noise is solved for, and "
        "the original comes back to the last digit. Two releases with other secrets are averaged, and then half the "
        "variance of the noise is left."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means, variances and covariances, also with kept fields, exactly",
        "exact linear relations between variables, with one alpha for all",
    )

    alpha: float | Iterable[float] = parameter(
        "Share of the original in each masked variable, below 1.", default=0.9, least=0, most=1
    )

    @property
    def contract(self) -> MethodContract:
        """Noise of the share 1 - alpha^2, of what kept fields do not explain."""
        share = 1.0 - float(np.max(self._shares())) ** 2
        if tuple(self.keep):
            return NoiseAdded(share, "what kept fields do not explain of the original")
        return NoiseAdded(share)

    def check(self) -> Self:
        """Refuse an alpha of 1 as well: it returns the originals."""
        super().check()
        if (self._shares() >= 1.0).any():
            raise self.parameters["alpha"].error(self.alpha, "below 1, which returns the original; 0.9 is usual")
        return self

    def least(self, variables: int) -> int:
        """Return the fewest records for variables that are linearly independent."""
        return variables + 1 + max(variables - len(tuple(self.keep)), 2)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Mask all records; see `Method.mask`."""
        n = len(values)
        require_records(n, 2, self.name)
        kept = self.kept(values.shape[1])
        alpha = self._alpha(int((~kept).sum()))
        regression = regress(values[None, :, ~kept], values[None, :, kept])
        require_freedom(regression, self.name, strict=True)
        require_change(regression, self.name)
        root = self._noise_root(regression, alpha)
        against = np.concatenate([regression.basis, regression.left], axis=2)
        noise = product(np.sqrt(n) * orthonormal(generator.standard_normal((1, n, root.shape[1])), against), root.T)
        drawn = values.copy()
        drawn[:, ~kept] = regression.values(alpha * regression.residuals + noise)[0]
        return Drawn(drawn)

    def _noise_root(self, regression: Regression, alpha: Floats) -> Floats:
        """Return a root of Sigma_ee in units of the deviations, shape (p, r); refuse what has none."""
        directions = regression.singular[0][:, None] * regression.right[0] / np.sqrt(regression.basis.shape[1])
        if (alpha == alpha[0]).all():
            # its null vectors are those of the residuals, and no root has to be taken
            return np.asarray(np.sqrt(1.0 - alpha[0] ** 2) * directions.T)
        left_over = product(directions.T, directions)
        missing = left_over - alpha[:, None] * left_over * alpha
        deviations = np.sqrt(np.diagonal(missing))
        unit = np.where(deviations > 0, deviations, 1.0)
        smallest = eigen_decomposition(missing / unit[:, None] / unit)[0][-1]
        if smallest < NEGATIVE:
            raise InfeasibleError.of("no-noise-for-alpha", eigenvalue=smallest)
        return square_root(missing)

    def _shares(self) -> Floats:
        return np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))

    def _alpha(self, masked: int) -> Floats:
        shares = self._shares()
        if len(shares) not in {1, masked}:
            expected = f"one share, or one for each of {masked} masked variables"
            raise self.parameters["alpha"].error(self.alpha, expected)
        return np.broadcast_to(shares, masked)
