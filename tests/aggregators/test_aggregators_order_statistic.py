"""Weighted order statistics against their definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.aggregators import LowerQuartile, Maximum, Median, Minimum, UpperQuartile
from masktron.aggregators.order_statistic import OrderStatistic, shares_a_record

EVERY = (Minimum(), LowerQuartile(), Median(), UpperQuartile(), Maximum())
WEIGHT = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.0, 1e-9, 1e9])


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 4), WEIGHT), max_size=30))
def test_definition(rows: list[tuple[int, int, float]]) -> None:
    rows += [(g, 0, 1.0) for g in range(4)]
    values = np.array([[float(x), float(-x)] for _, x, _ in rows])
    labels = np.array([g for g, _, _ in rows])
    for statistic in EVERY:
        chosen = statistic.choose(values, labels, np.array([w for _, _, w in rows]))
        for g in range(4):
            for column in range(2):
                own = [(values[i, column], Fraction(w)) for i, (h, _, w) in enumerate(rows) if h == g]
                expected = by_definition(own, statistic.share)
                assert labels[chosen[g, column]] == g
                assert values[chosen[g, column], column] == expected


def by_definition(own: list[tuple[float, Fraction]], share: Fraction) -> float:
    asked = share * sum(w for _, w in own)
    reached = {x: sum(w for y, w in own if y <= x) for x, _ in own}
    return min(x for x, weight in reached.items() if weight >= asked and weight > 0)


@pytest.mark.parametrize(("statistic", "expected"), list(zip(EVERY, [1.0, 2.0, 4.0, 6.0, 8.0], strict=True)))
def test_without_weights(statistic: OrderStatistic, expected: float) -> None:
    values = np.arange(8.0, 0.0, -1.0)[:, None]
    assert statistic.aggregate(values, np.zeros(8, dtype=np.intp)).item() == expected


def test_records_without_weight_are_no_extremes() -> None:
    values, labels = np.array([[1.0], [2.0], [3.0]]), np.zeros(3, dtype=np.intp)
    weights = np.array([0.0, 1.0, 0.0])
    assert [one.aggregate(values, labels, weights).item() for one in EVERY] == [2.0] * 5


def test_three_quarters_of_weights_near_the_limit_of_integers() -> None:
    weights = np.array([2.0**59, 2.0**59, 2.0**59, 2.0**59 - 128, 256.0])
    chosen = UpperQuartile().choose(np.arange(5.0)[:, None], np.zeros(5, dtype=np.intp), weights)
    assert chosen.item() == 3  # three fourths are 96 more than the first three weigh


def test_an_extreme_shares_a_record_with_any_number_of_sets_from_one_side() -> None:
    assert shares_a_record(9, 1, Fraction(0))
    assert not shares_a_record(0, 2, Fraction(0))
    assert shares_a_record(1, 9, Fraction(1))
    assert not shares_a_record(2, 0, Fraction(1))
    assert shares_a_record(4, 0, Fraction(1, 4))
    assert not shares_a_record(2, 1, Fraction(1, 4))
    assert shares_a_record(2, 0, Fraction(1, 2))
    assert not shares_a_record(0, 2, Fraction(1, 2))
