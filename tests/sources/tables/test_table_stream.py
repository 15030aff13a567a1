"""Files that are read block by block: the same cells, lines and errors as when they are read as a whole."""

from __future__ import annotations

import datetime
import decimal
import os
import re
import tempfile
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import masktron
from cli_runner import Runner, numbers, write_file, write_rules
from made_columns import cells_of
from masktron.errors import DocumentError
from masktron.judge.request import EvaluationRequest
from masktron.judge.tiered import evaluate
from masktron.kernels import separated as kernel
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.opening import open_source
from masktron.sources.tables import typed_stream
from masktron.sources.tables.arrow_files import ParquetFormat
from masktron.sources.tables.separated import csv_outline, csv_stream
from masktron.sources.tables.separated.csv_dialect import CsvDialect
from masktron.sources.tables.separated.csv_format import CsvFormat
from masktron.sources.tables.separated.csv_outline import HeldText, survey_of
from masktron.sources.tables.table_format import LexemeRow, SecondReading, TableFormat
from masktron.sources.tables.table_stream import TableStream
from refusals import code_of, refused


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_stream, "_BLOCK", 24)
    monkeypatch.setattr(typed_stream, "_ROWS", 3)
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)


def streamed(form: TableFormat, path: Path, **options: str) -> TableStream:
    found = form.stream(path, options)
    assert found is not None
    return found


def require_same(form: TableFormat, path: Path, **options: str) -> TableStream:
    """See that a stream says what the whole file says, and return it."""
    table, stream = form.read(path, options), streamed(form, path, **options)
    blocks = list(stream.blocks())
    names = tuple(cells_of(table).column_names)
    assert (stream.names, stream.count) == (names, len(table))
    for at, name in enumerate(names):
        cells = cells_of(table)[name].to_pylist()
        assert [text for block in blocks for text in block[at].to_pylist()] == cells
        assert stream.first[at] == next((row for row, text in enumerate(cells) if text is not None), -1)
    assert stream.lines(0, len(table)).tolist() == table.lines.tolist()
    return stream


CELLS = st.text(st.sampled_from("a1 é,;\"'\\\n\r€-"), max_size=6) | st.sampled_from(["", "NA", "x" * 60])


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, dict[str, str]]:
    """A file of CSV and what is said of it."""
    delimiter = draw(st.sampled_from(",;\t"))
    escape = draw(st.sampled_from(["double", "\\"]))
    ending = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    columns = draw(st.integers(2, 4))
    options = {"escape": escape, "delimiter": draw(st.sampled_from(["tab" if delimiter == "\t" else delimiter]))}
    if draw(st.booleans()):
        options["null"] = "NA,-"

    def written(text: str) -> str:
        if escape == "\\":
            text = text.replace("\\", "\\\\")
        quoted = text.replace('"', '""' if escape == "double" else '\\"')
        plain = not set(text) & {delimiter, '"', "\n", "\r", "\\"}
        return text if plain and draw(st.booleans()) else f'"{quoted}"'

    row = st.lists(CELLS, min_size=columns, max_size=columns)
    rows = [[f"n{at}" for at in range(columns)], *draw(st.lists(row, max_size=6))]
    text = ending.join(delimiter.join(map(written, cells)) for cells in rows)
    text += draw(st.sampled_from(["", ending, ending * 2]))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return (mark + text).encode(), options


