"""Values that masking left as they were."""

from __future__ import annotations

import math

import pytest

from made_columns import column_of_cells
from masktron.measures.unchanged import published_as_it_was, unchanged
from masktron.sources.column import Column


def column(*texts: str | None) -> Column:
    return column_of_cells(texts)


@pytest.mark.parametrize(
    ("before", "after", "share", "whole"),
    [
        (("1", "2"), ("1", "2"), 100.0, True),
        (("1", "2.0"), ("1.0", "2"), 100.0, True),
        (("a", "b"), ("a", "a"), 50.0, False),
        (("01", "x"), ("1", "x"), 100.0, True),
        (("1", "2", None), ("1", None, None), 50.0, False),
        (("1", "2", None), ("1", "2", "2"), 100.0, True),
        (("7", "7.0", None), ("7", "7", None), 100.0, False),
        (("7", "x"), ("7.0", "x"), 100.0, True),
        (("0", "-0"), ("0", "0"), 100.0, True),
        (("x", "x"), ("x", "x"), 100.0, False),
        (("x", "y"), ("x", "y"), 100.0, True),
        (("x", "5"), ("5", "x"), 0.0, False),
    ],
)
def test_by_hand(before: tuple[str], after: tuple[str], share: float, *, whole: bool) -> None:
    assert unchanged(column(*before), column(*after)) == share
    assert published_as_it_was(column(*before), column(*after)) is whole


def test_without_a_value_there_is_no_share() -> None:
    assert math.isnan(unchanged(column(None, None), column(None, "1")))
    assert not published_as_it_was(column(None, None), column(None, "1"))
