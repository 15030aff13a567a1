"""Tables that are written without being in memory: the bytes are those of tables that are."""

from __future__ import annotations

import datetime
import decimal
import errno
import gc
import io
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from cli_runner import Runner, write_rules
from made_columns import new_column
from masktron import memory
from masktron.errors import DocumentError, UsageError
from masktron.sources.column import Column
from masktron.sources.opening import open_source
from masktron.sources.source import Source
from masktron.sources.tables import arrow_files, spilled, table_source, typed_stream
from masktron.sources.tables.separated import csv_stream, writing
from masktron.sources.tables.two_readings import ComparedBlocks
from masktron.sources.xml import wellformed
from refusals import problem_of, refused

ROWS = 400
ALL = 1 << 60
SUFFIXES = ["csv", "parquet", "arrow", "arrows"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Blocks of a few records, and a folder for temporary files."""
    for module, name, size in (
        (csv_stream, "_BLOCK", 900),
        (typed_stream, "_ROWS", 30),
        (typed_stream, "_ROWS", 30),
        (arrow_files, "_BLOCK", 64),
        (spilled, "_AT_ONCE", 16),
        (writing, "_ROWS", 70),
        (wellformed, "SMALLEST", 0),
    ):
        monkeypatch.setattr(module, name, size)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def table(rows: int = ROWS) -> pa.Table:
    some = range(rows)
    values = pa.table(
        {
            "A": pa.array([row % 11 if row % 7 else None for row in some], pa.int16()),
            "B": pa.array([f'<é, "{row}">' if row % 5 else None for row in some]),
            "C": pa.array([decimal.Decimal(row) / 4 for row in some], pa.decimal128(9, 2)),
            "D": pa.array([datetime.date(2020, 1, 1 + row % 28) for row in some]),
            "E": pa.array([row / 3 for row in some], pa.float64()),
            "F": pa.array([row % 2 == 0 for row in some]),
            "G": pa.array([f"t{row % 9}" for row in some], pa.large_string()),
        }
    )
    said = [field.with_metadata({"said of": field.name}) for field in values.schema]
    return values.cast(pa.schema(said))


def written(path: Path, suffix: str, values: pa.Table) -> Path:
    if suffix == "csv":
        pa.csv.write_csv(values, path)
    elif suffix == "parquet":
        pq.write_table(values, path, row_group_size=150, compression="zstd")
    elif suffix == "arrow":
        pa.feather.write_feather(values, path, chunksize=130, compression="lz4")
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, values.schema) as stream:
            stream.write_table(values, max_chunksize=90)
    return path


def opened(path: Path, *, streamed: bool) -> Source:
    return open_source(path, whole=True, memory=0 if streamed else ALL)


def codes(size: int, texts: list[str | None], seed: int) -> Column:
    drawn = np.random.default_rng(seed).integers(0, len(texts), size)
    return new_column(np.array(texts, dtype=np.object_), drawn.astype(np.intp))


def put(path: Path, target: Path, *, streamed: bool, **how: object) -> bytes:
    new = {
        "A": codes(ROWS, ["3", "12", *map(str, range(40)), None], 1),
        "B": codes(ROWS, ['"', "a,b", None, "<x>"], 2),
        "C": codes(ROWS, ["1.25", "7"], 3),
    }
    done = []
    source = opened(path, streamed=streamed)
    keep = how.get("keep")
    records = source.write(target, new, told=lambda at, of: done.append((at, of)), **how)  # type: ignore[arg-type]
    assert records == (ROWS if keep is None else np.count_nonzero(keep))  # type: ignore[call-overload]
    assert all(at == of for at, of in done[-1:])
    return target.read_bytes()


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_are_those_of_a_table_in_memory(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch, small_blocks: Path
) -> None:
    path = written(tmp_path / f"data.{suffix.rstrip('s')}", suffix, table())
    random = np.random.default_rng(5)
    order = random.permutation(ROWS).astype(np.intp)
    ways: list[dict[str, object]] = [
        {},
        {"order": order, "removed": ("B", "E")},
        {"order": order, "removed": ("D", "E", "F", "G")},
        {"order": order, "keep": random.random(ROWS) < 0.6},
        {"keep": np.zeros(ROWS, dtype=np.bool_)},
    ]
    for how in ways:
        whole = put(path, tmp_path / f"a.{path.suffix}", streamed=False, **how)
        with monkeypatch.context() as patch:
            if path.suffix != ".arrow":
                patch.setattr(table_source.TableSource, "table", None)  # the whole of it is not read
            assert put(path, tmp_path / f"b.{path.suffix}", streamed=True, **how) == whole
    assert list(small_blocks.iterdir()) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_seen_is_that_of_a_table_in_memory(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / f"data.{suffix.rstrip('s')}", suffix, table())
    whole = opened(path, streamed=False)
    texts = {name: column.lexemes.tolist() for name, column in whole.records().columns.items()}
    twin = whole.document_path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(table_source.TableSource, "table", None)
        source = opened(path, streamed=True)
        assert {name: column.lexemes.tolist() for name, column in source.records().columns.items()} == texts
        assert source.document_path.read_bytes() == twin
        assert source.beside_columns > 2 * len(twin)
        assert (source.notes, source.own_variables) == (whole.notes, whole.own_variables)
        assert [source.place(at, 1, 1) for at in (-1, 0, 77)] == [whole.place(at, 1, 1) for at in (-1, 0, 77)]


@pytest.mark.full
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_masked_files_and_manifests_are_the_same(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random = np.random.default_rng(8)
    first, second = random.integers(0, 90, (2, 150))
    values = pa.table({"A": first, "B": second, "T": first + second, "R": random.integers(0, 3, 150)})
    path = written(tmp_path / f"data.{suffix}", suffix, values)
    rules = write_rules(tmp_path / "rules.sch", "T = A + B", "sum(../Record/A) >= 0")
    key = tmp_path / "key"
    key.write_text("c3e1a098eca45ebbe3922d2342d74ac158d7c076218c891e2c0c478edfaeb9a8", encoding="ascii")
    masktron = Runner(capsys)
    found = []
    for name in ("held", "streamed"):
        if name == "streamed":
            monkeypatch.setattr(memory, "COLUMN_SHARE", ALL)
            monkeypatch.setattr(table_source.TableSource, "table", None)
        out, manifest = tmp_path / f"{name}.{suffix}", tmp_path / f"{name}.json"
        said = masktron(
            *("mask", path, "--rules", rules, "--out", out, "--manifest", manifest, "-k", 3, "--secret", key),
            *("--role", "R=untouched", "--workers", 1),
        )
        assert said.code == 0, said.err
        said = masktron("check", out, "--rules", rules, "--original", path, "--manifest", manifest)
        assert said.code == 0, said.err
        found.append(out.read_bytes())
    assert found[0] == found[1]
    said = masktron("assess", out, "--original", path, "--manifest", manifest)
    assert said.code == 0, said.err


def test_a_value_that_does_not_fit_is_refused(tmp_path: Path, small_blocks: Path) -> None:
    path = written(tmp_path / "data.parquet", "parquet", table())
    source = opened(path, streamed=True)
    target = tmp_path / "out.parquet"
    with refused(UsageError, "new-value-does-not-fit", field="A") as caught:
        source.write(target, {"A": codes(ROWS, ["1", "70000"], 1)})
    assert "70000" not in str(caught.value)
    assert not target.exists()
    with refused(UsageError, "no-column-left"):
        source.write(target, {}, removed=table().column_names)
    del caught
    assert list(small_blocks.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_room_is_required_before_anything_is_written(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch, small_blocks: Path
) -> None:
    path = written(tmp_path / f"data.{suffix.rstrip('s')}", suffix, table())
    source = opened(path, streamed=True)
    source.layout  # noqa: B018 -- the survey
    target = tmp_path / "out"
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    with refused(DocumentError, "cannot-write") as caught:
        source.write(target, {})
    assert "writing a file like data" in problem_of(caught.value).references["reason"]
    assert not target.exists()
    with refused(DocumentError, "cannot-write") as caught:
        source.document_path  # noqa: B018
    assert "what engines read of data" in problem_of(caught.value).references["reason"]
    del caught
    del source
    assert list(small_blocks.glob("*/*")) == []


class FullDisk(io.BytesIO):
    """A file on a disk that has room for some writes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def write(self, octets: Any) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= 1
        return len(octets)


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_full_disk_is_one_error_and_leaves_nothing(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch, small_blocks: Path
) -> None:
    path = written(tmp_path / f"data.{suffix}", suffix, table())

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    source = opened(path, streamed=True)
    source.layout  # noqa: B018 -- the survey
    real = Path.open
    for room in range(3):  # for nothing, for the beginning, for a block

        def small(path: Path, *how: Any, room: int = room, **more: Any) -> Any:
            return FullDisk(room) if path.name == "document.xml" else real(path, *how, **more)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", small)
            with refused(DocumentError, "no-temporary-file", reason="No space left on device"):
                source.document_path  # noqa: B018
    part: tuple[object, str] = (spilled.SpilledRows, "some") if suffix == "parquet" else (os, "write")
    with monkeypatch.context() as patch:
        patch.setattr(*part, fail)
        with refused(DocumentError, "no-temporary-file"):
            source.write(tmp_path / "out", {"A": codes(ROWS, ["1"], 1)})
    assert source.document_path.stat().st_size > ROWS  # it can be written now
    del source
    gc.collect()  # errors and their frames
    assert list(small_blocks.iterdir()) == []


def test_an_original_that_cannot_be_read_is_not_blamed_on_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = opened(written(tmp_path / "data.csv", "csv", table()), streamed=True)
    source.layout  # noqa: B018 -- the survey

    def broken(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO), "data.csv")

    monkeypatch.setattr(csv_stream.FileText, "part", broken)
    with pytest.raises(OSError, match=r"Input/output error: 'data\.csv'"):
        source.document_path  # noqa: B018


