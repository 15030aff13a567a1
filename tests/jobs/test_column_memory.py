"""Where columns are that are kept out of memory: on a disk, if there is a folder on one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masktron import scratch
from masktron.jobs import column_memory
from masktron.jobs.column_memory import column_notes, read_columns
from masktron.large_arrays import LARGE, arrays_in_files, new_array
from masktron.scratch import folder_on_disk, in_memory, private_folder
from masktron.sources.opening import open_source
from masktron.sources.tables import table_source, table_view

MOUNTS = """22 27 0:21 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / {tmp} rw,nosuid shared:2 - tmpfs tmpfs rw,size=1000k
31 30 8:2 / {tmp}/on\\040disk rw shared:3 master:1 - xfs /dev/vdb rw
32 31 0:41 / {tmp}/on\\040disk/ram rw - ramfs ramfs rw
"""


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a folder be memory, one in it a disk, and one in that memory again."""
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS.format(tmp=tmp_path / "tmp"))
    (tmp_path / "tmp" / "on disk" / "ram").mkdir(parents=True)
    monkeypatch.setattr(scratch, "_MOUNTS", table)
    monkeypatch.setattr(scratch, "_KEPT", tmp_path / "tmp" / "on disk")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "tmp"


def test_folders_that_are_memory(mounts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [in_memory(path) for path in (tmp_path, mounts, mounts / "on disk", mounts / "on disk" / "ram")]
    assert found == [False, True, False, True]
    assert not in_memory(tmp_path / "tmpother")
    (tmp_path / "link").symlink_to(mounts)
    assert in_memory(tmp_path / "link")
    monkeypatch.setattr(scratch, "_MOUNTS", tmp_path / "none")
    assert not in_memory(mounts)


def test_the_folder_is_on_a_disk_unless_somebody_named_another(
    mounts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder_on_disk() == (mounts / "on disk", True)
    with private_folder(folder_on_disk()[0]) as folder:
        assert folder.parent == mounts / "on disk"
    assert not folder.exists()
    with monkeypatch.context() as patch:
        patch.setenv("TMPDIR", str(mounts))
        assert folder_on_disk() == (mounts, False), "who names memory may want nothing on a disk"
    with monkeypatch.context() as patch:
        patch.setattr(scratch, "_KEPT", tmp_path / "none")
        assert folder_on_disk() == (mounts, False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert folder_on_disk() == (tmp_path, True)


def test_columns_go_there(mounts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "d.xml"
    data.write_text("<D>" + "".join(f"<R><A>{i}</A><B>{i + 1}</B></R>" for i in range(50)) + "</D>")
    source = open_source(data)
    assert column_notes(source, 10**9) == ()
    before = read_columns(source, memory=10**9)
    places: list[Path] = []
    room = column_memory.require_room
    monkeypatch.setattr(
        column_memory, "require_room", lambda *given, **more: (places.append(given[0]), room(*given, **more))
    )
    assert column_notes(source, 1000) == ()
    found = read_columns(source, memory=1000)
    assert [path.parent for path in places] == [mounts / "on disk"]
    assert found.columns["A"].values.tolist() == before.columns["A"].values.tolist()
    monkeypatch.setenv("TMPDIR", str(mounts))
    (note,) = column_notes(source, 1000)
    assert "TMPDIR" in note
    assert str(mounts) not in note
    monkeypatch.setattr(column_memory.sys, "platform", "win32")
    assert column_notes(source, 1000) == ()
    read_columns(source, memory=1000)
    assert len(places) == 1, "Windows removes no file that is mapped"


def test_arrays_go_there(mounts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[object] = []
    real = tempfile.TemporaryFile

    def seen(**how: Any) -> Any:
        places.append(how.get("dir"))
        return real(**how)

    monkeypatch.setattr(tempfile, "TemporaryFile", seen)
    with arrays_in_files(wanted=True):
        new_array(LARGE, np.uint8)
    assert places == [mounts / "on disk"]


def test_what_a_table_in_blocks_needs_goes_there(
    mounts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document that engines read, and what is put together for the file that is written."""
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 0)
    data = tmp_path / "d.csv"
    data.write_text("A,B\n" + "".join(f"{i},{i + 1}\n" for i in range(50)))
    source = open_source(data, whole=True, memory=1000)
    places: list[Path] = []
    room = table_source.require_room
    for module in (table_source, table_view):
        monkeypatch.setattr(
            module, "require_room", lambda *given, **more: (places.append(given[0]), room(*given, **more))
        )
    assert source.document_path.parent.parent == mounts / "on disk"
    assert source.write(tmp_path / "out.csv", {}) == 50
    assert [path.parent for path in places] == [mounts / "on disk"] * 2
