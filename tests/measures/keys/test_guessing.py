"""Right guesses against guesses made one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from key_files import classes_of, small_files
from masktron.measures.keys import attribute_disclosure


def guess(values: list[int], truth: int) -> float:
    """The share of right guesses of the most frequent value."""
    if not values:
        return 0.0
    counts = Counter(values)
    best = [value for value, count in counts.items() if count == max(counts.values())]
    return (truth in best) / len(best)


def test_one_by_one() -> None:
    better = 0
    for rng, keys in small_files(250, fields=2):
        secret = rng.integers(-1, 3, len(keys[0]))
        held = [row for row in range(len(secret)) if secret[row] >= 0]
        found = attribute_disclosure(keys, secret)
        if not held:
            assert np.isnan([found.guessed, found.without_record, found.baseline]).all()
            continue
        guessed = without = baseline = 0.0
        for rows in classes_of(keys):
            members = [row for row in rows if secret[row] >= 0]
            for row in members:
                truth = int(secret[row])
                others = [int(secret[other]) for other in members if other != row]
                file = [int(secret[other]) for other in held if other != row]
                guessed += guess([*others, truth], truth)
                without += guess(others or file, truth)
                baseline += guess(file, truth)
        shares = (found.guessed, found.without_record, found.baseline)
        assert shares == pytest.approx(tuple(100 * one / len(held) for one in (guessed, without, baseline)))
        assert found.gain == pytest.approx(found.guessed - found.without_record)
        better += found.without_record > found.baseline > 0
    assert better > 10


def test_by_hand() -> None:
    # in class 0: a, a, b; in class 1: b alone
    found = attribute_disclosure([np.array([0, 0, 0, 1])], np.array([0, 0, 1, 1]))
    assert found.guessed == 75, "a, a and the one alone"
    # without it, a or b for each a; a for b; and of a, a, b for the one alone: a
    assert found.without_record == pytest.approx(100 * (0.5 + 0.5) / 4)
