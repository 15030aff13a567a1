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
from masktron.read.frame import lexeme_of, to_frame, write_frame
from masktron.read.layout import survey
from masktron.read.lexical import parse_number
from masktron.read.microdata import read_records


def _back(path) -> pd.DataFrame:
    layout, shape = survey(path)
    assert shape.flat
    return to_frame(read_records(path, layout))


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
    back = _back(path)
    assert list(back.columns) == list(frame.columns)
    assert [str(t) for t in back.dtypes] == ["object", "int64", "float64", "float64", "object"]
    for name in frame:
        expected = frame[name].astype(object).where(frame[name].notna(), None).tolist()
        got = back[name].astype(object).where(back[name].notna(), None).tolist()
        assert got == expected, name
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
    assert len(_back(path)) in {0, len(frame)}


@pytest.mark.parametrize("kind", ["Int64", "boolean", "category", "string", "float32"])
def test_pandas_types(kind, tmp_path):
    path = tmp_path / "data.xml"
    write_frame(pd.DataFrame({"A": pd.Series([1, 0, None], dtype=kind), "B": [1, 2, 3]}), path)
    layout, _ = survey(path)
    lexemes = read_records(path, layout).columns["A"].lexemes.tolist()
    assert lexemes[2] is None
    assert lexemes[0] == {"boolean": "true", "string": "1"}.get(kind, "1")


@pytest.mark.parametrize("label", ["1a", "a b", "a:b", "", "{u}a", 7, "@", "@1", ("a", "b")])
def test_column_names_that_xml_forbids(label, tmp_path):
    path = tmp_path / "data.xml"
    with pytest.raises(UsageError, match=r"the column name .* is not an XML name"):
        write_frame(pd.DataFrame([[1]], columns=pd.Index([label], tupleize_cols=False)), path)
    assert not path.exists()


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


def test_census_survives(shared_data, tmp_path):
    frame = pd.read_csv(shared_data / "census.csv")
    path = tmp_path / "census.xml"
    write_frame(frame, path)
    pd.testing.assert_frame_equal(_back(path), frame)
