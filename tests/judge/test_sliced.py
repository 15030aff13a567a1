"""A file in slices is evaluated as the file is, whoever has the slices, and every report is the same."""

from __future__ import annotations

import pickle
import random
import re
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import Runner
from examples import FULL, examples, parts
from masktron.errors import DocumentError, RulebookError, UsageError
from masktron.executor.local_processes import LocalProcesses
from masktron.executor.which import Serial, executor_of
from masktron.jobs.validate import ValidateRequest, run_validate
from masktron.judge import tiered
from masktron.judge.findings import Finding, Shown
from masktron.judge.request import EvaluationRequest
from masktron.progress import Told, untold
from masktron.report.formats import FORMATS
from masktron.report.outputs import Outputs
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.flat_records import RecordSlice
from masktron.sources.tables import typed_stream
from masktron.sources.tables.separated import csv_stream
from masktron.sources.xml import flatness, plain
from refusals import refused

ISO = 'xmlns="http://purl.oclc.org/dsdl/schematron"'
RULES = f"""<schema {ISO}><pattern>
<rule context="Record"><assert id="R1" test="A + 1 = B">A is <value-of select="A"/></assert>
<report id="R2" test="string-length(C) = 4 and A mod 3 = 1">long</report>
<assert id="R3" test="translate(C, 'é', 'e') != 'eee' or A != 5">C</assert></rule></pattern>
<pattern><rule context="A"><assert id="R4" test=". &lt; 90">A</assert></rule></pattern></schema>"""
ACROSS = f"""<schema {ISO}><pattern><rule context="Record">
<assert id="R1" test="A + 1 = B"/><assert id="R2" test="count(../Record[C = current()/C]) &gt; 1"/>
</rule></pattern></schema>"""
CONTENTS = ("", "5", "89", "90", "x", "&lt;5", "<![CDATA[5]]>", "é", "éé", "ééé", "1e1", "9" * 20)


class Travelling(Serial):
    """An executor to and from which everything travels as bytes, and which says what it was given."""

    def __init__(self) -> None:
        self.slices: list[RecordSlice] = []

    def map[S, R](
        self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
    ) -> Generator[R]:
        assert stage
        there = pickle.loads(pickle.dumps(function))  # noqa: S301 -- our own
        for piece in slices:
            assert isinstance(piece, RecordSlice)
            self.slices.append(piece)
            assert len(pickle.dumps(piece)) < 1000
            yield pickle.loads(pickle.dumps(there(piece)))  # noqa: S301 -- our own


def outcome(request: EvaluationRequest) -> tuple[object, ...]:
    """Return all that is found, and all that the sink gets."""
    sunk: list[Finding] = []
    done: list[int] = []
    found = tiered.evaluate(replace(request, sink=sunk.append, progress=done.append))
    assert done[-1:] == [found.records]
    counts = [values.tolist() for values in (found.fired, found.failed, found.errors)]
    verdicts = None if found.verdicts is None else found.verdicts.tolist()
    return counts, verdicts, found.findings, found.engine, found.records, found.departures, sunk


def requested(path: Path, rules: Path, **options: Any) -> EvaluationRequest:
    found = plain.survey_plain(path, record="Record", block=128)
    assert found is not None
    layout, _, file = found
    shown = Shown(layout.fields[0], (layout.fields,) * 4)
    records = plain.PlainRecords(path, layout, file)
    return EvaluationRequest(path, read_rules(rules), layout, records, shown=shown, **options)


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.sch"
    path.write_text(RULES, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@examples(8, full=300)
@given(
    cells=st.lists(st.tuples(*[st.sampled_from(CONTENTS)] * 3), min_size=4, max_size=40),
    between=st.sampled_from(("\n", "", "\n\n <!-- é --> ", "\r\n")),
    size=st.sampled_from((1, 200, 700)),
    codec=st.sampled_from(("utf-8", "iso-8859-1")),
    limit=st.sampled_from((None, 0, 2)),
    verdicts=st.booleans(),
)
def test_slices_say_what_the_file_says(
    rules: Path,
    folder: Path,
    cells: list[tuple[str, str, str]],
    between: str,
    size: int,
    codec: str,
    limit: int | None,
    verdicts: bool,
) -> None:
    rows = [f"<Record id='{i}'><A>{a}</A><B>{b}</B><C>{c}</C></Record>" for i, (a, b, c) in enumerate(cells)]
    path = folder / "data.xml"
    text = f'<?xml version="1.0" encoding="{codec}"?><Data>\n{between.join(rows)}</Data>'
    path.write_bytes(text.encode(codec))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flatness, "SLICED", size)
        request = requested(path, rules, limit=limit, keep_verdicts=verdicts)
    executor = Travelling()
    assert outcome(replace(request, executor=executor)) == outcome(request)
    slices = request.flat.slices() if request.flat else ()
    assert executor.slices == (list(slices) if len(slices) > 1 else [])
    assert sum(piece.records for piece in slices) == len(rows)


