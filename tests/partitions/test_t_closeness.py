"""t-closeness on the tree: the paper by the letter in exact fractions, groups within t, several class attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from masktron.errors import UsageError
from masktron.measures.homogeneity import homogeneity
from masktron.methods.t_closeness import TClosenessMethod, combined
from masktron.partitions.mst import tree_partition
from masktron.partitions.t_closeness import close_partition
from refusals import refused
from tree_reference import cut_by_the_letter, groups_of, kruskal, random_points


def farness(records: set[int], codes: list[int], shares: list[Fraction]) -> Fraction:
    """The earth mover's distance with equal ground distance: what has to be moved."""
    found = Counter(codes[record] for record in records)
    excess = (Fraction(found[code], len(records)) - share for code, share in enumerate(shares))
    return sum((max(one, Fraction(0)) for one in excess), Fraction(0))


def close(k: int, t: Fraction, codes: list[int], shares: list[Fraction]) -> Callable[[set[int]], bool]:
    return lambda part: len(part) >= k and farness(part, codes, shares) <= t


def compare(seeds: range) -> None:
    for seed in seeds:
        generator = np.random.default_rng(seed)
        n = int(generator.integers(4, 31))
        points, k = random_points(generator, n), int(generator.integers(1, 5))
        codes = generator.integers(0, int(generator.integers(1, 4)), n)
        t = Fraction(int(generator.integers(0, 11)), 10)
        # in half of the cases the records are a part of a file with other shares
        others = generator.integers(0, 12, 3) if seed % 2 else np.zeros(3, dtype=np.intp)
        found = np.bincount(codes, minlength=3) + others
        shares = [Fraction(int(one), int(found.sum())) for one in found]
        expected = cut_by_the_letter(kruskal(points), n, close(k, t, codes.tolist(), shares))
        labels = close_partition(points, k, float(t), codes, found / found.sum())
        assert groups_of(labels) == expected, seed


def test_partitions_are_those_of_the_paper() -> None:
    compare(range(200))


@pytest.mark.full
def test_partitions_of_thousands_of_files_are_those_of_the_paper() -> None:
    compare(range(200, 3200))


def test_a_quotient_that_is_rounded_is_not_beyond_t() -> None:
    assert abs(8 / 10 - 0.5) > 0.3
    points = np.concatenate((np.arange(10.0), 100 + np.arange(10.0)))[:, None]
    codes = np.array([0] * 8 + [1] * 2 + [0] * 2 + [1] * 8)
    assert close_partition(points, 10, 0.3, codes, np.array([0.5, 0.5])).max() == 1
    assert close_partition(points, 10, 0.29, codes, np.array([0.5, 0.5])).max() == 0


def test_without_a_limit_it_is_the_tree() -> None:
    points, codes = np.random.default_rng(3).normal(size=(150, 3)), np.arange(150) % 4
    expected = tree_partition(points, 5).tolist()
    assert TClosenessMethod(5, 1.0).partition(points, classes=codes[:, None]).tolist() == expected
    assert TClosenessMethod(5, 0.3).partition(points, classes=codes[:, None]).tolist() != expected


def test_records_that_are_too_far_as_a_whole_stay_together() -> None:
    points, codes = np.random.default_rng(3).normal(size=(60, 2)), np.arange(60) % 2
    shares = np.array([0.9, 0.1])
    assert TClosenessMethod(3, 0.3).partition(points, classes=codes[:, None], shares=shares).max() == 0


def test_several_class_attributes_are_one() -> None:
    classes = np.array([[0, 1], [1, 1], [0, 1], [1, 0]])
    codes, shares = combined(classes, None)
    assert codes.tolist() == [0, 2, 0, 1]
    assert shares.tolist() == [0.5, 0.25, 0.25]
    of_file = np.array([[0.1, 0.2], [0.3, 0.4]])
    codes, shares = combined(classes, of_file)
    assert codes.tolist() == [1, 3, 1, 2]
    assert shares.tolist() == [0.1, 0.2, 0.3, 0.4]
    codes, shares = combined(classes[:, :1], np.array([0.5, 0.25, 0.25]))
    assert (codes.tolist(), shares.tolist()) == ([0, 1, 0, 1], [0.5, 0.25, 0.25])
    for wrong in (np.array([0.5, 0.5]), np.ones((1, 2)) / 2, np.ones((2, 2, 1)) / 4):
        with refused(UsageError, "bad-value", name="shares"):
            combined(classes, wrong)


def test_the_class_of_pima_cannot_be_read_from_a_group(shared_data: Path) -> None:
    table = pd.read_csv(shared_data / "pima.csv")
    values, classes = table.iloc[:, :-1].to_numpy(np.float64), (table["diabetes"] == "pos").to_numpy(np.intp)
    assert (
        homogeneity(TClosenessMethod(5, 0.2, scale="unit").partition(values, classes=classes[:, None]), classes)
        == 0.0
    )