@settings(max_examples=50)
@given(files())
def test_csv_in_blocks_is_the_whole_file(made: tuple[bytes, dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_file(Path(folder) / "d.csv", made[0])
        require_same(CsvFormat(), path, **made[1], header="yes")


class Cut(HeldText):
    """Bytes in blocks of a size."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._blocks = [data[at : at + size] for at in range(0, len(data), size)] or [b""]

    def blocks(self) -> Generator[tuple[bytes, bool]]:
        for at, block in enumerate(self._blocks, start=1):
            yield block, at == len(self._blocks)


@given(files(), st.integers(1, 40))
def test_a_survey_in_blocks_is_that_of_the_whole(made: tuple[bytes, dict[str, str]], size: int) -> None:
    dialect = CsvDialect(delimiter=",")
    for data in (made[0], made[0].replace(b'"', b"", 1), made[0].replace(b"\n", b"\n\n", 1)):
        whole, cut = (survey_of(text, dialect, "", "d") for text in (HeldText(data), Cut(data, size)))
        assert cut.facts.tolist() == whole.facts.tolist()
        assert cut.dialect == whole.dialect
        ends = [one.begin + one.size for one in cut.segments]
        assert [one.begin for one in cut.segments] == [0, *ends][: len(ends)]
        assert sum(one.records for one in cut.segments) == whole[kernel.RECORDS]
        lines = [1 + len(re.findall(rb"\r\n|\r|\n", data[: one.begin])) for one in cut.segments]
        assert [one.line for one in cut.segments] == lines


@pytest.mark.full
@settings(max_examples=50)
@given(files(), st.data())
def test_the_kernel_sees_every_other_cell(made: tuple[bytes, dict[str, str]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        path = write_file(Path(folder) / "d.csv", made[0])
        stream = streamed(CsvFormat(), path, **made[1], header="yes")
        if not stream.count:
            return
        record = data.draw(st.integers(0, stream.count - 1))
        column = data.draw(st.integers(0, len(stream.names) - 1))
        other = data.draw(CELLS | st.none())
        read, before = csv_outline.cells_of, [0]

        def spoilt(*args: object, **named: object) -> pa.Table:
            table = read(*args, **named)  # type: ignore[arg-type]
            at = record - before[0]
            before[0] += len(table)
            if 0 <= at < len(table):
                texts = table.column(column).to_pylist()
                texts[at] = other
                table = table.set_column(column, str(column), pa.array([texts], pa.list_(pa.string())).flatten())
            return table

        expected = cells_of(CsvFormat().read(path, {**made[1], "header": "yes"})).column(column)[record].as_py()
        patched.setattr(csv_outline, "cells_of", spoilt)
        if other == expected:
            list(stream.blocks())
            return
        name = stream.names[column]
        with refused(DocumentError, "readings-differ", what=name, where=f"{path}, record {record + 1}"):
            list(stream.blocks())


@settings(max_examples=50)
@given(files(), st.integers(0, 60), st.sampled_from([b"", b"", b'"', b"\n", b";", b"\0", b"\xff", b",", b"\r", b"1"]))
def test_what_is_told_of_a_file_does_not_depend_on_blocks(
    made: tuple[bytes, dict[str, str]], at: int, put: bytes
) -> None:
    """A stream has nothing to say, and leaves it to reading; or it says what reading does."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_file(Path(folder) / "d.csv", made[0][:at] + put + made[0][at:])
        for options in ({}, made[1], {"delimiter": ";"}):
            require_alike(path, options)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("A;B,C\n1;2,3\n", "unclear-delimiter"),
        ("1,2\n3,4\n", "unclear-header"),
        ("A,\n1,2\n", "column-without-name"),
        ("A,A\n1,2\n", "name-taken"),
        ("A;B\n" + "1;2,5\n" * 9 + "1;\n" * 20, "unclear-numbers"),
    ],
)
def test_a_stream_refuses_what_reading_refuses(text: str, code: str, tmp_path: Path) -> None:
    path = write_file(tmp_path / "d.dat", text)
    assert code_of(str(require_alike(path, {}))) == code
    with refused(DocumentError, code):
        list(streamed(CsvFormat(), path).blocks())


def test_a_stream_knows_the_lines_of_a_single_column_with_empty_ones(tmp_path: Path) -> None:
    path = write_file(tmp_path / "d.csv", '"A\nB"\n' + "\n1\n" * 12 + '"2\n2"\n\n')
    require_alike(path, {"delimiter": ";"})
    stream = streamed(CsvFormat(), path, delimiter=";")
    assert stream.lines(0, stream.count).tolist() == [*range(3, 28), 29]


