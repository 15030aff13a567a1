"""Stata files: what is read, what a release keeps, what a new file can hold."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from cli_runner import Runner, write_rules
from made_columns import new_column
from masktron.config import ReadOptions
from masktron.errors import DocumentError, UsageError
from masktron.jobs.convert import run_convert
from masktron.sources.known_formats import table_format
from masktron.sources.opening import open_source
from masktron.sources.tables.descriptions import descriptions_lost
from masktron.sources.tables.release import Release
from masktron.sources.variables import Variable
from refusals import refused
from statistical_files import read_cells, table_of_texts

TOLD: dict[str, Any] = {
    "file_label": "A survey",
    "column_labels": {"code": "A code"},
    "variable_value_labels": {"code": {1: "yes", "a": "refused"}},
    "missing_user_values": {"code": ["a", "b"]},
    "variable_format": {"amount": "%9.2f", "day": "%td", "at": "%tc"},
}


def frame(*, long: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": ["Ann", "Bo", "Cy", "Di"],
            "code": pd.Series([1, "a", None, "b"], dtype=object),
            "amount": [1.5, np.nan, 0.1, 1e-7],
            "day": [0.0, 21_915.0, np.nan, -1.0],
            "at": [0.0, 1500.0, 86_400_000.0, np.nan],
            "story": [long, "", "zz", long],
        }
    )


def write(path: Path, version: int = 15) -> Path:
    pyreadstat.write_dta(frame(long="x" * (3000 if version >= 13 else 50)), str(path), version=version, **TOLD)
    return path


@pytest.mark.parametrize("version", [8, 10, 12, 13, 14, 15])
def test_every_release_is_read_and_written(tmp_path: Path, version: int) -> None:
    path, out = write(tmp_path / "a.dta", version), tmp_path / "b.dta"
    long = "x" * (3000 if version >= 13 else 50)
    cells = read_cells(path)
    assert cells == {
        "name": ["Ann", "Bo", "Cy", "Di"],
        # pyreadstat 1.3 gives whatever stood in memory for the third into an array
        "code": ["1", ".a", None, ".b"],
        "amount": ["1.5", None, "0.1", "0.0000001"],
        "day": ["1960-01-01", "2020-01-01", None, "1959-12-31"],
        "at": ["1960-01-01T00:00:00", "1960-01-01T00:00:01.5", "1960-01-02T00:00:00", None],
        "story": [long, None, "zz", long],
    }
    order = np.array([3, 1, 0, 2])
    new = {
        "amount": new_column(np.array(["2.25", None], dtype=object), np.array([0, 1, 0, 1])),
        "code": new_column(np.array([".z", "7", None], dtype=object), np.array([0, 1, 2, 0])),
        "story": new_column(np.array([long, "other"], dtype=object), np.array([0, 1, 1, 0])),
    }
    open_source(path).write(out, new, removed=["name"], order=order)
    assert read_cells(out) == {
        "code": [".z", "7", ".z", None],
        "amount": [["2.25", None, "2.25", None][at] for at in order],
        "day": [cells["day"][at] for at in order],
        "at": [cells["at"][at] for at in order],
        "story": [[long, "other", "other", long][at] for at in order],
    }
    first, second = (pyreadstat.read_dta(str(one), user_missing=True)[1] for one in (path, out))
    assert second.file_label == "A survey"
    assert second.variable_value_labels == first.variable_value_labels == {"code": {1: "yes", "a": "refused"}}
    for key in ("original_variable_types", "readstat_variable_types", "variable_storage_width"):
        expected = {name: said for name, said in getattr(first, key).items() if name != "name"}
        assert getattr(second, key) == expected
    assert b"Ann" not in out.read_bytes()


def test_types_and_labels_stay_whatever_the_order_of_bytes(tmp_path: Path) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    values = pd.DataFrame(
        {
            "b": pd.Series([1, -127, 100], dtype=np.int8),
            "i": pd.Series([1, 2, 3], dtype=np.int16),
            "l": pd.Series([1, 2, 2_147_483_620], dtype=np.int32),
            "f": pd.Series([0.1, 1.5, np.nan], dtype=np.float32),
            "d": [0.1, 1 / 3, 1e300],
        }
    )
    values.to_stata(path, write_index=False, version=118, byteorder=">", value_labels={"b": {1: "one"}})
    cells = read_cells(path)
    assert cells["f"] == ["0.1", "1.5", None]
    assert cells["d"][1] == "0.3333333333333333"
    new = {name: new_column(np.array(["7", None], dtype=object), np.array([0, 1, 1])) for name in "bilfd"}
    open_source(path).write(out, new)
    assert read_cells(out) == {name: ["7", None, None] for name in "bilfd"}
    with pd.io.stata.StataReader(out, preserve_dtypes=True, convert_missing=True) as reader:
        assert reader.value_labels() == {"b": {1: "one"}}
    kinds = pyreadstat.read_dta(str(out))[1].readstat_variable_types
    assert list(kinds.values()) == ["int8", "int16", "int32", "float", "double"]
    assert b"<release>118</release><byteorder>LSF</byteorder>" in out.read_bytes()


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("b", "101", "it is out of range of its type"),
        ("b", "1.5", "it has a fraction"),
        ("f", "0.123456789", "it would be another number"),
        ("d", "2020-02-30", "it is not a date"),
        ("m", "1.125", "it has more than the 2 fraction digits of its format"),
    ],
)
def test_a_masked_value_fits_the_type(tmp_path: Path, field: str, value: str, why: str) -> None:
    path = tmp_path / "a.dta"
    values = pd.DataFrame(
        {
            "b": pd.Series([1, 2], dtype=np.int8),
            "f": pd.Series([0.1, 1.5], dtype=np.float32),
            "s": ["abc", "d"],
            "d": [0.0, 1.0],
            "m": [0.5, 1.0],
        }
    )

    writer = pd.io.stata.StataWriter117(path, values, write_index=False)
    writer.fmtlist[3:5] = ["%td", "%9.2f"]
    writer.write_file()
    new = {field: new_column(np.array([value], dtype=object), np.zeros(2, dtype=np.intp))}
    with refused(UsageError, "new-value-does-not-fit", field=field, detail=why) as caught:
        open_source(path).write(tmp_path / "out.dta", new)
    assert value not in str(caught.value)


@pytest.mark.parametrize("version", [8, 12, 13, 14, 15])
def test_a_text_is_as_wide_as_what_is_released(tmp_path: Path, version: int) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    values = pd.DataFrame({"t": ["a" * 20, "b"], "u": ["a" * 30, "b"], "x": [1.0, 2.0]})
    pyreadstat.write_dta(values, str(path), version=version, variable_format={"t": "%20s", "u": "%-30s"})

    def widths() -> dict[str, str]:
        kinds: dict[str, str] = pyreadstat.read_dta(str(out))[1].original_variable_types
        with pd.io.stata.StataReader(out) as reader:
            reader.variable_labels()
            return {name: f"{size} {kinds[name]}" for name, size in zip("tu", reader._typlist, strict=False)}

    source = open_source(path)
    source.write(out, {"t": new_column(np.array(["cccc", None], dtype=object), np.array([0, 1]))})
    assert widths() == {"t": "4 %9s", "u": "30 %-30s"}
    assert read_cells(out) == {"t": ["cccc", None], "u": ["a" * 30, "b"], "x": ["1", "2"]}
    # a masked text may be longer than all that there were
    source.write(out, {"t": new_column(np.array(["d" * 25], dtype=object), np.array([0, 0]))})
    assert widths()["t"] == "25 %25s"
    assert read_cells(out)["t"] == ["d" * 25] * 2
    # a record that is left out may have had the longest text
    source.write(out, {}, keep=np.array([False, True]))
    assert widths() == {"t": "1 %9s", "u": "1 %-9s"}
    source.write(out, {}, order=np.array([1, 0]))
    assert widths() == {"t": "20 %20s", "u": "30 %-30s"}


def test_a_masked_text_that_is_too_long_for_its_type_gets_another_one(tmp_path: Path) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    pd.DataFrame({"s": ["abc", "d"]}).to_stata(path, write_index=False)
    # 1,050 letters of two bytes
    new = np.array(["é" * 1050, None], dtype=object)
    open_source(path).write(out, {"s": new_column(new, np.array([0, 1]))})
    assert read_cells(out) == {"s": list(new)}
    assert b"<strls>GSO" in out.read_bytes()


def test_the_same_bytes_are_written_at_any_time(tmp_path: Path) -> None:
    path, out, new = write(tmp_path / "a.dta"), tmp_path / "b.dta", tmp_path / "new.dta"
    open_source(path).write(out, {})
    table_format("stata").write(new, Release.new(table_of_texts({"n": ["1"]})))
    for written in (out, new):
        content = written.read_bytes()
        assert b"<timestamp>\x1101 Jan 1960 00:00</timestamp>" in content
    read = pyreadstat.read_dta(str(out))[1]
    assert read.creation_time == read.modification_time == datetime.datetime(1960, 1, 1)


def test_a_file_without_records_keeps_its_types(tmp_path: Path) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    values = pd.DataFrame({"b": pd.Series([], dtype=np.int8), "d": pd.Series([], dtype=np.float64), "t": []})
    values.astype({"t": object}).to_stata(path, write_index=False)
    open_source(path).write(out, {})
    first, second = (pyreadstat.read_dta(str(one))[1].readstat_variable_types for one in (path, out))
    assert first == second == {"b": "int8", "d": "double", "t": "string"}


def test_integers_of_an_old_file_may_be_larger(tmp_path: Path) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    values = pd.DataFrame({"n": pd.Series([1, 2, 1_234_567_890], dtype=np.int32)})
    pyreadstat.write_dta(values, str(path), version=8)
    content = path.read_bytes().replace((1_234_567_890).to_bytes(4, "little"), (2_147_483_640).to_bytes(4, "little"))
    path.write_bytes(bytes([111]) + content[1:])  # of Stata 7
    open_source(path).write(out, {})
    assert read_cells(path) == read_cells(out) == {"n": ["1", "2", "2147483640"]}


def test_labels_of_moments_have_the_values_of_rules(tmp_path: Path) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    labels = {"d": {-1: "before"}, "m": {1500: "soon"}}
    kinds = {"d": "%td", "m": "%tc"}
    values = pd.DataFrame({"d": [-1.0, 1.0], "m": [1500.0, 0.0]})
    pyreadstat.write_dta(values, str(path), variable_format=kinds, variable_value_labels=labels)
    said = [variable.labels for variable in open_source(path).variables]
    assert said == [{"1959-12-31": "before"}, {"1960-01-01T00:00:01.5": "soon"}]
    open_source(path).write(out, {})
    assert pyreadstat.read_dta(str(out))[1].variable_value_labels == labels


def test_stata_13_writes_0_for_labels_into_its_map(tmp_path: Path) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    values = pd.DataFrame({"id": [1, 2], "wage": [10, 20]})
    values.to_stata(path, write_index=False, version=117, variable_labels={"wage": "Monthly wage"})
    content = path.read_bytes()
    place = content.index(b"<map>") + 5 + 7 * 8
    path.write_bytes(content[:place] + bytes(8) + content[place + 8 :])
    source = open_source(path)
    source.write(out, {})
    for one in (source, open_source(out)):
        assert one.records().columns["wage"].lexemes.tolist() == ["10", "20"]
        assert [variable.label for variable in one.variables] == ["", "Monthly wage"]
    assert source.notes == ("Stata files are written for Stata 14 and later",)
    assert open_source(out).notes == ()


@pytest.mark.parametrize(("encoding", "text"), [(None, "€ é"), ("cp1250", "€ é"), ("iso8859-5", "\x80 щ")])
def test_texts_of_old_files_are_in_another_encoding(tmp_path: Path, encoding: str | None, text: str) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    pd.DataFrame({"t": ["\x80 \xe9", "b"]}).to_stata(path, write_index=False, version=114)
    source = open_source(path, reading=ReadOptions(options={} if encoding is None else {"encoding": encoding}))
    assert source.records().columns["t"].lexemes.tolist() == [text, "b"]
    source.write(out, {})
    # what is written is in UTF-8, whatever was said of the original
    assert source.alike(out).records().columns["t"].lexemes.tolist() == [text, "b"]


def test_what_pandas_does_not_read_is_read_by_pyreadstat_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise NotImplementedError("of a value")

    path = write(tmp_path / "a.dta")
    monkeypatch.setattr(pd.io.stata.StataReader, "read", fails)
    source = open_source(path)
    assert source.records().columns["code"].lexemes.tolist() == ["1", ".a", None, ".b"]
    [note] = source.notes
    assert note.endswith("no second one confirms it: pandas ends with NotImplementedError")


@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("version", [117, 118])
def test_binary_data_are_refused(tmp_path: Path, version: int, byteorder: str) -> None:
    path = tmp_path / "a.dta"
    values = pd.DataFrame({"x": [1, 2], "t": ["a" * 3000, "b" * 3000]})
    values.to_stata(path, write_index=False, version=version, byteorder=byteorder)
    assert open_source(path).records().columns["t"].lexemes.tolist() == list(values["t"])
    path.write_bytes(path.read_bytes().replace(b"\x82\xb9\x0b\0\0bb", b"\x81\xb9\x0b\0\0b\0"))
    if byteorder == ">":
        path.write_bytes(path.read_bytes().replace(b"\x82\0\0\x0b\xb9bb", b"\x81\0\0\x0b\xb9b\0"))
    with refused(DocumentError, "file-damaged", detail="it holds binary data, which are no text"):
        open_source(path).require_readable()


def test_long_texts_do_not_tell_where_they_stood(tmp_path: Path) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    texts = [f"{number}" * 2100 for number in range(1, 7)]
    pyreadstat.write_dta(pd.DataFrame({"x": range(6), "t": texts}), str(path), version=14)
    open_source(path).write(out, {}, order=np.arange(6)[::-1])
    assert read_cells(out)["t"] == texts[::-1]
    content = out.read_bytes()
    places = [at for at in range(len(content)) if content.startswith(b"GSO", at)]
    assert [int.from_bytes(content[at + 7 : at + 15], "little") for at in places] == [1, 2, 3, 4, 5, 6]


def test_a_new_file_says_what_another_format_says(tmp_path: Path) -> None:
    table = table_of_texts(
        {
            "n": ["1", "2", ".c"],
            "d": ["2020-02-29", None, "1600-01-01"],
            "t": ["007", "1e3", ""],
            "i": ["1", "2", "3"],
        },
        n=Variable("n", "n", "A number", {"1": "one"}, {".c": "refused"}),
        d=Variable("d", "d", stored=pa.date32()),
    )
    out = tmp_path / "new.dta"
    table_format("stata").write(out, Release.new(table))
    assert read_cells(out) == {
        "n": ["1", "2", ".c"],
        "d": ["2020-02-29", None, "1600-01-01"],
        "t": ["007", "1e3", None],
        "i": ["1", "2", "3"],
    }
    said = {variable.name: variable for variable in open_source(out).variables}
    assert (said["n"].label, said["n"].labels, said["n"].missing) == ("A number", {"1": "one"}, {".c": "refused"})
    assert pyreadstat.read_dta(str(out))[1].readstat_variable_types["i"] == "int32"


def test_integers_beside_missing_values_are_integers(tmp_path: Path) -> None:
    table = table_of_texts(
        {
            "n": ["1", None, ".c"],
            "short": ["100", None, "-100"],
            "over": ["101", None, "1"],
            "zero": ["-0", None, "1"],
            "f": ["1.5", None, "1"],
        },
        n=Variable("n", "n", missing={".c": ""}),
        short=Variable("short", "short", stored=pa.int8()),
        over=Variable("over", "over", stored=pa.uint8()),
        zero=Variable("zero", "zero", stored=pa.float64()),
    )
    out = tmp_path / "new.dta"
    table_format("stata").write(out, Release.new(table))
    assert read_cells(out) == {name: column.lexemes.tolist() for name, column in table.columns.items()}
    found = pyreadstat.read_dta(str(out))[1].readstat_variable_types
    assert found == {"n": "int32", "short": "int8", "over": "int16", "zero": "double", "f": "double"}


def test_a_format_of_months_is_among_the_losses(tmp_path: Path) -> None:
    data = tmp_path / "d.dta"
    shown = {"month": "%tm", "day": "%td", "n": "%8.0g"}
    pyreadstat.write_dta(
        pd.DataFrame({"month": [780.0], "day": [21_915.0], "n": [1.0]}), str(data), variable_format=shown
    )
    assert run_convert(data, tmp_path / "o.sav").losses == ("display formats: month (%tm)",)


def test_names_that_pandas_would_change_stay(tmp_path: Path) -> None:
    path, out = tmp_path / "new.dta", tmp_path / "out.dta"
    texts: dict[str, list[str | None]] = {
        "class": ["1", "2"],
        "end": ["a", "b"],
        "µ": ["1", None],
        "größe": ["1", "2"],
    }
    labelled = Variable("class", "class", "A class", {"1": "one"})
    table_format("stata").write(path, Release.new(table_of_texts(texts, **{"class": labelled})))
    open_source(path).write(out, {})
    for written in (path, out):
        assert list(read_cells(written).values()) == list(texts.values())
        said = open_source(written).variables
        assert [one.column for one in said] == list(texts)
        assert (said[0].label, said[0].labels) == ("A class", {"1": "one"})


def test_labels_that_stata_does_not_have_are_told(tmp_path: Path) -> None:
    out = tmp_path / "new.dta"
    table = table_of_texts(
        {"n": ["1", "2"], "f": ["0.5", "1"], "b": ["3000000000", "1"], "m": ["2020-01-01T00:00:00", None]},
        n=Variable("n", "n", labels={"1": "one"}),
        f=Variable("f", "f", labels={"0.5": "half", "1": "one"}),
        b=Variable("b", "b", labels={"3000000000": "many"}),
        m=Variable("m", "m", labels={"2020-01-01T00:00:00": "new year"}, stored=pa.timestamp("us")),
    )
    made = table_format("stata")
    made.write(out, Release.new(table))
    assert [variable.labels for variable in open_source(out).variables] == [{"1": "one"}, {"1": "one"}, {}, {}]
    assert list(descriptions_lost(table, open_source(out).table)) == ["labels of values: f, b, m"]


@pytest.mark.parametrize("name", ["annual income", "x" * 33, "_all", "1st"])
def test_names_that_stata_does_not_have_are_refused(tmp_path: Path, name: str) -> None:
    with refused(UsageError, "column-names-not-allowed", format="Stata", names=(name,)):
        table_format("stata").write(tmp_path / "new.dta", Release.new(table_of_texts({name: ["1"]})))


def test_the_largest_integers_of_a_type_stand_for_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    kinds = {"b": np.int8, "i": np.int16, "l": np.int32, "d": np.float64}
    pd.DataFrame({name: pd.Series([1, 2], dtype=kind) for name, kind in kinds.items()}).to_stata(
        path, write_index=False
    )
    bounds = [(variable.typed.lower, variable.typed.upper) for variable in open_source(path).variables]
    assert bounds == [(-127, 100), (-32_767, 32_740), (-2_147_483_647, 2_147_483_620), (None, None)]


@pytest.mark.parametrize("version", [115, 117, 118])
def test_labels_of_what_is_left_out_are_left_out(tmp_path: Path, version: int) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "b.dta"
    values = pd.DataFrame({"who": [1, 2, 3], "sex": [1, 2, 1], "both": [1, 2, 1], "n": [7, 8, 9]}).astype(np.int8)
    labels = {"who": {1: "Ann", 2: "Bo", 3: "Cy"}, "sex": {1: "female", 2: "male"}, "both": {1: "one", 2: "two"}}
    if version == 115:
        pyreadstat.write_dta(values, str(path), version=10, variable_value_labels=labels)
    else:
        values.to_stata(path, write_index=False, version=version, value_labels=labels)
    open_source(path).write(out, {}, removed=["who"])
    assert b"Bo" not in out.read_bytes()
    assert pyreadstat.read_dta(str(out))[1].variable_value_labels == {name: labels[name] for name in ("sex", "both")}
    open_source(path).write(out, {})
    assert pyreadstat.read_dta(str(out))[1].variable_value_labels == labels


def test_notes_and_labels_of_a_file_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "a.dta", tmp_path / "m.dta"
    values = pd.DataFrame({"n": np.arange(40, dtype=np.int16), "c": np.tile([1, 2], 20).astype(np.int8)})
    values.to_stata(path, write_index=False, version=118, value_labels={"c": {1: "a", 2: "b", 3: "nobody"}})
    content = path.read_bytes()
    note = b"_dta".ljust(129, b"\0") + b"note1".ljust(129, b"\0") + b"ask Ann\0"
    entry = b"<ch>" + len(note).to_bytes(4, "little") + note + b"</ch>"
    start = content.index(b"<characteristics>") + len(b"<characteristics>")
    content = content[:start] + entry + content[start:]
    place = content.index(b"<map>") + 5
    ends = [int.from_bytes(content[place + 8 * at :][:8], "little") for at in range(14)]
    moved = b"".join((end + len(entry) * (end >= start)).to_bytes(8, "little") for end in ends)
    path.write_bytes(content[:place] + moved + content[place + 14 * 8 :])
    rules = write_rules(tmp_path / "r.sch", "n >= 0")
    done = Runner(capsys)("mask", path, "-r", rules, "--out", out, "--nominal", "c", "--role", "c=untouched")
    assert done.code == 0, done.err
    assert "not written again: notes of the file: 1" in done.out
    assert b"ask Ann" not in out.read_bytes()
    assert "labels of values that no released record has are copied, for c: look at them" in done.out
    assert "nobody" not in done.out
    for name in ("c.csv", "c.dta"):
        done = Runner(capsys)("convert", path, "--out", tmp_path / name)
        assert "not written again: notes of the file: 1" in done.out


def test_a_zero_below_zero_is_read_alike_by_both_libraries(tmp_path: Path) -> None:
    path = tmp_path / "d.dta"
    pd.DataFrame({"x": [-0.0, 1.5], "k": [1, 2]}).to_stata(path, write_index=False)
    assert open_source(path).records().columns["x"].lexemes.tolist() == ["-0", "1.5"]
