"""What somebody may take of the server: connections, time for headers, guesses, room for runs and files."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from masktron.errors import UsageError
from masktron.web.access.answer_headers import HEADERS
from masktron.web.access.passwords import Doorkeeper, add_user, require_good
from masktron.web.runs.one_run import RunState
from masktron.web.runs.run_limits import RunLimits, is_memory_seen
from masktron.web.runs.run_process import memory_of
from masktron.web.runs.run_queue import RunQueue
from masktron.web.server import ServerOptions, require_safe
from masktron.web.store.projects import Project, ProjectStore
from masktron.web.web_connection import WebConnection
from quick_masktron import put_before_masktron
from web_client import until
from web_sockets import HEAD, LAST, conversations

PASSWORD = "heron lantern cactus"  # noqa: S105


class Quick(WebConnection):
    header_seconds, most, most_of_address = 0.3, 4, 2


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


def test_one_address_does_not_take_all_connections() -> None:
    found = asyncio.run(_served([0.2, LAST], [0.2, LAST], [0.2, LAST]))
    assert sorted(one.split()[1] for one in found) == [b"200", b"200", b"503"]


def test_answers_of_the_protocol_have_the_headers_of_all_others() -> None:
    (answer,) = asyncio.run(_served([b"\x00 no request\r\n\r\n"]))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert all(f"{name}: {value}".encode() in answer for name, value in HEADERS.items())


def test_who_tries_one_name_after_the_other_has_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_user(tmp_path / "users", "ann", PASSWORD)
    now = [0.0]
    monkeypatch.setattr("masktron.web.access.passwords.is_password", lambda given, _: given == PASSWORD)
    keeper = Doorkeeper(tmp_path / "users", clock=lambda: now[0])
    for number in range(25):
        assert keeper.wait_of(f"user{number}", "192.0.2.1") == 0
        assert not keeper.admits(f"user{number}", "wrong", "192.0.2.1")
    assert keeper.wait_of("ann", "192.0.2.1") > 0
    # not even with the right password; elsewhere, and later, it is taken
    assert not keeper.admits("ann", PASSWORD, "192.0.2.1")
    assert keeper.admits("ann", PASSWORD, "192.0.2.2")
    now[0] += 5.0
    assert keeper.admits("ann", PASSWORD, "192.0.2.1")


def test_many_guesses_at_the_same_time_are_no_more_than_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_user(tmp_path / "users", "ann", PASSWORD)
    asked: list[str] = []

    def noted(given: str, _: str) -> bool:
        asked.append(given)
        return False

    monkeypatch.setattr("masktron.web.access.passwords.is_password", noted)
    keeper = Doorkeeper(tmp_path / "users", clock=lambda: 0.0)
    for number in range(30):  # as threads that have all looked at `wait_of` before
        keeper.admits("ann", f"guess {number}")
    assert len(asked) == 5


@pytest.mark.parametrize(
    "password",
    ["Passw0rd!Pass", "qwertyuiop12", "1q2w3e4r5t6y", "abcdefghijkl", "xyzxyzxyzxyz", "987654321098", "!L0vey0u2024"],
)  # fmt: skip
def test_passwords_of_stolen_lists_are_refused(password: str) -> None:
    with pytest.raises(UsageError, match="quickly guessed"):
        require_good("ann", password)


@pytest.mark.parametrize("password", [PASSWORD, "grün und blau 77", "correct horse battery staple", "Tz4.pq-Wm81Xh"])
def test_other_passwords_are_taken(password: str) -> None:
    require_good("ann", password)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    put_before_masktron(tmp_path, monkeypatch)
    return ProjectStore(tmp_path / "projects").make("local", "a survey")


def test_a_run_that_takes_too_long_is_ended_and_says_so(tmp_path: Path, project: Project) -> None:
    queue = RunQueue(ProjectStore(tmp_path / "projects"), limits=RunLimits(seconds=0.6))
    run = queue.start(project, "mask", ["sleep=60"], by="local")
    until(lambda: queue.beat() is not None or run.is_over)
    assert run.state is RunState.ENDED and run.exit_code == 128 + 15
    assert run.error is not None and "too much time" in run.error.what
    queue.leave()


@pytest.mark.skipif(not is_memory_seen(), reason="the system does not say what processes hold")
def test_a_run_that_takes_too_much_memory_is_ended_and_says_so(tmp_path: Path, project: Project) -> None:
    queue = RunQueue(ProjectStore(tmp_path / "projects"), limits=RunLimits(memory=1_000_000))
    run = queue.start(project, "mask", ["sleep=60"], by="local")
    until(lambda: queue.beat() is not None or run.is_over)
    assert run.error is not None and "too much memory: more than 1 MB" in run.error.what
    large = RunQueue(ProjectStore(tmp_path / "projects"), limits=RunLimits(memory=1 << 40))
    fine = large.start(project, "mask", ["sleep=0.7"], by="local")
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


def test_runs_of_users_have_limits_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "ann", PASSWORD)
    alone, several = ServerOptions(tmp_path), ServerOptions(tmp_path, auth=users, jobs=2)
    assert alone.run_limits == RunLimits()
    assert several.run_limits.seconds == 86_400
    assert (several.run_limits.memory > 0) == is_memory_seen()
    assert ServerOptions(tmp_path, auth=users, run_minutes=0, run_memory=0).run_limits == RunLimits()


def test_memory_is_limited_where_it_can_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.web.server.is_memory_seen", lambda: False)
    with pytest.raises(UsageError, match="--run-memory needs Linux"):
        require_safe(ServerOptions(tmp_path, run_memory=1))


def test_there_are_so_many_projects_and_uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.web.store.projects.MOST_PROJECTS", 2)
    store = ProjectStore(tmp_path)
    store.make("ann", "one")
    store.make("ann", "two")
    with pytest.raises(UsageError, match="2 projects already"):
        store.make("ann", "three")
    store.make("bob", "one")
