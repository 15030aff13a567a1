"""Parts of a run: whole or not there, found again after a crash at any step, and for nobody else."""

from __future__ import annotations

import errno
import os
import pickle
import re
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

import executor_tasks as tasks
from masktron.errors import DocumentError, Exit, UsageError
from masktron.executor import run_parts as module
from masktron.executor.run_parts import (
    LeftParts,
    RunParts,
    former_fingerprint,
    left_behind,
    parts_folder,
    read_part,
    write_part,
)
from masktron.executor.which import Serial
from masktron.scratch import create_private, require_room
from paths import ROOT
from refusals import refused

RUN = {"input": "1", "rules": "2", "settings": "3", "version": "4"}


class CrashError(BaseException):
    """The end of a run in the middle."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return parts_folder(tmp_path / "masked.xml")


def slices(folder: Path, number: int = 5) -> list[tuple[str, tuple[str, str, int]]]:
    return [(f"part-{i}", (str(folder), f"part-{i}", i)) for i in range(number)]


def made(parts: RunParts, number: int = 5) -> list[bytes]:
    """Make the parts of a run, and return their bytes in order."""
    with Serial() as executor:
        found = parts.map(executor, tasks.part_of_slice, slices(parts.folder, number), stage="parts")
        return [parts.path(part.name).read_bytes() for part in found]


def expected(number: int = 5) -> list[bytes]:
    return [f"{i}\n".encode() * (i + 1) for i in range(number)]


def computed(tmp_path: Path) -> list[str]:
    """Return what was computed since this was asked last."""
    log = tmp_path / "computed"
    names = log.read_text().split() if log.exists() else []
    log.unlink(missing_ok=True)
    return names


def text(content: bytes) -> Callable[[IO[bytes]], None]:
    def write(stream: IO[bytes]) -> None:
        stream.write(content)

    return write


def test_parts_are_for_their_owner_and_go_with_their_run(folder: Path) -> None:
    before = os.umask(0)
    try:
        with RunParts(folder, RUN) as parts:
            assert made(parts) == expected()
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
            assert parts.names == tuple(f"part-{i}" for i in range(5))
            assert parts.found is None
    finally:
        os.umask(before)
    assert not folder.exists()


def test_a_run_that_fails_is_resumed(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CrashError), RunParts(folder, RUN) as parts:
        made(parts, 3)
        raise CrashError
    assert computed(tmp_path) == ["part-0", "part-1", "part-2"]
    left = LeftParts(folder, 3, sum(path.stat().st_size for path in folder.iterdir()))
    told: list[tuple[int, int]] = []
    with RunParts(folder, RUN, resume=True) as parts, Serial() as executor:
        assert parts.found == left
        found = parts.map(
            executor, tasks.part_of_slice, slices(folder), stage="parts", told=lambda *what: told.append(what)
        )
        assert [part.name for part in found] == [f"part-{i}" for i in range(5)]
        assert made(parts) == expected()
    assert told == [(done, 5) for done in range(1, 6)]
    assert computed(tmp_path) == ["part-3", "part-4"]
    assert not folder.exists()


def test_without_resume_a_run_begins_anew_and_says_what_there_was(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CrashError), RunParts(folder, RUN) as parts:
        made(parts, 3)
        raise CrashError
    with RunParts(folder, {**RUN, "rules": "other"}) as parts:
        assert parts.found is not None
        assert "3 finished parts" in str(parts.found)
        assert parts.names == ()
        computed(tmp_path)
        assert made(parts) == expected()
    assert len(computed(tmp_path)) == 5


class _Planted:
    """What runs code where it is loaded."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.marker),)


