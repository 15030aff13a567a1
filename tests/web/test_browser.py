"""The pages in a browser: by keyboard, with and without script, and asked of nobody else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import axe_findings, shown
from masktron.resources import packaged_text
from masktron.web.runs.one_run import CommandRun, RunState, prepared_run, runs_of
from masktron.web.runs.run_kinds import KEYS_DRAFT
from masktron.web.server import OpeningPage
from masktron.web.store.project_settings import NAME as SETTINGS
from masktron.web.store.projects import Project, ProjectStore
from quick_masktron import put_before_masktron
from web_client import Served, served, until
from web_runs import described, laid_run, text_field

RULES = b"""<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="adult" test="not(AGE &lt; 16)">16 or older</assert></rule></pattern></schema>
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The sample, with a run that has ended, one that waits for a file, one that waits for its turn."""
    project = ProjectStore(tmp_path_factory.mktemp("web") / "projects").make_sample()
    out = "runs/0001-mask"
    words = (["fail"], ["wait=go", "late"], [f"write={out}/masked.csv", "late"])
    for arguments in words:
        prepared_run(project, "mask", arguments)
    return project


@pytest.fixture(scope="module")
def server(chromium: Any, project: Project) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        put_before_masktron(project.folder.parents[1], patch)
        patch.setattr(
            "web_client.WEB", [sys.executable, "-P", "-c", "from masktron.commands.line import main; main()", "web"]
        )
        with served(project.folder.parent) as found:
            until(lambda: run_of(project, 2).state is RunState.RUNNING and bool(run_of(project, 2).stages))
            yield found
            (project.folder / "go").touch()


def run_of(project: Project, number: int) -> CommandRun:
    return next(run for run in runs_of(project) if run.number == number)


def only_of_this_server(page: Any, server: Served) -> bool:
    return all(one.startswith((server.address, "data:")) for one in page.asked)


def test_a_file_is_uploaded_by_keyboard_alone(
    chromium: Any, server: Served, project: Project, tmp_path: Path
) -> None:
    data = tmp_path / "own data.csv"
    data.write_text("A,B\n1,2\n")
    with shown(chromium, server.opened) as page:
        page.goto(f"{server.address}/projects/{project.identity}/data")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        # what describes a field is for the eye as well
        assert page.locator("#file-hint").is_visible()
        page.get_by_label("A file of microdata").set_input_files(data)
        page.get_by_label("A file of microdata").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_text("own data.csv").first.wait_for()
        assert project.data() == "files/own data.csv"
        assert only_of_this_server(page, server) and page.complaints == []


def test_progress_comes_by_itself_and_cancelling_ends_it(chromium: Any, server: Served, project: Project) -> None:
    run = prepared_run(project, "check", ["sleep=60"])
    with shown(chromium, server.opened) as page:
        page.goto(f"{server.address}/projects/{project.identity}/runs/{run.name}")
        page.get_by_text("waits for its turn").wait_for()
        page.get_by_role("button", name="Cancel the run").click()
        page.get_by_text("was cancelled").wait_for()
        assert run.state is RunState.CANCELLED
        # the page of a run that works is asked for again, and changes without a word from the reader
        page.goto(f"{server.address}/projects/{project.identity}/runs/0002-mask")
        page.get_by_text("25 %").first.wait_for()
        (project.folder / "go").touch()
        page.get_by_text("The run has ended").wait_for()
        assert page.complaints == []


@pytest.mark.full
def test_all_of_it_works_without_script(chromium: Any, server: Served) -> None:
    with shown(chromium, server.opened, java_script_enabled=False) as page:
        page.goto(f"{server.address}/")
        page.get_by_label("Name", exact=True).fill("Without script")
        page.get_by_role("button", name="Make the project").click()
        page.get_by_role("heading", name="Without script").wait_for()
        page.get_by_role("link", name="History").click()
        page.get_by_text("Project 'Without script' made").wait_for()
        page.goto(f"{server.address}/")
        page.get_by_text("Delete Without script").first.click()
        page.get_by_role("button", name="Delete Without script").click()
        page.get_by_role("heading", name="Projects").wait_for()
        assert page.get_by_role("link", name="Without script").count() == 0


NAMES = ("AGE", "REGION", "Town_x002C__x0020_code")


@pytest.fixture
def keyed(project: Project) -> Project:
    """A project with three keys, one of which has a comma in the file; nothing was typed as yet."""
    mine = ProjectStore(project.folder.parent).make("Keys")
    (mine.files / "a.csv").write_text('AGE,REGION,"Town, code",A\n16,n,t,1\n')
    mine.choose_data("a.csv")
    mine.write({"rules.sch": RULES}, said="Rules")
    mine.settings.update({"roles": dict.fromkeys(NAMES, "quasi-identifier")}, said="roles")
    town = {**text_field(NAMES[2], "t", "u"), "column": "Town, code"}
    found = described({"name": "AGE"}, text_field("REGION", "n", "s"), town, {"name": "A"})
    laid_run(mine, "describe", ["describe", "files/a.csv"], {"describe.json": found})
    return mine


def drafts(project: Project) -> list[str]:
    """The settings with which runs try out what was typed."""
    return [(run.folder / SETTINGS).read_text() for run in runs_of(project) if run.step == KEYS_DRAFT.step]


@pytest.mark.full
def test_draws_and_swaps_are_typed_tried_and_saved(chromium: Any, server: Served, keyed: Project) -> None:
    with shown(chromium, server.opened) as page:
        page.goto(f"{server.address}/projects/{keyed.identity}/protect")
        group = page.get_by_role("group", name="AGE")
        group.get_by_label("Share that is drawn anew (PRAM)").press_sequentially("0.1,stay:0.5")
        regions = page.get_by_label("Regions, from coarse to fine")
        regions.press_sequentially('REGION, "Town, code')
        # it is tried while somebody types, and what is wrong is said beside it
        page.get_by_text("names with commas between").wait_for()
        regions.press_sequentially('"')
        page.get_by_label("Keys by which a record is rare in its region").press_sequentially("AGE")
        page.get_by_label("Rare are records that share them with fewer than").press_sequentially("2")
        page.get_by_text("Households, and who is similar").click()
        page.get_by_label("Fields in which a pair agrees").press_sequentially("A")
        until(lambda: any("similar" in one and NAMES[2] in one and "stay:0.5" in one for one in drafts(keyed)))
        assert keyed.settings.table.keys() == {"roles"}, "what is tried is not saved"
        assert axe_findings(page) == []
        page.get_by_role("button", name="Save").click()
        until(lambda: "swap" in keyed.settings.table)
        saved = keyed.settings.table
        assert saved["pram"] == {"AGE": "change:0.1,stay:0.5"}
        assert saved["swap"] == {"regions": ["REGION", NAMES[2]], "keys": ["AGE"], "k": 2, "similar": ["A"]}
        page.goto(f"{server.address}/projects/{keyed.identity}/protect")
        assert regions.input_value() == 'REGION, "Town, code"'
        assert only_of_this_server(page, server) and page.complaints == []


@pytest.mark.full
def test_what_is_typed_is_tried_although_the_page_asks_after_what_was_typed_before(
    chromium: Any, server: Served, keyed: Project
) -> None:
    with shown(chromium, server.opened) as page:
        page.goto(f"{server.address}/projects/{keyed.identity}/protect")
        tried = page.locator("#tried[hx-get]")
        regions = page.get_by_label("Regions, from coarse to fine")
        regions.press_sequentially("REGION")
        tried.wait_for(state="attached")
        under_way = tried.evaluate("one => one.outerHTML")
        # the run before goes on, as of a large file, and the answer to what is typed takes longer than a poll waits
        page.route("**/protect?draft=*", lambda route: route.fulfill(body=under_way, content_type="text/html"))
        page.route("**/protect", lambda route: (time.sleep(1.5), route.continue_()))
        regions.press_sequentially(', "Town')
        page.get_by_text("names with commas between").wait_for()


@pytest.mark.full
def test_problems_are_read_out_and_lead_to_their_field(chromium: Any, server: Served) -> None:
    with shown(chromium, server.opened) as page:
        page.goto(f"{server.address}/")
        page.get_by_label("Name", exact=True).fill("   ")
        page.get_by_role("button", name="Make the project").click()
        page.get_by_role("alert").wait_for()
        page.wait_for_function("document.activeElement.getAttribute('role') === 'alert'")
        assert axe_findings(page) == []
        page.get_by_role("alert").get_by_role("link").first.click()
        assert page.evaluate("document.activeElement.id") == "name"


def test_a_report_runs_its_script_and_reaches_nothing(chromium: Any, server: Served, project: Project) -> None:
    run = run_of(project, 1)
    until(lambda: run.is_over)
    script = packaged_text("report/pages/page.js")
    table = "<table data-sortable><thead><tr><th>A</th></tr></thead><tbody>" + "<tr><td>1</td></tr>" * 9
    text = f"<!DOCTYPE html><title>t</title>{table}</tbody></table><script>{script}</script>"
    evil = "<script>document.title = 'evil'; fetch('/')</script>"
    (run.folder / "report.html").write_text(text + evil)
    with shown(chromium, server.opened) as page:
        page.goto(f"{server.address}/projects/{project.identity}/runs/{run.name}/report/report.html")
        page.locator("thead th button").first.wait_for()
        assert page.title() == "t"
        assert page.evaluate("window.origin") == "null"
        assert any("Content Security Policy" in one for one in page.complaints)


@pytest.mark.full
def test_a_page_of_a_file_opens_it(chromium: Any, server: Served, project: Project) -> None:
    """As `masktron web` has a browser opened: no address in an argument, and a cookie for this site alone."""
    with shown(chromium, OpeningPage(project.folder.parent).path) as page:
        page.wait_for_url(f"{server.address}/")
        assert project.facts.name in page.locator("main").inner_text()
        assert "token" not in page.url
