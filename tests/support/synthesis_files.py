"""Files for the methods that draw values: plain ones, and columns as ugly as those of surveys."""

from __future__ import annotations

import numpy as np

from masktron.arrays import Floats, Labels

RELATION = np.array([1.0, 1.0, 0.0, 0.0, -1.0])
"""Null vector of `related`."""


def related(n: int, seed: int = 0) -> Floats:
    """Two amounts, a count, a rate of a thousandth, and the total of the amounts."""
    generator = np.random.default_rng(seed)
    amounts = generator.lognormal(8.0, 1.5, size=(n, 2))
    others = np.column_stack([generator.poisson(3.0, n), 1e-3 * generator.normal(size=n) + 1e-8 * amounts[:, 0]])
    return np.column_stack([amounts, others, amounts.sum(axis=1)])


def ugly(n: int, seed: int) -> Floats:
    """A handful of columns: zeros, constants, three values, heavy tails, duplicates, totals, cents, large offsets."""
    generator = np.random.default_rng(seed)
    amounts = np.round(generator.lognormal(9.0, 2.0, n), 2)
    some = generator.integers(1, 4, n).astype(np.float64)
    zeros = np.where(generator.random(n) < 0.8, 0.0, generator.lognormal(5.0, 1.0, n))
    kinds = (
        amounts,
        zeros,
        some,
        np.full(n, generator.choice([0.0, 0.1, -7e5])),
        amounts + zeros,
        1e9 + some,
        generator.standard_cauchy(n),
        np.round(generator.normal(0.0, 1.0, n)),
        2.0 - 3.0 * some,
    )
    chosen = generator.choice(len(kinds), size=int(generator.integers(1, 7)), replace=False)
    values = np.column_stack([kinds[one] for one in chosen])
    if generator.random() < 0.5:
        values[generator.integers(0, n, n // 3)] = values[0]
    return values


def moments_off(original: Floats, masked: Floats) -> float:
    """Return the largest difference of means and covariances, in units of the original's deviations.

    Covariances are those with divisor n. A constant column has to be as it was. Where values are so large beside
    their deviations that doubles cannot hold 1e-9 of these, the unit is what makes 1e-9 of it four roundings.
    """
    middle = original[0]
    before, after = original - middle, masked - middle
    unit = before.std(axis=0)
    constant = np.abs(before).max(axis=0) == 0
    assert np.array_equal(original[:, constant], masked[:, constant])
    unit[constant] = 1.0
    unit = np.maximum(unit, 4e9 * np.finfo(np.float64).eps * np.abs(original).max(axis=0))
    means = np.abs(after.mean(axis=0) - before.mean(axis=0)) / unit
    pairs = np.abs(np.cov(after.T / unit[:, None], bias=True) - np.cov(before.T / unit[:, None], bias=True))
    return float(max(means.max(), np.max(pairs)))


def moments_off_in_groups(original: Floats, masked: Floats, labels: Labels) -> float:
    """Return the largest `moments_off` of a group."""
    return max(moments_off(original[labels == one], masked[labels == one]) for one in range(labels.max() + 1))


def relation_off(values: Floats) -> float:
    """Return how far `RELATION` is broken, as a share of the largest value."""
    return float(np.abs(values @ RELATION).max() / np.abs(values).max())
