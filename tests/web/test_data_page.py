"""The Data page: what `describe` found, some lines at a time, and other records on request."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from masktron.web.runs.one_run import LARGEST_RESULT, CommandRun, latest_run, runs_of
from masktron.web.runs.run_kinds import DESCRIBE
from masktron.web.store.projects import Project
from schema_files import conforms
from web_client import Office, codes_at, sent, until

pytestmark = pytest.mark.usefixtures("quick")

FIELD: dict[str, Any] = {
    "name": "A", "column": "A", "label": "", "type": "integer", "kind": "number", "why": "all values are numbers",
    "role": "confidential", "labels": {}, "missing_codes": {}, "missing": 0, "distinct": 7, "many": False,
    "least": "0", "greatest": "93", "frequent": [], "level": "", "unmet_codes": [],
}  # fmt: skip


def described(fields: list[dict[str, Any]], **others: Any) -> dict[str, Any]:
    rows = [{"record": n, "line": n + 1, "values": [str(n) for _ in fields]} for n in range(1, 31)]
    return {
        "schema_version": 1, "job": "describe", "data": "d.csv", "format": "csv", "record": "", "records": 1234,
        "fields": fields, "rows": rows, "problems": [], "notes": [], "release_safe": False, "levels": [], **others,
    }  # fmt: skip


@pytest.fixture
def project(office: Office) -> Project:
    project = office.store.make("a survey")
    (project.files / "d.csv").write_text("A\n1\n")
    project.choose_data("d.csv")
    return project


def read(office: Office, client: TestClient, project: Project, result: dict[str, Any], action: str = "read") -> str:
    """Have the data read, and put a result in the place of what the command would write."""
    sent(client, f"/projects/{project.identity}/data", action, first="501")
    run = runs_of(project)[0]
    until(lambda: office.parts.queue.beat() is not None or run.is_over)
    (run.folder / "describe.json").write_text(json.dumps(result))
    return page(client, project)


def page(client: TestClient, project: Project, wish: str = "") -> str:
    answer = client.get(f"/projects/{project.identity}/data{wish}")
    assert answer.status_code == 200
    return answer.text


def plain(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_all_that_was_found_is_on_the_page(office: Office, client: TestClient, project: Project) -> None:
    codes = {
        **FIELD, "name": "REGION", "column": "Region no.", "label": "Where it is", "kind": "nominal",
        "role": "record-id", "labels": {"1": "North", "2": "South"}, "missing_codes": {"9": "not stated"},
        "missing": 12, "many": True, "distinct": 100_000,
        "frequent": [{"value": "1", "label": "North", "records": 1100}],
    }  # fmt: skip
    wrong = {
        "what": "a text in a field of numbers",
        "field": "A",
        "record": 1002,
        "line": 1003,
        "hint": "mark x as missing",
    }
    result = described([FIELD, codes], problems=[wrong], notes=["one note"])
    conforms(result, "describe")  # else the test would speak of another result
    text = plain(read(office, client, project, result))
    for one in (
        "1,234 records of 2 fields, read as csv", "0 to 93", "all values are numbers", "one note",
        "Region no. in rules REGION Where it is", "nominal", "over 100,000", "1 North: 1,100", "2 labels of REGION",
        "1: North", "12 9 not stated",
            "A 1,002 1,003 a text in a field of numbers What to do about A mark x as missing",
        "Confidential",
        "Record 1 to 10 of 1,234", "1 point is open",
    ):  # fmt: skip
        assert one in text, one
    assert "runs/0001-describe" in page(client, project)


def test_long_tables_are_shown_some_lines_at_a_time(office: Office, client: TestClient, project: Project) -> None:
    fields = [{**FIELD, "name": f"V{number}", "column": f"V{number}"} for number in range(120)]
    text = read(office, client, project, described(fields))
    assert "1 to 50 of 120 fields" in plain(text) and ">V49 " in text.replace("</th>", " ") and "?fields=2" in text
    second = page(client, project, "?fields=3&records=3")
    assert "101 to 120 of 120 fields" in plain(second) and "Record 21 to 30" in plain(second)
    assert "?fields=2&amp;records=3" in second and "fields=4" not in second
    for wish in (
        "fields=0",
        "fields=-1",
        "fields=9999999999999",
        "fields=x",
        "fields=%C2%B2",
        "records=31",
        "page=3",
    ):
        assert "1 to 50 of 120 fields" in plain(page(client, project, f"?{wish}"))
    # each table scrolls in a frame of its own, which the keyboard reaches
    assert text.count("<table") == text.count('<div class="scroll" tabindex="0" role="region"') == 2


@pytest.mark.full
def test_other_records_are_read_by_the_command(office: Office, client: TestClient, project: Project) -> None:
    read(office, client, project, described([FIELD]))
    rows = [{"record": 501, "line": 502, "values": ["elsewhere"]}, {"record": 502, "line": 503, "values": [None]}]
    text = read(office, client, project, described([FIELD], rows=rows), action="others")
    assert "Record 501 to 502 of 1,234" in plain(text) and "elsewhere" in text
    run = runs_of(project)[0]
    assert run.step == "records" and "--from=501" in run.command["arguments"]
    # the fields are those of the first run still, for other pages too
    first = latest_run(project, DESCRIBE.step)
    assert isinstance(first, CommandRun) and first.number == 1
    for wrong in ("0", "-1", "x", "", "1e3", "9" * 13, "--json=x"):
        answer = sent(client, f"/projects/{project.identity}/data", "others", first=wrong)
        assert (answer.status_code, codes_at(answer)) == (422, {"first": "bad-value"})
    # read anew: the first records again
    assert "elsewhere" not in read(office, client, project, described([FIELD]))


def test_a_result_that_is_too_large_is_told_and_other_data_can_be_chosen(
    office: Office, client: TestClient, project: Project
) -> None:
    text = read(office, client, project, described([{**FIELD, "why": "x" * LARGEST_RESULT}]))
    assert 'data-code="result-unreadable"' in text and "A file of microdata" in text


def test_settings_of_other_data_can_be_left_out(office: Office, client: TestClient, project: Project) -> None:
    project.settings.update({"roles": {"B": "record-id"}}, said="roles")
    read(office, client, project, described([FIELD]))
    told = {"what": "settings are declared for B", "where": "", "hint": "", "kind": "UsageError", "exit_code": 2}
    (runs_of(project)[0].folder / "error.json").write_text(json.dumps(told))
    assert "Leave out all settings, and read again" in page(client, project)
    sent(client, f"/projects/{project.identity}/data", "leave-settings")
    assert project.settings.table == {}
    assert len(runs_of(project)) == 2
    assert project.undo().said == "All settings left out, for other data"
    assert project.settings.table == {"roles": {"B": "record-id"}}