def test_parts_that_somebody_else_made_are_not_gone_on_from(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts are pickles. Whoever sends a folder may send parts and a journal, but does not know the user's secret."""
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(module, "_own_secret", lambda: b"of another user")
        with pytest.raises(CrashError), RunParts(folder, RUN) as parts:
            parts.enter(write_part(folder, "part-0", text(pickle.dumps(_Planted(tmp_path / "ran")))))
            raise CrashError
    assert former_fingerprint(folder) is None
    with RunParts(folder, RUN, resume=True) as parts:
        assert parts.names == ()
        assert made(parts) == expected()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("line", [b"[" * 100_000, b"{}", b'{"signature": 1}', b'{"signature": "\xc3\xa9"}', b"7"])
def test_a_journal_that_no_run_wrote_is_none(folder: Path, line: bytes) -> None:
    folder.mkdir(mode=0o700)
    os.close(create_private(folder / "journal"))
    (folder / "journal").write_bytes(line + b"\n")
    assert former_fingerprint(folder) is None


def test_a_secret_that_others_can_read_signs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    own_secret = module._own_secret.__wrapped__
    kept = own_secret()
    place = tmp_path / "masktron" / "parts.secret"
    assert (own_secret(), place.read_bytes()) == (kept, kept)
    place.chmod(0o644)
    assert own_secret() != kept


def test_a_journal_is_signed_where_no_home_can_be_written_to(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run in units works in a container without a home; another process cannot go on from it."""
    (tmp_path / "home").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(module, "_own_secret", cache(module._own_secret.__wrapped__))
    with pytest.raises(CrashError), RunParts(folder, RUN) as parts:
        made(parts, 1)
        raise CrashError
    assert former_fingerprint(folder) is not None
    module._own_secret.cache_clear()
    assert former_fingerprint(folder) is None


def test_nothing_done_leaves_nothing(folder: Path) -> None:
    with pytest.raises(CrashError), RunParts(folder, RUN):
        raise CrashError
    assert not folder.exists()


@pytest.mark.parametrize("name", sorted(RUN))
def test_resume_is_refused_where_something_changed(folder: Path, name: str) -> None:
    with pytest.raises(CrashError), RunParts(folder, RUN) as parts:
        made(parts, 1)
        raise CrashError
    with refused(UsageError, "cannot-resume") as caught:
        RunParts(folder, {**RUN, name: "other"}, resume=True)
    assert caught.value.exit_code is Exit.USAGE
    with RunParts(folder, RUN, resume=True) as parts:  # what was refused has removed nothing, and holds no lock
        assert parts.names == ("part-0",)


def test_two_runs_on_one_output(folder: Path, tmp_path: Path) -> None:
    with RunParts(folder, RUN) as parts:
        with refused(UsageError, "parts-taken"):
            RunParts(folder, RUN, resume=True)
        assert made(parts) == expected()


@pytest.mark.parametrize("change", [b"", b"0", b"1\n", b"0\n0\n"])
def test_a_part_that_is_not_what_was_entered_is_made_again(folder: Path, tmp_path: Path, change: bytes) -> None:
    with pytest.raises(CrashError), RunParts(folder, RUN) as parts:
        made(parts)
        raise CrashError
    computed(tmp_path)
    (folder / "part-0").write_bytes(change)
    (folder / "part-3").unlink()
    with RunParts(folder, RUN, resume=True) as parts:
        assert made(parts) == expected()
    assert computed(tmp_path) == ["part-0", "part-3"]


def test_the_journal_is_read_as_far_as_it_is_whole(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CrashError), RunParts(folder, RUN) as parts:
        made(parts, 3)
        raise CrashError
    whole = (folder / "journal").read_bytes()
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)
    begins = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for cut in {*range(0, len(whole), 37), *begins}:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept, folder)
        os.truncate(folder / "journal", cut)
        computed(tmp_path)
        with pytest.raises(CrashError), RunParts(folder, RUN, resume=True) as parts:
            assert len(parts.names) == max(0, sum(begin <= cut for begin in begins) - 1)
            assert made(parts, 4) == expected(4)
            raise CrashError
        with RunParts(folder, RUN, resume=True) as parts:  # what was written behind the cut is read, too
            assert len(parts.names) == 4


STEPS = ("create_private", "os.fsync", "Path.replace", "_sync", "json.dumps")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("at", range(4))
def test_a_crash_at_any_step(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, at: int
) -> None:
    owner, _, name = step.rpartition(".")
    place = getattr(module, owner) if owner else module
    calls = 0
    usual = getattr(place, name)

    def crashing(*given: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls > at:
            raise CrashError
        return usual(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(place, name, crashing)
        with pytest.raises(CrashError), RunParts(folder, RUN) as parts:
            made(parts)
    with RunParts(folder, RUN, resume=True) as parts:
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        assert made(parts) == expected()
    assert not folder.exists()


def test_a_run_that_is_killed_is_resumed(folder: Path, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from executor_tasks import part_of_slice\n"
        "from masktron.executor.run_parts import RunParts\n"
        f"folder = Path({str(folder)!r}); parts = RunParts(folder, {RUN!r})\n"
        "parts.enter(part_of_slice((str(folder), 'part-0', 0))); part_of_slice((str(folder), 'part-1', 1))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    search = os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "tests" / "support")])
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": search}, check=False)
    assert done.returncode == -9
    assert computed(tmp_path) == ["part-0", "part-1"]
    with RunParts(folder, RUN, resume=True) as parts:
        assert parts.found is not None
        assert parts.found.parts == 1
        assert made(parts) == expected()
    assert computed(tmp_path) == [f"part-{i}" for i in range(1, 5)]


def test_a_part_may_be_made_twice_but_not_otherwise(folder: Path) -> None:
    with RunParts(folder, RUN) as parts:
        for _ in range(2):
            parts.enter(write_part(folder, "one", text(b"same")))
        assert parts.names == ("one",)
        with refused(DocumentError, "part-changed"):
            parts.enter(write_part(folder, "one", text(b"other")))


def test_a_full_disk_is_one_error_and_leaves_no_half(folder: Path) -> None:
    with RunParts(folder, RUN) as parts:
        parts.enter(write_part(folder, "one", text(b"x")))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
        try:
            with refused(DocumentError, "cannot-write") as caught:
                write_part(folder, "two", text(b"x" * 20_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert caught.value.exit_code is Exit.DOCUMENT
        assert {path.name for path in folder.iterdir()} == {"journal", "one"}


def test_a_full_disk_under_the_journal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunParts(folder, RUN) as parts:
        part = write_part(folder, "one", text(b"x"))
        whole = (folder / "journal").read_bytes()

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with refused(DocumentError, "cannot-write"):
                parts.enter(part)
        assert (folder / "journal").read_bytes() == whole
        assert parts.names == ()
        parts.enter(part)
        assert parts.names == ("one",)


def test_an_error_of_what_is_written_is_not_blamed_on_the_disk(folder: Path) -> None:
    def write(_: IO[bytes]) -> None:
        raise FileNotFoundError(errno.ENOENT, "no such file", "data.csv")

    with RunParts(folder, RUN):
        with pytest.raises(FileNotFoundError):
            write_part(folder, "one", write)
        assert {path.name for path in folder.iterdir()} == {"journal"}


def test_what_is_no_folder_of_parts_is_refused(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("mine")
    folder.symlink_to(elsewhere)
    with refused(DocumentError, "parts-taken") as caught:
        RunParts(folder, RUN)
    assert (elsewhere / "precious").read_text() == "mine"
    assert not re.search("remove|delete", caught.value.hint)
    with refused(DocumentError, "cannot-write"):
        RunParts(tmp_path / "absent" / "folder", RUN)
    with refused(DocumentError, "cannot-write"):
        write_part(tmp_path / "absent", "one", text(b""))


@pytest.mark.parametrize("name", ["../one", "a/b", ".one", "journal", "", "a\0b"])
def test_names_of_parts_are_plain(folder: Path, name: str) -> None:
    with RunParts(folder, RUN) as parts:
        with pytest.raises(ValueError, match="no name of a part"):
            write_part(folder, name, text(b""))
        with pytest.raises(ValueError, match="no name of a part"):
            parts.path(name)


def test_a_function_that_writes_another_part_is_found_out(folder: Path) -> None:
    with RunParts(folder, RUN) as parts, pytest.raises(ValueError, match="a part called part-0 for one"):
        list(parts.map(Serial(), tasks.part_of_slice, [("one", (str(folder), "part-0", 0))], stage="parts"))


def test_a_part_that_changes_within_its_run_is_not_read(folder: Path) -> None:
    with RunParts(folder, RUN) as parts:
        part = write_part(folder, "one", text(b"same"))
        parts.enter(part)
        assert read_part(folder, parts.entered("one")) == b"same"
        for content in (b"some", b"sam", b"same "):
            (folder / "one").write_bytes(content)
            with refused(DocumentError, "part-changed"):
                read_part(folder, part)


def test_a_run_without_parts_removes_what_is_left_at_its_end(folder: Path) -> None:
    with pytest.raises(CrashError), RunParts(folder, RUN) as parts:
        made(parts, 3)
        raise CrashError
    with pytest.raises(CrashError), left_behind(folder) as found:
        assert found is not None
        assert found.parts == 3
        raise CrashError
    with RunParts(folder, RUN, resume=True) as parts:
        assert len(parts.names) == 3
        with refused(UsageError, "parts-taken"), left_behind(folder):
            pass
        write_part(folder, "half", text(b"x"))
    with left_behind(folder) as found:
        assert found is None
    folder.mkdir(mode=0o700)
    (folder / ".writing-0123").touch(mode=0o600)
    with left_behind(folder):
        pass
    assert not folder.exists()
    folder.mkdir(mode=0o700)
    (folder / "precious").write_text("mine")
    with refused(DocumentError, "parts-taken"), left_behind(folder):
        pass
    assert (folder / "precious").read_text() == "mine"


def test_a_run_that_is_killed_while_it_removes_its_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise CrashError

    with monkeypatch.context() as patch, pytest.raises(CrashError), RunParts(folder, RUN) as parts:
        parts.enter(write_part(folder, "one", text(b"x")))
        patch.setattr(shutil, "rmtree", crash)
    (left,) = folder.parent.iterdir()
    assert (left / "one").exists()
    other = folder.with_name(f"{folder.name}.gone-mine")
    other.mkdir()
    with RunParts(folder, RUN):
        assert not left.exists()
    assert [*folder.parent.iterdir()] == [other]


def test_room_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_room(tmp_path / "not" / "yet", 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2_000_000_000))
    require_room(tmp_path, 2_000_000_000)
    with refused(DocumentError, "cannot-write", file="the output"):
        require_room(tmp_path, 3_500_000_000, what="masking")
