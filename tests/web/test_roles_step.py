"""The page Roles: what settings it writes, what it says is missing, and errors at their fields."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from masktron.config import Role
from masktron.web.pages.roles_step import ROLES
from masktron.web.runs.one_run import latest_run
from masktron.web.store.projects import Project
from web_client import Office, codes_at, codes_of, forms_of
from web_runs import described, laid_run, state_of, text_field

FIELDS = ({"name": "A"}, text_field("NAME", "x", "y"), text_field("SIZE", "small", "large", "mid"), {"name": "W"})


@pytest.fixture
def project(office: Office) -> Project:
    found = office.store.make("a survey")
    (found.files / "a.csv").write_text("A,NAME,SIZE,W\n1,x,small,2\n")
    found.choose_data("a.csv")
    return found


def read(project: Project, *fields: dict[str, Any]) -> None:
    laid_run(project, "describe", ["describe", "files/a.csv"], {"describe.json": described(*(fields or FIELDS))})


path, posted = forms_of("roles")


def test_every_role_has_words() -> None:
    assert set(ROLES) == set(Role)


def test_data_that_nobody_has_read_are_read(client: TestClient, project: Project) -> None:
    assert "Read the file" in client.get(path(project)).text
    assert posted(client, project, "read").status_code == 303
    run = latest_run(project, "describe")
    assert run is not None
    assert run.shown_command == (
        "masktron describe files/a.csv --json runs/0001-describe/describe.json --rows=100 --config "
        "runs/0001-describe/masktron.toml"
    )


def test_a_text_without_a_role_is_not_passed_over(client: TestClient, project: Project) -> None:
    read(project)
    page = client.get(path(project)).text
    assert "2 text fields have no role" in page
    assert not state_of(project, "roles").done and state_of(project, "roles").problem
    saved = {"roles__NAME": "identifier", "roles__SIZE": "", "kind__SIZE": "ordinal"}
    assert posted(client, project, "save", **saved, ordinal__SIZE="small\nmid\nlarge").status_code == 303
    assert project.settings.table == {"roles": {"NAME": "identifier"}, "ordinal": {"SIZE": ["small", "mid", "large"]}}
    assert "Every text field has a role" in client.get(path(project)).text
    assert state_of(project, "roles").done
    assert project.history.changes()[-1].said == "Roles of the fields"


def test_all_texts_get_the_same_role(client: TestClient, project: Project) -> None:
    read(project)
    assert posted(client, project, "decide", all="identifier").status_code == 303
    assert project.settings.table["roles"] == {"NAME": "identifier", "SIZE": "identifier"}
    again = posted(client, project, "decide", all="identifier")
    assert (again.status_code, codes_of(again)) == (422, {"page-outdated"})


@pytest.mark.parametrize(
    ("fields", "at", "code"),
    [
        ({"roles__A": "weight", "roles__W": "weight"}, "roles.W", "given-twice"),
        ({"kind__SIZE": "ordinal", "ordinal__SIZE": ""}, "ordinal.SIZE", "bad-value"),
        ({"kind__SIZE": "ordinal", "ordinal__SIZE": "small\nsmall"}, "ordinal.SIZE", "bad-value"),
        ({"kind__SIZE": "ordinal", "ordinal__SIZE": "small"}, "ordinal.SIZE", "bad-value"),
        ({"roles__A": "boss"}, "roles.A", "bad-value"),
    ],
)
def test_errors_stand_at_their_field_with_all_that_was_typed(
    client: TestClient, project: Project, fields: dict[str, str], at: str, code: str
) -> None:
    read(project)
    answer = posted(client, project, "save", **fields, missing__A="-9, -8")
    assert (answer.status_code, codes_at(answer)) == (422, {at: code})
    assert 'value="-9, -8"' in answer.text
    assert project.settings.text == ""


def test_what_is_not_on_the_page_stays(client: TestClient, project: Project) -> None:
    read(project)
    before = {
        "k": 7, "roles": {"W": "weight", "A": "record-id"}, "missing": {"A": ["-9"], "*": ["NA"]}, "numeric": ["W"],
        "nominal": ["A"],
    }  # fmt: skip
    project.settings.update(before, said="x")
    assert posted(client, project, "save", roles__A="", kind__A="number", missing__A="-8,-7").status_code == 303
    assert project.settings.table == {
        "k": 7, "roles": {"W": "weight"}, "missing": {"*": ["NA"], "A": ["-7", "-8"]}, "numeric": ["W", "A"]
    }  # fmt: skip
    project.undo()
    assert project.settings.table == before


def test_many_fields_come_in_pages_and_only_the_page_is_saved(client: TestClient, project: Project) -> None:
    read(project, *({"name": f"F{number}"} for number in range(120)))
    second = client.get(f"{path(project)}?page=2").text
    assert ('id="roles.F50"' in second, 'id="roles.F49"' in second, "51 to 100 of 120 fields" in second) == (
        True,
        False,
        True,
    )
    answer = posted(client, project, "save", more="?page=2", roles__F50="record-id")
    assert answer.headers["location"] == f"{path(project)}?page=2"
    kept = client.get(f"{path(project)}?show=kept").text
    assert ('id="roles.F50"' in kept, 'id="roles.F51"' in kept) == (True, False)
    for page in ("0", "99", "x", "-1", "²"):
        assert client.get(f"{path(project)}?page={page}").status_code == 200


def test_a_name_of_a_field_is_no_markup(client: TestClient, project: Project) -> None:
    read(project, {"name": "A", "label": "<script>alert(1)</script>"}, text_field("B", "<b>bold</b>"))
    page = client.get(path(project)).text
    assert "<script>alert" not in page and "<b>bold" not in page


def test_a_field_that_differs_in_every_record_is_pointed_out(client: TestClient, project: Project) -> None:
    read(project, {"name": "A", "distinct": 400}, {"name": "B", "distinct": 399})
    page = client.get(path(project)).text
    assert page.count("It differs in every record") == 1
    project.settings.update({"roles": {"A": "record-id"}}, said="x")
    assert "It differs in every record" not in client.get(path(project)).text


def test_an_order_that_nobody_has_given_is_not_taken(client: TestClient, project: Project) -> None:
    read(project)
    page = client.get(path(project)).text
    assert "Its values: small, large, mid." in page
    area = page.partition('name="ordinal.SIZE"')[2].partition("</textarea>")[0]
    assert area.partition(">")[2].strip() == ""


def test_names_are_those_of_the_file_and_codes_that_no_record_has_are_told(
    client: TestClient, project: Project
) -> None:
    rent = {"name": "Rent_x0020__x20AC_", "column": "Rent €", "unmet_codes": ["9999", "-1"]}
    read(project, rent, {"name": "@id"}, {"name": "B", "unmet_codes": ["7"]})
    project.settings.update({"missing": {"Rent_x0020__x20AC_": ["9999"]}}, said="codes")
    text = client.get(path(project)).text
    assert ">Rent €</h3>" in text and ">@id</h3>" in text and ">Rent_x0020__x20AC_<" not in text
    # -1 and 7 are no longer declared
    assert "No record has 9999." in text and text.count("No record has") == 1


def test_what_nearly_names_each_record_is_said_and_amounts_are_not_ordered(
    client: TestClient, project: Project
) -> None:
    fields = [
        {"name": "ID", "distinct": 399}, {"name": "WEIGHT", "type": "decimal", "distinct": 400},
        {"name": "AGE", "distinct": 60}, {"name": "NO", "distinct": 400},
        {"name": "SEX", "kind": None, "why": "3 different integers, as few as codes are", "distinct": 3},
    ]  # fmt: skip
    read(project, *fields)
    project.settings.update({"roles": {"AGE": "record-id"}}, said="a key")
    cards = {one.partition("<")[0]: one for one in client.get(path(project)).text.split('<h3 id="field-')[1:]}
    said = {name.partition('">')[2]: one for name, one in cards.items()}
    assert "It differs in nearly every record" in said["ID"] and "It differs in every record" in said["NO"]
    assert all("It differs" not in said[name] for name in ("WEIGHT", "AGE", "SEX"))
    assert [name for name, one in said.items() if "Order of the categories" in one] == ["SEX"]
    assert [name for name, one in said.items() if "whoever has these numbers" in one] == ["AGE"]
    assert ".3 different" not in said["SEX"]
