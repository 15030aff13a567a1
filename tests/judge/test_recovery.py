"""Internal errors of Saxon: what is said of a record does not depend on what is evaluated with it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from masktron.engines.engine_process import EngineError, EngineTimeError, InternalEngineError
from masktron.engines.saxon_engine import silenced
from masktron.errors import RulebookError
from masktron.judge import exact, runner
from masktron.judge.programs import Program
from masktron.judge.request import EvaluationRequest
from masktron.judge.runner import SlowRuleError
from masktron.judge.second_opinions import Cutting, Question, engine_opinions
from masktron.judge.stylesheet import EngineName
from masktron.processes import rule_seconds, rules_within
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import survey
from refusals import refused

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><pattern>
<rule context="Record"><let name="v" value="number(V8)"/>
<assert id="a" test="(2 to 4) &lt;= (V8[last()], number(V8))">a</assert>
<assert id="b" test="V8 * 2 = 6"><value-of select="V8"/></assert>{more}</rule></pattern></schema>"""
WHOLE = '<assert id="w" test="not((2 to 4) &lt;= (V8[last()], number(V8))) and count(//Record) = 7">w</assert>'
RECORDS = ("<V8>abc</V8>", "", "<V8>3</V8>", "<V8/>", "<V8>5</V8><V8>7</V8>", "", "<V8>1</V8>")


def _evaluated(folder: Path, records: tuple[str, ...], chunk: int, more: str = "") -> exact.Evaluation:
    data, rules = folder / "data.xml", folder / "rules.sch"
    data.write_text("<Data>" + "".join(f"<Record>{r}</Record>" for r in records) + "</Data>")
    rules.write_text(RULES.format(more=more))
    return exact.evaluate(EvaluationRequest(data, read_rules(rules), survey(data, record="Record")[0]), chunk=chunk)


def _said(done: exact.Evaluation, shift: int = 0) -> list[tuple[object, ...]]:
    return sorted((f.check, f.record + shift, f.kind, f.location, f.message) for f in done.findings)


def test_a_record_has_its_findings_whatever_is_beside_it(tmp_path: Path) -> None:
    alone = [_evaluated(tmp_path, (record,), 1) for record in RECORDS]
    wanted = sorted(finding for k, done in enumerate(alone) for finding in _said(done, k))
    assert any("abc" in str(finding[-1]) for finding in wanted)
    for chunk in (1, 2, 3, 5, 7):
        together = _evaluated(tmp_path, RECORDS, chunk)
        assert [(f[0], f[1], f[2], f[4]) for f in _said(together)] == [(f[0], f[1], f[2], f[4]) for f in wanted]
        assert together.verdicts.tolist() == [row for done in alone for row in done.verdicts.tolist()]
        assert together.errors.tolist() == sum(done.errors for done in alone).tolist()


def test_a_rule_on_the_whole_document_beside_it(tmp_path: Path) -> None:
    one = _evaluated(tmp_path, RECORDS, 7)
    both = _evaluated(tmp_path, RECORDS, 2, WHOLE)
    assert both.fired.tolist() == [7, 7, 7]
    assert both.verdicts[:, :2].tolist() == one.verdicts.tolist()
    # in a part of the document there are not as many records
    assert both.verdicts[:, 2].tolist() == [3, 1, 2, 3, 2, 1, 1]


def test_counts_over_the_file_are_the_same(tmp_path: Path) -> None:
    done = _evaluated(tmp_path, RECORDS, 7)
    data = tmp_path / "data.xml"
    (counts,) = engine_opinions(
        EvaluationRequest(data, read_rules(tmp_path / "rules.sch"), survey(data, record="Record")[0]),
        Question(("auto",), frozenset(), 7),
        cutting=Cutting(small=0, size=64),
    )
    assert (counts.fired.tolist(), counts.failed.tolist(), counts.errors.tolist()) == (
        done.fired.tolist(),
        done.failed.tolist(),
        done.errors.tolist(),
    )


def test_an_error_that_stays_names_its_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runner.compile_program

    def compiled(text: str, *arguments: object, careful: bool = False, **options: bool) -> Program:
        program = made(text, *arguments, careful=careful, **options)  # type: ignore[arg-type]
        if careful:

            class Broken:
                def run(self, root: object) -> str:
                    raise EngineError("it stops all the same")

            return Broken()  # type: ignore[return-value]
        return program

    monkeypatch.setattr(runner, "compile_program", compiled)
    with refused(RulebookError, "cannot-evaluate", reason="it stops all the same"):
        _evaluated(tmp_path, RECORDS, 7)


