"""Kinds of runs: each has settings of its own, and each is out of date when what it depends on has changed."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from masktron.commands.convert import Convert
from masktron.config import ReadOptions
from masktron.web.pages.step_runs import is_current
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import CommandRun, InRun, RunOutput, latest_run, runs_of, stamp_of
from masktron.web.runs.run_kinds import KINDS
from masktron.web.store.projects import Project
from web_client import Office, csrf_of, made_office
from web_runs import described, laid_run

RULES = b"""<schema xmlns="http://purl.oclc.org/dsdl/schematron">
<include href="part.sch"/>
<pattern><rule context="record"><assert id="sum" test="A + B = T">A and B are T</assert></rule></pattern>
</schema>
"""
PART = b"""<pattern xmlns="http://purl.oclc.org/dsdl/schematron">
<rule context="record"><assert id="least" test="A &gt;= 0">A is negative</assert></rule></pattern>
"""
TYPED = {"id": "sum", "context": "record", "test": "A + B <= T", "message": "m"}
BEGUN: dict[str, tuple[str, dict[str, Any]]] = {
    "describe": ("data", {"action": "read"}),
    "records": ("data", {"action": "others", "first": "2"}),
    "rules": ("rules", {"action": "check"}),
    "draft": ("rules/edit/2", {"action": "check", **TYPED}),
    "draft-whole": ("rules/edit/2", {"action": "check", **TYPED}),
    "suggest": ("rules/suggested", {"action": "look"}),
    "validate": ("validate", {"action": "begin"}),
    "keys": ("protect", {"action": "measure"}),
    "keys-draft": ("protect", {"action": "try", "key_k": "3"}),
    "hierarchy": ("protect/hierarchy/A", {"action": "propose", "by": "width", "width": "5"}),
    "choose": ("choose", {"action": "begin", "budget": "2m", "k": "3"}),
    "plan": ("mask", {"action": "plan"}),
    "mask": ("mask", {"action": "mask"}),
    "check": ("release", {"action": "check"}),
    "convert": ("release", {"action": "convert", "format": "xml"}),
}
"""The form that begins a run of each kind: its page, and what it says."""


def made_project(office: Office) -> Project:
    found = office.store.make("a survey")
    (found.files / "a.csv").write_text("A,B,T\n1,2,3\n2,3,5\n")
    (found.files / "areas.xml").write_text("<areas/>")
    (found.files / "a.json").write_text("{}")
    found.choose_data("a.csv")
    found.write({"rules.sch": RULES, "part.sch": PART}, said="Rules")
    return found


@pytest.fixture
def project(office: Office) -> Project:
    return made_project(office)


def masked(project: Project) -> CommandRun:
    files = {"masked.csv": "A,B,T\n1,2,3\n", "masked.manifest.json": "{}", "mask.json": {"job": "mask"}}
    return laid_run(project, "mask", ["mask", "files/a.csv", "--rules", InRun("rules.sch")], files)


def begun(client: TestClient, project: Project, step: str) -> CommandRun:
    made = masked(project) if step in ("check", "convert") else None
    if step in ("keys", "keys-draft", "hierarchy"):  # of a field that others know
        laid_run(project, "describe", ["describe", "files/a.csv"], {"describe.json": described({"name": "A"})})
        project.settings.update({"roles": {"A": "quasi-identifier"}}, said="x")
    page, form = BEGUN[step]
    path = f"/projects/{project.identity}/{page}"
    run = {} if made is None else {"run": made.name}
    answer = client.post(path, data={"csrf": csrf_of(client, path), **form, **run})
    assert answer.status_code == 303, answer.text
    found = latest_run(project, step)
    assert found is not None
    return found


def test_every_kind_is_begun_here() -> None:
    assert set(BEGUN) == set(KINDS)
    assert all(kind.step == step for step, kind in KINDS.items())


@pytest.mark.few(4)
@pytest.mark.parametrize("step", KINDS)
def test_no_run_takes_settings_that_are_written_later(client: TestClient, project: Project, step: str) -> None:
    words = begun(client, project, step).command["arguments"]
    if step == "convert":  # it reads none
        assert "--config" not in words and not Convert.takes_file
        return
    assert words.count("--config") == 1
    named = project.folder / words[words.index("--config") + 1]
    if step == "keys-draft":  # what was typed is its settings
        assert tomllib.loads(named.read_text()) == {"roles": {"A": "quasi-identifier"}, "keys": {"k": 3}}
        assert project.settings.table == {"roles": {"A": "quasi-identifier"}}
        return
    # an empty file where there are no settings
    assert named.parent.parent == project.runs and named.read_bytes() == project.settings.text.encode()


def _again(path: Path) -> None:
    """Write a file anew, with the same size."""
    content = path.read_bytes()
    before = path.stat().st_mtime_ns
    path.write_bytes(content[::-1])
    os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


def _instead(path: Path) -> None:
    """Put another file in the place of one, with the same size and time."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes()[::-1])
    os.utime(other, ns=(path.stat().st_mtime_ns, path.stat().st_mtime_ns))
    other.replace(path)


