"""What processes of a pool are given to do: a module that loads little, since each of them imports it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from masktron.child_process import RefusedError


@dataclass(frozen=True)
class Order:
    """A task: what to do, and with what."""

    what: str
    number: int = 0
    lane: int = 0


def work(tasks: tuple[Order, ...]) -> tuple[Any, ...]:
    """Do some tasks, as `masktron.judge.slice_tasks.Worker` does."""
    try:
        return tuple(map(_done, tasks))
    except RefusedError as refusal:
        return (refusal,)


def _done(task: Order) -> Any:
    match task.what:
        case "square":
            return task.number**2
        case "print":
            os.write(1, b"a library prints\n")
            return task.number
        case "refuse":
            raise RefusedError("not so")
        case "fail":
            raise ZeroDivisionError("by nothing")
        case "die":
            os._exit(3)
        case "pid":
            return os.getpid()
    time.sleep(60)
    return None
