"""One executor for all stages of a run: begun once, when the first slice is there, and ended once."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, Self

import pytest

import executor_tasks as tasks
from masktron.config import Config
from masktron.executor.local_processes import LocalProcesses
from masktron.executor.which import Serial, StandingExecutor, asked_executor
from masktron.jobs import in_units
from masktron.jobs.sharing import executor_of_run


class Counted(Serial):
    """Says how often it was entered and left."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def __enter__(self) -> Self:
        self.said.append("in")
        return self

    def __exit__(self, *_: object) -> None:
        self.said.append("out")


def test_it_begins_with_the_first_slice_and_ends_with_the_outermost_stage() -> None:
    made = Counted()
    with StandingExecutor(made) as executor:
        assert made.said == []
        for number in range(2):
            with executor as inner:
                assert list(inner.map(tasks.square, [number], stage="squares")) == [number * number]
            assert made.said == ["in"]
    assert made.said == ["in", "out"]


def test_nothing_is_begun_where_there_are_no_slices() -> None:
    made = Counted()
    with StandingExecutor(made):
        pass
    assert made.said == []


def test_it_rests_and_works_again_and_is_closed_in_the_end() -> None:
    made = Counted()
    with StandingExecutor(made) as executor:
        for _ in range(2):
            assert list(executor.map(tasks.square, [2], stage="squares")) == [4]
            executor.rest()
        executor.rest()
    assert made.said == ["in", "out", "in", "out"]
    with pytest.raises(RuntimeError, match="not open"):
        list(executor.map(tasks.square, [2], stage="squares"))


def test_processes_end_where_it_rests() -> None:
    made = LocalProcesses(2)
    with StandingExecutor(made) as executor:
        for _ in range(2):
            assert list(executor.map(tasks.square, range(5), stage="squares")) == [0, 1, 4, 9, 16]
            assert made._processes
            executor.rest()
            assert not made._processes


def test_workers_of_the_run_end_where_units_have_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both together would be more than the memory holds."""
    made = Counted()
    made.workers = 4

    def of_units(*_: object, workers: int, **__: object) -> Serial:
        made.said.append(f"{workers} for units")
        return Serial()

    monkeypatch.setattr(in_units, "executor_of", of_units)
    run: Any = SimpleNamespace(kept=range(10**6), records=SimpleNamespace(columns=range(16)))
    parts: Any = object()
    for memory, expected in ((2, ["in", "out", "1 for units"]), (16, ["in"])):
        run.config = Config(k=5, workers=4, unit_records=100_000, memory=memory * 10**9)
        made.said.clear()
        with StandingExecutor(made) as shared:
            assert list(shared.map(tasks.square, [2], stage="squares")) == [4]
            with in_units.units_in(run, parts, shared) as units:
                assert units is not None
                assert (units.executor is shared) == (memory == 16)
                assert made.said == expected


def test_stages_run_at_the_same_time() -> None:
    found: dict[int, list[int]] = {}
    with StandingExecutor(LocalProcesses(2)) as executor:

        def stage(first: int) -> None:
            found[first] = list(executor.map(tasks.square, range(first, first + 60), stage="squares"))

        threads = [threading.Thread(target=stage, args=(first,)) for first in (0, 100, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert found == {first: [n * n for n in range(first, first + 60)] for first in (0, 100, 200)}


def test_workers_are_as_many_as_the_memory_holds() -> None:
    four = Config(workers=4)
    assert asked_executor(Config()) is asked_executor(Config(workers=1)) is asked_executor(four, 1) is None
    for most, workers in ((None, 4), (8, 4), (3, 3)):
        found = asked_executor(four, most)
        assert found is not None
        assert (found.name, found.workers, found.elsewhere) == ("local", workers, False)
    assert executor_of_run(Config(workers=4, memory=10**9)) is None
    found = executor_of_run(Config(workers=4, memory=2 * 10**9))
    assert found is not None
    assert found.workers == 4
