"""Output is whole or not there, whatever happens while it is written."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import refusals
from cli_runner import Runner, numbers, write_data, write_rules
from masktron import scratch
from masktron.addresses import AddressPath, path_of
from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Place
from masktron.scratch import private_folder, remove_abandoned
from masktron.write import atomic
from masktron.write.atomic import atomic_path, publishing
from masktron.write.publication import publication, publications, settle_publication
from refusals import code_of, refused


def _files(folder):
    return sorted(p.name for p in folder.iterdir())


def test_success_replaces_the_target(tmp_path):
    target = tmp_path / "out.xml"
    target.write_text("old")
    with atomic_path(target) as path:
        assert path.parent == tmp_path
        path.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert _files(tmp_path) == ["out.xml"]


def test_a_released_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    with atomic_path(tmp_path / "out.xml", released=True) as path:
        assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out.xml").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit, ValueError, MemoryError, FileNotFoundError])
@pytest.mark.parametrize("old", [None, "old"])
def test_any_exception_leaves_things_as_they_were(problem, old, tmp_path):
    target = tmp_path / "out.xml"
    if old:
        target.write_text(old)
    with pytest.raises(problem), atomic_path(target) as path:
        path.write_text("half")
        raise problem
    assert _files(tmp_path) == (["out.xml"] if old else [])
    assert not old or target.read_text() == old


def test_an_error_names_the_output_and_not_what_it_was_written_to(tmp_path):
    target = tmp_path / "o.sav"
    with pytest.raises(UsageError) as caught, atomic_path(target) as part:
        raise UsageError.of("empty-file", Place(str(part), 3))
    assert caught.value.where == f"{target}:3"
    assert str(part) not in str(caught.value)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_full_disk(code, tmp_path):
    with (
        refused(DocumentError, "cannot-write") as caught,
        atomic_path(tmp_path / "out.xml") as path,
    ):
        path.write_text("half")
        raise OSError(code, os.strerror(code))
    assert caught.value.where == str(tmp_path / "out.xml")
    assert _files(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_really_full_device(tmp_path):
    with (
        refused(DocumentError, "cannot-write"),
        atomic_path(tmp_path / "out.xml"),
        Path("/dev/full").open("w") as stream,
    ):
        stream.write("x")
    assert _files(tmp_path) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_trouble_at_the_end(step, tmp_path, monkeypatch):
    def fail(*_arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    target = tmp_path / "out.xml"
    if step == "fsync":
        monkeypatch.setattr(atomic.os, "fsync", fail)
    else:
        monkeypatch.setattr(atomic.Path, "replace", fail)
    with refused(DocumentError, "cannot-write"), atomic_path(target) as path:
        path.write_text("whole")
    monkeypatch.undo()
    assert _files(tmp_path) == []


def test_folder_that_does_not_exist(tmp_path):
    with refused(DocumentError, "cannot-write"), atomic_path(tmp_path / "no" / "out.xml"):
        pytest.fail("must not get here")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(DocumentError, match="Permission denied"), atomic_path(tmp_path / "out.xml"):
        pytest.fail("must not get here")


@pytest.mark.parametrize("target", ["", "/dev/null"])
def test_what_is_not_a_plain_file_is_never_replaced(target, tmp_path):
    with refused(DocumentError, "cannot-write"), atomic_path(target or tmp_path):
        pytest.fail("must not get here")


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.xml").write_text("old")
    (tmp_path / "link.xml").symlink_to("real.xml")
    with atomic_path(tmp_path / "link.xml") as path:
        path.write_text("new")
    assert (tmp_path / "link.xml").is_symlink()
    assert (tmp_path / "real.xml").read_text() == "new"


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="counts the bytes of names as Linux does")


@pytest.mark.parametrize("name", ["x" * 250, pytest.param("\N{SNOWMAN}" * 80, marks=LINUX)], ids=["long", "wide"])
def test_a_long_name_fits(tmp_path, name):
    with atomic_path(tmp_path / name) as path:
        path.write_text("new")
    assert _files(tmp_path) == [name]


INTERRUPTED = """
import sys, time
from masktron.write.atomic import atomic_path
with atomic_path(sys.argv[1]) as path:
    path.write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


