"""Households and persons in tables of other formats: what a file says of its columns holds of all members."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest
from lxml import html

import masktron
from masktron.config import ReadOptions
from masktron.level_settings import levels_from
from masktron.sources.opening import open_source
from masktron.sources.wide.wide_source import WideSource
from nested_survey import ROLES, made
from nested_tables import ONE, TWO, levels, tables_of
from refusals import refused

SETTINGS: dict[str, Any] = {
    "k": 3, "secret": bytes(range(16, 48)), "rare_units": "exclude", "max_observed_share": 100,
    "roles": {**ROLES, "HID": "identifier"},
}  # fmt: skip
del SETTINGS["roles"]["@id"]


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[pd.DataFrame, ...]]:
    folder = tmp_path_factory.mktemp("survey")
    data, _ = made(folder, 1)
    read = [pd.read_csv(path).rename(columns={"@id": "HID"}) for path in tables_of(data, folder)]
    return folder, tuple(read)


@pytest.mark.full
def test_two_formats_are_written_as_they_were(frames: tuple[Path, tuple[pd.DataFrame, ...]], tmp_path: Path) -> None:
    folder, (households, persons, _) = frames
    households.to_parquet(tmp_path / "h.parquet")
    persons.to_stata(tmp_path / "p.dta", write_index=False)
    said = levels({"Household": {"key": "HID"}, "Person": {"data": "p.dta"}}, tmp_path)
    out = tmp_path / "r.parquet"
    result = masktron.mask(tmp_path / "h.parquet", folder / "rules.sch", out, levels=said, **SETTINGS)
    assert result.tables == {"Person": str(tmp_path / "r.Person.dta")}
    released, members = pd.read_parquet(out), pd.read_stata(tmp_path / "r.Person.dta")
    assert released["HID"].tolist() == [str(at + 1) for at in range(result.records_out)]
    assert (
        members["HID"]
        .value_counts()
        .sort_index()
        .equals(released.set_index("HID")["Size"].rename("count").sort_index().astype("int64"))
    )
    found = masktron.check(
        out, folder / "rules.sch", manifest=tmp_path / "r.manifest.json", original=tmp_path / "h.parquet"
    )
    assert list(found.problems) == []


@pytest.mark.full
def test_a_table_of_a_database_with_a_row_for_each_person(
    frames: tuple[Path, tuple[pd.DataFrame, ...]], tmp_path: Path
) -> None:
    folder, (*_, flat) = frames
    with sqlite3.connect(tmp_path / "d.sqlite") as connection:
        flat.to_sql("persons", connection, index=False)
    said = {**ONE, "Household": {"key": "HID", "fields": ["Size", "Region", "Total"]}}
    data, out = f"sqlite:{tmp_path}/d.sqlite?table=persons", f"sqlite:{tmp_path}/r.sqlite?table=persons"
    result = masktron.mask(data, folder / "rules.sch", out, levels=said, manifest=tmp_path / "m.json", **SETTINGS)
    with sqlite3.connect(tmp_path / "r.sqlite") as connection:
        sizes = connection.execute("SELECT HID, Size, count(*) FROM persons GROUP BY HID ORDER BY min(rowid)")
        rows = sizes.fetchall()
    assert [int(number) for number, *_ in rows] == [at + 1 for at in range(result.records_out)]
    assert all(int(size) == count for _, size, count in rows)


def test_several_tables_of_a_database_are_read_and_not_written(
    frames: tuple[Path, tuple[pd.DataFrame, ...]], tmp_path: Path
) -> None:
    folder, (households, persons, _) = frames
    with sqlite3.connect(tmp_path / "d.sqlite") as connection:
        households.to_sql("h", connection, index=False)
        persons.to_sql("p", connection, index=False)
    address = f"sqlite:{tmp_path}/d.sqlite?table="
    said = {"Household": {"key": "HID"}, "Person": {"data": f"{address}p"}}
    assert masktron.validate(f"{address}h", folder / "rules.sch", levels=said).valid
    with refused(masktron.UsageError, "tables-in-database", level="Household"):
        masktron.mask(
            f"{address}h", folder / "rules.sch", f"sqlite:{tmp_path}/r.sqlite?table=h", levels=said,
            manifest=tmp_path / "m.json", **SETTINGS,
        )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["d.sqlite"]


def test_codes_that_a_file_declares_are_those_of_all_members(
    frames: tuple[Path, tuple[pd.DataFrame, ...]], tmp_path: Path
) -> None:
    _, (*_, flat) = frames
    pyreadstat.write_sav(
        flat, str(tmp_path / "f.sav"), missing_ranges={"Wage": [99]}, variable_value_labels={"Wage": {99: "refused"}}
    )
    said = levels_from({**ONE, "Household": {"key": "HID", "fields": ["Size", "Region", "Total"]}})
    wide = WideSource(open_source(tmp_path / "f.sav", reading=ReadOptions(levels=said)))
    codes = {one.name: dict(one.missing) for one in wide.own_variables}
    assert codes["Person.1.Wage"] == codes["Person.3.Wage"] == {"99": "refused"}
    assert codes["Person.1.Income"] == {}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("said", "encodings", "told"),
    [(ONE, ("cp1252",), True), (TWO, ("cp1252", "cp1252"), True), (TWO, ("cp1252", "utf-16"), False)],
    ids=["one table", "two alike", "two that differ"],
)
def test_the_page_for_others_says_how_tables_of_nested_records_are_written(
    tmp_path: Path, said: dict[str, Any], encodings: tuple[str, ...], told: bool
) -> None:
    """What all tables have; nothing where they differ in more than what separates cells."""
    survey, rules = made(tmp_path, 21, 24)
    names = ("flat.csv",) if said is ONE else ("households.csv", "persons.csv")
    tables_of(survey, tmp_path)
    for name, encoding in zip(names, encodings, strict=True):
        path = tmp_path / name
        path.write_bytes(path.read_text(encoding="utf-8").replace(",", ";").encode(encoding))
    own = levels(said, tmp_path)
    if said is TWO:
        own["Person"] = {**own["Person"], "format_options": {"encoding": encodings[1]}}
    page, given = tmp_path / "about.html", {"roles": ROLES, "rare_units": "exclude", "max_observed_share": 100}
    masktron.mask(
        tmp_path / names[0],
        rules,
        tmp_path / "m.csv",
        k=3,
        levels=own,
        format_options={"encoding": "cp1252"},
        **given,
    )
    masktron.write_report(tmp_path / "m.manifest.json", html_public=page)
    text = html.fromstring(page.read_text(encoding="utf-8")).text_content()
    assert ("How the file is written" in text) is told
    assert ("--format-option encoding=cp1252" in text) is told
