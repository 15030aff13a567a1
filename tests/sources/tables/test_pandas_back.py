"""What leaves as a data frame has the types, labels and index of what came in, or the run stops and says why."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_columns import cells_of, release_of
from masktron.errors import UsageError
from masktron.sources.dataset import Dataset
from masktron.sources.frame_path import FramePath
from masktron.sources.tables.frame_source import FrameSource
from masktron.sources.tables.frames import PandasFormat, standing_for
from masktron.sources.tables.pandas_back import released_frame, require_one_type
from masktron.sources.tables.pandas_lexemes import lexemes_of_series
from masktron.sources.variables import Typed
from refusals import problem_of, refused

ZONE = "Europe/Rome"
COLUMNS: dict[str, pd.Series[Any]] = {
    "bool": pd.Series([True, False, True]),
    "nullable bool": pd.Series([True, None, False], dtype="boolean"),
    "int8": pd.Series([1, -128, 127], dtype="int8"),
    "uint64": pd.Series([1, 2**64 - 1, 3], dtype="uint64"),
    "Int64": pd.Series([1, None, 2**53 + 1], dtype="Int64"),
    "UInt8": pd.Series([255, None, 0], dtype="UInt8"),
    "float16": pd.Series([0.1, None, 2.5], dtype="float16"),
    "float32": pd.Series([0.1, 1e10, -0.0], dtype="float32"),
    "float64": pd.Series([0.1, 1e-7, 1e300]),
    "Float32": pd.Series([0.1, None, 3], dtype="Float32"),
    "datetime": pd.to_datetime(pd.Series(["2024-01-01", None, "2024-03-31 03:00:00.123456"]), format="ISO8601"),
    "datetime s": pd.Series(np.array(["0001-01-01", "3000-01-01", "NaT"], dtype="datetime64[s]")),
    "datetime tz": pd.Series(
        pd.to_datetime(["2024-10-27 00:30", "2024-10-27 01:30", None], utc=True).tz_convert(ZONE)
    ),
    "timedelta": pd.Series(pd.to_timedelta([1, 2, None], unit="s")),
    "period": pd.Series(pd.period_range("2020", periods=3, freq="Y")),
    "category": pd.Series(["x", None, "y"], dtype="category"),
    "ordered": pd.Series(pd.Categorical([3, 1, None], categories=[3, 2, 1], ordered=True)),
    "intervals": pd.cut(pd.Series([1, 5, 9]), [0, 2, 6, 10]),
    "string": pd.Series(["01", None, ""], dtype="string"),
    "string[pyarrow]": pd.Series(["a", None, " b "], dtype="string[pyarrow]"),
    "str object": pd.Series(["a", None, "x<&>\r\n\t"], dtype=object),
    "nan object": pd.Series(["a", np.nan, "b"], dtype=object),
    "Decimal": pd.Series([Decimal("1.50"), None, Decimal(2)], dtype=object),
    "date": pd.Series([datetime.date(2024, 1, 1), None, datetime.date(1, 1, 1)], dtype=object),
    "big int": pd.Series([2**70, 1, None], dtype=object),
    "nothing": pd.Series([None, None, None], dtype=object),
    "arrow int": pd.Series([1, None, 3], dtype="int32[pyarrow]"),
    "arrow bool": pd.Series([True, None, False], dtype="bool[pyarrow]"),
    "arrow float": pd.Series([0.1, None, 3], dtype="float[pyarrow]"),
    "arrow decimal": pd.Series([Decimal("1.50"), None, Decimal("2.25")], dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
    "arrow timestamp": pd.Series(pd.to_datetime(["2024-01-01", None, "2024-01-02"])).astype("timestamp[us][pyarrow]"),
    "sparse": pd.Series([0.0, None, 2.5], dtype=pd.SparseDtype("float32", 0.0)),
    "sparse int": pd.Series([0, 5, 0], dtype=pd.SparseDtype("int16", 0)),
    "arrow date": pd.Series([datetime.date(2024, 1, 1), None, None], dtype=pd.ArrowDtype(pa.date32())),
}
EVERYTHING = pd.DataFrame(COLUMNS)


def _read(frame: pd.DataFrame) -> Dataset:
    return PandasFormat().read(standing_for(frame), {})


def _released(frame: pd.DataFrame, rows: list[int], masked: bool = True) -> pd.DataFrame:
    """Write the records of some rows, as if every column had been masked."""
    table = _read(frame)
    cells = cells_of(table).take(pa.array(rows))
    names = frozenset(cells.column_names) if masked else frozenset()
    return released_frame(frame, release_of(table, cells, np.array(rows, dtype=np.intp), names))


def _masked(frame: pd.DataFrame, lexemes: list[str | None]) -> pd.DataFrame:
    """Write other lexemes into the only column of a frame."""
    table = _read(frame)
    cells = pa.table({table.variables[0].name: pa.array(lexemes, pa.string())})
    rows = np.arange(len(lexemes), dtype=np.intp)
    return released_frame(frame, release_of(table, cells, rows, frozenset(cells.column_names)))


@pytest.mark.parametrize(
    "index", [["p", "q", "p"], pd.RangeIndex(3), pd.date_range("2020-01-01", periods=3, name="d")]
)
def test_every_type_label_and_index_comes_back(index: Any) -> None:
    frame = EVERYTHING.set_axis(index)
    found = _released(frame, [0, 1, 2], masked=False)
    pd.testing.assert_frame_equal(found, frame, check_freq=True)
    for name in ("str object", "nan object"):
        assert [type(value) for value in found[name]] == [type(value) for value in frame[name]]
    source = FrameSource(standing_for(frame))
    place = FramePath("made", frame=frame)
    PandasFormat().write(place, release_of(source.table, cells_of(source.table), np.arange(3)))
    pd.testing.assert_frame_equal(place.frame, frame, check_freq=True)


@pytest.mark.parametrize("name", COLUMNS)
def test_both_readings_of_a_column_agree(name: str) -> None:
    found = FrameSource(standing_for(pd.DataFrame({name: COLUMNS[name], "z": [1, 2, 3]})))
    assert len(found.records()) == 3
    assert cells_of(found.table).column(0).to_pylist() == lexemes_of_series(COLUMNS[name]).tolist()


@pytest.mark.parametrize("name", COLUMNS)
def test_masked_values_have_the_type_of_their_column(name: str) -> None:
    """The values change places, so that no cell keeps its own."""
    frame = pd.DataFrame({name: COLUMNS[name], "z": [1, 2, 3]})
    frame.index = pd.MultiIndex.from_tuples([("p", 1), ("q", 2), ("q", 3)], names=["h", None])
    order = [2, 0, 1]
    found = _released(frame, order)
    expected = frame.iloc[order]
    if isinstance(expected[name].dtype, pd.CategoricalDtype):
        expected = expected.assign(**{name: expected[name].cat.remove_unused_categories()})
    pd.testing.assert_frame_equal(found, expected)
    assert lexemes_of_series(found[name]).tolist() == lexemes_of_series(frame[name].iloc[order]).tolist()


def test_what_an_object_was_does_not_tell_whose_value_it_is() -> None:
    """All cells of a masked column are made anew, with as many digits as the column has."""
    values = [Decimal("1.50"), Decimal("1.5"), Decimal("2.250"), None]
    frame = pd.DataFrame({"A": pd.Series(values, dtype=object)})
    found = _masked(frame, ["1.5", "1.5", "3", None])
    assert list(map(str, found["A"])) == ["1.500", "1.500", "3.000", "None"]
    numbers = pd.DataFrame({"A": pd.Series([np.int64(1), 2, 3], dtype=object)})
    assert {type(value) for value in _masked(numbers, ["1", "2", "7"])["A"]} == {int}
    kept = _released(frame, [0, 1, 2, 3], masked=False)
    assert list(map(str, kept["A"])) == ["1.50", "1.5", "2.250", "None"]


def test_categories_that_only_masked_records_had_are_gone() -> None:
    kind = pd.CategoricalDtype(["z", "y", "x", "w"], ordered=True)
    frame = pd.DataFrame({"A": pd.Series(["x", "y", "y", "w"], dtype=kind)})
    found = _masked(frame, ["y", "y", "y", "w"])["A"]
    assert found.cat.categories.tolist() == ["y", "w"]
    assert (found.cat.ordered, found.tolist()) == (True, ["y", "y", "y", "w"])
    assert _released(frame, [0, 1, 3], masked=False)["A"].cat.categories.tolist() == ["y", "x", "w"]
    assert _released(frame, [3, 2, 1, 0], masked=False)["A"].dtype == kind
    arrow = pd.DataFrame({"A": pd.array(["x", "y", "y"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))})
    values = _masked(arrow, ["y", "y", "y"])["A"].array.__arrow_array__()
    assert values.chunk(0).dictionary.to_pylist() == ["y"]


@pytest.mark.parametrize("kind", ["Int64", "Float64", "int64[pyarrow]", "double[pyarrow]"])
def test_nothing_stays_behind_a_missing_value(kind: str) -> None:
    """What was deleted before, and what masking deletes, in columns that are masked and in those that are not."""
    hidden = pd.array([1, 777, 3], dtype=kind)
    if kind.endswith("64"):
        hidden[1] = pd.NA
        assert 777 in hidden._data, "pandas itself has nothing there any more"  # type: ignore[union-attr]
    else:
        octets = np.array([1, 777, 3], dtype="f8" if "double" in kind else "i8").tobytes()
        own = pa.Array.from_buffers(
            pa.float64() if "double" in kind else pa.int64(), 3, [pa.py_buffer(b"\5"), pa.py_buffer(octets)]
        )
        hidden = pd.array(pa.chunked_array([own]), dtype=kind)
    frame = pd.DataFrame({"A": hidden})

    def behind(found: Any) -> list[float]:
        if kind.endswith("64"):
            return list(found._data)
        chunk = found.__arrow_array__().combine_chunks()
        chunk = chunk.chunk(0) if isinstance(chunk, pa.ChunkedArray) else chunk
        return list(np.frombuffer(chunk.buffers()[1], dtype="f8" if "double" in kind else "i8")[:3])

    assert behind(_released(frame, [0, 1, 2], masked=False)["A"].array) == [1, 0, 3]
    assert behind(_released(frame, [2, 1, 0])["A"].array) == [3, 0, 1]
    found = _masked(frame, ["2", None, None])["A"]
    assert (behind(found.array), found.isna().tolist(), found.dtype) == (
        [2, 0, 0],
        [False, True, True],
        frame["A"].dtype,
    )


def test_the_index_of_fewer_records_has_no_levels_of_others() -> None:
    frame = pd.DataFrame({"A": [1, 2, 3]}, index=pd.MultiIndex.from_product([["p"], ["a", "secret", "c"]]))
    assert _released(frame, [0, 2]).index.levels[1].tolist() == ["a", "c"]
    named = frame.set_axis(pd.CategoricalIndex(["a", "secret", "c"]))
    assert _released(named, [0, 2]).index.categories.tolist() == ["a", "c"]


@given(
    st.sampled_from(["int8", "uint16", "Int32", "float16", "float32", "Float32", "float64", "int64[pyarrow]"]),
    st.lists(st.tuples(st.integers(-99, 99), st.integers(0, 2)), min_size=1, max_size=8),
)
def test_a_masked_number_comes_back_exactly_or_not_at_all(kind: str, numbers: list[tuple[int, int]]) -> None:
    lexemes: list[str | None] = [str(Decimal(number).scaleb(-places)) for number, places in numbers]
    frame = pd.DataFrame({"A": pd.Series([1] * len(lexemes), dtype=kind)})
    fits = all(Decimal(str(one)) % 1 == 0 for one in lexemes) or "loat" in kind
    fits = fits and (kind != "uint16" or all(Decimal(str(one)) >= 0 for one in lexemes))
    if not fits:
        with refused(UsageError, "frame-column", field="A"):
            _masked(frame, lexemes)
        return
    found = _masked(frame, lexemes)
    assert found["A"].dtype == frame["A"].dtype
    assert [Decimal(str(one)) for one in lexemes_of_series(found["A"])] == [Decimal(str(one)) for one in lexemes]


REFUSED = [
    ("int8", "130", "it is out of range", "Int64"),
    ("Int8", "130", "it is out of range", "Int64"),
    ("uint8", "-1", "it is out of range", "Int64"),
    ("uint8[pyarrow]", "-1", "it is out of range", "Int64"),
    ("int64", "1.5", "it has a fraction", "Int64"),
    ("int64", None, "it is missing, and this type knows no missing values", "Int64"),
    ("bool", None, "it is missing", "boolean"),
    ("bool", "1", "neither true nor false", "boolean"),
    ("float16", "100000", "it is out of range", "float64"),
    ("float32", "0.123456789", "it would be another number", "float64"),
    ("float32", "16777217", "it would be another number", "float64"),
    ("category", "7", "it is none of the categories", "string"),
    ("datetime64[ns]", "2020", "none of the values of the column", "string"),
]


@pytest.mark.parametrize(("kind", "lexeme", "why", "wider"), REFUSED)
def test_a_value_that_does_not_fit_its_type_stops_the_run(
    kind: str, lexeme: str | None, why: str, wider: str
) -> None:
    frame = pd.DataFrame({"A": pd.Series([1, 0], dtype=kind)})
    with refused(UsageError, "frame-column", label="'A'", type=wider) as caught:
        _masked(frame, [lexeme, "false" if kind == "bool" else "0"])
    assert why in problem_of(caught.value).references["detail"]


def test_numbers_that_are_written_otherwise_have_the_value() -> None:
    frame = pd.DataFrame({"A": [1.25, 2.75]})
    assert _masked(frame, ["2.50", "2.50"])["A"].tolist() == [2.5, 2.5]


def test_removed_and_empty_columns_and_labels_that_are_no_names() -> None:
    frame = pd.DataFrame([[1, "n", None], [2, "m", None]], columns=pd.Index([7, "N", "a b"], name="fields"))
    frame.attrs["source"] = "survey"
    table = _read(frame)
    names = ["_x0037_", "a_x0020_b"]
    assert [one.name for one in table.variables] == [names[0], "N", names[1]]
    cells = pa.table({names[0]: ["5"], names[1]: pa.array([None], pa.string())})
    found = released_frame(frame, release_of(table, cells, np.array([1]), frozenset(names)))
    assert found.columns.tolist() == [7, "a b"]
    assert (found.columns.name, found.attrs, found.index.tolist()) == ("fields", {"source": "survey"}, [1])
    assert found[7].tolist() == [5]
    assert found["a b"].isna().all()


def test_columns_of_several_types_are_refused_where_they_are_masked() -> None:
    for values in ([1, "1"], [1, True], pd.Categorical([1, "1"])):
        frame = pd.DataFrame({"a b": pd.Series(values, dtype=getattr(values, "dtype", object))})
        with refused(UsageError, "frame-column", label="'a b'"):
            require_one_type(frame)
        require_one_type(frame, {"a_x0020_b"})
    require_one_type(EVERYTHING)


def test_types_tell_texts_and_precision() -> None:
    found = {one.column: one.typed for one in _read(EVERYTHING).variables}
    assert found["float32"] == Typed(bits=24)
    assert [found[name].digits for name in ("float16", "float32", "float64")] == [3, 6, 15]
    assert {name for name, typed in found.items() if typed.text} == {
        "period", "string", "string[pyarrow]", "str object", "nan object", "category", "intervals"
    }  # fmt: skip


@given(st.decimals(-(10**9), 10**9, places=9, allow_nan=False), st.sampled_from([(np.float16, 11), (np.float32, 24)]))
def test_decimals_of_sure_digits_are_the_shortest_of_their_fraction(value: Decimal, kind: tuple[Any, int]) -> None:
    digits = Typed(bits=kind[1]).digits
    assert digits is not None
    short = Decimal(f"{value:.{digits - 1}e}")
    if kind[0] is np.float16 and not (short == 0 or Decimal("0.001") < abs(short) < 60000):
        return
    assert Decimal(str(kind[0](str(short)))) == short


@given(st.integers(-(2**23) + 1, 2**23 - 1), st.integers(0, 5))
def test_a_fixed_grid_below_the_precision_is_kept(number: int, places: int) -> None:
    value = Decimal(number).scaleb(-places)
    assert Typed(bits=24).keeps(abs(float(value)), places)
    assert Decimal(str(np.float32(str(value)))) == value
