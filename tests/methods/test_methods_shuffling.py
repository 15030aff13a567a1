"""Data shuffling: against a direct computation, rank correlations, what kept fields tell, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm, spearmanr

from masktron.methods.shuffling import ShufflingMethod
from masktron.synthesis.exchanging import BrokenRules
from masktron.synthesis.shuffling import shuffled

type Floats = NDArray[np.float64]


def directly(confidential: Floats, kept: Floats, seed: int) -> Floats:
    """The same by definition: ranks by counting, normal scores, conditional moments by an inverse."""
    both = np.column_stack([confidential, kept])
    n, p = confidential.shape
    ranks = np.array(
        [[(both[:, j] < x).sum() + ((both[:, j] == x).sum() + 1) / 2 for j, x in enumerate(row)] for row in both]
    )
    correlation = 2 * np.sin(np.pi / 6 * np.corrcoef(ranks.T))
    slopes = correlation[:p, p:] @ np.linalg.inv(correlation[p:, p:])
    left = correlation[:p, :p] - slopes @ correlation[p:, :p]
    scores = norm.ppf((ranks[:, p:] - 0.5) / n)
    values, vectors = np.linalg.eigh(left / np.sqrt(np.outer(np.diag(left), np.diag(left))))
    vectors = vectors[:, ::-1] * np.sign(vectors[np.abs(vectors).argmax(axis=0), range(p)])[::-1]
    root = np.sqrt(np.diag(left))[:, None] * vectors * np.sqrt(values[::-1])
    noise = np.random.default_rng(seed).standard_normal((n, p))
    drawn = scores @ slopes.T + noise @ root.T
    made = np.empty_like(confidential)
    for j in range(p):
        for i in range(n):
            made[i, j] = sorted(confidential[:, j])[int((drawn[:, j] < drawn[i, j]).sum())]
    return made


@pytest.mark.parametrize("seed", range(25))
def test_it_is_what_the_definition_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(size=(24, 4)) @ rng.normal(size=(4, 4)))
    values[:, 1] = np.rint(values[:, 1])  # ties
    found = shuffled(values[:, :2], values[:, 2:], np.random.default_rng(seed))
    assert np.array_equal(found, directly(values[:, :2], values[:, 2:], seed))


def test_rank_correlations_stay_and_records_do_not() -> None:
    rng = np.random.default_rng(1)
    mixed = rng.normal(size=(2000, 4)) @ np.array([[1, 1, 0, 0.5], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0.5]])
    values = np.column_stack([np.exp(mixed[:, 0]), mixed[:, 1] ** 3, np.rint(mixed[:, 2]), mixed[:, 3]])
    for keep in ((), (3,)):
        made = ShufflingMethod(conditions=keep).mask(values, np.random.default_rng(2)).values
        before, after = (spearmanr(one)[0] for one in (values, made))
        # the standard error of a rank correlation of 2,000 records is 0.022 at most
        assert np.abs(before - after).max() < 0.08
        assert np.abs(before - np.eye(4)).max() > 0.5
        assert np.array_equal(np.sort(made, axis=0), np.sort(values, axis=0))
        own = spearmanr(values[:, 0], made[:, 0])[0]
        told = 2 * np.arcsin((2 * np.sin(np.pi / 6 * before[0, 3])) ** 2 / 2) * 3 / np.pi if keep else 0.0
        assert own == pytest.approx(told, abs=0.08), "what the kept field tells of it, and no more"
    assert np.array_equal(made[:, 3], values[:, 3])


@given(st.integers(12, 40), st.integers(0, 10**6), st.booleans())
def test_each_value_stays_and_what_is_missing_goes_nowhere(n: int, seed: int, keep: bool) -> None:
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.integers(0, 4, n), rng.normal(size=n), rng.integers(0, 30, n)]).astype(float)
    known = rng.random(values.shape) < 0.8
    known[:, 1] = True
    made = ShufflingMethod(conditions=(1,) if keep else ()).mask(values, rng, known=known).values
    for before, after, there in zip(values.T, made.T, known.T, strict=True):
        assert np.array_equal(np.sort(before[there]), np.sort(after[there]))
        assert np.array_equal(before[~there], after[~there])


def test_correlations_that_no_copula_has_are_brought_near() -> None:
    """Of a few records, 2 sin(pi r / 6) of rank correlations may have a negative eigenvalue."""
    rng = np.random.default_rng(108)
    values = rng.normal(size=(7, 4))
    ranks = values.argsort(axis=0).argsort(axis=0)
    assert np.linalg.eigvalsh(2 * np.sin(np.pi / 6 * np.corrcoef(ranks.T)))[0] < -0.01
    made = shuffled(values, np.empty((7, 0)), rng)
    assert np.array_equal(np.sort(made, axis=0), np.sort(values, axis=0))


def test_a_kept_total_leaves_its_last_part_to_be_computed() -> None:
    rng = np.random.default_rng(5)
    parts = np.rint(rng.lognormal(5, 1, size=(80, 2)))
    values = np.column_stack([parts, parts.sum(axis=1)])
    made = ShufflingMethod(conditions=(2,)).mask(values, rng).values
    assert np.array_equal(made[:, 2], values[:, 2])
    assert made[:, 0] + made[:, 1] == pytest.approx(values[:, 2])
    assert (made[:, 0] != values[:, 0]).mean() > 0.8


def test_records_in_which_nothing_varies_stay() -> None:
    """A part of a file, such as that of children, may hold one amount alone: there is nothing to change places."""
    constant = np.tile([0.0, 5.0], (40, 1))
    for values, keep in ((constant, ()), (np.column_stack([constant, np.arange(40.0)]), (2,))):
        judged = BrokenRules(np.ones(values.shape[1], dtype=bool), lambda _, records: np.ones_like(records))
        for broken in (None, judged):
            made = ShufflingMethod(conditions=keep).mask(values, np.random.default_rng(1), broken=broken).values
            assert np.array_equal(made, values)


def test_exchanges_keep_rules_and_values() -> None:
    rng = np.random.default_rng(6)
    low = rng.normal(size=200)
    values = np.column_stack([low, low + rng.exponential(0.3, size=200)])

    def broken(made: Floats, records: NDArray[np.intp]) -> NDArray[np.intp]:
        assert made.shape == (len(records), 2)
        return (made[:, 0] > made[:, 1]).astype(np.intp)

    plain = ShufflingMethod().mask(values, np.random.default_rng(1)).values
    kept = (
        ShufflingMethod()
        .mask(values, np.random.default_rng(1), broken=BrokenRules(np.array([True, True]), broken))
        .values
    )
    assert (plain[:, 0] > plain[:, 1]).sum() > 20
    assert (kept[:, 0] > kept[:, 1]).sum() <= 5
    assert np.array_equal(np.sort(kept, axis=0), np.sort(values, axis=0))
    before, after = (spearmanr(one)[0] for one in (values, kept))
    assert after == pytest.approx(before, abs=0.1)
