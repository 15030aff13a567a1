"""CSV: what two readers make of it, what is refused, and every byte of a cell that nobody changed."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import masktron
from cli_runner import Runner, numbers, write_file, write_rules
from examples import spread
from made_columns import cells_of, dataset_of, release_of
from masktron.errors import DocumentError, UsageError
from masktron.jobs.convert import run_convert
from masktron.problems.wording import sentence
from masktron.sources.dataset import Dataset
from masktron.sources.opening import open_source
from masktron.sources.tables.release import Release
from masktron.sources.tables.separated.csv_format import CsvFormat
from masktron.sources.variables import Variable
from paths import RULES, SAMPLES
from refusals import code_of, refused
from sample_settings import untreated

pytestmark = pytest.mark.usefixtures("at_terminal")

CSV = CsvFormat()
type Cells = list[list[str | None]]


def both(path: Path, options: Mapping[str, str] | None = None) -> tuple[Dataset, Cells]:
    """Read a file twice, and see that both readings say the same."""
    table = CSV.read(path, options or {})
    again = CSV.read_again(path, table)
    second = [list(row) for row in again.rows]
    first: Cells = [
        list(row) for row in zip(*(column.to_pylist() for column in cells_of(table).columns), strict=True)
    ]
    assert first == second
    assert again.columns == tuple(variable.column for variable in table.variables)
    return table, first


def release(table: Dataset, changes: Mapping[str, Mapping[int, str | None]] | None = None, **said: object) -> Release:
    """What is written when some cells, by column and original row, get other lexemes."""
    rows = np.array(said.get("rows", range(len(table))), dtype=np.intp)
    names = [name for name in cells_of(table).column_names if name not in said.get("removed", ())]  # type: ignore[operator]
    cells = {}
    for name in names:
        new = cells_of(table)[name].to_pylist()
        for row, lexeme in (changes or {}).get(name, {}).items():
            new[row] = lexeme
        cells[name] = pa.chunked_array([pa.array([new[row] for row in rows], type=pa.string())])
    return release_of(table, pa.table(cells), rows)


def written(path: Path, table: Dataset, *values: object, **said: object) -> bytes:
    target = path.with_name(f".masktron-{path.name}.{'0' * 16}.part")
    CSV.write(target, release(table, *values, **said))  # type: ignore[arg-type]
    return target.read_bytes()


def table_of(columns: Mapping[str, list[str | None]]) -> Dataset:
    cells = pa.table({f"c{at}": pa.array(values, pa.string()) for at, values in enumerate(columns.values())})
    return dataset_of(tuple(Variable(f"c{at}", column) for at, column in enumerate(columns)), cells)


# what a file means, and that it comes back

MEANT: dict[str, tuple[bytes, dict[str, str], list[str], Cells]] = {
    "plain": (b"A,B\n1,x\n2,\n", {}, ["A", "B"], [["1", "x"], ["2", None]]),
    "lexemes": (b"A,B\n007,1.50\n1e3,x \n", {}, ["A", "B"], [["007", "1.50"], ["1e3", "x "]]),
    "quotes": (b'"A",B\n"1",""\n"a ""b""",\'\n', {}, ["A", "B"], [["1", None], ['a "b"', "'"]]),
    "semicolons and a decimal comma": (b"A;B\n1,5;2\n", {"decimal": "point"}, ["A", "B"], [["1,5", "2"]]),
    "a comma in a name": (b"Income, net;Age\n5;2\n", {}, ["Income, net", "Age"], [["5", "2"]]),
    "bars": (b"A|B\n1|2\n", {}, ["A", "B"], [["1", "2"]]),
    "tabs": (b"A\tB\nx,2\t2\n", {}, ["A", "B"], [["x,2", "2"]]),
    "blanks": (b"A B\n1 x\n", {"delimiter": "space"}, ["A", "B"], [["1", "x"]]),
    "CRLF": (b'A,B\r\n1,"x\ny"\r\n2,z\r\n', {}, ["A", "B"], [["1", "x\ny"], ["2", "z"]]),
    "CR": (b'A,B\r"1\r",2\r3,4', {}, ["A", "B"], [["1\r", "2"], ["3", "4"]]),
    "the last line does not end": (b"A,B\n1,2", {}, ["A", "B"], [["1", "2"]]),
    "the last cell is empty": (b"A,B\n1,", {}, ["A", "B"], [["1", None]]),
    "empty lines at the end": (b"A,B\n1,2\n\n\n", {}, ["A", "B"], [["1", "2"]]),
    "a mark": (b"\xef\xbb\xbfA,B\n1,2\n", {}, ["A", "B"], [["1", "2"]]),
    "a mark and a quote": (b'\xef\xbb\xbf"A",B\n1,2\n', {}, ["A", "B"], [["1", "2"]]),
    "UTF-16": ("A;B\r\n\u00e4;\u20ac\U0001f600\r\n".encode("utf-16"), {}, ["A", "B"], [["ä", "€😀"]]),
    "UTF-16, big": (b"\xfe\xff" + "A,B\n1,2\n".encode("utf-16-be"), {}, ["A", "B"], [["1", "2"]]),
    "UTF-16 without a mark": ("A,B\n1,2\n".encode("utf-16-le"), {"encoding": "utf-16"}, ["A", "B"], [["1", "2"]]),
    "CP1252": ("Größe;€\n“1”;2\n".encode("cp1252"), {"encoding": "cp1252"}, ["Größe", "€"], [["“1”", "2"]]),
    "another quote": (b"A,B\n'1,2','it''s'\n", {"quote": "'"}, ["A", "B"], [["1,2", "it's"]]),
    "no quote": (b'A\tB\n5" pipe\t"x\n', {"quote": "none"}, ["A", "B"], [['5" pipe', '"x']]),
    "an escape": (b'A,B\n"a\\"b\\\\",c\\,d\n', {"escape": "\\"}, ["A", "B"], [['a"b\\', "c,d"]]),
    "no header": (b"1,2\n3,4\n", {"header": "no"}, ["V1", "V2"], [["1", "2"], ["3", "4"]]),
    "names that are numbers": (b"2019,2020\n3,4\n", {"header": "yes"}, ["2019", "2020"], [["3", "4"]]),
    "a column": (b"A\n1\n\n3\n", {}, ["A"], [["1"], [None], ["3"]]),
    "a column that ends empty": (b'A\n\n""\n\n', {}, ["A"], [[None], [None], [None]]),
    "no records": (b"A,B\r\n", {}, ["A", "B"], []),
    "no records and no line end": (b"A,B", {}, ["A", "B"], []),
    "a name over two lines": (b'"A\nB",C\n1,2\n', {}, ["A\nB", "C"], [["1", "2"]]),
    "blanks are values": (b"A,B\n  , 1 \n", {}, ["A", "B"], [["  ", " 1 "]]),
    "nulls": (b'A,B\nNA,.\n"NA",1\n,NAN\n', {"null": "NA,."}, ["A", "B"], [[None, None], [None, "1"], [None, "NAN"]]),
    "a decimal comma": (
        b'A;B;C\n1,5;-,5e3;1.5.2024\n7;"1,50 ";5,\n', {"decimal": ","}, ["A", "B", "C"],
        [["1.5", "-.5e3", "1.5.2024"], ["7", "1.50 ", "5."]],
    ),
    "groups of digits": (
        b"A;B\n1.234.567,50;-1.000\n12.34,5;999\n", {"decimal": "comma", "grouping": "point"}, ["A", "B"],
        [["1234567.50", "-1000"], ["12.34,5", "999"]],
    ),
    "groups with commas": (b'A,B\n"1,234.5","1,23"\n', {"grouping": ","}, ["A", "B"], [["1234.5", "1,23"]]),
    "groups with a narrow blank": ("A;B\n1\u202f234;x\u202fy\n".encode(), {"grouping": "\u202f"}, ["A", "B"],
                                  [["1234", "x\u202fy"]]),
}  # fmt: skip