LONG = "D" * 250
"""A name that makes a file of few records large."""


def large(folder: Path) -> dict[str, Path]:
    """Write a file of each format, as large as is read in slices."""
    found = {name: folder / f"large.{name}" for name in ("xml", "csv", "parquet")}
    if not found["xml"].exists():
        number = np.arange(9_000)
        texts = ["é" * (k % 5) or None for k in range(len(number))]
        a, b = number % 97, np.where(number % 1009, number % 97 + 1, 3)
        table = pa.table({"A": a, "B": b, "C": texts, LONG: number})
        pyarrow.parquet.write_table(table, found["parquet"], row_group_size=5_000)
        pyarrow.csv.write_csv(table, found["csv"], pyarrow.csv.WriteOptions(quoting_style="needed"))
        rows = (
            f"<Record><A>{x}</A><B>{y}</B>{f'<C>{c}</C>' if c else ''}<{LONG}>{d}</{LONG}></Record>\n"
            for x, y, c, d in zip(a.tolist(), b.tolist(), texts, number.tolist(), strict=True)
        )
        found["xml"].write_text(f"<Data>\n{''.join(rows)}</Data>", encoding="utf-8")
    return found


@pytest.fixture(scope="module", autouse=True)
def _small_slices() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flatness, "SLICED", 1 << 20)
        patch.setattr(typed_stream, "_SLICED", 1 << 11)
        patch.setattr(csv_stream, "_BLOCK", 1 << 14)
        yield


WRITTEN = tuple(FORMATS) if FULL else ("svrl", "csv", "json", "sarif")


def reports(folder: Path, data: Path, rules: Path, executor: Any, limit: int | None = 7) -> dict[str, bytes]:
    """Return every report of a run by its format, without the time of the run."""
    folder.mkdir(exist_ok=True)
    outputs = Outputs({name: folder / name for name in WRITTEN}, limit)
    run_validate(data, ValidateRequest(rules, outputs=outputs, limit=limit), executor=executor)
    found = {name: (folder / name).read_bytes() for name in WRITTEN}
    return {name: re.sub(rb' (?:timestamp|time)="[^"]*"', b"", text) for name, text in found.items()}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", parts(("xml", "parquet", "csv"), 2))
def test_reports_are_the_same_bytes(folder: Path, rules: Path, tmp_path: Path, name: str) -> None:
    data, executor = large(folder)[name], Travelling()
    whole = reports(tmp_path / "whole", data, rules, None)
    assert reports(tmp_path / "sliced", data, rules, executor) == whole
    assert b"R1" in whole["csv"]
    assert len(executor.slices) > 2


@pytest.mark.full
@pytest.mark.parametrize("name", ["xml", "csv", "parquet"])
@pytest.mark.parametrize(("kind", "workers"), [("local", 2), ("local", 4), ("dask", 1), ("dask", 2), ("dask", 4)])
def test_reports_are_the_same_bytes_for_any_workers(
    folder: Path, rules: Path, tmp_path: Path, name: str, kind: Any, workers: int
) -> None:
    if kind == "dask":
        pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    data = large(folder)[name]
    sliced = reports(tmp_path / "sliced", data, rules, executor_of(kind, workers=workers), None)
    assert sliced == reports(tmp_path / "whole", data, rules, None, None)


