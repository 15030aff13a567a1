"""Small files of keys with ties and missing values, and what matches in them, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

type Keys = list[NDArray[np.int64]]


def small_files(count: int, *, fields: int = 4) -> Iterator[tuple[np.random.Generator, Keys]]:
    """Yield files of 1 to 14 records and up to some keys, half of them with missing values; and their generator."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, own = int(rng.integers(1, 15)), int(rng.integers(1, fields + 1))
        keys = [rng.integers(0, rng.integers(1, 5), n) for _ in range(own)]
        if seed % 2:
            for key in keys:
                key[rng.random(n) < 0.2] = -1
        yield rng, keys


def classes_of(keys: Keys) -> list[list[int]]:
    """Return the records that are alike in all keys, by the class; missing is alike with missing."""
    found: dict[tuple[int, ...], list[int]] = {}
    for row, values in enumerate(zip(*(key.tolist() for key in keys), strict=True)):
        found.setdefault(values, []).append(row)
    return list(found.values())