@pytest.mark.parametrize("case", MEANT)
def test_what_a_file_means_and_that_it_comes_back(case: str, tmp_path: Path) -> None:
    content, options, columns, cells = MEANT[case]
    path = write_file(tmp_path / "t.csv", content)
    table, found = both(path, options)
    assert [variable.column for variable in table.variables] == columns
    assert found == cells
    assert written(path, table) == content


@pytest.mark.parametrize("packed", ["gz", "zst"])
def test_packed_files_are_written_packed_and_unchanged_ones_byte_for_byte(packed: str, tmp_path: Path) -> None:
    pack, unpack = (gzip.compress, gzip.decompress)
    if packed == "zst":
        pack, unpack = (
            zstandard.compress,
            lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
        )
    content = pack(b"A,B\n1,2\n") + pack(b"3,4\n")
    path = write_file(tmp_path / f"t.tsv.{packed}", pack(b"A\tB\nx,1\t2\n"))
    table, found = both(path)
    assert found == [["x,1", "2"]]
    path = write_file(tmp_path / f"t.csv.{packed}", content)
    table, found = both(path)
    assert found == [["1", "2"], ["3", "4"]]
    assert written(path, table) == content
    out = written(path, table, {"B": {1: "5"}})
    assert out[:4] == content[:4]
    assert unpack(out) == b"A,B\n1,2\n3,5\n"
    if packed == "gz":
        assert out[4:8] == bytes(4), "a time"
    path.write_bytes(content[:-6])
    with refused(DocumentError, "file-damaged"):
        CSV.read(path, {})


