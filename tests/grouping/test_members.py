"""Members of groups are cut from one array; codes of rows are those that sorting the rows gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.grouping.members import Members, codes_of


def test_members_are_a_sequence() -> None:
    members = Members.of(np.array([2, 0, 1, 0]))
    assert members[-1].tolist() == [0]
    assert [own.tolist() for own in members[1:]] == [[2], [0]]
    for outside in (3, -4):
        with pytest.raises(IndexError, match=f"no group {outside} of 3"):
            members[outside]


@given(st.integers(0, 2**32 - 1), st.sampled_from(["small", "far", "doubles"]))
def test_codes_are_those_of_sorted_rows(seed: int, kind: str) -> None:
    generator = np.random.default_rng(seed)
    shape = int(generator.integers(1, 50)), int(generator.integers(1, 5))
    columns = generator.integers(-3, 4, size=shape)
    if kind == "far":
        columns *= 10**17
    rows = columns / 4 if kind == "doubles" else columns
    expected = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    assert (codes_of(rows) == expected).all()
    assert codes_of(rows).dtype == np.intp


def test_codes_do_not_depend_on_the_width_of_integers() -> None:
    assert codes_of(np.arange(-100, 101, dtype=np.int8)[:, None]).tolist() == list(range(201))
    assert codes_of(np.array([[255], [0]], dtype=np.uint8)).tolist() == [1, 0]
    assert codes_of(np.empty((0, 2), dtype=np.intp)).tolist() == []