def _other_data(project: Project) -> None:
    (project.files / "b.csv").write_text("A,B,T\n1,2,3\n")
    project.choose_data("b.csv")


def _set(**changes: Any) -> Callable[[Project], None]:
    return lambda project: project.settings.update(changes, said="x")


KEYS = {"keys", "keys-draft"}
ON_RULES = {"rules", "validate", "choose", "plan", "mask"} | KEYS
DRAFTS = {"draft", "draft-whole"}
ON_DATA = {"describe", "records", "suggest", "hierarchy"} | ON_RULES | DRAFTS
JUDGING = ON_RULES | DRAFTS
CHANGES: dict[str, tuple[Callable[[Project], None], set[str]]] = {
    "other data": (_other_data, ON_DATA),
    "the data written anew": (lambda project: _again(project.files / "a.csv"), ON_DATA),
    "other data in their place": (lambda project: _instead(project.files / "a.csv"), ON_DATA),
    "the rulebook": (lambda p: p.write({"rules.sch": RULES + b"\n"}, said="x"), ON_RULES),
    "what it takes in": (lambda p: p.write({"part.sch": PART + b"\n"}, said="x"), ON_RULES),
    "a part more": (lambda p: p.write({"more.sch": PART}, said="x"), ON_RULES),
    "a part less": (lambda p: p.write({"part.sch": None}, said="x"), ON_RULES),
    "how the data are read": (_set(format_options={"delimiter": ";"}), ON_DATA),
    "households in one table": (_set(levels={"Home": {"key": "A"}, "One": {"same_table": True}}), ON_DATA),
    "the unit that is protected": (_set(protect="Person"), {"choose", "plan", "mask"} | KEYS),
    "the order of members": (_set(member_order=["B"]), {"choose", "plan", "mask"} | KEYS),
    "a description written anew": (lambda project: _again(project.files / "a.json"), ON_DATA),
    "a document written anew": (lambda project: _again(project.files / "areas.xml"), JUDGING),
    "a document less": (_set(documents=None), JUDGING),
    "the phase": (_set(phase="final"), JUDGING),
    "missing codes": (_set(missing={"A": ["9"]}), ON_DATA - {"validate"}),
    "roles": (_set(roles={"A": "record-id"}), {"describe", "records", "suggest", "choose", "plan", "mask"} | KEYS),
    "recoding": (_set(recode={"B": "width:5"}), {"choose", "plan", "mask"} | KEYS),
    "suppression": (_set(keys={"k": 3}), {"choose", "plan", "mask"} | KEYS),
    "a hierarchy": (
        lambda p: p.write({"B.hierarchy.csv": b"2;*\n3;*\n"}, said="x"),
        {"choose", "plan", "mask"} | KEYS,
    ),
    "k": (_set(k=4), {"plan", "mask"}),
    "the method": (_set(method="noise"), {"plan", "mask"}),
    "records that break a rule": (_set(invalid="exclude"), {"choose", "plan", "mask"}),
    "limits": (_set(limits={"linkage": 9}), {"choose", "plan", "mask"}),
    "what is tried": (_set(tune={"budget": "2m"}), set()),
    "the name of the project": (lambda p: p.change_facts(said="x", name="other"), set()),
    "a comment": (lambda p: p.settings.replace(f"# a comment\n{p.settings.text}", said="x"), set()),
    "another upload": (lambda project: shutil.copy(project.files / "a.csv", project.files / "c.csv"), set()),
}
"""What changes in a project, and the kinds whose runs speak of something else from then on."""


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a run of each kind."""
    project = made_project(made_office(tmp_path_factory.mktemp("web")))
    given = {"k": 3, "documents": {"areas": "files/areas.xml"}, "metadata": "files/a.json"}
    project.write({"B.hierarchy.csv": b"2;*\n"}, said="x")
    given |= {"recode": {"B": "B.hierarchy.csv:1"}}
    project.settings.update(given, said="x")
    for step, kind in KINDS.items():
        laid_run(project, step, kind.command(["x", "files/a.csv", "--rules", InRun("rules.sch")]))
    return project


@pytest.fixture
def runs(settled: Project, tmp_path: Path) -> dict[str, CommandRun]:
    """Runs of all kinds that are current, in a project of this test."""
    project = Project(tmp_path / "project")
    shutil.copytree(settled.folder, project.folder)
    found = {run.step: run for run in runs_of(project)}
    for run in found.values():  # a copy is another file
        stamps = {name: stamp_of(project, name) for name in run.command["stamps"]}
        (run.folder / "command.json").write_text(json.dumps({**run.command, "stamps": stamps}))
    assert set(found) == set(KINDS) and all(is_current(run) for run in found.values())
    return found


@pytest.mark.few(6)
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_makes_what_depends_on_it_out_of_date_and_nothing_else(
    runs: dict[str, CommandRun], what: str
) -> None:
    change, expected = CHANGES[what]
    change(runs["mask"].project)
    assert {step for step, run in runs.items() if not is_current(run)} == expected


def test_undone_changes_are_none(runs: dict[str, CommandRun]) -> None:
    project = runs["mask"].project
    _set(roles={"A": "record-id"})(project)
    project.write({"rules.sch": RULES + b"\n"}, said="x")
    assert not is_current(runs["validate"]) and not is_current(runs["describe"])
    project.undo()
    project.undo()
    assert all(is_current(run) for run in runs.values())


def test_rules_are_checked_without_data_until_there_are_some(project: Project) -> None:
    (project.files / "a.csv").rename(project.files / "hidden.csv")
    runs = {kind: laid_run(project, kind, ["x", InRun("rules.sch")]) for kind in ("rules", "validate")}
    assert is_current(runs["rules"]) and not is_current(runs["validate"])
    (project.files / "hidden.csv").rename(project.files / "a.csv")
    assert not is_current(runs["rules"])


def test_every_setting_counts_for_masking() -> None:
    assert run_kinds.MASK.settings >= {"register", "limits", "k", "roles", "allow", "order", "workers"}
    assert "tune" not in run_kinds.MASK.settings


@pytest.mark.parametrize("step", [step for step, kind in KINDS.items() if kind.data and kind.takes_settings])
def test_everything_that_says_how_data_are_read_counts_for_what_reads_them(step: str) -> None:
    named = {field.name for field in fields(ReadOptions)} - {"options", "inherited", "identifiers"} | {
        "format_options"
    }
    assert named <= KINDS[step].settings


def test_pages_say_that_settings_have_changed(client: TestClient, project: Project) -> None:
    where = f"/projects/{project.identity}"
    described = {
        "job": "describe", "records": 2, "fields": [], "rows": [], "problems": [], "notes": [], "format": "csv",
        "record": None,
    }  # fmt: skip
    suggested = {"proposals": [], "records": 2, "notes": []}
    laid_run(project, "describe", ["describe", "files/a.csv"], {"describe.json": described})
    laid_run(project, "suggest", ["suggest", "files/a.csv"], {"suggest.json": suggested})
    for page in ("data", "rules/suggested"):
        project.settings.update({"missing": None}, said="x")
        assert "have changed since" not in client.get(f"{where}/{page}").text
        project.settings.update({"missing": {"A": ["9"]}}, said="x")
        assert "have changed since" in client.get(f"{where}/{page}").text


def test_an_original_is_not_the_data_that_were_judged(project: Project) -> None:
    data = project.data()
    assert data is not None
    (project.files / "former.csv").write_bytes((project.folder / data).read_bytes())
    words = ["validate", data, "--rules", InRun("rules.sch"), "--original", "files/former.csv"]
    run = laid_run(project, "validate", words, {"validate.json": {"job": "validate"}})
    assert run.is_of(data) and not run.is_of("files/former.csv") and is_current(run)
    project.choose_data("former.csv")
    assert not is_current(run)


@pytest.mark.parametrize(
    ("name", "confidential"),
    [
        ("masked.xml", False),
        ("masked.rules.sch", False),
        ("masked.manifest.json", True),
        ("masked.manifest.1.json", True),  # that of an earlier release
    ],
)
def test_manifests_never_leave_a_project(name: str, confidential: bool) -> None:
    assert RunOutput(name, 1).confidential is confidential