def test_cells_that_nobody_changed_keep_their_bytes_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbf"A",B,C\r\n"007",1.50,"x, ""y"""\r\n2,1e3,\r\n"3\r\n",, z \r\n\r\n')
    table, _ = both(path)
    out = written(path, table, {"B": {0: "9", 1: 'a"b', 2: None}}, rows=[2, 0, 1], removed=["C"])
    assert out == b'\xef\xbb\xbf"A",B\r\n"3\r\n",\r\n"007",9\r\n2,"a""b"\r\n\r\n'
    assert written(path, table, {"C": {1: "a\nb"}}, rows=[1]) == b'\xef\xbb\xbf"A",B,C\r\n2,1e3,"a\nb"\r\n\r\n'
    assert written(path, table, rows=[]) == b'\xef\xbb\xbf"A",B,C\r\n\r\n'


@pytest.mark.parametrize(
    ("content", "options", "change", "expected"),
    [
        (b"A;B\n1,5;x\n2;y", {"decimal": ","}, "1234.25", b"A;B\n1,5;x\n1234,25;y"),
        (b"A;B\n1.001,5;x\n2;y\n", {"decimal": ",", "grouping": "."}, "-1234567.25", b"-1.234.567,25;y\n"),
        (b"A;B\n1.001;x\n2;y\n", {"decimal": ",", "grouping": "."}, "12345e-3", b"\n12.345e-3;y\n"),
        (b"A;B\n101;x\n2;y\n", {"decimal": ",", "grouping": "."}, "1234", b"\n1234;y\n"),
        (b"A;B\n101;x\n2;y\n", {"null": "NA,."}, None, b"\nNA;y\n"),
        (b"A;B\n101;x\n2;y\n", {"null": ",NA"}, None, b"\n;y\n"),
        (b"A;B\n101;x\n2;y\n", {"escape": "\\"}, 'a"\\;', b'\n"a\\"\\\\;";y\n'),
        (b"A\n101\n2\n", {}, None, b'A\n101\n""\n'),
        ("A;B\n1;x\n2;ö\n".encode("utf-16"), {}, "ß", "A;B\n1;x\nß;ö\n".encode("utf-16")),
        ("A;B\n1;x\n2;ö\n".encode("cp1252"), {"encoding": "cp1252"}, "€", "A;B\n1;x\n€;ö\n".encode("cp1252")),
    ],
)
def test_changed_cells_are_written_in_the_dialect(
    content: bytes, options: dict[str, str], change: str | None, expected: bytes, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "t.csv", content)
    table, _ = both(path, options)
    out = written(path, table, {"A": {1: change}})
    assert expected in out
    path.write_bytes(out)
    assert both(path, options)[1][1][0] == change


@pytest.mark.parametrize(
    ("content", "options", "change"),
    [
        (b"A;B\n1;x\n", {}, ""),
        (b"A;B\n1;x\n", {"null": "NA"}, "NA"),
        (b"A;B\n1;x\n", {"decimal": ","}, "1,5"),
        (b"A;B\n1;x\n", {"quote": "none"}, "a;b"),
        (b"A;B\n1;x\n", {}, "a\0"),
        (b"A;B\n1;x\n", {"encoding": "cp1252"}, "\u0142"),
    ],
)
def test_a_value_that_the_dialect_cannot_hold_is_refused(
    content: bytes, options: dict[str, str], change: str, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "t.csv", content)
    table, _ = both(path, options)
    with refused(UsageError, "csv-cannot-hold"):
        written(path, table, {"A": {0: change}})


def test_a_file_that_changed_since_it_was_read_is_not_written(tmp_path: Path) -> None:
    path = write_file(tmp_path / "t.csv", b"A,B\n1,2\n")
    table, _ = both(path)
    path.write_bytes(b"A,B\n1,3\n")
    with refused(DocumentError, "file-changed"):
        written(path, table)


# lines


def test_findings_and_errors_name_the_line(tmp_path: Path, run: Runner) -> None:
    path, rules = tmp_path / "t.csv", write_rules(tmp_path / "r.sch", "A < 5")
    path.write_bytes(b'A,B\r\n1,"x\r\n\r\ny"\r\n7,z\r\n')
    table, _ = both(path)
    assert table.lines.tolist() == [2, 5]
    done = masktron.validate(path, rules)
    assert [(finding.record, finding.line) for finding in done.findings] == [(2, 5)]
    assert run("validate", path, "-r", rules, "--csv", tmp_path / "f.csv").code == 1
    (finding,) = csv.DictReader(io.StringIO((tmp_path / "f.csv").read_text()))
    assert "5" in finding.values()
    path.write_bytes(b"3\n1\n")
    table, _ = both(path, {"header": "no"})
    assert table.lines.tolist() == [1, 2]


