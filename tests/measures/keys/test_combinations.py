"""Frequencies of combinations against pairs of records looked at one by one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from key_files import Keys, small_files
from masktron.measures.keys import combinations, key_frequencies


def by_pairs(keys: Keys, weights: NDArray[np.float64], alpha: float) -> tuple[list[float], list[float]]:
    rows = list(zip(*(key.tolist() for key in keys), strict=True))
    sample, population = [], []
    for own in rows:
        f = big = 0.0
        for other, weight in zip(rows, weights.tolist(), strict=True):
            if any(a >= 0 and b >= 0 and a != b for a, b in zip(own, other, strict=True)):
                continue
            share = alpha if any(a >= 0 > b for a, b in zip(own, other, strict=True)) else 1.0
            f, big = f + share, big + share * weight
        sample.append(f)
        population.append(big)
    return sample, population


@pytest.mark.few(2)
@pytest.mark.parametrize(("alpha", "hashed"), [(1.0, False), (0.0, False), (0.25, False), (0.25, True)])
def test_pair_by_pair(alpha: float, hashed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = 0
    if hashed:
        monkeypatch.setattr(combinations, "HASHED_FROM", 0)
    for rng, keys in small_files(150):
        weights = rng.uniform(0.5, 20, len(keys[0]))
        found = key_frequencies(keys, weights, alpha=alpha)
        sample, population = by_pairs(keys, weights, alpha)
        assert found.sample.tolist() == pytest.approx(sample)
        assert found.population.tolist() == pytest.approx(population)
        assert found.smallest == min(sample)
        assert [found.below(k) for k in (2, 3, 5)] == [sum(f < k for f in sample) for k in (2, 3, 5)]
        shared += int((found.sample > 1).sum())
    assert shared > 500, "files have ties"


@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_many_patterns_of_missing_values(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    keys = [rng.integers(-1, 2, 300) for _ in range(7)]
    weights = rng.uniform(0.5, 20, 300)
    sample, population = by_pairs(keys, weights, alpha)
    monkeypatch.setattr(combinations, "_COMPARED", 5000)
    found = key_frequencies(keys, weights, alpha=alpha)
    assert found.wildcards
    assert found.sample.tolist() == pytest.approx(sample)
    assert found.population.tolist() == pytest.approx(population)
    monkeypatch.setattr(combinations, "_MOST_COMPARED", 1000)
    rows = list(zip(*(key.tolist() for key in keys), strict=True))
    found = key_frequencies(keys, weights, alpha=alpha)
    assert not found.wildcards
    assert found.sample.tolist() == [rows.count(row) for row in rows]
    assert (found.sample <= np.array(sample)).all(), "risk is not told too low"


def test_many_values_are_put_together_without_running_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2**31 - 2, size=(40, 5))[rng.integers(0, 40, 90)]
    monkeypatch.setattr(combinations, "_ROOM", 1)
    monkeypatch.setattr(combinations, "_LEAST_ROOM", 64)
    numbers, bound = combinations.combined([rows[:, at].astype(np.int32) for at in range(5)], 90)
    expected = np.unique(rows, axis=0, return_inverse=True)[1]
    assert bound <= 90
    assert numbers.max() < bound
    assert len(set(zip(numbers.tolist(), expected.tolist(), strict=True))) == len(set(expected.tolist()))
    assert len(set(numbers.tolist())) == len(set(expected.tolist()))


def test_a_missing_value_is_a_value_of_its_own_where_combinations_are_numbered() -> None:
    numbers, bound = combinations.combined([np.array([-1, 1, 0, -1]), np.array([0, 0, -1, 0])], 4)
    assert len(set(numbers.tolist())) == 3
    assert numbers[0] == numbers[3]
    assert 0 <= numbers.min() <= numbers.max() < bound


def test_no_record_has_no_frequency() -> None:
    found = key_frequencies([np.empty(0, dtype=np.int32)])
    assert np.isnan(found.smallest)
    assert found.below(3) == 0