def require_alike(path: Path, options: dict[str, str]) -> object:
    """See that a stream, where there is one, gives cells and lines of the whole file, or its error; return them."""

    def whole() -> object:
        table = CsvFormat().read(path, options)
        return cells_of(table).to_pydict(), table.lines.tolist()

    def blocks() -> object:
        stream = CsvFormat().stream(path, options)
        if stream is None:
            return None
        cells = [pa.table(block, names=stream.names) for block in stream.blocks()]
        lines = stream.lines(0, stream.count).tolist()
        return pa.concat_tables(cells).to_pydict() if cells else {name: [] for name in stream.names}, lines

    expected, found = outcome(whole), outcome(blocks)
    assert found is None or found == expected
    return expected


def outcome(asked: Callable[[], object]) -> object:
    """What is returned, or the text of the error."""
    try:
        return asked()
    except DocumentError as error:
        return str(error)


TYPED = pa.table(
    {
        "i": pa.array([1, None, -30, 0, 10**12, 5, 7], pa.int64()),
        "u": pa.array([None, 1, 2**64 - 1, 3, 4, 5, 6], pa.uint64()),
        "f": pa.array([0.1, float("nan"), None, -2.5, 1e300, 1 / 3, 100.0]),
        "g": pa.array([0.1, 2, None, -2.5, 1e30, 1, 100], pa.float32()),
        "d": pa.array([decimal.Decimal(f"{n}.50") for n in range(7)]),
        "s": pa.array(["", None, "a", "é", " ", "\r\n", "x"]),
        "l": pa.array(["", None, "a", "é", " ", "\t", "x"], pa.large_string()),
        "v": pa.array(["", None, "a", "é", " ", "\t", "x"], pa.string_view()),
        "b": pa.array([True, None, False, True, True, False, False]),
        "t": pa.array([datetime.date(2020, 2, 29)] * 6 + [None]),
        "m": pa.array([datetime.datetime(2020, 2, 29, 1, 2, 3, 4000)] * 6 + [None]),
        "n": pa.nulls(7),
    }
)


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_parquet_in_blocks_is_the_whole_file(rows: int, tmp_path: Path) -> None:
    pq.write_table(TYPED, tmp_path / "d.parquet", row_group_size=5)
    pq.write_table(TYPED.slice(0, rows), tmp_path / "d.parquet", row_group_size=2)
    require_same(ParquetFormat(), tmp_path / "d.parquet")


DOUBLES = st.one_of(
    st.floats(allow_infinity=False),
    st.decimals(-(10**6), 10**6, places=4).map(float),
    st.integers(-(2**60), 2**60).map(float),
)


@pytest.mark.full
@settings(max_examples=50)
@given(st.lists(st.none() | DOUBLES), st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_numbers_are_the_same_in_both_ways(doubles: list[float | None], integers: list[int | None]) -> None:
    for values, kind in ((doubles, pa.float64()), (integers, pa.int64())):
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(pa.table({"x": pa.array(values, kind)}), Path(folder) / "d.parquet")
            stream = require_same(ParquetFormat(), Path(folder) / "d.parquet")
            texts = [text for block in stream.blocks() for text in block[0].to_pylist()]
            for value, text in zip(values, texts, strict=True):
                missing = value is None or value != value  # noqa: PLR0124 -- NaN
                assert (text is None) == missing
                assert missing or type(value)(text) == value


def test_other_files_are_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"c": pa.array(["a"]).dictionary_encode()}), path)
    assert ParquetFormat().stream(path, {}) is None
    pq.write_table(pa.table({"c": pa.array([[1]])}), path)
    assert ParquetFormat().stream(path, {}) is None
    data = tmp_path / "d.csv"
    for text, options in (
        ("A,B\n1,2\n".encode("utf-16"), {}),
        ("A,B\né,2\n".encode("cp1252"), {}),
        (b"A;B\n1;2\n", {"decimal": "comma"}),
        (b"A\n1\n", {}),
        (b"A,B\n1\n", {}),
        (b"", {}),
    ):
        data.write_bytes(text)
        assert CsvFormat().stream(data, options) is None


