"""The whole way with a large file in a browser: to the masked file, although the server is killed; and cancelled."""

from __future__ import annotations

import filecmp
import os
import re
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from browser import shown
from masktron.web.runs.one_run import RunState, latest_run
from masktron.web.store.projects import ProjectStore
from web_client import Served, served, until
from web_user import WebUser

MEGABYTES = 300
LONG = 300.0
"""Seconds for what takes some ten on a machine that does nothing else."""
LEAST_OF_SERVER, MOST_OF_SERVER = 30_000_000, 200_000_000
"""Bytes of memory: less is that of something else."""
RECORD = f"<Record><Id>{{0}}</Id><A>{{1}}</A><B>{{2}}</B><T>{{3}}</T><Note>{'nothing ' * 40}</Note></Record>\n"
RULES = b"""<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="sum" test="A + B = T">A and B are T</assert></rule></pattern></schema>"""


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


def children_of(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def kill(server: Served) -> None:
    """End a server as the system does that has no memory left: with all that it is, and no word."""
    for child in children_of(server.process.pid):
        os.kill(child, signal.SIGKILL)
    server.process.kill()
    server.process.wait(20)


class Watch:
    """The most memory that servers hold, looked at again and again."""

    def __init__(self) -> None:
        self.most, self.pid, self._over = 0, 0, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._over.wait(0.2):
            if self.pid:
                with suppress(OSError):  # it is killed
                    # the server is a child of the command, and runs are children of the server
                    self.most = max(self.most, sum(map(rss_of, (self.pid, *children_of(self.pid)))))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def rss_of(pid: int) -> int:
    """Return the bytes of memory that a process holds, without what it has started."""
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return 0 if found is None else int(found[1]) * 1024


def masked_to_the_middle(chromium: Any, server: Served, data: Path, records: int) -> str:
    """Go the way from an upload to a masking that goes on, and return the address of its page."""
    rulebook = data.with_name("sum.sch")
    rulebook.write_bytes(RULES)
    with shown(chromium, server.opened) as page:
        user = WebUser(page, server.address, LONG)
        user.make_project("Large")
        user.upload(data, f"{records:,} records of 5 fields")
        user.upload_rules(rulebook)
        user.validate("Every rule holds")
        user.say_roles({"Id": "identifier", "Note": "untouched"})
        user.go("Mask")
        page.get_by_label("Smallest group").fill("3")
        user.begin_masking()
        # two people look at the same time, each in a browser of his own: one has not come in as yet
        with shown(chromium, server.opened) as other:
            other.goto(page.url)
            for one in (page, other):
                one.locator(".stages .figures").first.wait_for(timeout=1000 * LONG)
            page.reload()
            page.locator(".stages .figures").first.wait_for()
        assert page.complaints == []
        return str(page.url)


@pytest.mark.full
def test_the_whole_way_with_a_large_file(chromium: Any, large: tuple[Path, int], tmp_path: Path) -> None:
    """Masking ends well although the server is killed; the file is released; and once more, cancelled."""
    projects, (data, records) = tmp_path / "projects", large
    with Watch() as watch:
        with served(projects) as server:
            watch.pid = server.process.pid
            path = urlsplit(masked_to_the_middle(chromium, server, data, records)).path
            project = next(one for one in ProjectStore(projects).newest() if one.facts.name == "Large")
            masked = latest_run(project, "mask")
            kill(server)
        assert (project.files / data.name).stat().st_size == data.stat().st_size
        assert masked is not None and masked.state is RunState.RUNNING
        with served(projects) as server, shown(chromium, server.opened) as page:
            watch.pid = server.process.pid
            user = WebUser(page, server.address, LONG)
            page.goto(f"{server.address}{path}")
            page.locator(".stages .figures").first.wait_for()
            assert masked.state is RunState.RUNNING, "it ended too early for this test"
            user.see_masked()
            user.release("masked.xml")
            written = user.download("masked.xml", tmp_path)
            assert filecmp.cmp(written, masked.folder / "masked.xml", shallow=False)
            assert written.read_bytes().count(b"</Record>") == records
            # once more, and cancelled
            user.go("Mask")
            user.begin_masking()
            page.locator(".stages .figures").first.wait_for()
            user.press("Cancel")
            user.see("Masking was cancelled")
            assert page.complaints == []
            ended = latest_run(project, "mask")
        assert ended is not None and ended.name != masked.name and ended.state is RunState.CANCELLED
        until(lambda: not ended.is_held)
        assert [one.name for one in ended.outputs if not one.name.endswith(".half")] == []
    assert LEAST_OF_SERVER < watch.most < MOST_OF_SERVER
