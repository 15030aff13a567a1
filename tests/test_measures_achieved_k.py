"""Group sizes by exact lexemes against a counter."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.constraints import Linear
from masktron.errors import UsageError
from masktron.measures import achieved_k
from masktron.measures.achieved_k import group_sizes, shared_columns

LEXEME = st.sampled_from(["5", "5.0", " 5", "", None, "é", "nan", "None"])


@given(rows=st.lists(st.tuples(LEXEME, LEXEME, st.integers(-1, 1)), min_size=1, max_size=40))
def test_counter(rows: list[tuple[str | None, str | None, int]]) -> None:
    columns = [np.array([row[j] for row in rows], dtype=object) for j in range(2)]
    columns.append(np.array([row[2] for row in rows]))
    count = Counter(rows)
    assert group_sizes(columns).tolist() == [count[row] for row in rows]
    assert achieved_k(columns) == min(count.values())


def test_many_columns_of_many_values() -> None:
    values = np.tile(np.arange(5000), 2)
    assert achieved_k([values] * 12) == 2


def test_numbers_that_are_missing_are_alike() -> None:
    assert group_sizes([np.array([np.nan, 1.0, np.nan])]).tolist() == [2, 1, 2]


def test_no_records() -> None:
    assert achieved_k([np.empty(0, dtype=object)]) == 0


def test_bad_arguments() -> None:
    with pytest.raises(UsageError, match="without a variable"):
        achieved_k([])
    with pytest.raises(UsageError, match="different lengths"):
        achieved_k([np.zeros(2), np.zeros(3)])


def test_a_solved_variable_counts_where_its_equality_fails() -> None:
    lexemes = {"A": ["1", "1", "1", "1"], "B": ["2", "3", "5", ""], "U": ["3", "4", "5", "6"]}
    columns = {name: np.array(own, dtype=object) for name, own in lexemes.items()}
    total = Linear((("A", Fraction(1)), ("B", Fraction(1)), ("U", Fraction(-1))), "=", Fraction(0))
    sizes = group_sizes(shared_columns(columns, ["A", "B"], {"B": [total]}))
    assert sizes.tolist() == [2, 2, 1, 1]
    assert achieved_k(shared_columns(columns, ["A", "B"], {})) == 1
    assert achieved_k(shared_columns({"A": columns["A"], "B": columns["B"]}, ["A", "B"], {"B": [total]})) == 1
