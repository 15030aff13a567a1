"""MDAV-generic against a slow reference on raw values; imposed and consensus partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.kernels.mdav import brute_force
from masktron.partitions.column_kinds import KINDS, Kinds
from masktron.partitions.encode import encode_nominal, encode_ordinal
from masktron.partitions.generic import (
    _joined,
    partition_consensus,
    partition_generic,
    partition_imposed,
    partitions_by_kind,
    varying_kinds,
)
from masktron.partitions.mdav import standardise


def encoded(values: Floats, kinds: list[str]) -> tuple[Floats, Kinds]:
    parts = [
        encode_nominal(column)
        if kind == "nominal"
        else (encode_ordinal(column) if kind == "ordinal" else standardise(column[:, None]))
        for column, kind in zip(values.T, kinds, strict=True)
    ]
    return np.concatenate(parts, axis=1), Kinds(tuple(kinds), tuple(part.shape[1] for part in parts))


def drawn(seed: int, kinds: list[str], n: int) -> Floats:
    """Small integers and tenths: ties, duplicates and constant columns occur."""
    rng = np.random.default_rng(seed)
    most = rng.integers(1, 8, size=len(kinds))
    return rng.integers(0, most, size=(n, len(kinds))) / rng.choice([1, 10], size=len(kinds))


def reference(
    points: Floats, kinds: Kinds, k: int, apart: Callable[[int, int], int] | None = None, unit: float = 1.0
) -> Labels:
    """Follow the paper step by step, with averages by their definitions.

    Two records are at `unit` times their distance, and `apart` farther.
    """

    def distance(a: list[float], b: list[float]) -> float:
        total = 0.0
        for x, y in zip(a, b, strict=True):
            total += (x - y) * (x - y)
        return total

    def average(rest: list[int]) -> list[float]:
        found: list[float] = []
        for kind, span in kinds.spans():
            own = [points[record, span].tolist() for record in rest]
            if kind == "number":
                found.append(float(sum(Fraction(x) for (x,) in own) / len(own)))
            elif kind == "ordinal":
                found.append(median_low(x for (x,) in own))
            elif span.stop > span.start:
                counts = Counter(map(tuple, own))
                most = max(counts.values())
                found += max(place for place, count in counts.items() if count == most)
        return found

    def between(a: int, b: int) -> float:
        return (apart(a, b) if apart else 0) + unit * distance(points[a].tolist(), points[b].tolist())

    def farthest(rest: list[int], measure: Callable[[int], float]) -> int:
        return max(rest, key=lambda record: (measure(record), -record))

    def outermost(rest: list[int]) -> int:
        middle = average(rest)
        return farthest(rest, lambda record: distance(points[record].tolist(), middle))

    def nearest(rest: list[int], record: int) -> list[int]:
        return sorted(rest, key=lambda one: (one != record, between(one, record), one))[:k]

    labels = np.full(len(points), -1, dtype=np.intp)
    rest, group = list(range(len(points))), 0

    def take(records: list[int]) -> None:
        nonlocal rest, group
        labels[records] = group
        group += 1
        rest = [record for record in rest if record not in records]

    while len(rest) >= 3 * k:
        first = outermost(rest)
        take(nearest(rest, first))
        take(nearest(rest, farthest(rest, lambda record, first=first: between(record, first))))  # type: ignore[misc]
    if len(rest) >= 2 * k:
        take(nearest(rest, outermost(rest)))
    take(rest)
    return labels


MIXTURES = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4)
CASES = st.tuples(st.integers(0, 10**6), MIXTURES, st.integers(2, 5), st.integers(0, 40))


@given(CASES)
def test_the_steps_of_the_paper(case: tuple[int, list[str], int, int]) -> None:
    seed, kinds, k, more = case
    points, known = encoded(drawn(seed, kinds, k + more), kinds)
    assert (partition_generic(points, known, k) == reference(points, known, k)).all()


@given(CASES)
def test_distances_are_those_of_the_kinds(case: tuple[int, list[str], int, int]) -> None:
    seed, kinds, k, more = case
    values = drawn(seed, kinds, k + more)
    points, known = encoded(values, kinds)
    first, second = points[:1], points[1:]
    expected = np.zeros(len(second))
    for (kind, span), column in zip(known.spans(), values.T, strict=True):
        places = points[:, span] if kind != "nominal" else np.zeros((len(points), 1))
        apart = column[1:] != column[0] if kind == "nominal" else np.square(places[1:, 0] - places[0, 0])
        expected += apart
    assert np.square(second - first).sum(axis=1) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_numbers_alone_are_mdav() -> None:
    points = standardise(np.random.default_rng(1).normal(size=(200, 3)))
    expected = brute_force(points, 4)
    assert (partition_generic(points, Kinds.numbers(3), 4) == expected).all()
    held = np.column_stack([points[:, :1], np.zeros(200), points[:, 1:]])
    assert (partition_generic(held, Kinds.numbers(4), 4) == expected).all()


PARTITIONS: list[Callable[[Floats, Kinds, int], Labels]] = [partition_generic, partition_imposed, partition_consensus]


def assert_valid(labels: Labels, k: int) -> None:
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


@given(CASES)
def test_every_group_has_k_to_2k_minus_1_records(case: tuple[int, list[str], int, int]) -> None:
    seed, kinds, k, more = case
    points, known = encoded(drawn(seed, kinds, k + more), kinds)
    for partition in PARTITIONS:
        assert_valid(partition(points, known, k), k)
    for labels in partitions_by_kind(points, known, k).values():
        assert_valid(labels, k)


@pytest.mark.full
def test_consensus_partitions_of_ten_thousand_files_are_valid() -> None:
    joined = 0
    for seed in range(10_000):
        rng = np.random.default_rng(seed)
        kinds = rng.choice(KINDS, size=rng.integers(2, 6)).tolist()
        k = int(rng.integers(2, 8))
        points, known = encoded(drawn(seed, kinds, k + int(rng.integers(0, 60))), kinds)
        labels = partition_consensus(points, known, k)
        assert_valid(labels, k)
        joined += int((labels != partition_generic(points, known, k)).any())
    assert joined > 3000


def crowds(seed: int, n: int, k: int) -> tuple[Floats, list[str], Labels]:
    """Crowds of k records that are alike in all kinds, in random order."""
    rng = np.random.default_rng(seed)
    crowd = rng.permutation(np.arange(n) // k)
    values = np.stack([crowd, (7 * crowd) % 31, crowd], axis=1).astype(np.float64)
    return values, ["number", "ordinal", "nominal"], crowd


def together(labels: Labels) -> NDArray[np.bool_]:
    return np.asarray(labels[:, None] == labels[None, :])


@pytest.mark.parametrize("seed", range(5))
def test_unanimous_partitions_are_the_consensus(seed: int) -> None:
    values, kinds, crowd = crowds(seed, 60, 5)
    points, known = encoded(values, kinds)
    for labels in partitions_by_kind(points, known, 5).values():
        assert (together(labels) == together(crowd)).all()
    assert (together(partition_consensus(points, known, 5)) == together(crowd)).all()


@given(CASES)
def test_who_is_together_in_all_partitions_and_k_stays_together(case: tuple[int, list[str], int, int]) -> None:
    seed, kinds, k, more = case
    points, known = encoded(drawn(seed, kinds, k + more), kinds)
    own = partitions_by_kind(points, known, k)
    stacked = np.stack([own[kind] for kind in varying_kinds(points, known)] or list(own.values()))
    meet = np.unique(stacked, axis=1, return_inverse=True)[1].reshape(-1)
    rest = np.bincount(meet)[meet] < k
    if len(stacked) < 2 or 0 < rest.sum() < k:
        return  # one kind, or groups that take others in and may be split
    labels = partition_consensus(points, known, k)
    for cell in np.unique(meet[~rest]):
        assert len(np.unique(labels[meet == cell])) == 1
        assert (np.bincount(labels)[labels[meet == cell]] == (meet == cell).sum()).all()


@given(CASES)
def test_the_others_are_grouped_by_how_few_partitions_keep_them_apart(
    case: tuple[int, list[str], int, int],
) -> None:
    seed, kinds, k, more = case
    values = drawn(seed, kinds, k + more)
    points, known = encoded(values, kinds)
    varying = varying_kinds(points, known)
    own = partitions_by_kind(points, known, k)
    meet = list(zip(*(own[kind].tolist() for kind in varying), strict=True))
    rest = [record for record, cell in enumerate(meet) if meet.count(cell) < k]
    if len(varying) < 2 or len(rest) < k:
        return

    def apart(a: int, b: int) -> int:
        first, second = rest[a], rest[b]
        return sum(
            own[kind][first] != own[kind][second]
            and any(values[first, j] != values[second, j] for j, one in enumerate(kinds) if one == kind)
            for kind in varying
        )

    unit = 1.0 / (4.0 * float(np.square(points[rest]).sum(axis=1).max()) + 1.0)
    expected = reference(points[rest], known, k, apart, unit)
    found = partition_consensus(points, known, k)[rest]
    assert (together(found) == together(expected)).all()


def test_the_consensus_keeps_more_pairs_of_its_partitions_than_one_imposed() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=300)
    values = np.stack(
        [base + 0.1 * rng.normal(size=300), np.round(4 * base), rng.integers(0, 5, 300), np.round(base)], axis=1
    )
    points, known = encoded(values, ["number", "ordinal", "number", "nominal"])
    own = [together(labels) for labels in partitions_by_kind(points, known, 4).values()]

    def kept(labels: Labels) -> float:
        pairs = together(labels)
        return min(float((pairs & one).sum() / one.sum()) for one in own)

    assert kept(partition_consensus(points, known, 4)) > kept(partition_imposed(points, known, 4))


def test_few_that_are_left_join_the_group_they_agree_with() -> None:
    values, kinds, crowd = crowds(1, 20, 4)
    lonely = np.vstack([values, [[0.0, 0.0, 4.0]]])
    points, known = encoded(lonely, kinds)
    labels = partition_consensus(points, known, 4)
    assert_valid(labels, 4)
    assert (together(labels[:-1]) == together(crowd)).all()


def test_a_group_that_others_join_is_split_when_it_is_large() -> None:
    points = np.array([[0.0], [0.0], [0.0], [9.0], [9.0], [5.0], [8.0], [50.0], [50.0], [50.0]])
    labels = np.array([0, 0, 0, 0, 0, -1, -1, 1, 1, 1])
    partitions = np.array([[0, 0, 0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 1, 0, 1, 1, 1]])
    found = _joined(points, Kinds.numbers(1), 3, labels, partitions)
    assert found[[0, 1, 2, 5]].tolist() == [found[0]] * 4
    assert found[[3, 4, 6]].tolist() == [found[3]] * 3
    assert {int(found[0]), int(found[3])} == {0, 2}
    assert found[7:].tolist() == [1, 1, 1]


def test_imposed_partitions() -> None:
    rng = np.random.default_rng(2)
    values = np.column_stack([rng.normal(size=50), rng.integers(0, 9, 50), rng.integers(0, 4, 50)])
    points, kinds = encoded(values, ["number", "ordinal", "nominal"])
    own = partitions_by_kind(points, kinds, 3)
    assert list(own) == ["number", "ordinal", "nominal"]
    for kind, labels in own.items():
        assert (partition_imposed(points, kinds, 3, kind) == labels).all()
    assert (partition_imposed(points, kinds, 3) == own["number"]).all()
    constant = points.copy()
    constant[:, 0] = 0.0
    assert (partition_imposed(constant, kinds, 3, "number") == own["ordinal"]).all()
