"""A file of households with their persons in the browser: levels, roles of both, and a release."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from browser import shown
from looks import LIGHT, PHONE, findings
from masktron.errors import UsageError
from masktron.web.runs.one_run import latest_run
from masktron.web.store.projects import Project
from nested_survey import broken, made, parsed
from nested_tables import ONE, TWO, tables_of, units_of_one
from refusals import refused
from web_client import Office, codes_at, codes_of, csrf_of, served, until
from web_user import WebUser

ROLES = {
    "@id": "identifier",
    "Size": "untouched",
    "Region": "quasi-identifier",
    "Role": "quasi-identifier",
    "Age": "quasi-identifier",
}
LONG = 600.0
SAID = '[levels.Household]\nkey = "@id"\nfields = ["Size", "Region", "Total"]\n[levels.Person]\nsame_table = true\n'


def project_of(office: Office, data: Path, rules: Path) -> Project:
    found = office.store.make("households")
    (found.files / data.name).write_bytes(data.read_bytes())
    found.choose_data(data.name)
    found.write({"rules.sch": rules.read_bytes()}, said="rules")
    return found


@pytest.fixture
def project(office: Office, tmp_path: Path) -> Project:
    return project_of(office, *made(tmp_path, 3, 40))


def read(office: Office, project: Project, code: int = 0) -> None:
    run = latest_run(project, "describe")
    assert run is not None
    until(lambda: office.parts.queue.beat() is not None or run.is_over, within=120.0)
    assert run.exit_code == code, run.stderr


def posted(office: Office, project: Project, page: str, action: str, **fields: str) -> Any:
    client, where = office.browser(), f"/projects/{project.identity}/{page}"
    named = {name.replace("__", "."): value for name, value in fields.items()}
    return client.post(where, data={"csrf": csrf_of(client, where), "action": action, **named})


@pytest.mark.full
def test_levels_and_fields_of_both_are_shown_and_get_roles(office: Office, project: Project) -> None:
    client = office.browser()
    assert posted(office, project, "roles", "read").status_code == 303
    read(office, project)
    data = client.get(f"/projects/{project.identity}/data").text
    assert "40 records of 9 fields on 2 levels" in data
    assert "Household/Person" in data and "Records of nested files are not shown" in data
    roles = client.get(f"/projects/{project.identity}/roles").text
    assert "3 text fields have no role" in roles  # @id, Region, Role
    assert "of Person" in roles and 'id="roles.Wage"' in roles
    said = {f"roles__{name}": role for name, role in ROLES.items()}
    assert posted(office, project, "roles", "save", **said).status_code == 303
    read(office, project)
    assert project.settings.config.roles["Age"] == "quasi-identifier"
    assert "Every text field has a role" in client.get(f"/projects/{project.identity}/roles").text
    keys = client.get(f"/projects/{project.identity}/protect").text
    assert "keys of nested files are written as they are" in keys
    assert 'name="way.Age"' not in keys
    answer = posted(office, project, "protect", "save", way__Age="width", recode__Age="10")
    assert codes_of(answer) == {"setting-not-usable"}
    assert "recode" not in project.settings.table


def test_each_level_has_one_weight(office: Office, project: Project) -> None:
    posted(office, project, "roles", "read")
    read(office, project)
    both = posted(office, project, "roles", "save", roles__Total="weight", roles__Wage="weight")
    assert both.status_code == 303
    two = posted(office, project, "roles", "save", roles__Benefit="weight", roles__Wage="weight")
    ((at, code),) = codes_at(two).items()
    assert (at in ("roles.Wage", "roles.Benefit"), code) == (True, "given-twice")


def test_a_table_for_each_level_is_refused_with_what_to_use(project: Project) -> None:
    with refused(UsageError, "not-in-projects", setting="levels.Person.data"):
        project.settings.update({"levels": TWO}, said="levels")


@pytest.fixture
def rows(office: Office, tmp_path: Path) -> Project:
    """Households and their persons on the rows of one table."""
    data, rules = made(tmp_path, 3, 40)
    *_, flat = tables_of(data, tmp_path)
    return project_of(office, flat, rules)


def said_of_rows(office: Office, rows: Project, code: int = 0, **fields: str) -> str:
    said = {"unit": "Household", "member": "Person", "unit_key": "@id", **fields}
    assert posted(office, rows, "data", "households", **said).status_code == 303
    read(office, rows, code)
    return office.browser().get(f"/projects/{rows.identity}/data").text


@pytest.mark.full
def test_households_on_the_rows_of_their_persons_are_read_as_such(office: Office, rows: Project) -> None:
    asked = said_of_rows(office, rows, 2)
    proposed = re.search(r"fields = (\[.*?\])", html.unescape(asked))
    assert proposed is not None, "nobody says which columns are the household's"
    found = said_of_rows(office, rows, unit_fields=proposed[0])
    assert rows.settings.table["levels"] == {name: dict(one) for name, one in ONE.items()}
    assert "40 records of 9 fields on 2 levels" in found and "Household/Person" in found
    assert 'value="@id"' in found and "@id, Size, Region, Total" in found
    no_more = said_of_rows(office, rows, unit_key="")
    assert "levels" not in rows.settings.table and "on 2 levels" not in no_more


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"unit": ""}, "bad-value"),
        ({"member": "Household"}, "bad-value"),
        ({"member": "a person"}, "bad-value"),
        ({"unit_fields": "Size, Size"}, "bad-value"),
    ],
)
def test_what_is_said_wrong_of_rows_is_told_and_not_written(
    office: Office, rows: Project, wrong: dict[str, str], code: str
) -> None:
    said = {"unit": "Household", "member": "Person", "unit_key": "@id", **wrong}
    answer = posted(office, rows, "data", "households", **said)
    assert (answer.status_code, codes_of(answer)) == (422, {code})
    assert code == "bad-value" or codes_at(answer) == {next(iter(wrong)): code}
    assert "levels" not in rows.settings.table


def test_nested_xml_says_its_levels_itself(office: Office, project: Project) -> None:
    assert "with the number of the household" not in office.browser().get(f"/projects/{project.identity}/data").text


@pytest.mark.full
@pytest.mark.parametrize("form", ["xml", "csv"])
def test_households_from_upload_to_release_by_clicks(chromium: Any, tmp_path: Path, form: str) -> None:
    data, rules = made(tmp_path, 3, 60)
    if form == "csv":
        *_, data = tables_of(data, tmp_path)
    seen: list[str] = []
    with served(tmp_path / "projects") as server, shown(chromium, server.opened) as page:

        def look(name: str) -> None:
            seen.extend(f"{name}: {one}" for one in findings(page, (PHONE, LIGHT)))

        user = WebUser(page, server.address, LONG, look)
        user.make_project("Households")
        if form == "csv":
            user.upload(data, "records of 9 fields")
            user.say_levels("@id", "Size, Region, Total", "60 records of 9 fields on 2 levels")
        else:
            user.upload(data, "60 records of 9 fields on 2 levels")
        user.upload_rules(rules)
        user.validate("Every rule holds")
        user.say_roles(ROLES)
        user.choose("3", "mdav", "noise")
        user.plan("mask takes each Household with all its members as one record")
        user.begin_masking()
        rare = page.get_by_role("button", name="Leave these out")
        page.get_by_text("What came of it").or_(rare).first.wait_for()
        if rare.count():
            rare.first.click()
        user.see_masked()
        assert page.get_by_role("row").filter(has_text="Household/Person").count() == 1, "no figures of persons"
        user.release(f"masked.{form}")
        files = [user.download(name, tmp_path) for name in (f"masked.{form}", "about.html", "masked.manifest.json")]
        assert "records of Person" in files[1].read_text() and "CONFIDENTIAL" not in files[1].read_text()
        assert seen == [] and page.complaints == []
    if form == "xml":
        assert etree.parse(files[0]) is not None
        assert broken(parsed(files[0])) == []
    else:
        assert len(units_of_one(files[0])) > 50 and {"@id", "Region"} < {
            *files[0].read_text().split("\n")[0].split(",")
        }
    (tmp_path / "masktron.toml").write_text("" if form == "xml" else SAID)
    words = ["check", files[0], "--rules", rules, "--original", data, "--manifest", files[2]]
    command = [sys.executable, "-P", "-m", "masktron", *map(str, words)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