def test_readings_are_compared_whatever_their_blocks() -> None:
    def blocks(*sizes: int, texts: str = "abcdefgh") -> list[list[pa.Array]]:
        at, found = 0, []
        for size in sizes:
            found.append([pa.array(list(texts[at : at + size]))])
            at += size
        return found

    def compare(own: list[list[pa.Array]], other: list[list[pa.Array]]) -> None:
        compared = ComparedBlocks(iter(own), ["V"], "d.csv")
        for block in other:
            compared.take(block)
        compared.end()

    compare(blocks(3, 0, 5), blocks(1, 6, 1))
    for own, other in ((blocks(3, 5), blocks(4, 3)), (blocks(3, 4), blocks(8))):
        with refused(DocumentError, "readings-differ", what="the number of records"):
            compare(own, other)
    with refused(DocumentError, "readings-differ", what="V", where="d.csv, record 7"):
        compare(blocks(3, 5), blocks(4, 4, texts="abcdefxh"))


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_treated_records_are_written_like_the_file_that_they_come_from(tmp_path: Path, suffix: str) -> None:
    """Streamed or in memory, treated once or twice: the bytes are those of a file that is written at once."""
    path = written(tmp_path / f"data.{suffix.rstrip('s')}", suffix, table())
    random = np.random.default_rng(7)
    keep, order = random.random(ROWS) < 0.7, random.permutation(ROWS).astype(np.intp)
    first = {"A": codes(ROWS, ["3", "12", None], 1), "G": codes(ROWS, ["t1", "t2"], 4)}
    then = {"B": codes(ROWS, ["a,b", None], 2), "A": codes(ROWS, ["5", None], 5)}
    masked = {"C": codes(ROWS, ["1.25", "7"], 3)}
    expected = tmp_path / f"expected.{suffix.rstrip('s')}"
    opened(path, streamed=False).write(
        expected, {**first, **then, **masked}, keep=keep, order=np.array([*order[keep[order]], *order[~keep[order]]])
    )
    place = np.cumsum(keep) - 1  # of a kept record among those that are kept
    for streamed in (False, True):
        source = opened(path, streamed=streamed)
        records = source.records()
        one = source.treated(records.with_columns(first), first, keep, tmp_path)
        again = one.records().with_columns({name: column.taken(keep) for name, column in then.items()})
        two = one.treated(again, then, np.ones(len(again), dtype=np.bool_), tmp_path)
        assert two.reading_options == source.reading_options
        assert two.place(0, 1, 1) == (int(records.lines[keep][0]), 0)
        target = tmp_path / f"out.{suffix.rstrip('s')}"
        new = {name: column.taken(keep) for name, column in masked.items()}
        assert two.write(target, new, order=place[order[keep[order]]]) == np.count_nonzero(keep)
        assert target.read_bytes() == expected.read_bytes(), streamed
