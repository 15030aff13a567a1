"""What pages keep in memory of files: never what has changed."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from masktron.web.runs.one_run import InRun, RunState, latest_run, runs_of
from masktron.web.store import disk, kept_files
from masktron.web.store.disk import digest_of, read_plain
from masktron.web.store.kept_files import kept_by_stamp
from masktron.web.store.projects import Project
from web_client import made_office
from web_runs import laid_run

LONG_AGO = -(10**18)
TICK = 0.03
"""Seconds that are more than a tick of the clock of any file system here."""


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were written just now count as if they were older."""
    monkeypatch.setattr(kept_files, "_SETTLED", LONG_AGO)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return made_office(tmp_path).store.make("a survey")


class Reading:
    """Reads files, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, path: str) -> str:
        self.times += 1
        return Path(path).read_text()


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("two")
    other.replace(path)


def written_in_place(path: Path) -> None:
    path.write_text("two")


def made_anew(path: Path) -> None:
    path.unlink()
    path.write_text("two")


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("change", [replaced, written_in_place, made_anew])
def test_a_change_is_seen_also_where_size_and_time_are_set_back(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = tmp_path / "a"
    kept = kept_by_stamp(Reading(), files=9)
    path.write_text("one")
    before = path.stat()
    assert kept(path) == "one"
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # until the clock of the file system has gone on
        change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size and path.stat().st_mtime_ns == before.st_mtime_ns
    assert kept(path) == "two"


def test_what_was_written_just_now_is_not_kept(tmp_path: Path) -> None:
    reading = Reading()
    kept = kept_by_stamp(reading, files=9)
    for number in range(50):  # several of them within one tick of the clock
        (tmp_path / "a").write_text(f"{number:03}")
        assert kept(tmp_path / "a") == f"{number:03}"
    assert reading.times == 50


@pytest.mark.usefixtures("settled")
def test_what_is_gone_is_gone(tmp_path: Path) -> None:
    kept = kept_by_stamp(Reading(), files=9)
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a").write_text("one")
    assert kept(tmp_path / "f" / "a") == "one"
    shutil.rmtree(tmp_path / "f")
    assert kept(tmp_path / "f" / "a") is None
    (tmp_path / "f").write_text("")
    assert kept(tmp_path / "f" / "a") is None


@pytest.mark.usefixtures("settled")
def test_errors_are_no_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("[1]")
    for _ in range(2):
        with pytest.raises(TypeError):
            read_plain(tmp_path / "a")
    (tmp_path / "b").write_text('{"a": 1}')
    found = read_plain(tmp_path / "b")
    assert found is not None
    with pytest.raises(TypeError):
        found["a"] = 2  # type: ignore[index]
    assert digest_of(tmp_path / "none") is None and digest_of(tmp_path / "a") != digest_of(tmp_path / "b")


@pytest.mark.usefixtures("settled")
def test_records_of_runs_that_have_ended_are_read_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        laid_run(project, "mask", ["mask"], {"mask.json": {"job": "mask"}})
    read: list[bytes] = []
    made = disk._table
    monkeypatch.setattr(disk, "_table", lambda content: read.append(content) or made(content))

    def looked() -> list[Any]:
        return [
            (run.state, run.exit_code, run.command["arguments"], run.result("mask.json")) for run in runs_of(project)
        ]

    first = looked()
    assert len(read) == 10 and len(first) == 5
    assert looked() == first and len(read) == 10


@pytest.mark.usefixtures("settled")
def test_a_run_under_way_is_never_kept(project: Project) -> None:
    (project.files / "a.csv").write_text("A\n1\n")
    assert runs_of(project) == []
    time.sleep(TICK)
    run = laid_run(project, "mask", ["mask", InRun("rules.sch")])
    exit_code = (run.folder / "exit.json").read_bytes()
    (run.folder / "exit.json").unlink()
    assert latest_run(project, "mask") == run
    assert run.state is RunState.LOST  # nobody holds its lock
    (run.folder / "process.json").unlink()
    assert run.state is RunState.WAITING and not run.is_over
    (run.folder / "exit.json").write_bytes(exit_code)
    assert run.state is RunState.ENDED and run.is_over
    run.cancel()
    assert run.state is RunState.ENDED  # it had ended
    (run.folder / "exit.json").write_text(json.dumps({**json.loads(exit_code), "code": 143}))
    assert run.state is RunState.CANCELLED
    time.sleep(TICK)
    shutil.rmtree(run.folder)
    assert runs_of(project) == []
    time.sleep(TICK)
    other = laid_run(project, "mask", ["other"])
    assert other.name == run.name and other.command["arguments"] == ["other"]


@pytest.mark.usefixtures("settled")
def test_a_run_appears_when_its_command_is_there(project: Project) -> None:
    (project.runs / "0001-mask").mkdir()
    assert runs_of(project) == []
    (project.runs / "0001-mask" / "command.json").write_text('{"arguments": []}')
    assert [run.name for run in runs_of(project)] == ["0001-mask"]


def test_nothing_is_kept_of_a_large_file(tmp_path: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_files, "_MOST", 3)
    path, reading = tmp_path / "f", Reading()
    path.write_text("four")
    of = kept_by_stamp(reading, files=8)
    assert (of(path), of(path), reading.times) == ("four", "four", 2)


def test_nothing_is_kept_of_a_file_that_may_change_unseen(tmp_path: Path) -> None:
    path, reading = tmp_path / "f", Reading()
    path.write_text("one")
    of = kept_by_stamp(reading, files=8)
    assert (of(path), of(path), reading.times) == ("one", "one", 2)
