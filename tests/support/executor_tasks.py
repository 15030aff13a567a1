"""What workers of executors do in tests: functions of a module, as workers have to find them."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import IO

from masktron.errors import DocumentError
from masktron.executor.run_parts import RunPart, write_part
from masktron.executor.travelling import ALONE
from masktron.problems.problem import Place, Rule, format_option
from masktron.processes import is_member, rule_seconds


class OwnError(ValueError):
    """One that is no error of masktron's."""


class HeldError(Exception):
    """One that cannot be pickled."""

    def __init__(self, text: str, *, held: object) -> None:
        super().__init__(text)
        self.held = held


def square(number: int) -> int:
    return number * number


def square_soon(number: int) -> int:
    """Take the longer, the earlier the slice is."""
    time.sleep(0.02 * max(0, 5 - number))
    return number * number


def failing(number: int) -> int:
    if number == 3:
        helps = (format_option("a", "b"),)
        raise DocumentError.of("csv-quote", Place("data.csv", record=4), detail="an end", helps=helps)
    if number > 3:
        raise OwnError(f"slice {number}")
    return number


def slow_rule(number: int) -> int:
    from masktron.judge.runner import SlowRuleError  # takes its time, and workers are started often

    place = Place("rules.sch:3", record=number + 1, rule=Rule("R1"))
    raise SlowRuleError.of("rule-too-slow", place, engine="Saxon", seconds=1, expression="A", on="on one record")


def own_error(number: int) -> int:
    raise OwnError("a fault", number)


def held_error(number: int) -> int:
    raise HeldError("a held fault", held=threading.Lock())


def no_memory(number: int) -> int:
    raise MemoryError


def no_result(number: int) -> object:
    return threading.Lock()


def deadly(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def deadly_once(given: tuple[str, int]) -> int:
    """End the worker where the slice has not ended one before."""
    mark, number = given
    if number == 3 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def endless(mark: str) -> int:
    """Say who works on it, and do not end."""
    path = Path(mark)
    path.with_suffix(".new").write_text(str(os.getpid()))
    path.with_suffix(".new").replace(path)
    time.sleep(600)
    return 0


def square_or_endless(given: int | str) -> int:
    return endless(given) if isinstance(given, str) else square(given)


def worker_facts(_: int) -> tuple[float, bool, list[str | None]]:
    return rule_seconds(), is_member(), [os.environ.get(name) for name in ALONE]


class SetUp:
    """Counts how often it is used where it is, as what a worker compiles would be."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, number: int) -> tuple[tuple[int, int], int]:
        self.times += 1
        return (os.getpid(), threading.get_ident()), self.times


class Reading:
    """Reads a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, number: int) -> str:
        try:
            return f"{number} {self.path.read_text()}"
        except OSError as problem:
            raise DocumentError.of("cannot-read", self.path, file="file", reason=problem.strerror) from None


def part_of_slice(given: tuple[str, str, int]) -> RunPart:
    """Write a part of some bytes, and a line into a log of what was computed."""
    folder, name, number = given
    with (Path(folder).parent / "computed").open("a") as log:
        log.write(f"{name}\n")

    def write(stream: IO[bytes]) -> None:
        stream.write(f"{number}\n".encode() * (number + 1))

    return write_part(Path(folder), name, write)
