"""l-diversity class by class."""

from __future__ import annotations

import math

import numpy as np

from key_files import classes_of, small_files
from masktron.measures.keys import l_diversity


def test_class_by_class() -> None:
    diverse = 0
    for rng, keys in small_files(200, fields=2):
        secret = rng.integers(-1, 4, len(keys[0]))
        counts = [len({int(secret[row]) for row in rows if secret[row] >= 0}) for rows in classes_of(keys)]
        least = min((count for count in counts if count), default=math.nan)
        np.testing.assert_equal(l_diversity(keys, secret), least)
        diverse += least > 1
    assert diverse > 10
