"""A population of the shape of the survey of hierarchical...2013, which is not public."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NAMES = (
    "monetary income", "food purchased", "food consumed", "nonfood purchased", "expenditures", "total income",
)  # fmt: skip
HOUSEHOLDS = 7_872
SEED = 2011


def population() -> NDArray[np.float64]:
    """Return the households, shape (7872, 6), in the order of `NAMES`.

    Purchases and monetary income are lognormal with correlated logarithms, food consumed (of one's own) is zero in
    45 % of the households; expenditures and total income are the printed regressions (tables 6 and 4, column Q) with
    normal residuals that leave the printed R. Means and deviations are set so that those of table 2 come out.
    """
    rng = np.random.default_rng(SEED)
    likeness = np.full((4, 4), 0.3) + 0.7 * np.eye(4)
    likeness[0, 1:] = likeness[1:, 0] = 0.5
    normal = rng.multivariate_normal(np.zeros(4), likeness, size=HOUSEHOLDS, method="cholesky")
    money = _lognormal(normal[:, 0], 124_000, 0.8)
    food = _lognormal(normal[:, 1], 44_500, 0.7)
    own = np.where(rng.random(HOUSEHOLDS) < 0.45, 0.0, _lognormal(normal[:, 2], 20_000, 0.7))
    other = _lognormal(normal[:, 3], 48_500, 1.12)
    spent = -168.794 + 1.0334 * food + 1.0162 * own + 1.1082 * other + rng.normal(0, 9_800, size=HOUSEHOLDS)
    spent = np.maximum(spent, 6_256.312671094)
    total = 8_868.7488 + 0.9638 * money + 0.072 * spent + rng.normal(0, 12_700, size=HOUSEHOLDS)
    return np.column_stack([money, food, own, other, spent, np.maximum(total, 0.0)])


def _lognormal(normal: NDArray[np.float64], mean: float, variation: float) -> NDArray[np.float64]:
    """Return lognormal numbers with a mean and a coefficient of variation."""
    squared = np.log1p(variation**2)
    return np.exp(np.log(mean) - squared / 2 + np.sqrt(squared) * normal)
