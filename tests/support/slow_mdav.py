"""MDAV by its definition: the oracle of the fast ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def slow_mdav(points: NDArray[np.float64], k: int) -> list[int]:
    """The definition, word for word: exact rational means, full sorts, one record at a time."""
    rows = [[float(x) for x in row] for row in points]
    rest = list(range(len(rows)))
    labels = [-1] * len(rows)

    def squared(record: int, center: list[float]) -> float:
        total = 0.0
        for x, c in zip(rows[record], center, strict=True):
            total += (x - c) * (x - c)
        return total

    def take(center: int, group: int) -> None:
        others = sorted((squared(i, rows[center]), i) for i in rest if i != center)
        for i in [center, *(i for _, i in others[: k - 1])]:
            labels[i] = group
            rest.remove(i)

    def farthest(center: list[float]) -> int:
        return min(rest, key=lambda i: (-squared(i, center), i))

    def mean() -> list[float]:
        exact = [sum(Fraction(rows[i][j]) for i in rest) / len(rest) for j in range(points.shape[1])]
        return [float(m) for m in exact]

    group = 0
    while len(rest) >= 3 * k:
        first = farthest(mean())
        take(first, group)
        take(farthest(rows[first]), group + 1)
        group += 2
    if len(rest) >= 2 * k:
        take(farthest(mean()), group)
        group += 1
    for i in rest:
        labels[i] = group
    return labels
