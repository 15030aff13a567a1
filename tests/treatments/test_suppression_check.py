"""The check of a suppressed file finds each way to break the promise."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.treatments.suppression_check import kept

ORIGINAL = [np.array([0, 0, 0, 1]), np.array([5, 5, 6, 7])]
WRITTEN = [np.array([0, 0, -1, -1]), np.array([5, 5, -1, -1])]


def test_a_file_that_keeps_it() -> None:
    assert kept(ORIGINAL, WRITTEN, 2) == []
    assert kept([], WRITTEN, 2) == []


@pytest.mark.parametrize(
    ("key", "record", "value", "says"),
    [
        (0, 0, 1, "key 1: 1 cells are neither"),
        (0, 3, 1, "keys 1, 2: 2 records"),
        (1, 2, 7, "key 2: 1 cells are neither"),
    ],
)
def test_a_spoilt_cell_is_found(key: int, record: int, value: int, says: str) -> None:
    spoilt = [column.copy() for column in WRITTEN]
    spoilt[key][record] = value
    assert any(says in wrong for wrong in kept(ORIGINAL, spoilt, 2))


def test_subsets_and_missing_values_that_match() -> None:
    # (0, 5), (0, 6), (1, 5), (1, 6): every value twice, every pair once
    crossed = [np.array([0, 0, 1, 1]), np.array([5, 6, 5, 6])]
    assert kept([], crossed, 2, subsets=1) == []
    assert kept([], crossed, 2, subsets=2) == kept([], crossed, 2) == kept([], crossed, 2, subsets=9) != []
    starred = [np.array([0, -1, 1]), np.array([5, 5, 5])]
    assert kept([], starred, 2, missing_matches=True) == []
    assert kept([], starred, 3, missing_matches=True) == [
        "keys 1, 2: 2 records share their combination with fewer than 3 of the file"
    ]
    assert kept([], starred, 2) == ["keys 1, 2: 3 records share their combination with fewer than 2 of the file"]
