"""The container image: built by a tool at hand, run without root on a read-only file system, and asked for a page."""

from __future__ import annotations

import datetime
import http.client
import ipaddress
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

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


def _certificate() -> tuple[str, str]:
    """Return a certificate for the host, signed by itself, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(HOST), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            False,
        )
        .sign(key, hashes.SHA256())
    )
    own = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM).decode(), own.decode()


@contextmanager
def served(run: Builder, image: str, volume: str, port: int) -> Iterator[str]:
    """`masktron web` as the image starts it by default."""
    name = f"masktron-web-{uuid.uuid4().hex[:8]}"
    asked = ["--detach", "--name", name, *locked_up(volume)[1:], "--publish", f"127.0.0.1:{port}:8600"]
    run("run", *asked, "--env", f"MASKTRON_HOST_NAMES={HOST} {HOST}:{port}", image)
    try:
        yield name
    finally:
        run("rm", "--force", name, check=False)


def asked_for(port: int, host: str, certificate: str, path: str = "/") -> tuple[int, str] | None:
    """Return status and text of a page, and of the one that it leads to; None where nothing answers yet."""
    context = ssl.create_default_context(cadata=certificate)
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=20) as plain,
            context.wrap_socket(plain, server_hostname=HOST) as wrapped,
        ):
            asking = http.client.HTTPConnection("127.0.0.1", port)
            asking.sock = wrapped
            asking.request("GET", path, headers={"Host": host})
            answer = asking.getresponse()
            text, leads = answer.read().decode(), answer.headers["location"]
            return asked_for(port, host, certificate, leads) if answer.status == 303 else (answer.status, text)
    except (OSError, http.client.HTTPException):
        return None


def test_web_answers_by_its_name_alone(base_and_builder: tuple[str, Builder], image: str, volume: str) -> None:
    _, run = base_and_builder
    certificate, key = _certificate()
    for file, content in (("cert.pem", certificate), ("key.pem", key)):
        in_a_shell(run, image, volume, f"umask 077; cat > /data/{file}", content)
    in_a_shell(
        run, image, volume, "masktron web --auth /data/users --add-user ann", "heron pencil Tuesday basalt 41\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with served(run, image, volume, port) as name:
        until = time.monotonic() + 120
        while (found := asked_for(port, f"{HOST}:8600", certificate)) is None and time.monotonic() < until:
            time.sleep(0.1)
        assert found is not None, run("logs", name, check=False).stderr
        for page in (found, asked_for(port, f"{HOST}:{port}", certificate)):  # the second one as browsers ask
            assert page is not None
            assert page[0] == 200, page
            assert 'name="password"' in page[1]
        assert asked_for(port, "evil.example:8600", certificate) == (421, "This server is not known by this name.")
        status = json.loads(run("inspect", name).stdout)[0]
        assert status["HostConfig"]["ReadonlyRootfs"]
