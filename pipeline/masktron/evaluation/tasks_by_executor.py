"""Tasks for engines, done by an executor: what `masktron.evaluation.worker_pool` does on this machine alone.

Tasks go to workers several at a time, as many as take a second or two. Each worker keeps what it has compiled, and
its process of Saxon, over all of them. Answers come in the order of the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from masktron.errors import DocumentError, ResourceError
from masktron.evaluation.worker_pool import RefusedError, Task, Work
from masktron.executor.contract import Executor
from masktron.scratch import name_to_be

TOGETHER = 16
"""Tasks that a worker gets at a time."""

type BatchAnswers = tuple[tuple[int, Any], ...]
"""The last answer of each task, with its place among those that were given together."""


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
        """Do a task, once more where the process of an engine was ended meanwhile, and return its last answer."""
        try:
            return list(self._work(task))[-1]
        except ResourceError:
            return list(self._work(task))[-1]  # in a new process

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
                raise DocumentError(
                    f"a worker cannot read the file: {problem.strerror or problem}",
                    where=str(self._path.with_name(name_to_be(self._path))),
                    hint="workers on other machines find files under the same full paths (docs/workers.md)",
                ) from None
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
        """Yield each task with its last answer; as `masktron.evaluation.worker_pool.WorkerPool.answers`.

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
