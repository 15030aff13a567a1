"""The nearest company: brute force over all groups of k as the oracle."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from masktron.grouping import admissible as module
from masktron.grouping.admissible import nearest_group
from masktron.grouping.disjuncts import Disjuncts


@examples(60, full=300)
@given(st.integers(0, 2**32 - 1))
def test_it_is_the_nearest_and_there_is_none_only_if_none_exists(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(6, 11))
    k = int(generator.integers(3, 5))
    points = generator.normal(size=(n, 2))
    share = generator.choice([0.4, 0.6, 0.8])
    rules = [generator.random((n, 3)) < share for _ in range(int(generator.integers(1, 5)))]
    disjuncts = Disjuncts.of(n, rules)
    free = generator.random(n) < 0.9
    free[0] = True
    squared = ((points - points[0]) ** 2).sum(axis=1)
    found = nearest_group(0, squared, k, disjuncts, free)
    others = [record for record in np.flatnonzero(free).tolist() if record]
    sums = [
        squared[list(rest)].sum()
        for rest in itertools.combinations(others, k - 1)
        if all(holds[[0, *rest]].all(axis=0).any() for holds in rules)
    ]
    assert bool(found.size) == bool(sums)
    if sums:
        assert len(found) == k
        assert 0 in found
        assert free[found].all()
        assert disjuncts.admissible(found)
        assert squared[found].sum() == pytest.approx(min(sums), rel=1e-12)


def test_the_first_choice_of_disjuncts_is_not_the_last() -> None:
    """One disjunct has more support, but only the other one leads to a company."""
    first = np.array([[1, 1], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
    second = np.array([[1, 0], [0, 1], [0, 1], [0, 1], [1, 0], [1, 0]], dtype=bool)
    disjuncts = Disjuncts.of(6, (first, second))
    found = nearest_group(0, np.arange(6.0), 3, disjuncts, np.ones(6, dtype=bool))
    assert found.tolist() == [0, 4, 5]


def test_beyond_the_bound_it_takes_what_has_most_support(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(4)
    disjuncts = Disjuncts.of(200, [generator.random((200, 3)) < 0.7 for _ in range(6)])
    squared = generator.random(200)
    free = np.ones(200, dtype=bool)
    seed = int(disjuncts.holds.sum(axis=1).argmax())
    best = nearest_group(seed, squared, 4, disjuncts, free)
    monkeypatch.setattr(module, "CASES", 1)
    greedy = nearest_group(seed, squared, 4, disjuncts, free)
    assert disjuncts.admissible(greedy)
    assert len(greedy) == 4
    assert squared[greedy].sum() >= squared[best].sum()