# what is refused

REFUSED: dict[str, tuple[bytes, dict[str, str], str, str]] = {
    "empty": (b"", {}, "", "empty-file"),
    "only a mark": (b"\xef\xbb\xbf", {}, "", "empty-file"),
    "empty lines alone": (b"\n\n", {}, ":1", "bad-csv-line"),
    "an empty first line": (b"\nA,B\n", {}, ":1", "bad-csv-line"),
    "an empty line": (b"A,B\n1,2\n\n3,4\n", {}, ":3", "bad-csv-line"),
    "a line of blanks": (b"A,B\n1,2\n  \n", {}, ":3", "ragged-line"),
    "too few cells": (b"A,B\n1,2\n1\n", {}, ":3", "ragged-line"),
    "too many cells": (b'A,B\n"1\n",2\n1,2,3\n', {}, ":4", "ragged-line"),
    "row names of R": (b"A,B\nr,1,2\n", {}, ":2", "ragged-line"),
    "a decimal comma beside a comma": (b"A,B\n1,5,2,5\n", {}, ":2", "ragged-line"),
    "a decimal comma in a column": (b"A\n1,5\n", {}, ":2", "ragged-line"),
    "a quote left open": (b'A,B\n1,2\n3,"4\n5,6\n', {}, ":3, field B", "csv-quote"),
    "a quote in a cell": (b'A,B\n1,5" pipe\n', {}, ":2, field B", "csv-quote"),
    "a blank before a quote": (b'A,B\n1, "2"\n', {}, ":2, field B", "csv-quote"),
    "quotes behind backslashes": (b'A,B\n1,"a \\"b\\" c"\n', {}, ":2, field B", "csv-quote"),
    "text behind a quote": (b'A,B\n1,"2"3\n', {}, ":2, field B", "csv-quote"),
    "a quote in names": (b'A,B"\n1,2\n', {}, ":1, field 2", "csv-quote"),
    "NUL": (b"A,B\n1,2\n1,\0\n", {}, ":3, field B", "wrong-encoding"),
    "NUL in quotes": (b'A,B\n"\n\0",2\n', {}, ":3, field A", "wrong-encoding"),
    "UTF-16 that nobody tells": ("A,B\n1,2\n".encode("utf-16-le"), {}, ":1, field 1", "wrong-encoding"),
    "a control character": (b"A,B\n1,\x1b\n", {}, ":2, field B", "bad-csv-line"),
    "CP1252 as Latin-1": (b"A,B\n1,\x80 5\n", {"encoding": "latin-1"}, ":2, field B", "wrong-encoding"),
    "CP1252 in quotes": (b'A,B\n1,2\n1,"a\x92s"\n', {"encoding": "latin-1"}, ":3, field B", "wrong-encoding"),
    "NEL": ("A,B\n1,\x85\n".encode(), {}, ":2, field B", "wrong-encoding"),
    "CRLF and LF": (b"A,B\r\n1,2\n", {}, ":2", "bad-csv-line"),
    "LF and CR": (b"A,B\n1,2\n3,4\r5,6\n", {}, ":3", "bad-csv-line"),
    "CP1252": ("A,B\n1,2\n1,ö\n".encode("cp1252"), {}, ":3", "wrong-encoding"),
    "not CP1252": (b"A,B\n\x81,2\n", {"encoding": "cp1252"}, ":2", "wrong-encoding"),
    "cut UTF-16": (b"\xff\xfeA\0,\0B", {}, ":1", "wrong-encoding"),
    "one name twice": (b"A,B,A\n1,2,3\n", {}, ":1", "name-taken"),
    "no name": (b",A\n1,2\n", {}, ":1", "column-without-name"),
    "numbers as names": (b"1,2.5\n3,4\n", {}, ":1", "unclear-header"),
    "a record as names": (b"M,1,NO\nF,2,NO\nM,3,SO\n", {}, ":1", "unclear-header"),
    "two delimiters": (b"A,B;C\n1,2;3\n", {}, "", "unclear-delimiter"),
    "a line of Excel": (b"sep=;\nA;B\n", {}, ":1", "unclear-delimiter"),
    "a workbook": (b"PK\x03\x04" + b"\0" * 30, {}, "", "unreadable-format"),
    "XML": (b"<?xml version='1.0'?><D/>", {}, "", "other-format"),
    "an escape at the end": (b"A,B\n1,2\\\n", {"escape": "\\"}, ":2, field B", "bad-csv-line"),
    "two decimal points": (b"A;B\n1,5;x\n1.5;y\n", {"decimal": ","}, ":3", "unclear-numbers"),
}  # fmt: skip


