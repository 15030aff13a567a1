"""The whole way with a large file in a browser: read, checked, masked; the server is killed, the run cancelled."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import shown, started
from masktron.web.runs.one_run import CommandRun, InRun, RunState, prepared_run, runs_of
from masktron.web.runs.run_process import memory_of
from masktron.web.store.projects import Project, ProjectStore
from web_client import Served, served, until

MEGABYTES = 300
LONG = 300.0
"""Seconds for what takes some ten on a machine that does nothing else."""
MOST_OF_SERVER = 200_000_000
"""Bytes of memory."""
RECORD = f"<Record><Id>{{0}}</Id><A>{{1}}</A><B>{{2}}</B><T>{{3}}</T><Note>{'nothing ' * 40}</Note></Record>\n"
RULES = b"""<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="sum" test="A + B = T">A and B are T</assert></rule></pattern></schema>"""
SETTINGS = """k = 3
[roles]
Id = "identifier"
A = "confidential"
B = "confidential"
T = "confidential"
Note = "untouched"
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    path, number, size = tmp_path_factory.mktemp("large") / "large.xml", 0, 0
    with path.open("w") as out:
        out.write("<Survey>\n")
        while size < MEGABYTES * 1_000_000:
            lines = (RECORD.format(n, n % 997, n % 89, n % 997 + n % 89) for n in range(number, number + 10_000))
            size += out.write("".join(lines))
            number += 10_000
        out.write("</Survey>\n")
    return path, number


def prepared(project: Project) -> tuple[CommandRun, CommandRun]:
    """Put a run of validate and one of mask into the folder, which the next server begins."""
    data = project.data()
    assert data is not None
    words = [data, "--rules", InRun("rules.sch")]
    first = prepared_run(project, "validate", ["validate", *words, "--json", InRun("validate.json")], by="local")
    mask = ["mask", *words, "--config", InRun("masktron.toml"), "--shuffle", "--out", InRun("masked.xml")]
    return first, prepared_run(project, "mask", mask, by="local")


def kill(server: Served) -> None:
    """End a server as the system does that has no memory left: with all that it is, and no word."""
    for child in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)
    server.process.kill()
    server.process.wait(20)


@pytest.mark.full
def test_the_whole_way_with_a_large_file(chromium: Any, large: tuple[Path, int], tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    data, records = large
    with served(projects) as server, shown(chromium, server.opened) as page:
        page.goto(f"{server.address}/")
        page.get_by_label("Name", exact=True).fill("Large")
        page.get_by_role("button", name="Make the project").click()
        page.goto(f"{page.url}/data")
        page.get_by_label("A file of microdata").set_input_files(data)
        page.get_by_role("button", name="Upload").click(timeout=1000 * LONG)
        page.get_by_text(f"{records:,} records of 5 fields").wait_for(timeout=1000 * LONG)
        assert page.complaints == []
        assert memory_of(server.process.pid) < MOST_OF_SERVER
    project = next(one for one in ProjectStore(projects).of("local") if one.facts.name == "Large")
    assert (project.files / data.name).stat().st_size == data.stat().st_size
    project.write({"rules.sch": RULES}, said="rules", by="local")
    project.settings.replace(SETTINGS, said="settings", by="local")
    checked, masked = prepared(project)
    with served(projects) as server, shown(chromium, server.opened) as page:
        base = f"{server.address}/projects/{project.identity}/runs"
        page.goto(f"{base}/{checked.name}")
        page.get_by_text("The run has ended").wait_for(timeout=1000 * LONG)
        assert checked.exit_code == 0, checked.stderr
        # two people look at the same time, each in a browser of his own: one has not come in as yet
        with shown(chromium, server.opened) as other:
            page.goto(f"{base}/{masked.name}")
            other.goto(f"{base}/{masked.name}")
            for one in (page, other):
                one.locator(".stages .figures").first.wait_for(timeout=1000 * LONG)
            page.reload()
            page.locator(".stages .figures").first.wait_for(timeout=1000 * LONG)
            assert masked.state is RunState.RUNNING
        kill(server)
    assert masked.state is RunState.RUNNING
    with served(projects) as server, shown(chromium, server.opened) as page:
        page.goto(f"{server.address}/projects/{project.identity}/runs/{masked.name}")
        page.locator(".stages .figures").first.wait_for(timeout=1000 * LONG)
        assert masked.state is RunState.RUNNING, "it ended too early for this test"
        page.get_by_role("button", name="Cancel the run").click()
        page.get_by_text("was cancelled").wait_for(timeout=1000 * LONG)
        assert memory_of(server.process.pid) < MOST_OF_SERVER
    assert masked.state is RunState.CANCELLED
    until(lambda: not masked.is_held)
    assert [one.name for one in masked.outputs if not one.name.endswith(".half")] == []
    assert [one.name for one in runs_of(project)] == ["0003-mask", "0002-validate", "0001-describe"]
