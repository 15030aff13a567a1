"""A page asks once where a run is: what ends while the page is made is told by the next one."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from masktron.web.runs.one_run import Argument, CommandRun, InRun, RunState, prepared_run
from masktron.web.store.projects import Project
from web_client import Office
from web_runs import laid_run

WORDS: dict[str, list[Argument]] = {
    "data": ["describe", "files/a.csv"],
    "rules": ["explain", InRun("rules.sch")],
    "rules/suggested": ["suggest", "files/a.csv"],
    "validate": ["validate", "files/a.csv"],
    "roles": ["describe", "files/a.csv"],
    "choose": ["tune", "files/a.csv"],
    "mask": ["mask", "files/a.csv"],
    "release": ["check", "runs/0001-mask/masked.csv"],
}
STEPS = {
    "data": "describe", "rules": "rules", "rules/suggested": "suggest", "validate": "validate", "roles": "describe",
    "choose": "choose", "mask": "mask", "release": "check",
}  # fmt: skip


EMPTY = b'<schema xmlns="http://purl.oclc.org/dsdl/schematron"><title>t</title></schema>'


@pytest.fixture
def project(office: Office) -> Project:
    found = office.store.make("a survey")
    (found.files / "a.csv").write_text("A,B\n1,2\n")
    found.choose_data("a.csv")
    found.write({"rules.sch": EMPTY}, said="Rules")
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize("page", WORDS)
def test_a_run_that_ends_while_its_page_is_made_is_asked_for_again(
    client: TestClient, project: Project, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    if page == "release":
        laid_run(project, "mask", ["mask", "files/a.csv"], {"mask.json": {"job": "mask"}, "masked.csv": "A\n1\n"})
    run = prepared_run(project, STEPS[page], WORDS[page])
    asked: list[str] = []

    def ends_at_once(one: CommandRun) -> RunState:
        asked.append(one.name)
        return RunState.RUNNING if asked.count(run.name) < 2 and one.name == run.name else RunState.ENDED

    monkeypatch.setattr(CommandRun, "_state_now", property(ends_at_once))
    answer = client.get(f"/projects/{project.identity}/{page}")
    assert asked.count(run.name) == 1
    assert answer.text.count("hx-trigger=") == 1
    client.get(f"/projects/{project.identity}/{page}")
    assert asked.count(run.name) == 2  # the next page asks anew
