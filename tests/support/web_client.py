"""Pages of masktron web asked for without a network, or through a socket of this machine."""

from __future__ import annotations

import html
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from masktron.web.access.gate import Cookie, TokenDoor
from masktron.web.access.sessions import Lifetime, Sessions
from masktron.web.runs.one_run import runs_of
from masktron.web.runs.run_queue import RunQueue
from masktron.web.server import OpeningPage, web_app
from masktron.web.store.projects import Project, ProjectStore
from masktron.web.web_parts import WebParts

HOST = "127.0.0.1:8000"
WEB = [sys.executable, "-P", "-m", "masktron", "web"]
"""How a server is started."""
OWN = f"http://{HOST}"


@dataclass
class Office:
    """A server in memory: its parts, and browsers that ask it."""

    folder: Path
    parts: WebParts
    app: Any
    others: list[Office] = field(default_factory=list)

    @property
    def store(self) -> ProjectStore:
        return self.parts.store

    def again(self, **changes: Any) -> Office:
        """Return another server on the same projects: as after the end of this one."""
        other = made_office(self.folder, **changes)
        self.others.append(other)
        return other

    def browser(self, *, entered: bool = True, follow: bool = False, origin: str | None = OWN) -> TestClient:
        """Return a browser with cookies of its own; `entered` has used the address with the token."""
        headers = {} if origin is None else {"origin": origin}
        client = TestClient(self.app, f"http://{HOST}", headers=headers, follow_redirects=follow)
        if entered:
            typed = {"sec-fetch-site": "none"}
            assert client.get(f"/?token={self.token}", headers=typed, follow_redirects=False).status_code == 303
        return client

    @property
    def token(self) -> str:
        """The token that opens the next browser."""
        assert isinstance(self.parts.door, TokenDoor)
        return self.parts.door.token


def made_office(folder: Path, *, door: Any = None, scheme: str = "http", **changes: Any) -> Office:
    """Make a server whose projects are in a folder; its runs begin when somebody calls `beat` of its queue."""
    queue_options = {name: changes.pop(name) for name in ("at_once",) if name in changes}
    lifetime = changes.pop("lifetime", Lifetime(3600.0, 600.0))
    store = ProjectStore(folder / "projects")
    sessions = Sessions(folder / "projects" / "sessions.json", lifetime)
    cookie = Cookie("masktron-8000", scheme == "https")
    parts = WebParts(
        store=store,
        queue=RunQueue(store, **queue_options),
        sessions=sessions,
        door=TokenDoor(sessions, cookie) if door is None else door(sessions, cookie),
        cookie=cookie,
        hosts=frozenset({HOST}),
        scheme=scheme,
        **changes,
    )
    return Office(folder, parts, web_app(parts))


def end_runs(office: Office) -> None:
    """End all runs of a server, and its watch over them."""
    runs = [run for project in office.store.all() for run in runs_of(project)]
    for run in runs:
        if run.is_held and (pid := run.pid) is not None:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
    until(lambda: not any(run.is_held for run in runs))
    for one in (office, *office.others):
        one.parts.queue.leave()


def csrf_of(client: TestClient, path: str = "/") -> str:
    """Return the token of the forms of a page."""
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', client.get(path).text)
    assert found is not None
    return found[1]


def sent(client: TestClient, path: str, action: str, page: str | None = None, **fields: str) -> Any:
    """Send a form of a page as a browser does."""
    token = csrf_of(client, path if page is None else page)
    return client.post(path, data={"csrf": token, "action": action, **fields})


def forms_of(page: str) -> tuple[Callable[..., str], Callable[..., Any]]:
    """Return the path of a page of a project, and what sends its forms; ``__`` in names of inputs is a point."""

    def path(project: Project, more: str = "") -> str:
        return f"/projects/{project.identity}/{page}{more}"

    def posted(
        client: TestClient, project: Project, action: str, fields: Mapping[str, Any] = {}, more: str = "", **also: Any
    ) -> Any:
        named = {name.replace("__", "."): value for name, value in {**fields, **also}.items()}
        form = {"csrf": csrf_of(client, path(project)), "action": action, **named}
        return client.post(path(project, more), data=form)

    return path, posted


def codes_at(answer: Any) -> dict[str, str]:
    """Return the codes of what a page says at inputs of its forms, by the input."""
    return dict(re.findall(r'id="([^"]+)-error" data-code="([^"]*)"', html.unescape(answer.text)))


def codes_of(answer: Any) -> set[str]:
    """Return the codes of all that a page says is wrong."""
    return set(re.findall(r'data-code="([^"]*)"', answer.text))


def undone(client: TestClient, path: str) -> Any:
    """Undo the change that a page offers to undo."""
    found = re.search(r'name="change" value="(\d+)"', client.get(path).text)
    assert found is not None, "the page offers no change"
    return sent(client, path, "undo", change=found[1])


def sample_of(office: Office, client: TestClient) -> tuple[Project, str]:
    """Open the sample, and return the project and its path."""
    where = sent(client, "/", "sample").headers["location"]
    project = office.store.get(where.rpartition("/")[2])
    assert project is not None
    return project, where


def until(condition: Any, within: float = 30.0) -> None:
    """Wait until something holds."""
    limit = time.monotonic() + within
    while not condition():
        assert time.monotonic() < limit, "it took too long"
        time.sleep(0.02)


@dataclass
class Served:
    """A server as a process: its address with a token that nobody has used, and what it says."""

    process: subprocess.Popen[str]
    said: str
    log: Path

    @property
    def opened(self) -> str:
        address = OpeningPage(self.log.with_name("projects")).address()
        assert address is not None
        return address

    @property
    def port(self) -> int:
        found = re.search(r":(\d+)/", self.said)
        assert found is not None
        return int(found[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def served(projects: Path, *arguments: object, port: int = 0, browse: bool = False) -> Iterator[Served]:
    """Start ``masktron web`` and end it afterwards; `browse` has it open the browser that ``BROWSER`` names."""
    log = projects.with_name(f"{projects.name}.log")
    with log.open("a") as err:
        argv = [*WEB, *([] if browse else ["--no-browser"]), "--port", port, "--projects", projects, *arguments]
        process = subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=err, text=True)
    try:
        assert process.stdout is not None
        found = Served(process, _line(process.stdout.fileno()), log)
        assert found.said.startswith("masktron web: "), log.read_text()
        until(lambda: _answers(found.port))
        yield found
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()


def _line(stream: int) -> str:
    """Read a line, and nothing behind it that a buffer would keep."""
    found = b""
    while not found.endswith(b"\n") and (byte := os.read(stream, 1)):
        found += byte
    return found.decode()


def _answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0
