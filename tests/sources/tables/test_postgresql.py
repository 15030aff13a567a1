"""Tables of a real PostgreSQL server: what is read, kept, refused and written; a cut write leaves nothing."""

from __future__ import annotations

import datetime
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import numpy as np
import pyarrow as pa
import pytest

import masktron
from arrow_files_made import MANY_TYPES
from cli_runner import Runner, write_file, write_rules
from made_columns import cells_of, dataset_of, new_column
from masktron.addresses import AddressPath, parse_address
from masktron.config import Kind
from masktron.errors import DocumentError, UsageError, ViolationError
from masktron.jobs.convert import run_convert
from masktron.sources.dataset import Dataset
from masktron.sources.opening import open_source
from masktron.sources.tables.arrow_files import table_of
from masktron.sources.tables.descriptions import descriptions_lost
from masktron.sources.tables.new_tables import require_new_table
from masktron.sources.tables.postgresql import snapshot, transaction
from masktron.sources.tables.postgresql.postgres_format import PostgresFormat
from masktron.sources.tables.postgresql.snapshot import (
    PostgresColumn,
    PostgresTable,
    declared_type,
    enumerations,
    fetch,
)
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_source import TableSource
from masktron.sources.variables import Variable
from masktron.write.publication import publication
from postgres_server import server
from refusals import code_of, refused


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with server() as address:
        yield address


def at(place: str, table: str) -> AddressPath:
    return AddressPath(parse_address(place.format(what=f"table={table}")))


def asked(place: str, query: str) -> pa.Table:
    return fetch(parse_address(place.format(what=f"query={query}"))).format_state.values


def execute(place: str, *statements: str) -> None:
    with closing(adbc.connect(parse_address(place.format(what="table=t")).connection)) as connection:
        with closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.commit()


def tables(place: str) -> list[str]:
    return sorted(
        asked(place, "SELECT relname::text AS n FROM pg_class WHERE relkind = 'r' AND relnamespace = 2200")[
            "n"
        ].to_pylist()
    )


def write(place: str, table: str, values: pa.Table, *, replaces: bool = False) -> None:
    columns = {field.name: PostgresColumn(declared_type(field.type)) for field in values.schema}
    with publication(at(place, table), replaces=replaces) as target:
        assert isinstance(target, AddressPath)
        target.writing.fill(values, PostgresTable(columns=columns))


def read(place: str, table: str) -> Dataset:
    source = open_source(at(place, table))
    assert isinstance(source, TableSource)
    assert source.layout.fields
    return source.table


def values() -> pa.Table:
    nothing = None
    return pa.table(
        {
            "Big one": pa.array([9007199254740993, nothing]),
            "n": pa.array([Decimal("12345678901234567890.1230"), nothing], pa.decimal128(30, 4)),
            "small": pa.array([Decimal("-0.05"), Decimal("0.00")], pa.decimal128(5, 2)),
            "f": pa.array([0.1, 1e300]),
            "g": pa.array([0.1, nothing], pa.float32()),
            "b": pa.array([True, nothing]),
            "x": pa.array(["a\n'b\\", "007"]),
            "d": pa.array([datetime.date(1815, 6, 18), nothing]),
            "m": pa.array([datetime.datetime(2020, 1, 2, 3, 4, 5, 600), nothing], pa.timestamp("us")),
            "z": pa.array([datetime.datetime(2020, 1, 2, 3, 4, 5, 600), nothing], pa.timestamp("us", tz="UTC")),
            "t": pa.array([datetime.time(4, 5, 6), nothing], pa.time64("us")),
            "s": pa.array([7, -1], pa.int16()),
        }
    )


def test_a_table_is_written_and_read_exactly(place: str) -> None:
    write(place, "public.a release", values())
    found = read(place, "public.a release")
    assert found.format_state.values.schema.remove_metadata() == values().schema
    assert found.format_state.values.to_pylist() == values().to_pylist()
    assert cells_of(found)["n"].to_pylist() == ["12345678901234567890.123", None]
    assert cells_of(found)["z"].to_pylist() == ["2020-01-02T03:04:05.0006Z", None]
    with refused(UsageError, "table-exists", table="a release") as caught:
        write(place, "a release", values().slice(0, 1))
    assert "opensesame" not in str(caught.value)
    assert len(read(place, "a release")) == 2
    write(place, "a release", values().slice(0, 1), replaces=True)
    assert len(read(place, "a release")) == 1


