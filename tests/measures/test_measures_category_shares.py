"""Weighted counts of categories and their total variation distance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.measures import category_shares


def column(*lexemes: str | None) -> np.ndarray:
    return np.array(lexemes, dtype=object)


def test_by_hand() -> None:
    shares = category_shares(column("a", "b", "b", None), column("b", "b", "b", "c"), np.array([1.0, 2.0, 1.0, 4.0]))
    assert list(shares.before.items()) == [("a", 1.0), ("b", 3.0), ("c", 0.0)]
    assert list(shares.after.items()) == [("a", 0.0), ("b", 4.0), ("c", 4.0)]
    assert shares.distance == pytest.approx(50.0), "half of |1/4 - 0| + |3/4 - 1/2| + |0 - 1/2|"


def test_lexemes_are_categories() -> None:
    shares = category_shares(column("1", "01"), column("1", "1"))
    assert shares.before == {"01": 1.0, "1": 1.0}
    assert shares.distance == pytest.approx(50.0)


def test_no_values_no_distance() -> None:
    assert math.isnan(category_shares(column(None), column("a")).distance)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.integers(1, 5)), min_size=1))
def test_the_distance_is_the_largest_difference_of_a_set_of_categories(rows: list[tuple[str, str, int]]) -> None:
    shares = category_shares(
        column(*(a for a, _, _ in rows)), column(*(b for _, b, _ in rows)), np.array([float(w) for *_, w in rows])
    )
    total = sum(w for *_, w in rows)
    sets = [{c for at, c in enumerate("abc") if bits >> at & 1} for bits in range(8)]
    differences = [sum(w * ((a in some) - (b in some)) for a, b, w in rows) / total for some in sets]
    assert shares.distance == pytest.approx(100 * max(differences))


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.floats(0.0, 1e20)), min_size=1))
def test_counts_are_exact_sums_rounded_once(rows: list[tuple[str | None, float]]) -> None:
    """Also where integers are too large to be added without rounding."""
    weights = np.array([weight for _, weight in rows])
    for weight in (
        weights,
        np.round(weights),
        np.round(weights / 1e17),
        np.full(len(rows), 0.1),
        np.full(len(rows), 2.0**53 - 1),
    ):
        shares = category_shares(column(*(text for text, _ in rows)), column(*(None for _ in rows)), weight)
        held = {text: [w for (own, _), w in zip(rows, weight.tolist(), strict=True) if own == text] for text in "abc"}
        assert shares.before == {text: math.fsum(own) for text, own in held.items() if own}
