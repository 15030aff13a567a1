"""Distances of encoded variables are those of their kind."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.errors import UsageError
from masktron.methods.encode import encode_nominal, encode_numeric, encode_ordinal


def test_different_categories_are_at_distance_one() -> None:
    values = np.array(["b", "a", "c", "b", "a"], dtype=object)
    points = encode_nominal(values)
    squared = np.square(points[:, None] - points[None]).sum(axis=2)
    assert squared == pytest.approx((values[:, None] != values[None]).astype(float))


def test_one_category_takes_no_room() -> None:
    assert encode_nominal(np.array([7, 7, 7])).shape == (3, 0)


def test_ordinal_distance_is_the_share_of_categories_between() -> None:
    assert encode_ordinal(np.array([10, 30, 20, 70, 10]))[:, 0].tolist() == [0, 0.5, 0.25, 0.75, 0]


def test_numeric_is_standardised() -> None:
    points = encode_numeric(np.array([1.0, 2.0, 3.0]))
    assert points.shape == (3, 1)
    assert points.var() == pytest.approx(1)


@pytest.mark.parametrize(
    ("encode", "values"),
    [
        (encode_nominal, np.array(["a", None], dtype=object)),
        (encode_nominal, np.array(["a", float("nan")], dtype=object)),
        (encode_ordinal, np.array([1.0, np.nan])),
        (encode_numeric, np.array([1.0, np.nan])),
    ],
)
def test_missing_values_are_refused(encode, values) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match="record 2: a missing value"):
        encode(values)


def test_identifiers_are_refused() -> None:
    with pytest.raises(UsageError, match="10000 different values"):
        encode_nominal(np.arange(10_000))
