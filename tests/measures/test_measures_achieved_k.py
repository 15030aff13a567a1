"""Group sizes by exact lexemes against a counter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_columns import column_of_cells
from masktron.constraints import Linear
from masktron.kernels.distinct import alike, codes_of, factorized
from masktron.measures import achieved_k
from masktron.measures.achieved_k import group_sizes, shared_columns
from masktron.sources.column import Column

LEXEME = st.sampled_from(["5", "5.0", " 5", "", None, "é", "nan", "None"])


def column(*texts: str, codes: tuple[str, ...] = ()) -> Column:
    return column_of_cells(texts, codes)


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


def test_a_solved_variable_counts_where_its_equality_fails() -> None:
    lexemes = {"A": ["1", "1", "1", "1"], "B": ["2", "3", "5", ""], "U": ["3", "4", "5", "6"]}
    columns = {name: column(*own) for name, own in lexemes.items()}
    codes = {name: codes_of(own.lexemes) for name, own in columns.items()}
    total = Linear((("A", Fraction(1)), ("B", Fraction(1)), ("U", Fraction(-1))), "=", Fraction(0))
    sizes = group_sizes(shared_columns(columns, codes, ["A", "B"], {"B": [total]}))
    assert sizes.tolist() == [2, 2, 1, 1]
    assert achieved_k(shared_columns(columns, codes, ["A", "B"], {})) == 1
    columns["B"], columns["U"] = column("2", "2", "2", "2"), column("3", "3", "9", "9")
    codes["B"] = codes_of(columns["B"].lexemes)
    assert group_sizes(shared_columns(columns, codes, ["A", "B"], {"B": [total]})).tolist() == [2, 2, 2, 2]
    columns["U"] = column("3", "3", "3", "9")
    assert achieved_k(shared_columns(columns, codes, ["A", "B"], {"B": [total]})) == 1, "as if it were another text"
    del columns["U"]
    assert achieved_k(shared_columns(columns, codes, ["A", "B"], {"B": [total]})) == 4


def test_engines_read_a_code_for_missing_as_a_number() -> None:
    """So an equality may hold in it: 1 + -9 = -8."""
    columns = {"A": column("1", "1"), "B": column("-9", "-9", codes=("-9",)), "U": column("-8", "-8")}
    codes = {name: codes_of(own.lexemes) for name, own in columns.items()}
    codes["B"] = codes_of(np.array(["-9", "-9.0"], dtype=object))
    total = Linear((("A", Fraction(1)), ("B", Fraction(1)), ("U", Fraction(-1))), "=", Fraction(0))
    assert achieved_k(shared_columns(columns, codes, ["A", "B"], {"B": [total]})) == 2


def test_columns_behind_those_that_tell_all_records_apart_are_not_asked_for() -> None:
    def columns() -> Iterator[np.ndarray]:
        yield np.array([0, 1, 0], dtype=np.int32)
        yield np.array([-1, -1, 0], dtype=np.int32)
        raise AssertionError

    codes, count = alike(columns(), 3)
    assert (codes.tolist(), count) == ([0, 1, 2], 3)


@pytest.mark.parametrize(
    "values",
    [
        np.array(["b", "a", None, "b", "", "a", None], dtype=object),
        np.array([], dtype=object),
        np.array([2.5, np.nan, -0.0, 2.5, 0.0, np.nan, -7.0]),
        np.array([3, 1, 1, 2, 3, -5]),
        np.array([], dtype=np.int64),
    ],
)
def test_few_values_are_numbered_as_pandas_does(values: np.ndarray) -> None:
    codes, found = factorized(values)
    expected, distinct = pd.factorize(values)
    assert codes.tolist() == expected.tolist()
    assert found.tolist() == distinct.tolist()
