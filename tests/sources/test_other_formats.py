"""Whoever gives masktron a table that is no XML, or wants one, is told what it is and what to do next."""

from __future__ import annotations

import gzip
import lzma
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from lxml import etree

import masktron
from cli_runner import Runner, numbers, write_data, write_rules
from masktron.errors import DocumentError, RulebookError, UsageError
from masktron.problems.wording import worded
from masktron.resources import resource
from masktron.sources.opening import open_source
from masktron.sources.other_formats import format_of, other_format
from masktron.sources.xml.parser import parse_tree
from refusals import refused

CSV = "A,B,T\n1,2,3\n4,5,9\n"
KNOWN = {
    "a.csv": (CSV.encode(), "CSV"),
    "b.csv": ("\ufeffA;B\n1,5;2\n".encode(), "CSV"),
    "c.txt": ("A\tB\n1\t2\n".encode("utf-16"), "CSV"),
    "d.csv": (b"A\n1\n", "CSV"),
    "c2.txt": (b"Dear all,\nhere is the file\n", "plain text"),
    "e.dat": (b'"Name, first"|B\nx|2\n', "CSV"),
    "f.json": (b' [{"A": 1}]', "JSON"),
    "g.csv.gz": (gzip.compress(CSV.encode(), mtime=0), "a gzip archive"),
    "h.xlsx": (b"PK\x03\x04", "an Excel workbook"),
    "h.xlsb": (b"PK\x03\x04", "a binary Excel workbook"),
    "i.zip": (b"PK\x03\x04", "a zip archive"),
    "j.parquet": (b"PAR1\x15\x04", "Parquet"),
    "k.sav": (b"$FL2@(#) SPSS", "an SPSS file"),
    "l.dta": (b"<stata_dta><header>", "a Stata file"),
    "m.dta": (b"\x72\x02\x01\x00\x03", "a Stata file"),
    "n.sas7bdat": (b"\0" * 12 + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c"), "a SAS data set"),
    "n.sas7bcat": (b"\0" * 12 + bytes.fromhex("c2ea8163b31411cfbd92080009c7318c"), "a SAS catalogue of formats"),
    "n.xpt8": (b"HEADER RECORD*******LIBV8", "a SAS transport file"),
    "n.por": (b"ASCII SPSS PORT FILE", "a portable SPSS file"),
    "n.md": (b"# Income\n", "Markdown"),
    "n.rda": (gzip.compress(b"RDX3\nX\n", mtime=0), "an R file"),
    "o.xls": (bytes.fromhex("d0cf11e0a1b11ae1"), "an old or encrypted Excel workbook"),
    "p.rdata": (b"RDX3\nX\n", "an R file"),
    "q": (b"PK\x05\x06" + b"\0" * 18, "a zip archive"),
    "r.xml.xz": (lzma.compress(b"<D/>"), "an xz archive"),
    "s.xml.zst": (b"\x28\xb5\x2f\xfd\x04\0", "a Zstandard archive"),
    "t.7z": (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    "u.pdf": (b"%PDF-1.7\n", "a PDF document"),
    "v.docx": (b"PK\x03\x04", "a text of a word processor"),
    "w.rtf": (b"{\\rtf1 Dear all}", "a text of a word processor"),
    "x.rar": (b"Rar!\x1a\x07\x01\0", "a rar archive"),
}
UNKNOWN = {
    "a.xml": b"<D><R><A>1,2</A></R>\n<R><A>3,4</A></R></D>",
    "b.csv": b"\n <D/>",
    "d.xml": b"just words",
    "e.xml": b"",
    "f.bin": b"\x00\x01,\x02\n\x00,\x01\n",
    "g.xml": "<D/>".encode("utf-16"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known(name: str) -> None:
    head, expected = KNOWN[name]
    assert format_of(head, Path(name)) == expected


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_left_to_the_parser(name: str) -> None:
    assert format_of(UNKNOWN[name], Path(name)) is None


def test_the_same_is_known_of_what_pandas_writes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"A": [1, 2], "B": ["x", "y"]})
    for suffix, write, expected in (
        (".csv", frame.to_csv, "CSV"),
        (".json", frame.to_json, "JSON"),
        (".dta", frame.to_stata, "a Stata file"),
    ):
        path = tmp_path / f"x{suffix}"
        write(path)  # type: ignore[operator]
        assert format_of(path.read_bytes(), path) == expected


def test_a_newcomer_with_csv_under_another_name_is_told_what_to_say_and_it_works(tmp_path: Path, run: Runner) -> None:
    data, rules = tmp_path / "s.txt", write_rules(tmp_path / "r.sch", "A + B = T")
    data.write_text(CSV)
    for command in (
        ("validate", data, "-r", rules),
        ("mask", data, "-r", rules, "-o", tmp_path / "m.xml"),
        ("check", data, "-r", rules),
        ("assess", data, "--original", data),
        ("explain", rules, "--data", data),
    ):
        outcome = run(*command)
        outcome.refuses(4, "other-format", format="csv")
        assert f"{data}: " in outcome.err
    assert not (tmp_path / "m.xml").exists()
    with refused(RulebookError, "not-xml"):
        parse_tree(data, RulebookError)
    assert run("validate", data, "-r", rules, "--format", "csv").code == 0
    assert masktron.validate(data, rules, format="csv").valid


@pytest.mark.parametrize(
    ("name", "head", "code", "references"),
    [
        ("s.gz", gzip.compress(CSV.encode(), mtime=0), "unreadable-format", {"found": "a gzip archive"}),
        ("s.xz", lzma.compress(b"<D/>"), "unreadable-format", {"found": "an xz archive"}),
        ("s.dat", b"PAR1", "other-format", {"format": "parquet"}),
        ("s.dat", b"ARROW1", "other-format", {"format": "arrow"}),
        ("s.dat", b'{"A": 1}', "unreadable-format", {"found": "JSON"}),
        ("s.dat", b"%PDF-1.7", "unreadable-format", {"found": "a PDF document"}),
        ("s.txt", b"one\ntwo\n", "unreadable-format", {"found": "plain text"}),
        ("s.md", b"# A,B\n1,2\n", "unreadable-format", {"found": "Markdown"}),
        ("s.por", b"ASCII SPSS PORT FILE", "unreadable-format", {"found": "a portable SPSS file"}),
        ("s.rda", b"\x1f\x8b\x08\x00", "unreadable-format", {"found": "an R file"}),
    ],
)
def test_each_format_comes_with_what_to_do(
    name: str, head: bytes, code: str, references: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(head)
    with refused(DocumentError, code, **references):
        parse_tree(tmp_path / name)


@pytest.mark.parametrize(
    ("found", "what_to_do"),
    [
        ("a portable SPSS file", ".sav"),
        ("an R file", "haven::write_sav"),
        ("an old or encrypted Excel workbook", ".xlsx"),
        ("a binary Excel workbook", ".xlsx"),
        ("JSON", "pandas"),
        ("Markdown", "as CSV"),
        ("plain text", "csv"),
        ("a rar archive", "unpack"),
    ],
)
def test_a_file_that_is_not_read_comes_with_advice_for_its_kind(found: str, what_to_do: str) -> None:
    assert what_to_do in worded(other_format(found, "XML", Path("s"))).hint


def test_a_workbook_that_is_no_archive_is_called_what_it_is(tmp_path: Path) -> None:
    for name, content, code, found in (
        ("a.xlsx", CSV.encode(), "other-format", "CSV"),
        ("b.xlsx", bytes.fromhex("d0cf11e0a1b11ae1"), "unreadable-format", "an old or encrypted Excel workbook"),
        ("c.ods", b"PAR1", "other-format", "Parquet"),
    ):
        (tmp_path / name).write_bytes(content)
        with refused(DocumentError, code, found=found):
            open_source(tmp_path / name).records()


def test_data_and_rulebook_that_are_swapped_are_told_apart(tmp_path: Path, run: Runner) -> None:
    rules, data = write_rules(tmp_path / "r.sch", "A + B = T"), write_data(tmp_path / "d.xml", numbers(12))
    table = tmp_path / "d.csv"
    table.write_text(CSV)
    run("validate", rules, "-r", table).refuses(3, "not-xml", found="CSV")
    run("validate", rules, "-r", data).refuses(3, "not-a-rulebook")
    for command in (("describe", rules), ("validate", rules, "-r", rules)):
        run(*command).refuses(4, "data-is-rulebook", where=f"{rules}:1")


def test_a_rulebook_in_an_archive_is_to_be_unpacked(tmp_path: Path) -> None:
    (tmp_path / "r.sch.gz").write_bytes(gzip.compress(b"<D/>", mtime=0))
    with refused(RulebookError, "not-xml"):
        parse_tree(tmp_path / "r.sch.gz", RulebookError)


@pytest.mark.parametrize("name", ["m.parquet", "m.FEATHER", "m.xml.gz", "m.json"])
def test_an_output_that_names_another_format_is_refused(name: str, tmp_path: Path, run: Runner) -> None:
    data, rules = write_data(tmp_path / "d.xml", numbers(12)), write_rules(tmp_path / "r.sch", "A + B = T")
    before = set(tmp_path.iterdir())
    outcome = run("mask", data, "-r", rules, "-o", tmp_path / name)
    outcome.refuses(2, "output-name")
    assert f"name it {Path(name).with_suffix('.xml').name}" in outcome.err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["m.xml.gz", "m.json"])
def test_a_data_frame_is_written_in_formats_that_masktron_writes(name: str, tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    with refused(UsageError, "output-name"):
        masktron.mask(pd.DataFrame(numbers(12)), rules, tmp_path / name)
    assert list(tmp_path.iterdir()) == [rules]


# the converter


def converter() -> ModuleType:
    folder = str(resource("sample_xml"))
    sys.path.insert(0, folder)
    try:
        return import_module("convert_csv")
    finally:
        sys.path.remove(folder)


def converted(folder: Path, text: str, *options: str) -> list[dict[str, str]]:
    source, target = folder / "t.csv", folder / "t.xml"
    source.write_text(text, encoding="utf-8", newline="")
    converter().main([str(source), str(target), *options])
    return [{field.tag: field.text or "" for field in record} for record in etree.parse(target).getroot()]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.csv", "A,B\n1,2\n".encode("utf-16"), "give --encoding utf-16"),
        ("t.csv", b"\xfe\xff" + "A,B\n1,2\n".encode("utf-16-be"), "give --encoding utf-16"),
        ("t.csv.gz", gzip.compress(b"A,B\n1,2\n", mtime=0), "decompress it first: gunzip t.csv.gz"),
        ("t.csv", None, "does not exist"),
    ],
)
def test_what_is_no_text_is_told_by_its_first_bytes(
    tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    words = [str(tmp_path / name), str(tmp_path / "t.xml")]
    with pytest.raises(SystemExit) as stopped:
        converter().main(words)
    assert says in str(stopped.value)
    assert "cp1252" not in str(stopped.value)
    assert "Errno" not in str(stopped.value)
    if "utf-16" in says:
        converter().main([*words, "--encoding", "utf-16"])
        assert [field.text for field in etree.parse(tmp_path / "t.xml").iter("A", "B")] == ["1", "2"]


def test_names_that_xml_does_not_allow_are_changed_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = ["", "Net income (%)", "2019", "xmlish", "a:b", "A", "A", "A_2", " Größe ", "<0>"]
    (row,) = converted(tmp_path, ",".join(header) + "\n" + ",".join("0123456789") + "\n")
    assert list(row) == [
        "column_1", "Net_income____", "_2019", "_xmlish", "a_b", "A", "A_3", "A_2", "Größe", "_0_",
    ]  # fmt: skip
    assert list(row.values()) == list("0123456789")
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 8
    assert "renamed: 'Net income (%)' is Net_income____" in told
    converted(tmp_path, "A,B\n1,2\n")
    assert capsys.readouterr().err == ""


def test_all_characters_of_names_are_those_that_the_parser_takes() -> None:
    module = converter()
    for start in range(0x20, 0x30000, 0x1000):
        for code in [*range(start, start + 40), 0xD7, 0xF7, 0x37E, 0x2010, 0x3000, 0xB7, 0x300]:
            if 0xD800 <= code < 0xE000 or code == 0x3A:
                continue
            for name in (f"A{chr(code)}", chr(code)):
                try:
                    etree.QName(name)
                    allowed = name == name.strip()
                except ValueError:
                    allowed = False
                assert (module.valid_names([name]) == [name]) == allowed, ascii(name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0,1.5\n2,3\n", "t.csv:1: the first line holds numbers"),
        ("", "has no line of names"),
        ("A,B\n1,2\n3\n", "t.csv:3: 1 cells, and there are 2 columns"),
        ("A,B\n1,2,3\n", "t.csv:2: 3 cells, and there are 2 columns"),
        ("A,B\n1,\x02\n", "t.csv:2: B holds a control character"),
        ('A,B\n1,"2\n', "unexpected end of data"),
    ],
)
def test_what_is_no_table_with_a_header_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        converted(tmp_path, text)
    assert says in str(caught.value)
    assert not (tmp_path / "t.xml").exists()


def test_tables_without_a_header_with_other_delimiters_and_encodings(tmp_path: Path) -> None:
    assert converted(tmp_path, "0,1\n2,3\n", "--no-header") == [{"V1": "0", "V2": "1"}, {"V1": "2", "V2": "3"}]
    assert converted(tmp_path, "\ufeffA;B\n1,5;2\n") == [{"A": "1,5", "B": "2"}]
    (tmp_path / "w.csv").write_bytes("Größe\tB\n1\t2\n".encode("cp1252"))
    with pytest.raises(SystemExit, match="is not utf-8-sig"):
        converter().main([str(tmp_path / "w.csv"), str(tmp_path / "w.xml")])
    converter().main([str(tmp_path / "w.csv"), str(tmp_path / "w.xml"), "--encoding", "cp1252"])
    assert "<Größe>1</Größe>" in (tmp_path / "w.xml").read_text(encoding="utf-8")
