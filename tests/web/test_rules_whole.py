"""From a file without rules to a validated one, by the real commands; and the pages of it in a browser."""

from __future__ import annotations

import random
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from masktron.rulebook_text.rule_entries import rules_in
from masktron.web.runs.one_run import CommandRun, latest_run
from masktron.web.store.projects import Project
from web_client import Office, end_runs, made_office, sent, until

pytestmark = pytest.mark.full


def survey(wrong: int) -> str:
    """Return records whose parts add up, but for some."""
    draw = random.Random(7)
    rows = [[number, draw.randrange(60) * 100, draw.randrange(10) * 50] for number in range(400)]
    lines = [f"{one},{wages},{other},{wages + other + (one < wrong)}" for one, wages, other in rows]
    return "\n".join(["Id,Wages,Other,Income", *lines]) + "\n"


def ended(office: Office, project: Project, step: str) -> CommandRun:
    run = latest_run(project, step)
    assert run is not None

    def is_over() -> bool:
        office.parts.queue.beat()
        return run.is_over

    until(is_over, 120)
    assert run.error is None, run.error
    return run


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    office = made_office(tmp_path)
    yield office
    end_runs(office)


def test_from_a_file_without_rules_to_a_validated_one(office: Office) -> None:
    client = office.browser()
    where = sent(client, "/", "new", name="survey").headers["location"]
    project = office.store.get(where.rpartition("/")[2])
    assert project is not None
    (project.files / "survey.csv").write_text(survey(wrong=3))
    project.choose_data("survey.csv")
    sent(client, f"{where}/rules/suggested", "look")
    found = ended(office, project, "suggest").result("suggest.json")
    assert found is not None
    total = next(one for one in found["proposals"] if one["kind"] == "total")
    assert total["exceptions"] == 3
    run = latest_run(project, "suggest")
    assert run is not None
    sent(client, f"{where}/rules/suggested", "accept", run=run.name, accept=str(total["number"]))
    ended(office, project, "rules")
    text = client.get(f"{where}/rules").text
    assert f"<h2>{total['id']}</h2>" in text and "3 of 400 fail" in text and "Other + Wages = Income" in text
    # what the page did is what its command does
    (project.folder / "again.sch").unlink(missing_ok=True)
    last = project.history.undoable()
    assert last is not None
    command = last.said.partition("(masktron ")[2][:-1].replace("rules.sch", "again.sch", 1)
    shell(project, f"masktron {command}")
    again = (project.folder / "again.sch").read_bytes().replace(b"<title>again", b"<title>rules")
    assert again == (project.folder / "rules.sch").read_bytes()
    (project.folder / "again.sch").unlink()
    sent(client, f"{where}/validate", "begin", format=["csv", "svrl", "junit", "sarif"])
    run = ended(office, project, "validate")
    assert run.exit_code == 1
    text = client.get(f"{where}/validate").text
    assert "3 failures among 400 records" in text and text.count(f'<th scope="row">{total["id"]}</th>') == 3
    before = outputs_of(run)
    assert len(before) == 6
    for one in run.outputs:
        (run.folder / one.name).unlink()
    shell(project, run.shown_command)
    assert outputs_of(run) == before
    # a rule that is tried out
    number = next(one.number for one in rules_in(project.rulebook.encode()).entries if one.id == total["id"])
    page = f"{where}/rules/edit/{number}"
    stamp = client.get(page).text.split('name="stamp" value="')[1].split('"', maxsplit=1)[0]
    fields = {"stamp": stamp, "id": total["id"], "context": total["context"], "message": "m"}
    answer = sent(client, page, "check", **fields, test="Wages >= 0 and Wages < 0")
    ended(office, project, "draft")
    assert "400 of 400 records fail" in client.get(answer.headers["location"]).text
    ended(office, project, "draft-whole")
    assert "Contradiction" in client.get(answer.headers["location"]).text


def outputs_of(run: CommandRun) -> dict[str, bytes]:
    """Return what a run has written, without the time that JUnit has."""
    found = {one.name: (run.folder / one.name).read_bytes() for one in run.outputs}
    return {name: re.sub(rb' (timestamp|time)="[^"]*"', b"", content) for name, content in found.items()}


def shell(project: Project, command: str) -> None:
    """Carry a command out as a shell does in the folder of the project."""
    words = [sys.executable, "-P", "-m", *shlex.split(command)]
    subprocess.run(words, cwd=project.folder, capture_output=True, check=False)
