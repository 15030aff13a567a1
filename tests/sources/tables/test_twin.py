"""The XML twin of a table: what its elements are called, what stands in it, and that both readings agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_runner import Runner, numbers, write_file, write_rules
from masktron.errors import DocumentError, UsageError
from masktron.jobs.job import context_names
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.opening import open_source
from masktron.sources.tables.arrow_files import ParquetFormat
from masktron.sources.tables.table_format import SecondReading, UnreadError
from masktron.sources.tables.table_view import TwinNames, twin_names
from refusals import code_of, refused

SCHEMA = """<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt">{ns}
<pattern><rule context="{context}"><assert id="r" test="{test}">x</assert></rule></pattern></schema>"""
SPACE = '<ns prefix="b" uri="urn:b"/>'


@pytest.mark.parametrize(
    ("context", "test", "ns", "names"),
    [
        ("Record", "A", "", TwinNames()),
        ("/Data/Record", "A", "", TwinNames()),
        ("Household", "A", "", TwinNames(record="Household")),
        ("/Survey/Household", "A", "", TwinNames(("Survey",), "Household")),
        ("Household/A", ". = 1", "", TwinNames(record="Household")),
        ("A", ". = 1", "", TwinNames()),
        ("Household", "A = document('original.xml')/Survey/Household/A", "", TwinNames(("Survey",), "Household")),
        ("b:Firm[b:A = 1]", "b:B", SPACE, TwinNames(record="Firm", space="urn:b")),
        ("/*/Household", "A", "", TwinNames()),
        ("Person | Record", "A", "", TwinNames()),
        ("Survey", "count(Record/A) > 1", "", TwinNames(("Survey",))),
    ],
)
def test_rules_say_what_the_elements_are_called(
    context: str, test: str, ns: str, names: TwinNames, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "r.sch", SCHEMA.format(context=context, test=test, ns=ns))
    assert twin_names({"A", "B"}, None, context_names(read_rules(path))) == names


def test_the_user_has_the_last_word_on_the_record() -> None:
    contexts = context_names_of(["Person", "Household", "Household"])
    assert twin_names(set(), None, contexts).record == "Household"
    assert twin_names(set(), "Person", contexts).record == "Person"
    assert twin_names(set(), "Other", contexts) == TwinNames(record="Other")
    assert twin_names(set(), "{urn:x}Other", contexts) == TwinNames(record="Other", space="urn:x")


def test_two_names_for_records_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.sch"
    for context, test in (
        ("Id", "not(. = ../preceding-sibling::Person/Id)"),
        ("Person", "preceding-sibling::Person"),
    ):
        path.write_text(SCHEMA.format(context=context, test=test, ns=""))
        assert twin_names({"Id"}, None, context_names(read_rules(path))).record == "Person"
    path.write_text(SCHEMA.format(context="Record", test="not(Id = preceding-sibling::Row/Id)", ns=""))
    with refused(UsageError, "record-unclear", elements="the rules call it 'Record', and the records beside it Row"):
        twin_names({"Id"}, None, context_names(read_rules(path)))


def context_names_of(names: list[str]):
    from masktron.sources.record_layout import ContextNames

    return ContextNames(tuple(names), tuple((False, (("", name),)) for name in names))


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_a_row_is_a_record_and_a_cell_an_element(tmp_path: Path) -> None:
    rows = [{"@id": "a<\n", "A": 1, "annual income": " x\r&"}, {"@id": None, "A": None, "annual income": ""}]
    source = open_source(write(tmp_path / "d.parquet", rows))
    assert source.document_path.read_text(encoding="utf-8").splitlines()[1:] == [
        '<Record id="a&lt;&#10;"><A>1</A><annual_x0020_income> x&#13;&amp;</annual_x0020_income></Record>',
        "<Record><annual_x0020_income></annual_x0020_income></Record>",
        "</Data>",
    ]
    columns = source.records().columns
    assert columns["@id"].lexemes.tolist() == ["a<\n", None]
    assert columns["annual_x0020_income"].lexemes.tolist() == [" x\r&", ""]
    assert oct(source.document_path.stat().st_mode & 0o777) == "0o600"


def test_what_no_document_can_hold_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / "d.parquet", [{"A": "x"}, {"A": "\x01"}])
    done = Runner(capsys)("validate", data, "--rules", write_rules(tmp_path / "r.sch", "A"))
    assert done.code == 4
    assert (code_of(done.err), f"{data}, record 2: A holds" in done.err) == ("value-not-readable", True)


@pytest.mark.parametrize(
    ("second", "code", "place"),
    [
        ([["1"], ["2"]], "readings-differ", ""),
        ([["1"], ["2"], ["3.0"]], "readings-differ", ", record 3"),
        ([["1"], [None], ["3"]], "readings-differ", ", record 2"),
        ([["1"], ["2"], ["3", "4"]], "file-damaged", ", record 3"),
    ],
)
def test_two_readings_that_differ_stop_the_run(
    second: list[list[str | None]], code: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write(tmp_path / "d.parquet", [{"A": 1}, {"A": 2}, {"A": 3}])
    monkeypatch.setattr(ParquetFormat, "read_again", lambda *_: SecondReading(("A",), iter(second)))
    with refused(DocumentError, code, where=f"{data}{place}"):
        open_source(data).records()


def test_a_second_reader_that_fails_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows() -> Iterator[list[str]]:
        yield ["1"]
        raise UnreadError("it has a header of its own")

    data = write(tmp_path / "d.parquet", [{"A": 1}, {"A": 2}])
    for second, told in ((None, ()), (SecondReading(("A",), rows()), ("it has a header of its own",))):
        monkeypatch.setattr(ParquetFormat, "read_again", lambda *_, second=second: second)
        source = open_source(data)
        assert source.records().columns["A"].lexemes.tolist() == ["1", "2"]
        assert [note.rpartition(": ")[2] for note in source.notes] == list(told)
        document = getattr(source, "document_path").read_text()  # noqa: B009 -- of a table source
        assert document.count("<A>") == 2


def test_one_rulebook_serves_xml_and_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = write_rules(tmp_path / "rules.sch", "A + B = T", "A >= 0")
    data = write(tmp_path / "d.parquet", [dict(row) for row in numbers()])
    run, masked = Runner(capsys), tmp_path / "m.parquet"
    for command in (
        ("validate", data, "--rules", rules),
        ("explain", rules, "--data", data),
        ("mask", data, "--rules", rules, "--out", masked, "-k", "3"),
        ("check", masked, "--rules", rules, "--original", data, "--manifest", tmp_path / "m.manifest.json"),
        ("assess", masked, "--original", data, "--manifest", tmp_path / "m.manifest.json"),
    ):
        done = run(*command)
        assert done.code == 0, done.err
    assert pq.read_schema(tmp_path / "m.parquet") == pq.read_schema(data)
    refused = run("mask", data, "--rules", rules, "--out", tmp_path / "m.xml", "-k", "3")
    refused.refuses(2, "output-name", formats=("parquet",), names=("m.parquet",))
