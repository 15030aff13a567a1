"""Several engines over a file in processes: they find what each finds alone, whoever does what."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from examples import parts
from masktron.child_process import ChildLostError, ChildProcess, RefusedError
from masktron.engines.engine_process import EngineProcess, EngineTimeError
from masktron.errors import DocumentError, ResourceError
from masktron.executor.contract import AHEAD, Executor
from masktron.executor.local_processes import LocalProcesses
from masktron.executor.which import Serial
from masktron.judge import second_opinions
from masktron.judge.exact import evaluate
from masktron.judge.findings import Evaluation
from masktron.judge.request import EvaluationRequest, counts_of
from masktron.judge.runner import EngineChoice
from masktron.judge.second_opinions import Cutting, EnginePart, PartProgress, Question, engine_opinions
from masktron.judge.slice_tasks import answers
from masktron.progress import Told, untold
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import survey
from masktron.sources.xml.slices import cuts, framed, places, slices
from pool_tasks import Order, work
from refusals import refused

ISO = 'xmlns="http://purl.oclc.org/dsdl/schematron"'
BODY = """
<let name="limit" value="3"/>
<pattern><rule context="Record[V1 = 5]"><assert test="V3 = 0">m</assert></rule>
<rule context="Record"><let name="v" value="number(V1)"/><report test="$v > $limit">m</report>
<assert test="number(V1) &lt;= number(V2)">m</assert></rule></pattern>
"""
ENGINES: tuple[EngineChoice, ...] = ("auto", "saxon")


def record(at: int) -> str:
    v2 = ("", f"<V2>{at % 7}</V2>", "<V2></V2>")[at % 3]
    return f'<Record id="{at}"><V1>{at % 11}</V1>{v2}<V3>{at % 5}</V3></Record>'


PLAIN = "<Data>\n" + "\n".join(record(at) for at in range(60)) + "\n</Data>\n"


def rules(folder: Path, body: str = BODY, head: str = "") -> Rulebook:
    path = folder / "rules.sch"
    path.write_text(f"<schema {ISO} {head}>{body}</schema>", encoding="utf-8")
    return read_rules(path)


def written(folder: Path, text: str = PLAIN) -> tuple[Path, Layout]:
    path = folder / "data.xml"
    path.write_text(text, encoding="utf-8")
    return path, survey(path, record="Record")[0]


def asking(engines: tuple[EngineChoice, ...] = ENGINES, *, records: int = 60) -> Question:
    return Question(engines, frozenset(), records)


def _nobody(_part: EnginePart, _records: int) -> None: ...


def by_pool(
    path: Path,
    book: Rulebook,
    layout: Layout,
    question: Question,
    *,
    processes: int = 2,
    size: int = 300,
    told: PartProgress = _nobody,
) -> tuple[Evaluation, ...]:
    cutting = Cutting(small=0, size=size, processes=processes)
    return engine_opinions(EvaluationRequest(path, book, layout), question, told=told, cutting=cutting)


class ByHand(Serial):
    """An executor to and from which everything travels as bytes, and which says what it was given."""

    def __init__(self, before: Callable[[], object] = object) -> None:
        self.given: list[tuple[Any, ...]] = []
        self.stages: set[str] = set()
        self._before = before

    def map[S, R](
        self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
    ) -> Generator[R]:
        self.stages.add(stage)
        there = pickle.loads(pickle.dumps(function))  # noqa: S301 -- our own
        for piece in slices:
            assert isinstance(piece, tuple)
            self.given.append(piece)
            self._before()
            yield pickle.loads(pickle.dumps(there(pickle.loads(pickle.dumps(piece)))))  # noqa: S301 -- our own


EACH = Cutting(small=0, size=300, by_executor=0)


def by_executor(
    path: Path, book: Rulebook, layout: Layout, question: Question, executor: Executor, told: PartProgress = _nobody
) -> tuple[Evaluation, ...]:
    return engine_opinions(
        EvaluationRequest(path, book, layout, executor=executor), question, told=told, cutting=EACH
    )


def alone(path: Path, book: Rulebook, layout: Layout, question: Question) -> tuple[Evaluation, ...]:
    """Each engine by itself, over the file as a whole."""
    return tuple(evaluate(EvaluationRequest(path, book, layout, engine=choice)) for choice in question.engines)


def assert_same(found: tuple[Evaluation, ...], expected: tuple[Evaluation, ...]) -> None:
    assert len(found) == len(expected)
    for own, other in zip(found, expected, strict=True):
        assert (own.records, own.engine) == (other.records, other.engine)
        for name in ("fired", "failed", "errors", "first"):
            assert np.array_equal(getattr(own, name), getattr(other, name)), name


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody but processes do anything."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("not by processes")

    monkeypatch.setattr(second_opinions._Asking, "_exactly", never)


@pytest.mark.parametrize("processes", parts([2, 1, 3], 1))
def test_processes_find_what_each_engine_finds_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    path, layout = written(tmp_path)
    book = rules(tmp_path)
    expected = alone(path, book, layout, asking())
    assert expected[0].failed.all()
    forbid(monkeypatch)
    assert_same(by_pool(path, book, layout, asking(), processes=processes), expected)


def test_an_executor_finds_what_each_engine_finds_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, layout = written(tmp_path)
    book = rules(tmp_path)
    expected = alone(path, book, layout, asking())
    forbid(monkeypatch)
    monkeypatch.setattr(second_opinions, "TOGETHER", 3)
    executor, told = ByHand(), list[tuple[EnginePart, int]]()
    assert_same(by_executor(path, book, layout, asking(), executor, told=lambda *what: told.append(what)), expected)
    # slices of one engine together, in the order of the file
    assert all(len({task.lane for task in piece}) == 1 for piece in executor.given)
    assert {len(piece) for piece in executor.given} >= {3}
    assert executor.stages == {"asking engines about data.xml"}
    for part in ("auto", "saxon"):
        done = [number for name, number in told if name == part]
        assert done == sorted(done)
        assert done[-1] == 60


def test_a_small_file_is_given_to_no_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, layout = written(tmp_path)
    book, executor, pools = rules(tmp_path), ByHand(), list[int]()

    def pool(number: int, _limit: float) -> None:
        pools.append(number)
        raise ChildLostError("cannot be started")

    monkeypatch.setattr(second_opinions, "LocalProcesses", pool)
    request = EvaluationRequest(path, book, layout, executor=executor)
    engine_opinions(request, asking(), cutting=Cutting(small=0, size=300, processes=1))
    assert (executor.given, pools) == ([], [1])


def test_a_document_that_workers_elsewhere_do_not_see_stays_here(tmp_path: Path) -> None:
    path, layout = written(tmp_path)
    near, far = ByHand(), ByHand()
    far.elsewhere = True
    for executor, kept in ((near, near), (far, None)):
        request = EvaluationRequest(path, rules(tmp_path), layout, write=lambda: path, executor=executor)
        assert request.on_document().executor is kept
        assert replace(request, write=None).on_document().executor is executor


def test_a_worker_that_cannot_read_the_file_says_which(tmp_path: Path) -> None:
    path, layout = written(tmp_path)
    book = rules(tmp_path)
    with refused(DocumentError, "worker-unfit", where=path, reason="cannot read the file: No such file or directory"):
        by_executor(path, book, layout, asking(), ByHand(lambda: path.unlink(missing_ok=True)))


def test_a_worker_that_sees_another_file_of_the_name_has_no_say(tmp_path: Path) -> None:
    """As one whose machine has an earlier version of it: in that, every rule holds."""
    path, layout = written(tmp_path)
    other = tmp_path / "earlier.xml"
    other.write_text(re.sub(r"<V1>\d", "<V1>0", PLAIN), encoding="utf-8")

    class Elsewhere(ByHand):
        def map[S, R](
            self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
        ) -> Generator[R]:
            pieces = list(slices)
            path.replace(tmp_path / "own")
            other.replace(path)
            try:
                yield from list(super().map(function, pieces, stage=stage, told=told))
            finally:
                path.replace(other)
                (tmp_path / "own").replace(path)

    book, question, executor = rules(tmp_path), asking(), Elsewhere()
    found = by_executor(path, book, layout, question, executor)
    assert executor.given
    assert_same(found, alone(path, book, layout, question))


def test_what_takes_too_long_in_a_worker_is_left_to_who_can_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, layout = written(tmp_path)
    book = rules(tmp_path)
    monkeypatch.setattr(EngineProcess, "within", refusing_saxon)
    monkeypatch.setattr(second_opinions, "TOGETHER", 3)
    executor = ByHand()
    left: list[EngineChoice] = []

    def exactly(_asking: object, choice: EngineChoice, _go_on: object = None) -> Evaluation:
        left.append(choice)
        return replace(counts_of(3), records=60)

    monkeypatch.setattr(second_opinions._Asking, "_exactly", exactly)
    by_executor(path, book, layout, asking(), executor)
    assert left == ["saxon"]
    # and Saxon is asked no more
    assert sum(task.lane == 1 for piece in executor.given for task in piece) == 3


@pytest.mark.parametrize("times", [1, 2])
def test_an_engine_that_is_killed_in_a_worker_is_started_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    path, layout = written(tmp_path)
    book, question = rules(tmp_path), asking()
    real, killed = EngineProcess.within, list[str]()

    def within(self: EngineProcess, seconds: float | None, name: str, *given: Any) -> Any:
        if name == "run_parsed" and len(killed) < times:
            killed.append(name)
            self.close()
            raise ResourceError.of("engine-ended", name="Saxon", how="was killed from outside")
        return real(self, seconds, name, *given)

    expected = alone(path, book, layout, question)
    monkeypatch.setattr(EngineProcess, "within", within)
    if times > 1:
        with refused(ResourceError, "engine-ended", name="Saxon", how="was killed from outside"):
            by_executor(path, book, layout, question, ByHand())
    else:
        forbid(monkeypatch)
        assert_same(by_executor(path, book, layout, question, ByHand()), expected)
    assert len(killed) == times


def refusing_saxon(_self: EngineProcess, _seconds: float | None, question: str, *_given: Any) -> Any:
    if question == "version":
        return "Saxon"
    if question == "run_parsed":
        raise EngineTimeError
    return 1


HEAD = {"libxml2": "", "Saxon": 'queryBinding="xslt2"'}


@pytest.mark.full
@pytest.mark.parametrize("name", parts(HEAD, 1))
def test_errors_of_an_engine_are_those_of_evaluate(tmp_path: Path, name: str) -> None:
    """Also where they are behind what is read to find the first record, and other slices are as they should be."""
    text = "<Data>\n" + "\n".join(record(at) for at in range(4000)) + "\n</Data>\n"
    path, layout = written(tmp_path, text)
    path.write_text(text.replace('id="3990"><V1>', 'id="3990"><V2>'))
    book, question = rules(tmp_path, head=HEAD[name]), asking(("auto",), records=4000)
    said: list[int] = []
    with pytest.raises(DocumentError, match="the end tag does not match"):
        by_pool(path, book, layout, question, size=20_000, told=lambda _, done: said.append(done))
    assert said


ODD = {
    "end tags in comments": (PLAIN.replace('<Record id="3">', '<!-- </Record> --><Record id="3">'), 60),
    "a record in a comment": (PLAIN.replace('<Record id="30">', "<!-- <Record><V1>5</V1></Record> --><Record>"), 60),
    "an end tag with a space": (PLAIN.replace("</Record>", "</Record >", 1), 60),
    "both": (
        PLAIN.replace("</Record>", "</Record >", 1).replace('<Record id="9">', "<!-- </Record> --><Record>"),
        60,
    ),
    "something beside the records": (PLAIN.replace("<Data>", "<Data><V1>5</V1>"), 60),
    "the last record without content": (PLAIN.replace("</Data>", "<Record/></Data>"), 61),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", parts(ODD, 2))
def test_what_cannot_be_cut_is_left_to_each_engine(tmp_path: Path, name: str) -> None:
    text, records = ODD[name]
    path, layout = written(tmp_path, text)
    book, question = rules(tmp_path), asking(records=records)
    found = by_pool(path, book, layout, question, processes=1)
    expected = alone(path, book, layout, question)
    assert [one.records for one in expected] == [records] * 2
    assert_same(found, expected)
    assert_same(by_executor(path, book, layout, question, ByHand()), expected)


@pytest.mark.full
def test_a_rule_across_records_is_left_to_each_engine(tmp_path: Path) -> None:
    path, layout = written(tmp_path)
    book = rules(
        tmp_path, '<pattern><rule context="Record"><assert test="count(//V1) = 60">m</assert></rule></pattern>'
    )
    assert_same(by_pool(path, book, layout, asking()), alone(path, book, layout, asking()))


def test_a_file_that_changes_meanwhile_is_asked_about_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, layout = written(tmp_path)
    book = rules(tmp_path)
    again: list[str] = []

    def exactly(_asking: object, choice: EngineChoice, _go_on: object = None) -> Evaluation:
        again.append(choice)
        return replace(counts_of(3), records=60)

    monkeypatch.setattr(second_opinions._Asking, "_exactly", exactly)

    def touch(_engine: EngineChoice | None, _done: int) -> None:
        os.utime(path, ns=(1, 1))

    by_pool(path, book, layout, asking(), processes=1, told=touch)
    assert sorted(again) == sorted(ENGINES)  # Saxon is asked in a thread of its own


@pytest.mark.full
def test_progress_counts_the_records_of_each_engine(tmp_path: Path) -> None:
    path, layout = written(tmp_path)
    said: dict[EngineChoice | None, list[int]] = {}
    by_pool(
        path,
        rules(tmp_path),
        layout,
        asking(),
        told=lambda engine, done: said.setdefault(engine, []).append(done),
    )
    assert set(said) == {"auto", "saxon"}
    assert all(done == sorted(done) for done in said.values())
    assert [said[engine][-1] for engine in ("auto", "saxon")] == [60, 60]
    assert all(len(done) > 1 for done in said.values())


def test_a_small_file_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, layout = written(tmp_path)
    monkeypatch.setattr(second_opinions, "LocalProcesses", None)
    book = rules(tmp_path)
    assert_same(engine_opinions(EvaluationRequest(path, book, layout), asking()), alone(path, book, layout, asking()))


@pytest.mark.parametrize("interpreter", ["", "missing", "another program"])
def test_where_no_process_can_be_started_this_one_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interpreter: str
) -> None:
    path, layout = written(tmp_path)
    if interpreter == "another program":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
        monkeypatch.setattr(subprocess, "Popen", None)
    else:
        monkeypatch.setattr(sys, "executable", interpreter and str(tmp_path / interpreter))
    book = rules(tmp_path)
    assert_same(by_pool(path, book, layout, asking()), alone(path, book, layout, asking()))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that pools start."""
    found: list[subprocess.Popen[bytes]] = []

    def watched(*given: Any, **options: Any) -> ChildProcess:
        child = ChildProcess(*given, **options)
        found.append(child.process)
        return child

    monkeypatch.setattr("masktron.executor.local_processes.ChildProcess", watched)
    return found


