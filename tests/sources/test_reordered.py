"""Records in another order, part by part: the same bytes as from one piece, and nothing of them left on disk."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import write_data, write_rules
from examples import examples
from masktron.errors import DocumentError
from masktron.scratch import unnamed_file
from masktron.sources.xml import writer
from masktron.sources.xml.writer import Reordered, _gathered, joined, parts_of, place_for
from refusals import refused

WHOLE = 1 << 40


@examples(30, full=400)
@given(data=st.data(), records=st.lists(st.binary(max_size=9), min_size=9, max_size=30), parts=st.integers(1, 6))
def test_records_come_out_in_the_order_asked_for(data, records, parts):
    order = data.draw(st.permutations(range(len(records))))[: data.draw(st.integers(0, 30))]
    separator = data.draw(st.binary(max_size=3))
    gather = data.draw(st.sampled_from((joined, _gathered)))
    held = Reordered(io.BytesIO(), np.array(order, dtype=np.intp), len(records), parts, gather)
    assert_order(held, records, order, separator, lambda: data.draw(st.integers(1, 7)))


def test_few_records_and_many_parts() -> None:
    records = [b"a", b"", b"ccc"]
    for order in ([2, 0], [], [1], [1, 2, 0]):
        held = Reordered(io.BytesIO(), np.array(order, dtype=np.intp), 3, 9, joined)
        assert_order(held, records, order, b"-", lambda: 2)
    held = Reordered(io.BytesIO(), np.array([], dtype=np.intp), 0, 1, joined)
    assert list(held.parts(b"-")) == []


def assert_order(held, records, order, separator, step) -> None:
    at = 0
    while at < len(records):
        run = records[at : at + step()]
        held.put(at, np.frombuffer(b"".join(run), np.uint8), np.array([*map(len, run)], dtype=np.int64))
        at += len(run)
    written = b"".join(part.tobytes() for part in held.parts(separator))
    assert written == separator.join(records[i] for i in order)


def test_a_part_is_read_alone() -> None:
    """What is in memory at a time is a part, whatever the size of the file."""
    read = []

    class Told(io.BytesIO):
        def readinto(self, buffer, /):
            read.append(len(buffer))
            return super().readinto(buffer)

    order = np.random.default_rng(1).permutation(1000)
    held = Reordered(Told(), order, 1000, 10, joined)
    for first in range(0, 1000, 100):
        held.put(first, np.zeros(1000, dtype=np.uint8), np.full(100, 10))
    for at, part in enumerate(held.parts(b""), 1):
        assert len(part) == 1000
        assert sum(read) == at * 1000


def test_parts_grow_with_the_file_and_have_a_limit() -> None:
    assert [parts_of(size) for size in (0, 1, writer.PART, writer.PART + 1, WHOLE)] == [
        1, 1, 1, 2, writer.MOST_PARTS,
    ]  # fmt: skip
    assert np.iinfo(np.int16).max > writer.MOST_PARTS


@pytest.mark.skipif(sys.platform == "win32", reason="no file without a name")
def test_records_of_a_large_file_stand_in_a_file_without_a_name(tmp_path: Path) -> None:
    with place_for(writer.HELD, tmp_path / "out.xml") as store:
        assert isinstance(store, io.BytesIO)
    with place_for(writer.HELD + 1, tmp_path / "out.xml") as store:
        store.write(b"secret")
        assert not list(tmp_path.iterdir())
        found = os.fstat(store.fileno())
        assert stat.S_IMODE(found.st_mode) == 0o600
        assert found.st_dev == tmp_path.stat().st_dev
    with pytest.raises(KeyboardInterrupt), unnamed_file(tmp_path / "out.xml"):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_records_that_were_cut_short_are_noticed() -> None:
    store = io.BytesIO()
    held = Reordered(store, np.arange(2), 2, 1, joined)
    held.put(0, np.zeros(20, dtype=np.uint8), np.array([10, 10]))
    store.truncate(15)
    with refused(DocumentError, "no-temporary-file"):
        list(held.parts(b""))


def test_a_full_disk_is_one_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": at} for at in range(12)])
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    before = {*tmp_path.iterdir()}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writer, "HELD", 0)
    monkeypatch.setattr(writer, "_write_all", full)
    with refused(DocumentError, "cannot-write", reason="No space left on device") as error:
        masktron.mask(data, rules, tmp_path / "m.xml", k=3)
    assert error.value.exit_code == 4
    assert {*tmp_path.iterdir()} == before
