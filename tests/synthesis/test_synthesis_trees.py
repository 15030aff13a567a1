"""Trees ask about categories in the order of their outcome and about numbers by rank; leaves hold k records."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from masktron.arrays import Floats, Labels
from masktron.synthesis.trees import SKETCH, Leaves, Question, outcome_of, pooled


def squares_within(outcome: Floats, labels: Labels) -> float:
    groups = [outcome[labels == label] for label in np.unique(labels)]
    return float(sum(np.square(group - group.mean(axis=0)).sum() for group in groups))


def question(values: Floats, *, nominal: bool) -> Question:
    return Question(values, values, nominal)


@given(st.integers(0, 2**32 - 1), st.integers(3, 6))
def test_no_other_two_sets_of_categories_are_nearer_in_their_outcome(seed: int, levels: int) -> None:
    """The theorem for numbers: some split along the order of means is the best of all splits into two sets."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(levels), rng.integers(0, levels, 40)]).astype(float)
    outcome = (rng.normal(size=levels)[codes.astype(int)] + rng.normal(size=len(codes)))[:, None]
    places, _ = question(codes, nominal=True).columns(outcome, 1)
    along = min(squares_within(outcome, (places > cut).astype(int)) for cut in np.unique(places)[:-1])
    sets = (one for size in range(1, levels) for one in combinations(range(levels), size))
    best = min(squares_within(outcome, np.isin(codes, one).astype(int)) for one in sets)
    assert along == pytest.approx(best)


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_on_indicators_is_that_of_the_gini_impurity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(120, 2))
    codes = np.digitize(x[:, 0] + rng.normal(size=120) / 2, [-1.0, 0.0, 1.0]).astype(float)
    outcome = outcome_of(codes, rng, nominal=True)
    leaves = Leaves.grown(outcome, [question(column, nominal=False) for column in x.T], 15, rng).original
    ranks = np.argsort(np.argsort(x, axis=0), axis=0)
    kind: Any = DecisionTreeClassifier
    gini = np.unique(kind(min_samples_leaf=15).fit(ranks, codes).apply(ranks), return_inverse=True)[1]
    assert squares_within(outcome, leaves) == pytest.approx(squares_within(outcome, gini))


def test_many_categories_have_an_outcome_of_few_columns_that_tells_them_apart() -> None:
    rng = np.random.default_rng(2)
    codes = rng.permutation(np.repeat(np.arange(400.0), 5))
    outcome = outcome_of(codes, rng, nominal=True)
    assert outcome.shape == (2000, SKETCH)
    x = codes // 100 + rng.normal(size=2000) / 10  # tells which hundred
    leaves = Leaves.grown(outcome, [question(x, nominal=False)], 100, rng).original
    hundreds = codes.astype(int) // 100
    assert (
        np.mean([np.bincount(hundreds[leaves == leaf]).max() / (leaves == leaf).sum() for leaf in set(leaves)]) > 0.8
    )


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(1, 12))
def test_pooled_levels_hold_the_least_records(codes: list[int], least: int) -> None:
    given_codes = np.array(codes)
    levels = pooled(given_codes, 7, least)[given_codes]
    sizes = np.bincount(levels)
    assert (sizes > 0).all()
    assert sizes.min() >= min(least, len(codes))
    kept = [np.unique(levels[given_codes == code]) for code in set(codes)]
    assert all(len(one) == 1 for one in kept)


@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_leaves_hold_k_records_and_drawn_ones_fall_into_them(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    names, numbers = rng.integers(0, 12, 90).astype(float), rng.normal(size=90)
    numbers[::7] = np.nan
    drawn = rng.permutation(90)
    asked = [Question(names, names[drawn], nominal=True), Question(numbers, numbers[drawn], nominal=False)]
    leaves = Leaves.grown(rng.normal(size=(90, 1)), asked, k, rng)
    assert np.bincount(leaves.original).min() >= k
    # the same answers, so the same leaf
    assert np.array_equal(leaves.drawn, leaves.original[drawn])


def test_a_category_of_few_records_has_no_place_of_its_own() -> None:
    """Names that one record each has would sort the records by what is drawn."""
    rng = np.random.default_rng(3)
    outcome = rng.normal(size=(60, 1))
    places, _ = question(np.arange(60.0), nominal=True).columns(outcome, 5)
    assert len({*places}) == 1
    some = np.where(np.arange(60) < 20, 100.0, np.arange(60.0))
    places, _ = question(some, nominal=True).columns(outcome, 5)
    assert len({*places}) == 2
