"""SPSS system files: what is read, what a release keeps, what a new file can hold."""

from __future__ import annotations

import datetime
import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyreadstat._readstat_writer import writer_entry_point

import masktron
from cli_runner import Runner, write_rules
from made_columns import cells_of, new_column
from masktron.config import Kind, ReadOptions
from masktron.errors import DocumentError, UsageError
from masktron.sources.known_formats import table_format
from masktron.sources.opening import open_source
from masktron.sources.tables.release import Release
from masktron.sources.variables import Variable
from refusals import refused
from statistical_files import read_cells, table_of_texts

DAY = 86_400
FRAME: dict[str, Any] = {
    "Id": [1.0, 2.0, 3.0, 4.0],
    "sex": ["f", "m", "x", "m"],
    "Satisfaction": [1.0, 2.0, 9.0, 97.0],
    "income": [1234.5, np.nan, 0.25, 10.0],
    "Born": [150_000 * DAY, 160_000 * DAY, np.nan, 161_000 * DAY],
    "at": [30_605.5, 0.0, 90_000.0, -3600.0],
    "w": [1.5, 2.0, 1.0, 1.25],
    "story": ["a" * 300, "b", "", "d"],
    "last": ["q", "r", "s", "t"],
}
TOLD: dict[str, Any] = {
    "file_label": "A survey",
    "column_labels": {"Satisfaction": "How satisfied?", "sex": "Sex"},
    "variable_value_labels": {"Satisfaction": {1.0: "low", 2.0: "high", 9.0: "refused"}, "sex": {"f": "female"}},
    "missing_ranges": {"Satisfaction": [9.0, {"lo": 97.0, "hi": 99.0}], "sex": ["x"]},
    "variable_format": {"income": "F8.2", "Born": "DATE11", "at": "TIME8", "Id": "F5.0"},
    "variable_measure": {"Satisfaction": "ordinal", "sex": "nominal", "income": "scale"},
    "variable_display_width": {"income": 12},
    "note": ["collected by hand"],
}


def ibm() -> Any:
    """Return a reader of SPSS that uses IBM's own library, which is there for Linux on x86-64 alone."""
    return pytest.importorskip("pyspssio", reason="pyspssio, with IBM's library, is for Linux on x86-64 alone")


def born(days: int) -> str:
    return (datetime.date(1582, 10, 14) + datetime.timedelta(days=days)).isoformat()


def write(path: Path, **more: Any) -> Path:
    sides = ["center", "left", "right", "left", "right", "right", "right", "left", "left"]
    alignment = dict(zip(FRAME, sides, strict=True))
    writer_entry_point(pd.DataFrame(FRAME), str(path), "sav", variable_alignment=alignment, **{**TOLD, **more})
    content = bytearray(path.read_bytes())
    content[76:80] = (7).to_bytes(4, "little")  # the seventh variable is the weight
    path.write_bytes(content)
    return path


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return write(tmp_path / "survey.sav", row_compress=True)


def test_what_is_missing_is_absent_or_a_declared_code(survey: Path) -> None:
    assert read_cells(survey) == {
        "Id": ["1", "2", "3", "4"],
        "sex": ["f", "m", "x", "m"],
        "Satisfaction": ["1", "2", "9", "97"],
        "income": ["1234.5", None, "0.25", "10"],
        "Born": [born(150_000), born(160_000), None, born(161_000)],
        "at": ["08:30:05.5", "00:00:00", "25:00:00", "-01:00:00"],
        "w": ["1.5", "2", "1", "1.25"],
        "story": ["a" * 300, "b", None, "d"],
        "last": ["q", "r", "s", "t"],
    }


def test_labels_measures_codes_and_the_weight_are_known(survey: Path) -> None:
    source = open_source(survey)
    said = {variable.name: variable for variable in source.variables}
    assert said["Satisfaction"].label == "How satisfied?"
    assert said["Satisfaction"].labels == {"1": "low", "2": "high"}
    assert said["Satisfaction"].missing == {"9": "refused", "97": ""}
    assert (said["Satisfaction"].kind, said["Satisfaction"].order) == (Kind.ORDINAL, ("1", "2"))
    assert (said["sex"].kind, said["sex"].missing) == (Kind.NOMINAL, {"x": ""})
    assert said["income"].kind is Kind.NUMBER
    assert [name for name, one in said.items() if one.weight] == ["w"]
    assert said["Born"].stored == pa.date32()
    assert said["at"].stored == pa.string()  # 25 hours are no time of the day
    assert said["Id"].stored == pa.int64()


