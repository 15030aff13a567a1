"""The univariate optimum: all partitions in exact fractions, the compiled twin, and what decides ties."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import masktron.kernels.univariate as dispatch
from examples import parts
from masktron.kernels.univariate import plain_first_of_groups, plain_last_groups, reciprocals, univariate
from masktron.kernels.univariate_path import first_of_groups, last_groups
from masktron.methods.univariate import UnivariateMethod
from masktron.partitions.univariate import Projection, first_component, projected_partition


def runs(n: int, k: int) -> Iterator[list[int]]:
    """All ways to write n as sizes of at least k; also of 2k and more, which are never better."""
    if n == 0:
        yield []
    for size in range(k, n + 1):
        for rest in runs(n - size, k):
            yield [size, *rest]


def squares(values: list[Fraction]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0))


def loss(values: NDArray[np.float64], labels: NDArray[np.intp]) -> Fraction:
    exact = [Fraction(float(value)) for value in values]
    groups = [[exact[i] for i in np.flatnonzero(labels == group)] for group in range(int(labels.max()) + 1)]
    return sum(map(squares, groups), Fraction(0))


def least(values: NDArray[np.float64], k: int) -> Fraction:
    """The least loss of all partitions in runs of the sorted numbers."""
    exact = sorted(Fraction(float(value)) for value in values)
    best = None
    for sizes in runs(len(exact), k):
        ends = np.cumsum(sizes).tolist()
        total = sum((squares(exact[e - s : e]) for s, e in zip(sizes, ends, strict=True)), Fraction(0))
        best = total if best is None else min(best, total)
    assert best is not None
    return best


def some_numbers(seed: int, most: int) -> tuple[NDArray[np.float64], int]:
    """Numbers of all kinds: ties, constants, far from 0, of very different sizes, tiny."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, most)), int(rng.integers(1, 7))
    match seed % 7:
        case 0:
            values = rng.integers(0, 4, n) / 3
        case 1:
            values = 1e9 + rng.normal(size=n)
        case 2:
            values = rng.normal(size=n) * 10.0 ** rng.integers(-12, 12, n)
        case 3:
            values = rng.normal(size=n) * 1e-200
        case 4:
            values = np.full(n, -7.3)
        case 5:
            values = rng.choice([-1e150, 1e150, 1.0, 2.0, 3.0], n)
        case _:
            values = np.exp(rng.normal(size=n))
    return values.astype(np.float64), min(k, n)


@pytest.mark.parametrize("seed", parts(range(105), 14))
def test_least_of_all_partitions(seed: int) -> None:
    values, k = some_numbers(seed, 15)
    found = univariate(values, k)
    assert loss(values, found) <= least(values, k) * (1 + Fraction(1, 10**12))


def least_by_path(values: NDArray[np.float64], k: int) -> Fraction:
    """The least loss by the recursion over cuts, in exact prefix sums."""
    exact = sorted(Fraction(float(value)) for value in values)
    sums, powers = [Fraction(0)], [Fraction(0)]
    for value in exact:
        sums.append(sums[-1] + value)
        powers.append(powers[-1] + value * value)
    best: list[Fraction | None] = [Fraction(0)]
    for j in range(1, len(exact) + 1):
        paths = [
            before + powers[j] - powers[j - s] - (sums[j] - sums[j - s]) ** 2 / s
            for s in range(k, min(2 * k - 1, j) + 1)
            if (before := best[j - s]) is not None
        ]
        best.append(min(paths, default=None))
    assert best[-1] is not None
    return best[-1]


@pytest.mark.parametrize("offset", [0.0, 1e9, 2.0**52])
@pytest.mark.parametrize("k", parts([3, 2, 5, 10], 1))
def test_least_of_more_numbers(offset: float, k: int) -> None:
    rng = np.random.default_rng(k)
    for values in (rng.integers(0, 40, 300), rng.integers(0, 900, 300), rng.exponential(1000, 600)):
        numbers = values + offset
        assert loss(numbers, univariate(numbers, k)) <= least_by_path(numbers, k) * (1 + Fraction(1, 10**12))


def test_what_an_outlier_costs_does_not_hide_what_follows() -> None:
    """Added up from the outlier on, differences below a unit in the last place of its cost would all be 0."""
    small = np.random.default_rng(3).normal(size=60)
    values = np.concatenate([[-1e10, -1e10, -2e10], small])
    own = univariate(small, 3)
    assert loss(small, univariate(values, 3)[3:] - 1) == loss(small, own)


