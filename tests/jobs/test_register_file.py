"""The file of the register: several processes at a time, processes that are killed, damage, a lost salt."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from examples import parts
from masktron.errors import DocumentError
from masktron.jobs.register import register_file
from masktron.jobs.register.register_file import opened_register
from masktron.setting_values import Register
from masktron.stopping import stoppable
from refusals import refused

ADDING = """
import sys
from pathlib import Path
from masktron.setting_values import Register
from masktron.jobs.register.register_file import opened_register
register = Register(Path(sys.argv[1]), Path(sys.argv[1] + ".salt"))
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    with opened_register(register) as book:
        book.add({"kind": "test", "id": sys.argv[2], "number": number, "fill": "x" * 20_000})
    print(number, flush=True)
"""


@pytest.fixture
def register(tmp_path: Path) -> Register:
    return Register(tmp_path / "releases.jsonl", tmp_path / "releases.jsonl.salt")


def adding(register: Register, name: str, count: int) -> subprocess.Popen[str]:
    """Start a process that adds entries as soon as it is told to, and says which ones are there."""
    argv = [sys.executable, "-c", ADDING, str(register.path), name, str(count)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def let_go(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def entries(register: Register, kind: str = "test") -> list[dict[str, object]]:
    with opened_register(register) as book:
        return [entry for entry in book.entries if entry["kind"] == kind]


def test_what_was_added_is_there_in_order_for_its_owner_alone(register: Register) -> None:
    for number in range(3):
        with opened_register(register) as book:
            book.add({"kind": "test", "number": number, "text": "ü\n\u2028"})
    assert [entry["number"] for entry in entries(register)] == [0, 1, 2]
    lines = register.path.read_bytes().split(b"\n")
    assert len(lines) == 5 and lines[-1] == b"" and all(json.loads(line) for line in lines[:-1])
    for path in (register.path, register.salt):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert register.salt.read_text().strip() not in register.path.read_text()


def test_processes_at_a_time_lose_nothing_and_make_one_salt(register: Register) -> None:
    processes = [adding(register, name, 15) for name in "abc"]
    let_go(*processes)
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out.splitlines()[-1]) == (0, "14")
    found = entries(register)
    assert len(found) == 45
    for name in "abc":
        assert [entry["number"] for entry in found if entry["id"] == name] == list(range(15))


@pytest.mark.parametrize("seed", parts(range(20), 3))
def test_a_process_that_is_killed_loses_nothing_that_it_said_was_there(register: Register, seed: int) -> None:
    generator = random.Random(seed)
    process = adding(register, "a", 100_000)
    let_go(process)
    time.sleep(generator.uniform(0.0, 0.15))
    os.kill(process.pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    said = len(out.split())
    found = [entry["number"] for entry in entries(register)]
    assert found == list(range(len(found)))
    assert said <= len(found) <= said + 1, "the last one may be there although it was not said"
    with opened_register(register) as book:
        book.add({"kind": "test", "number": len(found)})
    assert len(entries(register)) == len(found) + 1


@pytest.mark.parametrize("left", [1, 40, 20_000])
def test_a_line_that_was_cut_off_does_not_count_and_the_next_one_says_so(register: Register, left: int) -> None:
    with opened_register(register) as book:
        book.add({"kind": "test", "number": 0})
    before, counted = register.path.read_bytes(), register.count.read_text()
    with opened_register(register) as book:
        book.add({"kind": "test", "number": 1, "fill": "x" * 30_000})
    cut = register.path.read_bytes()[: len(before) + left]
    register.path.write_bytes(cut)
    register.count.write_text(counted)
    assert [entry["number"] for entry in entries(register)] == [0]
    assert register.path.read_bytes() == cut, "who only looks changes nothing"
    with opened_register(register) as book:
        book.add({"kind": "test", "number": 2})
    assert register.path.read_bytes().startswith(before)
    assert [entry["number"] for entry in entries(register)] == [0, 2]
    assert [entry["bytes"] for entry in entries(register, "torn")] == [left]


def test_a_run_that_was_killed_before_its_first_line_leaves_a_register_that_can_be_used(register: Register) -> None:
    with opened_register(register) as book:
        secret = book.secret
    register.path.write_bytes(register.path.read_bytes()[:10])
    register.count.write_text("0\n")
    with opened_register(register) as book:
        assert (book.secret, len(book.entries)) == (secret, 1)


def test_a_run_that_is_ended_names_the_files_of_the_register(
    register: Register, capsys: pytest.CaptureFixture[str]
) -> None:
    for kinds, files in (
        ([], [register.path, register.salt, register.count]),
        ([], []),
        (["test"], [register.path, register.count]),
    ):
        with pytest.raises(SystemExit), stoppable(), opened_register(register) as book:
            for kind in kinds:
                book.add({"kind": kind})
            os.kill(os.getpid(), signal.SIGTERM)
        written = f"written before that: {', '.join(map(str, files))}" if files else "nothing was written"
        assert capsys.readouterr().err == f"terminated; {written}\n"


@pytest.mark.parametrize("line", [1, 2, 3])
def test_a_line_that_was_changed_or_taken_out_stops_all(register: Register, line: int) -> None:
    for number in range(3):
        with opened_register(register) as book:
            book.add({"kind": "test", "number": number})
    lines = register.path.read_bytes().splitlines(keepends=True)
    wrong = [
        [*lines[:line], *lines[line + 1 :]] if line < 3 else lines[1:],
        [*lines[:line], lines[line].replace(b'"number": ', b'"number": 1'), *lines[line + 1 :]],
        [*lines[:line], b"{}\n", *lines[line + 1 :]],
        [*lines[:line], b"\xff\n", *lines[line + 1 :]],
        [*lines[:line], b'{"chain": "\xc3\xa9", "entry": {}}\n', *lines[line + 1 :]],
    ]
    for content in wrong:
        register.path.write_bytes(b"".join(content))
        with refused(DocumentError, "register-damaged") as caught, opened_register(register):
            pass
        assert caught.value.where.startswith((str(register.path), str(register.salt)))


@pytest.mark.parametrize("cut", ["nothing", "half a header", "a header", "half a second line", "a line less"])
def test_a_register_that_was_cut_is_refused_until_somebody_says_that_lines_are_lost(
    register: Register, cut: str
) -> None:
    for number in range(2):
        with opened_register(register) as book:
            book.add({"kind": "test", "number": number})
    whole = register.path.read_bytes()
    first, second, _ = whole.splitlines(keepends=True)
    left = {
        "nothing": 0,
        "half a header": 50,
        "a header": len(first),
        "half a second line": len(first) + 40,
        "a line less": len(first) + len(second),
    }[cut]
    register.path.write_bytes(whole[:left])
    for _ in range(2):
        with (
            refused(DocumentError, "register-damaged"),
            opened_register(register),
        ):
            pass
    assert register.path.read_bytes() == whole[:left]
    register.path.write_bytes(whole)
    assert [entry["number"] for entry in entries(register)] == [0, 1]
    register.path.write_bytes(whole[:left])
    register.count.write_text("0")
    with opened_register(register) as book:
        book.add({"kind": "test", "number": 7})
    assert entries(register)[-1]["number"] == 7
    assert register.count.read_text().startswith(f"{register.path.read_bytes().count(b'\n')} ")


def test_a_count_that_is_behind_is_made_good_and_one_that_is_gone_or_another_is_refused(register: Register) -> None:
    with opened_register(register):
        behind = register.count.read_text()
    with opened_register(register) as book:
        book.add({"kind": "test", "number": 0})
    counted = register.count.read_text()
    assert (behind[:2], counted[:2]) == ("1 ", "2 ")
    register.count.write_text(behind)
    assert len(entries(register)) == 1
    assert register.count.read_text() == counted
    assert stat.S_IMODE(register.count.stat().st_mode) == 0o600
    for wrong in (f"2 {'0' * 32}", "two", ""):
        register.count.write_text(wrong)
        with refused(DocumentError, "register-damaged"), opened_register(register):
            pass
    register.count.unlink()
    for content in (register.path.read_bytes(), b""):
        register.path.write_bytes(content)
        with refused(DocumentError, "register-damaged", where=register.count):
            entries(register)


def test_a_count_that_cannot_be_written_takes_the_line_back(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise DocumentError("the output cannot be written: no room")

    with opened_register(register) as book:
        before = register.path.read_bytes()
        monkeypatch.setattr(register_file, "_write_count", full)
        with refused(DocumentError, "register-unusable"):
            book.add({"kind": "test", "number": 0})
        assert register.path.read_bytes() == before
        monkeypatch.undo()
        book.add({"kind": "test", "number": 1})
    assert [entry["number"] for entry in entries(register)] == [1]


def test_without_its_salt_a_register_is_not_begun_anew(register: Register) -> None:
    with opened_register(register):
        pass
    salt = register.salt.read_text()
    for wrong in ("0" * 64, "salt", None):
        register.salt.unlink() if wrong is None else register.salt.write_text(wrong)
        with refused(DocumentError, "register-damaged", where=register.salt), opened_register(register):
            pass
    assert not register.salt.exists()
    register.salt.write_text(salt)
    register.path.unlink()
    with refused(DocumentError, "register-damaged", where=register.path) as gone, opened_register(register):
        pass
    assert not register.path.exists()
    # the salt may be a file of the system that somebody named by mistake
    assert not re.search("remove|delete", gone.value.hint)


def test_no_salt_is_made_for_a_register_whose_lines_are_gone(register: Register) -> None:
    """With another salt, nobody would know the lines of a copy that is given back."""
    with opened_register(register):
        pass
    register.path.write_bytes(b"")
    register.salt.unlink()
    with refused(DocumentError, "register-damaged"), opened_register(register):
        pass
    assert not register.salt.exists()


def test_what_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Register(tmp_path, tmp_path / "salt")
    nowhere = Register(tmp_path / "none" / "r", tmp_path / "none" / "s")
    pipe = Register(tmp_path / "pipe", tmp_path / "salt")
    os.mkfifo(pipe.path)
    for register in (folder, nowhere):
        with refused(DocumentError, "register-unusable", where=register.path), opened_register(register):
            pass
    with refused(DocumentError, "not-a-plain-file", where=pipe.path), opened_register(pipe):
        pass
    monkeypatch.setattr(register_file, "PATIENCE", 0.1)
    held = Register(tmp_path / "r", tmp_path / "s")
    with opened_register(held), refused(DocumentError, "register-unusable", where=held.path), opened_register(held):
        pass


def test_a_full_disk_leaves_the_register_as_it_was(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened_register(register) as book:
        book.add({"kind": "test", "number": 0})
    before = register.path.read_bytes()

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 100:
            return real(descriptor, bytes(data[:100]))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = os.write
    with opened_register(register) as book:
        monkeypatch.setattr(os, "write", full)
        with refused(DocumentError, "register-unusable"):
            book.add({"kind": "test", "number": 1})
        monkeypatch.undo()
    assert register.path.read_bytes() == before
