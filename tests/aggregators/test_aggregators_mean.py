"""The arithmetic mean: next to the exact one whatever cancels, and inside the range of its group."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.aggregators import ALL, Aggregator, Mean
from masktron.errors import UsageError
from refusals import refused

NUMBER = st.one_of(
    st.integers(-(10**9), 10**9).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.1, 1e16, -1e16, 1.0, 1.7e308, -1.7e308, 5e-324]),
)
WEIGHT = st.one_of(st.integers(0, 5).map(float), st.floats(0.01, 1e6))
GROUPS = st.lists(st.lists(st.tuples(NUMBER, WEIGHT), min_size=1, max_size=9), min_size=1, max_size=5)


@given(groups=GROUPS, weighted=st.booleans(), shuffle=st.randoms(use_true_random=False))
def test_mean_is_next_to_the_exact_one(groups: list[list[tuple[float, float]]], weighted: bool, shuffle) -> None:  # type: ignore[no-untyped-def]
    rows = [(g, x, w) for g, group in enumerate(groups) for x, w in group]
    rows += [(g, 1.0, 1.0) for g in range(len(groups))]
    shuffle.shuffle(rows)
    labels = np.array([g for g, _, _ in rows], dtype=np.intp)
    weights = np.array([w for _, _, w in rows]) if weighted else None
    means = Mean().aggregate(np.array([[x] for _, x, _ in rows]), labels, weights)[:, 0]
    for g, mean in enumerate(means.tolist()):
        own = [(Fraction(x), Fraction(w) if weighted else Fraction(1)) for h, x, w in rows if h == g]
        exact = sum((x * w for x, w in own), Fraction(0)) / sum((w for _, w in own), Fraction(0))
        # Two ulps of the mean; or what double-double loses where the terms cancel.
        largest = max(abs(x) for x, _ in own)
        allowed = 2 * Fraction(math.ulp(mean)) + largest * Fraction(2) ** -98
        assert abs(Fraction(mean) - exact) <= allowed
        assert min(x for x, _ in own) <= Fraction(mean) <= max(x for x, _ in own)


@given(value=NUMBER, weights=st.lists(st.floats(0.001, 1000), min_size=1, max_size=20))
def test_mean_of_a_constant_is_the_constant(value: float, weights: list[float]) -> None:
    labels = np.zeros(len(weights), dtype=np.intp)
    result = Mean().aggregate(np.full((len(weights), 1), value), labels, np.array(weights))
    assert result.tolist() == [[value]]


def test_nothing_cancels_in_a_large_group() -> None:
    values = np.concatenate([np.full(5000, 1e16), [1.0], np.full(5000, -1e16)])[:, None]
    assert Mean().aggregate(values, np.zeros(10_001, dtype=np.intp)).item() == 1 / 10_001


def test_halves_are_exact() -> None:
    values = np.array([[0.5, 3.0], [0.25, 2.0]])
    assert Mean().aggregate(values, np.array([0, 0])).tolist() == [[0.375, 2.5]]


def test_groups_are_told_apart_by_label_not_by_place() -> None:
    values = np.array([[1.0], [10.0], [3.0], [20.0]])
    assert Mean().aggregate(values, np.array([1, 0, 1, 0])).tolist() == [[15.0], [2.0]]


@pytest.mark.parametrize("aggregator", ALL, ids=lambda a: a.name)
def test_a_group_without_values_has_none(aggregator: Aggregator) -> None:
    values = np.array([[np.nan, 1.0], [np.nan, 1.0], [2.0, 1.0]])
    result = aggregator.aggregate(values, np.array([0, 0, 1]))
    assert np.isnan(result).tolist() == [[True, False], [False, False]]


@pytest.mark.parametrize("aggregator", ALL, ids=lambda a: a.name)
def test_no_records_make_no_prototypes(aggregator: Aggregator) -> None:
    assert aggregator.aggregate(np.empty((0, 2)), np.empty(0, dtype=np.intp)).shape == (0, 2)


VALUES = np.array([[1.0], [2.0], [3.0]])
LABELS = np.array([0, 1, 1])


@pytest.mark.parametrize("aggregator", ALL, ids=lambda a: a.name)
@pytest.mark.parametrize(
    ("values", "labels", "weights", "code", "named"),
    [
        (VALUES, LABELS[:2], None, "arrays-differ", {}),
        (VALUES, LABELS, np.ones(2), "arrays-differ", {}),
        (VALUES, np.array([0, 2, 2]), None, "bad-arrays", {}),
        (VALUES, np.array([0, -1, 0]), None, "bad-arrays", {}),
        (VALUES, LABELS, np.array([1.0, -2.0, 5.0]), "bad-value", {"where": "record 2", "given": -2.0}),
        (VALUES, LABELS, np.array([1.0, 2.0, np.nan]), "bad-value", {"where": "record 3"}),
        (VALUES, LABELS, np.array([1.0, 0.0, 0.0]), "group-without-weight", {"group": 1, "records": 2}),
        (np.array([[1.0], [np.inf], [2.0]]), LABELS, None, "unusable-values", {"where": "column 1, record 2"}),
    ],
)
def test_bad_arguments_are_named(
    aggregator: Aggregator,
    values: NDArray[np.float64],
    labels: NDArray[np.intp],
    weights: NDArray[np.float64] | None,
    code: str,
    named: dict[str, object],
) -> None:
    with refused(UsageError, code, **named):
        aggregator.aggregate(values, labels, weights)


@pytest.mark.parametrize("aggregator", [a for a in ALL if a.name != "medoid"], ids=lambda a: a.name)
def test_missing_and_present_values_do_not_mix(aggregator: Aggregator) -> None:
    with refused(UsageError, "mixed-missing-values", group=0, column=1):
        aggregator.aggregate(np.array([[1.0], [np.nan]]), np.array([0, 0]))
