"""From roles to a release with the real commands; and what pages make is what the shown commands make."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from cli_runner import numbers, write_rules
from masktron.web.handlers.project_pages import way_of
from masktron.web.runs.one_run import CommandRun, latest_run, runs_of
from masktron.web.store.projects import Project
from web_client import Office, csrf_of, until

SHOWN = {f"{name}.json" for name in ("describe", "plan", "validate", "tune", "check", "convert")} | {
    "findings.sarif",
    "masked.csv",
    "masked.parquet",
}
"""What commands write alike whenever they run; a manifest has the time, as files of SPSS and Stata have."""


@pytest.fixture
def project(office: Office, tmp_path: Path) -> Project:
    found = office.store.make("a survey")
    rows = [{"Id": 100 + at, "NAME": f"N {at % 7}", **row} for at, row in enumerate(numbers(60))]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (found.files / "d.csv").write_text("\n".join(lines) + "\n")
    found.choose_data("d.csv")
    write_rules(tmp_path / "r.sch", "A + B = T", context="row")
    found.write({"rules.sch": (tmp_path / "r.sch").read_bytes()}, said="rules")
    return found


def posted(client: TestClient, project: Project, page: str, action: str, **fields: Any) -> None:
    where = f"/projects/{project.identity}/{page}"
    named = {name.replace("__", "."): value for name, value in fields.items()}
    answer = client.post(where, data={"csrf": csrf_of(client, where), "action": action, **named})
    assert answer.status_code == 303, answer.text


def done(office: Office, project: Project, step: str) -> CommandRun:
    run = latest_run(project, step)
    assert run is not None
    until(lambda: office.parts.queue.beat() is not None or run.is_over, within=120.0)
    assert run.exit_code == 0, run.stderr + run.stdout
    return run


def page(client: TestClient, project: Project, name: str) -> Any:
    return client.get(f"/projects/{project.identity}/{name}").text


@pytest.mark.full
def test_from_roles_to_a_release(office: Office, project: Project, tmp_path: Path) -> None:
    client = office.browser()
    posted(client, project, "roles", "read")
    done(office, project, "describe")
    assert "1 text field has no role" in page(client, project, "roles")
    posted(client, project, "roles", "save", roles__NAME="identifier", roles__Id="record-id")
    done(office, project, "describe")
    assert "Every text field has a role" in page(client, project, "roles")
    posted(client, project, "choose", "begin", budget="10m", k="3", methods="noise", limits__linkage="100")
    done(office, project, "choose")
    assert "Recommended: noise" in page(client, project, "choose")
    posted(client, project, "choose", "take", run="0003-choose", candidate="0")
    posted(client, project, "validate", "begin", format=["sarif"])
    done(office, project, "validate")
    assert "Every rule holds" in page(client, project, "validate")
    posted(client, project, "mask", "plan")
    done(office, project, "plan")
    assert "A, B, T" in page(client, project, "mask")
    posted(client, project, "mask", "mask")
    made = done(office, project, "mask")
    assert "Rules: green. Every rule holds" in page(client, project, "mask")
    posted(client, project, "release", "check", run=made.name)
    done(office, project, "check")
    posted(client, project, "release", "convert", format="parquet")
    saved = done(office, project, "convert")
    posted(client, project, "release", "check", run=saved.name)
    done(office, project, "check")
    shown = page(client, project, "release")
    assert shown.count('class="download"') == 2
    states = {step.name: step.state.done for step in way_of(project)}
    assert all(states[name] for name in ("data", "roles", "choose", "mask", "release"))
    for href in (part.partition('"')[0] for part in shown.split('class="download" href="')[1:]):
        run, _, name = href.partition("/runs/")[2].partition("/files/")
        assert client.get(href).content == (project.runs / run / name).read_bytes()
    _require_the_same_of_the_shown_commands(project, tmp_path / "copy")


def _require_the_same_of_the_shown_commands(project: Project, copy: Path) -> None:
    """Run the commands that pages show in a copy of the project without what runs have made, and compare bytes."""
    shutil.copytree(project.folder, copy)
    shutil.rmtree(copy / "tune")
    compared = set()
    for run in reversed(runs_of(project)):
        for one in run.outputs:
            if not one.name.endswith(".manifest.json"):
                (copy / "runs" / run.name / one.name).unlink()
        # random numbers are drawn anew, unless the key of the run is given
        key = f" --secret runs/{run.name}/masked.manifest.json" if run.step == "mask" else ""
        script = f"{run.shown_command}{key}".replace("masktron", f"{sys.executable} -P -m masktron", 1)
        environment = {**os.environ, "COLUMNS": "118", "MASKTRON_READER": "browser"}
        ended = subprocess.run(
            ["sh", "-c", script], check=False, cwd=copy, capture_output=True, env=environment, text=True
        )
        assert ended.returncode == 0, ended.stderr + ended.stdout
        for one in run.outputs:
            assert (copy / "runs" / run.name / one.name).exists(), one.name
            if one.name in SHOWN:
                compared.add(one.name)
                assert (copy / "runs" / run.name / one.name).read_bytes() == (run.folder / one.name).read_bytes()
    assert compared == SHOWN
