"""Grids keep to what a column can hold: one number at a time, many at once, and in whole files."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import masktron
from masktron.settle.decimals import Decimals
from masktron.settle.grid import Grid, fraction_digits
from masktron.sources.variables import Typed

BYTE, MONEY = Typed.integer(8), Typed.decimal(5, 2)
RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="total" test="A + B = T">a</assert><assert id="lowest" test="A &gt;= 0">b</assert>
</rule></pattern></schema>"""


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """Grids of columns of integers and of decimals, with spacing or significant digits."""
    if draw(st.booleans()):
        typed = Typed.integer(draw(st.sampled_from([8, 16])), signed=draw(st.booleans()))
    else:
        typed = Typed.decimal(draw(st.integers(1, 9)), draw(st.integers(-2, 6)))
    places = max(typed.places or 0, 0)
    digits = draw(st.sampled_from([None, 9])) if places else None
    decimals = places if digits else draw(st.integers(0, places))
    return Grid(decimals, digits=digits, low=typed.lower, high=typed.upper, most=typed.places)


def admitted(grid: Grid, value: Fraction) -> bool:
    """What a column holds, said once more: within its bounds, and a multiple of its last digit."""
    assert grid.low is not None
    assert grid.high is not None
    assert grid.most is not None
    places = fraction_digits(value / 10 ** max(-grid.most, 0))
    return grid.low <= value <= grid.high and places is not None and places <= max(grid.most, 0)


@example(grid=Grid(decimals=0, low=Fraction(-90), high=Fraction(90), most=-1), value=95.0, offsets=[0])
@given(grids(), st.floats(-1e6, 1e6), st.lists(st.integers(-40, 40), min_size=1, max_size=9))
def test_no_point_of_a_grid_is_beyond_its_column(grid: Grid, value: float, offsets: list[int]) -> None:
    walk, steps = grid.walk(value), np.array(offsets, dtype=np.int64)
    points = [walk(offset) for offset in offsets]
    assert all(point is None or (admitted(grid, point) and grid.holds(point)) for point in points)
    assert admitted(grid, grid.round(value))
    nearest = walk(0)
    assert nearest is not None
    if grid.digits is None:
        assert all(abs(nearest - Fraction(value)) <= abs(p - Fraction(value)) for p in points if p is not None)
    _, there = grid.columns(value, steps)
    assert there.tolist() == [point is not None for point in points]
    many = Decimals.near(np.array([[value]]), grid, steps)
    known = [Fraction(int(m), 10 ** int(p)) for m, p in zip(many.mantissa[0], many.places[0], strict=True)]
    assert [number for number, fine in zip(known, many.known[0], strict=True) if fine] == [
        point for point in points if point is not None
    ]


@given(grids(), st.integers(-(10**9), 10**9), st.integers(0, 8))
def test_columns_of_decimals_know_what_a_grid_holds(grid: Grid, mantissa: int, places: int) -> None:
    number = Decimals(np.array([mantissa]), np.array([places]), np.array([True]))
    value = Fraction(mantissa, 10**places)
    assert bool(number.on(grid).known[0]) == (grid.holds(value) if grid.digits is None else grid.admits(value))


def test_a_finer_grid_has_no_more_digits_than_its_column() -> None:
    assert Grid(1, most=2).finer(2) == Grid(2, most=2)
    assert Grid(2, most=2).finer(2) == Grid(2, most=2)
    assert Grid(2).finer(2) == Grid(4)


def test_values_that_a_column_cannot_hold_are_not_among_its_points() -> None:
    grid = Grid(0, low=Fraction(0), high=Fraction(255), most=0).only(["1", "255", "256", "-1", "0.5"])
    assert [text for _, text in grid.among] == ["1", "255"]


def narrow(count: int = 150) -> dict[str, Any]:
    """Columns whose values come near the ends of int8 and of decimal(5, 2); T is the sum of A and B."""
    generator = np.random.default_rng(20)
    first, second = generator.integers(58, 64, count), generator.integers(55, 64, count)
    first[0] = second[0] = 63
    money = [Decimal(int(cents)) / 100 for cents in generator.choice([99_999, 99_990, 99_500, 90_000], count)]
    return {
        "A": pa.array(first, pa.int8()),
        "B": pa.array(second, pa.int8()),
        "T": pa.array(first + second, pa.int8()),
        "D": pa.array(money, pa.decimal128(5, 2)),
    }


SETTINGS: dict[str, Any] = {
    "roles": dict.fromkeys("ABTD", "confidential"),
    "numeric": [*"ABTD"],
    "secret": bytes(range(1, 33)),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("method", ["noise", "ipso", "sequential", "hybrid_micro"])
def test_drawn_values_fit_narrow_columns(method: str, tmp_path: Path) -> None:
    rules, data, out = tmp_path / "r.sch", tmp_path / "d.parquet", tmp_path / "m.parquet"
    rules.write_text(RULES)
    pq.write_table(pa.table(narrow()), data)
    largest = []
    for at in range(4):
        result = masktron.mask(
            data, rules, out, method=method, **SETTINGS | {"secret": bytes(range(1 + at, 33 + at))}
        )
        assert result.valid
        written = pq.read_table(out)
        assert written.schema == pq.read_table(data).schema
        assert written["D"].to_pylist() != pq.read_table(data)["D"].to_pylist()
        largest.append(max(written["T"].to_pylist()))
        if largest[-1] == 127:
            break
    assert max(largest) == 127 or method == "hybrid_micro"  # so that a bound was met


def test_drawn_values_fit_the_integers_of_a_frame(tmp_path: Path) -> None:
    rules = tmp_path / "r.sch"
    rules.write_text(RULES)
    frame = pa.table({name: column for name, column in narrow().items() if name != "D"}).to_pandas()
    settings = SETTINGS | {"roles": dict.fromkeys("ABT", "confidential"), "numeric": [*"ABT"]}
    result = masktron.mask(frame, rules, method="ipso", **settings)
    assert isinstance(result.data, pd.DataFrame)
    assert result.data.dtypes.astype(str).tolist() == ["int8", "int8", "int8"]
    assert result.data["T"].max() == 127
