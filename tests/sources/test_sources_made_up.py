"""Every job on a format that is no XML and that nothing but one module knows of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import masktron
from cli_runner import numbers, write_file, write_rules
from made_up_source import BlockFormat, blocks_known
from masktron.config import ReadOptions
from masktron.errors import DocumentError, UsageError
from masktron.files import file_hash
from masktron.sources.opening import open_source
from masktron.sources.tables.table_source import TableSource
from masktron.sources.xml.xml_source import XmlSource
from refusals import refused


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with blocks_known():
        yield


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_blocks(tmp_path / "data.blocks", rows_of())


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "rules.sch", "A + B = T", "A >= 0")


def rows_of() -> list[dict[str, object]]:
    return [{"Id": i, **row} for i, row in enumerate(numbers(), start=1)]


def write_blocks(path: Path, rows: list[dict[str, object]]) -> Path:
    blocks = ("".join(f"{name}={value}\n" for name, value in row.items()) for row in rows)
    path.write_text("# a survey\n\n" + "\n".join(blocks))
    return path


def test_the_suffix_or_the_name_says_the_format(tmp_path: Path, data: Path) -> None:
    for source in (open_source(data), open_source(tmp_path / "other.dat", reading=ReadOptions(format="blocks"))):
        assert isinstance(source, TableSource)
        assert isinstance(source.format, BlockFormat)
    assert isinstance(open_source(tmp_path / "other.dat"), XmlSource)
    with refused(UsageError, "unknown-name", name="block"):
        open_source(data, reading=ReadOptions(format="block"))


def test_a_source_says_that_engines_read_a_document_which_it_wrote(data: Path) -> None:
    source = open_source(data)
    assert source.converted
    assert source.document_path.read_text().count("<Record>") == 40
    assert source.digest == file_hash(data)
    folder = source.document_path.parent
    del source
    assert not folder.exists()


def test_records_are_those_of_the_file(data: Path) -> None:
    records = open_source(data).records()
    assert records.path == data
    assert [dict.fromkeys(records.columns)] == [dict.fromkeys(rows_of()[0])]
    assert records.columns["A"].values.tolist() == [float(str(row["A"])) for row in rows_of()]
    width = len(rows_of()[0])
    assert records.lines.tolist() == [3 + i * (width + 1) for i in range(40)]


def test_findings_name_the_line_of_the_file(tmp_path: Path, rules: Path) -> None:
    rows = rows_of()
    rows[7]["A"] = -5
    data = write_blocks(tmp_path / "bad.blocks", rows)
    result = masktron.validate(data, rules)
    assert not result.valid
    lines = data.read_text().splitlines()
    assert {(one.record, one.column) for one in result.evaluation.findings} == {(7, 0)}
    start = result.evaluation.findings[0].line
    assert lines[start - 2] == ""
    assert "A=-5" in lines[start - 1 : start + len(rows[7])]


def test_errors_name_the_file_and_not_the_document(tmp_path: Path, rules: Path) -> None:
    data = write_file(tmp_path / "bad.blocks", "Id=1\nA\n")
    with refused(DocumentError, "unknown-name", where=f"{data}:2", name="A"):
        masktron.validate(data, rules)
    with refused(DocumentError, "cannot-read"):
        masktron.validate(tmp_path / "none.blocks", rules)


def test_what_mask_writes_has_the_format_and_complies(tmp_path: Path, data: Path, rules: Path) -> None:
    out, manifest = tmp_path / "masked.blocks", tmp_path / "m.json"
    done = masktron.mask(data, rules, out, k=3, roles={"Id": "identifier"}, manifest=manifest)
    assert done.valid
    assert all(engine.agrees and engine.records == 40 for engine in done.engines)
    written = open_source(out).records()
    assert "Id" not in written.columns
    assert "#" not in out.read_text()
    assert (written.columns["A"].values + written.columns["B"].values == written.columns["T"].values).all()
    told = json.loads(manifest.read_text())
    assert told["output"]["sha256"] == file_hash(out)
    assert told["original"] == {"path": str(data), "sha256": file_hash(data)}
    verdict = masktron.check(out, rules, original=data, manifest=manifest)
    assert verdict.complies, verdict.problems
    assert verdict.min_group is not None
    assert verdict.min_group >= 3
    result = masktron.assess(out, data, manifest=manifest)
    assert result.records == 40
    assert {figure.name for figure in result.figures} >= {"il1s", "block_k"}


def test_the_same_records_in_xml_are_masked_alike(tmp_path: Path, data: Path, rules: Path) -> None:
    """Nothing but the bytes around the values depends on the format."""
    other = tmp_path / "data.xml"
    source = open_source(data)
    other.write_bytes(source.document_path.read_bytes())
    options = {"k": 3, "roles": {"Id": "record-id"}, "order": "keep"}
    columns = []
    for path in (data, other):
        out = tmp_path / f"masked-{path.suffix[1:]}{path.suffix}"
        masktron.mask(path, rules, out, **options)  # type: ignore[arg-type]
        records = open_source(out).records()
        columns.append({name: column.lexemes for name, column in records.columns.items()})
    assert columns[0].keys() == columns[1].keys()
    assert all(np.array_equal(columns[0][name], columns[1][name]) for name in columns[0])
