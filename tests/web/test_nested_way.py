"""A file of households with their persons in the browser: levels, roles of both, and a release."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from browser import shown, started
from looks import LIGHT, PHONE, findings
from masktron.errors import UsageError
from masktron.web.runs.one_run import latest_run
from masktron.web.store.projects import Project
from nested_survey import broken, made, parsed
from web_client import Office, csrf_of, served, until
from web_user import WebUser

ROLES = {
    "@id": "identifier",
    "Size": "untouched",
    "Region": "quasi-identifier",
    "Role": "quasi-identifier",
    "Age": "quasi-identifier",
}
LONG = 600.0


@pytest.fixture
def project(office: Office, tmp_path: Path) -> Project:
    data, rules = made(tmp_path, 3, 40)
    found = office.store.make("local", "households")
    (found.files / "survey.xml").write_bytes(data.read_bytes())
    found.choose_data("survey.xml", by="local")
    found.write({"rules.sch": rules.read_bytes()}, said="rules", by="local")
    return found


def read(office: Office, project: Project) -> None:
    run = latest_run(project, "describe")
    assert run is not None
    until(lambda: office.parts.queue.beat() is not None or run.is_over, within=120.0)
    assert run.exit_code == 0, run.stderr


def posted(office: Office, project: Project, page: str, action: str, **fields: str) -> Any:
    client, where = office.browser(), f"/projects/{project.identity}/{page}"
    named = {name.replace("__", "."): value for name, value in fields.items()}
    return client.post(where, data={"csrf": csrf_of(client, where), "action": action, **named})


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
    refused = posted(office, project, "protect", "save", way__Age="width", recode__Age="10")
    assert refused.status_code != 303 and "keys of nested files are not treated yet" in refused.text
    assert "recode" not in project.settings.table


def test_each_level_has_one_weight(office: Office, project: Project) -> None:
    posted(office, project, "roles", "read")
    read(office, project)
    both = posted(office, project, "roles", "save", roles__Total="weight", roles__Wage="weight")
    assert both.status_code == 303
    two = posted(office, project, "roles", "save", roles__Benefit="weight", roles__Wage="weight")
    assert "Wage is the weight of Person already" in two.text or "Benefit is the weight of Person already" in two.text


def test_tables_that_keys_join_are_refused_with_what_to_use(project: Project) -> None:
    with pytest.raises(UsageError, match="levels has no place in settings of a project") as refused:
        project.settings.update({"levels": {"Household": {"key": "HID"}}}, said="levels", by="local")
    assert "nested XML" in refused.value.hint and "masktron mask" in refused.value.hint


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as found:
        yield found


@pytest.mark.full
def test_households_from_upload_to_release_by_clicks(chromium: Any, tmp_path: Path) -> None:
    data, rules = made(tmp_path, 3, 60)
    seen: list[str] = []
    with served(tmp_path / "projects") as server, shown(chromium, server.opened) as page:

        def look(name: str) -> None:
            seen.extend(f"{name}: {one}" for one in findings(page, (PHONE, LIGHT)))

        user = WebUser(page, server.address, LONG, look)
        user.make_project("Households")
        user.upload(data, "60 records of 9 fields on 2 levels")
        user.upload_rules(rules)
        user.validate("Every rule holds")
        user.say_roles(ROLES)
        user.choose("3", "mdav", "noise")
        user.plan("mask takes each Household with all its members as one record")
        user.begin_masking()
        rare = page.get_by_role("button", name="Leave these out")
        page.get_by_text("The data are masked").or_(rare).first.wait_for()
        if rare.count():
            rare.first.click()
        user.see_masked()
        assert page.get_by_role("row").filter(has_text="Household/Person").count() == 1, "no figures of persons"
        user.release("masked.xml")
        files = [user.download(name, tmp_path) for name in ("masked.xml", "about.html", "masked.manifest.json")]
        assert "records of Person" in files[1].read_text() and "CONFIDENTIAL" not in files[1].read_text()
        assert seen == [] and page.complaints == []
    assert etree.parse(files[0]) is not None
    assert broken(parsed(files[0])) == []
    words = ["check", files[0], "--rules", rules, "--original", data, "--manifest", files[2]]
    subprocess.run([sys.executable, "-P", "-m", "masktron", *map(str, words)], check=True, capture_output=True)
