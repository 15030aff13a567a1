"""New tables of SQLite and DuckDB by address: all of it or nothing, and no other table changed."""

from __future__ import annotations

import hashlib
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import masktron
from cli_runner import Runner, numbers, write_file, write_rules
from made_columns import cells_of, dataset_of
from masktron.addresses import AddressPath, path_of
from masktron.errors import DocumentError, UsageError
from masktron.jobs.convert import run_convert
from masktron.sources.opening import open_source
from masktron.sources.tables import new_tables
from masktron.sources.tables.new_tables import require_new_table
from masktron.sources.tables.table_records import record_digest
from masktron.sources.tables.table_source import TableSource
from masktron.sources.variables import Variable
from masktron.write.atomic import publishing
from refusals import refused

BOTH = pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_file(tmp_path / "a.csv", "A,B,T,x\n1,2,3,\n4,0.5,4.5,007\n")


def at(file: Path, table: str) -> Path:
    return path_of(f"{file.suffix[1:]}:{file}?table={table}")


def tables(file: Path) -> list[str]:
    if file.suffix == ".sqlite":
        with closing(sqlite3.connect(file)) as connection:
            return sorted(name for (name,) in connection.execute("SELECT name FROM sqlite_schema"))
    with closing(duckdb.connect(str(file))) as connection:
        return sorted(name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall())


def cells(file: Path, table: str) -> dict[str, list[str | None]]:
    source = open_source(at(file, table))
    assert isinstance(source, TableSource)
    assert source.layout.fields
    found: dict[str, list[str | None]] = cells_of(source.table).to_pydict()
    return found


@pytest.mark.few(1)
@BOTH
def test_a_table_is_added_to_a_database(tmp_path: Path, data: Path, scheme: str, run: Runner) -> None:
    file = tmp_path / f"a.{scheme}"
    with publishing() as published:
        run_convert(data, at(file, "one"))
        with pytest.raises(UsageError):
            run_convert(data, at(file, "one"))
    assert published.names == (f"{scheme}:{file}?table=one",)
    assert cells(file, "one")["T"] == ["3", "4.5"]
    first = cells(file, "one")
    with refused(UsageError, "table-exists", table="ONE"):
        run_convert(data, at(file, "ONE"))
    run_convert(data, at(file, 'it\'s "two"'))
    assert tables(file) == ['it\'s "two"', "one"]
    assert cells(file, 'it\'s "two"') == cells(file, "one") == first
    data.write_text("a\n1\n")
    assert run("convert", data, "--out", f"{scheme}:{file}?table=one").code == 2
    assert run("convert", data, "--out", f"{scheme}:{file}?table=one", "--replace").code == 0
    assert cells(file, "one") == {"a": ["1"]}
    assert cells(file, 'it\'s "two"') == first
    outcome = run("convert", f"{scheme}:{file}?table=on", "--out", data.with_name("b.csv"))
    outcome.refuses(2, "unknown-name")


@BOTH
def test_no_row_of_a_replaced_table_stays_in_the_file(tmp_path: Path, scheme: str) -> None:
    file, link = tmp_path / f"a.{scheme}", tmp_path / f"b.{scheme}"
    new = write_file(tmp_path / "new.csv", "a\n1\n2\n")
    names = [f"('secret name {number * 7919}')" for number in range(20000)]
    connection: Any = sqlite3.connect(file) if scheme == "sqlite" else duckdb.connect()
    with closing(connection):
        if scheme == "duckdb":
            connection.execute(f"ATTACH '{file}' AS made (STORAGE_VERSION 'v1.2.0'); USE made")
            connection.execute("SET force_compression = 'uncompressed'")
        connection.execute("CREATE TABLE one(name VARCHAR)")
        connection.execute(f"INSERT INTO one VALUES {', '.join(names)}")  # noqa: S608
        connection.execute("CREATE VIEW seen AS SELECT * FROM one")
        connection.execute("CREATE TABLE other(a INTEGER PRIMARY KEY, b INTEGER DEFAULT 7)")
        connection.execute("INSERT INTO other(a) VALUES (1), (2)")
        connection.commit()
    assert file.read_bytes().count(b"secret name") >= 20000
    file.chmod(0o640)
    link.symlink_to(file)
    run_convert(new, at(link, "ONE"), replaces=True)
    assert b"secret name" not in file.read_bytes()
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name, link.name, new.name]
    assert cells(file, "ONE") == {"a": ["1", "2"]}
    assert cells(file, "other") == {"a": ["1", "2"], "b": ["7", "7"]}
    with closing(sqlite3.connect(file) if scheme == "sqlite" else duckdb.connect(str(file))) as connection:
        assert connection.execute("SELECT * FROM seen").fetchall() == [(1,), (2,)]
        with pytest.raises((sqlite3.IntegrityError, duckdb.ConstraintException)):
            connection.execute("INSERT INTO other(a) VALUES (1)")
        if scheme == "duckdb":
            question = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE path IS NOT NULL"
            assert connection.execute(question).fetchall() == [("v1.2.0+",)]


