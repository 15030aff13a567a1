"""Admissible groups, strata first or groups first, whichever spreads less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.grouping import admissible
from masktron.grouping.admissible import group_admissible, spread
from masktron.grouping.disjuncts import Disjuncts, UnmaskedBound
from masktron.grouping.members import codes_of
from masktron.partitions.mdav import partition


@given(st.integers(0, 2**32 - 1))
def test_every_group_is_admissible(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 60))
    k = int(generator.integers(1, n + 1))
    points = generator.integers(-5, 6, size=(n, 2)).astype(float)
    rules = [
        generator.random((n, int(generator.integers(1, 4)))) < generator.choice([0.1, 0.5, 0.9])
        for _ in range(int(generator.integers(0, 5)))
    ]
    values = generator.normal(size=n)
    bounds = [UnmaskedBound(0, 0, values, values + generator.random(n))] if rules and generator.random() < 0.4 else []
    disjuncts = Disjuncts.of(n, rules, bounds)
    labels = group_admissible(points, k, disjuncts)
    assert (np.unique(labels[labels >= 0]) == np.arange(labels.max(initial=-1) + 1)).all()
    for group in range(int(labels.max(initial=-1)) + 1):
        members = np.flatnonzero(labels == group)
        assert len(members) >= k
        assert disjuncts.admissible(members)


def governed(n: int, rules: int) -> tuple[np.ndarray, Disjuncts]:
    """Records under IF ... THEN rules, each disjunct of which cuts the file in two."""
    generator = np.random.default_rng(7)
    points = generator.normal(size=(n, 4))
    matrices = []
    for _ in range(rules):
        one, other = generator.choice(4, 2, replace=False)
        then = points[:, other] <= np.quantile(points[:, other], 0.6)
        matrices.append(np.stack([(points[:, one] <= 0.5) | ~then, then], axis=1))
    return points, Disjuncts.of(n, matrices)


def test_many_rules_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    points, disjuncts = governed(600, 10)
    labels = group_admissible(points, 5, disjuncts)
    assert (labels >= 0).all()
    blind = spread(points, partition(points, 5))
    assert spread(points, labels) < 1.6 * blind
    monkeypatch.setattr(
        admissible,
        "_groups_first",
        lambda points, k, disjuncts, partitioner, compiled: admissible._strata_first(
            points, k, disjuncts, codes_of(disjuncts.cells()), partitioner
        ),
    )
    monkeypatch.setattr(admissible, "exchange_records", lambda points, labels, k, disjuncts, **how: labels)
    assert spread(points, labels) < 0.9 * spread(points, group_admissible(points, 5, disjuncts))


def test_large_strata_are_partitioned_apart() -> None:
    points = np.concatenate([np.zeros(20), np.ones(20)])[:, None] + np.arange(40)[:, None] / 1000
    kind = points[:, 0] >= 0.5
    labels = group_admissible(points, 4, Disjuncts.of(40, (np.stack([~kind, kind], axis=1),)))
    assert (labels >= 0).all()
    assert len(np.unique(labels)) == 10


def test_one_stratum_is_partitioned_by_mdav() -> None:
    points = np.random.default_rng(1).normal(size=(50, 2))
    labels = group_admissible(points, 3, Disjuncts.of(50, ()))
    assert (labels == partition(points, 3)).all()


def test_the_same_input_gives_the_same_groups() -> None:
    points, disjuncts = governed(200, 6)
    assert (group_admissible(points, 4, disjuncts) == group_admissible(points, 4, disjuncts)).all()
