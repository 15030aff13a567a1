"""The server as a process: what it prints, who reaches it, uploads that lie, and what outlives it."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cli_runner import Runner
from masktron.web.runs.one_run import RunState, prepared_run
from masktron.web.store.projects import ProjectStore
from other_processes import lives
from quick_masktron import put_before_masktron
from refusals import code_of
from web_client import Served, served, until


class Browser:
    """Asks a server by a socket, with a cookie."""

    def __init__(self, server: Served) -> None:
        self.port = server.port
        where = urlsplit(server.opened)
        answer = self.get(f"{where.path}?{where.query}")
        self.cookie = answer[1]["set-cookie"].partition(";")[0]
        self.first = where.path

    def get(self, path: str) -> tuple[int, dict[str, str], str]:
        return self._asked("GET", path, None, {})

    def post(self, path: str, **fields: str) -> tuple[int, dict[str, str], str]:
        token = self.token(path if path != "/" else "/")
        body = "&".join(f"{name}={value}" for name, value in {"csrf": token, **fields}.items())
        return self._asked("POST", path, body, {"content-type": "application/x-www-form-urlencoded"})

    def token(self, path: str) -> str:
        found = re.search(r'name="csrf" value="(\w+)"', self.get(path)[2])
        assert found is not None
        return found[1]

    def _asked(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], str]:
        asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        cookie = {"cookie": self.cookie} if hasattr(self, "cookie") else {}
        origin = {"origin": f"http://127.0.0.1:{self.port}"}
        asking.request(method, path, body, {**headers, **cookie, **origin})
        answer = asking.getresponse()
        text = answer.read().decode()
        asking.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def raw(self, head: str, body: bytes, *, ended: bool = True) -> bytes:
        """Send bytes as they are, and return what comes back until the server ends the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as talking:
            own = f"host: 127.0.0.1:{self.port}\r\ncookie: {self.cookie}\r\norigin: http://127.0.0.1:{self.port}\r\n"
            talking.sendall(head.encode() + own.encode() + b"\r\n" + body)
            if ended:
                talking.shutdown(socket.SHUT_WR)
            found = b""
            while piece := talking.recv(1 << 16):
                found += piece
            return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("web") / "projects", "--max-upload", 1) as found:
        yield found


@pytest.fixture(scope="module")
def browser(server: Served) -> Browser:
    return Browser(server)


def test_it_opens_on_the_sample_and_prints_its_address(server: Served, browser: Browser) -> None:
    assert re.fullmatch(
        r"http://127\.0\.0\.1:\d+/projects/[0-9a-f]{16}\?token=[\w-]{43}\n",
        server.said.removeprefix("masktron web: "),
    )
    status, _, text = browser.get(browser.first)
    assert (status, "Sample: a household survey" in text) == (200, True)
    assert "server" not in browser.get("/")[1]


def test_it_listens_on_this_machine_alone(server: Served) -> None:
    with socket.socket() as asking:
        asking.connect(("127.0.0.1", server.port))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as looking:
        try:
            looking.connect(("192.0.2.1", 9))  # nothing is sent; it tells which address we have
        except OSError:
            pytest.skip("this machine has no address but its own")
        own = looking.getsockname()[0]
    with socket.socket() as asking:
        assert own.startswith("127.") or asking.connect_ex((own, server.port)) != 0


def upload(browser: Browser, content: bytes, length: int | None, *, ended: bool = True) -> bytes:
    token = browser.token(f"{browser.first}/data")
    body = (
        f'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{token}\r\n'
        '--b\r\nContent-Disposition: form-data; name="file"; filename="lies.csv"\r\n\r\n'
    ).encode() + content + b"\r\n--b--\r\n"  # fmt: skip
    said = len(body) if length is None else length
    head = (
        f"POST {browser.first}/data/upload HTTP/1.1\r\ncontent-type: multipart/form-data; boundary=b\r\n"
        f"content-length: {said}\r\nconnection: close\r\n"
    )
    return browser.raw(head, body, ended=ended)


def files_of(server: Served) -> set[str]:
    (project,) = ProjectStore(server.log.with_name("projects")).newest()
    return {one.name for one in project.files.iterdir()}


def test_uploads_that_lie_about_their_size_leave_nothing(server: Served, browser: Browser) -> None:
    before = files_of(server)
    # less than it is: the file is cut in the middle
    assert b" 400 " in upload(browser, b"A\n" * 2000, 1500, ended=False).split(b"\r\n")[0]
    # more than it is: the rest never comes
    upload(browser, b"A\n" * 2000, 100_000)
    # more than may be, by its own word and in fact
    assert b" 413 " in upload(browser, b"A\n" * 600_000, 1_200_200, ended=False).split(b"\r\n")[0]
    assert b" 413 " in upload(browser, b"A" * 1_030_000, None, ended=False).split(b"\r\n")[0]
    until(lambda: files_of(server) == before)
    assert b" 303 " in upload(browser, b"A\n" * 400_000, None, ended=False).split(b"\r\n")[0]
    assert files_of(server) - before == {"lies.csv"}


