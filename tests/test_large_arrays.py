"""Large arrays in files: the same numbers, nothing that has a name, and one error where there is no room."""

from __future__ import annotations

import errno
import mmap
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron import large_arrays, scratch
from masktron.errors import DocumentError
from masktron.kernels.linkage import CodedPoints
from masktron.large_arrays import LARGE, arrays_in_files, kept, new_array
from masktron.measures.linkage import credit_through_tree
from refusals import refused


def in_file(array: NDArray[Any]) -> bool:
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


def test_no_file_goes_to_a_folder_that_is_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("memory", "disk"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "memory"))
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(scratch, "in_memory", lambda folder: folder.name == "memory")
    monkeypatch.setattr(scratch, "_KEPT", tmp_path / "disk")
    used = list[object]()

    def fail(**options: object) -> None:
        used.append(options.get("dir"))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)
    with arrays_in_files(wanted=True), pytest.raises(DocumentError) as caught:
        new_array(LARGE, np.float64)
    assert used == [tmp_path / "disk"]
    assert caught.value.where == str(tmp_path / "disk")


def test_large_arrays_are_in_files_where_that_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    numbers = np.arange(LARGE // 8, dtype=np.int64)
    assert not in_file(kept(numbers))
    with arrays_in_files(wanted=True):
        found, table = kept(numbers), new_array((LARGE // 8, 2), np.float32)
        small, texts = kept(numbers[:-1]), np.full(LARGE, None, dtype=object)
        assert kept(texts) is texts
    assert in_file(found)
    assert in_file(table)
    assert not in_file(small)
    assert np.array_equal(found, numbers)
    assert (table.shape, table.dtype, table.flags.writeable) == ((LARGE // 8, 2), np.float32, True)
    assert list(tmp_path.iterdir()) == []
    assert not in_file(new_array(LARGE, np.int64)), "the block has ended"


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room is taken in advance there alone")
def test_a_full_disk_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with arrays_in_files(wanted=True), refused(DocumentError, "cannot-write"):
        new_array(LARGE, np.int64)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system")
def test_pages_of_files_are_no_memory_of_the_process() -> None:
    def anonymous() -> int:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) * 1024

    before = anonymous()
    with arrays_in_files(wanted=Path(tempfile.gettempdir()).exists()):
        found = new_array(1 << 26, np.uint8)
    found[:] = 1
    assert anonymous() - before < 1 << 25


def test_links_are_the_same_from_files(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    known = generator.integers(0, 9, (900, 3)).astype(np.float64)
    released = known + generator.integers(0, 2, known.shape)
    expected = credit_through_tree(known, released, 1)
    monkeypatch.setattr(large_arrays, "LARGE", 1)
    with arrays_in_files(wanted=True):
        assert np.array_equal(credit_through_tree(known, released, 1), expected)
        assert all(map(in_file, CodedPoints.of(released.T, new_array).codes))
    assert 0.0 < expected.sum() < len(expected)