@pytest.mark.parametrize("case", spread(REFUSED, every=2))
def test_an_unclear_file_is_one_error_with_its_line(case: str, tmp_path: Path, run: Runner) -> None:
    content, options, place, code = REFUSED[case]
    path, rules = tmp_path / "t.csv", write_rules(tmp_path / "r.sch", "A < 5")
    path.write_bytes(content)
    with refused(DocumentError, code, where=f"{path}{place}"):
        CSV.read(path, options)
    before = set(tmp_path.iterdir())
    said = [word for name, value in options.items() for word in ("--format-option", f"{name}={value}")]
    outcome = run("mask", path, "-r", rules, "-o", tmp_path / "m.csv", *said)
    assert outcome.code == 4
    assert f"{path}{place}: " in outcome.err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ";;"},
        {"quote": " "},
        {"quote": ",", "delimiter": ","},
        {"encoding": "latin-x"},
        {"encoding": "base64"},
        {"header": "maybe"},
        {"decimal": ";"},
        {"grouping": "5"},
        {"grouping": "."},
        {"quote": "none", "delimiter": ",", "decimal": ","},
        {"colour": "red"},
    ],
)
def test_wrong_options_are_errors_of_usage(options: dict[str, str], tmp_path: Path, run: Runner) -> None:
    path, rules = tmp_path / "t.csv", write_rules(tmp_path / "r.sch", "A < 5")
    path.write_bytes(b"A,B\n1,2\n")
    said = [word for name, value in options.items() for word in ("--format-option", f"{name}={value}")]
    outcome = run("validate", path, "-r", rules, *said)
    assert outcome.code == 2
    assert code_of(outcome.err) == ("unknown-name" if "colour" in options else "bad-value")


@pytest.mark.parametrize(("name", "content"), [("t.tsv", b"A;B\n1;2\n"), ("t.psv", b"A,B\n1,2\n")])
def test_a_name_that_stands_for_another_delimiter_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with refused(DocumentError, "unclear-delimiter"):
        CSV.read(tmp_path / name, {})
    assert both(tmp_path / name, {"delimiter": content.decode()[1]})[1] == [["1", "2"]]


def test_a_name_decides_where_several_delimiters_would_do(tmp_path: Path) -> None:
    for suffix, cells in ((".tsv", ["x,2", "3"]), (".psv", None)):
        path = write_file(tmp_path / f"t{suffix}", b"A,B\tC\nx,2\t3\n")
        if cells is None:
            with pytest.raises(DocumentError):
                CSV.read(path, {})
        else:
            assert both(path)[1] == [cells]


def test_a_name_that_stands_for_the_quote_decides_nothing(tmp_path: Path) -> None:
    path = write_file(tmp_path / "t.psv", b"A;B\n1;2;3\n")
    with refused(DocumentError, "ragged-line", cells=3, delimiter="semicolon"):
        CSV.read(path, {"quote": "|"})


@pytest.mark.parametrize(
    ("data", "out"), [("d.csv", "m.csv.gz"), ("d.csv.gz", "m.csv"), ("d.csv", "m.tsv"), ("d.tsv", "m.psv")]
)
def test_an_output_is_named_like_its_original(data: str, out: str, tmp_path: Path, run: Runner) -> None:
    path, rules = tmp_path / data, write_rules(tmp_path / "r.sch", "A < 5")
    path.write_bytes(b"A\tB\n1\t2\n")
    before = set(tmp_path.iterdir())
    outcome = run("mask", path, "-r", rules, "-o", tmp_path / out)
    outcome.refuses(2, "output-name")
    assert set(tmp_path.iterdir()) == before


def test_numbers_with_a_comma_want_a_word(tmp_path: Path) -> None:
    path = write_file(tmp_path / "t.csv", b"A;B\n-1,5;x\n;y\n2;z\n")
    with refused(DocumentError, "unclear-numbers", field="A"):
        CSV.read(path, {})
    for said, cell in (("comma", "-1.5"), ("point", "-1,5")):
        assert both(path, {"decimal": said})[1][0] == [cell, "x"]


def test_quotes_do_not_tell_whose_value_a_cell_holds(tmp_path: Path, run: Runner) -> None:
    """All cells of a masked column are spelled alike, own values among them."""
    path, out = tmp_path / "d.csv", tmp_path / "m.csv"
    rows = "".join(f'"{i}","{30 + i % 7}"\n' for i in range(40))
    path.write_text(f'"Id","Age"\n{rows}')
    rules = write_rules(tmp_path / "r.sch", "Age > 0")
    done = run("mask", path, "-r", rules, "-o", out, "--role", "Id=record-id", "--numeric", "Age", "-k", "3")
    assert done.code == 0, done.err
    ages = [line.split(",")[1] for line in out.read_text().splitlines()[1:]]
    assert len({age.startswith('"') for age in ages}) == 1
    assert len(ages) == 40


