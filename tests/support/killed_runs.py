"""Runs of ``masktron mask`` in units of which one process is killed, and what has to hold after that."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from masktron.executor.run_parts import parts_folder
from other_processes import ends
from paths import ROOT

KEY = "00112233445566778899aabbccddeeff" * 2
OLD = b"what was there before"
"""A masked file of a former run."""
_LOADING = 0.4
"""Share of a run on few records in which nothing is done yet: one kill in ten is drawn from all of it."""


@dataclass(frozen=True)
class Kill:
    """What was killed, when, and how the run ended.

    Attributes
    ----------
    kind : str
        ``client`` works, ``watcher`` hears its signals; ``worker``, ``engine``, ``scheduler``.
    after : float
        Seconds from the start.
    stage : str
        What the run said last before that.
    code : int
    said : str
        On standard error, without progress.
    output, manifest : str
        ``old`` or ``new``.
    parts : int
        Entered in the journal.
    """

    kind: str
    after: float
    stage: str
    code: int
    said: str
    output: str
    manifest: str
    parts: int


@dataclass
class Runs:
    """One file that is masked in units, again and again.

    Attributes
    ----------
    folder : Path
    arguments : sequence of str
        Of ``masktron mask``, with full paths, but for the output and the key.
    environment : mapping of str to str
        Besides that of the tests.
    kills : Counter of str
        Of each kind of process so far. The next is of a kind killed least, so that few kills reach all kinds.
    replaces : bool
        Whether files of a former run were put where the output comes.
    """

    folder: Path
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    replaces: bool = False
    seconds: float = 0.0
    digests: tuple[str, str] = ("", "")

    def __post_init__(self) -> None:
        (self.folder / "key").write_text(KEY)
        self.temporary.mkdir()
        self.placed.mkdir()

    @property
    def temporary(self) -> Path:
        """The folder for temporary files of the runs."""
        return self.folder / "tmp"

    @property
    def placed(self) -> Path:
        """The folder of the output."""
        return self.folder / "out"

    @property
    def out(self) -> Path:
        return self.placed / "masked.xml"

    @property
    def manifest(self) -> Path:
        return self.placed / "masked.manifest.json"

    @property
    def kept(self) -> Path:
        """The manifest of the former run, when another one has its place."""
        return self.placed / "masked.manifest.1.json"

    def started(self, *more: str) -> subprocess.Popen[str]:
        (self.folder / "progress").unlink(missing_ok=True)
        search = os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "tests" / "support")])
        command = [sys.executable, "-m", "masktron", "mask", *self.arguments, "-o", str(self.out)]
        return subprocess.Popen(
            [*command, "--secret", str(self.folder / "key"), *more],
            env={
                **os.environ,
                "PYTHONPATH": search,
                "TMPDIR": str(self.temporary),
                "MASKTRON_PROGRESS": str(self.folder / "progress"),
                **self.environment,
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=self.folder,
        )

    def undisturbed(self) -> None:
        """Make the file that all others have to be, and take the time."""
        begun = time.monotonic()
        code, said = _end(self.started())
        assert code == 0, said
        self.seconds = time.monotonic() - begun
        self.digests = self._digests()
        self.nothing_left()

    def before(self) -> None:
        """Put files of a former run where the output comes."""
        self.kept.unlink(missing_ok=True)
        self.out.write_bytes(OLD)
        self.manifest.write_text(json.dumps({"output": {"path": str(self.out), "sha256": ""}, "old": True}))
        self.replaces = True

    def killed(self, draw: random.Random, others: Mapping[str, Sequence[int]], *more: str) -> Kill | None:
        """Kill one process at a random time; None where the run had ended before."""
        loading = 0.0 if draw.random() < 0.1 else _LOADING
        after = draw.uniform(loading * self.seconds, self.seconds)
        before = self._parts()
        begun = time.monotonic()
        process = self.started(*more)
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            pass
        else:
            assert _end(process)[0] == 0
            self.seconds = time.monotonic() - begun
            return None
        running = family(process.pid)
        kinds: dict[str, list[int]] = {name: list(pids) for name, pids in others.items() if pids}
        for pid, kind in running.items():
            kinds.setdefault(kind, []).append(pid)
        fewest = min(self.kills[kind] for kind in kinds)
        kind = draw.choice(sorted(kind for kind in kinds if self.kills[kind] == fewest))
        self.kills[kind] += 1
        after, stage = time.monotonic() - begun, self._stage()
        with suppress(ProcessLookupError):
            os.kill(draw.choice(sorted(kinds[kind])), signal.SIGKILL)
        code, said = _end(process)
        for pid in running:
            assert ends(pid), f"process {pid} ({running[pid]}) goes on"
        found = self._looked_at(kind, after, stage, code, said)
        if "--resume" in more and found.output == "old":
            assert found.parts >= before, "what was finished is lost"
        return found

    def _looked_at(self, kind: str, after: float, stage: str, code: int, said: str) -> Kill:
        assert "Traceback" not in said, said
        if code > 2:
            told = "for --resume" in said or "--resume goes on from there" in said
            # who goes on from parts and is killed before he has looked at them says nothing of them
            assert told == bool(self._parts()) or (stage == "loading" and not told), said
        output = "old" if self.out.read_bytes() == OLD else "new"
        manifest = "old" if "old" in json.loads(self.manifest.read_text()) else "new"
        if output == "new":
            assert self._digests()[0] == self.digests[0]
        if manifest == "new":
            assert self._digests()[1] == self.digests[1]
            assert "old" in json.loads(self.kept.read_text()), "the former manifest is lost"
        parts = self._parts()
        if code == 0:
            assert (output, manifest) == ("new", "new")
            self.nothing_left()
        elif code >= 0:  # a process that watches removes what the one that worked would have removed
            assert list(self.temporary.iterdir()) == []
            assert {path.name for path in self.placed.iterdir()} <= {
                self.out.name,
                self.manifest.name,
                self.kept.name,
                parts_folder(self.out).name,
            }
        return Kill(kind, after, stage, code, said, output, manifest, parts)

    def _parts(self) -> int:
        """Look at the parts that are left, and count those that are entered."""
        folder = parts_folder(self.out)
        if not folder.exists():
            return 0
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} <= {0o600}
        journal = folder / "journal"
        lines = journal.read_bytes().split(b"\n")[1:-1] if journal.exists() else []
        for one in map(json.loads, lines):
            content = (folder / one["name"]).read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (one["size"], one["sha256"])
        return len(lines)

    def gone_on(self, *more: str) -> None:
        """End the run: go on from its parts where there are some, else begin anew; it gives the same file."""
        code, said = _end(self.started("--resume", *more))
        if code == 2 and "[nothing-to-resume]" in said:
            code, said = _end(self.started(*more))
        assert code == 0, said
        assert self._digests() == self.digests
        self.nothing_left()

    def nothing_left(self) -> None:
        """Require that there is the output with its manifest, that of a former run, and nothing else."""
        former = {self.kept.name} if self.replaces else set()
        assert {path.name for path in self.placed.iterdir()} == {self.out.name, self.manifest.name} | former
        assert list(self.temporary.iterdir()) == []

    def _digests(self) -> tuple[str, str]:
        """Return digests of the output, and of the manifest without what a resumed run says of itself."""
        return tuple(hashlib.sha256(path.read_bytes()).hexdigest() for path in (self.out, self.manifest))  # type: ignore[return-value]

    def _stage(self) -> str:
        progress = self.folder / "progress"
        lines = progress.read_text().splitlines() if progress.exists() else []
        return str(json.loads(lines[-1])["stage"]) if lines else "loading"


def _end(process: subprocess.Popen[str], within: float = 300.0) -> tuple[int, str]:
    """Wait for the end of a run; return its exit code and what it said on standard error."""
    try:
        _, said = process.communicate(timeout=within)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, said


def family(first: int) -> dict[int, str]:
    """Return the processes of a run with what they are."""
    parents: dict[int, int] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError, ValueError):
                parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
    found = {first: "watcher"}
    grown = True
    while grown:
        new = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        grown = bool(new)
        found |= {pid: _kind(pid, parents[pid] == first) for pid in new}
    return found


def _kind(pid: int, child: bool) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        command = b""
    if b"masktron.executor." in command:
        return "worker"
    return "client" if child else "engine"


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Give a Dask cluster with TLS, as somebody starts it by hand."""
    running = Cluster(folder)
    try:
        running.start()
        yield running
    finally:
        running.stop()


