"""Moves and exchanges of records: groups keep their sizes and what they share, and only get tighter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples, parts
from masktron.grouping import exchange
from masktron.grouping.admissible import spread
from masktron.grouping.disjuncts import Disjuncts, UnmaskedBound
from masktron.grouping.exchange import exchange_records
from masktron.grouping.members import codes_of
from masktron.kernels.exchange import compile_exchange, exchange_pass, exchange_ready
from masktron.kernels.mdav import TREE_FROM
from masktron.partitions.mdav import partition


def members(labels: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(labels == group) for group in range(int(labels.max()) + 1)]


def lack(disjuncts: Disjuncts, labels: np.ndarray) -> int:
    groups = members(labels)
    counts = np.stack([disjuncts.holds[own].sum(axis=0) for own in groups])
    return int(disjuncts.lacking(counts, np.array([len(own) for own in groups])).sum())


@examples(40, full=200)
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
        bounds += [
            UnmaskedBound(len(rules) - 1, 0, side, side + generator.random(n) / 2) for side in (values, -values)
        ]
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


def exchange_case(seed: int) -> tuple[np.ndarray, np.ndarray, int, Disjuncts]:
    """Points with and without ties, groups of any size, records in none, rules with and without bounds."""
    generator = np.random.default_rng(seed)
    n, k, d = int(generator.integers(6, 90)), int(generator.integers(1, 6)), int(generator.integers(0, 5))
    points = generator.normal(size=(n, d)) if seed % 2 else generator.integers(-3, 4, size=(n, d)).astype(float)
    rules = [
        generator.random((n, int(generator.integers(1, 4)))) < generator.choice([0.5, 0.9, 0.97])
        for _ in range(int(generator.integers(0, 4)))
    ]
    bounds = []
    if generator.random() < 0.5:
        values = np.round(generator.normal(size=n), int(generator.integers(0, 3)))
        rules.append(np.ones((n, 1), dtype=bool))
        slack = generator.random(n) * generator.choice([0.5, 3.0])
        slack[generator.random(n) < 0.1] = np.inf
        bounds += [UnmaskedBound(len(rules) - 1, 0, side, side + slack) for side in (values, -values)]
    labels = partition(points, k) if generator.random() < 0.5 else generator.integers(0, max(1, n // 4), size=n)
    labels = np.where(generator.random(n) < generator.choice([0.0, 0.1]), -1, labels)
    return points, codes_of(np.append(labels, -1)[:, None])[:-1] - 1, k, Disjuncts.of(n, rules, bounds)


@pytest.mark.full
@pytest.mark.parametrize("repair", [True, False])
@pytest.mark.parametrize("seeds", parts([range(40), range(40, 400)], 1))
def test_compiled_code_does_the_same(seeds: range, repair: bool) -> None:
    changed = 0
    for seed in seeds:
        points, labels, k, disjuncts = exchange_case(seed)
        plain, compiled = (
            exchange_records(points, labels, k, disjuncts, repair=repair, compiled=how) for how in (False, True)
        )
        assert (plain == compiled).all(), seed
        changed += bool((plain != labels).any())
    assert changed > len(seeds) / 4


def test_what_is_compiled_beforehand_is_what_is_called() -> None:
    compile_exchange()
    assert exchange_ready()
    exchange_records(*exchange_case(7)[:3], exchange_case(7)[3], repair=False, compiled=True)
    assert len(exchange_pass.signatures) == 1


def test_many_records_are_exchanged_by_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("Python")

    monkeypatch.setattr(exchange, "_State", refuse)
    points = np.random.default_rng(1).normal(size=(TREE_FROM, 1))
    labels = np.arange(TREE_FROM) // 5
    after = exchange_records(points, labels, 5, Disjuncts.of(TREE_FROM, ()), repair=False)
    assert spread(points, after) < 0.5 * spread(points, labels)


@pytest.mark.full
def test_few_records_never_wait_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are exchanged by compiled code where it is at hand and worth loading, with the same result."""
    used: list[str] = []
    for name in ("_State", "_Compiled"):
        real = getattr(exchange, name)
        monkeypatch.setattr(exchange, name, lambda *given, real=real, name=name: used.append(name) or real(*given))
    results = []
    for n, ready in ((exchange.LOADED_FROM, False), (exchange.LOADED_FROM, True), (exchange.LOADED_FROM - 1, True)):
        monkeypatch.setattr("masktron.kernels.exchange.exchange_ready", lambda ready=ready: ready)
        points = np.random.default_rng(1).normal(size=(exchange.LOADED_FROM, 2))[:n]
        results.append(exchange_records(points, np.arange(n) // 5, 4, Disjuncts.of(n, ()), repair=False))
    assert used == ["_State", "_Compiled", "_State"]
    assert np.array_equal(results[0], results[1])
