"""Measures of the package against those of `reproduction.plain`, which share no code with them; these by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from examples import spread
from masktron.measures import interval_disclosure, linkage_variants
from masktron.measures.linkage import linkage
from masktron.measures.pil import pil
from masktron.measures.score import score
from reproduction import plain


@pytest.mark.parametrize("seed", spread(range(30), every=4))
def test_measures_agree_on_files_with_ties(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n, p = draw.integers(15, 60), draw.integers(2, 5)
    # an equal number of both signs, and deviations of 1: standardising rounds nothing, so that ties stay ties
    signs = np.repeat([-1.0, 1.0], n)
    x = np.stack([draw.permutation(signs) for _ in range(p)], axis=1)
    y = x + draw.integers(-2, 3, x.shape)
    groups = [list(draw.permutation(p)[:size]) for size in (1, 2, p)]
    pairs = [
        (linkage(x, y), plain.linkage(x, y)),
        (linkage_variants.by_knowledge(x, y, p), plain.by_knowledge(x, y, p)),
        (linkage_variants.by_groups(x, y, groups), plain.by_groups(x, y, groups)),
        (interval_disclosure.by_ranks(x, y), plain.by_ranks(x, y)),
        (interval_disclosure.by_deviation(x, y), plain.by_deviation(x, y)),
    ]
    assert [ours for ours, _ in pairs] == pytest.approx([other for _, other in pairs], rel=1e-12)


@pytest.mark.parametrize("seed", spread(range(20), every=4))
def test_measures_agree_on_skewed_files(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x = np.exp(draw.normal(size=(80, 4)) @ draw.normal(size=(4, 4)))
    y = x * np.exp(draw.normal(scale=draw.choice([0.001, 0.1, 1.0]), size=x.shape))
    ours, other = pil(x, y), plain.pil(x, y)
    for kind in ("quantiles", "means", "variances", "covariances", "correlations", "total"):
        assert getattr(ours, kind) == pytest.approx(getattr(other, kind), abs=1e-7), kind
    assert linkage(x, y) == pytest.approx(plain.linkage(x, y), rel=1e-12)
    assert interval_disclosure.by_ranks(x, y) == pytest.approx(plain.by_ranks(x, y), rel=1e-12)
    assert interval_disclosure.by_deviation(x, y) == pytest.approx(plain.by_deviation(x, y), rel=1e-12)


def test_score_agrees() -> None:
    assert score(20, 40) == plain.score(20, 40) == 30


def test_plain_linkage_by_hand() -> None:
    x = np.array([[-1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, -1.0]])
    y = np.array([[0.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    # first variable: as near to all four, one of two, one of two, another's
    first = 100 * (1 / 4 + 1 / 2 + 1 / 2 + 0) / 4
    assert plain.linkage(x[:, :1], y[:, :1]) == first
    assert plain.by_groups(x, y, [[0], [1]]) == (first + 50) / 2
    # both: one of two each, but the last is as near to all four
    assert plain.by_knowledge(x, y, 2) == (first + 100 * (3 / 2 + 1 / 4) / 4) / 2


def test_plain_intervals_by_hand() -> None:
    x = np.arange(20.0)[:, None]
    moved = np.where(x == 0, 1.0, x)
    # 1 occurs twice and has rank 1.5; half a rank reaches both ranks, 5 % is one rank; the original 0 is below all
    assert plain.by_ranks(x, moved) == pytest.approx(95.0)
    assert plain.by_ranks(x, x) == 100.0
    # standard deviation 1: 0.05 away is inside from p = 5 on, so in 6 of 10 intervals
    signs = np.tile([-1.0, 1.0], 10)[:, None]
    assert plain.by_deviation(signs, signs + 0.0499) == pytest.approx(60.0)


def test_plain_pil_by_hand() -> None:
    x = np.array([[-1.0, -2.0], [1.0, 2.0], [-1.0, 0.0], [1.0, 0.0]])
    same = plain.pil(x, x)
    assert (same.quantiles, same.means, same.variances, same.covariances, same.correlations, same.total) == (0,) * 6
    moved = plain.pil(x, x + np.array([0.5, 0.0]))
    # a mean of variance 1 / 4 moved by one of its deviations; the other variable did not move
    assert moved.means == pytest.approx(100 * (norm.cdf(1) - norm.cdf(-1)) / 2)
    assert moved.variances == moved.covariances == moved.correlations == 0
    # the first variable has mu_4 = mu_2^2, so a change of its variance has no deviation: 100
    assert plain.pil(x, x * np.array([2.0, 1.0])).variances == pytest.approx(50.0)