class Cluster:
    """A scheduler and a nanny of two workers."""

    def __init__(self, folder: Path) -> None:
        from distributed import Security

        self._folder = folder
        folder.mkdir()
        security = Security.temporary()
        self.environment = {
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.0",
            "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true",
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": self._kept("ca", security.tls_ca_file),
        }
        for role in ("scheduler", "worker", "client"):
            prefix = f"DASK_DISTRIBUTED__COMM__TLS__{role.upper()}__"
            self.environment[f"{prefix}CERT"] = self._kept("cert", security.tls_client_cert)
            self.environment[f"{prefix}KEY"] = self._kept("key", security.tls_client_key)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.address = ""
        self._port = 0

    def _kept(self, name: str, text: str) -> str:
        path = self._folder / name
        path.write_text(text)
        path.chmod(0o600)
        return str(path)

    def start(self) -> None:
        """Start it, at the same address each time."""
        file = self._folder / "scheduler.json"
        file.unlink(missing_ok=True)
        self._processes = [
            self._command(
                *("scheduler", "--protocol=tls", "--host=127.0.0.1", f"--port={self._port}"),
                *("--no-dashboard", "--dashboard-address=127.0.0.1:0", "--scheduler-file", str(file)),
            )
        ]
        until = time.monotonic() + 60
        while not self.address or not file.exists():
            assert time.monotonic() < until, "the scheduler does not come up"
            time.sleep(0.1)
            with suppress(FileNotFoundError, ValueError):
                self.address = json.loads(file.read_text())["address"]
        self._port = int(self.address.rpartition(":")[2])
        self._processes.append(
            self._command(
                *("worker", self.address, "--protocol=tls", "--nworkers=2", "--nthreads=1", "--memory-limit=0"),
                *("--no-dashboard", "--death-timeout=60", "--local-directory", str(self._folder)),
            )
        )

    def _command(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        search = os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "tests" / "support")])
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments],
            env={**os.environ, "PYTHONPATH": search, **self.environment},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def processes(self) -> dict[str, list[int]]:
        """Those that can be killed."""
        scheduler, nanny = self._processes
        workers = [pid for pid, kind in family(nanny.pid).items() if _is_dask_worker(pid)]
        return {"scheduler": [scheduler.pid], "worker": workers}

    def mend(self) -> None:
        """Start it anew where its scheduler is gone."""
        if self._processes[0].poll() is not None:
            self.stop()
            self.start()

    def stop(self) -> None:
        families = [pid for process in self._processes for pid in family(process.pid)]
        for pid in families:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._processes:
            process.wait()


def _is_dask_worker(pid: int) -> bool:
    with suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
