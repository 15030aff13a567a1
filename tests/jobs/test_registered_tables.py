"""`mask` with a register on tables of databases: a file holds several originals, and a transaction may fail."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import masktron
from cli_runner import numbers, write_rules
from masktron.addresses import AddressPath, parse_address, path_of
from masktron.errors import DocumentError, ReleasedBeforeError
from masktron.jobs.convert import run_convert
from masktron.jobs.register.register_file import opened_register
from masktron.setting_values import Register
from masktron.sources.tables import new_tables
from masktron.sources.tables.postgresql import transaction
from postgres_server import server

FILES = pytest.mark.parametrize("scheme", ["sqlite", pytest.param("duckdb", marks=pytest.mark.full)])
MONTHS = ("january", "february")


@pytest.fixture(autouse=True)
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifests of tables stand in the folder of the run."""
    monkeypatch.chdir(tmp_path)


def records(month: str, n: int = 40) -> pd.DataFrame:
    frame = pd.DataFrame(numbers(n, MONTHS.index(month) + 1))
    return frame.assign(Id=range(100, 100 + n))


class Office:
    """A folder with a rulebook, a register, and a database of two months."""

    def __init__(self, folder: Path, scheme: str = "sqlite") -> None:
        self.folder = folder
        self.rules = write_rules(folder / "rules.sch", "A + B = T")
        self.register = Register(folder / "releases.jsonl", folder / "releases.jsonl.salt")
        self.months = folder / f"months.{scheme}"
        if scheme == "sqlite":
            with closing(sqlite3.connect(self.months)) as connection:
                for month in MONTHS:
                    records(month).to_sql(month, connection, index=False)
        else:
            with closing(duckdb.connect(str(self.months))) as connection:
                for month in MONTHS:
                    held = pa.Table.from_pandas(records(month))
                    connection.register("held", held)
                    connection.execute(f"CREATE TABLE {month} AS FROM held")

    def address(self, table: str, file: Path | None = None) -> Path:
        file = file or self.months
        return path_of(f"{file.suffix[1:]}:{file}?table={table}")

    def release(self, data: Path, out: Path, table: str = "", **settings: Any) -> masktron.MaskResult:
        options = {"format_options": {"table": table}} if table else {}
        given = {"roles": {"Id": "record-id"}, "k": 4, "register": self.register.path, **options, **settings}
        return masktron.mask(data, self.rules, out, **given)

    def kinds(self) -> list[str]:
        with opened_register(self.register) as book:
            return [entry["kind"] for entry in book.entries if entry["kind"] != "header"]


@pytest.mark.full
@FILES
def test_two_tables_of_one_file_are_two_originals(tmp_path: Path, scheme: str) -> None:
    office = Office(tmp_path, scheme)
    for month in MONTHS:
        office.release(office.months, tmp_path / f"{month}.{scheme}", month)
    assert office.kinds() == ["release", "published"] * 2
    for data, table, said in (
        (office.months, "january", "this original was released"),
        (office.months, "february", "this original was released"),
        (office.address("january"), "", "shares 100 % of its records with this was released"),
    ):
        with pytest.raises(ReleasedBeforeError, match=said):
            office.release(data, tmp_path / f"new.{scheme}", table, k=5)
    assert not (tmp_path / f"new.{scheme}").exists()
    assert office.kinds() == ["release", "published"] * 2
    again = office.release(office.months, tmp_path / f"new.{scheme}", "january", k=5, again="a wrong weight")
    assert any("released again: this original was released on" in note for note in again.notes)


@pytest.mark.full
def test_a_copy_of_a_table_under_another_name_is_the_same_original(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.release(office.months, tmp_path / "january.sqlite", "january")
    with closing(sqlite3.connect(office.months)) as connection:
        connection.execute("CREATE TABLE copied AS SELECT * FROM january ORDER BY T")
        connection.commit()
    with pytest.raises(ReleasedBeforeError, match="shares 100 % of its records"):
        office.release(office.months, tmp_path / "new.sqlite", "copied")


@pytest.mark.full
def test_two_sheets_of_one_workbook_are_two_originals(tmp_path: Path) -> None:
    office = Office(tmp_path)
    book = tmp_path / "months.xlsx"
    with pd.ExcelWriter(book, engine="xlsxwriter") as writer:
        for month in MONTHS:
            records(month).to_excel(writer, sheet_name=month, index=False)
    for month in MONTHS:
        office.release(book, tmp_path / f"{month}.xlsx", format_options={"sheet": month})
    with pytest.raises(ReleasedBeforeError, match="this original was released"):
        office.release(book, tmp_path / "new.xlsx", format_options={"sheet": "february"}, k=5)


@FILES
def test_released_tables_are_entered_and_refused(tmp_path: Path, scheme: str) -> None:
    office = Office(tmp_path, scheme)
    file = tmp_path / f"out.{scheme}"
    first = office.release(office.address("january"), office.address("one", file))
    assert any("is entry" in note for note in first.notes)
    with pytest.raises(ReleasedBeforeError, match=r"this original was released on .* \(one, mdav, k = 4\)"):
        office.release(office.address("january"), office.address("two", file), k=5)
    office.release(office.address("february"), office.address("three", file))
    office.release(office.address("january"), office.address("two", file), k=5, again="another k")
    assert office.kinds() == ["release", "published"] * 3


@FILES
def test_a_table_whose_transaction_fails_counts_as_released(
    tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was taken nobody knows; a file that could not be written is withdrawn."""
    office = Office(tmp_path, scheme)
    file = tmp_path / f"out.{scheme}"

    def failing(*_: object) -> None:
        raise DocumentError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(new_tables._IN_FILES[scheme], "commit", failing)
        with pytest.raises(DocumentError, match="the disk is full"):
            office.release(office.address("january"), office.address("one", file))
    assert office.kinds() == ["release"]
    assert not file.exists()
    with pytest.raises(ReleasedBeforeError, match="that run was ended before it saw the file appear"):
        office.release(office.address("january"), office.address("one", file), k=5)
    repeated = office.release(office.address("january"), office.address("one", file))
    assert any("repeats an earlier release to the byte" in note for note in repeated.notes)
    assert office.kinds() == ["release", "release", "published"]


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with server() as address:
        yield address


@pytest.mark.full
def test_tables_of_a_server_are_entered_and_refused(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = Office(tmp_path)

    def at(table: str) -> AddressPath:
        return AddressPath(parse_address(place.format(what=f"table={table}")))

    for month in MONTHS:
        data = tmp_path / f"{month}.csv"
        data.write_text(records(month).to_csv(index=False))
        run_convert(data, at(month))
        office.release(at(month), at(f"out_{month}"))
    assert office.kinds() == ["release", "published"] * 2
    with pytest.raises(ReleasedBeforeError, match="this original was released on"):
        office.release(at("january"), at("new"), k=5)
    with pytest.raises(ReleasedBeforeError, match="shares 100 % of its records with this"):
        office.release(tmp_path / "january.csv", tmp_path / "new.csv", k=5)

    def failing(*_: object) -> None:
        raise DocumentError("the server is gone")

    with monkeypatch.context() as patched:
        patched.setattr(transaction.PostgresWriting, "commit", failing)
        with pytest.raises(DocumentError, match="the server is gone"):
            office.release(at("january"), at("new"), k=5, again="another k")
    assert office.kinds()[-1] == "release", "nobody knows whether the transaction was taken"
    office.release(at("january"), at("new"), k=5, again="the server was gone")