KILLED = """
import sys
from masktron.write.atomic import atomic_path
from masktron.problems.problem import Place
from masktron.scratch import private_folder
with private_folder() as folder, atomic_path(sys.argv[1]) as path:
    (folder / "frame.xml").write_text("secret")
    path.write_text("secret")
    print("ready", flush=True)
    sys.stdin.read()
"""

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and locks of POSIX")


@posix
def test_what_a_killed_run_left_is_removed_by_the_next_and_what_a_living_one_has_is_not(tmp_path, monkeypatch):
    temporary, out = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    out.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)

    def next_run():
        with atomic_path(out / "other.xml"), private_folder():
            pass

    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(out / "out.xml")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        left = [_files(out), _files(temporary)]
        assert [len(names) for names in left] == [1, 1]
        next_run()
        assert [_files(out), _files(temporary)] == [[*left[0], "other.xml"], left[1]]
        process.kill()
        process.wait(30)
    assert [_files(out), _files(temporary)] == [[*left[0], "other.xml"], left[1]]
    next_run()
    assert [_files(out), _files(temporary)] == [["other.xml"], []]


@posix
def test_only_abandoned_files_of_masktron_are_removed(tmp_path):
    abandoned = [f".masktron-out.xml.{digit * 16}.part" for digit in "0123456"]
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / abandoned[0]).symlink_to(victim)
    (tmp_path / abandoned[1]).symlink_to(tmp_path / "nowhere")
    (tmp_path / abandoned[2]).mkdir()
    os.mkfifo(tmp_path / abandoned[3])
    for name in ("notes.part", ".masktron-out.xml.part", ".out.xml.0123456789abcdef.part", "masktron-demo"):
        (tmp_path / name).touch()
    (tmp_path / "masktron-01234567.scratch").symlink_to(victim.parent)
    kept = _files(tmp_path)
    (tmp_path / abandoned[4]).touch()
    (tmp_path / "masktron-0123456_.scratch").mkdir()
    (tmp_path / "masktron-0123456_.scratch" / "link").symlink_to(victim)
    remove_abandoned(tmp_path)
    assert (tmp_path / "masktron-0123456_.scratch" / "link").is_symlink(), "beside an output it is not ours"
    assert abandoned[4] not in _files(tmp_path)
    remove_abandoned(tmp_path, folders=True)
    assert _files(tmp_path) == kept
    assert victim.read_text() == "kept"
    if os.geteuid() == 0:
        (tmp_path / abandoned[5]).touch()
        os.chown(tmp_path / abandoned[5], 12345, 12345)
        remove_abandoned(tmp_path)
        assert abandoned[5] in _files(tmp_path)


@posix
def test_a_file_that_was_taken_for_abandoned_before_it_had_its_lock_is_made_anew(tmp_path, monkeypatch):
    own = scratch.create_private

    def overtaken(path):
        monkeypatch.setattr(scratch, "create_private", own)
        descriptor = own(path)
        remove_abandoned(tmp_path)
        return descriptor

    monkeypatch.setattr(scratch, "create_private", overtaken)
    with atomic_path(tmp_path / "out.xml") as path:
        path.write_text("new")
    assert _files(tmp_path) == ["out.xml"]


@posix
def test_nothing_is_written_through_a_link_in_the_place_of_the_temporary_file(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    with (
        refused(DocumentError, "cannot-write"),
        atomic_path(tmp_path / "out.xml") as path,
    ):
        path.unlink()
        path.symlink_to(victim)
    assert _files(tmp_path) == ["victim"]
    with pytest.raises(FileExistsError):
        (tmp_path / "link").symlink_to(tmp_path / "new")
        scratch.create_private(tmp_path / "link")
    assert not (tmp_path / "new").exists()


@posix
def test_what_was_published_is_known(tmp_path):
    with publishing() as published:
        assert published.names == ()
        with pytest.raises(ValueError, match="no"), atomic_path(tmp_path / "no"):
            raise ValueError("no")
        with atomic_path(tmp_path / "out.xml"):
            assert published.names == ()
        assert published.names == (str(tmp_path / "out.xml"),)
    with publishing() as outer:
        with publishing(), atomic_path(tmp_path / "inner.xml"):
            pass
        assert outer.names == (str(tmp_path / "inner.xml"),)
    with atomic_path(tmp_path / "later.xml"):
        pass
    assert len(published.names) == 1


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_an_interrupted_process_leaves_nothing(tmp_path):
    target = tmp_path / "out.xml"
    target.write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(target)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) != 0
    assert _files(tmp_path) == ["out.xml"]
    assert target.read_text() == "old"


