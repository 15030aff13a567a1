"""l-diversity class by class."""

from __future__ import annotations

from collections import Counter
from math import exp, log

import numpy as np
import pytest

from key_files import classes_of, small_files
from masktron.errors import UsageError
from masktron.measures.keys import l_diversity


def test_class_by_class() -> None:
    diverse = 0
    for rng, keys in small_files(200, fields=2):
        n = len(keys[0])
        secret = rng.integers(-1, 4, n)
        for c in (0.5, 1.0, 2.0):
            found = l_diversity(keys, secret, c)
            for rows in classes_of(keys):
                counts = sorted(Counter(int(secret[row]) for row in rows if secret[row] >= 0).values(), reverse=True)
                size = sum(counts)
                for row in rows:
                    own = found.distinct[row], found.entropy[row], found.recursive[row]
                    if secret[row] < 0:
                        assert np.isnan(own).all()
                        continue
                    entropy = exp(-sum(one / size * log(one / size) for one in counts))
                    recursive = max(
                        (at for at in range(1, len(counts) + 1) if counts[0] < c * sum(counts[at - 1 :])), default=0
                    )
                    assert own == pytest.approx((len(counts), entropy, recursive))
                    diverse += recursive > 1
    assert diverse > 100


def test_the_smallest_and_none() -> None:
    keys = [np.array([0, 0, 0, 1, 1, -1])]
    assert l_diversity(keys, np.array([0, 1, 1, 2, 3, -1])).smallest == 2
    assert l_diversity(keys, np.array([0, 1, 1, 2, 3, 5])).smallest == 1, "who lacks the key is a class alone"
    assert np.isnan(l_diversity(keys, np.full(6, -1)).smallest)
    with pytest.raises(UsageError, match="c must be above 0"):
        l_diversity(keys, np.zeros(6, dtype=np.int64), 0)
