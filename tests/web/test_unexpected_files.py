"""Files of projects that are not as expected: what they are is told in their place, and all else goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from masktron.web.runs.one_run import InRun
from masktron.web.store.projects import Project
from web_client import Office, made_office, sample_of
from web_runs import MASKED, laid_run


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return made_office(tmp_path)


@pytest.fixture
def client(office: Office) -> TestClient:
    return office.browser()


@pytest.fixture
def project(office: Office, client: TestClient) -> Project:
    return sample_of(office, client)[0]


def where(project: Project, page: str = "") -> str:
    return f"/projects/{project.identity}/{page}".rstrip("/")


def test_a_mistake_of_ours_is_no_page_that_is_not_there(
    client: TestClient, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    result = {name: value for name, value in MASKED.items() if name != "figures"}
    words = ["mask", "files/household.xml", "--rules", InRun("rules.sch")]
    laid_run(project, "mask", words, {"mask.json": result, "masked.xml": "<a/>"})
    assert client.get(where(project, "mask")).status_code == 500
    assert "KeyError" in caplog.text
    for path in (where(project, "runs/0099-mask"), where(project, "rules/edit/99")):
        answer = client.get(path)
        assert (answer.status_code, "There is nothing here" in answer.text) == (404, True)