def test_codes_that_only_records_tell_are_no_part_of_what_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out, told = tmp_path / "d.sav", tmp_path / "o", tmp_path / "told.json"
    pyreadstat.write_sav(
        pd.DataFrame({"A": [1.0, 7654321.0, 987654321.0, 5.0], "B": [1.0, 2.0, 3.0, 4.0]}),
        str(data),
        variable_value_labels={"A": {1.0: "low", 900000001.0: "refused"}},
        missing_ranges={"A": [{"lo": 900000000.0, "hi": float("inf")}, 5.0]},
        variable_measure={"A": "ordinal", "B": "scale"},
    )
    variable = open_source(data).variables[0]
    assert (variable.order, variable.missing) == (
        ("1", "7654321"),
        {"5": "", "900000001": "refused", "987654321": ""},
    )
    run, rules = Runner(capsys), write_rules(tmp_path / "r.sch", "A >= 0")
    for standard in ("ddi", "tableschema"):
        done = run("metadata", data, "--to", standard, "--out", out, "--json", told)
        assert done.code == 0, done.err
        assert "codes that nobody declared, of A" in done.out
        assert "codes that nobody declared, of A" in json.loads(told.read_text())["notes"][0]
        assert json.loads(told.read_text())["notes"][1] == (
            "ranges of values that mean 'missing' become the single codes in them that have labels: "
            "A (900000000 to highest)"
        )
        for text in (out.read_text(), done.out, told.read_text()):
            assert not [value for value in ("7654321", "987654321") if value in text]
        assert "900000001" in out.read_text()
    done = run("validate", data, "-r", rules, "--json", told)
    missing = json.loads(told.read_text())["fields"][0]["missing"]
    assert missing == {"5": "", "900000001": "refused", "900000000 to highest": ""}
    done = run("validate", data, "-r", rules, "--json", told, "--release-safe")
    assert json.loads(told.read_text())["fields"] == []
    assert "field:" not in done.out


@pytest.mark.parametrize("how", [{"row_compress": True}, {"compress": True}, {}])
def test_a_release_keeps_the_dictionary(tmp_path: Path, how: dict[str, bool]) -> None:
    pyspssio = ibm()
    path, out = write(tmp_path / "survey.sav", **how), tmp_path / "out.sav"
    new = new_column(np.array(["2.75", "9", None], dtype=object), np.array([0, 0, 2, 0]))
    order = np.array([3, 1, 0, 2])
    open_source(path).write(out, {"income": new}, removed=["Id"], order=order)
    assert read_cells(out) == {
        **{name: [cells[at] for at in order] for name, cells in read_cells(path).items() if name != "Id"},
        "income": ["2.75", "2.75", "2.75", None],
    }
    before, after = (pyspssio.read_metadata(str(one)) for one in (path, out))  # by IBM's own library
    assert after["case_weight_var"] == "w"
    for key in ("alignments", "formats", "types", "labels", "column_widths", "measure_levels", "missing_values",
                "value_labels"):  # fmt: skip
        expected = {name: said for name, said in before[f"var_{key}"].items() if name != "Id"}
        assert after[f"var_{key}"] == expected, key
    first, second = (pyreadstat.read_sav(str(one), metadataonly=True)[1] for one in (path, out))
    assert (second.file_label, second.notes) == (first.file_label, first.notes) == ("A survey", ["collected by hand"])
    assert path.read_bytes()[72] == out.read_bytes()[72]  # the way of compression
    values = pyspssio.read_sav(str(out), convert_datetimes=False, include_user_missing=True)[0]
    assert values["Satisfaction"].tolist() == [97, 2, 1, 9]
    assert values["Born"].tolist()[:3] == [161_000 * DAY, 160_000 * DAY, 150_000 * DAY]


