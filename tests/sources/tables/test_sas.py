"""SAS: transport files in and out, data sets in."""

from __future__ import annotations

import struct
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import strategies as st

import masktron
from cli_runner import write_rules
from made_columns import new_column
from masktron.config import ReadOptions
from masktron.errors import DocumentError, UsageError
from masktron.sources.known_formats import table_format
from masktron.sources.opening import open_source
from masktron.sources.output_names import refuse_other_names
from masktron.sources.tables.release import Release
from masktron.sources.variables import Variable
from refusals import refused
from statistical_files import read_cells, table_of_texts, write_sas7bdat

FRAME = {
    "x": [1.5, 2.0, np.nan, 0.1],
    "s": ["a", "bcd", "", "d"],
    "d": [0.0, 21_915.0, np.nan, -1.0],
    "n": [1, 2, 3, 4],
}


def write(path: Path, version: int = 8, **told: Any) -> Path:
    label = "a label of more than forty characters, which is long" if version == 8 else "short"
    pyreadstat.write_xport(
        pd.DataFrame(FRAME), str(path), file_label="A survey", column_labels={"x": label}, table_name="HH",
        variable_format={"x": "8.2", "d": "DATE9"}, file_format_version=version, **told,
    )  # fmt: skip
    return path


@pytest.mark.parametrize("version", [5, 8])
def test_a_release_keeps_formats_labels_and_special_missing_values(tmp_path: Path, version: int) -> None:
    path, out = write(tmp_path / "a.xpt", version), tmp_path / "b.xpt"
    cells = read_cells(path)
    assert cells == {
        "x": ["1.5", "2", None, "0.1"],
        "s": ["a", "bcd", None, "d"],
        "d": ["1960-01-01", "2020-01-01", None, "1959-12-31"],
        "n": ["1", "2", "3", "4"],
    }
    order = np.array([3, 1, 0, 2])
    new = {"x": new_column(np.array([".B", "3.25", "._"], dtype=object), np.array([0, 1, 1, 2]))}
    source = open_source(path)
    source.write(out, new, removed=["s"], order=order)
    assert read_cells(out) == {
        "x": ["._", "3.25", ".B", "3.25"],
        "d": [cells["d"][at] for at in order],
        "n": ["4", "2", "1", "3"],
    }
    again = open_source(out)
    assert again.variables[0].missing == {".B": "", "._": ""}
    third = tmp_path / "c.xpt"
    again.write(third, {})
    assert third.read_bytes() == out.read_bytes()
    first, second = (pyreadstat.read_xport(str(one))[1] for one in (path, out))
    assert (second.file_label, second.table_name) == ("A survey", "HH")
    for key in ("original_variable_types", "column_names_to_labels"):
        assert getattr(second, key) == {name: said for name, said in getattr(first, key).items() if name != "s"}
    if version == 5:
        assert pd.read_sas(out)["n"].tolist() == [4, 2, 1, 3]  # pandas reads version 5 alone


@pytest.mark.parametrize("version", [5, 8])
def test_a_text_is_as_long_as_what_is_released(tmp_path: Path, version: int) -> None:
    path, out = tmp_path / "a.xpt", tmp_path / "b.xpt"
    pyreadstat.write_xport(
        pd.DataFrame({"t": ["a" * 20, "b"], "x": [1.0, 2.0], "u": ["a" * 30, "b"]}), str(path),
        file_format_version=version, variable_format={"t": "$20.", "u": "$SEX6."},
    )  # fmt: skip
    source = open_source(path)

    def lengths() -> dict[str, tuple[int, str]]:
        meta = pyreadstat.read_xport(str(out))[1]
        shown = meta.original_variable_types
        return {name: (width, shown[name] or "") for name, width in meta.variable_storage_width.items()}

    source.write(out, {"t": new_column(np.array(["cccc", None], dtype=object), np.array([0, 1]))})
    assert lengths() == {"t": (4, "$4"), "x": (8, ""), "u": (30, "$SEX6")}
    assert read_cells(out) == {"t": ["cccc", None], "x": ["1", "2"], "u": ["a" * 30, "b"]}
    source.write(out, {"t": new_column(np.array(["d" * 25], dtype=object), np.array([0, 0]))})
    assert lengths()["t"] == (25, "$25")
    assert read_cells(out)["t"] == ["d" * 25] * 2
    # a record that is left out may have had the longest text
    source.write(out, {}, keep=np.array([False, True]))
    assert lengths() == {"t": (1, "$1"), "x": (8, ""), "u": (1, "$SEX6")}
    source.write(out, {}, order=np.array([1, 0]))
    assert lengths() == {"t": (20, "$20"), "x": (8, ""), "u": (30, "$SEX6")}
    too_long = {"t": new_column(np.array(["d" * 40_000], dtype=object), np.array([0, 0]))}
    with refused(UsageError, "cannot-hold"):
        source.write(out, too_long)