def ended(processes: list[subprocess.Popen[bytes]]) -> bool:
    return all(one.returncode is not None for one in processes)


def test_after_an_interrupt_no_process_is_left(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    path, layout = written(tmp_path)

    def interrupt(_engine: EngineChoice | None, _done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        by_pool(path, rules(tmp_path), layout, asking(), size=100, told=interrupt)
    assert len(started) == 2
    assert ended(started)
    assert not [one for one in threading.enumerate() if one.name == "masktron-executor"]


# the pool by itself


def in_pool(tasks: Iterable[Order], size: int = 1) -> Iterator[tuple[Order, Any]]:
    """What processes of this machine answer, which end where they take longer than a minute."""
    worker: Any = SimpleNamespace(known=SimpleNamespace(frame=SimpleNamespace(path=Path("data.xml"))))
    with LocalProcesses(size, 60) as pool:
        yield from answers(Renamed(pool), worker, tasks)  # type: ignore[arg-type]


class Renamed:
    """An executor that does the work of these tests, whatever it is given."""

    def __init__(self, pool: LocalProcesses) -> None:
        self._pool = pool

    def map(self, _worker: object, slices: Iterable[Any], *, stage: str) -> Generator[Any]:
        return self._pool.map(work, slices, stage=stage)


@pytest.mark.parametrize("size", [1, 3])
def test_each_task_is_done_once(size: int) -> None:
    found = [(task.number, answer) for task, answer in in_pool([Order("square", n) for n in range(20)], size)]
    assert found == [(n, n**2) for n in range(20)]


def test_what_is_printed_is_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    assert [answer for _, answer in in_pool([Order("print", 5)])] == [5]
    assert "a library prints" in capfd.readouterr().err


def test_a_refusal_ends_its_lane_alone() -> None:
    tasks = [
        Order("square", 1),
        Order("refuse", lane=7),
        *(Order("square", n, lane=7) for n in range(50)),
        Order("square", 2),
    ]
    found = list(in_pool(tasks))
    refusals = [answer for _, answer in found if isinstance(answer, RefusedError)]
    assert [str(one) for one in refusals] == ["not so"]
    assert {answer for task, answer in found if task.lane == 0} == {1, 4}
    # some more may have been given away before the refusal was read
    assert len([answer for task, answer in found if task.lane == 7]) <= 1 + AHEAD


def test_an_unexpected_error_comes_with_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError, match="by nothing") as caught:
        list(in_pool([Order("fail")]))
    assert "in _done" in caught.value.__notes__[0]


def test_a_process_that_ends_is_an_error() -> None:
    with pytest.raises(ChildLostError, match="a process ended"):
        list(in_pool([Order("square", 3), Order("die"), *[Order("square", 4)] * 10], 2))


def test_a_pool_that_is_left_ends_at_once(started: list[subprocess.Popen[bytes]]) -> None:
    start = time.monotonic()
    with closing(in_pool([Order("pid"), Order("sleep"), Order("sleep")], 2)) as found:
        _, process = next(found)
        assert process in [one.pid for one in started]
        assert not ended(started)
    assert ended(started)
    assert time.monotonic() - start < 30


@pytest.mark.full
def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    """And a module beside it that is named like one of Python's does not get in the way."""
    path, _ = written(tmp_path)
    rules(tmp_path)
    (tmp_path / "pickle.py").write_text("raise RuntimeError('not this one')")
    script = tmp_path / "run" / "script.py"
    script.parent.mkdir()
    script.write_text(
        textwrap.dedent(f"""
        print("begun")
        from pathlib import Path
        from masktron.judge.second_opinions import Cutting, Question, engine_opinions
        from masktron.judge.request import EvaluationRequest, counts_of
        from masktron.sources.xml.plain import survey
        from masktron.rulebook.schematron.reader import read_rules
        path = Path({str(path)!r})
        rules = read_rules({str(tmp_path / "rules.sch")!r})
        layout = survey(path, record="Record")[0]
        question = Question(("auto",), frozenset(), 60)
        asked = EvaluationRequest(path, rules, layout)
        found = engine_opinions(asked, question, cutting=Cutting(small=0, size=300, processes=1))
        print(found[0].records)
        """)
    )
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["begun", "60"], done.stderr


def test_cuts_are_where_slices_end(tmp_path: Path) -> None:
    path, layout = written(tmp_path)
    frame = framed(path, layout)
    assert frame is not None
    whole = path.read_bytes()
    for size in (1, 50, 300, 1000, 10**6):
        assert [whole[begin:end] for begin, end in cuts(frame, size)] == list(slices(frame, size))


def test_places_are_those_of_the_records(tmp_path: Path) -> None:
    path, layout = written(tmp_path)
    frame = framed(path, layout)
    assert frame is not None
    whole = path.read_bytes().decode()
    for size in (1, 300, 10**6):
        found, records = places(frame, [0, 7, 8, 59, 60], size)
        assert records == 60
        assert [whole[begin:end].strip() for begin, end in found] == [record(at) for at in (0, 7, 8, 59)]
