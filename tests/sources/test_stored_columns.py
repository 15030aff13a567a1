"""Columns in files of a folder are those in memory, whatever the format, and take no memory of their own."""

from __future__ import annotations

import errno
import functools
import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from masktron.errors import DocumentError
from masktron.sources.array_stores import FolderStore
from masktron.sources.column import Status
from masktron.sources.dataset import Dataset
from masktron.sources.opening import open_source
from masktron.sources.tables import table_source, typed_stream
from masktron.sources.tables.separated import csv_stream
from masktron.sources.xml import table, xml_source
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import survey_plain
from refusals import refused

ROWS = 3000
CODES = {"V1": frozenset({"7.5"}), "*": frozenset({"none"})}


def document(path: Path, rows: int = ROWS) -> Path:
    cells = (
        f"<V1>{row % 11}.5</V1><V2>{row}</V2>"
        + ("" if row % 3 else f"<V3>{'none' if row % 2 else 'é' * (row % 5)}</V3>")
        for row in range(rows)
    )
    path.write_text("<f>" + "\n".join(f"<r>{cell}</r>" for cell in cells) + "</f>")
    return path


def same(one: Dataset, other: Dataset) -> None:
    assert one.lines.tolist() == other.lines.tolist()
    assert list(one.columns) == list(other.columns)
    for name, column in one.columns.items():
        second = other.columns[name]
        assert column.lexemes.tolist() == second.lexemes.tolist()
        assert column.status.tolist() == second.status.tolist()
        assert np.array_equal(column.values, second.values, equal_nan=True)
        assert (column.variable, column.decimals) == (second.variable, second.decimals)
        assert column.numbered().tolist() == second.numbered().tolist()
        assert column.ranked()[1].tolist() == second.ranked()[1].tolist()
        assert column.same_texts(second).all()


@pytest.mark.parametrize("most", [1 << 19, 100])
def test_a_plain_file_is_read_into_a_folder(tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "iter_batches", functools.partial(table.iter_batches, rows=70))
    path = document(tmp_path / "data.xml")
    found = survey_plain(path)
    assert found is not None
    layout, _, plain = found
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    store = FolderStore(folder, most_texts=most)
    stored = read_records(path, layout, missing=CODES, plain=plain, store=store)
    assert list(folder.iterdir()) == []
    assert stored.columns["V2"].lexicon.distinct == (most > ROWS)
    assert (stored.columns["V1"].status == Status.CODE).any()
    same(stored, read_records(path, layout, missing=CODES, plain=plain))


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_stream, "_BLOCK", 400)
    monkeypatch.setattr(typed_stream, "_ROWS", 30)
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)


@pytest.mark.usefixtures("in_blocks")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_is_read_into_a_folder(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = range(200)
    written = pa.table(
        {
            "V1": pa.array([(row % 11) + 0.5 if row % 7 else None for row in rows], pa.float64()),
            "V2": pa.array([f"<a&{row}>" for row in rows]),
            "V3": pa.array(["none" if row % 2 else str(row % 5) for row in rows]),
        }
    )
    path = tmp_path / f"data.{suffix}"
    if suffix == "csv":
        pa.csv.write_csv(written, path)
    else:
        pq.write_table(written, path)
    codes = CODES | {"V3": frozenset({"3.0", "4"})}
    folder = tmp_path / "folder"
    folder.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(table_source.TableSource, "table", None)  # the whole of it is not read
        stored = open_source(path).records(missing=codes, storage=folder)
    assert list(folder.iterdir()) == []
    same(stored, open_source(path).records(missing=codes))
    assert stored.columns["V3"].texts(Status.CODE)


def test_an_xml_source_reads_into_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = document(tmp_path / "data.xml", 300)
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)
    used: list[FolderStore] = []
    monkeypatch.setattr(xml_source, "FolderStore", lambda folder: used.append(FolderStore(folder)) or used[-1])
    source = open_source(path)
    same(source.records(missing=CODES, storage=tmp_path), source.records(missing=CODES))
    assert len(used) == 1


def test_files_are_their_owners_alone_and_go_where_reading_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = FolderStore(tmp_path).growing(np.int32)
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    with monkeypatch.context() as patch:
        written = os.write
        patch.setattr(os, "write", lambda descriptor, octets: written(descriptor, octets[:5]))
        growing.add(np.arange(3))
    growing.add(np.arange(2))
    whole = growing.whole()
    whole[0] = 9
    assert (whole.tolist(), list(tmp_path.iterdir())) == ([9, 1, 2, 0, 1], [])
    other = FolderStore(tmp_path).growing(np.int32)
    assert list(tmp_path.iterdir())
    del other
    assert list(tmp_path.iterdir()) == []
    assert FolderStore(tmp_path).growing(np.float64).whole().tolist() == []


def test_a_full_disk_is_one_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = document(tmp_path / "data.xml")
    found = survey_plain(path)
    assert found is not None
    layout, _, plain = found
    folder = tmp_path / "folder"
    folder.mkdir()
    written, left = os.write, [20_000]

    def write(descriptor: int, octets: memoryview) -> int:
        left[0] -= len(octets)
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(descriptor, octets[:1000])

    monkeypatch.setattr(os, "write", write)
    with refused(DocumentError, "no-temporary-file") as caught:
        read_records(path, layout, plain=plain, store=FolderStore(folder))
    monkeypatch.undo()
    assert caught.value.where == str(folder)
    del caught
    gc.collect()  # frames of the context manager, which hold the error
    assert list(folder.iterdir()) == []


SCRIPT = """
import ctypes, re, sys
from pathlib import Path
from masktron.memory import give_back_freed
from masktron.sources.array_stores import FolderStore
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import survey_plain

give_back_freed()
path, folder, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
layout, _, plain = survey_plain(path)

def anonymous():
    getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)(0)  # what is freed and kept for later is not held
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

read = lambda store: read_records(path, layout, plain=plain, store=store)
read(FolderStore(folder))
before = anonymous()
records = read(FolderStore(folder) if how == "stored" else None)
print((anonymous() - before) / len(records))
"""


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="/proc tells what memory is anonymous")
def test_what_is_stored_takes_no_memory_of_its_own(tmp_path: Path) -> None:
    path = document(tmp_path / "data.xml", 60_000)

    def bytes_of_a_record(how: str) -> float:
        arguments = [sys.executable, "-c", SCRIPT, str(path), str(tmp_path), how]
        return float(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)

    assert bytes_of_a_record("in memory") > 30
    assert bytes_of_a_record("stored") < 10
