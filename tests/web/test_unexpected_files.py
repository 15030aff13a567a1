"""Files of projects that are not as expected: what they are is told in their place, and all else goes on."""

from __future__ import annotations

import errno
from contextlib import nullcontext

import pytest
from starlette.testclient import TestClient

from masktron.errors import ResourceError
from masktron.web.pages.all_pages import PAGES
from masktron.web.runs.one_run import CommandRun, InRun, RunState, UnreadableResultError
from masktron.web.store.disk import add_line
from masktron.web.store.projects import Project
from refusals import refused
from web_client import Office, codes_of, csrf_of, sample_of, sent
from web_runs import MASKED, described, laid_run


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


def masked(project: Project) -> CommandRun:
    words = ["mask", "files/household.xml", "--rules", InRun("rules.sch")]
    return laid_run(project, "mask", words, {"mask.json": MASKED, "masked.xml": "<a/>"})


def test_a_result_in_an_unexpected_form_closes_no_other_page(
    client: TestClient, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    words = ["explain", InRun("rules.sch"), "--data", "files/household.xml"]
    laid_run(project, "rules", words, {"explain.json": {"job": "explain", "rules": []}})
    for page in ("", "data", "mask", "history"):
        answer = client.get(where(project, page))
        assert (answer.status_code, "KeyError" in caplog.text) == (200, True)
    assert "it cannot be read" in client.get(where(project)).text


def test_results_of_another_version_are_not_current_and_close_no_page(
    client: TestClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    masked(project)
    data = "files/household.xml"
    laid_run(project, "describe", ["describe", data], {"describe.json": described()})
    laid_run(project, "suggest", ["suggest", data], {"suggest.json": {}})
    laid_run(project, "validate", ["validate", data, "--rules", InRun("rules.sch")], {"validate.json": {}})
    laid_run(project, "rules", ["explain", InRun("rules.sch"), "--data", data], {"explain.json": {}})
    laid_run(project, "choose", ["tune", data], {"tune.json": {"job": "tune"}})
    for module in ("runs.one_run", "pages.step_runs"):
        monkeypatch.setattr(f"masktron.web.{module}.SCHEMA_VERSION", 2)
    for page in PAGES:
        if "{" not in page.path:
            assert client.get(where(project, page.path)).status_code == 200, page.name
    assert "have changed since" in client.get(where(project, "mask")).text
    assert codes_of(client.get(where(project, "validate"))) == {"result-unreadable"}


@pytest.fixture
def other(office: Office) -> Project:
    return office.store.make("another survey")


@pytest.mark.parametrize("content", ['{"name": "x", "made": "", "notes": "y"}', "[]", "", "{", '{"name": "x"}'])
def test_a_project_that_cannot_be_read_leaves_the_others(
    client: TestClient, project: Project, other: Project, content: str
) -> None:
    (other.folder / "project.json").write_text(content)
    text = client.get("/").text
    assert project.facts.name in text and "A project that cannot be read" in text and other.identity in text
    files = {"file": ("a.csv", b"A\n1\n")}
    for answer in (client.get(where(other, "data")), client.post(where(other, "data/upload"), files=files)):
        assert (answer.status_code, codes_of(answer)) == (422, {"project-unreadable"})
    assert client.get(where(project)).status_code == 200


def test_a_server_begins_although_a_run_cannot_be_read(office: Office, project: Project) -> None:
    broken, run = (office.parts.queue.start(project, "mask", ["mask"]) for _ in range(2))
    (broken.folder / "command.json").write_text("[]")
    again = office.again()
    again.parts.queue.recover()
    assert again.parts.queue.place(run) == 0 and again.parts.queue.place(broken) is None


def test_settings_in_another_encoding_are_told_and_can_be_left_out(client: TestClient, project: Project) -> None:
    (project.folder / "masktron.toml").write_bytes("k = 3\n# Gewährt von Müller\n".encode("latin-1"))
    for page in ("", "data", "history", "validate"):
        assert client.get(where(project, page)).status_code in (200, 422), page
    assert client.get(where(project, "history")).status_code == client.get(where(project)).status_code == 200
    answer = client.get(where(project, "mask"))
    assert codes_of(answer) == {"not-utf-8"} and "masktron.toml:2" in answer.text
    assert sent(client, where(project, "data"), "leave-settings").status_code == 303
    assert not project.settings.is_there


def no_room(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_told_where_something_was_to_be_kept(
    client: TestClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"csrf": csrf_of(client, where(project, "mask")), "action": "save", "method": "mdav", "k": "9"}
    for place in ("create_private", "os.fsync"):
        with monkeypatch.context() as full:
            full.setattr(f"masktron.web.store.disk.{place}", no_room)
            answer = client.post(where(project, "mask"), data=form)
            with refused(ResourceError, "disk-not-writable") if place == "os.fsync" else nullcontext():
                add_line(project.folder / "lines.jsonl", {})
        assert (answer.status_code, codes_of(answer)) == (422, {"disk-not-writable"})
    assert project.settings.config.k == 5


def test_a_run_that_finds_no_room_keeps_its_turn(
    office: Office, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = office.parts.queue
    first, second = (queue.start(project, "mask", ["mask"]) for _ in range(2))
    with monkeypatch.context() as full:
        full.setattr("masktron.web.store.disk.create_private", no_room)
        full.setattr("masktron.web.runs.run_queue.subprocess.Popen", no_room)
        queue.beat()
        queue.beat()
    assert (queue.place(first), queue.place(second), first.state) == (0, 1, RunState.WAITING)
    monkeypatch.setattr("masktron.web.runs.run_queue.subprocess.Popen", no_room)
    queue._not_before = 0.0
    queue.beat()
    assert first.error is not None and first.error.code == "run-not-started" and queue.place(second) == 0


@pytest.mark.parametrize("content", ["", "[]", '{"schema_version": 1', "4"])
def test_a_result_that_is_none_is_told_on_its_page(client: TestClient, project: Project, content: str) -> None:
    run = laid_run(project, "validate", ["validate", "files/household.xml"], {"validate.json": content})
    answer = client.get(where(project, "validate"))
    assert (answer.status_code, codes_of(answer)) == (200, {"result-unreadable"})
    with refused(UnreadableResultError, "result-unreadable", file="validate.json", reason="it is no result"):
        run.result("validate.json")
