"""Any format into any other: every value comes back, and what is lost is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import masktron
from cli_runner import Runner
from examples import parts
from masktron.config import ReadOptions
from masktron.errors import DocumentError, UsageError, ViolationError
from masktron.jobs.convert import run_convert
from masktron.problems.wording import sentence
from masktron.sources.opening import open_source
from masktron.sources.tables.arrow_files import ParquetFormat
from masktron.sources.tables.release import Release
from masktron.sources.tables.separated.csv_format import CsvFormat
from masktron.sources.tables.table_format import SecondReading
from masktron.sources.tables.table_source import TableSource
from paths import ROOT
from refusals import refused

pytestmark = pytest.mark.usefixtures("at_terminal")

XML = '<S><R a="1"><N>007</N><X>1.5</X><I>3</I><D>2020-02-29</D></R><R><N/><X>2</X><I>-4</I></R></S>'


def lexemes(path: Path) -> dict[str, list[str | None]]:
    return {name: column.lexemes.tolist() for name, column in open_source(path).records().columns.items()}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_there_and_back_every_value_is_the_same(suffix: str, tmp_path: Path) -> None:
    data, table, back = tmp_path / "d.xml", tmp_path / f"d{suffix}", tmp_path / "b.xml"
    data.write_text(XML)
    done = run_convert(data, table)
    assert done.records == 2
    assert done.losses == ("the names of the elements around the fields: S/R",)
    source = open_source(table)
    assert isinstance(source, TableSource)
    stored = {variable.column: str(variable.stored) for variable in source.variables}
    assert stored == {"@a": "int64", "N": "string", "X": "double", "I": "int64", "D": "date32[day]"}
    run_convert(table, back)
    assert lexemes(back) == lexemes(table) == lexemes(data)


@pytest.mark.full
@pytest.mark.parametrize("sample", parts(["household", "business"], 1))
def test_a_sample_obeys_its_rules_in_another_format(
    sample: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, run = tmp_path / f"{sample}.parquet", Runner(capsys)
    assert run("convert", ROOT / "sample_xml" / f"{sample}-invalid.xml", "--out", table).code == 0
    rules = ROOT / "rules" / f"{sample}.sch"
    counts = []
    for data in (table, ROOT / "sample_xml" / f"{sample}-invalid.xml"):
        original = ROOT / "sample_xml" / f"{sample}.xml"
        done = run("validate", data, "--rules", rules, "--original", original, "--json", tmp_path / "v.json")
        assert done.code == 1, done.err
        told = json.loads((tmp_path / "v.json").read_text())
        counts.append([(rule["id"], rule["fired"], rule["failed"], rule["errors"]) for rule in told["rules"]])
    assert counts[0] == counts[1]


def test_what_is_no_table_or_says_no_format_is_refused(tmp_path: Path) -> None:
    nested = tmp_path / "n.xml"
    nested.write_text("<S><R><A><B>1</B></A></R><R><A><B>2</B></A></R></S>")
    with refused(UsageError, "records-not-flat"):
        run_convert(nested, tmp_path / "n.parquet")
    pq.write_table(pa.table({"A": [1]}), tmp_path / "d.parquet")
    with refused(UsageError, "needs-setting"):
        run_convert(tmp_path / "d.parquet", tmp_path / "d.dat")
    for name in ("d.csv", "d.xml"):
        with refused(UsageError, "unknown-name", name="delimeter"):
            run_convert(tmp_path / "d.parquet", tmp_path / name, writing=ReadOptions(options={"delimeter": ";"}))
    with refused(UsageError, "would-overwrite"):
        run_convert(tmp_path / "d.parquet", tmp_path / "d.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.parquet", "n.xml"]


def test_in_python_it_is_the_command(tmp_path: Path, run: Runner) -> None:
    """Paths and frames in, a path out; the result is the one that the command writes."""
    data = tmp_path / "d.csv"
    data.write_text("a b;N\n1,5;007\n;x\n")
    options = {"delimiter": ";", "decimal": "comma"}
    found = masktron.convert(str(data), tmp_path / "p.tsv", format_options=options, to_options={"null": "NA"})
    sides = ["--format-option", "delimiter=;", "--format-option", "decimal=comma", "--to-option", "null=NA"]
    assert run("convert", data, "--out", tmp_path / "c.tsv", *sides, "--json", tmp_path / "c.json").code == 0
    assert (tmp_path / "p.tsv").read_bytes() == (tmp_path / "c.tsv").read_bytes() == b"a b\tN\n1.5\t007\nNA\tx\n"
    told = json.loads((tmp_path / "c.json").read_text())
    own = found.as_dict()
    assert {**own, "output": ""} == {**told, "output": ""}
    assert (found.source_format, found.target_format, found.records) == ("csv", "csv", 2)
    asked: dict[str, Any] = {"format": "csv", "format_options": options, "to": "xml", "record": "Row"}
    named = masktron.convert(data, tmp_path / "odd.name", **asked)
    assert named.target_format == "xml"
    assert lexemes(tmp_path / "odd.name") == {"a_x0020_b": ["1.5", None], "N": ["007", "x"]}
    assert "<Row>" in (tmp_path / "odd.name").read_text()


def test_a_frame_is_converted(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a b": pd.Categorical(["x", "y"], ["y", "x"], ordered=True), "n": [1, 2]}, index=["p", "q"])
    found = masktron.convert(frame, tmp_path / "d.parquet")
    assert (found.data, found.source_format, found.records) == ("data frame", "data frame", 2)
    assert "the index of the data frame" in " ".join(found.losses)
    assert pq.read_schema(tmp_path / "d.parquet").field("a b").type.ordered
    assert masktron.convert(frame.reset_index(drop=True), tmp_path / "e.parquet").losses == ()
    with refused(UsageError, "needs-setting", needed="a format"):
        masktron.convert(frame, "d.dat")
    with refused(UsageError, "setting-not-usable", name="format"):
        masktron.convert(frame, "d.csv", format="csv")
    with refused(UsageError, "bad-value", name="to", expected="a name"):
        masktron.convert(frame, "d.csv", to=5)
    with refused(UsageError, "bad-value", name="data", given="of type int"):
        masktron.convert(5, "d.csv")


AMOUNTS = "price;mixed;half;code\n10,50;1,50;1,5;007\n-2,00;2;2,5;010\n0,25;2,125;3,5;011\n"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("suffix", "zeros", "texts"),
    [
        (".parquet", "price", "mixed"),
        (".duckdb", "price", "mixed"),
        (".sav", "price", "mixed"),
        (".dta", "price", "mixed"),
        (".xpt", "price", "mixed"),
        (".xlsx", "", "price, mixed"),
        (".sqlite", "", "price, mixed"),
        (".csv", "", ""),
        (".xml", "", ""),
    ],
)
def test_amounts_are_numbers_where_that_is_exact_and_else_it_is_said(
    suffix: str, zeros: str, texts: str, tmp_path: Path
) -> None:
    data, out = tmp_path / "d.csv", tmp_path / f"o{suffix}"
    data.write_text(AMOUNTS)
    done = run_convert(data, out, reading=ReadOptions(options={"decimal": "comma"}))
    told = "\n".join(map(sentence, done.losses))
    assert ("in what are columns of numbers there" in told) == bool(zeros)
    assert f"columns of numbers there: {zeros}" in told or not zeros
    stored = "hold numbers: they are" if "," in texts else "holds numbers: it is"
    assert (f"that {texts} {stored} stored as texts" in told) == bool(texts)
    held = lexemes(out)
    assert held["price"] == (["10.5", "-2", "0.25"] if zeros else ["10.50", "-2.00", "0.25"])
    assert held["mixed"] == ["1.50", "2", "2.125"]
    assert held["half"] == ["1.5", "2.5", "3.5"]
    assert held["code"] == ["007", "010", "011"]


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt"])
@pytest.mark.parametrize("source", [".csv", ".parquet"])
def test_integers_that_no_double_holds_become_texts_and_that_is_said(
    source: str, suffix: str, tmp_path: Path
) -> None:
    data = tmp_path / "d.csv"
    columns = {
        "serial": ["1234567890123457", "12345678901234567", "123456789012345678"],
        "held": ["9007199254740992", "-1", "100000000000000000"],
    }
    data.write_text(
        "".join(f"{one},{other}\n" for one, other in [tuple(columns), *zip(*columns.values(), strict=True)])
    )
    if source != ".csv":
        assert not run_convert(data, tmp_path / f"d{source}").losses
        data = tmp_path / f"d{source}"
    done = run_convert(data, tmp_path / f"o{suffix}")
    read = open_source(tmp_path / f"o{suffix}")
    assert {name: list(column.lexemes) for name, column in read.records().columns.items()} == columns
    assert [one.typed.text for one in read.variables] == [True, False]
    (told,) = [sentence(loss) for loss in done.losses if "double" in sentence(loss)]
    assert told.startswith("that serial holds integers: it is stored as texts")


@pytest.mark.parametrize("suffix", [".sav", ".xpt", ".parquet", ".xlsx", ".sqlite"])
def test_numbers_beside_codes_that_are_no_numbers_become_texts_for_that_reason(suffix: str, tmp_path: Path) -> None:
    data = tmp_path / "d.dta"
    frame = pd.DataFrame({"age": [16, "a", 90], "wage": [1.5, 20.0, "b"], "sex": [1, 2, 1]})
    pyreadstat.write_dta(frame, str(data), missing_user_values={"age": ["a"], "wage": ["b"]}, version=15)
    out = tmp_path / f"o{suffix}"
    told = [sentence(loss) for loss in run_convert(data, out).losses]
    assert [one for one in told if "stored as texts" in one] == [
        "that age, wage hold numbers: they are stored as texts, as their codes for missing values, such as .a, "
        "are no numbers"
    ]
    assert "types of columns, which become text: age, wage" in told
    assert lexemes(out)["age"] == ["16", ".a", "90"]


def test_a_format_that_has_the_codes_has_numbers_beside_them(tmp_path: Path) -> None:
    data, out = tmp_path / "d.dta", tmp_path / "o.dta"
    frame = pd.DataFrame({"age": [16, "a", 90, np.nan]})
    pyreadstat.write_dta(frame, str(data), missing_user_values={"age": ["a"]}, version=15)
    assert run_convert(data, out, rename={"age": "years"}).losses == ()
    assert lexemes(out) == {"years": ["16", ".a", "90", None]}


def test_a_column_without_a_value_is_not_in_xml(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["1", "x"], "b": pa.array([None, None], pa.string())}), tmp_path / "d.parquet")
    assert run_convert(tmp_path / "d.parquet", tmp_path / "o.xml").losses == ("columns without a value: b",)


def test_an_order_that_a_format_does_not_have_is_among_the_losses(tmp_path: Path) -> None:
    levels = ["primary", "lower", "upper"]
    for ordered, losses in ((True, ("the order of all categories: educ",)), (False, ())):
        frame = pd.DataFrame({"educ": pd.Categorical(["upper", "primary", "lower"], levels, ordered=ordered)})
        frame.to_parquet(tmp_path / "d.parquet")
        told = run_convert(tmp_path / "d.parquet", tmp_path / "o.sav").losses
        assert tuple(one for one in told if "categories" in sentence(one)) == losses


def test_codes_with_a_point_stay_texts_and_that_is_said(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("nace,price\n10.10,9.50\n47.20,10.50\n")
    done = run_convert(data, tmp_path / "o.parquet")
    assert lexemes(tmp_path / "o.parquet") == {"nace": ["10.10", "47.20"], "price": ["9.5", "10.5"]}
    assert any("that nace holds numbers: it is stored as texts" in sentence(loss) for loss in done.losses)


def test_amounts_have_the_type_and_the_format_of_amounts(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text(AMOUNTS)
    how = ReadOptions(options={"decimal": "comma"})
    run_convert(data, tmp_path / "o.parquet", reading=how)
    assert pq.read_schema(tmp_path / "o.parquet").field("price").type == pa.decimal128(18, 2)
    for name, read, shown in (("o.sav", pyreadstat.read_sav, "F8.2"), ("o.dta", pyreadstat.read_dta, "%9.2f")):
        run_convert(data, tmp_path / name, reading=how)
        assert read(str(tmp_path / name))[1].original_variable_types["price"] == shown
    again = tmp_path / "again.csv"
    run_convert(tmp_path / "o.parquet", again)
    assert lexemes(again)["price"] == ["10.5", "-2", "0.25"]


def test_the_dialect_of_a_file_is_not_taken_over_and_that_is_said(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_bytes(b"\xef\xbb\xbfA;B\r\n1,5;x\r\n-;y\r\n")
    options = {"decimal": "comma", "grouping": "point", "null": "-"}
    done = run_convert(data, tmp_path / "o.parquet", reading=ReadOptions(options=options))
    assert sentence(done.losses[-1]) == (
        "the dialect of the file: semicolon between cells, the byte order mark, lines that end with CRLF, "
        "the texts for no value, the decimal comma, groups of digits"
    )
    data.write_text("A,B\n1,x\n2,y\n")
    assert run_convert(data, tmp_path / "p.parquet").losses == ()


def test_columns_are_renamed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, data, out = Runner(capsys), tmp_path / "d.csv", tmp_path / "o.sav"
    data.write_text("annual income,TO,b\n5,x,3\n7,y,4\n")
    done = run("convert", data, "--out", out)
    assert (done.code, out.exists()) == (2, False)
    options = ["--rename", "annual income=annual_income", "--rename", "TO=TO_2"]
    assert "--rename 'annual income=annual_income' --rename TO=TO_2" in done.err
    assert run("convert", data, "--out", out, *options).code == 0
    assert lexemes(out) == {"annual_income": ["5", "7"], "TO_2": ["x", "y"], "b": ["3", "4"]}
    options = ["--rename", "annual_x0020_income=b c", "--rename", "b=annual income"]
    assert run("convert", data, "--out", tmp_path / "o.csv", *options).code == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == "b c,TO,annual income"
    for wrong, why in (
        (["x=y"], "[unknown-name]"),
        (["TO=b"], "not b [bad-value]"),
        (["TO=c", "b=c"], "not c [bad-value]"),
        (["TO=c", "TO=d"], "[given-twice]"),
        (["annual income=c", "annual_x0020_income=d"], "not annual income, annual_x0020_income [bad-value]"),
        (["TO"], "[bad-value]"),
    ):
        done = run(
            "convert", data, "--out", tmp_path / "no.csv", *(part for one in wrong for part in ("--rename", one))
        )
        assert done.code == 2
        assert why in done.err
    assert not (tmp_path / "no.csv").exists()


def test_metadata_beside_a_file_go_into_the_new_one(tmp_path: Path, run: Runner) -> None:
    data, out, schema = tmp_path / "d.csv", tmp_path / "o.sav", tmp_path / "s.json"
    data.write_text("A,B\n1,9\n2,4\n")
    fields = [
        {"name": "A", "title": "An answer", "type": "string", "categories": [{"value": "1", "label": "yes"}]},
        {"name": "B", "title": "Amount", "type": "integer", "missingValues": ["9"]},
    ]
    schema.write_text(json.dumps({"fields": fields}))
    done = run("convert", data, "--out", out, "--metadata", schema, "--rename", "B=AMOUNT")
    assert done.code == 0, done.err
    found, meta = pyreadstat.read_sav(str(out), user_missing=True)
    assert meta.column_names_to_labels == {"A": "An answer", "AMOUNT": "Amount"}
    assert meta.variable_value_labels["A"] == {"1": "yes"}
    assert meta.missing_ranges == {"AMOUNT": [{"lo": 9.0, "hi": 9.0}]}
    assert found["A"].tolist() == ["1", "2"]
    bad = tmp_path / "bad.json"
    bad.write_text('{"fields": [{"name": "Q"}]}')
    done = run("convert", data, "--out", tmp_path / "p.sav", "--metadata", bad)
    assert (done.code, (tmp_path / "p.sav").exists()) == (2, False)
    assert "[bad-description]" in done.err


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt", ".parquet", ".xlsx", ".sqlite"])
def test_declared_numbers_become_numbers_and_what_that_loses_is_said(suffix: str, tmp_path: Path) -> None:
    """Survey weights as pandas writes them were texts, and with them all that reads such a file."""
    data, schema, out = tmp_path / "d.csv", tmp_path / "s.json", tmp_path / f"o{suffix}"
    data.write_text("a,b,c,w,n\n1,-9,-9,1475.59,1.0\n2,10.50,1.50,1652.0,x\n3,100.25,2,1e3,2.0\n")
    missing = {"type": "number", "missingValues": ["-9"]}
    numbers = [{"name": name, "type": "number"} for name in "wn"]
    schema.write_text(
        json.dumps({"fields": [{"name": "a"}, {"name": "b", **missing}, {"name": "c", **missing}, *numbers]})
    )
    done = run_convert(data, out, reading=ReadOptions(metadata=schema))
    held = lexemes(out)
    assert held["b"] == ["-9", "10.5", "100.25"]
    assert held["c"] == ["-9", "1.5", "2"]
    assert held["w"] == ["1475.59", "1652", "1000"]
    assert held["n"] == ["1.0", "x", "2.0"]
    told = " ".join(map(sentence, done.losses))
    fixed, spelled = ("", "b, c, w") if suffix in (".xlsx", ".sqlite") else ("b", "c, w")
    assert ("in what are columns of numbers there: b" in told) == bool(fixed)
    assert f"how numbers that the metadata declare are spelled, such as zeros at the end: {spelled}" in told


def test_a_code_that_is_too_long_for_an_amount_leaves_texts(tmp_path: Path) -> None:
    data, schema = tmp_path / "d.csv", tmp_path / "s.json"
    data.write_text("b,a\n-9999999,1\n10.500000000,2\n100.250000000,3\n")
    schema.write_text(json.dumps({"fields": [{"name": "b", "missingValues": ["-9999999"]}]}))
    for name in ("o.parquet", "o.sav"):
        run_convert(data, tmp_path / name, reading=ReadOptions(metadata=schema))
    assert lexemes(tmp_path / "o.parquet")["b"] == ["-9999999", "10.5", "100.25"]
    assert lexemes(tmp_path / "o.sav")["b"] == ["-9999999", "10.500000000", "100.250000000"]


def test_notes_stand_as_notes_and_those_on_masked_files_do_not(tmp_path: Path, run: Runner) -> None:
    frame = pd.DataFrame({"Land": pd.Categorical(["x", "y"], ["x", "y", "z"]), "n": [1, 2]}, index=["p", "q"])
    table = pa.Table.from_pandas(frame)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"by": b"me"}), tmp_path / "d.parquet")
    assert len(getattr(open_source(tmp_path / "d.parquet"), "notes")) == 3  # noqa: B009 -- of a TableSource
    done = run_convert(tmp_path / "d.parquet", tmp_path / "o.csv")
    assert done.notes == ()
    assert done.losses[0] == "what the file says of itself under by"
    # names of columns may have the words of a note
    (tmp_path / "w.csv").write_text("categories --role ,what is released\n1,NA\n2,7\n")
    done = run_convert(tmp_path / "w.csv", tmp_path / "w.parquet")
    assert [note.partition(" has ")[0] for note in map(sentence, done.notes)] == ["column 'what is released'"]
    (tmp_path / "d.csv").write_text("A,B\n1,NA\n2,7\n")
    shown = run("convert", tmp_path / "d.csv", "--out", tmp_path / "d.xlsx", "--json", tmp_path / "n.json")
    assert "note: column 'B' has 'NA' beside numbers" in " ".join(shown.out.split())
    assert "carried" not in shown.out
    told = json.loads((tmp_path / "n.json").read_text())
    assert (told["losses"], len(told["notes"])) == ([], 1)
    done = run_convert(tmp_path / "d.xlsx", tmp_path / "e.csv")
    assert done.losses == ("types of columns: A",)
    assert any("are not written" in note for note in done.notes)
    (tmp_path / "d.xml").write_text("<S by='me'><!-- c --><R><A>1</A></R><R><A>2</A></R></S>")
    done = run_convert(tmp_path / "d.xml", tmp_path / "f.csv")
    assert done.losses == ("the names of the elements around the fields: S/R", "attributes of the root: by")
    assert done.notes == ("left out, since nobody knows what they tell: 1 comment",)


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (lambda frame: frame.rename_axis(index="household"), ("the name of the index of the data frame: household",)),
        (lambda frame: frame.rename_axis(columns="wave"), ("the name of the columns of the data frame: wave",)),
        (lambda frame: frame.set_index(pd.RangeIndex(1, 3, name="x")), ("the index of the data frame",)),
        (lambda frame: frame, ()),
    ],
)
def test_names_around_a_data_frame_are_no_silent_loss(
    tmp_path: Path, change: Callable[[pd.DataFrame], pd.DataFrame], lost: tuple[str, ...]
) -> None:
    frame = change(pd.DataFrame({"n": [1, 2]}))
    assert masktron.convert(frame, tmp_path / "o.parquet").losses == lost
    frame.attrs["made by"] = "me"
    assert masktron.convert(frame, tmp_path / "o.parquet").losses == (
        *lost,
        "the attributes of the data frame: made by",
    )


def test_a_table_without_records_is_read_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Runner
) -> None:
    data = tmp_path / "d.csv"
    data.write_text("A,b c\n")
    done = run_convert(data, tmp_path / "d.xml")
    assert done.losses == ("columns without a value: A, b c",)
    shown = " ".join(run("convert", data, "--out", tmp_path / "d.parquet").out.split())
    assert shown.endswith("; read back, the names of the variables the same")
    assert "read back" not in run("convert", data, "--out", tmp_path / "e.xml").out

    def other_names(self: ParquetFormat, target: Path, release: Release, options: object) -> None:
        del self, release, options
        pq.write_table(pa.table({"A": pa.array([], pa.string())}), target)

    monkeypatch.setattr(ParquetFormat, "write", other_names)
    with refused(ViolationError, "cannot-hold"):
        run_convert(data, tmp_path / "e.parquet")
    assert not (tmp_path / "e.parquet").exists()


@pytest.mark.parametrize("suffix", [".duckdb", ".sqlite"])
def test_names_that_differ_in_case_alone_are_refused_where_they_are_one(suffix: str, tmp_path: Path) -> None:
    data, out = tmp_path / "d.csv", tmp_path / f"o{suffix}"
    data.write_text("A,a,\u00c4,\u00e4\n1,2,3,4\n")
    with refused(UsageError, "column-names-not-allowed", renames="--rename a=a_2 \u00e4=a_3"):
        run_convert(data, out)
    assert not out.exists()
    run_convert(data, out, rename={"a": "a_2"})
    assert lexemes(out) == {"A": ["1"], "a_2": ["2"], "\u00c4": ["3"], "\u00e4": ["4"]}


def test_one_value_is_one_value(tmp_path: Path) -> None:
    source = tmp_path / "d.parquet"
    pq.write_table(pa.table({"A": ["1", ""], "B": ["x", "y"]}), source)
    assert run_convert(source, tmp_path / "o.csv").losses == ("that 1 value of A is an empty text",)
    pq.write_table(pa.table({"A": ["", ""], "B": ["x", "y"]}), source)
    assert run_convert(source, tmp_path / "o.csv").losses == ("that 2 values of A are empty texts",)


def formats_of(path: Path) -> tuple[dict[str, str], dict[str, dict[float, str]], dict[str, int], list[str]]:
    _, meta = (pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta)(str(path))
    widths = meta.variable_storage_width | meta.variable_display_width
    return meta.original_variable_types, meta.variable_value_labels, widths, meta.notes


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_a_format_of_a_package_into_itself_keeps_what_it_shows(suffix: str, tmp_path: Path) -> None:
    data, out = tmp_path / f"d{suffix}", tmp_path / f"o{suffix}"
    frame = pd.DataFrame({"size": [1.0, 2.0], "wage": [10.5, 2000.0], "code": ["a", "b"]})
    if suffix == ".sav":
        shown = {"size": "F2.0", "wage": "DOLLAR10.2", "code": "A1"}
        pyreadstat.write_sav(frame, data, variable_format=shown, note="by hand", variable_display_width={"size": 17})
    else:
        shown = {"size": "%2.0f", "wage": "%10.2fc", "code": "%5s"}
        pyreadstat.write_dta(frame, data, variable_format=shown, variable_value_labels={"size": {1: "one"}})
    done = run_convert(data, out)
    assert formats_of(out) == formats_of(data)
    assert formats_of(out)[0] == shown
    assert done.losses == ()
    # renamed, it is a new file
    renamed = run_convert(data, out, rename={"size": "n"})
    assert list(formats_of(out)[0]) == ["n", "wage", "code"]
    assert renamed.losses == (
        ("display formats: wage (DOLLAR10.2)", "the documents of the file: 1 line") if suffix == ".sav" else ()
    )


def test_formats_go_from_one_package_into_another(tmp_path: Path) -> None:
    data, there, back = tmp_path / "d.sav", tmp_path / "o.dta", tmp_path / "b.sav"
    frame = pd.DataFrame({"wage": [10.5, 2000.0], "rent": [1.0, 2.5]})
    pyreadstat.write_sav(frame, data, variable_format={"wage": "F10.2", "rent": "F5.1"})
    run_convert(data, there)
    assert formats_of(there)[0] == {"wage": "%10.2f", "rent": "%5.1f"}
    run_convert(there, back)
    assert formats_of(back)[0] == {"wage": "F10.2", "rent": "F5.1"}


def test_labels_of_codes_are_among_the_losses(tmp_path: Path) -> None:
    data = tmp_path / "d.sav"
    frame = pd.DataFrame({"rent": [10.5, 9998.0]})
    pyreadstat.write_sav(
        frame, data, variable_value_labels={"rent": {9998.0: "refused"}}, missing_ranges={"rent": [9998]}
    )
    assert "labels of values: rent" in run_convert(data, tmp_path / "o.csv").losses


def test_labels_that_are_cut_and_become_equal_are_among_the_losses(tmp_path: Path) -> None:
    data = tmp_path / "d.dta"
    long = {1: "ö" * 100 + ", first", 2: "ö" * 100 + ", second", 3: "short"}
    pyreadstat.write_dta(
        pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 2, 3]}),
        str(data),
        column_labels={"c": "x" * 80},
        variable_value_labels={"a": long, "b": {1: "y" * 130}, "c": {1: "z" * 120}},
    )
    assert run_convert(data, tmp_path / "o.sav").losses == (
        "ends of labels of values, which are cut as they are too long: a, b",
        "that labels of values differ, as some become equal: a",
    )
    labels = open_source(tmp_path / "o.sav").variables[0].labels
    assert labels == {"1": "ö" * 60, "2": "ö" * 60, "3": "short"}
    assert run_convert(data, tmp_path / "o.xpt", writing=ReadOptions(options={"version": "5"})).losses == (
        "ends of labels of variables, which are cut as they are too long: c",
        "labels of values: a, b, c",
    )


@pytest.mark.parametrize("name", ["o.dta", "o.xpt", "o.parquet", "o.zsav", "o.sqlite", "o.duckdb"])
def test_times_of_more_than_a_day_become_texts_and_are_among_the_losses(tmp_path: Path, name: str) -> None:
    for hours, losses in ((23, ()), (25, ("types of columns, which become text: t",))):
        data = tmp_path / "d.sav"
        frame = pd.DataFrame({"t": [3600.0 * hours + 0.5, 1.5]})
        pyreadstat.write_sav(frame, str(data), variable_format={"t": "TIME12.1"})
        expected = losses or (("types of columns, which become text: t",) if name == "o.sqlite" else ())
        assert run_convert(data, tmp_path / name).losses == expected
        assert open_source(tmp_path / name).records().columns["t"].lexemes[0] == f"{hours}:00:00.5"


def test_a_range_of_missing_codes_is_among_the_losses(tmp_path: Path) -> None:
    data = tmp_path / "d.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"a": [1.0, 97.0]}), str(data), missing_ranges={"a": [{"lo": 90.0, "hi": 99.0}]}
    )
    assert run_convert(data, tmp_path / "o.sav").losses == ()
    assert run_convert(data, tmp_path / "o.zsav").losses == ("ranges of values that mean 'missing': a",)
    assert run_convert(data, tmp_path / "o.dta").losses == (
        "that codes mean 'missing', so that they count as values: a",
        "ranges of values that mean 'missing': a",
    )


def test_a_file_that_two_libraries_read_otherwise_is_not_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "d.csv"
    data.write_text("a,b\n1,2\n")
    monkeypatch.setattr(CsvFormat, "read_again", lambda *_: SecondReading(("a", "b"), [["1", "3"]]))
    with refused(DocumentError, "readings-differ"):
        run_convert(data, tmp_path / "o.parquet")
    assert not (tmp_path / "o.parquet").exists()
