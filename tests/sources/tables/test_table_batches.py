"""Batches of a table say what its XML twin says: the same layout, records, verdicts and findings."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_columns import cells_of
from masktron.judge import exact
from masktron.judge.findings import Evaluation, Shown
from masktron.judge.request import EvaluationRequest
from masktron.judge.tiered import evaluate
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.columns import Cell
from masktron.sources.opening import open_source
from masktron.sources.tables import table_records
from masktron.sources.tables.table_view import TwinNames, twin_layout, write_twin
from masktron.sources.xml.xml_source import XmlSource

NAMES = ("A", "@id", "annual income", "ä", "2024", "T")
TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "\t", "1", "-2.50", "1e3", "x", "a&b", "<>\"'", "\r", "a\r\nb", "\n", "ä€😀", "007", "NaN"]
    ),
    st.integers(-3, 3).map(str),
)
RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt"><pattern>
<rule context="Record"><assert id="sum" test="A + 1 &gt;= T"/><assert id="text" test="normalize-space(ä) != 'x'"/>
<assert id="long" test="string-length(A) &lt; 3"/><assert id="attribute" test="not(@id = A)"/>
<assert id="engine" test="translate(substring-before(concat(A, '|'), '|'), 'a', 'b') = A"/>
<assert id="across" test="not(@id = preceding-sibling::Record/@id)"/></rule></pattern></schema>"""


@pytest.fixture(autouse=True)
def every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)
    monkeypatch.setattr(table_records, "ROWS", 3)


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.sch"
    path.write_text(RULES, encoding="utf-8")
    return path


@st.composite
def tables(draw: st.DrawFn, least: int = 0) -> pa.Table:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=len(NAMES), unique=True))
    size = draw(st.integers(least, 8))
    cells = st.lists(st.one_of(st.none(), TEXTS), min_size=size, max_size=size)
    return pa.table({name: pa.array(draw(cells), pa.string()) for name in names})


def stored(folder: str, table: pa.Table) -> Path:
    path = Path(folder) / "table.parquet"
    pq.write_table(table, path)
    return path


@given(tables())
def test_the_layout_is_that_of_the_twin(table: pa.Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = open_source(stored(folder, table))
        twin = XmlSource(source.document_path, record="Record")
        assert source.layout == twin.layout
        assert source.vocabulary() == twin.vocabulary()
        assert source.shape == twin.shape


@pytest.mark.parametrize("names", [TwinNames(("Survey", "Part"), "Person"), TwinNames(space="urn:b")])
def test_the_layout_is_that_of_a_twin_with_other_names(names: TwinNames, tmp_path: Path) -> None:
    columns = [[None, "2"], [None, "3"], ["1", "4"], [None, None]]
    blocks = [[pa.array(column, pa.string()) for column in columns]]
    write_twin(tmp_path / "twin.xml", ("A", "@id", "B", "C"), blocks, names, "table")
    assert XmlSource(tmp_path / "twin.xml", record=names.record).layout == twin_layout(
        names, ["A", "@id", "B", "C"], [1, 1, 0, -1]
    )
    assert twin_layout(names, ["A", names.record], [0, 0]) is None
    assert twin_layout(names, ["A"], [-1]) is None


@given(tables(least=1))
def test_an_engine_gets_the_records_of_the_twin(table: pa.Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = open_source(stored(folder, table))
        flat = source.document.flat
        if flat is None:  # no record has a value
            assert all(column.null_count == len(table) for column in table.columns)
            return
        lines = source.document_path.read_bytes().splitlines(keepends=True)[1:-1]
        first = 0
        for batch in flat.batches():
            assert batch.first == first
            rows = np.arange(len(batch))
            own = lines[first : first + len(batch)]
            assert [batch.record(row) + b"\n" for row in rows] == own
            assert batch.records(rows) + b"\n" == b"".join(own)
            if len(batch) > 2:
                assert batch.records(rows[[0, 2]]) + b"\n" == own[0] + own[2]
            first += len(batch)
        assert first == len(lines) == len(table)


@given(tables(least=1))
def test_cells_are_those_of_the_table(table: pa.Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = open_source(stored(folder, table))
        flat = source.document.flat
        if flat is None:
            return
        names = dict(zip(cells_of(source.table).column_names, table.column_names, strict=True))
        for at, field in enumerate(source.layout.fields):
            expected = table[names[field.name]].to_pylist()
            found: list[str | None] = []
            for batch in flat.batches():
                cells = batch.cells[at]
                for start, stop, status in zip(cells.start, cells.stop, cells.status, strict=True):
                    text = batch.buffer[start:stop].tobytes().decode()
                    found.append(None if status == Cell.ABSENT else text)
                    assert (status == Cell.EMPTY) == (status != Cell.ABSENT and not text)
                    assert (status == Cell.ODD) == ("\r" in text)
            assert found == expected


def told(done: Evaluation) -> list[str]:
    return sorted(repr((one.check, one.record, one.location, one.record_id, one.message)) for one in done.findings)


@pytest.mark.full
@settings(max_examples=40)
@given(table=tables(least=1))
def test_columns_and_the_engine_on_the_twin_agree(table: pa.Table, rules: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = open_source(stored(folder, table))
        book = read_rules(rules)
        field = source.layout.field("@id") or source.layout.fields[0] if source.layout.fields else None
        shown = Shown(field, tuple(() for _ in book.checks))
        request = EvaluationRequest.of(source, book, shown=shown)
        found, expected = evaluate(request), exact.evaluate(request)
        for name in ("records", "fired", "failed", "errors", "verdicts"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert told(found) == told(expected)
        for one in found.findings:
            if one.record >= 0:
                assert source.place(one.record, one.line, one.column)[0] == one.record + 1


def test_columns_are_what_evaluates(rules: Path, tmp_path: Path) -> None:
    source = open_source(stored(str(tmp_path), pa.table({"A": ["5", "1"], "T": ["3", "4"]})))
    done = evaluate(EvaluationRequest.of(source, read_rules(rules)))
    assert done.engine.startswith("masktron's columns")
    first = done.findings[0]
    assert (first.check, first.record, first.line, first.column) == (0, 1, 2, 1)
