"""A signal ends every command with one line that is true, with its exit code, and leaves no file and no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path
from unittest.mock import Mock

import pytest

from cli_runner import Runner, numbers, write_data, write_rules
from examples import parts
from masktron.executor.run_parts import RunParts, parts_folder, write_part
from masktron.stopping import stoppable
from masktron.write.atomic import atomic_path, parts_begun
from other_processes import ends

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")

LOADING = """
class Slow:
    def find_spec(self, name, path, target=None):
        if name == "click":
            wait()
sys.meta_path.insert(0, Slow())
"""
ANY = """
import masktron.commands.running
masktron.commands.running.check_outputs = wait
"""
WRITTEN = """
import masktron.commands.running
masktron.commands.running.show = masktron.commands.running.show_in_short = wait
"""
CREW = """
import slow
import masktron.commands.running
from masktron.executor.local_processes import LocalProcesses
def busy(*_, **__):
    with LocalProcesses(1, 100) as pool:
        for member in pool.map(slow.work, [0, 1], stage="slow"):
            print(member)
            wait()
masktron.commands.running.check_outputs = busy
"""
SLOW = """
import os, time
def work(task):
    if task:
        time.sleep(60)
    return os.getpid()
"""
DEAF = """
import os
import masktron.commands.running
from masktron.write.atomic import atomic_path, parts_begun
def deaf(*_):
    with atomic_path("first.csv"):
        pass
    with atomic_path("second.csv"):
        print(os.getpid())
        print("ready", flush=True)
        sum(range(10 ** 12))
masktron.commands.running.check_outputs = deaf
"""
"""One loop in C for an hour, as kernels and engines have them, in which Python hears no signal."""
IN_PARTS = """
import masktron.commands.running
from pathlib import Path
from masktron.executor.run_parts import RunParts, parts_folder, write_part
from masktron.write.atomic import parts_begun
def deaf(*_):
    folder = parts_folder(Path("out.xml"))
    with RunParts(folder, {"input": "x"}) as parts:
        parts_begun(folder)
        parts.enter(write_part(folder, "p", lambda stream: stream.write(b"1")))
        print("ready", flush=True)
        sum(range(10 ** 12))
masktron.commands.running.check_outputs = deaf
"""
WHILE_PARTS_GO = IN_PARTS.replace(
    '        print("ready", flush=True)\n        sum(range(10 ** 12))\n',
    """        import shutil
        truly = shutil.rmtree
        def slow(*given, **named):
            shutil.rmtree = truly
            print("ready", flush=True)
            HOW
        shutil.rmtree = slow
        parts.remove()
""",
)
"""Ended while it removes its parts, whose folder has another name by then."""
PRELUDE = """
import sys, time
def wait(*_, **__):
    print("ready", flush=True)
    time.sleep(60)
