"""Runs in units of which a process is killed: nothing half-written, nothing lost, and the same bytes in the end."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from cli_runner import write_data, write_rules
from killed_runs import KEY, Cluster, Kill, Runs, cluster, family
from masktron.config import Config
from masktron.executor.run_parts import RunParts, parts_folder
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from masktron.stopping import Stopped, stoppable
from other_processes import ends
from paths import RULES, SAMPLES
from sample_settings import write_untreated

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
HOUSEHOLD = ("--invalid", "exclude", "--unit-records", "400")


def made(folder: Path, records: int) -> tuple[Path, Path]:
    draw = random.Random(5)
    rows: list[dict[str, object]] = []
    for _ in range(records):
        a, b = draw.randint(0, 600), draw.randint(0, 200)
        rows.append({"A": a, "B": b, "T": a + b, "C": draw.randint(0, 50)})
    return write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", "A + B = T", "A >= 0")


@pytest.mark.parametrize("seed", range(1))
def test_a_client_that_is_killed(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with the supervisor that is killed, at a random number of parts, and its parts are gone on from."""
    data, rules = made(tmp_path, 240)
    runs = Runs(tmp_path, [str(data), "-r", str(rules), "-k", "3", "--unit-records", "70", "--workers", "1"])
    config = Config(k=3, secret=bytes.fromhex(KEY), unit_records=70, workers=1)
    entered, usual = list[str](), RunParts.enter
    monkeypatch.setattr(RunParts, "enter", lambda own, part: (entered.append(part.name), usual(own, part))[1])
    run_mask(MaskRequest(data, rules, tmp_path / "undisturbed.xml", config=config))
    total = len(entered)
    journal = parts_folder(runs.out) / "journal"
    wanted = random.Random(seed).randrange(1, 12)
    with runs.started() as process:
        until = time.monotonic() + 60
        while not journal.exists() or journal.read_bytes().count(b"\n") <= wanted:
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.005)
        processes = family(process.pid)
        os.kill(process.pid, signal.SIGKILL)
    assert all(map(ends, processes))
    assert sorted(processes.values())[:1] == ["client"]
    done = journal.read_bytes().count(b"\n") - 1
    assert wanted <= done < total
    assert not runs.out.exists()
    entered.clear()
    run_mask(MaskRequest(data, rules, runs.out, config=replace(config, unit_records=None), resume=True))
    assert runs.out.read_bytes() == (tmp_path / "undisturbed.xml").read_bytes()
    assert len(entered) == total - done, "what was finished is taken"
    runs.nothing_left()


def test_parts_are_named_however_early_a_run_that_goes_on_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    data, rules = made(tmp_path, 20)
    out = tmp_path / "masked.xml"
    folder = parts_folder(out)
    folder.mkdir(0o700)
    (folder / "journal").write_text("run\npart\n")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("masktron.jobs.mask.open_original", interrupted)
    with pytest.raises(Stopped), stoppable():
        run_mask(MaskRequest(data, rules, out, config=Config(k=3, secret=bytes.fromhex(KEY)), resume=True))
    assert f"finished parts of the run stay in {folder} for --resume" in capfd.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize(
    ("data", "how", "kills"),
    [
        *(("made", "local", 16), ("made", "dask", 8), ("made", "cluster", 16)),
        *(("household", "local", 5), ("household", "cluster", 5)),
    ],
)
def test_random_kills(data: str, how: str, kills: int, tmp_path: Path) -> None:
    if how != "local":
        pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    if data == "made":
        file, rules = made(tmp_path, 1000)
        arguments = [str(file), "-r", str(rules), "-k", "3", "--unit-records", "100", "--workers", "2"]
    else:
        settings = write_untreated("household", tmp_path / "household.toml")
        arguments = [str(SAMPLES / "household.xml"), "-r", str(RULES / "household.sch"), "--config", str(settings)]
        arguments += [*HOUSEHOLD, "--workers", "2"]
    with ExitStack() as stack:
        running = stack.enter_context(cluster(tmp_path / "cluster")) if how == "cluster" else None
        arguments += [] if how == "local" else ["--executor", "dask"]
        arguments += [] if running is None else ["--scheduler", running.address]
        (tmp_path / "runs").mkdir()
        runs = Runs(tmp_path / "runs", arguments, {} if running is None else running.environment)
        runs.undisturbed()
        draw, found = random.Random(f"{data} {how}"), list[Kill]()
        while len(found) < kills:
            found += _killed(runs, running, draw)
    for kill in found:
        print(kill)  # pytest shows it where something fails
        if kill.kind == "worker":
            assert kill.code == 0, "a lost worker costs its slice only"
        if kill.code in (2, 6):
            assert "error: " in kill.said
    assert {kill.kind for kill in found} >= {"client", "watcher"}


def _killed(runs: Runs, running: Cluster | None, draw: random.Random) -> list[Kill]:
    """Kill a process, perhaps one of the run that goes on from that, and go on to the end."""
    runs.before()
    found: list[Kill] = []
    for more in ((), ("--resume",)):
        if running is not None:
            running.mend()
        kill = runs.killed(draw, {} if running is None else running.processes, *more)
        found += [] if kill is None else [kill]
        if kill is None or not kill.parts or draw.random() < 0.7:
            break
    if running is not None:
        running.mend()
    if found and found[-1].code:
        runs.gone_on()
    return found