@hypothesis.given(
    st.lists(st.floats(-9e74, 9e74), min_size=1).filter(lambda some: all(v == 0 or abs(v) > 1e-77 for v in some))
)
def test_every_double_in_range_comes_back(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    out = tmp_path_factory.mktemp("doubles") / "a.xpt"
    cells = [f"{Decimal(repr(value)):f}" for value in values]
    table = table_of_texts({"x": cells}, x=Variable("x", "x", stored=pa.float64()))
    table_format("xpt").write(out, Release.new(table))
    assert [float(text) for text in read_cells(out)["x"]] == values


@pytest.mark.parametrize("value", ["1e76", "1e-80"])
def test_a_number_out_of_range_is_refused(tmp_path: Path, value: str) -> None:
    table = table_of_texts({"x": [f"{Decimal(value):f}"]}, x=Variable("x", "x", stored=pa.float64()))
    with refused(UsageError, "cannot-hold"):
        table_format("xpt").write(tmp_path / "a.xpt", Release.new(table))


def test_short_numbers_are_read_and_become_longer(tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.xpt"), tmp_path / "b.xpt"
    content = bytearray(path.read_bytes())
    at = content.index(b"NAMSTV8") + 60
    entry = at + 3 * 140
    assert struct.unpack_from(">h", content, entry + 4) == (8,)
    struct.pack_into(">h", content, entry + 4, 3)  # the last column, whose values end in zeros
    begin = content.index(b"OBSV8") + 60
    rows = bytes(content[begin:])
    width = 8 + 3 + 8 + 8
    path.write_bytes(
        bytes(content[:begin]) + b"".join(rows[row * width : row * width + width - 5] for row in range(4))
    )
    assert read_cells(path)["n"] == ["1", "2", "3", "4"]
    source = open_source(path)
    source.write(out, {"n": new_column(np.array(["65537"], dtype=object), np.zeros(4, dtype=np.intp))})
    assert read_cells(out)["n"] == ["65537"] * 4


def test_places_of_variables_may_be_those_of_the_data_set(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xpt")
    content, cells = bytearray(path.read_bytes()), read_cells(path)
    entry = content.index(b"NAMSTV8") + 60
    for at, place in enumerate((8, 24, 16, 0)):
        struct.pack_into(">i", content, entry + at * 140 + 84, place)
    path.write_bytes(content)
    assert read_cells(path) == cells


@pytest.mark.parametrize("version", [5, 8])
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, version: int) -> None:
    path = write(tmp_path / "a.xpt", version)
    content = path.read_bytes()
    path.write_bytes(content[:-80])
    with refused(DocumentError, "file-damaged", where=path, detail="it is cut short"):
        open_source(path).require_readable()


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859_1"])
def test_a_release_is_in_utf_8_whatever_its_original_is_in(tmp_path: Path, encoding: str) -> None:
    path, out = write(tmp_path / "a.xpt"), tmp_path / "b.xpt"
    path.write_bytes(path.read_bytes().replace(b"bcd", b"b\xe4d"))
    with refused(DocumentError, "wrong-encoding", where=path, codec="UTF-8"):
        open_source(path).require_readable()
    reading = ReadOptions(options={"encoding": encoding})
    open_source(path, reading=reading).write(out, {})
    for again in (open_source(out), open_source(out, reading=reading)):
        assert again.records().columns["s"].lexemes.tolist() == ["a", "bäd", None, "d"]


@pytest.mark.parametrize("version", [5, 8])
def test_a_release_does_not_tell_when_it_was_written(tmp_path: Path, version: int) -> None:
    path, out = write(tmp_path / "a.xpt", version), [tmp_path / "b.xpt", tmp_path / "c.xpt"]
    open_source(path).write(out[0], {})
    time.sleep(1.1)
    open_source(path).write(out[1], {})
    assert out[0].read_bytes() == out[1].read_bytes()


def test_long_names_need_version_8(tmp_path: Path) -> None:
    table = table_of_texts({"long_name_of_a_variable": ["1", "2"]})
    with refused(UsageError, "column-names-not-allowed", renames="--rename long_name_of_a_variable=long_nam"):
        table_format("xpt").write(tmp_path / "new.xpt", Release.new(table), {"version": "5"})
    table_format("xpt").write(tmp_path / "new.xpt", Release.new(table))
    assert read_cells(tmp_path / "new.xpt") == {"long_name_of_a_variable": ["1", "2"]}


@pytest.mark.parametrize("version", ["5", "8"])
def test_a_new_file_says_what_another_format_says(tmp_path: Path, version: str) -> None:
    table = table_of_texts(
        {"n": ["1", "2", ".C"], "d": ["2020-02-29", None, "1600-01-01"], "t": ["007", "1e3", ""]},
        n=Variable("n", "n", "A number", missing={".C": ""}),
        d=Variable("d", "d", "l" * (100 if version == "8" else 40), stored=pa.date32()),
    )
    out = tmp_path / "new.xpt"
    table_format("xpt").write(out, Release.new(table), {"version": version})
    assert read_cells(out) == {
        "n": ["1", "2", ".C"], "d": ["2020-02-29", None, "1600-01-01"], "t": ["007", "1e3", None]
    }  # fmt: skip
    said = {variable.name: variable for variable in open_source(out).variables}
    assert [said["n"].label, said["d"].label] == ["A number", table.variables[1].label]
    found, meta = pyreadstat.read_xport(str(out))
    assert found["d"].tolist()[0].isoformat() == "2020-02-29"
    assert meta.original_variable_types["d"] == "DATE9"


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    rows = 20
    columns: dict[str, Any] = {
        "A": [float(row % 7) + 0.25 * (row % 4) for row in range(rows)],
        "B": [float(row) for row in range(rows)],
        "D": [0.0, *map(float, range(20_000, 20_000 + rows - 1))],
        "s": ["ab", *["cde"] * (rows - 1)],
        "x": [1.5, "A", None, *[2.0] * (rows - 3)],
    }
    write_sas7bdat(tmp_path / "a.sas7bdat", columns, {"D": "DATE9", "x": "8.2"}, {"A": "An amount"})
    return tmp_path / "a.sas7bdat"


def test_a_data_set_is_read(data_set: Path) -> None:
    cells = read_cells(data_set)
    assert cells["x"][:4] == ["1.5", ".A", None, "2"]
    assert cells["D"][:2] == ["1960-01-01", "2014-10-04"]
    said = {variable.name: variable for variable in open_source(data_set).variables}
    assert (said["A"].label, said["x"].missing, said["s"].typed.text) == ("An amount", {".A": ""}, True)


@pytest.mark.parametrize(("letter", "second"), [("A", 2), ("B", 3), ("Z", 27), ("_", 0)])
def test_special_missing_values_have_two_schemes(tmp_path: Path, letter: str, second: int) -> None:
    path = tmp_path / "a.sas7bdat"
    write_sas7bdat(path, {"x": [1.5, letter, None, 2.0] * 5, "y": [1.0] * 20}, {}, {})
    first, other = (bytes([255 - code, 0xF8, 0x7F]) for code in (ord(letter), second))  # the end of a NaN
    content = path.read_bytes()
    assert content.count(first) == 5
    path.write_bytes(content.replace(first, other))
    assert read_cells(path)["x"] == ["1.5", f".{letter}", None, "2"] * 5


def test_pandas_is_a_witness_of_data_sets(data_set: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pandas.io.sas.sas7bdat import SAS7BDATReader

    cells = read_cells(data_set)

    def fails(_: object) -> None:
        raise ValueError("no")

    read = SAS7BDATReader.read
    monkeypatch.setattr(SAS7BDATReader, "read", fails)
    source = open_source(data_set)
    assert source.records().columns["A"].lexemes.tolist() == cells["A"]
    assert any("no second one confirms it: pandas ends with ValueError" in note for note in source.notes)
    monkeypatch.setattr(SAS7BDATReader, "read", lambda reader: read(reader).assign(A=1.0))
    with refused(DocumentError, "readings-differ", where=f"{data_set}, record 1"):
        open_source(data_set).records()


def test_a_data_set_is_released_as_a_transport_file(data_set: Path, tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "rules.sch", "A <= B + 100", "A >= 0")
    out = tmp_path / "out.xpt"
    told = {"roles": {"s": "untouched", "D": "untouched", "x": "untouched"}, "k": 3, "max_observed_share": 100.0,
            "numeric": ["A", "B"]}  # fmt: skip
    result = masktron.mask(data_set, rules, out, **told)
    assert result.min_group >= 3
    assert any("does not write .sas7bdat" in note for note in result.notes)
    before, after = read_cells(data_set), read_cells(out)
    assert sorted(zip(*(before[name] for name in "sDx"), strict=True), key=str) == sorted(
        zip(*(after[name] for name in "sDx"), strict=True), key=str
    )
    assert pyreadstat.read_xport(str(out))[1].original_variable_types["D"] == "DATE9"
    assert pyreadstat.read_xport(str(out))[1].column_names_to_labels["A"] == "An amount"
    manifest = tmp_path / "out.manifest.json"
    checked = masktron.check(out, rules, original=data_set, manifest=manifest)
    assert checked.complies, checked.problems


@pytest.mark.parametrize("version", ["5", "8"])
def test_a_data_set_that_is_converted_keeps_its_formats(data_set: Path, tmp_path: Path, version: str) -> None:
    out = tmp_path / "out.xpt"
    masktron.convert(data_set, out, to_options={"version": version})
    shown = pyreadstat.read_xport(str(out))[1].original_variable_types
    assert (shown["D"], shown["x"]) == ("DATE9", "8.2")
    assert read_cells(out) == read_cells(data_set)
    assert open_source(out).table.format_state.version == int(version)


def test_a_data_set_is_not_written(data_set: Path, tmp_path: Path) -> None:
    with refused(UsageError, "output-name", names=("out.xpt", "out.csv")):
        refuse_other_names(tmp_path / "out.sas7bdat", "sas7bdat", data_set)
    with refused(UsageError, "output-name"):
        open_source(data_set).write(tmp_path / "out.sas7bdat", {})
    assert not (tmp_path / "out.sas7bdat").exists()


def test_several_data_sets_in_one_file_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xpt", 5)
    content = path.read_bytes()
    path.write_bytes(content + content[240:])
    with refused(DocumentError, "file-damaged", where=path, detail="it holds several data sets"):
        open_source(path).require_readable()
