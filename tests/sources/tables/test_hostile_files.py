"""Files made to fill the memory, to take for ever, to crash a library or to reach something beside them."""

from __future__ import annotations

import gzip
import io
import os
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import masktron
from cli_runner import write_file
from fuzzed_files import damaged, honest_files
from made_columns import cells_of
from masktron import memory
from masktron.addresses import path_of
from masktron.errors import DocumentError, ResourceError, UsageError
from masktron.memory import bounded_memory
from masktron.sources.opening import open_source
from masktron.sources.tables import database_files
from masktron.sources.tables.separated.csv_format import CsvFormat
from ods_files import write_ods
from read_apart import reader
from refusals import refused

ENDLESS = "CREATE VIEW data AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT {} FROM r"
LARGE = 100 << 20


def read(path: Path) -> int:
    """Read a file both ways, and return its number of records."""
    source = open_source(path)
    assert source.document_path.is_file()
    return len(source.records())


def zstd(content: bytes) -> bytes:
    made = pa.BufferOutputStream()
    with pa.CompressedOutputStream(made, "zstd") as stream:
        stream.write(content)
    return bytes(made.getvalue())


@pytest.mark.few(1)
@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_what_unpacks_beyond_measure_is_refused(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"a.csv.{'gz' if pack is gzip.compress else 'zst'}"
    path.write_bytes(pack(b"A\n" + b"1\n" * (LARGE // 2)))
    with refused(DocumentError, "unpacks-too-large"):
        read(path)
    # as repetitive, and honest: what is small may be packed as well as can be
    path.write_bytes(pack(b"A\n" + b"1\n" * 20_000))
    assert read(path) == 20_000


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only 128 MiB be free."""
    monkeypatch.setattr(memory, "_LEAST", 128 << 20)
    monkeypatch.setattr(memory, "free_memory", lambda: 0)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_what_fits_unpacked_is_read_where_200_times_its_size_does_not(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a.csv.{'gz' if pack is gzip.compress else 'zst'}"
    numbers = np.random.default_rng(1).integers(10**9, 10**10, 1 << 18)
    path.write_bytes(pack(b"A\n" + "\n".join(map(str, numbers)).encode()))
    assert 200 * path.stat().st_size > 128 << 20
    assert len(open_source(path).table) == 1 << 18


def read_too_much_with_duckdb(path: Path) -> None:
    from masktron.sources.tables.duckdb_files import _duckdb_errors

    with _duckdb_errors(str(path), query=False), closing(duckdb.connect()) as connection:
        connection.execute("SET memory_limit = '1MB'")
        connection.execute("SELECT list(range) FROM range(10000000)").fetchall()


def read_too_much_with_arrow(path: Path) -> None:
    try:
        pa.allocate_buffer(1 << 50)
    except pa.ArrowException as error:
        raise DocumentError("cannot read this", where=str(path)) from error


def read_too_much_with_numpy(path: Path) -> None:
    del path
    np.zeros(1 << 50)


def start_too_many_threads(path: Path) -> None:
    # what Arrow says where the system refuses a thread
    said = "Unknown error: Failed to launch worker thread: Resource temporarily unavailable"
    raise DocumentError("cannot read this", where=str(path)) from pa.ArrowException(said)


@pytest.mark.parametrize(
    "fail",
    [read_too_much_with_duckdb, read_too_much_with_arrow, read_too_much_with_numpy, start_too_many_threads],
)
def test_a_reader_without_memory_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail: Callable[[Path], None]
) -> None:
    path = write_file(tmp_path / "a.csv", "A\n1\n")
    monkeypatch.setattr(CsvFormat, "read", lambda _, place, options: fail(place))
    with refused(ResourceError, "out-of-memory", where=path):
        open_source(path).require_readable()


def test_the_limit_on_memory_ends_with_the_last_reader() -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with bounded_memory():
        bound = resource.getrlimit(resource.RLIMIT_DATA)
        assert bound != before
        with bounded_memory():
            assert resource.getrlimit(resource.RLIMIT_DATA) == bound
        assert resource.getrlimit(resource.RLIMIT_DATA) == bound
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


CRASHING = """
import os, signal, sys
from masktron.sources.tables.separated.csv_format import CsvFormat
if "crash" in os.environ:
    CsvFormat.read = lambda *_: os.kill(os.getpid(), signal.SIGSEGV)
from masktron.__main__ import start
start()
"""


def test_a_library_that_crashes_is_an_error_of_the_file(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.csv", "A\n1\n")
    command = [sys.executable, "-c", CRASHING, "convert", str(path), "--out", str(tmp_path / "out.csv")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "crash": "1"}, check=False)
    assert done.returncode == 4, done.stderr
    assert "a.csv: the library that reads this file crashed (SIGSEGV); nothing was written" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


def database(path: Path, *statements: str) -> Path:
    opened = duckdb.connect(str(path)) if path.suffix == ".duckdb" else sqlite3.connect(path)
    with closing(opened) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", ["duckdb", "sqlite"])
@pytest.mark.parametrize("counted", [False, True])
def test_a_view_without_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, counted: bool
) -> None:
    monkeypatch.setattr(database_files, "SECONDS", 0.5)
    path = database(tmp_path / f"a.{suffix}", ENDLESS.format("count(*) AS n" if counted else "n"))
    begun = time.monotonic()
    with refused(ResourceError, "database-too-slow"):
        read(path)
    assert time.monotonic() - begun < 60
    assert sorted(one.name for one in tmp_path.iterdir()) == [f"a.{suffix}"]


@pytest.mark.parametrize("suffix", ["duckdb", "sqlite"])
def test_a_table_has_no_limit_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr(database_files, "SECONDS", 0.0)
    monkeypatch.setattr(database_files, "BYTES_A_SECOND", 1 << 60)
    digits = "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4)"
    rows = f"SELECT a.n FROM {', '.join(f'{digits} {name}' for name in 'abcdefg')}"  # noqa: S608
    path = database(tmp_path / f"a.{suffix}", f"CREATE TABLE data AS {rows}")
    assert len(open_source(path).table) == 5**7


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("a.duckdb", "SELECT * FROM read_csv('/etc/passwd', delim=':', header=false)"),
        ("a.duckdb", "SELECT content FROM read_text('/etc/passwd')"),
        ("a.duckdb", "SELECT file FROM glob('/etc/*')"),
        ("a.sqlite", "SELECT load_extension('x') AS n"),
        ("a.sqlite", "SELECT fts3_tokenizer('simple') AS n"),
        ("a.sqlite", "SELECT name, path FROM dbstat"),
    ],
)
def test_a_view_reaches_nothing_beside_its_file(tmp_path: Path, name: str, view: str) -> None:
    path = database(tmp_path / name, f"CREATE VIEW data AS {view}")
    with refused(DocumentError, "file-damaged" if name.endswith("sqlite") else "database-error"):
        read(path)


def test_no_name_makes_duckdb_load_an_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = database(tmp_path / "a.duckdb", "CREATE TABLE data AS SELECT 1 AS n")
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path / "n.csv", "n\n1\n")
    for name in ("md:b.duckdb", "sqlite:c.duckdb"):
        Path(name).write_bytes(made.read_bytes())
        assert len(open_source(Path(name)).table) == 1
        out = path_of(f"duckdb:{name}?table=more")
        masktron.convert("n.csv", out)
        assert len(open_source(out).table) == 1
    monkeypatch.setattr(duckdb, "connect", lambda *_, **__: pytest.fail("DuckDB was asked"))
    other = database(tmp_path / "other.sqlite", "CREATE TABLE data(n)")
    other.rename("d.duckdb")
    for place in (Path("d.duckdb"), path_of("duckdb:d.duckdb?table=data")):
        with refused(DocumentError, "file-damaged"):
            read(place)
    with refused(DocumentError, "file-damaged"):
        masktron.convert("n.csv", path_of("duckdb:d.duckdb?table=new"))


def test_a_query_cannot_open_what_was_shut(tmp_path: Path) -> None:
    path = database(tmp_path / "a.duckdb", "CREATE TABLE data AS SELECT 1 AS n")
    from masktron.sources.tables.duckdb_files import _duckdb

    with _duckdb(path, query=False) as connection:
        for setting in (
            "enable_external_access = true",
            "temp_directory = '/tmp'",
            "autoload_known_extensions = true",
        ):
            with pytest.raises(duckdb.Error, match="configuration has been locked"):
                connection.execute(f"SET {setting}")
        assert connection.execute("SELECT current_setting('temp_directory')").fetchone() == ("",)


def spanning(path: Path, part: str, before: bytes, after: bytes) -> Path:
    """Write a workbook of one cell, with a part changed."""
    source = write_file(path.with_name("a.csv"), "A\n1\n")
    masktron.convert(source, path)
    replace_part(path, part, before, after)
    return path


def replace_part(path: Path, part: str, before: bytes, after: bytes) -> None:
    """Replace bytes in a part of a workbook."""
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name)
            assert name != part or before in text
            new.writestr(name, text.replace(before, after) if name == part else text)


def test_a_sheet_that_spans_more_than_it_fills_is_refused(tmp_path: Path) -> None:
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    workbook = spanning(tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", b"</sheetData>", far)
    with refused(DocumentError, "file-not-supported", where=f"{workbook}, sheet 'Data'"):
        read(workbook)
    cell = b'<table:table-cell table:number-columns-repeated="16000"'
    workbook = tmp_path / "a.ods"
    write_ods(workbook, [["A"], [1]])
    replace_part(workbook, "content.xml", b"<table:table-cell", cell)
    row = b'<table:table-row table:number-rows-repeated="900000"'
    replace_part(workbook, "content.xml", b"<table:table-row", row)
    with refused(DocumentError, "file-not-supported"):
        read(workbook)


def test_the_bound_of_a_sheet_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ods"
    write_ods(path, [["A"], *[[1]] * 50])
    calls: list[int] = []
    before = zipfile.ZipFile.infolist
    monkeypatch.setattr(zipfile.ZipFile, "infolist", lambda archive: (calls.append(1), before(archive))[1])
    assert read(path) == 50
    assert len(calls) < 50


@pytest.mark.parametrize(
    "said",
    [
        b'{"columns": ["a"], "index_columns": []}',
        b'{"columns": [], "index_columns": [{"kind": "range", "start": 0, "stop": 9, "step": 0}]}',
        b'{"columns": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=["texts", "step", "deep"],
)
def test_what_pandas_never_said_is_not_taken_for_its_word(tmp_path: Path, said: bytes) -> None:
    table = pa.table({"a": [1, 2], "b": [3, 4]}).replace_schema_metadata({b"pandas": said})
    pq.write_table(table, tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet")
    assert len(source.records()) == 2
    source.write(tmp_path / "b.parquet", {}, keep=np.array([True, False]))
    assert read(tmp_path / "b.parquet") == 1


def test_numbers_and_depth_in_settings_and_metadata_are_errors_of_theirs(tmp_path: Path) -> None:
    digits = "9" * 100_000
    (tmp_path / "a.csv").write_text("A\n1\n")
    (tmp_path / "a.toml").write_text(f"seed = {digits}")
    with refused(UsageError, "not-toml"):
        masktron.load_config(tmp_path / "a.toml")
    (tmp_path / "a.json").write_text(f'{{"fields": {digits}}}')
    with refused(DocumentError, "bad-description"):
        masktron.describe(tmp_path / "a.csv", metadata=tmp_path / "a.json")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return honest_files(tmp_path_factory.mktemp("honest"))


def lying(content: bytes, at: int, value: bytes) -> bytes:
    return content[:at] + value + content[at + len(value) :]


def test_a_count_of_variables_that_lies_is_refused_at_once(tmp_path: Path, honest: dict[str, bytes]) -> None:
    content = honest["made.xpt"]
    (tmp_path / "a.xpt").write_bytes(lying(content, content.index(b"NAMSTV8") - 20 + 48, b"0999999999"))
    begun = time.monotonic()
    with refused(DocumentError, "file-damaged", format="a SAS transport file"):
        read(tmp_path / "a.xpt")
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    "record",
    [
        # documents of -1 lines: the record would be read again and again
        b"\6\0\0\0" + (-1).to_bytes(4, "little", signed=True) + b"\7\0\0\0",
        b"\6\0\0\0" + (1 << 24).to_bytes(4, "little"),
    ],
    ids=["back", "beyond the end"],
)
def test_a_length_in_a_dictionary_that_lies_is_refused(
    tmp_path: Path, honest: dict[str, bytes], record: bytes
) -> None:
    content = honest["plain.sav"]
    path = write_file(tmp_path / "a.sav", content[:176] + record + content[176:])
    with refused(DocumentError, "file-damaged", where=path):
        open_source(path).require_readable()


@pytest.mark.parametrize("suffix", ["sav", "dta", "xpt", "sas7bdat"])
@pytest.mark.parametrize("content", [b"", b"no data", b"$FL2" + b"\0" * 300], ids=["empty", "text", "zeros"])
def test_what_is_no_such_file_is_one_error(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = write_file(tmp_path / f"bad.{suffix}", content)
    with refused(DocumentError, "file-damaged", where=path):
        open_source(path).require_readable()


def test_no_connection_to_sqlite_trusts_the_schema(tmp_path: Path) -> None:
    from masktron.sources.tables import sqlite_files

    path = database(tmp_path / "a.sqlite", "CREATE TABLE data AS SELECT 1 AS n")
    options = {"query": "SELECT trusted_schema AS n FROM pragma_trusted_schema"}
    assert cells_of(sqlite_files.SqliteFormat().read(path, options)).column(0).to_pylist() == ["0"]


@pytest.mark.parametrize(
    ("name", "seed"), [("made.xlsx", 14), ("made.ods", 37), ("made.xpt", 10), ("long.dta", 99), ("made.sas7bdat", 11)]
)
def test_damage_that_made_a_fault_is_told_of_the_file(
    tmp_path: Path, honest: dict[str, bytes], name: str, seed: int
) -> None:
    path = write_file(tmp_path / name, damaged(name, honest[name], seed))
    with pytest.raises(DocumentError) as told:
        read(path)
    assert str(path) in told.value.where


def require_one_error(honest: dict[str, bytes], folder: Path, names: list[str], seeds: range) -> None:
    """Require of damaged files that reading them ends in time, within bounds, and with one documented error."""
    wrong = []
    with reader() as apart:
        for name in names:
            for seed in seeds:
                path = write_file(folder / name, damaged(name, honest[name], seed))
                found = apart.read(path)
                left = [one.name for one in folder.iterdir() if one != path]
                # a length that lies may ask for more memory than there is: then it gets none
                asked = found.code == 6 and "[out-of-memory]" in found.said
                ended = found.code in (0, 2, 4) or asked
                worded = found.code == 0 or 0 < len(found.said.splitlines()) <= 3
                if left or not (ended and worded and found.memory < 1 << 30):
                    wrong.append((name, seed, found, left))
                path.unlink()
    assert not wrong, wrong


SHORT = ["plain.arrow", "plain.sav", "v15.dta", "made.sas7bdat", "made.xlsx"]


def test_damaged_files_end_with_one_error(tmp_path: Path, honest: dict[str, bytes]) -> None:
    require_one_error(honest, tmp_path, SHORT, range(1))


@pytest.mark.full
@pytest.mark.parametrize("start", range(0, 120, 20))
def test_many_damaged_files_end_with_one_error(tmp_path: Path, honest: dict[str, bytes], start: int) -> None:
    require_one_error(honest, tmp_path, sorted(honest), range(start, start + 20))