def test_a_release_does_not_tell_when_it_was_written(survey: Path, tmp_path: Path) -> None:
    out = [tmp_path / "a.sav", tmp_path / "b.sav"]
    open_source(survey).write(out[0], {})
    time.sleep(1.1)
    open_source(survey).write(out[1], {})
    assert out[0].read_bytes() == out[1].read_bytes()


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "windows-1252", "ISO-8859-1", "iso8859_15"])
def test_an_encoding_has_its_names_of_python_and_of_iconv(tmp_path: Path, encoding: str) -> None:
    path, out = tmp_path / "a.sav", tmp_path / "b.sav"
    pyreadstat.write_sav(pd.DataFrame({"t": ["ab", "c"]}), str(path), column_labels={"t": "xy"})
    path.write_bytes(path.read_bytes().replace(b"ab", b"\xe4b").replace(b"xy", b"\xf6y"))
    with refused(DocumentError, "wrong-encoding", where=path, codec="UTF-8"):
        open_source(path).require_readable()
    reading = ReadOptions(options={"encoding": encoding})
    source = open_source(path, reading=reading)
    assert cells_of(getattr(source, "table"))["t"].to_pylist() == ["äb", "c"]  # noqa: B009 -- of a table source
    source.write(out, {})
    for again in (open_source(out), open_source(out, reading=reading)):
        assert again.variables[0].label == "öy"
        assert again.records().columns["t"].lexemes.tolist() == ["äb", "c"]
    with refused(UsageError, "bad-value", name="encoding", given="klingon"):
        open_source(path, reading=ReadOptions(options={"encoding": "klingon"})).require_readable()


WIDE = {"t": ["a" + " " * 19, "b"], "u": ["a" + " " * 19, "b"], "c": ["c" * 9, "x"], "x": [1.0, 2.0]}
"""The writer has no other way to make a column wide."""


def widths_of(path: Path) -> dict[str, tuple[str, int]]:
    meta = pyreadstat.read_sav(str(path))[1]
    shown = meta.variable_display_width
    return {name: (kind, shown[name]) for name, kind in meta.original_variable_types.items() if name != "x"}


def test_a_text_that_is_released_as_it_was_stays_as_wide(tmp_path: Path) -> None:
    path, out = tmp_path / "a.sav", tmp_path / "b.sav"
    pyreadstat.write_sav(pd.DataFrame(WIDE), str(path), variable_display_width={"t": 30})
    before = widths_of(path)
    assert before["t"] == ("A20", 30)
    open_source(path).write(out, {"x": new_column(np.array(["1"], dtype=object), np.array([0, 0]))})
    assert widths_of(out) == before


def test_a_masked_text_is_as_wide_as_what_is_released_and_the_codes(tmp_path: Path) -> None:
    path, out = tmp_path / "a.sav", tmp_path / "b.sav"
    labels = {"c": {"seven 7": "a label"}}
    pyreadstat.write_sav(
        pd.DataFrame(WIDE), str(path), variable_display_width={"t": 30}, variable_value_labels=labels
    )
    new = {name: new_column(np.array(["é"], dtype=object), np.array([0, 0])) for name in "tuc"}
    open_source(path).write(out, new)
    assert widths_of(out) == {"t": ("A2", widths_of(out)["u"][1]), "u": ("A2", widths_of(out)["u"][1]),
                              "c": ("A7", widths_of(out)["c"][1])}  # fmt: skip
    assert widths_of(out)["u"][1] <= 8
    assert read_cells(out) == {"t": ["é", "é"], "u": ["é", "é"], "c": ["é", "é"], "x": ["1", "2"]}
    assert pyreadstat.read_sav(str(out))[1].variable_value_labels == labels
    # a record that is left out may have had the longest text
    open_source(path).write(out, {}, keep=np.array([False, True]))
    assert {name: kind for name, (kind, _) in widths_of(out).items()} == {"t": "A1", "u": "A1", "c": "A7"}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("1.125", "more than the 2 fraction digits of its format"),
        ("123456789", "more than the 8 characters of its format"),
    ],
)
def test_a_masked_value_fits_the_format(survey: Path, tmp_path: Path, value: str, why: str) -> None:
    new = {"income": new_column(np.array([value], dtype=object), np.zeros(4, dtype=np.intp))}
    with refused(UsageError, "new-value-does-not-fit", field="income", detail=f"it has {why}") as caught:
        open_source(survey).write(tmp_path / "out.sav", new)
    assert value not in str(caught.value)
    assert not (tmp_path / "out.sav").exists()