# what is noted


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        (b"A,B\n1,NA\n2,3\n.,x\n", {}, ["column 'A' has '.'", "null=.", "column 'B' has 'NA'", "null=NA"]),
        (b"A,B\n1,NA\n2,3\n", {"null": "NA"}, []),
        (b"A,B\nx,NA\ny,z\n", {}, []),
        (b"A;B\n1,5;x\ny;z\n", {}, ["column 'A' has numbers with a comma", "decimal=comma"]),
        (b"A;B\n1,5;x\n", {"decimal": ","}, []),
    ],
)
def test_what_may_be_meant_otherwise_is_noted(
    content: bytes, options: dict[str, str], says: list[str], tmp_path: Path
) -> None:
    path = write_file(tmp_path / "t.csv", content)
    notes = "\n".join(map(sentence, CSV.read(path, options).notes))
    assert all(words in notes for words in says)
    assert bool(notes) == bool(says)


# large


@pytest.mark.full
def test_long_cells_and_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    long = "x" * (1 << 18) + '"\n' + "é" * (1 << 22)
    path.write_text(f'A,B\n1,"{long.replace(chr(34), chr(34) * 2)}"\n2,y\n', encoding="utf-8", newline="")
    table, found = both(path)
    assert found == [["1", long], ["2", "y"]]
    assert written(path, table) == path.read_bytes()
    # 16,384 columns, as many as a workbook can have
    names = [f"V{at}" for at in range(16_384)]
    path.write_text("\n".join(",".join(row) for row in (names, *([f"{at}"] * 16_384 for at in range(3)))) + "\n")
    table, found = both(path)
    assert [variable.column for variable in table.variables] == names
    assert found == [[f"{at}"] * 16_384 for at in range(3)]
    assert written(path, table) == path.read_bytes()


# new files


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("n.csv", {}, 'A;B,"a ""b""\n",C D\n'.replace("A;B", '"A;B"') + '1,"x,y",\n,é,"z\n"\n'),
        ("n.tsv", {}, '"A;B"\t"a ""b""\n"\tC D\n1\tx,y\t\n\té\t"z\n"\n'),
        ("n.csv", {"header": "no", "null": "NA", "delimiter": ";"}, '1;x,y;NA\nNA;é;"z\n"\n'),
    ],
)
def test_a_new_file(name: str, options: dict[str, str], expected: str, tmp_path: Path) -> None:
    table = table_of({"A;B": ["1", None], 'a "b"\n': ["x,y", "é"], "C D": [None, "z\n"]})
    CSV.write(tmp_path / name, Release.new(table), options)
    assert (tmp_path / name).read_text(encoding="utf-8") == expected
    assert both(tmp_path / name, options)[1] == [["1", "x,y", None], [None, "é", "z\n"]]


def test_a_new_file_may_be_packed_and_in_another_encoding_with_another_point(tmp_path: Path) -> None:
    table = table_of({"A": ["1234.5", None], "B": ["é", "x"]})
    said = {"encoding": "utf-16", "decimal": ",", "grouping": ".", "delimiter": ";"}
    CSV.write(tmp_path / f".masktron-n.csv.gz.{'0' * 16}.part", Release.new(table), said)
    packed = (tmp_path / f".masktron-n.csv.gz.{'0' * 16}.part").read_bytes()
    assert gzip.decompress(packed).decode("utf-16") == "A;B\n1.234,5;é\n;x\n"


@pytest.mark.parametrize(
    ("columns", "options", "code"),
    [
        ({}, {}, "no-column-left"),
        ({"1": ["x"], "2": ["y"]}, {}, "unclear-header"),
        ({"A": ["a,b"]}, {"quote": "none"}, "csv-cannot-hold"),
        ({"A": ["a\x02"]}, {}, "csv-cannot-hold"),
        ({"A": ["NA"]}, {"null": "NA"}, "csv-cannot-hold"),
        ({"A": ["\u0142"]}, {"encoding": "cp1252"}, "csv-cannot-hold"),
    ],
)
def test_what_a_new_file_cannot_hold_is_refused(
    columns: dict[str, list[str | None]], options: dict[str, str], code: str, tmp_path: Path
) -> None:
    with refused(UsageError, code):
        CSV.write(tmp_path / "n.csv", Release.new(table_of(columns)), options)


@pytest.mark.parametrize(("name", "between"), [("n.csv", ""), ("n.tsv.gz", "tab"), ("n.psv.zst", "bar")])
def test_xml_is_converted_into_csv_and_back(name: str, between: str, tmp_path: Path) -> None:
    data, back = tmp_path / "d.xml", tmp_path / "b.xml"
    data.write_text("<Data><Record><A>007</A><B>x,|\ty</B></Record><Record><A/><B> </B></Record></Data>")
    assert any("empty text" in lost for lost in run_convert(data, tmp_path / name).losses)
    both(tmp_path / name)
    lost = run_convert(tmp_path / name, back).losses
    assert lost == ((f"the dialect of the file: {between} between cells",) if between else ())
    records = [[field.text for field in row] for row in etree.parse(back).getroot()]
    assert records == [["007", "x,|\ty"], [" "]]


