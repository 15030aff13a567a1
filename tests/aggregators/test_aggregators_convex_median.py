"""The convex median against its definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.aggregators import ConvexMedian, Median

WEIGHT = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.0, 1e-9, 1e9])


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 4), WEIGHT), max_size=40))
def test_definition(rows: list[tuple[int, int, float]]) -> None:
    rows += [(g, 0, 1.0) for g in range(4)]
    values = np.array([[float(x), float(-x)] for _, x, _ in rows])
    labels = np.array([g for g, _, _ in rows])
    chosen = ConvexMedian().choose(values, labels, np.array([w for _, _, w in rows]))
    for g in range(4):
        for column in range(2):
            own = [(values[i, column], Fraction(w)) for i, (h, _, w) in enumerate(rows) if h == g]
            expected = by_definition(own)
            first = next(i for i, (h, _, _) in enumerate(rows) if h == g and values[i, column] == expected)
            assert chosen[g, column] == first


def by_definition(own: list[tuple[float, Fraction]]) -> float:
    weight = {x: sum((w for y, w in own if y == x), Fraction(0)) for x, _ in own}
    convex = {
        x: min(max(w for y, w in weight.items() if y <= x), max(w for y, w in weight.items() if y >= x))
        for x in weight
    }
    half = sum(convex.values()) / 2
    return min(x for x in convex if sum(w for y, w in convex.items() if y <= x) >= half)


@pytest.mark.parametrize(
    ("group", "convex", "plain"),
    [((1, 1, 1, 2, 3, 3), 2, 1), ((1, 1, 1, 2, 3, 4), 1, 1), ((1, 2, 3, 3, 3), 3, 3), ((5, 5), 5, 5)],
)
def test_the_middle_between_two_crowds(group: tuple[int, ...], convex: int, plain: int) -> None:
    values, labels = np.array(group, dtype=np.float64)[:, None], np.zeros(len(group), dtype=np.intp)
    assert ConvexMedian().aggregate(values, labels).item() == convex
    assert Median().aggregate(values, labels).item() == plain


def test_sums_of_convex_weights_do_not_overflow() -> None:
    """Both crowds weigh 30 times 2 ** 54, and so does each of the 39 values between them."""
    values = np.concatenate([np.zeros(30), np.arange(1.0, 40.0), np.full(30, 40.0)])[:, None]
    weights = np.concatenate([np.full(30, 2.0**54), np.ones(39), np.full(30, 2.0**54)])
    assert ConvexMedian().aggregate(values, np.zeros(99, dtype=np.intp), weights).item() == 20.0