def test_what_cannot_be_carried_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    ibm().write_sav(
        str(path),
        pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]}),
        var_attributes={"a": {"source": "register"}},
        mrsets={"$set": {"type": "D", "label": "both", "counted_value": 1, "variable_list": ["a", "b"]}},
    )
    assert open_source(path).notes == ("not written again: sets of multiple responses",)


def test_a_new_file_says_what_another_format_says(tmp_path: Path) -> None:
    table = table_of_texts(
        {
            "n": ["1", "2", "9"],
            "d": ["2020-02-29", None, "1600-01-01"],
            "t": ["007", "1e3", ""],
            "f": ["1.50", "2", None],
        },
        n=Variable("n", "n", "A number", {"1": "one"}, {"9": "refused"}, Kind.ORDINAL, ("1", "2"), weight=True),
        d=Variable("d", "d", stored=pa.date32()),
    )
    out = tmp_path / "new.zsav"
    table_format("spss").write(out, Release.new(table))
    assert out.read_bytes()[:4] == b"$FL3"
    assert read_cells(out) == {
        "n": ["1", "2", "9"], "d": ["2020-02-29", None, "1600-01-01"], "t": ["007", "1e3", None],
        "f": ["1.5", "2", None],
    }  # fmt: skip
    said = {variable.name: variable for variable in open_source(out).variables}
    assert (said["n"].label, said["n"].labels, said["n"].missing) == ("A number", {"1": "one"}, {"9": "refused"})
    assert said["n"].weight
    assert said["t"].typed.text


@pytest.mark.parametrize("names", [("A", "a"), ("annual income",), ("x" * 65,), ("with",)])
def test_names_that_spss_does_not_have_are_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    with refused(UsageError, "column-names-not-allowed", format="SPSS", names=names):
        table_format("spss").write(tmp_path / "new.sav", Release.new(table_of_texts({name: ["1"] for name in names})))
    assert not (tmp_path / "new.sav").exists()


@pytest.mark.parametrize(
    ("code", "lost"), [("not answered", True), ("-999999999", True), ("ÄÖÜß", False), ("refuseds", False)]
)
def test_a_long_text_that_means_missing_stays_a_text(tmp_path: Path, code: str, *, lost: bool) -> None:
    data, told, out = tmp_path / "a.csv", tmp_path / "a.json", tmp_path / "a.sav"
    data.write_text(f"c,n\nx,{10**11}\n{code},5\n")
    fields = [
        {"name": "c", "type": "string", "missingValues": [{"value": code, "label": "why"}]},
        {"name": "n", "missingValues": ["100000000000"]},
    ]
    told.write_text(json.dumps({"fields": fields}))
    done = masktron.convert(data, out, metadata=told)
    assert ("that codes mean 'missing', so that they count as values: c" in done.losses) is lost
    found = table_format("spss").read(out, {})
    assert cells_of(found)["c"].to_pylist() == ["x", code]
    assert found.columns["c"].variable.missing == ({} if lost else {code: "why"})
    assert found.columns["c"].variable.labels == ({code: "why"} if lost else {})
    assert list(found.columns["n"].variable.missing) == ["100000000000"]


def test_an_integer_that_no_double_holds_is_refused(tmp_path: Path) -> None:
    for said in (pa.int64(), pa.decimal128(20, 0)):
        table = table_of_texts({"n": [str(2**53 + 1)]}, n=Variable("n", "n", stored=said))
        with refused(UsageError, "cannot-hold", format="a number of double precision"):
            table_format("spss").write(tmp_path / "new.sav", Release.new(table))
    # where nobody says that it is a number, it is a text
    table_format("spss").write(tmp_path / "text.sav", Release.new(table_of_texts({"n": [str(2**53 + 1)]})))
    assert read_cells(tmp_path / "text.sav") == {"n": [str(2**53 + 1)]}