# any bytes, any table

PIECES = st.lists(
    st.sampled_from(['"', '""', ",", ";", "\n", "\r\n", "\r", " ", "A", "B", "1", "2,5", "\t", "é", "\\"])
)


@given(PIECES.map("".join), st.sampled_from(["", "\n", "\r\n"]), st.sampled_from(["", "double", "\\", "none"]))
def test_whatever_is_read_two_readers_read_alike_and_comes_back(
    tmp_path_factory: pytest.TempPathFactory, text: str, ending: str, how: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "t.csv"
    content = f"A,B{ending}{text}".encode() if ending else text.encode()
    path.write_bytes(content)
    options = {} if not how else {"quote": "none"} if how == "none" else {"escape": how}
    try:
        table, _ = both(path, options)
    except DocumentError as error:
        assert error.where.startswith(str(path))
        assert "csv module" not in str(error)
        assert "pyarrow" not in str(error)
        return
    assert written(path, table) == content


TEXTS = st.one_of(
    st.none(),
    st.sampled_from(["007", "1.50", "-1234567.25", "x ", 'a"b', "a;b,c", "l\nm", "\r", "é€", "NA", "'", "\\", "1e3"]),
    st.text(st.characters(exclude_categories=["C"]), min_size=1),
)


@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(TEXTS, min_size=n, max_size=n), max_size=5)),
    st.sampled_from(
        [{}, {"delimiter": "tab"}, {"quote": "'"}, {"escape": "\\"}, {"encoding": "utf-16"}, {"null": ".,-"},
         {"grouping": " "}]
    ),
)  # fmt: skip
def test_any_table_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: Cells, options: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("any") / "t.csv"
    width = len(rows[0]) if rows else 1
    table = table_of({f"N{at}": [row[at] for row in rows] for at in range(width)})
    try:
        CSV.write(path, Release.new(table), options)
    except UsageError as error:
        assert "reads otherwise" in str(error)
        return
    back, found = both(path, {"delimiter": ",", "header": "yes"} | options)
    assert found == rows
    assert written(path, back, rows=list(reversed(range(len(back))))) != b""


# whole runs


def household(path: Path, source: Path, delimiter: str) -> None:
    """Write a sample as CSV, with the standard library alone."""
    records = list(etree.parse(source).getroot())
    names = dict.fromkeys(str(field.tag) for field in max(records, key=len)) | dict.fromkeys(
        str(field.tag) for record in records for field in record
    )
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(names)
        writer.writerows([record.findtext(name) or "" for name in names] for record in records)


def values(path: Path) -> list[dict[str, str]]:
    if path.suffix == ".xml":
        return [{str(field.tag): field.text for field in row if field.text} for row in etree.parse(path).getroot()]
    with path.open(encoding="utf-8", newline="") as stream:
        return [{name: text for name, text in row.items() if text} for row in csv.DictReader(stream, delimiter=";")]


@pytest.mark.full
def test_the_sample_says_in_csv_what_it_says_in_xml(tmp_path: Path) -> None:
    rules, original = RULES / "household.sch", tmp_path / "household.xml"
    whole = (SAMPLES / "household.xml").read_text(encoding="utf-8").split("</Household>\n")
    original.write_text("</Household>\n".join([*whole[:120], whole[-1]]), encoding="utf-8")
    config = untreated("household").updated(seed=7)
    counts = []
    invalid, table = tmp_path / "invalid.csv", tmp_path / "household.csv"
    household(invalid, SAMPLES / "household-invalid.xml", ",")
    household(table, original, ";")
    for data in (invalid, SAMPLES / "household-invalid.xml"):
        done = masktron.validate(data, rules, documents={"household.xml": SAMPLES / "household.xml"})
        assert not done.valid
        counts.append([(rule.id, rule.fired, rule.violations) for rule in done.rules])
    assert counts[0] == counts[1]
    for data, out in ((original, "mx.xml"), (table, "mc.csv")):
        assert masktron.mask(data, rules, tmp_path / out, config=config).valid
    assert values(tmp_path / "mc.csv") == values(tmp_path / "mx.xml")
    proof = masktron.check(tmp_path / "mc.csv", rules, original=table, manifest=tmp_path / "mc.manifest.json")
    assert proof.complies, proof.problems