@pytest.mark.few(1)
@BOTH
def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, data: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, new = tmp_path / f"a.{scheme}", tmp_path / f"new.{scheme}"
    run_convert(data, at(file, "one"))
    before = cells(file, "one")
    data.write_text("a\n1\n")
    writing = new_tables._IN_FILES[scheme]
    proper = writing._copied

    def interrupted(self: Any, connection: Any) -> bool:
        assert proper(self, connection)
        raise KeyboardInterrupt

    def unlike(self: Any, connection: Any) -> bool:
        return not proper(self, connection)

    for step, error in ((interrupted, KeyboardInterrupt), (unlike, DocumentError)):
        monkeypatch.setattr(writing, "_copied", step)
        for place in (at(file, "one"), at(file, "two"), at(new, "one")):
            with pytest.raises(error):
                run_convert(data, place, replaces=True)
        assert tables(file) == ["one"]
        assert cells(file, "one") == before
        assert not list(tmp_path.glob("new*"))


@BOTH
def test_copies_that_differ_are_seen(
    tmp_path: Path, data: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"a.{scheme}"
    writing = new_tables._IN_FILES[scheme]
    proper = writing._copied

    class Spoiling:
        def __init__(self, connection: Any) -> None:
            self._own = connection

        def __getattr__(self, name: str) -> Any:
            return getattr(self._own, name)

        def execute(self, statement: str, *more: Any) -> Any:
            found = self._own.execute(statement, *more)
            if statement.startswith("INSERT" if scheme == "sqlite" else "CREATE TABLE"):
                self._own.execute('UPDATE one SET "A" = 9 WHERE "A" = 4')
            return found

    monkeypatch.setattr(writing, "_copied", lambda self, connection: proper(self, Spoiling(connection)))
    with refused(DocumentError, "readings-differ", what="the table that was written"):
        run_convert(data, at(file, "one"))
    assert not file.exists()


KILLED = """
import sys, time
from pathlib import Path
from masktron.addresses import path_of
from masktron.jobs.convert import run_convert
from masktron.sources.tables import new_tables

writing = new_tables._IN_FILES[sys.argv[3]]
proper = writing._copied

def slow(self, connection):
    assert proper(self, connection)
    print("written", flush=True)
    time.sleep(60)

writing._copied = slow
run_convert(Path(sys.argv[1]), path_of(sys.argv[2]), replaces=True)
"""


@pytest.mark.full
@BOTH
def test_a_killed_write_leaves_no_table(tmp_path: Path, data: Path, scheme: str) -> None:
    file = tmp_path / f"a.{scheme}"
    run_convert(data, at(file, "one"))
    before = cells(file, "one")
    data.write_text("a\n" + "1\n" * 1000)
    for table in ("one", "two"):
        command = [sys.executable, "-c", KILLED, data, f"{scheme}:{file}?table={table}", scheme]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "written\n"
            process.send_signal(signal.SIGKILL)
        assert tables(file) == ["one"]
        assert cells(file, "one") == before
    run_convert(data, at(file, "two"))
    assert tables(file) == ["one", "two"]


@pytest.mark.parametrize("scheme", ["sqlite", pytest.param("duckdb", marks=pytest.mark.full)])
def test_a_table_is_masked_into_the_database_that_it_is_in(
    tmp_path: Path, scheme: str, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = numbers(20)
    Path("a.csv").write_text("A,B,T\n" + "".join(f"{row['A']},{row['B']},{row['T']}\n" for row in rows))
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    original, released = (f"{scheme}:a.{scheme}?table={name}" for name in ("survey", "released"))
    assert run("convert", "a.csv", "--out", original).code == 0
    for out, more in ((original, ["--replace"]), (f"a.{scheme}", [])):
        outcome = run("mask", original, "-r", rules, "--out", out, *more)
        outcome.refuses(2, "would-overwrite")
    outcome = run("mask", original, "-r", rules, "--out", released, "-k", 3)
    assert outcome.code == 0, outcome.err
    assert tables(Path(f"a.{scheme}")) == ["released", "survey"]
    again = run("check", released, "-r", rules, "--original", original, "--manifest", "released.manifest.json")
    assert again.code == 0, again.out
    assert "checked: the file is the one that the manifest describes" in again.out
    assert masktron.validate(released, rules, original=original).valid
    if scheme == "duckdb":  # how a file was read says nothing of addresses
        file, options = f"a.{scheme}", {"table": "survey"}
        other, manifest = f"{scheme}:b.{scheme}?table=other", "other.manifest.json"
        assert masktron.mask(file, rules, other, k=3, format_options=options).valid
        verdict = masktron.check(other, rules, original=original, manifest=manifest)
        assert not [one for one in verdict.problems if "survey" in one], verdict.problems
        with refused(UsageError, "not-of-one-run", reason="the original has another SHA-256"):
            masktron.assess(other, original, manifest=manifest)
    if scheme == "duckdb":
        with refused(UsageError, "table-exists", table="released"):
            masktron.mask(original, rules, released, k=4)
        assert masktron.mask(original, rules, released, k=4, replace=True).min_group >= 4
        assert masktron.explain(rules, released).obstacle is None
    place = path_of(released)
    assert isinstance(place, AddressPath)
    with refused(UsageError, "database-file-in-use", address=f"{scheme}:a.{scheme}?table=NAME"):
        require_new_table(place, [Path(f"a.{scheme}")], replaces=False)


@pytest.mark.few(1)
@BOTH
def test_what_a_view_or_a_query_may_read_is_not_replaced(tmp_path: Path, data: Path, scheme: str) -> None:
    file = tmp_path / f"a.{scheme}"
    run_convert(data, at(file, "one"))
    connection: Any = sqlite3.connect(file) if scheme == "sqlite" else duckdb.connect(str(file))
    with closing(connection):
        connection.execute("CREATE VIEW seen AS SELECT * FROM one")
        connection.commit()
    for source in (at(file, "seen"), path_of(f"{scheme}:{file}?query=TABLE one".replace("TABLE", "SELECT * FROM"))):
        with refused(UsageError, "would-overwrite", output="the new table"):
            run_convert(source, at(file, "one"), replaces=True)
        run_convert(source, at(file, "two"))
        with refused(UsageError, "table-exists", table="two"):
            run_convert(source, at(file, "two"))
        run_convert(at(file, "one"), at(file, "two"), replaces=True)
        run_convert(source, at(tmp_path / f"b.{scheme}", "one"), replaces=True)
        with closing(sqlite3.connect(file) if scheme == "sqlite" else duckdb.connect(str(file))) as connection:
            connection.execute("DROP TABLE two")
            connection.commit()
    assert cells(file, "one")["T"] == ["3", "4.5"]


@BOTH
def test_what_is_no_database_and_what_cannot_be_written_is_said(tmp_path: Path, data: Path, scheme: str) -> None:
    other = tmp_path / f"no.{scheme}"
    other.write_text("this is a text, and long enough to be taken for what it is: no database " * 20)
    content = other.read_bytes()
    with refused(DocumentError, "database-error" if scheme == "sqlite" else "file-damaged"):
        run_convert(data, at(other, "one"))
    assert other.read_bytes() == content
    query = path_of(f"{scheme}:{tmp_path / 'a'}?query=SELECT 1")
    folder = at(tmp_path / "none" / f"a.{scheme}", "one")
    for place, code in ((folder, "no-folder-for-output"), (query, "query-not-written")):
        with refused(UsageError, code):
            run_convert(data, place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", other.name]


def test_the_digest_of_records_is_that_of_the_documented_text() -> None:
    table = dataset_of(
        (Variable("a_x0020_b", "a b"), Variable("c", "c")), pa.table({"a_x0020_b": ["1", None], "c": ["ä", '"']})
    )
    text = '["a b","c"]\n["1","\\u00e4"]\n[null,"\\""]\n'
    assert record_digest(table) == hashlib.sha256(text.encode()).hexdigest()
