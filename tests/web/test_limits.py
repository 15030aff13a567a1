"""What somebody may take of the server: connections, time for headers, large forms, room for runs and files."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from masktron.errors import UsageError
from masktron.web.access.answer_headers import HEADERS
from masktron.web.form_reading import MOST_LARGE, SMALL_FORM
from masktron.web.runs.one_run import RunState
from masktron.web.runs.run_limits import RunLimits, is_memory_seen
from masktron.web.runs.run_process import memory_of
from masktron.web.runs.run_queue import RunQueue
from masktron.web.server import ServerOptions, require_safe
from masktron.web.store.projects import Project, ProjectStore
from masktron.web.web_connection import WebConnection
from quick_masktron import put_before_masktron
from web_client import HOST, OWN, Office, until
from web_sockets import HEAD, LAST, conversations

type Receive = Callable[[], Awaitable[dict[str, Any]]]


class Quick(WebConnection):
    header_seconds, most = 0.3, 2


async def _served(*said: list[bytes | float]) -> list[bytes]:
    return await conversations(Quick, *said)


def test_headers_that_drip_end_the_connection() -> None:
    drip: list[bytes | float] = [HEAD]
    for _ in range(8):
        drip += [0.1, b"x: 1\r\n"]
    began = time.monotonic()
    (slow,) = asyncio.run(_served(drip))
    assert slow.startswith(b"HTTP/1.1 408 ") and time.monotonic() - began < 5
    # nothing at all, and a second request that never ends
    (silent,) = asyncio.run(_served([0.6]))
    assert silent.startswith(b"HTTP/1.1 408 ")
    (second,) = asyncio.run(_served([HEAD + b"\r\n", 0.1, b"GET / HT", 0.6]))
    assert second.startswith(b"HTTP/1.1 200 ") and b"HTTP/1.1 408 " in second
    # in time, in pieces, and several on one connection
    (whole,) = asyncio.run(_served([HEAD, 0.1, b"\r\n", 0.2, LAST]))
    assert whole.count(b"HTTP/1.1 200 ") == 2 and b"408" not in whole


def test_there_are_so_many_connections() -> None:
    found = asyncio.run(_served([0.2, LAST], [0.2, LAST], [0.2, LAST]))
    assert sorted(one.split()[1] for one in found) == [b"200", b"200", b"503"]


def test_answers_of_the_protocol_have_the_headers_of_all_others() -> None:
    (answer,) = asyncio.run(_served([b"\x00 no request\r\n\r\n"]))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert all(f"{name}: {value}".encode() in answer for name, value in HEADERS.items())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    put_before_masktron(tmp_path, monkeypatch)
    return ProjectStore(tmp_path / "projects").make("a survey")


def test_a_run_that_takes_too_long_is_ended_and_says_so(tmp_path: Path, project: Project) -> None:
    queue = RunQueue(ProjectStore(tmp_path / "projects"), limits=RunLimits(seconds=0.6))
    run = queue.start(project, "mask", ["sleep=60"])
    until(lambda: queue.beat() is not None or run.is_over)
    assert run.state is RunState.ENDED and run.exit_code == 128 + 15
    assert run.error is not None and "too much time" in run.error.what
    queue.leave()


@pytest.mark.skipif(not is_memory_seen(), reason="the system does not say what processes hold")
def test_a_run_that_takes_too_much_memory_is_ended_and_says_so(tmp_path: Path, project: Project) -> None:
    queue = RunQueue(ProjectStore(tmp_path / "projects"), limits=RunLimits(memory=1_000_000))
    run = queue.start(project, "mask", ["sleep=60"])
    until(lambda: queue.beat() is not None or run.is_over)
    assert run.error is not None and "too much memory: more than 1 MB" in run.error.what
    large = RunQueue(ProjectStore(tmp_path / "projects"), limits=RunLimits(memory=1 << 40))
    fine = large.start(project, "mask", ["sleep=0.7"])
    until(lambda: large.beat() is not None or fine.is_over)
    assert (fine.exit_code, fine.error) == (0, None)
    queue.leave()
    large.leave()


@pytest.fixture
def holding() -> Iterator[subprocess.Popen[str]]:
    """A process that has started another one, which holds 40 MB."""
    inner = "x = b'1' * 40_000_000; print('held', flush=True); input()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    process = subprocess.Popen(
        [sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        yield process
        process.communicate("\n")


@pytest.mark.skipif(not is_memory_seen(), reason="the system does not say what processes hold")
def test_memory_is_that_of_all_processes_of_a_run(holding: subprocess.Popen[str]) -> None:
    assert holding.stdout is not None and holding.stdout.readline() == "held\n"
    assert 40_000_000 < memory_of(holding.pid) < 120_000_000
    assert memory_of(2**22 + 7) == 0


def test_memory_is_limited_where_it_can_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.web.server.is_memory_seen", lambda: False)
    with pytest.raises(UsageError, match="--run-memory needs Linux"):
        require_safe(ServerOptions(tmp_path, limits=RunLimits(memory=1)))


def test_there_are_so_many_projects_and_uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.web.store.projects.MOST_PROJECTS", 2)
    store = ProjectStore(tmp_path)
    store.make("one")
    store.make("two")
    with pytest.raises(UsageError, match="2 projects already"):
        store.make("three")


def test_large_forms_are_few_at_a_time(office: Office) -> None:
    cookie = office.parts.sessions.begin()

    async def talk() -> tuple[list[int], list[int]]:
        go = asyncio.Event()

        def held() -> Receive:
            pieces = iter([b"a" * SMALL_FORM, b"a" * SMALL_FORM, b""])

            async def receive() -> dict[str, Any]:
                if (piece := next(pieces)) == b"":
                    await go.wait()
                return {"type": "http.request", "body": piece, "more_body": piece != b""}

            return receive

        large = [asyncio.create_task(asked(office, cookie, held())) for _ in range(MOST_LARGE + 3)]
        async with asyncio.timeout(10):
            while sum(one.done() for one in large) < 3:
                await asyncio.sleep(0.01)
        small = await asked(office, cookie, whole(b"a"))  # forms of the usual size need no place
        go.set()
        found = await asyncio.gather(*large)
        return found, [small, await asked(office, cookie, whole(b"a" * 40_000))]

    found, other = asyncio.run(talk())
    # what is read whole has no token
    assert Counter(found) == {403: MOST_LARGE, 503: 3}
    assert other == [403, 403]


def whole(body: bytes) -> Receive:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def asked(office: Office, cookie: str, receive: Receive) -> int:
    """Send a form to the list of projects, in the loop of the others, and return the status of the answer."""
    headers = {"host": HOST, "origin": OWN, "cookie": f"masktron-8000={cookie}"}
    headers["content-type"] = "application/x-www-form-urlencoded"
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8000),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
    }
    found: list[int] = []

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    await office.app(scope, receive, send)
    return found[0]
