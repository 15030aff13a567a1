"""Asymptotic variances as the field prints them, one product after the other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def by_central_moments(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[float, float]:
    """n times the variances of covariance and correlation, as the field prints them."""
    u, v = a - a.mean(), b - b.mean()

    def mu(i: int, j: int) -> float:
        return math.fsum((u**i * v**j).tolist()) / len(u)

    r = mu(1, 1) / math.sqrt(mu(2, 0) * mu(0, 2))
    bracket = (
        mu(2, 2) / mu(1, 1) ** 2
        + (mu(4, 0) / mu(2, 0) ** 2 + mu(0, 4) / mu(0, 2) ** 2 + 2 * mu(2, 2) / (mu(2, 0) * mu(0, 2))) / 4
        - (mu(3, 1) / (mu(1, 1) * mu(2, 0)) + mu(1, 3) / (mu(1, 1) * mu(0, 2)))
    )
    return mu(2, 2) - mu(1, 1) ** 2, r * r * bracket
