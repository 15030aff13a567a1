"""Variants of record linkage against all pairs of distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import examples, parts
from masktron.kernels import linkage as kernel
from masktron.kernels import nearest
from masktron.measures import linkage
from masktron.measures.linkage import TREE_FROM, credit_through_tree, linkage_points
from masktron.measures.linkage_variants import (
    _credit_of_depth,
    by_groups,
    by_knowledge,
    group_linkage,
    second,
)

type Points = NDArray[np.float64]


def squared(known: Points, row: Points) -> Points:
    total = np.zeros(len(known))
    for column in range(known.shape[1]):
        total += np.square(row[column] - known[:, column])
    return total


def all_pairs(known: Points, released: Points, depth: int) -> Points:
    """Chance of being among the nearest: every place in the order that a tied original may take, counted."""
    credit = np.zeros(len(known))
    for i, row in enumerate(released):
        distance = squared(known, row)
        nearer, tied = int((distance < distance[i]).sum()), int((distance == distance[i]).sum())
        places = [nearer + place for place in range(1, tied + 1)]
        credit[i] = sum(place <= depth for place in places) / tied
    return credit


def all_agreements(known: Points, released: Points, kept: Points) -> Points:
    share = np.zeros(len(known))
    for i, row in enumerate(released):
        distance = squared(known, row)
        nearest_ones = np.flatnonzero(distance == distance.min())
        agree = [np.array_equal(kept[i], kept[other], equal_nan=True) for other in nearest_ones]
        share[i] = sum(agree) / len(agree)
    return share


def random_file(seed: int, *, most: int = 60) -> tuple[Points, Points]:
    """A file of small integers, with ties, equal records and gaps, and a masked one by one of three methods."""
    rng = np.random.default_rng(seed)
    n, p, top = int(rng.integers(1, most)), int(rng.integers(1, 6)), int(rng.integers(1, 9))
    original = rng.integers(0, top, size=(n, p)).astype(np.float64)
    masked = original + rng.integers(-1, 2, size=(n, p)) * [0, 0.5, 1][seed % 3]
    if seed % 2:
        labels = rng.integers(0, 1 + n // 3, size=n)
        for label in np.unique(labels):
            masked[labels == label] = original[labels == label].mean(axis=0)
    if seed % 5 == 0:
        original[rng.random((n, p)) < 0.2] = np.nan
        masked[rng.random((n, p)) < 0.2] = np.nan
    return original, masked


@pytest.mark.parametrize("seed", parts(range(200), 24))
def test_all_variants_agree_with_all_pairs(seed: int) -> None:
    original, masked = random_file(seed)
    n, p = original.shape
    rng = np.random.default_rng(seed)
    points = linkage_points(original, masked)
    for depth in (1, 2, 3):
        assert _credit_of_depth(*points, depth).tolist() == pytest.approx(all_pairs(*points, depth), rel=1e-12)
    assert second(original, masked) == pytest.approx(100 * all_pairs(*points, 2).mean(), rel=1e-12)
    kept = rng.integers(0, 3, size=(n, 2)).astype(np.float64)
    kept[rng.random((n, 2)) < 0.1] = np.nan
    agreeing = 100 * all_agreements(*points, kept).mean()
    assert group_linkage(original, masked, kept) == pytest.approx(agreeing, rel=1e-12)
    groups = [list(range(start, min(start + 2, p))) for start in range(0, p, 2)]
    shares = [all_pairs(*linkage_points(original[:, group], masked[:, group]), 1).mean() for group in groups]
    assert by_groups(original, masked, groups) == pytest.approx(100 * np.mean(shares), rel=1e-12)
    shares = [all_pairs(*linkage_points(original[:, :j], masked[:, :j]), 1).mean() for j in range(1, p + 1)]
    assert by_knowledge(original, masked, p) == pytest.approx(100 * np.mean(shares), rel=1e-12)


@examples(30, full=150)
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4), workers=st.sampled_from([1, 2]))
def test_the_tree_and_its_twin_give_the_same_credits(seed: int, depth: int, workers: int) -> None:
    points = linkage_points(*random_file(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_CAPACITY", 2)
        assert (credit_through_tree(*points, workers, depth) == _credit_of_depth(*points, depth)).all()


@pytest.mark.parametrize("d", parts([5, 1, 2, 16], 1))
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_trees_of_several_levels(d: int, noise: float, depth: int) -> None:
    rng = np.random.default_rng(d)
    known = rng.lognormal(size=(1500, d))
    known[:, ::3] = np.round(known[:, ::3], 1)
    known[rng.integers(0, 1500, 300)] = known[rng.integers(0, 1500, 300)]
    released = known + noise * rng.normal(size=known.shape)
    # equal masked records at different distances from their own originals
    released[:600] = released[rng.integers(0, 60, 600)]
    expected = all_pairs(known, released, depth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_CAPACITY", 2)
        assert (credit_through_tree(known, released, 2, depth) == expected).all()
    assert (_credit_of_depth(known, released, depth) == expected).all()


def test_many_records_with_ties_go_through_blocks() -> None:
    rng = np.random.default_rng(3)
    corners = rng.integers(0, 2, size=(700, 8)).astype(np.float64)
    centre = np.full((700, 8), 0.5)
    centre[:300] = corners[:300] * 0.5 + 0.25
    kept = rng.integers(0, 4, size=(700, 1)).astype(np.float64)
    points = linkage_points(corners, centre)
    assert second(corners, centre) == pytest.approx(100 * all_pairs(*points, 2).mean(), rel=1e-12)
    expected = 100 * all_agreements(*points, kept).mean()
    for block in (1, 7, nearest._SURE):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(nearest, "_SURE", block)
            assert group_linkage(corners, centre, kept) == pytest.approx(expected, rel=1e-12)


@examples(25, full=100)
@given(seed=st.integers(0, 10**6))
def test_order_among_the_variants(seed: int) -> None:
    original, masked = random_file(seed)
    n, p = original.shape
    plain = linkage(original, masked)
    assert plain <= second(original, masked) + 1e-9
    distinct = np.arange(n, dtype=np.float64)[:, np.newaxis]
    assert group_linkage(original, masked, distinct) == pytest.approx(plain)
    coarse = distinct // 4
    assert plain - 1e-9 <= group_linkage(original, masked, coarse) <= 100
    assert group_linkage(original, masked, np.zeros((n, 1))) == pytest.approx(100)
    assert by_groups(original, masked, [range(p)]) == plain
    assert by_knowledge(original, masked, 1) == linkage(original[:, :1], masked[:, :1])


def test_identical_files_and_nothing_to_go_by() -> None:
    original = np.array([[1.0, 5.0], [2.0, 5.0], [2.0, 5.0], [9.0, 5.0]])
    kept = np.arange(4.0)[:, np.newaxis]
    assert second(original, original) == 100
    assert group_linkage(original, original, kept) == pytest.approx(75)
    # the constant variable tells nobody apart
    assert by_groups(original, original, [[0], [1]]) == pytest.approx((75 + 25) / 2)
    empty = np.empty((0, 2))
    assert second(empty, empty) == group_linkage(empty, empty, empty) == by_knowledge(empty, empty, 2) == 0
    assert by_groups(empty, empty, [[0]]) == 0
    one = np.ones((1, 2))
    assert second(one, one) == group_linkage(one, one, one) == by_knowledge(one, one, 2) == 100
    two = np.array([[1.0], [2.0]])
    assert second(two, two[::-1]) == 100
    assert linkage(two, two[::-1]) == 0


def test_large_files_take_the_tree() -> None:
    rng = np.random.default_rng(6)
    original = np.round(rng.normal(size=(TREE_FROM, 3)), 2)
    masked = np.round(original + 0.05 * rng.normal(size=original.shape), 2)
    points = linkage_points(original, masked)
    expected = 100.0 * float(_credit_of_depth(*points, 2).sum()) / TREE_FROM
    assert second(original, masked, workers=2) == second(original, masked) == expected
