"""`describe` tells of the fields of each level what it tells of a table of these records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import masktron
from masktron.errors import UsageError
from masktron.jobs.describe import NO_ROWS
from nested_survey import ROLES, made
from nested_tables import TWO, levels, tables_of
from refusals import refused


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("survey")
    data, _ = made(folder, 2, 40, gaps=0.2)
    tables_of(data, folder)
    return folder


@pytest.mark.parametrize("release_safe", [False, True])
def test_fields_of_levels_are_those_of_their_tables(survey: Path, release_safe: bool) -> None:
    """In XML, and in tables that a key joins; `HID` is no field of a person."""
    missing = {"Wage": ["10"]}
    said = {"release_safe": release_safe, "rows": 0}
    households = masktron.describe(survey / "households.csv", roles=own(ROLES, "@id", "Size", "Region"), **said)
    persons = masktron.describe(survey / "persons.csv", roles=own(ROLES, "Role", "Age"), missing=missing, **said)
    expected = [*households.fields, *(one for one in persons.fields if one.name != "HID")]
    nested = masktron.describe(survey / "survey.xml", roles=ROLES, missing=missing, **said)
    joined = masktron.describe(
        survey / "households.csv", roles=ROLES, missing=missing, levels=levels(TWO, survey), **said
    )
    columns = [one.column for one in nested.fields]
    assert columns == ["id", "Size", "Region", "Total", "Role", "Age", "Wage", "Benefit", "Income"]
    assert {one.level for one in nested.fields} == {"Household", "Household/Person"}
    told = [replace(one, column="", level="") for one in nested.fields]
    assert told == [replace(one, column="") for one in expected]
    assert [replace(one, level="") for one in joined.fields] == expected
    assert [one.level for one in joined.fields] == [one.level for one in nested.fields]
    assert [one.least for one in expected if one.name == "Age"] != ["0"]
    assert (nested.records, nested.rows, nested.problems) == (40, (), ())
    assert [one.level for one in nested.levels] == ["Household", "Household/Person"]
    shown = str(nested)
    assert "40 records (/Survey/Household) of 2 levels" in " ".join(shown.split())
    assert ("head: 40" in shown) != release_safe


def test_records_that_are_asked_for_and_cannot_be_shown_are_spoken_of(survey: Path) -> None:
    assert NO_ROWS in masktron.describe(survey / "survey.xml", rows=3).notes
    assert NO_ROWS in masktron.describe(survey / "survey.xml", start=2).notes
    for said in ({}, {"rows": 0}, {"rows": 3, "release_safe": True}):
        assert NO_ROWS not in masktron.describe(survey / "survey.xml", **said).notes
    assert NO_ROWS not in masktron.describe(survey / "persons.csv", rows=3).notes


def own(roles: dict[str, str], *names: str) -> dict[str, str]:
    return {name: roles[name] for name in names}


def test_what_mask_would_ask_is_asked_of_levels(survey: Path, tmp_path: Path) -> None:
    text = (survey / "survey.xml").read_text(encoding="utf-8").replace("<Wage>", "<Wage>none", 1)
    data = tmp_path / "wrong.xml"
    data.write_text(text, encoding="utf-8")
    line = 1 + text[: text.index("none")].count("\n")
    found = masktron.describe(data, roles={name: role for name, role in ROLES.items() if name != "Role"})
    assert {(one.field, one.line) for one in found.problems} == {("Role", 0), ("Wage", line)}
    same = masktron.describe(survey / "survey.xml", roles={"Person/Age": "record-id", "Household/@id": "identifier"})
    assert {one.name: one.role for one in same.fields}["Age"] == "record-id"
    with refused(UsageError, "unknown-name", name=("Hours",)):
        masktron.describe(data, roles={"Hours": "record-id"})


def test_a_text_among_numbers_is_in_a_person_of_the_file_and_not_in_a_record(tmp_path: Path) -> None:
    numbers = [str(i * 7) for i in range(12)]
    numbers[6] = "x"
    persons = [f"<Person><Age>{age}</Age></Person>" for age in numbers]
    units = "".join(
        f"<Household><Total>1{i}</Total>{''.join(persons[3 * i : 3 * i + 3])}</Household>" for i in range(4)
    )
    path = tmp_path / "survey.xml"
    path.write_text(f"<Survey>{units.replace('10</', 'x</')}</Survey>", encoding="utf-8")
    said = {one.field: (one.what, one.record) for one in masktron.describe(path).problems}
    assert said["Age"] == ("the numeric field 'Age' holds a text in Person 7 of the file", 7)
    assert said["Total"] == ("the numeric field 'Total' holds a text in record 1", 1)
