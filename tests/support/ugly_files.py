"""Arrays such as real files have: relations, zeros, constants, heavy tails, few values, duplicates, few records."""

from __future__ import annotations

import numpy as np

RELATION = np.array([1.0, 1.0, -1.0])


def ugly(seed: int, least: int = 8) -> np.ndarray:
    """Return records of 5 columns, shape (n, 5): the third is the sum of the first two."""
    generator = np.random.default_rng(seed)
    n = least if seed % 4 == 0 else int(generator.integers(least, 200))
    kinds = (
        lambda: np.round(np.exp(generator.normal(6, 2, n))),
        lambda: np.where(generator.random(n) < 0.7, 0.0, np.round(generator.exponential(900, n))),
        lambda: generator.integers(0, 3, n).astype(float),
        lambda: np.full(n, 1e6 + 0.1),
        lambda: np.repeat(generator.normal(size=n // 5 + 1), 5)[:n],
        lambda: np.round(generator.standard_cauchy(n) * 100, 2),
        lambda: 1e8 + np.round(generator.normal(size=n), 1),
    )
    first, second, fourth, fifth = (kinds[place]() for place in generator.integers(0, len(kinds), 4))
    return np.column_stack([first, second, first + second, fourth, fifth])


def moments_differ(values: np.ndarray, drawn: np.ndarray) -> float:
    """Return the largest difference of means and covariances, in standard deviations of the variables.

    Where these are less than 1e-5 of the values, differences count as less in proportion: 1e-9 is then 1e-14 of the
    values, some tens of the roundings that the original has itself.
    """
    scales = values.std(axis=0)
    scales[scales == 0] = 1.0
    size = np.maximum(1.0, np.abs(values).max(axis=0) / scales * 1e-5)
    means = np.abs(values.mean(axis=0) - drawn.mean(axis=0)) / scales / size
    apart = np.cov(values / scales, rowvar=False) - np.cov(drawn / scales, rowvar=False)
    return float(max(means.max(), (np.abs(apart) / np.outer(size, size)).max()))
