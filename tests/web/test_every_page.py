"""Every page in every state, in one walk: by axe, in every window, by day and night, and asked of nobody else."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import shown
from laid_projects import LONG, STEPS, busy_project, empty_project, failed_project, filled_project
from looks import findings, open_all
from masktron.web.pages.all_pages import PAGES
from masktron.web.runs import run_process
from masktron.web.runs.one_run import InRun, latest_run, prepared_run, runs_of
from masktron.web.store.projects import Project, ProjectStore
from quick_masktron import put_before_masktron
from web_client import Served, served, until

pytestmark = pytest.mark.full

MORE = (
    f"protect/hierarchy/{LONG}",
    "rules?show=doubts",
    "rules/edit/new",
    "rules/edit/2",
    "rules/edit/12",
    "nothing",
)
"""Addresses of a project beside those of its pages."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ProjectStore:
    return ProjectStore(tmp_path_factory.mktemp("web") / "projects")


@pytest.fixture(scope="module")
def busy(store: ProjectStore) -> Project:
    return busy_project(store)


@pytest.fixture(scope="module")
def server(chromium: Any, store: ProjectStore, busy: Project) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        put_before_masktron(store.root.parent, patch)
        patch.setattr(
            "web_client.WEB", [sys.executable, "-P", "-c", "from masktron.commands.line import main; main()", "web"]
        )
        with served(store.root) as found:
            yield found
            (busy.folder / "go").touch()


@pytest.fixture(params=["empty", "filled", "failed", "busy"])
def project(request: pytest.FixtureRequest, store: ProjectStore, busy: Project, server: Served) -> Project:
    """Return a project in a state; the runs of the busy one begin with the server."""
    if request.param == "busy":
        until(lambda: any(run.stages for run in runs_of(busy)))
        return busy
    made = {"empty": empty_project, "filled": filled_project, "failed": failed_project}
    return made[request.param](store)


def addresses_of(project: Project) -> list[str]:
    """Return the path of every page of a project; of each run where there are some."""
    pages = [one.path for one in PAGES if "{" not in one.path]
    runs = [f"runs/{run.name}" for step in STEPS if (run := latest_run(project, step)) is not None]
    more = [one for one in MORE if project.has_rules or one in ("rules/edit/new", "nothing")]
    return [f"/projects/{project.identity}/{one}".rstrip("/") for one in (*pages, *more, *runs)]


def test_every_page_in_every_state(chromium: Any, server: Served, project: Project) -> None:
    with shown(chromium, server.opened) as page:
        for address in ["/", *addresses_of(project)]:
            page.goto(f"{server.address}{address}")
            open_all(page)
            assert findings(page) == [], address
            assert page.get_by_role("heading", level=1).count() == 1, address
            assert page.evaluate("[...document.querySelectorAll('p.hint')].every(one => one.offsetWidth)"), address
        assert all(one.startswith((server.address, "data:")) for one in page.asked)
        assert [one for one in page.complaints if "404" not in one] == [] and "token=" not in page.url


def test_every_page_without_script(chromium: Any, server: Served, project: Project) -> None:
    with shown(chromium, server.opened, java_script_enabled=False) as page:
        for address in ["/", *addresses_of(project)]:
            page.goto(f"{server.address}{address}")
            for summary in page.locator("main details > summary").all():
                summary.click()
            assert page.get_by_role("heading", level=1).count() == 1, address
            # what a script would do has a link, a button or a refresh instead
            assert page.locator("button[data-copies]:visible").count() == 0
            polled = page.locator("[hx-get]").count()
            assert not polled or page.locator("noscript").count(), address


def test_a_way_to_mask_is_taken_without_script(chromium: Any, server: Served, store: ProjectStore) -> None:
    found = filled_project(store)
    with shown(chromium, server.opened, java_script_enabled=False) as page:
        page.goto(f"{server.address}/projects/{found.identity}/choose")
        page.get_by_role("button", name="Take number 5").click()
        page.get_by_text("In the settings now: noise, k = 5, by whole records, share = 0.2").wait_for()
    assert found.settings.config.method == "noise"


def test_the_way_on_top_follows_a_run_that_ends(chromium: Any, tmp_path: Path) -> None:
    project = ProjectStore(tmp_path / "projects").make("a survey")
    (project.files / "a.csv").write_text("A\n1\n")
    project.choose_data("a.csv")
    project.write({"rules.sch": b"<schema/>"}, said="Rules")
    with served(tmp_path / "projects") as server, shown(chromium, server.opened) as page:
        # aside, so that the server does not start it
        words = ["validate", "files/a.csv", InRun("rules.sch")]
        run = prepared_run(project, "validate", words, draft={})
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
