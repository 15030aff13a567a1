"""The container image: built by a tool at hand, run without root on a read-only file system, and asked for a page."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from paths import ROOT

pytestmark = pytest.mark.full

HOST = "sdc.office.example"
BASES = ("python:3.13-slim", "python:3.12-slim", "masktron-base:trixie")
"""Images with Python that may be here; `MASKTRON_TEST_BASE` names another one."""
DEBIAN = ["mmdebstrap", "--variant=minbase", "--include=python3-venv", "--quiet", "trixie"]
# where limits of processes cannot be raised, and control groups are those of both versions
_BOUNDED = (
    '[containers]\ndefault_ulimits = ["nofile={files}:{files}", "nproc=16384:16384"]\n[engine]\nruntime = "runc"\n'
)


@dataclass(frozen=True)
class Builder:
    """podman or docker, as it works on this machine."""

    command: str
    environment: Mapping[str, str]

    def __call__(self, *arguments: str, given: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [self.command, *arguments], input=given, capture_output=True, text=True, env=self.environment, check=False
        )
        assert not check or done.returncode == 0, f"{self.command} {' '.join(arguments)}: {done.stderr[-2000:]}"
        return done


@pytest.fixture(scope="module")
def base_and_builder(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Builder]:
    """An image with Python, and what runs it; skipped, with the reason, where there is none."""
    command = next((name for name in ("podman", "docker") if shutil.which(name)), None)
    if command is None:
        pytest.skip("neither podman nor docker is here; buildah alone runs nothing on a read-only file system")
    folder = tmp_path_factory.mktemp("builder")
    bounded = folder / "containers.conf"
    bounded.write_text(_BOUNDED.format(files=_most_files()))
    said = []
    for environment in (dict(os.environ), {**os.environ, "CONTAINERS_CONF": str(bounded)}):
        builder = Builder(command, environment)
        base = _base(builder, folder)
        done = builder("run", "--rm", "--network", "none", base, "python3", "--version", check=False)
        if done.returncode == 0:
            return base, builder
        said.append(done.stderr.strip())
    pytest.skip(f"{command} runs no container here: {'; '.join(said)}")


def _most_files() -> int:
    import resource

    return min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 20_000)


def _base(builder: Builder, folder: Path) -> str:
    asked = os.environ.get("MASKTRON_TEST_BASE")
    for name in (asked,) if asked else BASES:
        if builder("image", "inspect", name, check=False).returncode == 0:
            return name
    if asked or shutil.which("mmdebstrap") is None:
        pytest.skip(f"none of the images {asked or ', '.join(BASES)} is here, nor mmdebstrap to make one")
    packed = folder / "base.tar"
    made = subprocess.run([*DEBIAN, str(packed)], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"mmdebstrap makes no base image here: {made.stderr[-500:]}")
    builder("import", str(packed), BASES[-1])
    packed.unlink()
    return BASES[-1]


@pytest.fixture(scope="module")
def image(base_and_builder: tuple[str, Builder]) -> Iterator[str]:
    """The image of this checkout, made as docs/installing.md says; `MASKTRON_TEST_IMAGE` names one that is there."""
    base, builder = base_and_builder
    if (known := os.environ.get("MASKTRON_TEST_IMAGE")) is not None:
        yield known
        return
    told = builder("run", "--rm", "--network", "none", base, "python3", "--version").stdout  # Python 3.13.5
    target = f"linux-{'.'.join(told.split()[1].split('.')[:2])}"
    name = f"masktron:test-{uuid.uuid4().hex[:8]}"
    for asked in (
        ["make", "wheelhouse", f"TARGETS={target}"],
        ["make", "image", f"BUILDER={builder.command}", f"BASE={base}", f"IMAGE={name}"],
    ):
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, env=builder.environment, check=False)
        assert done.returncode == 0, f"{' '.join(asked)}: {done.stdout[-1000:]} {done.stderr[-2000:]}"
    yield name
    builder("image", "rm", "--force", name, check=False)


@pytest.fixture
def volume(base_and_builder: tuple[str, Builder]) -> Iterator[str]:
    _, builder = base_and_builder
    name = f"masktron-test-{uuid.uuid4().hex[:8]}"
    builder("volume", "create", name)
    yield name
    builder("volume", "rm", "--force", name, check=False)


def locked_up(volume: str) -> list[str]:
    """Options of a container that can do as little as the documentation says, and is gone when it ends."""
    bounds = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "all", "--security-opt", "no-new-privileges"]  # noqa: S108
    return ["--rm", *bounds, "--volume", f"{volume}:/data"]


def in_a_shell(run: Builder, image: str, volume: str, script: str, given: str = "") -> str:
    """Return what a script prints in the image, without a network."""
    kept = [*locked_up(volume), "--interactive", "--network", "none", "--entrypoint", "sh"]
    return run("run", *kept, image, "-c", script, given=given).stdout


def test_doctor_finds_all_of_it_at_hand(base_and_builder: tuple[str, Builder], image: str, volume: str) -> None:
    _, run = base_and_builder
    found = json.loads(in_a_shell(run, image, volume, "masktron doctor --json /data/d.json >&2; cat /data/d.json"))
    assert found["works"]
    assert len(found["compiled"]) > 5
    assert all(found["compiled"].values())
    assert all(one["works"] for one in (*found["engines"], *found["features"]))
    assert all(one["reads"] for one in found["formats"])
    assert found["unusable"] == []


WRITES = (
    "for d in / /opt/masktron /usr/bin /etc /root; do touch $d/x && echo $d; done; touch /data/x /tmp/x && echo ok"
)


def test_it_is_nobody_and_writes_nowhere_else(base_and_builder: tuple[str, Builder], image: str, volume: str) -> None:
    _, run = base_and_builder
    assert in_a_shell(run, image, volume, "id -u; id -g").split() == ["10001", "10001"]
    assert in_a_shell(run, image, volume, WRITES).split() == ["ok"]
    assert in_a_shell(run, image, volume, "command -v pip || echo nothing").split() in (
        ["nothing"],
        ["/usr/local/bin/pip"],  # of the base, for no package of masktron
    )


def test_a_file_is_masked_in_it(base_and_builder: tuple[str, Builder], image: str, volume: str) -> None:
    _, run = base_and_builder
    done = run("run", *locked_up(volume), "--network", "none", image, "demo", "--out", "/data/demo")
    assert done.stdout.count("verdict") >= 1


PROXY = """
import http.server, os, urllib.error, urllib.request