"""


def interrupted(
    folder: Path, script: str, number: int, *arguments: object, ignored: bool = False, whom: str = "all"
) -> tuple[int, list[str], list[str]]:
    """Run the command line until it is ready, signal its processes; return its code and what both streams say.

    `whom` is ``all``, ``first`` (the process that was started), or ``worker``, whose number the script says.
    """
    first = f"import signal; signal.signal({int(number)}, signal.SIG_IGN)" if ignored else ""
    own = folder / "own"  # the command takes no module from its working folder
    own.mkdir(exist_ok=True)
    (own / "slow.py").write_text(SLOW)
    (own / "run.py").write_text(first + PRELUDE + script + "\nfrom masktron.__main__ import start\nstart()\n")

    process = subprocess.Popen(
        [sys.executable, str(own / "run.py"), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=folder,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        said = []
        try:
            while (line := process.stdout.readline().strip()) not in {"ready", ""}:
                said.append(line)
            if whom == "all":
                os.killpg(process.pid, number)
            else:
                os.kill(process.pid if whom == "first" else int(said[0]), number)
            out, err = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, [*said, *out.splitlines()], err.splitlines()


@pytest.mark.parametrize(
    ("number", "says"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "ended with its terminal")],
)
def test_while_the_program_is_being_loaded(tmp_path: Path, number: signal.Signals, says: str) -> None:
    code, _, err = interrupted(tmp_path, LOADING, number, "--help")
    assert (code, err) == (128 + number, [f"{says}; nothing was written"])


def test_a_command_without_files(tmp_path: Path) -> None:
    assert interrupted(tmp_path, ANY, signal.SIGTERM, "methods") == (143, [], ["terminated; nothing was written"])


def test_while_another_process_computes(tmp_path: Path) -> None:
    code, (member,), err = interrupted(tmp_path, CREW, signal.SIGINT, "methods")
    assert (code, err) == (130, ["interrupted; nothing was written"])
    with pytest.raises(ProcessLookupError):
        os.kill(int(member), 0)


@pytest.mark.few(1)
@pytest.mark.parametrize("whom", parts(["first", "all"], 1))
@pytest.mark.parametrize(("number", "says"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_where_python_hears_no_signal(tmp_path: Path, number: signal.Signals, says: str, whom: str) -> None:
    begun = time.monotonic()
    code, (worker,), err = interrupted(tmp_path, DEAF, number, "methods", whom=whom)
    assert (code, err) == (128 + number, [f"{says}; written before that: first.csv"])
    assert ends(int(worker))
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["first.csv"]
    assert list(tmp_path.glob(".masktron-*")) == []
    assert time.monotonic() - begun < 20  # the loop takes hours


def test_a_worker_that_is_killed_from_outside_is_told(tmp_path: Path) -> None:
    code, _, err = interrupted(tmp_path, DEAF, signal.SIGKILL, "methods", whom="worker")
    assert code == 137
    assert err == [
        "error: the process was ended by SIGKILL; written before that: first.csv",
        "  -> most likely the system ran out of memory",
    ]
    assert list(tmp_path.glob(".masktron-*")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems end no process with another")
def test_a_worker_ends_with_the_process_that_watches_it(tmp_path: Path) -> None:
    code, (worker,), err = interrupted(tmp_path, DEAF, signal.SIGKILL, "methods", whom="first")
    assert (code, err) == (-signal.SIGKILL, [])
    assert ends(int(worker))


@pytest.mark.full
def test_what_was_written_before_is_named(tmp_path: Path) -> None:
    data, rules = write_data(tmp_path / "d.xml", numbers(12)), write_rules(tmp_path / "r.sch", "A + B = T")
    report, svrl = tmp_path / "f.csv", tmp_path / "f.svrl"
    code, _, err = interrupted(
        tmp_path, WRITTEN, signal.SIGTERM, "validate", data, "-r", rules, "--csv", report, "--svrl", svrl
    )
    assert (code, err) == (143, [f"terminated; written before that: {report}, {svrl}"])
    assert report.exists()


def test_a_hangup_that_is_ignored_ends_nothing(tmp_path: Path) -> None:
    once = ANY.replace(
        "check_outputs = wait", "check_outputs = lambda *_: (print('ready', flush=True), time.sleep(1))"
    )
    code, out, err = interrupted(tmp_path, once, signal.SIGHUP, "methods", "mdav", ignored=True)
    assert (code, err) == (0, [])
    assert out


def test_a_signal_that_python_dropped_is_told_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    former = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as caught, stoppable():
        with atomic_path(tmp_path / "two\nlines.xml"):
            pass
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except SystemExit:
            # a second one at once, as `timeout` sends them, does not disturb the cleaning up
            os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.code == 143
    assert capsys.readouterr().err == f"terminated; written before that: {tmp_path}/two lines.xml\n"
    assert signal.getsignal(signal.SIGTERM) is former


def test_finished_parts_that_stay_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = parts_folder(tmp_path / "out.xml")
    for made in (0, 2):
        with pytest.raises(SystemExit), stoppable(), RunParts(folder, {"input": "x"}) as parts:
            parts_begun(folder)
            for at in range(made):
                parts.enter(write_part(folder, f"p{at}", lambda stream: stream.write(b"1")))
            os.kill(os.getpid(), signal.SIGTERM)
        left = f"no output was written; finished parts of the run stay in {folder} for --resume"
        assert capsys.readouterr().err == f"terminated; {left if made else 'nothing was written'}\n"


@pytest.mark.full
def test_a_run_that_hears_nothing_leaves_parts_too(tmp_path: Path) -> None:
    code, _, err = interrupted(tmp_path, IN_PARTS, signal.SIGTERM, "methods")
    folder = parts_folder(tmp_path / "out.xml")
    left = f"finished parts of the run stay in {folder} for --resume"
    assert (code, err) == (143, [f"terminated; no output was written; {left}"])


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["sum(range(10 ** 12))", "time.sleep(60)"], ids=["deaf", "hearing"])
def test_parts_that_were_being_removed_are_removed(tmp_path: Path, how: str) -> None:
    script = WHILE_PARTS_GO.replace("HOW", how)
    code, _, err = interrupted(tmp_path, script, signal.SIGTERM, "methods")
    assert (code, err) == (143, ["terminated; nothing was written"])
    assert not any("parts" in path.name for path in tmp_path.iterdir())


def test_a_signal_in_a_callback_comes_again(capfd: pytest.CaptureFixture[str]) -> None:
    class Thing:
        pass

    hook = sys.unraisablehook
    thing = Thing()
    begun = time.monotonic()
    with pytest.raises(SystemExit) as caught, stoppable():
        _kept = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
        del thing
        time.sleep(30)
    assert caught.value.code == 143
    assert time.monotonic() - begun < 25
    assert capfd.readouterr().err == "terminated; nothing was written\n"
    assert sys.unraisablehook is hook


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [(KeyboardInterrupt, 130, "interrupted; nothing was written"), (MemoryError, 6, "error: out of memory")],
)
def test_what_ends_a_command_in_this_process(
    run: Runner, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], code: int, says: str
) -> None:
    monkeypatch.setattr("masktron.commands.running.check_outputs", Mock(side_effect=error))
    done = run("methods")
    assert (done.code, done.err.splitlines()[0]) == (code, says)
