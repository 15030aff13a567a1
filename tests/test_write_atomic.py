"""Output is whole or not there, whatever happens while it is written."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from masktron.errors import DocumentError
from masktron.write import atomic
from masktron.write.atomic import atomic_path


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


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    with atomic_path(tmp_path / "out.xml"):
        pass
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


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_full_disk(code, tmp_path):
    with (
        pytest.raises(DocumentError, match=f"cannot be written: {os.strerror(code)}") as caught,
        atomic_path(tmp_path / "out.xml") as path,
    ):
        path.write_text("half")
        raise OSError(code, os.strerror(code))
    assert caught.value.where == str(tmp_path / "out.xml")
    assert _files(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_really_full_device(tmp_path):
    with (
        pytest.raises(DocumentError, match="No space left on device"),
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
    with pytest.raises(DocumentError, match="Input/output error"), atomic_path(target) as path:
        path.write_text("whole")
    monkeypatch.undo()
    assert _files(tmp_path) == []


def test_folder_that_does_not_exist(tmp_path):
    with pytest.raises(DocumentError, match="No such file or directory"), atomic_path(tmp_path / "no" / "out.xml"):
        pytest.fail("must not get here")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(DocumentError, match="Permission denied"), atomic_path(tmp_path / "out.xml"):
        pytest.fail("must not get here")


@pytest.mark.parametrize("target", ["", "/dev/null"])
def test_what_is_not_a_plain_file_is_never_replaced(target, tmp_path):
    with pytest.raises(DocumentError, match="not a plain file"), atomic_path(target or tmp_path):
        pytest.fail("must not get here")


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.xml").write_text("old")
    (tmp_path / "link.xml").symlink_to("real.xml")
    with atomic_path(tmp_path / "link.xml") as path:
        path.write_text("new")
    assert (tmp_path / "link.xml").is_symlink()
    assert (tmp_path / "real.xml").read_text() == "new"


def test_a_long_name_fits(tmp_path):
    with atomic_path(tmp_path / ("x" * 250)) as path:
        path.write_text("new")
    assert _files(tmp_path) == ["x" * 250]


INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
from masktron.write.atomic import atomic_path
with atomic_path(sys.argv[1]) as path:
    path.write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


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
