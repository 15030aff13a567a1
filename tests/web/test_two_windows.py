"""Two windows on one project: what the one has saved is not undone by a form that the other had loaded before."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from masktron.web.store.projects import Project
from web_client import Office, codes_of, csrf_of
from web_runs import described, laid_run

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def project(office: Office) -> Project:
    found = office.store.make("a survey")
    (found.files / "d.csv").write_text("A,B\n1,2\n")
    found.choose_data("d.csv")
    found.write({"rules.sch": b"<schema xmlns='http://purl.oclc.org/dsdl/schematron'/>"}, said="rules")
    result = {**described({"name": "A"}, {"name": "B"}), "format": "csv", "record": ""}
    laid_run(found, "describe", ["describe", "files/d.csv"], {"describe.json": result})
    return found


def seen_on(client: TestClient, project: Project, page: str, action: str) -> str:
    """Return what the form of a page says of the settings that it shows."""
    text = client.get(f"/projects/{project.identity}/{page}").text
    form = next(one for one in re.findall(r"<form.*?</form>", text, re.S) if f'name="action" value="{action}"' in one)
    found = re.search(r'name="seen" value="(\w+)"', form)
    assert found is not None
    return found[1]


def sent(client: TestClient, project: Project, page: str, action: str, **fields: str) -> Any:
    where = f"/projects/{project.identity}/{page}"
    named = {name.replace("__", "."): value for name, value in fields.items()}
    return client.post(where, data={"csrf": csrf_of(client, where), "action": action, **named})


FORMS = [
    ("roles", "save", {"roles__A": "", "missing__B": "7"}, {"roles": {"A": "identifier"}}),
    ("mask", "save", {"k": "4"}, {"k": 9}),
    ("choose", "begin", {"budget": "2m", "limits__linkage": ""}, {"limits": {"linkage": 5}}),
    ("data", "written", {"delimiter": "comma"}, {"format_options": {"encoding": "cp1252"}}),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("page", "action", "fields", "others"), FORMS)
def test_what_another_window_saved_stays(
    client: TestClient, project: Project, page: str, action: str, fields: dict[str, str], others: dict[str, Any]
) -> None:
    seen = seen_on(client, project, page, action)
    project.settings.update(others, said="in another window")
    answer = sent(client, project, page, action, seen=seen, **fields)
    assert (answer.status_code, codes_of(answer)) == (422, {"page-outdated"})
    assert project.settings.table == others
    # sent once more it is refused again, and not after the page was loaded anew
    again = re.search(r'name="seen" value="(\w+)"', answer.text)
    assert again is not None and again[1] == seen
    now = seen_on(client, project, page, action)
    assert now != seen
    assert sent(client, project, page, action, seen=now, **fields).status_code == 303


@pytest.mark.parametrize(("page", "action", "fields"), [one[:3] for one in FORMS])
def test_other_settings_are_no_hindrance(
    client: TestClient, project: Project, page: str, action: str, fields: dict[str, str]
) -> None:
    seen = seen_on(client, project, page, action)
    project.settings.update({"rule_timeout": 30}, said="in another window")
    assert sent(client, project, page, action, seen=seen, **fields).status_code == 303