ROWS = "".join(f"{n},{n + 1}\n" for n in range(50))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_stream_gives_the_findings_of_the_whole_table(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, rules = tmp_path / f"d.{suffix}", write_rules(tmp_path / "r.sch", "A + 1 = B", "A != 41", "count(//A) > 1")
    if suffix == "csv":
        data.write_text("A,B\n" + ROWS.replace("\n7,8\n", '\n7,"8"\n"7\n7",8\n'))
    else:
        pq.write_table(pa.table({"A": [*range(50), None], "B": [*range(1, 51), 5]}), data)
    found = []
    for streams in (True, False):
        if not streams:
            monkeypatch.setattr(CsvFormat, "stream", TableFormat.stream)
            monkeypatch.setattr(ParquetFormat, "stream", TableFormat.stream)
        source = open_source(data)
        done = evaluate(EvaluationRequest.of(source, read_rules(rules)))
        assert ("table" in vars(source)) is not streams
        assert done.engine.startswith("masktron's columns")
        findings = [
            (one.check, one.record, source.place(one.record, one.line, 1), one.location) for one in done.findings
        ]
        found.append((source.layout, source.count, done.fired.tolist(), done.failed.tolist(), findings))
    assert found[0] == found[1]
    assert found[0][4]


def test_what_all_records_tell_is_refused_before_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, rules, report = tmp_path / "d.csv", write_rules(tmp_path / "r.sch", "true()"), tmp_path / "report.json"
    said = {
        "7,x\n" + ROWS + "3,x\n": "unclear-header",
        "A;B\n" + ROWS.replace(",", ";") + "3;2,5\n": "unclear-numbers",
        "A,B\n" + ROWS + "\x01,1\n": "bad-csv-line",
        "A,B\n" + ROWS + "\uffff,1\n": "value-not-readable",
        "A,B\n" + ROWS + "1\n": "ragged-line",
    }
    for text, code in said.items():
        data.write_text(text, encoding="utf-8")
        done = Runner(capsys)("validate", data, "--rules", rules, "--json", report)
        assert done.code == 4, text
        assert code_of(done.err) == code
        assert not report.exists()
        assert "records" not in done.out
    data.write_text("A;B\n" + ROWS.replace(",", ";") + "3;2,5\n", encoding="utf-8")
    assert sum(len(block[0]) for block in streamed(CsvFormat(), data, decimal="point").blocks()) == 51


def test_readings_that_differ_in_a_late_block_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "d.csv"
    data.write_text("A,B\n" + "".join(f"{n},1\n" for n in range(20)))
    true = csv_stream.second_reading

    def other(rows: Callable[[list[LexemeRow]], list[LexemeRow]]) -> None:
        def spoilt(*given: Any) -> SecondReading:
            again = true(*given)
            return replace(again, rows=rows(list(again.rows)))

        monkeypatch.setattr(csv_stream, "second_reading", spoilt)

    other(lambda rows: [["18", "1"] if row[0] == "17" else row for row in rows])
    with refused(DocumentError, "readings-differ", where=f"{data}, record 18", what="A"):
        open_source(data).document_path  # noqa: B018 -- what engines read
    other(lambda rows: rows[:2])
    with refused(DocumentError, "readings-differ", what="the number of records"):
        open_source(data).document_path  # noqa: B018 -- what engines read


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_that_changes_is_noticed(suffix: str, tmp_path: Path) -> None:
    data, rules = tmp_path / f"d.{suffix}", write_rules(tmp_path / "r.sch", "A >= 0")

    def write(least: int) -> None:
        if suffix == "csv":
            data.write_text("A,B\n" + "".join(f"{n},1\n" for n in range(least, 60)))
        else:
            pq.write_table(pa.table({"A": list(range(least, 60))}), data)

    write(20)
    source = open_source(data)
    request = EvaluationRequest.of(source, read_rules(rules))
    write(10)
    with refused(DocumentError, "file-changed", where=data):
        evaluate(request)
    source = open_source(data)
    request = EvaluationRequest.of(source, read_rules(rules))
    assert request.flat is not None
    batches = request.flat.batches()
    next(batches)
    status = data.stat()
    os.utime(data, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with refused(DocumentError, "file-changed", where=data):
        list(batches)


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_who_needs_all_records_surveys_no_blocks(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"csv": CsvFormat, "parquet": ParquetFormat}[suffix]
    true, surveyed = form.stream, set[str]()

    def noted(self: TableFormat, path: Path, options: dict[str, str]) -> TableStream | None:
        surveyed.add(path.name)
        return true(self, path, options)  # type: ignore[arg-type]

    monkeypatch.setattr(form, "stream", noted)
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    frame, data, out = pd.DataFrame(numbers(40)), tmp_path / f"d.{suffix}", tmp_path / f"o.{suffix}"
    masktron.convert(frame, data)
    result = masktron.mask(data, rules, out, k=3)
    assert masktron.check(out, rules, original=data, manifest=result.manifest).complies
    assert masktron.assess(out, data, manifest=result.manifest).records == 40
    assert masktron.explain(rules, data).rules
    masktron.convert(out, tmp_path / f"c.{suffix}")
    assert surveyed == set()
    assert masktron.validate(out, rules).valid
    assert surveyed == {out.name}


@settings(max_examples=20)
@given(st.integers(1, 9), st.integers(1, 30))
def test_nothing_of_the_blocks_is_kept(rows: int, blocks: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_file(Path(folder) / "d.csv", "A,B\n" + f"{'x' * 20},1\n" * rows * blocks)
        stream = streamed(CsvFormat(), path)
        assert max(len(block[0]) for block in stream.blocks()) <= 3


def test_frames_and_addresses_are_masked_over_their_own_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The large ones: neither is on a disk as a file, where the original is asked for."""
    monkeypatch.chdir(tmp_path)
    rules = write_rules(tmp_path / "r.sch", "A + B = T", "A = document('original')//Record[1]/A or A > 0")
    frame = pd.DataFrame(numbers(40))
    assert masktron.validate(frame, rules, original=frame).valid
    assert masktron.mask(frame, write_rules(tmp_path / "s.sch", "A + B = T"), k=3).valid
    named = [f"sqlite:{tmp_path}/{name}.sqlite?table=t" for name in ("d", "o")]
    masktron.convert(frame, named[0])
    result = masktron.mask(named[0], tmp_path / "s.sch", named[1], k=3)
    assert masktron.check(named[1], tmp_path / "s.sch", original=named[0], manifest=result.manifest).complies


@pytest.mark.parametrize("text", ["\ufeffA,B\n1,2\n", "A,B\n1,2\n\ufeff3,4\n\ufeff5,6\n"])
def test_a_byte_order_mark_among_the_cells_is_a_character(text: str, tmp_path: Path) -> None:
    path = write_file(tmp_path / "d.csv", b"\xef\xbb\xbf" + text.encode())
    table = CsvFormat().read(path, {})
    require_same(CsvFormat(), path)
    assert text[0] != "\ufeff" or table.variables[0].column == "\ufeffA"


@pytest.mark.parametrize(
    "suffix", ["csv", "parquet", "arrow", "sav", "dta", "xpt", "xlsx", "ods", "sqlite", "duckdb"]
)
def test_a_pipe_is_refused_before_anybody_waits_for_it(suffix: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"p.{suffix}")
    with refused(DocumentError, "not-a-plain-file"):
        masktron.validate(tmp_path / f"p.{suffix}", write_rules(tmp_path / "r.sch", "A = B"))
