"""How a file is written, said on the Data page: German CSV goes through by forms alone."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from masktron.problems.problem import Setting
from masktron.web.given_words import in_form
from masktron.web.handlers.project_pages import way_of
from masktron.web.pages.roles_step import described_fields
from masktron.web.runs.one_run import CommandRun, latest_run
from masktron.web.store.projects import Project
from web_client import Office, codes_at, codes_of, sent, until

GERMAN = "Höhe;Miete\r\n" + "".join(f"{n};{400 + 7 * n},50\r\n" for n in range(1, 31))
BUTTON = re.compile(
    r'name="name" value="(\w+)"><input type="hidden" name="value" value="([\w-]+)"><button[^>]*>([^<]+)'
)


@pytest.fixture
def project(office: Office) -> Project:
    found = office.store.make("a survey")
    (found.files / "d.csv").write_bytes(GERMAN.encode("cp1252"))
    found.choose_data("d.csv")
    return found


def read(office: Office, client: TestClient, project: Project, action: str = "read", **fields: str) -> str:
    """Send a form of the Data page, let the file be read, and return the page."""
    where = f"/projects/{project.identity}/data"
    assert sent(client, where, action, **fields).status_code == 303
    run = latest_run(project, "describe")
    assert isinstance(run, CommandRun)
    until(lambda: office.parts.queue.beat() is not None or run.is_over, within=60.0)
    return client.get(where).text


def is_read(project: Project) -> bool:
    return way_of(project)[0].state.done


@pytest.mark.full
def test_a_german_file_is_read_by_two_buttons(office: Office, client: TestClient, project: Project) -> None:
    assert not is_read(project)
    text = read(office, client, project)
    assert "character 2 of this line" in text and not is_read(project)
    assert way_of(project)[0].state.problem
    # what the page cannot do is not advised
    assert "--format-option" not in text
    name, value, label = BUTTON.findall(text)[0]
    assert label == "Read it as Windows-1252, of Western Europe"
    text = read(office, client, project, "help", name=name, value=value)
    assert "Miete has numbers with a comma" in text and not is_read(project)
    assert [one[:2] for one in BUTTON.findall(text)] == [("decimal", "comma"), ("decimal", "point")]
    text = read(office, client, project, "help", name="decimal", value="comma")
    assert "30 records of 2 fields" in text and is_read(project)
    assert project.settings.table == {"format_options": {"encoding": "cp1252", "decimal": "comma"}}
    assert [(one["name"], one["greatest"]) for one in described_fields(project) or ()] == [
        ("Höhe", "30"),
        ("Miete", "610.5"),
    ]


@pytest.mark.full
def test_all_of_it_is_said_at_once(office: Office, client: TestClient, project: Project) -> None:
    said = {"encoding": "cp1252", "decimal": "comma", "delimiter": "semicolon"}
    text = read(office, client, project, "written", null="k.A.", other="", **said)
    assert "30 records of 2 fields" in text
    assert project.settings.table == {"format_options": {**said, "null": "k.A."}}
    # what was said is what the form shows, and is taken back there
    assert '<option value="semicolon" selected>' in text and 'value="k.A."' in text
    project.settings.update({"format_options": {"delimiter": ";", "encoding": "cp1252"}}, said="by hand")
    text = client.get(f"/projects/{project.identity}/data").text
    assert '<option value=";" selected>' in text
    sent(
        client, f"/projects/{project.identity}/data", "written", delimiter=";", encoding="", other="a=b\n c = d=e \n"
    )
    assert project.settings.table == {"format_options": {"delimiter": ";", "a": "b", "c": "d=e"}}


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"delimiter": "x"}, "delimiter"), ({"other": "range"}, "other"), ({"other": "a=1\na=2"}, "other")],
)
def test_what_no_file_has_is_told_at_its_field(
    client: TestClient, project: Project, fields: dict[str, str], field: str
) -> None:
    answer = sent(client, f"/projects/{project.identity}/data", "written", **fields)
    assert answer.status_code == 422 and codes_at(answer) == {field: "bad-value"}
    assert project.settings.table == {}


def test_only_what_the_error_offers_is_taken(client: TestClient, project: Project) -> None:
    answer = sent(client, f"/projects/{project.identity}/data", "help", name="encoding", value="cp1252")
    assert (answer.status_code, codes_of(answer)) == (422, {"page-outdated"}) and project.settings.table == {}


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--format-option", "decimal=comma", "“Decimal sign: comma”"),
        ("--format-option", "delimiter=CHARACTER", "“Between cells”"),
        ("--format-option", "range=A1:F2", "the option “range=A1:F2”"),
        ("--role", "A_x0020_B=identifier", "“names somebody” for A B on the page Roles"),
        ("--quasi-identifier", "AGE", "“known to others” for AGE on the page Roles"),
        ("--limit", "linkage=20", "“Records that an intruder finds again, at most (per cent): 20” on the page Mask"),
        ("--key-k", "3", "“Key k: 3” on the page Protect keys"),
        ("--grouping", "all", "“Grouping: all” on the page Mask"),
        ("--executor", "dask", "“Executor: dask” in masktron.toml"),
        ("--projects", "FOLDER", "--projects FOLDER"),
    ],
)
def test_hints_name_what_pages_have(option: str, value: str, words: str) -> None:
    assert in_form(Setting(option, (value,))) == words