def test_numbers_without_a_precision_stay_exact(place: str) -> None:
    query = "SELECT * FROM (VALUES (1.50::numeric, 'a'::char(4), 0.1::real), (1e20, NULL, 'NaN')) AS v(n, c, r)"
    found = asked(place, query)
    assert found["n"].to_pylist() == [Decimal("1.50"), Decimal("1e20")]
    assert found["c"].to_pylist() == ["a", None]
    with refused(DocumentError, "column-not-readable", field="n", detail="NaN or an infinite number"):
        asked(place, "SELECT 'NaN'::numeric AS n")
    for largest, digits in (("9.5", 38), ("1e36", 38), ("1e38", 76)):
        kind = asked(place, f"SELECT {largest}::numeric AS n UNION ALL SELECT 0.5")["n"].type
        assert (kind.precision, kind.scale) == (digits, 1), "its digits tell nothing of the largest value"


@pytest.mark.parametrize(
    ("declared", "detail"),
    [
        ("numeric(2,5)", "numbers with more digits after the point than in all"),
        ("numeric(77,0)", "numbers of more than 76 digits"),
    ],
)
def test_exact_numbers_that_arrow_has_not_are_refused(place: str, declared: str, detail: str) -> None:
    with refused(DocumentError, "column-not-readable", field="a", detail=detail):
        asked(place, f"SELECT 0::{declared} AS a")


def test_numbers_rounded_to_hundreds_stay_so(place: str) -> None:
    statements = ("DROP TABLE IF EXISTS hundreds", "CREATE TABLE hundreds (a numeric(6,-2))")
    execute(place, *statements, "INSERT INTO hundreds VALUES (5137), (-99999900), (0)")
    found = read(place, "hundreds")
    assert cells_of(found)["a"].to_pylist() == ["5100", "-99999900", "0"]
    assert found.columns["a"].variable.typed.places == -2
    write(place, "hundreds again", found.format_state.values, replaces=True)
    assert cells_of(read(place, "hundreds again")).equals(cells_of(found))


def test_types_without_a_text_form_are_refused(place: str) -> None:
    found = {"_int4": "ARRAY[1]", "uuid": "gen_random_uuid()", "json": "'1'::json", "interval": "'1 day'::interval"}
    for kind, value in found.items():
        with refused(DocumentError, "column-not-readable", field="a", detail=f"values of type {kind}") as caught:
            asked(place, f"SELECT {value} AS a")
        assert "opensesame" not in str(caught.value)


@pytest.mark.parametrize("value", ["1e60", "-100", "10.0e44", "1.5e-50", "0.05", "123456789e40"])
def test_numbers_that_nobody_gave_a_precision_are_exact(place: str, value: str) -> None:
    query = f"query=SELECT {value}::numeric AS a"
    (lexeme,) = cells_of(fetch(parse_address(place.format(what=query))))["a"].to_pylist()
    assert Decimal(lexeme) == Decimal(value)


@pytest.mark.parametrize("value", ["'infinity'::timestamp", "'0044-03-15 BC'::date", "'Infinity'::float8"])
def test_what_has_no_lexeme_is_refused(place: str, value: str) -> None:
    with refused(DocumentError, "value-not-readable", field="a"):
        asked(place, f"SELECT {value} AS a")


