"""Moves and exchanges of records: groups keep their sizes and what they share, and only get tighter."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from masktron.methods.alike import spread
from masktron.methods.disjuncts import Bound, Disjuncts
from masktron.methods.exchange import exchange_records
from masktron.methods.mdav import partition


def members(labels: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(labels == group) for group in range(int(labels.max()) + 1)]


def lack(disjuncts: Disjuncts, labels: np.ndarray) -> int:
    groups = members(labels)
    counts = np.stack([disjuncts.holds[own].sum(axis=0) for own in groups])
    return int(disjuncts.lacking(counts, np.array([len(own) for own in groups])).sum())


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_nothing_is_lost(seed: int, repair: bool) -> None:
    generator = np.random.default_rng(seed)
    n, k = int(generator.integers(6, 60)), int(generator.integers(2, 4))
    points = generator.normal(size=(n, 2))
    rules = [generator.random((n, 2)) < generator.choice([0.5, 0.9]) for _ in range(int(generator.integers(0, 3)))]
    bounds = []
    if repair or generator.random() < 0.5:
        values = points[:, 0] + generator.normal(size=n) / 4
        rules.append(np.ones((n, 1), dtype=bool))
        bounds += [Bound(len(rules) - 1, 0, side, side + generator.random(n) / 2) for side in (values, -values)]
    disjuncts = Disjuncts.of(n, rules, bounds)
    before = partition(points, k)
    after = exchange_records(points, before, k, disjuncts, repair=repair)
    assert np.bincount(after).min() >= k
    assert len(np.bincount(after)) == len(np.bincount(before))
    assert lack(disjuncts, after) <= lack(disjuncts, before)
    if not repair:
        assert spread(points, after) <= spread(points, before) + 1e-9 or lack(disjuncts, after) < lack(
            disjuncts, before
        )
    for old, new in zip(members(before), members(after), strict=True):
        assert not disjuncts.admissible(old) or disjuncts.admissible(new)


def test_strangers_change_places() -> None:
    points = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])[:, None]
    kind = np.array([0, 0, 1, 1, 1, 0], dtype=bool)
    disjuncts = Disjuncts.of(6, (np.stack([~kind, kind], axis=1),))
    labels = exchange_records(points, np.array([0, 0, 0, 1, 1, 1]), 3, disjuncts, repair=True)
    assert labels.tolist() == [0, 0, 1, 1, 1, 0]


def test_a_record_moves_where_it_is_nearer_if_its_group_can_spare_it() -> None:
    points = np.array([0.0, 1.0, 2.0, 9.0, 10.0, 11.0])[:, None]
    none = Disjuncts.of(6, ())
    labels = np.array([0, 0, 0, 0, 1, 1])
    assert exchange_records(points, labels, 2, none, repair=False).tolist() == [0, 0, 0, 1, 1, 1]
    assert exchange_records(points, labels, 4, none, repair=False)[3] == 0


def test_records_without_a_group_stay_alone() -> None:
    points = np.arange(8.0)[:, None]
    labels = np.array([0, 1, 0, 1, 0, 1, -1, -1])
    after = exchange_records(points, labels, 3, Disjuncts.of(8, ()), repair=False)
    assert after.tolist()[6:] == [-1, -1]
    assert sorted(map(tuple, map(np.ndarray.tolist, members(after)))) == [(0, 1, 2), (3, 4, 5)]
