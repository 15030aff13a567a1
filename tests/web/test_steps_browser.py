"""Roles, Choose, Mask and Release in a browser, each with a result: accessible, and nothing sticks out."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import axe_findings, shown, started
from made_up_map import made_up_map
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pages.tune_page import plane_of
from masktron.report.pictures.picture_files import svg_file
from masktron.web.runs import run_process
from masktron.web.runs.one_run import InRun, InRunOf, prepared_run
from masktron.web.store.projects import Project, ProjectStore
from web_client import served
from web_runs import MASKED, described, laid_run, text_field

PAGES = ("roles", "choose", "mask", "release")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    found = ProjectStore(tmp_path_factory.mktemp("web") / "projects").make("local", "a survey")
    (found.files / "a.csv").write_text("A,NAME\n1,x\n")
    found.choose_data("a.csv", by="local")
    found.write({"rules.sch": b"<schema/>"}, said="Rules", by="local")
    fields = [{"name": "A", "distinct": 400}, text_field("NAME", "x", "y"), *({"name": f"F{at}"} for at in range(60))]
    laid_run(found, "describe", ["describe", "files/a.csv"], {"describe.json": described(*fields)})
    plane = plane_of(PlainData(made_up_map()))
    assert plane is not None
    map_files = {"tune.json": made_up_map(), "map.svg": svg_file(plane, "map"), "map.html": "<title>t</title>"}
    laid_run(found, "choose", ["tune", "files/a.csv", InRun("rules.sch")], map_files)
    rule = {"id": "sum", "form": "A + B = T", "class": "linear", "block": ["A", "B"], "candidates": ["mean"]}
    plan = {"job": "explain", "rules": [{**rule, "why": "mean keeps sum"}], "obstacle": None, "notes": []}
    laid_run(found, "plan", ["explain", InRun("rules.sch"), "--data", "files/a.csv"], {"plan.json": plan})
    files = {"mask.json": MASKED, "masked.csv": "A\n1\n", "masked.manifest.json": "{}", "internal.html": "x"}
    mask = laid_run(found, "mask", ["mask", "files/a.csv", InRun("rules.sch")], {**files, "about.html": "x"})
    verdict = {
        "job": "check", "sha256": hashlib.sha256(b"A\n1\n").hexdigest(), "checked": ["2 rules"], "not_checked": [],
        "problems": [], "rules": [],
    }  # fmt: skip
    laid_run(found, "check", ["check", InRunOf(mask, "masked.csv")], {"check.json": verdict, "check.html": "x"})
    return found


@pytest.mark.full
@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_the_pages_from_roles_to_release(
    chromium: Any, project: Project, width: int, scheme: str, *, script: bool
) -> None:
    root = Path(project.folder.parents[2])
    with (
        served(root) as server,
        shown(chromium, server.opened, width=width, scheme=scheme, java_script_enabled=script) as page,
    ):
        for name in PAGES:
            page.goto(f"{server.address}/projects/{project.identity}/{name}")
            for summary in page.locator("main details > summary").all():
                summary.click()
            if script:
                assert axe_findings(page) == [], name
                wide = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
                assert wide[0] <= wide[1], (name, wide)
            assert page.get_by_role("heading", level=1).count() == 1
        page.goto(f"{server.address}/projects/{project.identity}/choose")
        page.get_by_role("button", name="Take number 5").click()
        page.get_by_text("In the settings now: noise, k = 5, by whole records, share = 0.2").wait_for()
        assert project.settings.config.method == "noise"
        project.undo("local")
        assert page.complaints == []
        assert all(one.startswith((server.address, "data:")) for one in page.asked)


@pytest.mark.full
def test_the_way_on_top_follows_a_run_that_ends(chromium: Any, tmp_path: Path) -> None:
    project = ProjectStore(tmp_path / "projects").make("local", "a survey")
    (project.files / "a.csv").write_text("A\n1\n")
    project.choose_data("a.csv", by="local")
    project.write({"rules.sch": b"<schema/>"}, said="Rules", by="local")
    with served(tmp_path / "projects") as server, shown(chromium, server.opened) as page:
        # aside, so that the server does not start it
        words = ["validate", "files/a.csv", InRun("rules.sch")]
        run = prepared_run(project, "validate", words, by="local", draft={})
        (run.folder / run_process.PROCESS).write_text(json.dumps({"pid": 1, "began": time.time()}))
        lock = run_process.locked(run.folder)
        assert lock is not None
        page.goto(f"{server.address}/projects/{project.identity}/validate")
        page.get_by_text("are being judged").wait_for()
        page.locator("#way-validate").focus()
        assert page.locator("li.done #way-validate").count() == 0
        ended = {"code": 0, "problem": "", "began": time.time(), "ended": time.time()}
        (run.folder / run_process.EXIT).write_text(json.dumps(ended))
        os.close(lock)
        page.locator("li.done #way-validate").wait_for()
        assert page.evaluate("document.activeElement.id") == "way-validate"
        assert page.complaints == []