def test_a_table_comes_in_the_order_of_its_key_and_of_one_moment(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(
        place,
        "CREATE TABLE keyed(b int, a text, v int, PRIMARY KEY (a, b))",
        "INSERT INTO keyed VALUES (2, 'x', 1), (1, 'x', 2), (1, 'w', 3)",
        "UPDATE keyed SET v = 4 WHERE v = 3",
    )
    assert cells_of(read(place, "keyed"))["v"].to_pylist() == ["4", "2", "1"]
    source = open_source(at(place, "keyed"))
    digest = source.digest
    execute(place, "UPDATE keyed SET v = 9 WHERE v = 1")
    # records are of the moment in which the table was read
    assert [one.lexemes.tolist() for one in source.records().columns.values()][2] == ["4", "2", "1"]
    assert source.digest == digest
    assert open_source(at(place, "keyed")).digest != digest

    def meddled(cursor: object) -> dict[str, tuple[str, list[str]]]:
        execute(place, "UPDATE keyed SET v = 10 WHERE v = 9")
        return enumerations(cursor)

    monkeypatch.setattr(snapshot, "enumerations", meddled)
    assert cells_of(read(place, "keyed"))["v"].to_pylist() == ["4", "2", "9"]


def test_queries_change_nothing(place: str) -> None:
    execute(place, "CREATE TABLE counted(a int)", "CREATE SEQUENCE steps")
    with refused(UsageError, "bad-value", name="the query"):
        asked(place, "DELETE FROM counted RETURNING a")
    with refused(DocumentError, "server-error", reason="cannot execute nextval() in a read-only transaction"):
        asked(place, "SELECT nextval('steps') AS a")
    with refused(DocumentError, "server-error") as caught:
        asked(place, "SELECT ('sec' || 'ret 7')::int AS a")
    assert "secret" not in str(caught.value)
    assert asked(place, "SELECT 1 AS a -- done")["a"].to_pylist() == [1]


def test_errors_say_what_to_do_and_show_no_password(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(
        place,
        "CREATE TABLE household(a int)",
        "CREATE SCHEMA other",
        "CREATE TABLE other.persons(a int)",
        "CREATE ROLE poor LOGIN",
    )
    poor = place.replace("masktron:", "poor:")
    for where, table, code, said in (
        (place, "househol", "unknown-name", "did you mean household"),
        (place, "persons", "unknown-name", "did you mean other.persons"),
        (place.replace("/postgres?", "/nowhere?"), "t", "server-error", 'database "nowhere" does not exist'),
        (place.replace("masktron:", "nobody:"), "t", "server-error", 'role "nobody" does not exist'),
        (poor, "household", "server-error", "permission denied for table household"),
    ):
        with refused(DocumentError, code) as caught:
            read(where, table)
        assert said in str(caught.value)
        assert "opensesame" not in str(caught.value)
    with refused(DocumentError, "server-error", reason="permission denied for schema public"):
        require_new_table(at(poor, "mine"), [], replaces=False)
    with refused(DocumentError, "server-error", reason='schema "none" does not exist'):
        require_new_table(at(place, "none.mine"), [], replaces=False)
    with refused(UsageError, "table-exists", table="household"):
        require_new_table(at(place, "household"), [], replaces=False)
    require_new_table(at(place, "household"), [], replaces=True)
    assert "household" in tables(place)
    execute(place, "CREATE VIEW seen AS SELECT * FROM other.persons")
    query = AddressPath(parse_address(place.format(what="query=SELECT * FROM household")))
    with refused(UsageError, "would-overwrite", output="the new table"):
        require_new_table(at(place, "household"), [query], replaces=True)
    require_new_table(at(place, "mine"), [query], replaces=False)
    for table, said in (("other.persons", "because other objects depend on it"), ("seen", '"seen" is not a table')):
        with refused(DocumentError, "server-error") as caught:
            require_new_table(at(place, table), [], replaces=True)
        assert said in str(caught.value)
    require_new_table(at(place, "mine"), [], replaces=False)
    assert not {one for one in tables(place) if one.startswith("masktron_")} | {"mine"} & set(tables(place))
    with refused(DocumentError, "server-error") as caught:
        fetch(parse_address("postgresql://me:open%2same@/x?host=/nowhere&table=t"))
    assert "same" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with refused(UsageError, "package-missing", extra="sql"):
        read(place, "household")


TYPED = (
    "CREATE TYPE mood AS ENUM ('sad', 'fine', 'glad')",
    "CREATE DOMAIN share AS integer CHECK (VALUE BETWEEN 0 AND 100)",
    "CREATE TABLE typed(id serial PRIMARY KEY, name varchar(20) NOT NULL, income numeric(10,2) NOT NULL, "
    "hours smallint, born date, seen timestamp(3), wed boolean, mood mood, part share, code char(3) DEFAULT 'x', "
    "rest numeric)",
    "CREATE INDEX ON typed(hours)",
    "COMMENT ON COLUMN typed.income IS 'Income, the year''s sum'",
    "COMMENT ON TABLE typed IS 'All people'",
    "INSERT INTO typed SELECT i, 'person ' || i, 100 * i + 0.25, 20 + i % 5, date '2000-01-01' + i, "
    "timestamp '2020-01-01 12:00:00.5' + i * interval '1 day', i % 2 = 0, "
    "(ARRAY['sad', 'fine', 'glad'])[1 + i % 3]::mood, i, 'k' || i % 3, i * 0.5 FROM generate_series(1, 30) AS g(i)",
)
DECLARED = """
    SELECT a.attname::text || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull::text || ' ' ||
    coalesce(col_description(a.attrelid, a.attnum), '') AS d
    FROM pg_attribute a WHERE a.attrelid = '{}'::regclass AND a.attnum > 0 ORDER BY a.attnum"""


@pytest.mark.full
def test_types_and_comments_survive(place: str) -> None:
    execute(place, *TYPED)
    source = open_source(at(place, "typed"))
    assert {one.name: one.kind for one in source.variables}["mood"] is Kind.NOMINAL
    assert {one.name: one.label for one in source.variables}["income"] == "Income, the year's sum"
    new = new_column(np.array(["1000.5", None], dtype=np.object_), np.zeros(30, dtype=np.intp))
    order = np.arange(30, dtype=np.intp)[::-1].copy()
    with publication(at(place, "typed_copy")) as target:
        assert source.write(target, {"income": new}, removed=["id"], order=order) == 30
        written = source.alike(target)
        assert written.records().columns["income"].lexemes.tolist() == ["1000.5"] * 30
        digest = written.digest
        assert "typed_copy" not in tables(place)
    assert open_source(at(place, "typed_copy")).digest == digest
    before, after = (asked(place, DECLARED.format(name))["d"].to_pylist() for name in ("typed", "typed_copy"))
    assert after == before[1:]
    assert "numeric(10,2) true Income, the year's sum" in after[1]
    comment = "SELECT obj_description('typed_copy'::regclass, 'pg_class')::text AS c"
    assert asked(place, comment)["c"].to_pylist() == ["All people"]
    kept = "SELECT name, born, seen, wed, mood, part, code, rest FROM {}"
    ordered = f"{kept} ORDER BY id DESC"
    assert asked(place, ordered.format("typed")).equals(asked(place, kept.format("typed_copy")))
    assert asked(place, "SELECT DISTINCT income AS i FROM typed_copy")["i"].to_pylist() == [Decimal("1000.50")]


@pytest.mark.full
def test_a_table_is_masked_and_check_passes(
    place: str, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "typed" not in tables(place):
        execute(place, *TYPED)
    rules = write_rules(tmp_path / "r.sch", "income >= hours")
    roles = [
        "id=identifier",
        *(f"{name}=untouched" for name in ("name", "born", "seen", "wed", "mood", "part", "code", "rest")),
    ]
    more = [word for role in roles for word in ("--role", role)]
    given = place.format(what="table=typed")
    out, result = place.format(what="table=public.typed_out"), tmp_path / "result.json"
    outcome = run("mask", given, "-r", rules, "--out", out, "-k", 3, "--json", result, *more)
    assert outcome.code == 0, outcome.err
    assert "are not written again: 2 indices and keys" in " ".join(outcome.out.split())
    assert "how values of id, code come about" in " ".join(outcome.out.split())
    manifest = tmp_path / "typed_out.manifest.json"
    for text in (outcome.out, outcome.err, manifest.read_text(), result.read_text()):
        assert "opensesame" not in text
    assert '"postgresql://masktron@/postgres?host=' in manifest.read_text()
    before, after = (asked(place, DECLARED.format(name))["d"].to_pylist() for name in ("typed", "typed_out"))
    assert after == before[1:]
    assert "numeric(10,2) true Income, the year's sum" in after[1]
    assert asked(place, "SELECT obj_description('typed_out'::regclass, 'pg_class')::text AS c")["c"].to_pylist() == [
        "All people"
    ]
    kept = "SELECT name, born, seen, wed, mood, part, code, rest FROM {} ORDER BY name"
    assert asked(place, kept.format("typed")).equals(asked(place, kept.format("typed_out")))
    again = run("check", out, "-r", rules, "--original", given, "--manifest", manifest)
    assert again.code == 0, again.out
    assert "checked: the file is the one that the manifest describes" in again.out
    assert run("assess", out, "--original", given, "--manifest", manifest).code == 0
    assert masktron.validate(out, rules).valid
    assert run("explain", rules, "--data", given, *more).code == 0
    taken = run("mask", given, "-r", rules, "--out", out, "-k", 3, *more)
    assert (taken.code, code_of(taken.err)) == (2, "table-exists")
    over = run(
        "mask", given, "-r", rules, "--out", place.format(what="table=public.typed"), "-k", 3, "--replace", *more
    )
    assert (over.code, code_of(over.err)) == (2, "would-overwrite")
    assert asked(place, "SELECT count(*) AS n FROM typed")["n"].to_pylist() == [30]
    execute(place, "UPDATE typed_out SET hours = hours + 1 WHERE name = 'person 1'")
    changed = run("check", out, "-r", rules, "--original", given, "--manifest", manifest)
    assert changed.code == 1
    assert "SHA-256" in changed.out


@pytest.mark.full
def test_any_format_becomes_a_table_and_comes_back(place: str, tmp_path: Path, run: Runner) -> None:
    data, back = tmp_path / "a.csv", tmp_path / "b.csv"
    data.write_text("id,x,d,t\n1,0.5,2020-01-01,007\n2,,2020-01-02,\n")
    out = place.format(what="table=from csv")
    assert run("convert", data, "--out", out).code == 0
    assert str(read(place, "from csv").format_state.values.schema.field("d").type) == "date32[day]"
    assert run("convert", out, "--out", back).code == 0
    assert back.read_text() == data.read_text()
    assert run("convert", data, "--out", out).code == 2
    assert run("convert", data, "--out", out, "--replace").code == 0
    described = tmp_path / "d.json"
    assert run("metadata", out, "--to", "tableschema", "--out", described).code == 0
    assert '"name": "d"' in described.read_text()
    assert run("convert", data, "--out", place.format(what="query=SELECT 1")).code == 2


def test_columns_of_any_type_come_back_as_lexemes(place: str) -> None:
    table = table_of(pa.table(MANY_TYPES), "")
    with publication(at(place, "any type")) as target:
        PostgresFormat().write(target, Release.new(table))
    assert cells_of(read(place, "any type")).equals(cells_of(table))


def test_labels_become_comments(place: str) -> None:
    table = dataset_of((Variable("a", "a", label="It's a", stored=pa.int64()),), pa.table({"a": ["1"]}), title="All")
    with publication(at(place, "labelled")) as target:
        PostgresFormat().write(target, Release.new(table))
    found = read(place, "labelled")
    assert (found.variables[0].label, found.title) == ("It's a", "All")
    assert list(descriptions_lost(table, found)) == []


def test_an_interrupted_write_leaves_no_table(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place, "kept", values())

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(transaction, "read_rows", interrupted)
    before = tables(place)
    for name in ("cut_off", "kept"):
        with pytest.raises(KeyboardInterrupt):
            write(place, name, values().slice(0, 1), replaces=True)
    assert tables(place) == before
    monkeypatch.undo()
    assert len(read(place, "kept")) == 2
    write(place, "cut_off", values())
    assert "cut_off" in tables(place)


KILLED = """
import sys, time
from pathlib import Path
from masktron.addresses import path_of
from masktron.jobs.convert import run_convert
from masktron.sources.column import Column
from masktron.sources.tables.postgresql import transaction

def slow(*arguments):
    print("written", flush=True)
    time.sleep(60)

transaction.read_rows = slow
run_convert(Path(sys.argv[1]), path_of(sys.argv[2]))
"""


@pytest.mark.full
def test_a_killed_write_leaves_no_table(place: str, tmp_path: Path) -> None:
    data, before = tmp_path / "a.csv", tables(place)
    data.write_text("a,b\n1,2\n")
    address = place.format(what="table=killed")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, data, address], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    open_ = "SELECT count(*) AS n FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
    while asked(place, open_)["n"].to_pylist() != [0] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert tables(place) == before
    run_convert(data, at(place, "killed"))
    assert "killed" in tables(place)


@pytest.mark.full
def test_a_connection_that_is_cut_leaves_no_table(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, before = tmp_path / "a.csv", tables(place)
    data.write_text("a,b\n1,2\n")
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
    )
    for name in ("ready", "commit"):
        proper = getattr(transaction.PostgresWriting, name)

        def cutting(self: transaction.PostgresWriting, proper: object = proper) -> None:
            execute(place, cut)
            proper(self)  # type: ignore[operator]

        with monkeypatch.context() as patched:
            patched.setattr(transaction.PostgresWriting, name, cutting)
            with refused(DocumentError, "server-error"):
                run_convert(data, at(place, "cut"))
        assert tables(place) == before


@pytest.mark.full
def test_a_server_that_stops_leaves_no_table_and_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_file(tmp_path / "a.csv", "a,b\n1,2\n")
    stack = server()
    own = stack.__enter__()
    stopped = False

    def stopping(*arguments: object) -> None:
        nonlocal stopped
        stopped = True
        stack.__exit__(None, None, None)

    try:
        monkeypatch.setattr(transaction, "read_rows", stopping)
        with refused(DocumentError, "server-error"):
            run_convert(data, at(own, "stopped"))
    finally:
        if not stopped:
            stack.__exit__(None, None, None)


def test_who_was_faster_keeps_his_table(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_file(tmp_path / "a.csv", "a,b\n1,2\n")
    proper = transaction.read_rows

    def meanwhile(*arguments: Any) -> Dataset:
        execute(place, "CREATE TABLE raced(mine int)")
        return proper(*arguments)

    monkeypatch.setattr(transaction, "read_rows", meanwhile)
    with refused(UsageError, "table-exists", table="raced"):
        run_convert(data, at(place, "raced"))
    assert cells_of(fetch(parse_address(place.format(what="table=raced")))).column_names == ["mine"]


def test_what_the_server_makes_of_values_is_compared_before_they_are_there(place: str, tmp_path: Path) -> None:
    """A trigger of the database, which changes what is written, keeps the table from appearing."""
    data = write_file(tmp_path / "a.csv", "spoilt\n1\n2\n")
    write(place, "sound", pa.table({"spoilt": [1, 2]}))
    source = open_source(at(place, "sound"))
    assert source.layout.fields
    execute(
        place,
        "CREATE FUNCTION one() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.spoilt := 1; RETURN NEW; END'",
        "CREATE FUNCTION spoil() RETURNS event_trigger LANGUAGE plpgsql AS $$ DECLARE t regclass; BEGIN "
        "SELECT attrelid INTO t FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "WHERE a.attname = 'spoilt' AND c.relkind = 'r' AND c.relname <> 'sound' LIMIT 1; IF t IS NOT NULL THEN "
        "EXECUTE format('CREATE TRIGGER t BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION one()', t); "
        "END IF; END $$",
        "CREATE EVENT TRIGGER spoiling ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION spoil()",
    )
    before = tables(place)
    try:
        with refused(UsageError, "cannot-hold", format="postgresql"):
            run_convert(data, at(place, "changed"))
        with refused(ViolationError, "self-check-failed"), publication(at(place, "changed")) as target:
            source.write(target, {})
    finally:
        execute(place, "DROP EVENT TRIGGER spoiling", "DROP TABLE sound")
    assert tables(place) == [name for name in before if name != "sound"]


def test_what_the_database_refuses_shows_no_value(place: str) -> None:
    execute(place, "CREATE DOMAIN small AS integer CHECK (VALUE < 5)")
    for declared, value, said in (
        ("small", pa.scalar(777, pa.int32()), "a check of a domain refuses a value"),
        ("smallint", pa.scalar(77777), "a value is not one of its column"),
        ("varchar(2)", pa.scalar("secret 777"), "a text is longer than its column takes"),
    ):
        with refused(DocumentError, "server-error") as caught, publication(at(place, "refused")) as target:
            assert isinstance(target, AddressPath)
            target.writing.fill(
                pa.table({"a": pa.array([value.as_py()], value.type)}),
                PostgresTable(columns={"a": PostgresColumn(declared)}),
            )
        assert said in str(caught.value)
        assert "777" not in str(caught.value)
    assert "refused" not in tables(place)


def test_a_password_comes_from_the_address_or_the_environment(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(place.partition("host=")[2].partition("&")[0])
    access = folder / "data" / "pg_hba.conf"
    access.write_text("local all ann scram-sha-256\n" + access.read_text())
    execute(place, "CREATE ROLE ann LOGIN PASSWORD 'se/cr@t'", "SELECT pg_reload_conf()")
    query = "query=SELECT 1 AS a"
    for account, environment, said in (
        ("ann:se%2Fcr%40t", "", ""),
        ("ann", "se/cr@t", ""),
        ("ann:wr%6Fng", "", "password authentication failed"),
        ("ann", "", "no password supplied"),
    ):
        monkeypatch.setenv("PGPASSWORD", environment)
        address = parse_address(place.replace("masktron:opensesame", account).format(what=query))
        if not said:
            assert cells_of(fetch(address))["a"].to_pylist() == ["1"]
            continue
        with refused(DocumentError, "server-error") as caught:
            fetch(address)
        assert said in str(caught.value)
        assert "wrong" not in str(caught.value)
        assert "wr%6Fng" not in str(caught.value)
