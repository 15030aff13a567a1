"""What `mask`, `check` and `assess` write of a large file is the same, byte for byte, whoever has its slices."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import masktron
from cli_runner import write_data, write_rules
from masktron.executor.local_processes import LocalProcesses

KEY = bytes(range(32)).hex()
RECORDS = 60_000
WORKERS = [("local", 1), ("local", 2), ("local", 4), ("dask", 1), ("dask", 2), ("dask", 4)]

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder, draw = tmp_path_factory.mktemp("pair"), random.Random(3)
    rows: list[dict[str, object]] = []
    for at in range(RECORDS):
        a, b = draw.randint(0, 90_000), draw.randint(0, 90_000)
        rows.append({"Id": at, "A": a, "B": b, "T": a + b, "Note": "x" * 250})
    data = write_data(folder / "data.xml", rows)
    assert data.stat().st_size > 2 << 23  # some slices
    return data, write_rules(folder / "rules.sch", "A + B = T", "A >= 0", "not(A > 90000)")


def run(folder: Path, *given: object) -> None:
    command = [sys.executable, "-m", "masktron", *map(str, given)]
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=900)
    assert done.returncode in (0, 1), done.stderr


def outputs(pair: tuple[Path, Path], folder: Path, *way: object) -> list[bytes]:
    """Mask, check the file and one that breaks a rule in a record far behind, assess; return all that was written."""
    data, rules = pair
    (folder / "key").write_text(KEY)
    beside = ("--original", data, "--manifest", "m.manifest.json")
    run(
        *(folder, "mask", data, "--rules", rules, "--out", "m.xml", "--secret", "key", "-k", 3, "--keep-order"),
        *("--role", "Id=untouched", "--role", "Note=untouched", "--json", "mask.json", *way),
    )
    text = (folder / "m.xml").read_text()
    at = text.rindex("<T>")
    (folder / "spoilt.xml").write_text(f"{text[:at]}<T>1{text[at + 3 :]}")
    for name in ("m", "spoilt"):
        run(folder, "check", f"{name}.xml", "--rules", rules, *beside, "--json", f"{name}.json", *way)
    threads = way[way.index("--workers") :][:2] if way else ()
    run(folder, "assess", "m.xml", *beside, "--json", "assess.json", *threads)
    names = ("m.xml", "m.manifest.json", "mask.json", "m.json", "spoilt.json", "assess.json")
    return [(folder / name).read_bytes() for name in names]


@pytest.fixture(scope="module")
def alone(pair: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return outputs(pair, tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize(("executor", "workers"), WORKERS)
def test_the_bytes_are_the_same_from_all(
    pair: tuple[Path, Path], alone: list[bytes], executor: str, workers: int, tmp_path: Path
) -> None:
    if executor == "dask":
        pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    found = outputs(pair, tmp_path, "--executor", executor, "--workers", workers)
    assert [one == other for one, other in zip(found, alone, strict=True)] == [True] * len(alone)
    assert json.loads(found[4])["violations"] == 1


@pytest.mark.parametrize("seed", range(6))
def test_a_worker_that_is_killed_changes_nothing(
    pair: tuple[Path, Path], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it starts, judges or asks Saxon; and Saxon's own process of a worker, too."""
    data, rules = pair
    since = time.monotonic()
    expected = masktron.check(data, rules, workers=2)
    took = time.monotonic() - since
    drawn, over = random.Random(seed), threading.Event()
    executors: list[LocalProcesses] = []
    real = LocalProcesses.__init__

    def watched(self: LocalProcesses, workers: int) -> None:
        real(self, workers)
        executors.append(self)

    monkeypatch.setattr(LocalProcesses, "__init__", watched)

    killed: list[int] = []

    def there() -> list[int]:
        workers = [child.process.pid for child in list(executors[0]._processes)] if executors else []
        return [own for pid in workers for own in children(pid)] if seed % 2 else workers

    def kill() -> None:
        while not there() and not over.wait(0.01):
            pass
        over.wait(drawn.uniform(0, took / 10 if seed % 2 else took / 2))
        for pid in there()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = masktron.check(data, rules, workers=2)
    finally:
        over.set()
        killer.join()
    assert killed
    assert found.as_dict() == expected.as_dict()


def children(pid: int) -> list[int]:
    try:
        return [int(own) for own in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:  # it has ended
        return []
