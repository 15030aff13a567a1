"""One executor for all stages of a run: begun once, when the first slice is there, and ended once."""

from __future__ import annotations

import threading
from typing import Self

import executor_tasks as tasks
from masktron.config import Config
from masktron.executor.local_processes import LocalProcesses
from masktron.executor.serial import Serial
from masktron.executor.standing import StandingExecutor
from masktron.executor.which import asked_executor
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
