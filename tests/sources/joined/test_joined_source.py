"""Tables whose keys do not join them, settings that say too little, levels that tables have as XML has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from masktron.config import Config, ReadOptions
from masktron.declared import declared_in
from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.level_settings import LevelSettings, levels_from, with_tables
from masktron.settings_file import load_config, located
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.opening import open_source
from masktron.sources.xml.xml_source import XmlSource
from refusals import refused

pytestmark = pytest.mark.usefixtures("at_terminal")

HOUSEHOLDS = "HID,Size\n1,2\n2,1\n3,0\n"
PERSONS = "HID,PID,Age\n1,1,30\n2,1,40\n1,2,31\n"
FLAT = "HID,Size,Name,Age\n1,2,a,30\n2,1,b,40\n1,2,c,31\n"
TWO = {"Household": {"key": "HID"}, "Person": {"data": "p.csv", "key": "PID"}}
ONE = {"Household": {"key": "HID", "fields": ["Size"]}, "Person": {"same_table": True}}


def opened(folder: Path, data: str, persons: str, levels: Mapping[str, Any]) -> JoinedSource:
    (folder / "h.csv").write_text(data, encoding="utf-8")
    (folder / "p.csv").write_text(persons, encoding="utf-8")
    said = located(Config(levels=levels), folder / "masktron.toml").levels
    found = open_source(folder / "h.csv", reading=ReadOptions(levels=said))
    assert isinstance(found, JoinedSource)
    return found


@pytest.mark.parametrize(
    ("households", "persons", "place", "code"),
    [
        (HOUSEHOLDS + "2,5\n", PERSONS, "h.csv:5, record 4", "bad-key"),
        (HOUSEHOLDS + ",5\n", PERSONS, "h.csv:5, record 4", "bad-key"),
        (HOUSEHOLDS, PERSONS + " ,1,5\n", "p.csv:5, record 4", "bad-key"),
        (HOUSEHOLDS, PERSONS + "9,1,5\n", "p.csv:5, record 4", "bad-key"),
        (HOUSEHOLDS, PERSONS + "01,1,5\n", "p.csv:5, record 4", "bad-key"),
        (HOUSEHOLDS, PERSONS + "1,2,5\n", "p.csv:5, record 4", "bad-key"),
        (HOUSEHOLDS, "HID,PID,Age\n", "h.csv", "level-without-records"),
        (HOUSEHOLDS, "HH,PID\n1,1\n", "p.csv", "unknown-name"),
        ("HID,Person\n1,2\n", PERSONS, "h.csv", "name-taken"),
    ],
)
def test_keys_that_join_nothing_are_told_with_their_line(
    households: str, persons: str, place: str, code: str, tmp_path: Path
) -> None:
    with refused(MasktronError, code, where=tmp_path / place):
        opened(tmp_path, households, persons, TWO).tree  # noqa: B018


def test_the_table_of_another_file_may_be_meant(tmp_path: Path) -> None:
    with refused(DocumentError, "bad-key", key="HID = 2", table="Person") as error:
        opened(tmp_path, HOUSEHOLDS.replace("2,1", "8,1"), PERSONS, TWO).tree  # noqa: B018
    assert "--table Person=FILE" in error.value.hint


def test_a_field_of_a_household_that_differs_between_its_rows(tmp_path: Path) -> None:
    with refused(DocumentError, "level-field", field="Size", where=tmp_path / "h.csv:4, record 3"):
        opened(tmp_path, FLAT.replace("1,2,c", "1,3,c"), "", ONE).tree  # noqa: B018


def test_columns_of_a_household_are_proposed_and_not_taken(tmp_path: Path) -> None:
    levels = {"Household": {"key": "HID"}, "Person": {"same_table": True}}
    with refused(UsageError, "level-fields-missing", level="Household") as error:
        opened(tmp_path, FLAT, "", levels).tree  # noqa: B018
    assert 'fields = ["HID", "Size"]' in error.value.hint


def test_the_levels_are_those_of_the_document(tmp_path: Path) -> None:
    """The same households in XML, in two tables and in one; the third has no persons, and so no rows in one table."""
    xml = tmp_path / "s.xml"
    rows = "<H><HID>1</HID><Size>2</Size><P><PID>1</PID><Age>30</Age></P><P><PID>2</PID><Age>31</Age></P></H>"
    rows += "<H><HID>2</HID><Size>1</Size><P><PID>1</PID><Age>40</Age></P></H><H><HID>3</HID><Size>0</Size></H>"
    xml.write_text(f"<S>{rows.replace('H>', 'Household>').replace('P>', 'Person>')}</S>", encoding="utf-8")
    nested, tables = XmlSource(xml), opened(tmp_path, HOUSEHOLDS, PERSONS, TWO)
    assert nested.tree is not None
    assert tables.tree is not None
    assert tables.tree.top == nested.tree.top
    one, other = nested.level_records(), tables.level_records(missing={"Age": frozenset({"31"})})
    for path, table in one.levels.items():
        assert table.parent.tolist() == other.levels[path].parent.tolist()
        for name, column in table.columns.items():
            assert column.lexemes.tolist() == other.levels[path].columns[name].lexemes.tolist()
    assert other.levels["Person",].columns["Age"].present.tolist() == [True, False, True]
    assert other.levels["Person",].lines.tolist() == [2, 4, 3]
    flat = opened(tmp_path, FLAT, "", ONE).level_records()
    assert flat.counts(("Person",)).tolist() == [2, 1]
    assert list(flat.columns) == ["HID", "Size"]
    assert list(flat.levels["Person",].columns) == ["Name", "Age"]


def test_three_levels_in_two_tables_and_three(tmp_path: Path) -> None:
    spells = tmp_path / "s.csv"
    spells.write_text("HID,PID,Begin\n1,2,5\n1,1,6\n1,2,7\n", encoding="utf-8")
    apart = {
        "Household": {"key": "HID"},
        "Person": {"data": "p.csv", "key": ["HID", "PID"]},
        "Spell": {"data": "s.csv", "parent": "Person"},
    }
    tables = opened(tmp_path, HOUSEHOLDS, PERSONS, apart).level_records()
    assert tables.levels["Person", "Spell"].parent.tolist() == [0, 1, 1]
    begun = tables.levels["Person", "Spell"].columns["Begin"].lexemes.tolist()
    assert begun == ["6", "5", "7"]
    rows = "HID,PID,Age,Begin\n1,1,30,6\n1,2,31,5\n2,1,40,1\n1,2,31,7\n"
    together = {
        "Household": {"key": "HID"},
        "Person": {"data": "p.csv", "key": "PID", "fields": ["PID", "Age"]},
        "Spell": {"parent": "Person", "same_table": True},
    }
    again = opened(tmp_path, HOUSEHOLDS, rows, together).level_records()
    assert again.levels["Person", "Spell"].parent.tolist() == [0, 1, 1, 2]
    assert again.levels["Person",].columns["Age"].lexemes.tolist() == ["30", "31", "40"]


A = {"A": {"key": "k"}}


@pytest.mark.parametrize(
    ("levels", "code", "setting"),
    [
        (A, "bad-value", "levels"),
        ({**A, "B": {}}, "bad-value", "levels"),
        ({"A": {}, "B": {"data": "b.csv"}}, "bad-value", "levels.A.key"),
        ({**A, "B": {"data": "b.csv", "same_table": True}}, "bad-value", "levels.B"),
        ({**A, "B": {"data": "b.csv", "parent": "C"}}, "bad-value", "levels.B.parent"),
        ({**A, "B": {"data": "b.csv", "parent_key": ["x", "y"]}}, "bad-value", "levels.B.parent_key"),
        (
            {"A": {"key": "k"}, "B": {"same_table": True, "parent_key": "k"}},
            "setting-not-usable",
            "levels.B.parent_key",
        ),
        ({"A": {"key": "k", "fields": ["x"]}, "B": {"data": "b.csv"}}, "setting-not-usable", "levels.A.fields"),
        ({**A, "B": {"data": "b.csv", "keys": "x"}}, "unknown-name", "levels.B.keys"),
        ({"A": {"key": 3}, "B": {"data": "b.csv"}}, "bad-value", "levels.A.key"),
        ({"A b": {"key": "k"}, "B": {"data": "b.csv"}}, "bad-value", "levels"),
        ({"A": {"key": "k", "out": "x.csv"}, "B": {"data": "b.csv"}}, "setting-not-usable", "levels.A.out"),
        ({**A, "B": {"same_table": True}, "C": {"same_table": True}}, "bad-value", "levels.A"),
        ([1], "bad-value", "levels"),
    ],
)
def test_settings_that_do_not_go_together(levels: Any, code: str, setting: str) -> None:
    with refused(UsageError, code, name=setting):
        Config(levels=levels)


def test_tables_lie_beside_the_settings_and_options_name_others(tmp_path: Path) -> None:
    settings = tmp_path / "masktron.toml"
    settings.write_text('[levels.Household]\nkey = "HID"\n[levels.Person]\ndata = "p.csv"\n', encoding="utf-8")
    levels: LevelSettings = load_config(settings).levels
    assert levels["Person"].data == tmp_path / "p.csv"
    assert levels["Person"].parent_key == ("HID",)
    found = with_tables(levels, declared_in(Config)["levels"].collected("levels", ["Person=other.csv"]))
    assert found["Person"].data == Path("other.csv")
    with refused(UsageError, "unknown-name", name="Household"):
        with_tables(levels, declared_in(Config)["levels"].collected("levels", ["Household=other.csv"]))
    with refused(UsageError, "bad-value", given="'Person'"):
        declared_in(Config)["levels"].collected("levels", ["Person"])
    with refused(UsageError, "given-twice"):
        declared_in(Config)["levels"].collected("levels", ["Person=a", "Person=b"])


@pytest.mark.parametrize(
    ("name", "more", "code"),
    [
        ("h.xml", {}, "setting-not-usable"),
        ("h.csv", {"record": "Home"}, "setting-not-usable"),
        ("h.csv", {"metadata": Path("m.json")}, "setting-not-usable"),
    ],
)
def test_what_tables_cannot_be_is_refused(name: str, more: dict[str, Any], code: str, tmp_path: Path) -> None:
    reading = ReadOptions(levels=levels_from(TWO), **more)
    with refused(UsageError, code):
        open_source(tmp_path / name, reading=reading)