def test_decimals_are_numbers(tmp_path: Path) -> None:
    table = table_of_texts({"n": ["1.50", "2.25"]}, n=Variable("n", "n", stored=pa.decimal128(9, 2)))
    table_format("spss").write(tmp_path / "new.sav", Release.new(table))
    found, meta = pyreadstat.read_sav(str(tmp_path / "new.sav"))
    assert found["n"].tolist() == [float(Decimal("1.50")), 2.25]
    assert meta.original_variable_types["n"] == "F8.2"


def test_a_file_that_is_cut_short_is_refused(survey: Path) -> None:
    survey.write_bytes(survey.read_bytes()[:-40])
    with refused(DocumentError, "file-damaged", where=survey, format="an SPSS file"):
        open_source(survey).require_readable()


def test_documents_of_a_file_are_told(survey: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    note = "the documents of the file are copied as they are: 1 line, look at them"
    assert note in open_source(survey).notes
    done = Runner(capsys)("convert", survey, "--out", tmp_path / "c.csv")
    assert "not carried over: the documents of the file: 1 line" in done.out


@pytest.mark.parametrize("measure", ["scale", "nominal", "ordinal", "unknown"])
def test_a_date_is_no_number_whatever_its_measure(tmp_path: Path, measure: str, run: Runner) -> None:
    data, rules = tmp_path / "d.sav", write_rules(tmp_path / "r.sch", "A >= 0")
    frame = pd.DataFrame(
        {
            "A": [float(10 + at) for at in range(20)],
            "day": [datetime.date(2025, 1, 1) + datetime.timedelta(at) for at in range(20)],
            "name": [f"n{at}" for at in range(20)],
        }
    )
    pyreadstat.write_sav(frame, str(data), variable_measure={"A": "scale", "day": measure, "name": "nominal"})
    with refused(UsageError, "no-role", fields=("day", "name")) as stopped:
        masktron.mask(data, rules, tmp_path / "o.sav")
    assert "day holds dates" in str(stopped.value)
    described = {one.name: one for one in masktron.describe(data).fields}
    assert (described["day"].why, described["name"].why) == ("a date without a role", "a text without a role")
    done = run(
        "mask", data, "-r", rules, "-o", tmp_path / "o.sav", "--role", "day=untouched", "--role", "name=identifier"
    )
    assert done.code == 0, done.err


def test_a_measure_is_no_word_of_the_user(tmp_path: Path, run: Runner) -> None:
    data, rules = tmp_path / "d.sav", write_rules(tmp_path / "r.sch", "A >= 0")
    frame = pd.DataFrame(
        {
            "id": np.arange(1001, 1061),
            "A": [float(10 + 7 * at % 50) for at in range(60)],
            "wgt": [1 + at / 7 for at in range(60)],
            "group": [at % 5 for at in range(60)],
        }
    )
    measures = {"id": "nominal", "A": "scale", "wgt": "scale", "group": "nominal"}
    pyreadstat.write_sav(frame, str(data), variable_measure=measures)
    noted = " ".join(map(str, masktron.describe(data).notes))
    assert "id is masked as categories, and holds another whole number in every record" in noted
    assert "wgt is masked as an amount, and is called like a survey weight" in noted
    assert "group is masked" not in noted
    done = run("mask", data, "-r", rules, "-o", tmp_path / "o.sav", "--json", tmp_path / "j.json")
    assert done.code == 0, done.err
    kinds = {one["field"]: one["kind"] for one in json.loads((tmp_path / "j.json").read_text())["concerns"]}
    assert (kinds["id"], kinds["wgt"]) == ("likely-name", "likely-role")
    assert "--role id=identifier" in done.out
    assert "--role wgt=weight" in done.out
    own = masktron.mask(data, rules, tmp_path / "p.sav", nominal=["id"], numeric=["wgt"])
    assert "wgt" not in {one.field for one in own.concerns}
    assert "60 different values" in " ".join(str(one.says) for one in own.concerns if one.field == "id")
