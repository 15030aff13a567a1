"""What neighbours tell: guesses against plain counting, fields that chance has sorted, and fields that are runs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from masktron.treatments import neighbours
from masktron.treatments.neighbours import SIDES, neighbour_guess, sorted_by


def plainly(values: list[int], sides: int) -> float:
    """Guess each value by counting those beside it."""
    own = [value for value in values if value >= 0]
    times = Counter(own)
    right = 0
    for at, value in enumerate(own):
        votes = Counter(own[max(0, at - sides) : at] + own[at + 1 : at + 1 + sides])
        most = max((votes[one], times[one]) for one in votes)
        right += value in [one for one in votes if (votes[one], times[one]) == most][:1]
    return right / len(own)


def test_guesses_are_those_of_plain_counting() -> None:
    gains = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        # as many of no two values, so that a tie is broken in one way
        codes = rng.permutation(np.repeat([0, 1, 2], [9, 12, 16]))
        if seed % 2:
            codes = np.sort(codes)
            codes[rng.integers(0, len(codes), 5)] = -1
        times = np.bincount(codes[codes >= 0])
        if len(set(times.tolist())) < len(times):
            continue
        found = neighbour_guess(codes, [np.arange(len(codes))])
        rights = [plainly(codes.tolist(), sides) for sides in SIDES]
        assert found.right == pytest.approx(max(rights))
        assert found.without == pytest.approx(times.max() / times.sum())
        assert rights[SIDES.index(found.sides)] == pytest.approx(max(rights))
        gains += found.gain > 0
    assert gains > 20


def test_chance_tells_nothing_and_runs_do() -> None:
    told = {"chance": 0, "runs": 0, "noisy runs": 0}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, places = int(rng.integers(20, 400)), int(rng.integers(2, 6))
        shares = rng.dirichlet(np.full(places, 3.0))
        told["chance"] += neighbour_guess(rng.choice(places, n, p=shares), [rng.permutation(n)]).tells
        runs = np.repeat(np.arange(4), 20)
        told["runs"] += neighbour_guess(runs, [np.arange(80)]).tells
        other = rng.random(80) < 0.25
        runs[other] = rng.integers(0, 4, int(other.sum()))
        told["noisy runs"] += neighbour_guess(runs, [np.arange(80)]).tells
    assert told["chance"] <= 1
    assert told["runs"] == 300
    assert told["noisy runs"] > 280


def test_the_best_order_is_taken_and_equal_ranks_say_nothing() -> None:
    codes = np.repeat(np.arange(5), 30)
    rng = np.random.default_rng(1)
    mixed = rng.permutation(150)
    assert not neighbour_guess(codes, [mixed]).tells
    assert neighbour_guess(codes, [mixed, np.arange(150)]).right > 0.95
    one_rank = sorted_by(np.zeros(150, dtype=np.intp), rng)
    assert sorted(one_rank.tolist()) == list(range(150))
    assert not neighbour_guess(codes, [one_rank]).tells
    ranks = np.where(codes == 0, -1, np.arange(150))
    assert sorted_by(ranks, rng).tolist() == list(range(30, 150))


def test_nothing_is_told_of_one_value_or_of_nobody() -> None:
    for codes in (np.zeros(50, dtype=np.intp), np.full(50, -1), np.zeros(0, dtype=np.intp)):
        assert not neighbour_guess(codes, [np.arange(len(codes))]).tells


def test_of_many_units_some_are_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_MOST_GUESSED", 100)
    found = neighbour_guess(np.repeat(np.arange(4), 500), [np.arange(2000)])
    assert found.guessed == 100
    assert found.right > 0.95
