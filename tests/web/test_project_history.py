"""Undo takes back what its page shows and nothing else; the history names what no page has changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from masktron.errors import UsageError
from masktron.web.runs.one_run import prepared_run
from masktron.web.store.project_files import PROJECT_FILES, ProjectFile
from masktron.web.store.project_history import OUTSIDE
from masktron.web.store.projects import Project, ProjectStore
from refusals import refused
from web_client import Office, codes_of, csrf_of, sample_of

SETTINGS = "masktron.toml"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return ProjectStore(tmp_path).make("a survey")


def k_is(project: Project, k: int) -> None:
    project.settings.update({"k": k}, said=f"k is {k}")


def said(project: Project) -> list[str]:
    return [one.said for one in project.history.changes()][1:]


def test_only_the_change_that_is_meant_is_undone(project: Project) -> None:
    k_is(project, 5)
    shown = project.history.undoable()
    assert shown is not None
    k_is(project, 7)
    for number in (str(shown.number), "", "x", f"0{shown.number + 1}"):
        with refused(UsageError, "page-outdated"):
            project.undo(number)
    assert project.undo(str(shown.number + 1)).said == "k is 7"
    assert project.undo(str(shown.number)).said == "k is 5"
    with refused(UsageError, "page-outdated", reason="there is nothing left to undo"):
        project.undo(str(shown.number))


@pytest.mark.parametrize("page", ["history", "rules"])
def test_a_page_that_is_not_new_undoes_nothing_and_a_double_click_one_change(
    office: Office, client: TestClient, page: str
) -> None:
    project, where = sample_of(office, client)
    k_is(project, 6)

    def form() -> dict[str, str]:
        found = re.search(r'name="change" value="(\d+)"', client.get(f"{where}/{page}").text)
        assert found is not None
        return {"csrf": csrf_of(client), "action": "undo", "change": found[1]}

    old = form()
    k_is(project, 7)
    for fields in (old, {**old, "change": ""}):
        answer = client.post(f"{where}/{page}", data=fields)
        assert (answer.status_code, codes_of(answer)) == (422, {"page-outdated"})
    assert project.settings.config.k == 7
    new = form()
    assert [client.post(f"{where}/{page}", data=new).status_code for _ in range(2)] == [303, 422]
    assert project.settings.config.k == 6


def test_what_somebody_has_written_by_hand_is_a_change_of_its_own(project: Project) -> None:
    k_is(project, 5)
    by_hand = "k = 5\n# long notes\nmethod = 'mst'\n"
    (project.folder / SETTINGS).write_text(by_hand)
    (project.folder / "rules.sch").write_text("<a/>")
    last = project.history.undoable()
    assert last is not None and last.said == "k is 5"
    with refused(UsageError, "page-outdated"):
        project.undo(str(last.number))
    assert said(project) == ["k is 5", f"{OUTSIDE}: {SETTINGS}, rules.sch"]
    assert project.settings.text == by_hand
    project.undo()
    assert project.settings.text == "k = 5\n" and not project.has_rules
    project.undo()
    assert project.settings.text == ""


def test_a_file_that_somebody_has_removed_comes_back(project: Project) -> None:
    k_is(project, 5)
    (project.folder / SETTINGS).unlink()
    project.write({"rules.sch": b"<a/>"}, said="rules")
    assert said(project) == ["k is 5", f"{OUTSIDE}: {SETTINGS}", "rules"]
    project.undo()
    project.undo()
    assert project.settings.text == "k = 5\n"


def test_a_change_whose_line_is_missing_is_undone_before_those_before_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"rules.sch": b"<a/>"}, said="rules")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as end:
        end.setattr("masktron.web.store.project_history.add_line", killed)
        with pytest.raises(KeyboardInterrupt):
            k_is(project, 11)
    assert project.settings.config.k == 11 and said(project) == ["rules"]
    project.undo()
    assert (project.settings.text, project.has_rules) == ("", True)
    project.undo()
    assert not project.has_rules


def test_a_line_of_the_table_is_all_that_a_new_file_takes(
    office: Office, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, where = sample_of(office, client)
    with pytest.raises(ValueError, match="has no history"):
        project.write({"notes.txt": b"n"}, said="x")
    notes = ProjectFile(re.compile(r"notes\.txt"), downloaded=True, copied=True)
    monkeypatch.setattr("masktron.web.store.project_files.PROJECT_FILES", (*PROJECT_FILES, notes))
    project.write({"notes.txt": b"n"}, said="Notes")
    assert client.get(f"{where}/download/notes.txt").content == b"n"
    run = prepared_run(project, "mask", ["mask"])
    assert (run.folder / "notes.txt").read_bytes() == b"n" and "notes.txt" in run.copies
    assert project.undo().said == "Notes" and not (project.folder / "notes.txt").exists()


def test_the_facts_of_a_project_are_neither_downloaded_nor_copied(office: Office, client: TestClient) -> None:
    project, where = sample_of(office, client)
    assert client.get(f"{where}/download/project.json").status_code == 404
    assert prepared_run(project, "mask", ["mask"]).copies == ["patterns.sch", "rules.sch", SETTINGS]
    assert [one.matches(f"{SETTINGS}x") for one in PROJECT_FILES] == [False] * len(PROJECT_FILES)