def test_a_stranger_learns_nothing(server: Served) -> None:
    asking = http.client.HTTPConnection("127.0.0.1", server.port)
    for path in ("/", "/static/web.css", "/projects/"):
        asking.request("GET", path)
        answer = asking.getresponse()
        assert (answer.status, b"Run masktron web again" in answer.read()) == (403, True)
    asking.close()


@pytest.mark.full
def test_runs_outlive_the_server_and_another_one_shows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_before_masktron(tmp_path, monkeypatch)
    # of the server itself, `python -m masktron` would be the quick command
    monkeypatch.setattr(
        "web_client.WEB", [sys.executable, "-P", "-c", "from masktron.commands.line import main; main()", "web"]
    )
    projects = tmp_path / "projects"
    project = ProjectStore(projects).make_sample()
    working, waiting = (prepared_run(project, "mask", ["wait=go", "late"]) for _ in range(2))
    with served(projects) as first:
        browser = Browser(first)
        until(lambda: working.state is RunState.RUNNING and bool(working.stages))
        pid = working.pid
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(10)
    assert pid is not None and lives(pid)
    with served(projects, port=first.port):
        # the page of before is reloaded, with the cookie of before
        status, _, text = browser.get(f"{browser.first}/runs/{working.name}")
        assert (status, "The run works" in text, "25 %" in text) == (200, True, True)
        assert "waits for its turn" in browser.get(f"{browser.first}/runs/{waiting.name}")[2]
        (project.folder / "go").touch()
        until(lambda: working.is_over and waiting.is_over)
        assert (working.exit_code, waiting.exit_code) == (0, 0)
        assert "late" in browser.get(f"{browser.first}/runs/{waiting.name}")[2]


def test_ctrl_c_ends_it_with_a_word_even_while_an_upload_is_under_way(tmp_path: Path) -> None:
    with served(tmp_path / "projects") as found:
        browser = Browser(found)
        with socket.create_connection(("127.0.0.1", found.port), timeout=20) as talking:
            talking.sendall(
                f"POST {browser.first}/data/upload HTTP/1.1\r\nhost: 127.0.0.1:{found.port}\r\n"
                f"cookie: {browser.cookie}\r\norigin: http://127.0.0.1:{found.port}\r\n"
                "content-type: multipart/form-data; boundary=b\r\ncontent-length: 9000\r\n\r\n--b\r\n".encode()
            )
            time.sleep(0.3)  # until it is read
            found.process.send_signal(signal.SIGINT)
            # longer than other commands may take to end
            assert found.process.wait(20) == 0
        assert found.process.stdout is not None
        assert found.process.stdout.read().splitlines()[-1] == "ended"
    assert "Traceback" not in found.log.read_text()


def test_two_servers_do_not_share_a_port(server: Served, tmp_path: Path, run: Runner) -> None:
    outcome = run("web", "--no-browser", "--projects", tmp_path / "x", "--port", server.port)
    outcome.refuses(2, "address-taken")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--behind-proxy",), "needs-setting"), (("--port", "70000"), "bad-value"),
        (("--max-upload", "0"), "bad-value"),
    ],
)  # fmt: skip
def test_bad_options_are_refused(tmp_path: Path, run: Runner, arguments: tuple[str, ...], code: str) -> None:
    outcome = run("web", "--no-browser", "--projects", tmp_path / "projects", *arguments)
    assert (outcome.code, code_of(outcome.err)) == (2, code)
    assert not (tmp_path / "projects").exists()


def test_a_slow_page_is_no_reason_to_wait(server: Served, browser: Browser) -> None:
    """Somebody who sends a form byte by byte holds up nobody else."""
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n")
        began = time.monotonic()
        assert browser.get(browser.first)[0] == 200
        assert time.monotonic() - began < 5


def test_a_second_command_opens_the_server_that_runs(tmp_path: Path, run: Runner) -> None:
    """The browser was closed, and its cookie has gone with it."""
    projects = tmp_path / "projects"
    page = projects / "open.html"
    with served(projects) as found:
        first, printed = Browser(found), found.said
        used = re.findall(r"http://\S+", printed)[0]
        again = run("web", "--no-browser", "--projects", projects)
        address = found.opened
        assert (again.code, again.out) == (0, f"masktron web is running: {address}\n")
        assert address.startswith(f"{found.address}/?token=") and address.partition("?")[2] != used.partition("?")[2]
        assert page.stat().st_mode & 0o777 == 0o600
        second = Browser(found)
        assert second.get("/")[0] == first.get("/")[0] == 200
        assert run("web", "--no-browser", "--projects", projects).out != again.out  # each opens one browser
        page.chmod(0o644)
        refused = run("web", "--no-browser", "--projects", projects)
        refused.refuses(2, "projects-folder-unusable")
    assert not page.exists()


def test_a_page_of_a_server_that_was_killed_leads_nowhere(tmp_path: Path, run: Runner) -> None:
    projects = tmp_path / "projects"
    with served(projects) as found:
        found.process.kill()
        found.process.wait(10)
    assert (projects / "open.html").exists()
    proxy = ("--behind-proxy", "--proxy-header", "X-User: ann", "--proxy-account", os.geteuid())
    with served(projects, *proxy):
        refused = run("web", "--no-browser", "--projects", projects)
        refused.refuses(2, "projects-folder-unusable")
