"""Tables by address: what an address says, and a real PostgreSQL server."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
import pytest

from masktron.errors import DocumentError, UsageError
from masktron.sources.known_formats import table_format
from masktron.sources.tables import addresses
from masktron.sources.tables.addresses import fetch, is_address, local, parse_address, publish
from postgres_server import server


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with server() as address:
        yield address


def execute(place: str, *statements: str) -> None:
    with closing(adbc.connect(parse_address(place.format(what="table=t")).connection)) as connection:
        with closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.commit()


def tables(place: str) -> list[str]:
    names = fetch(
        parse_address(
            place.format(what="query=SELECT tablename::text AS n FROM pg_tables WHERE schemaname = 'public'")
        )
    )
    return sorted(names["n"].to_pylist())


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sqlite:data/a.sqlite?table=t", "sqlite:data/a.sqlite?table=t"),
        ("sqlite:///data/a.sqlite?table=t", "sqlite:/data/a.sqlite?table=t"),
        ("duckdb:a.duckdb?query=SELECT%201", "duckdb:a.duckdb?query=SELECT 1"),
        ("postgres://me:s%40cret@db:5433/census?table=a.b", "postgresql://me@db:5433/census?table=a.b"),
        ("postgresql:///census?password=s@cret&table=t", "postgresql:///census?table=t"),
        ("postgresql://h/census?table=t&sslmode=require", "postgresql://h/census?sslmode=require&table=t"),
    ],
)
def test_addresses_are_shown_without_passwords(text: str, shown: str) -> None:
    address = parse_address(text)
    assert is_address(text)
    assert address.shown == shown
    assert "cret" not in repr(address)
    assert ("cret" in address.connection) is ("cret" in text)


@pytest.mark.parametrize(
    "text",
    [
        "sqlite:a.sqlite",
        "sqlite:a.sqlite?table=",
        "sqlite:a?table=t&query=x",
        "sqlite://host/a?table=t",
        "postgresql://h/db",
        "mysql://h/db?table=t",
    ],
)
def test_what_is_no_address_of_a_table_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="address"):
        parse_address(text)


def test_a_table_is_written_and_read_exactly(place: str) -> None:
    address = parse_address(place.format(what="table=public.a release"))
    publish(address, values())
    found = fetch(address)
    assert found.schema.remove_metadata() == values().schema
    assert found.to_pylist() == values().to_pylist()
    with pytest.raises(UsageError, match="there is such a table") as caught:
        publish(address, values().slice(0, 1))
    assert "opensesame" not in str(caught.value)
    assert len(fetch(address)) == 2
    publish(address, values().slice(0, 1), replace=True)
    assert len(fetch(address)) == 1


def test_numbers_without_a_precision_stay_exact(place: str) -> None:
    query = "query=SELECT * FROM (VALUES (1.50::numeric, 'a'::char(4), 0.1::real), (1e20, NULL, 'NaN')) AS v(n, c, r)"
    found = fetch(parse_address(place.format(what=query)))
    assert found["n"].to_pylist() == [Decimal("1.50"), Decimal("1e20")]
    assert found["c"].to_pylist() == ["a", None]
    with pytest.raises(DocumentError, match="column 'n' holds NaN"):
        fetch(parse_address(place.format(what="query=SELECT 'NaN'::numeric AS n")))


def test_types_without_a_text_form_are_refused(place: str) -> None:
    with pytest.raises(DocumentError, match="column 'a' is of type _int4") as caught:
        fetch(parse_address(place.format(what="query=SELECT ARRAY[1] AS a")))
    assert "opensesame" not in str(caught.value)
    with pytest.raises(UsageError, match="no type for column 'a'"):
        publish(parse_address(place.format(what="table=lists")), pa.table({"a": [[1]]}))
    assert "lists" not in tables(place)


def test_a_failed_run_shows_no_password(place: str) -> None:
    with pytest.raises(UsageError, match="PostgreSQL") as caught:
        fetch(parse_address(place.format(what="table=none")))
    assert "opensesame" not in str(caught.value)
    with pytest.raises(UsageError, match="PostgreSQL") as caught:
        fetch(parse_address("postgresql://me:open%2same@/x?host=/nowhere&table=t"))
    assert "same" not in str(caught.value)


def test_an_interrupted_write_leaves_no_table(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = parse_address(place.format(what="table=cut_off"))
    publish(parse_address(place.format(what="table=kept")), values())

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(addresses, "_require_same", interrupted)
    for name in ("cut_off", "kept"):
        with pytest.raises(KeyboardInterrupt):
            publish(parse_address(place.format(what=f"table={name}")), values().slice(0, 1), replace=True)
    assert "cut_off" not in tables(place)
    monkeypatch.undo()
    assert len(fetch(parse_address(place.format(what="table=kept")))) == 2
    publish(address, values())
    assert "cut_off" in tables(place)


def test_what_the_server_makes_of_values_is_compared_before_they_are_there(place: str) -> None:
    """A trigger of the database, which changes what is written, keeps the table from appearing."""
    execute(
        place,
        "CREATE FUNCTION spoil() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF to_regclass('spoilt') IS NOT NULL THEN "
        "EXECUTE 'CREATE OR REPLACE FUNCTION one() RETURNS trigger LANGUAGE plpgsql AS "
        "''BEGIN NEW.a := 1; RETURN NEW; END''; CREATE TRIGGER t BEFORE INSERT ON spoilt FOR EACH ROW "
        "EXECUTE FUNCTION one()'; END IF; END $$",
        "CREATE EVENT TRIGGER spoiling ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION spoil()",
    )
    try:
        with pytest.raises(DocumentError, match="what was written is not what is read, in column 'a'"):
            publish(parse_address(place.format(what="table=spoilt")), pa.table({"a": [1, 2]}))
    finally:
        execute(place, "DROP EVENT TRIGGER spoiling")
    assert "spoilt" not in tables(place)


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_table_is_added_to_a_database_that_is_a_file(
    tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"a.{scheme}"
    some = values().select(["Big one", "f", "x", "s"])
    first, second = (parse_address(f"{scheme}:{file}?table={name}") for name in ("one", "two"))
    publish(first, some)
    with pytest.raises(UsageError, match="there is such a table"):
        publish(first, some.slice(0, 1))

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(addresses, "_require_rows", interrupted)
    for address in (first, second):
        with pytest.raises(KeyboardInterrupt):
            publish(address, some.slice(0, 1), replace=True)
    monkeypatch.undo()
    path, name, options = local(first, tmp_path)
    table = table_format(name).read(path, options)
    assert len(table) == 2
    assert table.cells.column("f").to_pylist() == ["0.1", "1E+300"]
    with pytest.raises(UsageError, match="no table 'two'"):
        table_format(name).read(path, {"table": "two"})
    monkeypatch.setattr(addresses, "object_text", lambda value: "other")
    with pytest.raises(DocumentError, match="what was written is not what is read"):
        publish(second, some)
    monkeypatch.undo()
    publish(first, some.slice(0, 1), replace=True)
    assert len(table_format(name).read(path, options)) == 1


def test_a_table_of_a_server_becomes_a_file(place: str, tmp_path: Path) -> None:
    address = parse_address(place.format(what="table=local"))
    publish(address, values())
    path, name, options = local(address, tmp_path)
    table = table_format(name).read(path, options)
    assert table.cells["n"].to_pylist() == ["12345678901234567890.123", None]
    assert table.cells["z"].to_pylist() == ["2020-01-02T03:04:05.0006Z", None]
