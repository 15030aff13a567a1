"""Values as packages store them: two ways to write them agree, and what is written reads back equal."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.sources.tables.arrow_values import UnfitError
from masktron.sources.tables.read_statistical import rows_again
from masktron.sources.tables.stored_values import Clock, StoredColumn, stored_column

CLOCKS = [
    (Clock("date", datetime.date(1582, 10, 14), Decimal(1)), ("date", "1582-10-14", "seconds"), 86_400.0 * 140_000),
    (Clock("datetime", datetime.date(1582, 10, 14), Decimal(1)), ("datetime", "1582-10-14", "seconds"), 1.4e10),
    (Clock("time", datetime.date(1582, 10, 14), Decimal(1)), ("time", "1582-10-14", "seconds"), 86_400.0),
    (Clock("date", datetime.date(1960, 1, 1), Decimal(86_400)), ("date", "1960-01-01", "days"), 22_000.0),
    (
        Clock("datetime", datetime.date(1960, 1, 1), Decimal("0.001")),
        ("datetime", "1960-01-01", "milliseconds"),
        2e12,
    ),
]
MOMENTS = st.one_of(
    st.integers(-400_000, 400_000).map(float), st.floats(-400_000, 400_000).map(lambda v: round(v, 3))
)


@pytest.mark.parametrize(("clock", "words", "middle"), CLOCKS)
@given(offset=MOMENTS)
def test_moments_are_written_alike_twice_and_read_back(
    clock: Clock, words: Any, middle: float, offset: float
) -> None:
    value = middle + (offset if words[2] != "days" else offset // 1)
    lexeme = clock.lexeme(value)
    assert next(rows_again([[value]], [words])) == (lexeme,)
    assert clock.value(lexeme) == value


@given(
    values=st.lists(
        st.one_of(st.floats(allow_nan=True, allow_infinity=False), st.integers(-(2**53), 2**53)), max_size=20
    )
)
def test_numbers_are_written_alike_twice_and_read_back(values: list[float]) -> None:
    numbers = np.array(values, dtype=np.float64)
    column = StoredColumn("x", numbers, np.isnan(numbers))
    lexemes = column.lexemes("")
    assert [row[0] for row in rows_again([numbers.tolist()], [None])] == lexemes.to_pylist()
    again = stored_column("x", lexemes, np.dtype(np.float64))
    assert (again.absent == column.absent).all()
    assert (again.values == numbers)[~column.absent].all()


@pytest.mark.parametrize("lexeme", ["", "2020-13-01", "2020-01-01T", "T10:00:00", "10:00:00", "1 January"])
def test_what_is_no_date_is_refused(lexeme: str) -> None:
    with pytest.raises(UnfitError):
        CLOCKS[0][0].value(lexeme)


def test_a_moment_beyond_the_calendar_is_refused() -> None:
    for clock, words, _ in CLOCKS:
        if words[0] != "time":
            with pytest.raises(UnfitError, match="beyond the years"):
                clock.lexeme(1e15)


def test_the_type_elsewhere_holds_every_value() -> None:
    clock = CLOCKS[3][0]
    whole, part = (StoredColumn("d", np.array([days]), np.array([False]), clock=clock) for days in (3.0, 3.5))
    assert (whole.arrow, part.arrow) == (pa.date32(), pa.timestamp("us"))
    tagged = StoredColumn("d", np.array([3.0]), np.array([False]), np.array([".a"], dtype=object))
    assert tagged.arrow == pa.string()


def test_types_and_formats_say_what_a_column_holds() -> None:
    def held(values: list[float], kind: str, **shown: int) -> tuple[object, object, object]:
        typed = StoredColumn("x", np.array(values, dtype=kind), np.zeros(len(values), dtype=np.bool_), **shown).typed
        return typed.lower, typed.upper, typed.places

    assert held([1, 2], "int16") == (-32768, 32767, 0)
    assert held([1.0], "float64") == (None, None, None)
    assert held([1.0], "float64", width=3, decimals=1) == (-99, 999, 1)
    # what the column has already, it may have again
    assert held([12345.25], "float64", width=3, decimals=1) == (-Fraction(9999), 99999, 2)
    assert held([-1234.0], "float64", width=3, decimals=0) == (-Fraction(9999), 99999, 0)
    assert StoredColumn("d", np.array([1.0]), np.array([False]), clock=CLOCKS[0][0], width=3).typed.upper is None
