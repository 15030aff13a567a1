"""Draws within groups: moments, relations, and that nothing of the original comes back."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.errors import InfeasibleError
from masktron.synthesis.within import SPARE, draw_codes, draw_normal, rank
from refusals import refused
from ugly_files import RELATION, moments_differ, ugly


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", range(12))
def test_exact_draws_keep_moments_and_relations_of_every_group(seed: int) -> None:
    values = ugly(seed, 30)
    labels = generator(seed).permutation(np.arange(len(values)) % (len(values) // 15))
    drawn = draw_normal(values, labels, generator(seed), exact=True)
    for label in range(labels.max() + 1):
        own = labels == label
        assert moments_differ(values[own], drawn[own]) < 1e-9
    assert np.abs(drawn[:, :3] @ RELATION).max() <= 1e-9 * np.abs(values).max()
    constant = values.min(axis=0) == values.max(axis=0)
    assert (drawn[:, constant] == values[:, constant]).all()


def test_the_groups_do_not_mix() -> None:
    values = np.concatenate([generator().normal(size=(40, 2)), 1000 + generator(1).normal(size=(50, 2))])
    labels = np.repeat([1, 0], [40, 50])
    drawn = draw_normal(values, labels, generator(), exact=True)
    assert (drawn[:40] < 500).all()
    assert (drawn[40:] > 500).all()


@pytest.mark.full
def test_plain_draws_have_the_moments_in_expectation() -> None:
    values = generator().normal(size=(12, 2)) @ np.array([[3.0, 1.0], [0.0, 2.0]]) + 50
    labels = np.zeros(12, dtype=np.intp)
    numbers = generator(1)
    drawn = np.stack([draw_normal(values, labels, numbers, exact=False) for _ in range(4000)])
    assert drawn.mean(axis=(0, 1)) == pytest.approx(values.mean(axis=0), abs=0.1)
    centred = drawn - values.mean(axis=0)
    squares = np.einsum("sna,snb->ab", centred, centred) / (4000 * 12)
    assert squares == pytest.approx(np.cov(values, rowvar=False), rel=0.05)
    assert np.abs(drawn.mean(axis=1) - values.mean(axis=0)).min() > 0


def test_the_draws_are_normal() -> None:
    from scipy.stats import kstest

    values = generator().exponential(size=(400, 1))
    drawn = draw_normal(values, np.zeros(400, dtype=np.intp), generator(), exact=True)
    standard = (drawn[:, 0] - drawn.mean()) / drawn.std()
    assert kstest(standard, "norm").pvalue > 0.05


def test_rotations_have_no_favourite_sign() -> None:
    values = generator().normal(size=(200 * 4, 1))
    labels = np.repeat(np.arange(200), 4)
    drawn = draw_normal(values, labels, generator(7), exact=True)
    above = (drawn - values.reshape(200, 4).mean(axis=1).repeat(4)[:, None]).reshape(200, 4) > 0
    # of 200 signs each, between 0.38 and 0.62 but for one case in two thousand
    assert above.mean(axis=0) == pytest.approx(0.5, abs=0.12)
    correlations = [np.corrcoef(values[labels == one, 0], drawn[labels == one, 0])[0, 1] for one in range(200)]
    assert abs(np.mean(correlations)) < 0.12


@pytest.mark.parametrize("p", [1, 2, 4])
def test_a_group_of_the_least_size_returns_no_record_nor_its_mirror_image(p: int) -> None:
    size, groups = p + SPARE, 10_000 // (p + SPARE)
    values = generator().normal(size=(groups * size, p))
    labels = np.repeat(np.arange(groups), size)
    drawn = draw_normal(values, labels, generator(7), exact=True)
    means = values.reshape(groups, size, p).mean(axis=1)[labels]
    same, mirrored = np.abs(drawn - values).max(axis=1), np.abs(drawn + values - 2 * means).max(axis=1)
    assert min(same.min(), mirrored.min()) > 1e-7


@pytest.mark.parametrize("exact", [True, False])
def test_too_few_records_are_refused(exact: bool) -> None:
    values = generator().normal(size=(9, 2))
    labels = np.repeat([0, 1], [5, 4])
    with refused(InfeasibleError, "too-few-records", least=5, records=4):
        draw_normal(values, labels, generator(), exact=exact)
    line = np.column_stack([values[:, 0], 3 * values[:, 0] - 7])
    assert draw_normal(line, labels, generator(), exact=exact).shape == (9, 2)


def test_rank_counts_directions() -> None:
    values = generator().normal(size=(50, 3)) * [1e-6, 1, 1e9]
    together = np.column_stack([values, values @ [1e6, 2, 1e-9], np.ones(50)])
    assert rank(together) == 3
    assert rank(np.ones((10, 2))) == 0
    assert rank(np.empty((10, 0))) == 0


def test_exact_codes_are_as_many_in_every_group() -> None:
    codes = generator().integers(0, 4, (300, 2))
    labels = generator(1).integers(0, 5, 300)
    drawn = draw_codes(codes, labels, generator(2), exact=True)
    for label in range(5):
        for column in range(2):
            was, now = (np.bincount(one[labels == label, column], minlength=4) for one in (codes, drawn))
            assert (was == now).all()
    assert 0.6 < (drawn != codes).mean() < 0.9
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.15


def test_plain_codes_follow_the_smoothed_shares() -> None:
    codes = np.repeat([0, 1, 2], [30, 10, 1])[:, None]
    labels = np.repeat([0, 1], [30, 11])
    numbers = generator()
    drawn = np.stack([draw_codes(codes, labels, numbers, exact=False)[:, 0] for _ in range(3000)])
    expected = (np.bincount(codes[:30, 0], minlength=3) + np.array([30, 10, 1]) / 41) / 31
    assert np.bincount(drawn[:, :30].ravel()) / drawn[:, :30].size == pytest.approx(expected, abs=0.003)
    expected = (np.array([0, 10, 1]) + np.array([30, 10, 1]) / 41) / 12
    assert np.bincount(drawn[:, 30:].ravel()) / drawn[:, 30:].size == pytest.approx(expected, abs=0.01)