class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urllib.request.Request("http://127.0.0.1:8600" + self.path)
        asked.add_header("Host", self.headers["Host"])
        asked.add_header("X-Remote-User", os.environ["NAMED"])
        try:
            answer = urllib.request.urlopen(asked)
        except urllib.error.HTTPError as error:
            answer = error
        self.send_response(answer.status)
        self.end_headers()
        self.wfile.write(answer.read())

http.server.HTTPServer(("0.0.0.0", 8080), Proxy).serve_forever()
"""
"""A proxy in a container of its own that shares the network of masktron's; TLS would be its matter."""
PROXY_ACCOUNT = 10_002


@contextmanager
def served(run: Builder, image: str, volume: str, port: int) -> Iterator[str]:
    """`masktron web` as the image starts it by default; `port` is that of the proxy."""
    name = f"masktron-web-{uuid.uuid4().hex[:8]}"
    asked = ["--detach", "--name", name, *locked_up(volume)[1:], "--publish", f"127.0.0.1:{port}:8080"]
    told = {"HOST_NAMES": HOST, "PROXY_HEADER": "X-Remote-User: ann", "PROXY_ACCOUNT": PROXY_ACCOUNT}
    run("run", *asked, *(f"--env=MASKTRON_{one}={value}" for one, value in told.items()), image)
    try:
        yield name
    finally:
        run("rm", "--force", name, check=False)


@contextmanager
def proxied(run: Builder, image: str, web: str, *, account: int, named: str) -> Iterator[None]:
    """A proxy in front of it, of an account, that gives everybody one name."""
    name = f"{web}-proxy"
    asked = ["--detach", "--name", name, "--network", f"container:{web}", "--user", str(account)]
    run("run", *asked, "--env", f"NAMED={named}", "--entrypoint", "/opt/masktron/bin/python3", image, "-c", PROXY)
    try:
        yield
    finally:
        run("rm", "--force", name, check=False)


def asked_for(port: int, host: str) -> tuple[int, str]:
    """Return status and text of the list of projects, as soon as somebody answers."""
    until = time.monotonic() + 120
    while True:
        asking = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            asking.request("GET", "/", headers={"Host": host})
            answer = asking.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < until, "nothing answers"
            time.sleep(0.1)
        finally:
            asking.close()


def test_web_answers_the_proxy_alone(base_and_builder: tuple[str, Builder], image: str, volume: str) -> None:
    _, run = base_and_builder
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with served(run, image, volume, port) as name:
        with proxied(run, image, name, account=PROXY_ACCOUNT, named="ann"):
            status, text = asked_for(port, HOST)
            assert (status, "Projects" in text) == (200, True), run("logs", name, check=False).stderr
            assert asked_for(port, "evil.example") == (421, "This server is not known by this name.")
        with proxied(run, image, name, account=PROXY_ACCOUNT, named="bob"):
            assert asked_for(port, HOST)[0] == 403
        with proxied(run, image, name, account=PROXY_ACCOUNT + 1, named="ann"):
            assert asked_for(port, HOST)[1].startswith("This server is for the user of this machine")
        found = json.loads(run("inspect", name).stdout)[0]
        assert found["HostConfig"]["ReadonlyRootfs"]