TWO = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="slow" test="count(//V8[. &gt; 5]) &lt; 3">a</assert><assert id="b" test="sum(//V8) &gt;= 0">b</assert>
</rule></pattern></schema>"""


def _two(folder: Path) -> tuple[Path, Rulebook, Layout]:
    data, rules = folder / "data.xml", folder / "rules.sch"
    data.write_text("<Data>" + "<Record><V8>1e1</V8></Record>" * 3 + "</Data>")
    rules.write_text(TWO)
    return data, read_rules(rules), survey(data, record="Record")[0]


class _Spied:
    """A program that says within how many seconds it was asked, and may refuse before."""

    def __init__(self, program: Program, asked: list[float], refuse: Exception | None = None) -> None:
        self.program = program
        self.asked = asked
        self.refuse = refuse

    def run(self, root: etree._Element) -> str:
        self.asked.append(rule_seconds())
        if self.refuse is not None:
            raise self.refuse
        return self.program.run(root)


def test_a_run_has_the_time_of_all_its_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, list[float]] = {"libxml2": [], "recommended": []}
    made = runner.compile_program

    def compiled(text: str, engine: EngineName, *arguments: Any, **options: bool) -> Any:
        return _Spied(made(text, engine, *arguments, **options), asked[engine])

    monkeypatch.setattr(runner, "compile_program", compiled)
    data, book, layout = _two(tmp_path)
    with rules_within(7):
        assert exact.evaluate(EvaluationRequest(data, book, layout, engine="auto")).failed.tolist() == [0, 3]
    assert set(asked["libxml2"]) == {14.0}
    assert len(asked["recommended"]) == 2, "verdicts and messages"
    assert set(asked["recommended"]) == {14.0}
    plain: list[float] = []
    monkeypatch.setattr(
        "masktron.judge.slice_tasks.compile_program", lambda *args, **kw: _Spied(made(*args, **kw), plain)
    )
    with rules_within(7):
        engine_opinions(
            EvaluationRequest(data, book, layout), Question(("unaided",), frozenset(), 0), cutting=Cutting(small=0)
        )
    assert plain == [14.0]


@pytest.mark.parametrize("wrong", ["slow", "b"])
def test_a_slow_rule_is_not_blamed_for_the_error_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    made = runner.compile_program

    def compiled(text: str, engine: EngineName, *arguments: Any, **options: bool) -> Any:
        slow, other = "count(//V8" in text, "sum(//V8" in text
        refuse: EngineError | None = EngineError("no such thing")
        if slow and not other:
            refuse = EngineTimeError()
        elif not slow and wrong == "slow":
            refuse = None
        return _Spied(made(text, engine, *arguments, **options), [], refuse)

    monkeypatch.setattr(runner, "compile_program", compiled)
    data, book, layout = _two(tmp_path)
    if wrong == "b":
        expected = refused(RulebookError, "cannot-evaluate", reason="no such thing")
    else:
        expected = refused(SlowRuleError, "rule-too-slow", on="on the whole document")
    with expected as caught:
        exact.evaluate(EvaluationRequest(data, book, layout, engine="unaided"))
    assert caught.value.where.endswith(f", rule {wrong}")


def test_saxon_prints_no_trace_where_it_is_asked_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _evaluated(tmp_path, RECORDS, 2)
    assert capfd.readouterr().err == ""
    with silenced():
        os.write(2, b"java.lang")
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"
    with pytest.raises(InternalEngineError), silenced():
        raise InternalEngineError("it")
    os.write(2, b"again")
    assert capfd.readouterr().err == "again"


def test_silence_lasts_as_long_as_a_thread_asks_for_it(capfd: pytest.CaptureFixture[str]) -> None:
    begun, done = threading.Event(), threading.Event()

    def other() -> None:
        with silenced():
            begun.set()
            done.wait(10)
            os.write(2, b"secret")

    thread = threading.Thread(target=other)
    with silenced():
        thread.start()
        assert begun.wait(10)
    # the one that began first has ended first
    done.set()
    thread.join()
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


def test_the_command_line_is_heard_while_saxon_is_not(tmp_path: Path) -> None:
    """Progress is drawn by another thread, which gets its turn when Saxon ends a chunk."""
    program = """
import os, sys
from masktron.commands.line import main
from masktron.engines.saxon_engine import silenced
from masktron.standard_streams import open_standard_streams
open_standard_streams()
try:
    main()
except SystemExit:
    with silenced():
        os.write(2, b"secret")
        print("heard", file=sys.stderr)
    os.write(2, b"at the end")
"""
    command = [sys.executable, "-c", program, "--version"]
    done = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path)
    assert done.stderr.split() == [b"heard", b"at", b"the", b"end"]
