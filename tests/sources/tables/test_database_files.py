"""SQLite and DuckDB: what cells mean, what is kept of them, what is refused; and the jobs on them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import adbc_driver_sqlite.dbapi as adbc
import duckdb
import numpy as np
import pyarrow as pa
import pytest

from arrow_files_made import MANY_TYPES
from made_columns import cells_of, dataset_of, new_column, release_of
from masktron.addresses import AddressPath, parse_address
from masktron.errors import DocumentError, UsageError, ViolationError
from masktron.jobs.convert import run_convert
from masktron.sources.dataset import Dataset
from masktron.sources.opening import open_source
from masktron.sources.tables.arrow_files import table_of
from masktron.sources.tables.duckdb_files import DuckdbFormat
from masktron.sources.tables.release import Release
from masktron.sources.tables.sqlite_files import SqliteFormat
from masktron.sources.tables.table_format import TableFormat
from masktron.sources.tables.table_source import TableSource
from masktron.sources.tables.table_view import TableRequest
from masktron.sources.variables import UNTYPED, Typed, Variable
from refusals import code_of, refused
from sample_tables import require_masked_as_xml

FORMATS: list[TableFormat] = [SqliteFormat(), DuckdbFormat()]
BOTH = pytest.mark.parametrize("made", FORMATS, ids=lambda made: made.name)


def sqlite(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def duck(path: Path, *statements: str) -> Path:
    with closing(duckdb.connect(str(path))) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def read(path: Path, **options: str) -> Dataset:
    """Read a file as a source does."""
    made = next(one for one in FORMATS if path.suffix == f".{one.name}")
    source = TableSource(path, made, TableRequest(options))
    assert source.layout.fields
    return source.table


def test_each_cell_of_sqlite_has_its_type(tmp_path: Path) -> None:
    path = sqlite(
        tmp_path / "a.sqlite",
        "CREATE TABLE t(i INTEGER, n NUMERIC(10,2), x TEXT, a, r REAL, d DATE)",
        "INSERT INTO t VALUES (9007199254740993, 1.5, '007', 'x', 0.30000000000000004, '2020-01-01')",
        "INSERT INTO t VALUES (-9223372036854775808, 2, 'a b', 5, 1e300, NULL)",
        "INSERT INTO t VALUES (NULL, 'abc', '', 2.5, 2, '')",
    )
    table = read(path)
    assert cells_of(table).to_pydict() == {
        "i": ["9007199254740993", "-9223372036854775808", None],
        "n": ["1.5", "2", "abc"],
        "x": ["007", "a b", ""],
        "a": ["x", "5", "2.5"],
        "r": ["0.30000000000000004", "1E+300", "2"],
        "d": ["2020-01-01", None, ""],
    }
    assert [variable.typed.text for variable in table.variables] == [False, False, True, False, False, True]
    out = tmp_path / "b.sqlite"
    SqliteFormat().write(out, release_of(table, cells_of(table).take([2, 0, 1]), np.array([2, 0, 1])))
    question = "SELECT typeof(i), typeof(n), typeof(x), typeof(a), typeof(r), typeof(d), i, n, x, a, r, d FROM t"
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(out)) as other:
        before, after = one.execute(question).fetchall(), other.execute(question).fetchall()
        declared = [
            connection.execute("SELECT name, type FROM pragma_table_info('t')").fetchall()
            for connection in (one, other)
        ]
    assert [before[2], before[0], before[1]] == after
    assert declared[0] == declared[1]


def test_what_of_a_table_is_not_written_again_is_said(tmp_path: Path) -> None:
    columns = """id INTEGER PRIMARY KEY, u INTEGER UNIQUE, "a CHECK (" TEXT DEFAULT 'CHECK (', -- CHECK (x)
        n INTEGER NOT NULL CHECK (n > 0), o INTEGER REFERENCES o(k)"""
    made = [
        "CREATE TABLE o(k INTEGER PRIMARY KEY)",
        f"CREATE TABLE t({columns}, g INTEGER GENERATED ALWAYS AS (n + 1))",
        "CREATE INDEX i ON t(n)",
        "CREATE VIEW v AS SELECT * FROM t",
        "INSERT INTO t(id, u, n) VALUES (1, 1, 1)",
    ]
    path = sqlite(tmp_path / "a.sqlite", *made, "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END")
    others = "a new file has this table alone, without other tables and views of the database (2)"
    beside = "keys and indices (3), foreign keys (1), NOT NULL (1), checks (1)"
    assert read(path, table="t").notes == (
        f"of the table of SQLite are not written again: {beside}, defaults (1), how columns are computed (1), "
        "triggers (1)",
        others,
    )
    assert read(path, table="v").notes == (others,)
    assert read(path, query="SELECT id FROM t").notes == ()
    path = duck(tmp_path / "a.duckdb", *made, "COMMENT ON COLUMN t.u IS 'one'")
    assert read(path, table="t").notes == (
        f"of the table of DuckDB are not written again: {beside}, defaults and how columns are computed (2), "
        "comments (1)",
        others,
    )
    assert read(path, table="v").notes == (others,)
    assert read(duck(tmp_path / "b.duckdb", "CREATE TABLE t AS SELECT 1 AS i")).notes == ()


def test_declared_types_that_no_new_file_has_are_among_the_losses(tmp_path: Path) -> None:
    path = sqlite(
        tmp_path / "a.sqlite",
        "CREATE TABLE t(i INTEGER, n DECIMAL(10,2), d DATE)",
        "INSERT INTO t VALUES (1, 1.5, '2020-01-01')",
    )
    for name in ("b.sqlite", "b.parquet"):
        assert run_convert(path, tmp_path / name).losses == ("declared types: n (DECIMAL(10,2)), d (DATE)",)


@pytest.mark.parametrize(
    ("table", "kept"),
    [
        ("VIEW t AS SELECT 5 AS a UNION ALL SELECT c FROM o", ""),
        ("VIEW t AS SELECT i AS a FROM o WHERE i < 5 UNION ALL SELECT c FROM o", ""),
        ("VIEW t AS SELECT c AS a FROM o WHERE c < '' UNION ALL SELECT 5 FROM o", ""),
        ("VIEW t AS SELECT i AS a FROM o", "INTEGER"),
        ("VIEW t AS SELECT d AS a FROM o", "DATE"),
        ("TABLE t(a ANY) STRICT", ""),
    ],
)
def test_a_declared_type_changes_no_cell(tmp_path: Path, table: str, kept: str) -> None:
    path = sqlite(
        tmp_path / "a.sqlite",
        "CREATE TABLE o(i INTEGER, c TEXT, d DATE)",
        "INSERT INTO o VALUES (7, '007', '2020-01-01'), (8, ' 8', '2020-01-02')",
        f"CREATE {table}",
    )
    if table.startswith("TABLE"):
        sqlite(path, "INSERT INTO t VALUES ('007')")
    original, out = read(path, table="t"), tmp_path / "b.sqlite"
    SqliteFormat().write(out, release_of(original, cells_of(original), np.arange(len(original))))
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(out)) as other:
        before, after = (each.execute("SELECT a, typeof(a) FROM t").fetchall() for each in (one, other))
        assert before == after
        assert other.execute("SELECT type FROM pragma_table_info('t')").fetchall() == [(kept,)]


@pytest.mark.parametrize(
    ("declared", "kept"),
    [
        *((plain, plain) for plain in ("double precision", "VARCHAR (10)", "DECIMAL(10, 2)", "Notes", "date_1")),
        *((hostile, "") for hostile in ("INTEGER PRIMARY KEY", "INT unique", "INT, evil INT", "TEXT NOT NULL")),
        *((hostile, "") for hostile in ("INT CHECK (5)", "INT) --", "INT /**/ x", "VARCHAR(1", "INT\nUNIQUE")),
    ],
)
def test_a_declared_type_is_a_plain_name(tmp_path: Path, declared: str, kept: str) -> None:
    path = sqlite(
        tmp_path / "a.sqlite", f'CREATE TABLE t(a "{declared}")', "INSERT INTO t VALUES (NULL), ('x'), ('x')"
    )
    original = read(path)
    SqliteFormat().write(tmp_path / "b.sqlite", release_of(original, cells_of(original), np.arange(3)))
    with closing(sqlite3.connect(tmp_path / "b.sqlite")) as connection:
        found = connection.execute("SELECT name, type, pk, [notnull] FROM pragma_table_info('t')").fetchall()
    assert found == [("a", kept, 0, 0)]


def test_columns_of_duckdb_have_types(tmp_path: Path) -> None:
    path = duck(
        tmp_path / "a.duckdb",
        "CREATE TABLE t(i BIGINT, n DECIMAL(30,4), f FLOAT, d DATE, m TIMESTAMP, b BOOLEAN, x VARCHAR, "
        "e ENUM('low', 'high'), u UBIGINT, h TIME)",
        "INSERT INTO t VALUES (9007199254740993, 12345678901234567890.125, 0.1, '2020-02-29', "
        "'2020-01-01 04:05:06.78', true, '007', 'low', 18446744073709551615, '04:05:06')",
        "INSERT INTO t VALUES (NULL, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    table = read(path)
    first = [column[0] for column in cells_of(table).to_pydict().values()]
    assert first == [
        "9007199254740993", "12345678901234567890.125", "0.1", "2020-02-29", "2020-01-01T04:05:06.78", "true", "007",
        "low", "18446744073709551615", "04:05:06",
    ]  # fmt: skip
    assert [column[1] for column in cells_of(table).to_pydict().values()] == [None] * 10
    out = tmp_path / "b.duckdb"
    DuckdbFormat().write(out, release_of(table, cells_of(table).take([1, 0]), np.array([1, 0])))
    with closing(duckdb.connect(str(out))) as connection:
        types = connection.execute("DESCRIBE t").fetchall()
    assert [one[1] for one in types] == [
        "BIGINT", "DECIMAL(30,4)", "FLOAT", "DATE", "TIMESTAMP", "BOOLEAN", "VARCHAR", "ENUM('low', 'high')",
        "UBIGINT", "TIME",
    ]  # fmt: skip
    assert cells_of(read(out)).equals(cells_of(table).take([1, 0]))


def test_another_library_reads_sqlite_alike(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "a.sqlite", "CREATE TABLE t(i INTEGER, r REAL, x TEXT)")
    rows = [(2**63 - 1, 0.1, "a"), (-(2**63), 1e300, ""), (None, -0.0, "ä\n'"), (7, None, None), (0, 2.0**60, "007")]
    rows += [(number, number / 7, str(number)) for number in range(20_000)]
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        connection.commit()
    with closing(adbc.connect(f"file:{path}")) as other, closing(other.cursor()) as cursor:
        cursor.execute("SELECT * FROM t")
        values = cursor.fetch_arrow_table()
    assert cells_of(read(path)).equals(cells_of(table_of(values, "")))


def test_rows_of_duckdb_are_what_its_columns_are(tmp_path: Path) -> None:
    path = duck(
        tmp_path / "a.duckdb",
        "CREATE TABLE t AS SELECT range::BIGINT AS i, range / 7 AS r, (range / 8)::FLOAT AS f, "
        "(range / 4)::DECIMAL(9,3) AS n, 'x' || range AS x, DATE '2020-01-01' + range::INTEGER AS d "
        "FROM range(20000)",
    )
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        rows = connection.execute("SELECT * FROM t").fetchall()
    cells = cells_of(read(path))
    assert [Decimal(text) for text in cells["n"].to_pylist()] == [row[3] for row in rows]
    assert [np.float32(text) for text in cells["f"].to_pylist()] == [np.float32(row[2]) for row in rows]
    assert [float(text) for text in cells["r"].to_pylist()] == [row[1] for row in rows]
    for at, name in ((0, "i"), (4, "x"), (5, "d")):
        assert cells[name].to_pylist() == [str(row[at]) for row in rows]


@BOTH
def test_a_file_that_was_not_written_as_meant_is_refused(
    tmp_path: Path, made: TableFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = {"sqlite": sqlite, "duckdb": duck}[made.name]
    path = write(tmp_path / f"a.{made.name}", "CREATE TABLE t(a INTEGER, b INTEGER)", "INSERT INTO t VALUES (1, 2)")
    proper = type(made).write

    def spoiling(self: TableFormat, target: Path, release: Release) -> None:
        proper(self, target, release)
        write(target, "UPDATE t SET b = 3")

    source, out = open_source(path), tmp_path / f"b.{made.name}"
    monkeypatch.setattr(type(made), "write", spoiling)
    with refused(ViolationError, "self-check-failed"):
        source.write(out, {})


def test_an_enumeration_without_a_value_is_released(tmp_path: Path) -> None:
    path = duck(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 'a'::ENUM('a', 'b') AS x, true AS z, 1 AS y")
    source = open_source(path)
    assert source.layout.fields
    nothing = new_column(np.array([None], dtype=np.object_), np.zeros(1, dtype=np.intp))
    source.write(tmp_path / "b.duckdb", {"x": nothing, "z": nothing})
    assert cells_of(read(tmp_path / "b.duckdb")).to_pydict() == {"x": [None], "z": [None], "y": ["1"]}


@BOTH
def test_a_release_has_the_same_bytes_each_time(tmp_path: Path, made: TableFormat) -> None:
    path = duck(
        tmp_path / "a.duckdb",
        "CREATE TABLE t AS SELECT range AS i, hash(range) / 3 AS r, 'x' || range % 100 AS x, 'ä' || hash(range) AS h "
        "FROM range(300000)",
    )
    table = read(path)
    outs = [tmp_path / f"{at}.{made.name}" for at in range(2)]
    for out in outs:
        made.write(out, Release.new(table))
    assert outs[0].read_bytes() == outs[1].read_bytes()


@BOTH
def test_what_is_created_comes_back(tmp_path: Path, made: TableFormat) -> None:
    columns: dict[str, tuple[list[str | None], pa.DataType | None]] = {
        "i": (["9007199254740993", None, "0"], pa.int64()),
        "n": (["1.25", "-3", None], pa.float64()),
        "t": (["1", "", "a\n'\"b"], pa.string()),
        "codes": (["007", "1", None], None),
        "d": (["1815-06-18", None, "2020-01-01"], pa.date32()),
        "exact": (["12345678901234567.125", "1", None], pa.decimal128(30, 3)),
    }
    variables = tuple(
        Variable(name, name, typed=Typed(text=True) if kind == pa.string() else UNTYPED, stored=kind)
        for name, (_, kind) in columns.items()
    )
    table = dataset_of(
        variables, pa.table({name: pa.array(texts, pa.string()) for name, (texts, _) in columns.items()})
    )
    path = tmp_path / f"a.{made.name}"
    made.write(path, Release.new(table), {"table": "survey 'x\""})
    back = read(path, table="survey 'x\"")
    assert cells_of(back).equals(cells_of(table))


@BOTH
def test_columns_of_any_type_come_back_as_lexemes(tmp_path: Path, made: TableFormat) -> None:
    table = table_of(pa.table(MANY_TYPES), "")
    made.write(tmp_path / f"a.{made.name}", Release.new(table))
    assert cells_of(read(tmp_path / f"a.{made.name}")).equals(cells_of(table))


@BOTH
def test_a_table_is_chosen(tmp_path: Path, made: TableFormat) -> None:
    write = {"sqlite": sqlite, "duckdb": duck}[made.name]
    one, two = "CREATE TABLE one(a INTEGER)", "CREATE TABLE two(a INTEGER, b INTEGER)"
    path = write(tmp_path / f"a.{made.name}", one, two, "INSERT INTO two VALUES (1, 2), (3, 4)")
    for code, options in (("table-not-chosen", {}), ("unknown-name", {"table": "three"})):
        with refused(UsageError, code):
            read(path, **options)
    assert cells_of(read(path, table="two")).to_pydict() == {"a": ["1", "3"], "b": ["2", "4"]}
    asked = read(path, query="SELECT a + b AS c FROM two ORDER BY a DESC;")
    assert cells_of(asked).to_pydict() == {"c": ["7", "3"]}
    with refused(UsageError, "query-not-written"):
        made.write(tmp_path / "b", release_of(asked, cells_of(asked), np.arange(2)))
    with refused(UsageError, "bad-value", name="the query", given="DROP"):
        read(path, query="DROP TABLE two")
    # with two statements nothing of the second is carried out
    with pytest.raises((DocumentError, UsageError)):
        read(path, query="SELECT 1 AS a; DROP TABLE two")
    assert len(read(path, table="two")) == 2


@BOTH
def test_files_that_are_no_databases_are_refused(tmp_path: Path, made: TableFormat) -> None:
    path = tmp_path / f"a.{made.name}"
    path.write_bytes(b"a,b\n1,2\n" * 1000)
    for file, code in ((path, "file-damaged"), (tmp_path / f"none.{made.name}", "cannot-read")):
        with refused(DocumentError, code, where=file):
            read(file)
    assert not (tmp_path / f"none.{made.name}").exists()


def test_what_has_no_text_form_is_refused(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "a.sqlite", "CREATE TABLE t(a)", "INSERT INTO t VALUES (1), (x'00')")
    with refused(DocumentError, "column-not-readable", where=f"{path}, record 2", field="a"):
        read(path)
    path = duck(tmp_path / "a.duckdb", "CREATE TABLE t(a INTEGER[], h HUGEINT)")
    with refused(DocumentError, "column-not-readable", field="a", detail="values of type INTEGER[]"):
        read(path)
    assert read(
        duck(tmp_path / "b.duckdb", "CREATE TABLE t AS SELECT 1 AS a"), query="SELECT CAST(a AS VARCHAR) AS a FROM t"
    )
    path = sqlite(tmp_path / "b.sqlite", "CREATE TABLE t(a)", "INSERT INTO t VALUES (9e999)")
    with refused(DocumentError, "value-not-readable", field="a", detail="an infinite number"):
        read(path)


def test_masked_values_fit_their_column(tmp_path: Path) -> None:
    path = sqlite(
        tmp_path / "a.sqlite", "CREATE TABLE t(a INTEGER, b REAL)", "INSERT INTO t VALUES (1, 2.5), (3, 4.5)"
    )
    table = read(path)
    wrong = cells_of(table).set_column(0, "a", pa.chunked_array([["1.5", "3"]], pa.string()))
    with refused(UsageError, "new-value-does-not-fit", field="a", detail="it has integer values only"):
        SqliteFormat().write(tmp_path / "b.sqlite", release_of(table, wrong, np.arange(2)))


def test_no_extension_is_fetched(tmp_path: Path) -> None:
    path = duck(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 1 AS a")
    other = tmp_path / "b.csv"
    other.write_text("a\n1\n")
    with refused(UsageError, "database-error", database="DuckDB"):
        read(path, query=f"SELECT * FROM '{other}'")  # noqa: S608


def test_records_that_stand_in_a_journal_are_refused(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "a.sqlite", "PRAGMA journal_mode = WAL", "CREATE TABLE t(a)", "INSERT INTO t VALUES (1)")
    with closing(sqlite3.connect(path)) as open_elsewhere:
        open_elsewhere.execute("UPDATE t SET a = 2")
        open_elsewhere.commit()
        with refused(DocumentError, "database-file-in-use", address="sqlite:a.sqlite?table=NAME"):
            read(path)
        address = AddressPath(parse_address(f"sqlite:{path}?table=t"))
        assert cells_of(TableSource(address, SqliteFormat(), TableRequest({"table": "t"})).table)[
            "a"
        ].to_pylist() == ["2"]
    assert cells_of(read(path))["a"].to_pylist() == ["2"]
    path = duck(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 1 AS a")
    (tmp_path / "a.duckdb.wal").write_bytes(b"changes")
    with refused(DocumentError, "database-file-in-use", address="duckdb:a.duckdb?table=NAME"):
        read(path)


def test_a_file_that_changes_between_reading_and_hashing_is_refused(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "a.sqlite", "CREATE TABLE t(a)", "INSERT INTO t VALUES (1)")
    source = TableSource(path, SqliteFormat())
    assert source.layout.fields
    sqlite(path, "UPDATE t SET a = 2")
    with refused(DocumentError, "file-changed", where=path):
        source.digest  # noqa: B018
    source = TableSource(path, SqliteFormat())
    assert len(source.table) == 1
    sqlite(path, "UPDATE t SET a = 22")
    with pytest.raises(DocumentError) as caught:
        source.records()
    assert code_of(caught.value) in ("file-changed", "readings-differ")


def test_damaged_databases_and_texts_are_refused_without_their_values(tmp_path: Path) -> None:
    path = sqlite(
        tmp_path / "a.sqlite", "CREATE TABLE t(a)", "INSERT INTO t VALUES ('x'), (CAST(x'4dfc6c' AS TEXT)), ('y')"
    )
    with refused(DocumentError, "column-not-readable", where=f"{path}, record 2", field="a"):
        read(path)
    path = sqlite(tmp_path / "b.sqlite", "CREATE TABLE t(a)", *["INSERT INTO t VALUES (hex(randomblob(900)))"] * 20)
    damaged = bytearray(path.read_bytes())
    damaged[3 * 4096 : 5 * 4096] = b"\xff" * 8192
    path.write_bytes(damaged)
    with refused(DocumentError, "file-damaged", where=path, format="an SQLite database"):
        read(path)


@pytest.mark.full
@BOTH
def test_the_sample_is_masked_as_its_twin_in_xml_is(tmp_path: Path, made: TableFormat) -> None:
    require_masked_as_xml(tmp_path, made)
