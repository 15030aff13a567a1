"""An engine can be ended whatever it does: where it takes too long, by an interrupt, by the system."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import masktron
from cli_runner import Runner, numbers, write_data, write_rules
from lent_engines import Lending
from masktron import child_process
from masktron.child_process import TooLongError
from masktron.engines import saxon
from masktron.engines.engine_process import EngineProcess, EngineTimeError
from masktron.errors import Exit, ResourceError
from masktron.executor.local_processes import LocalProcesses
from masktron.judge import programs, runner
from masktron.judge.programs import compile_program
from masktron.processes import rules_within
from other_processes import ends, lives
from pool_tasks import Order, work
from refusals import code_of, refused

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals"),
    pytest.mark.usefixtures("engines_of_their_own"),
]

SLOW = "matches(A, '^(a+)+$')"
LONG = "a" * 40 + "b"
QUADRATIC = "count(../Record[count(../Record[B = current()/B][A != '']) > 1]) > 0"


def text(n: int) -> str:
    return f"<x>{'a' * n}b</x>"


def engine() -> EngineProcess:
    own = saxon._OWN.engine
    assert isinstance(own, EngineProcess)
    return own


def test_saxon_runs_in_another_process_which_is_used_again() -> None:
    assert saxon.decide(text(3), {}, ". = 'aaab'")
    first = engine().child().process.pid
    assert not saxon.decide(text(3), {}, ". = 'b'")
    assert engine().child().process.pid == first != os.getpid()


def pid_of_another_thread() -> int:
    def asked() -> int:
        saxon.decide(text(3), {}, ". = 'b'")
        return engine().child().process.pid

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asked).result()


def test_other_tests_lend_it_to_the_next_thread(lending: Lending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "pausing", False)
    first = pid_of_another_thread()
    assert lives(first)
    assert pid_of_another_thread() == first != engine().child().process.pid


def test_an_answer_that_takes_too_long_ends_the_engine_and_nothing_else() -> None:
    stylesheet = (
        '<x:stylesheet version="3.0" xmlns:x="http://www.w3.org/1999/XSL/Transform"><x:output method="text"/>'
        "<x:template match='/'><x:value-of select=\"matches(x, '^(a+)+$')\"/></x:template></x:stylesheet>"
    )
    program = saxon.Stylesheet(stylesheet)
    before = engine().child().process.pid
    begun = time.monotonic()
    with rules_within(0.3), pytest.raises(EngineTimeError):
        program.run(text(40))
    assert time.monotonic() - begun < 30  # the answer takes hours
    assert ends(before)
    assert program.run(text(3)) == "false"  # compiled anew in a new process
    assert program.run_parsed(saxon.SaxonDocument("<x>aa</x>")) == "true"


NAPS = """
import time

def ask(asked):
    question, given = asked
    time.sleep(given[0] if given else 0)
    return question

def opened():
    return ask
