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

from masktron.errors import DocumentError, UsageError
from masktron.sources.frame import field_names, lexeme_of, lexemes_of, write_frame
from masktron.sources.lexical import parse_number
from masktron.sources.records import Records
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import survey


def _records(path) -> Records:
    layout, shape = survey(path)
    assert shape.flat
    return read_records(path, layout)


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
    (Decimal("1.50"), "1.50"),
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


def test_round_trip(tmp_path):
    frame = pd.DataFrame(
        {
            "@id": ["a", 'b"<\n', "c"],
            "whole": [1, 2**53 + 1, -3],
            "gaps": [1.0, math.nan, 3.0],
            "decimal": [0.1, 1e-7, 12345.678],
            "text": ["é<&>", "a\r\nb", None],
        }
    )
    path = tmp_path / "data.xml"
    write_frame(frame, path)
    for name, column in _records(path).columns.items():
        assert column.lexemes.tolist() == [lexeme_of(value) for value in frame[name].tolist()], name
    assert path.read_text(encoding="utf-8").splitlines()[:5] == [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<Data>",
        '  <Record id="a">',
        "    <whole>1</whole>",
        "    <gaps>1</gaps>",
    ]


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame({"A": []}), pd.DataFrame({"A": [None, None]})])
def test_frames_without_values(frame, tmp_path):
    path = tmp_path / "data.xml"
    write_frame(frame, path)
    assert len(_records(path)) in {0, len(frame)}


@pytest.mark.parametrize("kind", ["Int64", "boolean", "category", "string", "float32"])
def test_pandas_types(kind, tmp_path):
    path = tmp_path / "data.xml"
    write_frame(pd.DataFrame({"A": pd.Series([1, 0, None], dtype=kind), "B": [1, 2, 3]}), path)
    layout, _ = survey(path)
    lexemes = read_records(path, layout).columns["A"].lexemes.tolist()
    assert lexemes[2] is None
    assert lexemes[0] == {"boolean": "true", "string": "1"}.get(kind, "1")


NAMES = [
    ("annual income", "annual_income"),
    ("1a", "_1a"),
    ("a:b", "a_b"),
    ("", "_"),
    ("{u}a", "_u_a"),
    (7, "_7"),
    ("@", "@_"),
    ("@1", "@_1"),
    ("@xmlns", "@_xmlns"),
    (("a", 1), "a_1"),
    ("é", "é"),
    ("²", "__"),
    (None, "None"),
]


@pytest.mark.parametrize(("label", "name"), NAMES)
def test_column_names_that_xml_forbids_have_others(label, name, tmp_path):
    path = tmp_path / "data.xml"
    frame = pd.DataFrame([["x"]], columns=pd.Index([label], tupleize_cols=False))
    assert field_names(frame) == (name,)
    write_frame(frame, path)
    assert _records(path).columns[name].lexemes.tolist() == ["x"]


def test_two_columns_that_would_have_one_name():
    with pytest.raises(UsageError, match="the columns 'a b' and 'a_b' would both be named 'a_b'"):
        field_names(pd.DataFrame([[1, 2]], columns=["a b", "a_b"]))
    with pytest.raises(UsageError, match="the columns 7 and '7' would both be named '_7'"):
        field_names(pd.DataFrame([[1, 2]], columns=[7, "7"]))


@pytest.mark.parametrize("kind", ["float16", "float32", "Float32", "float[pyarrow]"])
def test_floats_have_the_digits_of_their_own_precision(kind):
    assert lexemes_of(pd.Series([0.1, 2.5, None, 3], dtype=kind)).tolist() == ["0.1", "2.5", None, "3"]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32)))
def test_columns_of_floats_are_written_as_single_values(values):
    for width in ("float32", "float64"):
        column = pd.Series(values, dtype=width)
        assert lexemes_of(column).tolist() == [lexeme_of(value) for value in column.to_numpy()]


def test_two_columns_with_one_name(tmp_path):
    with pytest.raises(UsageError, match="two columns are named 'A'"):
        write_frame(pd.DataFrame([[1, 2]], columns=["A", "A"]), tmp_path / "data.xml")


@pytest.mark.parametrize("value", [math.inf, -math.inf, "a\x01b", "\ud800", [1], object(), 1j])
def test_values_that_cannot_be_written_name_the_column(value, tmp_path):
    frame = pd.DataFrame({"A": [1], "B": pd.Series([value], dtype=object)})
    with pytest.raises(UsageError, match="column 'B' holds a value that cannot be written"):
        write_frame(frame, tmp_path / "data.xml")


def test_element_names_are_checked(tmp_path):
    with pytest.raises(UsageError, match="element name '1'"):
        write_frame(pd.DataFrame({"A": [1]}), tmp_path / "data.xml", record="1")


def test_folder_that_does_not_exist(tmp_path):
    with pytest.raises(DocumentError, match="cannot be written: No such file"):
        write_frame(pd.DataFrame({"A": [1]}), tmp_path / "no" / "data.xml")