@pytest.mark.parametrize("seed", parts(range(140), 5))
def test_compiled_and_plain_are_the_same_bit_by_bit(seed: int) -> None:
    values, k = some_numbers(seed, 700)
    k = min(k * int(1 + seed % 3 * 9), len(values))
    numbers = np.sort(values / np.abs(values).max())
    plain = plain_last_groups(numbers, k, reciprocals(k), cells=1 + seed % 5 * 300)
    compiled = last_groups(numbers, k, reciprocals(k))
    assert plain.tolist() == compiled.tolist()
    assert plain_first_of_groups(plain).tolist() == first_of_groups(compiled).tolist()


@pytest.mark.parametrize("seed", range(21))
def test_labels_do_not_depend_on_what_found_them(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values, k = some_numbers(seed, 300)
    plain = univariate(values, k)
    monkeypatch.setattr(dispatch, "plain_last_groups", None)
    assert univariate(values, k, of=dispatch.COMPILED_FROM).tolist() == plain.tolist()


@pytest.mark.parametrize("seed", range(35))
def test_groups_are_runs_of_k_to_2k_minus_1(seed: int) -> None:
    values, k = some_numbers(seed, 400)
    labels = univariate(values, k)
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    order = np.argsort(values, kind="stable")
    assert (np.diff(labels[order]) >= 0).all()


def test_the_order_of_records_decides_among_equal_values_alone() -> None:
    rng = np.random.default_rng(8)
    values = rng.integers(0, 9, 200).astype(np.float64)
    labels = univariate(values, 4)
    shuffled = rng.permutation(200)
    for value in range(9):
        own = np.sort(labels[values == value])
        assert labels[values == value].tolist() == own.tolist()
        assert univariate(values[shuffled], 4)[values[shuffled] == value].tolist() == own.tolist()


def test_of_equal_partitions_the_last_group_is_the_smallest() -> None:
    assert univariate(np.zeros(8), 3).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert univariate(np.zeros(8), 8).tolist() == [0] * 8
    # both cuts of five steps lose 1/2 + 2
    assert univariate(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), 2).tolist() == [0, 0, 0, 1, 1]


def test_moved_and_stretched_numbers_have_the_same_groups() -> None:
    values = np.random.default_rng(2).integers(0, 1000, 300).astype(np.float64)
    expected = univariate(values, 5).tolist()
    assert univariate(values + 2.0**40, 5).tolist() == expected
    assert univariate(values * 2.0**-900, 5).tolist() == expected


def test_several_variables_are_projected_to_their_first_component() -> None:
    generator = np.random.default_rng(5)
    points = generator.normal(size=(80, 1)) * [3.0, -2.0, 0.5] + generator.normal(size=(80, 3)) / 4
    direction = np.linalg.svd(points - points.mean(axis=0))[2][0]
    direction *= np.sign(direction[np.abs(direction).argmax()])
    assert first_component(points) == pytest.approx(direction, abs=1e-12)
    assert projected_partition(points, 4, "pca").tolist() == univariate(points @ direction, 4).tolist()
    assert projected_partition(points, 4, "sum").tolist() == univariate(points.sum(axis=1), 4).tolist()
    assert projected_partition(points, 4, "sum").tolist() != projected_partition(points, 4, "pca").tolist()
    assert UnivariateMethod(4, "sum").partition(points).tolist() == projected_partition(points, 4, "sum").tolist()
    assert UnivariateMethod(4).partition(points).tolist() == projected_partition(points, 4, "pca").tolist()


@pytest.mark.parametrize("projection", ["pca", "sum"])
def test_one_variable_is_not_projected(projection: Projection) -> None:
    values = np.random.default_rng(6).normal(size=60)
    points = np.column_stack((np.ones(60), -values, np.zeros(60)))
    assert projected_partition(points, 3, projection).tolist() == univariate(-values, 3).tolist()


@pytest.mark.parametrize("projection", ["pca", "sum"])
def test_stretched_records_have_the_same_groups(projection: Projection) -> None:
    points = np.random.default_rng(9).normal(size=(60, 3)) @ np.array([[2.0, 1, 0], [0, 1, 0], [1, 0, 3]])
    expected = projected_partition(points, 3, projection).tolist()
    assert projected_partition(points * 2.0**-700, 3, projection).tolist() == expected
    assert projected_partition(points * 2.0**490, 3, projection).tolist() == expected


def test_equal_records_lie_side_by_side() -> None:
    generator = np.random.default_rng(8)
    points = np.repeat(generator.normal(size=(30, 5)), 5, axis=0)[generator.permutation(150)]
    labels = projected_partition(points, 5, "pca")
    assert all(len(np.unique(points[labels == group], axis=0)) == 1 for group in range(30))