"""


def test_an_answer_at_the_limit_leaves_an_engine_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "naps.py").write_text(NAPS)
    monkeypatch.syspath_prepend(tmp_path)
    naps_module = importlib.import_module("naps")
    expire = child_process._expire

    def slowly(*given: Any) -> None:
        # the answer comes between the decision to end the process and its end
        time.sleep(0.3)
        expire(*given)

    monkeypatch.setattr(child_process, "_expire", slowly)
    naps = EngineProcess("naps", naps_module.opened)
    naps.within(None, "begin")
    try:
        assert naps.within(0.05, "first", 0.1) == "first"
        assert naps.within(None, "second", 0.5) == "second"
        assert naps.started == 2
        assert naps.within(30, "third") == "third"
        assert naps.started == 2
    finally:
        naps.close()


def test_an_interrupt_while_saxon_evaluates_ends_it() -> None:
    before = engine().child().process.pid
    saxon.version()
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            saxon.decide(text(40), {}, "matches(., '^(a+)+$')")
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, former)
    assert ends(before)
    assert saxon.decide(text(1), {}, ". = 'ab'")


def test_an_engine_that_the_system_kills_is_an_error_with_a_reason() -> None:
    saxon.version()
    timer = threading.Timer(0.3, engine().child().kill)
    timer.start()
    with refused(ResourceError, "engine-ended", how="was killed from outside") as caught:
        saxon.decide(text(40), {}, "matches(., '^(a+)+$')")
    assert caught.value.exit_code == Exit.RESOURCES == 6


def test_one_that_was_killed_between_two_questions_is_started_again() -> None:
    before = engine().child().process
    before.kill()
    before.wait()
    assert saxon.decide(text(1), {}, ". = 'ab'")


def test_the_engine_of_a_thread_ends_with_it() -> None:
    found: list[int] = []

    def ask() -> None:
        saxon.version()
        found.append(engine().child().process.pid)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found[0] != engine().child().process.pid
    assert ends(found[0])


@pytest.mark.full
def test_the_run_names_the_rule_and_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, object]] = [{"A": "aaa", "B": i} for i in range(50)]
    rows[37]["A"] = LONG
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "B >= 0", SLOW, binding="xslt2")
    result = tmp_path / "r.json"
    done = Runner(capsys)("validate", data, "-r", rules, "--rule-timeout", "0.3", "--json", result)
    assert done.code == 6
    assert "record 38, rule R2: SaxonC-HE" in done.err
    assert code_of(done.err) == "rule-too-slow"
    assert not result.exists()
    with refused(
        ResourceError, "rule-too-slow", seconds=0.3
    ) as caught:  # the place of a record leads to it in the original
        masktron.validate(data, rules, rule_timeout=0.3, release_safe=True)
    assert "record 38" not in str(caught.value)
    assert caught.value.where == f"{rules}:1, rule R2"


def test_many_records_that_take_long_together_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[dict[str, object]] = [{"A": "aab" if i % 7 < 2 else "aa", "B": i} for i in range(60)]
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", SLOW, binding="xslt2")
    ends = EngineProcess.within
    late: list[str] = []

    def within(self: EngineProcess, seconds: float | None, question: str, *given: object) -> object:
        # as if each record took a hundredth of a second
        if question == "run" and seconds is not None and str(given[2]).count("<Record>") > 100 * seconds:
            late.append(question)
            raise EngineTimeError
        return ends(self, None, question, *given)

    monkeypatch.setattr(EngineProcess, "within", within)
    with rules_within(0.25):
        result = masktron.validate(data, rules, rule_timeout=0.25)
    assert late
    assert result.records == 60
    assert [finding.record for finding in result.findings] == [i + 1 for i in range(60) if i % 7 < 2]


def test_libxml2_is_ended_on_a_whole_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "APART", 0)
    data = write_data(tmp_path / "d.xml", [{"A": f"a{i}", "B": i % 5} for i in range(1500)])
    rules = write_rules(tmp_path / "r.sch", "B >= 0", QUADRATIC)
    with refused(ResourceError, "rule-too-slow", on="on the whole document", where=f"{rules}:1, rule R2"):
        masktron.validate(data, rules, rule_timeout=0.3)
    assert lives(programs._APART.engine.child().process.pid)
    programs._APART.engine.close()


def test_libxml2_says_the_same_in_another_process() -> None:
    stylesheet = (
        '<x:stylesheet version="1.0" xmlns:x="http://www.w3.org/1999/XSL/Transform"><x:output method="text"/>'
        '<x:template match="/"><x:value-of select="concat(count(//B), string(//C))"/></x:template></x:stylesheet>'
    )
    root = etree.fromstring("<A><B/>\r\n<B x='&#10;'/><C>é&#13;&lt;</C></A>")
    here = compile_program(stylesheet, "libxml2").run(root)
    assert compile_program(stylesheet, "libxml2", apart=0).run(root) == here == "2é\r<"
    programs._APART.engine.close()


def test_a_member_of_a_pool_that_hangs_is_ended() -> None:
    with LocalProcesses(1, 0.5) as pool:
        found = pool.map(work, [(Order("pid"),), (Order("sleep"),)], stage="hangs")
        (member,) = next(found)
        with pytest.raises(TooLongError, match="too long"):
            next(found)
        assert ends(member)


LIMITED = """
import resource, sys
limit = 3_000_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from masktron.__main__ import start
start()
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not heed this limit")
def test_a_limit_of_addresses_is_named(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", numbers(12))
    rules = write_rules(tmp_path / "r.sch", "A + B = T", binding="xslt2")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "validate", str(data), "-r", str(rules)],
        capture_output=True, text=True, check=False, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 6, done.stderr
    assert code_of(done.stderr) == "too-few-addresses"
    assert "3,000,000,000 bytes" in done.stderr


def test_a_small_document_that_a_rule_walks_through_is_bounded_too(tmp_path: Path) -> None:
    """The time may grow with the cube of its records, and libxml2 hears nothing in this process."""
    data = write_data(tmp_path / "d.xml", [{"A": i, "B": i % 5} for i in range(300)])
    nested = "count(//Record[A * 1 < current()/A * 1][count(//Record[A mod 7 > current()/A]) < 5]) < 0"
    rules = write_rules(tmp_path / "r.sch", "B >= 0", nested)
    with refused(ResourceError, "rule-too-slow", on="on the whole document", where=f"{rules}:1, rule R2"):
        masktron.validate(data, rules, rule_timeout=0.3)
