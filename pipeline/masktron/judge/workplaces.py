"""Who does tasks: workers of an executor, several tasks at a time, or this process, one after the other.

Processes of this machine are `masktron.judge.worker_pool`. What is found does not depend on who did what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from masktron.child_process import RefusedError, Work
from masktron.errors import DocumentError, ResourceError
from masktron.executor.contract import Executor
from masktron.judge.worker_pool import Task
from masktron.scratch import name_to_be

TOGETHER = 16
"""Tasks that a worker gets at a time."""

type BatchAnswers = tuple[tuple[int, Any], ...]
"""The answer of each task, with its place among those that were given together."""


class TaskBatch:
    """Does tasks that were given together, in whatever process.

    Parameters
    ----------
    opening : callable
        Returns the `Work` of a process, where it is called once.
    path : Path
        What the tasks read.
    """

    def __init__(self, opening: Callable[[], Work], path: Path) -> None:
        self._opening, self._path = opening, path

    def __getstate__(self) -> dict[str, Any]:
        return {"_opening": self._opening, "_path": self._path}

    @cached_property
    def _work(self) -> Work:
        return self._opening()

    def _answer(self, task: Task) -> Any:
        """Do a task, once more where the process of an engine was ended meanwhile."""
        try:
            return self._work(task)
        except ResourceError:
            return self._work(task)  # in a new process

    def __call__(self, tasks: tuple[Task, ...]) -> BatchAnswers:
        """Do some tasks; the answer of one that is refused is its error, and nothing else of its lane is done.

        Raises
        ------
        DocumentError
            The file cannot be read here.
        ResourceError
            The process of an engine ends again and again, or cannot be started.
        """
        found: dict[int, Any] = {}
        refused = set[int]()
        for place, task in enumerate(tasks):
            if task.lane in refused:
                continue
            try:
                found[place] = self._answer(task)
            except RefusedError as refusal:
                refused.add(task.lane)
                found[place] = refusal
            except OSError as problem:
                where, reason = self._path.with_name(name_to_be(self._path)), problem.strerror or str(problem)
                raise DocumentError.of("worker-unfit", where, reason=f"cannot read the file: {reason}") from None
        return tuple(found.items())


@dataclass(frozen=True, slots=True)
class TasksByExecutor:
    """Has an executor do tasks.

    Attributes
    ----------
    executor : Executor
        Entered.
    batch : TaskBatch
    stage : str
        What is being done, in words.
    """

    executor: Executor
    batch: TaskBatch
    stage: str

    def answers(self, tasks: Iterable[Task]) -> Iterator[tuple[Any, Any]]:
        """Yield each task with its answer; as `masktron.judge.worker_pool.WorkerPool.answers`.

        Raises
        ------
        MasktronError
            As `masktron.executor.contract.Executor.map`.
        """
        refused = set[int]()
        given: list[tuple[Task, ...]] = []

        def batches() -> Iterator[tuple[Task, ...]]:
            for together in _together(tasks):
                left = tuple(task for task in together if task.lane not in refused)
                if left:
                    given.append(left)
                    yield left

        for number, answers in enumerate(self.executor.map(self.batch, batches(), stage=self.stage)):
            own = given[number]
            for place, answer in answers:
                if isinstance(answer, RefusedError):
                    refused.add(own[place].lane)
                yield own[place], answer


def _together(tasks: Iterable[Task]) -> Iterator[tuple[Task, ...]]:
    """Put tasks of one lane together that follow each other."""
    waiting: list[Task] = []
    for task in tasks:
        if waiting and (len(waiting) == TOGETHER or waiting[0].lane != task.lane):
            yield tuple(waiting)
            waiting = []
        waiting.append(task)
    if waiting:
        yield tuple(waiting)


class Here:
    """Does tasks in this process; as `masktron.judge.worker_pool.WorkerPool`.

    Parameters
    ----------
    opening : callable
        Returns the `Work`.
    """

    def __init__(self, opening: Callable[[], Work]) -> None:
        self._work = opening()
        self._dropped: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left behind."""

    def answers(self, tasks: Iterable[Task]) -> Iterator[tuple[Any, Any]]:
        """Yield each task with its answer; that of a task that is refused is its error."""
        for task in tasks:
            if task.lane in self._dropped:
                continue
            try:
                answer = self._work(task)
            except RefusedError as refusal:
                self._dropped.add(task.lane)
                answer = refusal
            yield task, answer
