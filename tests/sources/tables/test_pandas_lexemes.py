"""Data frames survive the plain format."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_columns import cells_of
from masktron.errors import UsageError
from masktron.sources.lexical import parse_number
from masktron.sources.tables.frame_source import FrameSource
from masktron.sources.tables.frames import standing_for
from masktron.sources.tables.pandas_lexemes import columns_of, lexeme_of, lexemes_of_series
from refusals import refused

LEXEMES = [
    (5, "5"),
    (np.int32(-5), "-5"),
    (5.0, "5"),
    (-0.5, "-0.5"),
    (0.1 + 0.2, "0.30000000000000004"),
    (1e22, "10000000000000000000000"),
    (1e-7, "0.0000001"),
    (1e300, "1E+300"),
    (np.float64(2.5), "2.5"),
    (Decimal("1.50"), "1.5"),
    (True, "true"),
    (np.False_, "false"),
    ("", ""),
    (" x ", " x "),
    (None, None),
    (math.nan, None),
    (pd.NA, None),
    (pd.NaT, None),
    (datetime.date(2024, 2, 1), "2024-02-01"),
    (pd.Timestamp("2024-02-01"), "2024-02-01T00:00:00"),
    (pd.Timestamp("2024-02-01 01:02:03.4500", tz="Europe/Rome"), "2024-02-01T00:02:03.45Z"),
    (datetime.time(1, 2, 3, 500000), "01:02:03.5"),
]


@pytest.mark.parametrize(("value", "lexeme"), LEXEMES)
def test_lexemes(value, lexeme):
    assert lexeme_of(value) == lexeme


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back_equal(value):
    lexeme = lexeme_of(value)
    assert lexeme is not None
    assert parse_number(lexeme) == value
    if 1e-15 < abs(value) < 1e15:
        assert "E" not in lexeme


def test_a_frame_is_the_document_that_it_means():
    frame = pd.DataFrame(
        {
            "@id": ["a", 'b"<\n', "c"],
            "whole": [1, 2**53 + 1, -3],
            "gaps": [1.0, math.nan, 3.0],
            "decimal": [0.1, 1e-7, 12345.678],
            "text": ["é<&>", "a\r\nb", None],
        }
    )
    source = FrameSource(standing_for(frame))
    for name, column in source.records().columns.items():
        assert column.lexemes.tolist() == [lexeme_of(value) for value in frame[name].tolist()], name
    assert source.document_path.read_text(encoding="utf-8").splitlines()[1] == (
        '<Record id="a"><whole>1</whole><gaps>1</gaps><decimal>0.1</decimal><text>é&lt;&amp;&gt;</text></Record>'
    )
    assert (source.size, len(source.digest)) == (source.document_path.stat().st_size, 64)


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame({"A": []}), pd.DataFrame({"A": [None, None]})])
def test_frames_without_values(frame):
    source = FrameSource(standing_for(frame))
    assert source.estimate() == len(frame)
    assert all(column.null_count == len(frame) for column in cells_of(source.table).columns)


@pytest.mark.parametrize("kind", ["Int64", "boolean", "category", "string", "float32"])
def test_pandas_types(kind):
    frame = pd.DataFrame({"A": pd.Series([1, 0, None], dtype=kind), "B": [1, 2, 3]})
    lexemes = FrameSource(standing_for(frame)).records().columns["A"].lexemes.tolist()
    assert lexemes[2] is None
    assert lexemes[0] == {"boolean": "true", "string": "1"}.get(kind, "1")


NAMES = [
    ("annual income", "annual_x0020_income"),
    ("1a", "_x0031_a"),
    ("a:b", "a_x003A_b"),
    ("{u}a", "_x007B_u_x007D_a"),
    (7, "_x0037_"),
    ("@", "_x0040_"),
    ("@1", "@_x0031_"),
    ("@xmlns", "@_x0078_mlns"),
    (("a", 1), "a_1"),
    ("é", "é"),
    ("²", "_x00B2_"),
    (None, "None"),
]


@pytest.mark.parametrize(("label", "name"), NAMES)
def test_column_names_that_xml_forbids_have_others(label, name):
    frame = pd.DataFrame([["x"]], columns=pd.Index([label], tupleize_cols=False))
    assert list(columns_of(frame, "")) == [name]
    assert FrameSource(standing_for(frame)).records().columns[name].lexemes.tolist() == ["x"]


def test_two_columns_that_would_have_one_name():
    with refused(UsageError, "name-taken", name="7"):
        columns_of(pd.DataFrame([[1, 2]], columns=[7, "7"]), "data frame")
    with refused(UsageError, "name-taken", name="A"):
        columns_of(pd.DataFrame([[1, 2]], columns=["A", "A"]), "data frame")
    with refused(UsageError, "column-without-name", column=2):
        columns_of(pd.DataFrame([[1, 2]], columns=["A", ""]), "data frame")


@pytest.mark.parametrize("kind", ["float16", "float32", "Float32", "float[pyarrow]"])
def test_floats_have_the_digits_of_their_own_precision(kind):
    assert lexemes_of_series(pd.Series([0.1, 2.5, None, 3], dtype=kind)).tolist() == ["0.1", "2.5", None, "3"]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32)))
def test_columns_of_floats_are_written_as_single_values(values):
    for width in ("float32", "float64"):
        column = pd.Series(values, dtype=width)
        assert lexemes_of_series(column).tolist() == [lexeme_of(value) for value in column.to_numpy()]


@pytest.mark.parametrize("value", [math.inf, -math.inf, "a\x01b", "\ud800", [1], object(), 1j])
def test_values_that_cannot_be_written_name_the_column(value):
    frame = pd.DataFrame({"A": [1], "B": pd.Series([value], dtype=object)})
    with refused(UsageError, "frame-column", field="B"):
        FrameSource(standing_for(frame)).require_readable()
