"""The weighted lower median against its definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from masktron.aggregators import Median

WEIGHT = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.0, 1e-9, 1e9])


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 4), WEIGHT), max_size=30))
def test_definition(rows: list[tuple[int, int, float]]) -> None:
    rows += [(g, 0, 1.0) for g in range(4)]
    values = np.array([[float(x), float(-x)] for _, x, _ in rows])
    labels = np.array([g for g, _, _ in rows])
    chosen = Median().choose(values, labels, np.array([w for _, _, w in rows]))
    assert chosen.shape == (4, 2)
    for g in range(4):
        for column in range(2):
            own = [(values[i, column], Fraction(w)) for i, (h, _, w) in enumerate(rows) if h == g]
            half = sum(w for _, w in own) / 2
            expected = min(x for x, _ in own if sum(w for y, w in own if y <= x) >= half)
            assert labels[chosen[g, column]] == g
            assert values[chosen[g, column], column] == expected


def test_without_weights_the_lower_of_two_middles() -> None:
    values = np.array([[4.0], [1.0], [3.0], [2.0]])
    assert Median().aggregate(values, np.zeros(4, dtype=np.intp)).item() == 2.0


def test_ties_of_weight_are_decided_exactly() -> None:
    # 0.1 + 0.2 is below 0.3 as rationals of these doubles, though not in floating point.
    values = np.array([[1.0], [2.0], [3.0]])
    weights = np.array([0.1, 0.2, 0.3])
    assert Fraction(0.1) + Fraction(0.2) > Fraction(0.3)
    assert Median().aggregate(values, np.zeros(3, dtype=np.intp), weights).item() == 2.0
    assert Median().aggregate(values[::-1], np.zeros(3, dtype=np.intp), weights).item() == 2.0