@pytest.mark.full
def test_processes_give_the_bytes_of_one(
    folder: Path, rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = large(folder)["xml"]
    outs = [tmp_path / "one.json", tmp_path / "two.json"]
    for out, more in zip(outs, ([], ["--workers", "2"]), strict=True):
        done = Runner(capsys)("validate", str(data), "--rules", str(rules), *more, "--json", str(out))
        assert done.code == 1, done.err
    assert outs[0].read_bytes() == outs[1].read_bytes()


@pytest.mark.full
def test_workers_that_are_killed_change_nothing(folder: Path, rules: Path, tmp_path: Path) -> None:
    data = large(folder)["xml"]
    whole = reports(tmp_path / "whole", data, rules, None, None)
    for seed in range(5):
        drawn, over = random.Random(seed), threading.Event()
        executor = LocalProcesses(2)

        def kill(
            drawn: random.Random = drawn, over: threading.Event = over, executor: LocalProcesses = executor
        ) -> None:
            while not executor._processes and not over.wait(0.01):
                pass
            over.wait(drawn.uniform(0, 4))  # while it starts, compiles or evaluates
            for process in list(executor._processes)[:1]:
                process.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        found = reports(tmp_path / "killed", data, rules, executor, None)
        over.set()
        killer.join()
        assert found == whole


def test_rules_across_records_go_as_before(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "across.sch"
    path.write_text(ACROSS)
    executor = Travelling()
    data = large(folder)["xml"]
    assert reports(tmp_path / "sliced", data, path, executor) == reports(tmp_path / "whole", data, path, None)
    assert executor.slices == []


@pytest.mark.full
def test_a_doubt_that_one_slice_alone_has_is_no_doubt(tmp_path: Path, rules: Path) -> None:
    """Commas in numbers are refused where a column has nothing else, which no slice knows."""
    rows = [f"{i % 97};{i % 97 + 1};{i % 10},5;x\n" for i in range(9_000)]
    data = tmp_path / "data.csv"
    executor = Travelling()
    data.write_text(f"A;B;C;{LONG}\n{''.join(rows)}")
    with refused(DocumentError, "unclear-numbers"):
        run_validate(data, ValidateRequest(rules), executor=executor)
    assert len(executor.slices) > 2
    data.write_text(f"A;B;C;{LONG}\n{''.join(rows)}1;2;x;y\n")
    assert run_validate(data, ValidateRequest(rules), executor=executor).records == len(rows) + 1


def test_a_file_that_changes_is_refused(folder: Path, rules: Path, tmp_path: Path) -> None:
    class Changing(Travelling):
        def map[S, R](
            self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
        ) -> Generator[R]:
            data.write_bytes(data.read_bytes() + b"\n")
            return super().map(function, slices, stage=stage)

    for name, path in large(folder).items():
        data = tmp_path / f"data.{name}"
        data.write_bytes(path.read_bytes())
        with pytest.raises(DocumentError, match="changed"):
            run_validate(data, ValidateRequest(rules), executor=Changing())


def test_a_rule_that_no_engine_takes_is_refused_before_anything_is_done(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.sch"
    path.write_text(
        f'<schema {ISO} queryBinding="xslt2"><pattern><rule context="Record">'
        '<assert id="R1" test="no:such(A)"/></rule></pattern></schema>'
    )
    executor = Travelling()
    with pytest.raises(RulebookError):
        run_validate(large(folder)["xml"], ValidateRequest(path), executor=executor)
    assert executor.slices == []


def test_options_that_do_not_fit(folder: Path, rules: Path) -> None:
    data = large(folder)["csv"]
    with refused(UsageError, "needs-setting"):
        masktron.validate(data, rules, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match="executor must be one of local, dask, not 'spark'"):
        masktron.validate(data, rules, executor="spark")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="workers must be at least 1"):
        masktron.validate(data, rules, workers=0)
