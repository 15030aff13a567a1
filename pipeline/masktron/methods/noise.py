"""Noise with the covariances of the data, scaled back so that means and covariances stay."""

from __future__ import annotations

from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats
from masktron.contracts import MethodContract, NoiseAdded
from masktron.methods.base import Drawn, RandomMethod, RecordContext, require_records
from masktron.methods.parameters import parameter
from masktron.synthesis.moments import orthonormal, require_freedom
from masktron.synthesis.regression import regress


class NoiseMethod(RandomMethod):
    """Correlated noise.

    Parameters
    ----------
    c : float
        Variance of the noise, as a share of that of the data; above 0.
    exact : bool
        Whether means and covariances are exactly those of the data, not in expectation alone.
    random_state : int, RandomState or None
        Used by the estimator alone.

    Notes
    -----
    Source: model-based hybrid data (2012), section 4, equation (8). There the moments are kept in expectation. In the
    exact form the noise is orthogonal to the data and has exactly c times their covariance.

    A constant column stays constant: its noise has no variance.
    """

    name: ClassVar[str] = "noise"
    title: ClassVar[str] = "Correlated noise"
    says: ClassVar[str] = "Normal noise with the covariances of the data is added, and the sum scaled back."
    when: ClassVar[str] = "Every record may stay near its original, and the shape of the distribution matters most."
    source: ClassVar[str] = "Oganian and Domingo-Ferrer 2012, section 4, equation (8)"
    attacker: ClassVar[str] = (
        "Noise is added to the value of the record itself, and its share of the variance is known: whoever knows "
        "several variables of a respondent finds most records. With the secret the noise is solved for, and the "
        "original comes back to the last digit. Two releases with other secrets are averaged, and then half the "
        "variance of the noise is left."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means, variances and covariances, in expectation; exactly with exact=true",
        "exact linear relations between variables",
    )

    c: float = parameter("Variance of the noise, as a share of the variance of the data.", default=0.15, above=0)
    exact: bool = parameter("Keep means and covariances exactly; else in expectation.", default=False)

    @property
    def contract(self) -> MethodContract:
        """Noise of the share c / (1 + c): it is scaled back together with the data."""
        return NoiseAdded(float(self.c) / (1.0 + float(self.c)))

    def least(self, variables: int) -> int:
        """Return the fewest records for variables that are linearly independent."""
        return 1 + max(2 * variables, variables + 2) if self.exact else 2

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Add noise to all records; see `Method.mask`."""
        n = len(values)
        require_records(n, 2, self.name)
        data = regress(values[None], np.empty((1, n, 0)))
        scores = generator.standard_normal(data.left.shape)
        if self.exact:
            require_freedom(data, f"{self.name} with exact moments", strict=True)
            scores = orthonormal(scores, np.concatenate([data.basis, data.left], axis=2))
        else:
            scores /= np.sqrt(n - 1)
        noisy = (data.left + np.sqrt(self.c) * scores) / np.sqrt(1.0 + self.c)
        return Drawn(data.values(data.spread(noisy))[0])
