"""The weighted mode against its definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from masktron.aggregators import Mode

WEIGHT = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.0])


@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), WEIGHT), max_size=30))
def test_definition(rows: list[tuple[int, int, float]]) -> None:
    rows += [(g, 0, 0.5) for g in range(3)]
    values = np.array([[float(x), float((7 * x) % 5)] for _, x, _ in rows])
    labels = np.array([g for g, _, _ in rows])
    chosen = Mode().choose(values, labels, np.array([w for _, _, w in rows]))
    for g in range(3):
        for column in range(2):
            own = [(values[i, column], Fraction(w)) for i, (h, _, w) in enumerate(rows) if h == g]
            heaviest = max(sum(w for y, w in own if y == x) for x, _ in own)
            winners = {x for x, _ in own if sum(w for y, w in own if y == x) == heaviest}
            first = next(i for i, (h, _, _) in enumerate(rows) if h == g and values[i, column] in winners)
            assert chosen[g, column] == first


def test_first_of_equals() -> None:
    values = np.array([[2.0], [1.0], [1.0], [2.0]])
    assert Mode().choose(values, np.zeros(4, dtype=np.intp)).item() == 0
    assert Mode().choose(values, np.array([1, 0, 0, 1])).tolist() == [[1], [0]]