@pytest.mark.parametrize("old", [None, "old"])
def test_outputs_that_belong_together_appear_together_or_not_at_all(
    old: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = {name: tmp_path / name for name in ("a", "b")}
    before = {"b": "there"} | ({"a": old} if old else {})
    for name, text in before.items():
        targets[name].write_text(text)
    real = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if target == targets["b"]:
            assert targets["a"].read_text() == "new a"
            raise OSError(errno.EIO, "no")
        return real(self, target)

    def written() -> None:
        with publications(targets) as places:
            for name, place in places.items():
                place.write_text(f"new {name}")

    with monkeypatch.context() as patched, refused(DocumentError, "cannot-write", where=targets["b"]):
        patched.setattr(Path, "replace", failing)
        written()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
    written()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new a", "b": "new b"}


def test_a_table_takes_no_name_and_fails_before_what_belongs_to_it_is_written(tmp_path: Path) -> None:
    place = tmp_path / "d.sqlite"
    address = path_of(f"sqlite:{place}?table=t")
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("CREATE TABLE t (a)")
        with refusals.refused(UsageError, "table-exists", table="t"), publication(address):
            pass
        connection.execute("DROP TABLE t")
    with refusals.refused(UsageError, "table-exists", table="t"), publication(address) as target:
        assert isinstance(target, AddressPath)
        with closing(sqlite3.connect(target.writing.staged)) as connection, connection:
            connection.execute("CREATE TABLE t (a)")
        with closing(sqlite3.connect(place)) as connection, connection:  # by somebody else
            connection.execute("CREATE TABLE t (a)")
        settle_publication(target)
        pytest.fail("a manifest would be written")


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as if the disk were full."""
    resource = pytest.importorskip("resource", reason="sizes of files are limited on POSIX systems only")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("options", "size", "at_fault"),
    [
        ({"--csv": 9000, "--junit": 1000}, 2000, "--csv"),
        ({"--csv": 9000, "--sarif": 9000, "--junit": 1000}, 100_000, ""),
        ({"--svrl": 9000, "--junit": 1000}, 2000, "--svrl"),
        ({"--json": 9000, "--junit": 1000}, 2000, "--json"),
        ({"--sarif": 9000, "--junit": 1000}, 2000, "--sarif"),
    ],
)
def test_a_full_disk_is_blamed_on_the_report_that_it_stops(
    tmp_path: Path, options: dict[str, int], size: int, at_fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Runner(capsys)
    data = write_data(tmp_path / "d.xml", [{"A": -i} for i in range(1, 60)])
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    words = [word for option in options for word in (option, tmp_path / f"out{option}")]
    with full_after(size):
        outcome = run("validate", data, "-r", rules, *words)
    assert outcome.code == (4 if at_fault else 1)
    if at_fault:
        assert code_of(outcome.err) == "cannot-write" and f"out{at_fault}: " in outcome.err
        assert sorted(path.name for path in tmp_path.iterdir()) == ["d.xml", "r.sch"]


@pytest.mark.parametrize(("size", "at_fault"), [(1000, "m.xml"), (3000, "m.manifest.json")])
def test_a_full_disk_is_blamed_on_the_file_of_a_release(
    tmp_path: Path, size: int, at_fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_data(tmp_path / "d.xml", numbers())
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    with full_after(size):
        outcome = Runner(capsys)("mask", data, "-r", rules, "-o", tmp_path / "m.xml")
    assert outcome.code == 4
    assert code_of(outcome.err) == "cannot-write" and f"{at_fault}: " in outcome.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.xml", "r.sch"]