def test_a_decimal_comma_survives_masking(tmp_path: Path, run: Runner) -> None:
    rules, data, out = write_rules(tmp_path / "r.sch", "A + B = T"), tmp_path / "d.txt", tmp_path / "m.csv"
    rows = numbers(24)
    with data.open("w", encoding="cp1252", newline="") as stream:
        stream.write('"N";A;B;T\r\n')
        for at, row in enumerate(rows):
            cells = (f"{row[name]}".replace(".", ",") + ",50" for name in ("A", "B"))
            total = f"{int(str(row['A'])) + int(str(row['B'])) + 1},00"
            stream.write(f'"ö{at:03}";{";".join(cells)};{total}\r\n')
    said = ["--format", "csv", "--format-option", "encoding=cp1252", "--format-option", "decimal=,"]
    done = run("mask", data, "-r", rules, "-o", out, "--role", "N=untouched", "-k", "3", *said)
    assert done.code == 0, done.err
    lines = out.read_bytes().decode("cp1252").split("\r\n")
    assert lines[0] == '"N";A;B;T'
    assert sorted(line[:6] for line in lines[1:-1]) == sorted(f'"ö{at:03}"' for at in range(24))
    for line in lines[1:-1]:
        a, b, total = (float(cell.replace(",", ".")) for cell in line.split(";")[1:])
        assert a + b == total
        assert all(cell.partition(",")[2] for cell in line.split(";")[1:])
    manifest = tmp_path / "m.manifest.json"
    proof = run("check", out, "-r", rules, "--original", data, "--manifest", manifest, *said)
    assert proof.code == 0, proof.out + proof.err


def test_the_twin_of_a_file(tmp_path: Path) -> None:
    path = write_file(tmp_path / "t.csv", b'annual income,@id\n"1\r\n2",\n,7\n')
    source = open_source(path)
    twin = etree.parse(source.document_path).getroot()
    assert [(dict(row.attrib), [(field.tag, field.text) for field in row]) for row in twin] == [
        ({}, [("annual_x0020_income", "1\r\n2")]),
        ({"id": "7"}, []),
    ]
    assert json.loads(json.dumps(source.records().lines.tolist())) == [2, 4]


def test_what_stands_next_to_control_characters_is_read(tmp_path: Path) -> None:
    path = write_file(tmp_path / "t.csv", 'A,B\n1,\xa0\xbf\u2019\x7f\n"\xa0",\u20ac\xc2\n'.encode())
    assert len(CSV.read(path, {})) == 2


CODES = "id;NACE;turnover\n1;01.1;10,5\n2;01.2;20,5\n3;10.0;12,25\n"
CODES_SAID = {"decimal": "comma", "texts": "NACE"}


def test_codes_with_points_beside_decimal_commas_are_texts_where_that_is_said(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.csv", CODES)
    with refused(DocumentError, "unclear-numbers", field="NACE"):
        CSV.read(path, {"decimal": "comma"})
    table, cells = both(path, CODES_SAID)
    assert cells[0] == ["1", "01.1", "10.5"]
    assert [variable.typed.text for variable in table.variables] == [False, True, False]
    changed = written(path, table, {"NACE": {0: "01.2"}, "turnover": {0: "20.5"}})
    assert changed.decode().splitlines()[1] == "1;01.2;20,5"
    with refused(UsageError, "unknown-name", name="NACF"):
        CSV.read(path, {**CODES_SAID, "texts": "NACF"})


def test_codes_are_texts_in_a_file_that_is_read_block_by_block(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.csv", "id;CODE\n1;01\n2;02\n")
    stream = CSV.stream(path, {"texts": "CODE"})
    assert stream is not None
    assert [variable.typed.text for variable in stream.variables] == [False, True]
    path.write_text("id;CODE\n1;0,1\n2;0,2\n")
    with refused(DocumentError, "unclear-numbers"):
        CSV.read(path, {})
    assert both(path, {"texts": "CODE"})[1] == [["1", "0,1"], ["2", "0,2"]]


def test_masking_keeps_codes_with_points_as_they_are_written(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    rows = [f"{at};0{1 + at % 2}.{at % 3};{at}{at % 7},5" for at in range(1, 41)]
    path.write_text("\n".join(["id;NACE;turnover", *rows, ""]))
    rules = write_rules(tmp_path / "r.sch", "turnover > 0")
    said = {"format_options": CODES_SAID, "roles": {"id": "record-id", "NACE": "quasi-identifier"}}
    masktron.mask(path, rules, out, config=masktron.Config(**said), k=3)  # type: ignore[arg-type]
    codes = [{row.split(";")[0]: row.split(";")[1] for row in one.read_text().splitlines()} for one in (path, out)]
    assert codes[0] == codes[1]
    assert all("," in row.split(";")[2] or row.split(";")[2].isdigit() for row in out.read_text().splitlines()[1:])
