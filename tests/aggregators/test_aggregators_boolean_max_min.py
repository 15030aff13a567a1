"""The Boolean max-min function against its definition, over all coalitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from masktron.aggregators import BooleanMaxMin, Median

WEIGHT = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.0, 9.0])
ROWS = st.lists(st.tuples(st.integers(-4, 4), WEIGHT), min_size=1, max_size=7)


@given(rows=ROWS)
def test_definition(rows: list[tuple[int, float]]) -> None:
    own = [(Fraction(x), Fraction(w)) for x, w in [*rows, (0, 1.0)]]
    coalitions = (part for size in range(1, len(own) + 1) for part in combinations(own, size))
    expected = max(min(x for x, _ in part) for part in coalitions if counts(part, own))
    values = np.array([[float(x)] for x, _ in own])
    weights = np.array([float(w) for _, w in own])
    found = BooleanMaxMin().aggregate(values, np.zeros(len(own), dtype=np.intp), weights)
    assert found.item() == expected


def counts(part: tuple[tuple[Fraction, Fraction], ...], whole: list[tuple[Fraction, Fraction]]) -> bool:
    heavy = 2 * sum(w for _, w in part) > sum(w for _, w in whole)
    return heavy and 2 * sum(w > 0 for _, w in part) > sum(w > 0 for _, w in whole)


@given(rows=ROWS)
def test_it_is_the_median_without_weights(rows: list[tuple[int, float]]) -> None:
    values = np.array([[float(x)] for x, _ in rows])
    labels = np.arange(len(rows)) // 3
    assert (BooleanMaxMin().aggregate(values, labels) == Median().aggregate(values, labels)).all()


def test_one_heavy_record_does_not_lift_the_value_alone() -> None:
    values, labels = np.array([[1.0], [2.0], [9.0]]), np.zeros(3, dtype=np.intp)
    weights = np.array([1.0, 1.0, 5.0])
    assert Median().aggregate(values, labels, weights).item() == 9.0
    assert BooleanMaxMin().aggregate(values, labels, weights).item() == 2.0
