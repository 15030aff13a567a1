"""Typed columns, data frames and tables of databases whose keys are treated: their types follow what is written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
import pytest

import masktron
from cli_runner import write_rules
from masktron.addresses import parse_address
from masktron.errors import UsageError
from masktron.sources.opening import open_source
from masktron.sources.tables import table_source
from masktron.sources.xml import wellformed
from postgres_server import server
from refusals import refused

SIZE = 60
AGES = [16 + 7 * at % 60 for at in range(SIZE)]
REGIONS = [(11, 12, 21, 22)[at % 4] for at in range(SIZE)]
FRAME = pd.DataFrame(
    {
        "AGE": AGES,
        "REGION": REGIONS,
        "JOB": [("a", "b", "c")[at % 3] for at in range(SIZE)],
        "A": [100 + 13 * at % 70 for at in range(SIZE)],
        "B": [10 + at % 9 for at in range(SIZE)],
    }
)
RULES = ("B <= A", "AGE >= 16")
HIERARCHY = "11;North;*\n12;North;*\n21;South;*\n22;South;*\n"
AGE_CLASSES = [("0-19", "20-39", "40-59", "60+")[sum(age >= one for one in (20, 40, 60))] for age in AGES]
REGION_CLASSES = [("North", "North", "South", "South")[at % 4] for at in range(SIZE)]
TYPES = {
    "parquet": ("string", "string", "int64"),
    "arrow": ("string", "string", "int64"),
    "sqlite": ("TEXT", "TEXT", "INTEGER"),
    "duckdb": ("VARCHAR", "ENUM('North', 'South')", "BIGINT"),
}
"""Of AGE and REGION, which are recoded, and of A, which stays as it is."""
OF_FORMAT = ["parquet", "arrow", "sqlite", "duckdb", "xlsx", "xpt"]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "region.csv").write_text(HIERARCHY)
    return write_rules(tmp_path / "r.sch", *RULES)


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    roles = dict.fromkeys(("AGE", "REGION", "JOB"), "quasi-identifier")
    recode = {"AGE": "breaks:0,20,40,60", "REGION": str(folder / "region.csv")}
    return {"k": 3, "order": "keep", "roles": roles, "recode": recode, **more}


def written(folder: Path, name: str) -> Path:
    path = folder / f"d.{name}"
    if name == "parquet":
        table = pa.Table.from_pandas(FRAME.astype({"AGE": "Int16"}))
        pq.write_table(table, path, column_encoding={"AGE": "DELTA_BINARY_PACKED"}, use_dictionary=False)
    elif name == "arrow":
        pa.feather.write_feather(FRAME, path)
    elif name == "xpt":
        pyreadstat.write_xport(FRAME.astype({"AGE": float}), path, file_format_version=8)
    elif name == "sqlite":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE people (AGE INTEGER, REGION INT, JOB TEXT, A INTEGER, B REAL)")
            rows = FRAME.astype(object).to_numpy().tolist()
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
    elif name == "duckdb":
        with closing(duckdb.connect(str(path))) as connection:
            connection.register("frame", FRAME)
            kind = "ENUM('11', '12', '21', '22', '99')"
            connection.execute(
                f"CREATE TABLE people AS SELECT * REPLACE (REGION::VARCHAR::{kind} AS REGION) FROM frame"  # noqa: S608 -- our own
            )
    else:
        masktron.convert(FRAME, path)
    return path


def lexemes(path: Path, name: str) -> list[str]:
    found: list[str] = open_source(path).records().columns[name].lexemes.tolist()
    return found


def types(path: Path) -> dict[str, str]:
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as connection:
            return {row[1]: row[2] for row in connection.execute("PRAGMA table_info(people)")}
    if path.suffix == ".duckdb":
        with closing(duckdb.connect(str(path), read_only=True)) as connection:
            return {row[0]: row[1] for row in connection.execute("DESCRIBE people").fetchall()}
    schema = pq.read_schema(path) if path.suffix == ".parquet" else pa.feather.read_table(path).schema
    return {one.name: str(one.type) for one in schema}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", OF_FORMAT)
def test_labels_of_classes_stand_in_a_column_that_holds_them(tmp_path: Path, rules: Path, name: str) -> None:
    data, out, manifest = written(tmp_path, name), tmp_path / f"m.{name}", tmp_path / "m.manifest.json"
    result = masktron.mask(data, rules, out, **settings(tmp_path))
    assert result.valid
    assert lexemes(out, "AGE") == AGE_CLASSES
    assert lexemes(out, "REGION") == REGION_CLASSES
    if name in TYPES:
        assert tuple(types(out)[field] for field in ("AGE", "REGION", "A")) == TYPES[name]
    assert lexemes(out, "JOB") == FRAME["JOB"].tolist()
    for book in (rules, tmp_path / "m.rules.sch"):
        checked = masktron.check(out, book, manifest=manifest, original=data)
        assert checked.complies, checked.problems
    assert masktron.validate(out, tmp_path / "m.rules.sch").valid


@pytest.mark.parametrize(
    ("north", "south", "kind"), [("1", "2", "int64"), ("01", "02", "string")], ids=["numbers", "zeros in front"]
)
def test_classes_that_are_numbers_leave_a_column_its_type(
    tmp_path: Path, rules: Path, north: str, south: str, kind: str
) -> None:
    (tmp_path / "region.csv").write_text(HIERARCHY.replace("North", north).replace("South", south))
    masktron.mask(written(tmp_path, "parquet"), rules, out := tmp_path / "m.parquet", **settings(tmp_path))
    assert types(out)["REGION"] == kind
    found = [str(one).zfill(len(north)) for one in pq.read_table(out)["REGION"].to_pylist()]
    assert found == [north if one == "North" else south for one in REGION_CLASSES]


@pytest.mark.parametrize(
    ("north", "south", "shown"),
    [("1", "2", "4.1"), ("10000", "20000", None), ("01", "02", None)],
    ids=["numbers", "wider numbers", "zeros in front"],
)
def test_classes_that_are_numbers_leave_a_column_of_sas_the_format_that_shows_them(
    tmp_path: Path, rules: Path, north: str, south: str, shown: str | None
) -> None:
    (tmp_path / "region.csv").write_text(HIERARCHY.replace("North", north).replace("South", south))
    frame = FRAME.astype({"REGION": float})
    pyreadstat.write_xport(
        frame, data := tmp_path / "d.xpt", file_format_version=8, variable_format={"REGION": "4.1"}
    )
    masktron.mask(data, rules, out := tmp_path / "m.xpt", **settings(tmp_path))
    assert pyreadstat.read_xport(out)[1].original_variable_types["REGION"] == shown
    assert lexemes(out, "REGION") == [north if one == "North" else south for one in REGION_CLASSES]


def test_means_of_classes_are_found_by_rules_as_the_column_has_them(tmp_path: Path) -> None:
    """1.50 is 1.5 in a column of doubles, and so in the translated rule: as a value, it would break it."""
    weights = [(1.25, 1.75, 3.25, 3.75)[at % 4] for at in range(SIZE)]
    FRAME.assign(W=weights).to_parquet(tmp_path / "d.parquet")
    rules = write_rules(tmp_path / "r.sch", "B <= A", "not(W = 1.5)")
    how = {"W": "breaks:0,2.5:mean"}
    roles = dict.fromkeys(("AGE", "REGION", "JOB", "W"), "quasi-identifier")
    out = tmp_path / "m.parquet"
    result = masktron.mask(tmp_path / "d.parquet", rules, out, k=3, order="keep", recode=how, roles=roles)
    assert result.valid
    assert set(pq.read_table(out)["W"].to_pylist()) == {1.5, 3.5}
    checked = masktron.check(out, rules, manifest=tmp_path / "m.manifest.json", original=tmp_path / "d.parquet")
    assert checked.complies, checked.problems


@pytest.mark.full
def test_a_large_file_is_written_block_by_block_with_the_new_types(
    tmp_path: Path, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = written(tmp_path, "parquet")
    masktron.mask(data, rules, tmp_path / "whole.parquet", secret=bytes(range(32)), **settings(tmp_path))
    monkeypatch.setattr(wellformed, "SMALLEST", 0)
    monkeypatch.setattr(table_source.TableSource, "_is_small_file", lambda _: False)
    monkeypatch.setattr(table_source.TableSource, "_is_held", lambda *_: False)
    used: list[tuple[Any, ...]] = []
    before = table_source.TableSource._written_streamed

    def watched(self: Any, stream: Any, *arguments: Any) -> bool:
        used.append(arguments[1])
        return before(self, stream, *arguments)

    monkeypatch.setattr(table_source.TableSource, "_written_streamed", watched)
    masktron.mask(data, rules, tmp_path / "blocks.parquet", secret=bytes(range(32)), **settings(tmp_path))
    assert {"AGE", "REGION"} in [{one.name for one in variables if one.recoded} for variables in used]
    assert (tmp_path / "blocks.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert pd.read_parquet(tmp_path / "blocks.parquet")["AGE"].tolist() == AGE_CLASSES, "pandas is told the new type"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("kind", "age", "region"),
    [
        ("numpy", "str", "str"),
        ("nullable", "string", "string"),
        ("arrow", "string[pyarrow]", "string[pyarrow]"),
        ("categories", "category", "category"),
        ("objects", "str", "str"),
    ],
)
def test_frames_of_pandas_have_texts_or_categories(
    tmp_path: Path, rules: Path, kind: str, age: str, region: str
) -> None:
    frame = FRAME.set_index(pd.Index(range(5, 5 + SIZE)))
    if kind == "nullable":
        frame = frame.astype({"AGE": "Int16", "REGION": "Int64"})
    elif kind == "arrow":
        frame = frame.convert_dtypes(dtype_backend="pyarrow")
    elif kind == "categories":
        frame["AGE"] = pd.Categorical(frame["AGE"], ordered=True)
        frame["REGION"] = pd.Categorical(frame["REGION"])
    elif kind == "objects":
        frame = frame.astype({"AGE": object, "REGION": object})
    found = masktron.mask(frame, rules, **settings(tmp_path)).data
    assert found["AGE"].astype(str).tolist() == AGE_CLASSES
    assert found["REGION"].astype(str).tolist() == REGION_CLASSES
    assert (str(found["AGE"].dtype), str(found["REGION"].dtype)) == (age, region)
    assert found.index.equals(frame.index)
    assert found["A"].dtype == frame["A"].dtype
    if kind == "categories":
        assert found["AGE"].cat.ordered
        assert list(found["AGE"].cat.categories) == ["0-19", "20-39", "40-59", "60+"]
        assert not found["REGION"].cat.ordered


def test_classes_that_cross_in_the_order_of_categories_have_no_order(tmp_path: Path, rules: Path) -> None:
    (tmp_path / "region.csv").write_text("11;Coast;*\n12;Inland;*\n21;Coast;*\n22;Inland;*\n")
    frame = FRAME.assign(REGION=pd.Categorical(FRAME["REGION"], ordered=True))
    found = masktron.mask(frame, rules, **settings(tmp_path)).data["REGION"]
    assert not found.cat.ordered
    assert set(found.cat.categories) == {"Coast", "Inland"}


@pytest.mark.full
def test_other_frames_come_back_with_texts(tmp_path: Path, rules: Path) -> None:
    found = masktron.mask(pl.from_pandas(FRAME), rules, **settings(tmp_path)).data
    assert isinstance(found, pl.DataFrame)
    assert found.schema["AGE"] == pl.String
    assert found["AGE"].to_list() == AGE_CLASSES
    with closing(duckdb.connect()) as connection:
        connection.register("frame", FRAME)
        kind = "ENUM('11', '12', '21', '22')"
        relation = connection.sql(f"SELECT * REPLACE (REGION::VARCHAR::{kind} AS REGION) FROM frame")  # noqa: S608 -- our own
        made = masktron.mask(relation, rules, **settings(tmp_path)).data
        assert [str(one) for one in made.types[:2]] == ["VARCHAR", "ENUM('North', 'South')"]
        assert [row[1] for row in made.fetchall()] == REGION_CLASSES


# tables of databases


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"key_k": 2},
        {"pram": {"JOB": "change:0.2"}, "swap": {"regions": ["REGION"]}, "recode": {"AGE": "breaks:0,40"}},
    ],
)
def test_keys_of_a_table_of_a_database_are_treated(
    tmp_path: Path, rules: Path, name: str, how: dict[str, Any]
) -> None:
    data = written(tmp_path, name)
    before = data.read_bytes()
    source, out = f"{name}:{data}?table=people", f"{name}:{tmp_path / f'out.{name}'}?table=released"
    manifest, translated = tmp_path / "m.json", tmp_path / "m.rules.sch"
    result = masktron.mask(source, rules, out, manifest=manifest, rules_out=translated, secret=bytes(range(32)),
                           **settings(tmp_path, **how))  # fmt: skip
    assert result.valid
    assert data.read_bytes() == before, "nothing stands in the database of the original"
    checked = masktron.check(out, rules, manifest=manifest, original=source)
    assert checked.complies, checked.problems
    assert masktron.validate(out, translated).valid
    if how == {}:
        with closing(
            duckdb.connect(":memory:") if name == "duckdb" else sqlite3.connect(tmp_path / "out.sqlite")
        ) as c:
            if name == "duckdb":
                c.execute(f"ATTACH '{tmp_path / 'out.duckdb'}' AS other (READ_ONLY); USE other")
            assert [row[0] for row in c.execute("SELECT AGE FROM released").fetchall()] == AGE_CLASSES


def test_what_a_query_returns_is_not_treated(tmp_path: Path, rules: Path) -> None:
    source = f"sqlite:{written(tmp_path, 'sqlite')}?query=SELECT * FROM people"  # noqa: S608 -- our own
    with refused(UsageError, "query-not-written"):
        masktron.mask(source, rules, f"sqlite:{tmp_path / 'o.sqlite'}?table=released", **settings(tmp_path))


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with server() as address:
        yield address


@pytest.mark.full
def test_keys_of_a_table_of_a_server_are_treated_and_no_other_table_is_there(
    tmp_path: Path, rules: Path, place: str
) -> None:
    address = place.format(what="table=people")
    with closing(adbc.connect(parse_address(address).connection)) as connection:
        with closing(connection.cursor()) as cursor:
            for statement in (
                "CREATE TYPE region AS ENUM ('11', '12', '21', '22')",
                "CREATE DOMAIN adult AS smallint CHECK (VALUE >= 16)",
                'CREATE TABLE people ("AGE" adult NOT NULL, "REGION" region NOT NULL, "JOB" varchar(1) NOT NULL, '
                '"A" integer NOT NULL, "B" integer)',
                "COMMENT ON COLUMN people.\"AGE\" IS 'age in years'",
            ):
                cursor.execute(statement)
            for row in FRAME.astype(object).to_numpy().tolist():
                values = ", ".join(f"'{value}'" for value in row)
                cursor.execute(f"INSERT INTO people VALUES ({values})")  # noqa: S608 -- our own
        connection.commit()
        out, manifest = place.format(what="table=released"), tmp_path / "m.json"
        translated = tmp_path / "m.rules.sch"
        more = settings(tmp_path, key_k=2)
        result = masktron.mask(address, rules, out, manifest=manifest, rules_out=translated, **more)
        assert result.valid
        checked = masktron.check(out, rules, manifest=manifest, original=address)
        assert checked.complies, checked.problems
        assert masktron.validate(out, translated).valid
        with closing(connection.cursor()) as cursor:
            cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
            assert [name for (name,) in cursor.fetchall()] == ["people", "released"]
            cursor.execute(
                "SELECT attname, format_type(atttypid, atttypmod), attnotnull, col_description(attrelid, attnum) "
                "FROM pg_attribute WHERE attrelid = 'released'::regclass AND attnum > 0 ORDER BY attnum"
            )
            found = {name: (kind, required, comment) for name, kind, required, comment in cursor.fetchall()}
            cursor.execute('SELECT "AGE", "REGION" FROM released')
            rows = cursor.fetchall()
    assert found["AGE"][0] == found["REGION"][0] == "text"
    assert found["AGE"][2] == "age in years"
    assert found["JOB"][0] == "character varying(1)"
    assert found["A"][:2] == ("integer", True), "what was not treated is declared as it was"
    ages = [age for age, _ in rows]
    assert all(age in (None, own) for age, own in zip(ages, AGE_CLASSES, strict=True))
    assert all(region in (None, own) for (_, region), own in zip(rows, REGION_CLASSES, strict=True))
    assert found["AGE"][1] == (None not in ages), "NOT NULL where no cell was left out"


def test_numbers_for_all_of_a_tail_stay_numbers_of_a_table(tmp_path: Path, rules: Path) -> None:
    data = written(tmp_path, "sqlite")
    out = f"sqlite:{tmp_path / 'o.sqlite'}?table=released"
    how = {"AGE": "top:60"}
    masktron.mask(f"sqlite:{data}?table=people", rules, out, manifest=tmp_path / "m.json",
                  rules_out=tmp_path / "m.sch", **settings(tmp_path, recode=how))  # fmt: skip
    with closing(sqlite3.connect(tmp_path / "o.sqlite")) as connection:
        found = np.array(connection.execute("SELECT AGE, typeof(AGE) FROM released").fetchall(), dtype=object)
    assert set(found[:, 1]) == {"integer"}
    assert [age for age in found[:, 0] if age < 60] == [age for age in AGES if age < 60]


def test_special_missing_values_of_sas_stay_missing_in_a_column_of_texts(tmp_path: Path, rules: Path) -> None:
    table = FRAME.assign(AGE=[".A" if at == 5 else str(age) for at, age in enumerate(AGES)])
    table.to_csv(tmp_path / "d.csv", index=False)
    described = {"fields": [{"name": "AGE", "type": "integer", "missingValues": [".A"]}, {"name": "A"}]}
    (tmp_path / "d.json").write_text(json.dumps(described))
    masktron.convert(tmp_path / "d.csv", data := tmp_path / "d.xpt", metadata=tmp_path / "d.json")
    assert open_source(data).variables[0].missing == {".A": ""}, "this is what the test is about"
    book = write_rules(rules, "B <= A", "AGE >= 16 or AGE = '.A'")
    result = masktron.mask(data, book, out := tmp_path / "m.xpt", **settings(tmp_path))
    assert result.valid
    assert lexemes(out, "AGE") == [".A" if at == 5 else one for at, one in enumerate(AGE_CLASSES)]
    manifest = json.loads((tmp_path / "m.manifest.json").read_text())
    assert {one["name"]: one["codes"] for one in manifest["plan"]["fields"]}["AGE"] == [".A"]
    checked = masktron.check(out, book, manifest=tmp_path / "m.manifest.json", original=data)
    assert checked.complies, checked.problems
