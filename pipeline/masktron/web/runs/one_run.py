"""A run as its folder tells it: the command, whether it waits, works or has ended, and what came out."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from masktron.errors import ResourceError
from masktron.problems.problem import Problem, Setting, format_option
from masktron.problems.readers import Reader, reading
from masktron.problems.wording import worded
from masktron.results.result import SCHEMA_VERSION
from masktron.web.runs import run_process
from masktron.web.store.disk import (
    bytes_of,
    last_bytes,
    make_private,
    plain_files,
    read_plain,
    write_bytes,
    write_plain,
)
from masktron.web.store.kept_files import kept_by_stamp
from masktron.web.store.project_files import project_file
from masktron.web.store.project_history import now
from masktron.web.store.project_settings import NAME as SETTINGS_FILE
from masktron.web.store.projects import RUNS, Project

_TAIL = 1 << 15
"""Bytes of the end of the file that are read: some 200 lines, and so more than a minute."""
_SILENT = 3.0
"""Seconds without a word after which a stage has been left, if another one has begun."""


@dataclass(frozen=True, slots=True)
class StageProgress:
    """One stage, as its last line tells it.

    Attributes
    ----------
    name : str
    done : int
    size : int or None
        Of how much; None where nobody knows.
    unit : str
    left : float or None
        Seconds.
    over : bool
        Whether it has ended.
    """

    name: str
    done: int
    size: int | None
    unit: str
    left: float | None
    over: bool

    @property
    def share(self) -> int | None:
        """Per cent of it that are done."""
        return None if not self.size else min(100 * self.done // self.size, 100)


def stages_of(path: Path) -> list[StageProgress]:
    """Return the stages that the last lines of a file speak of, in the order in which they began."""
    content = last_bytes(path, _TAIL)
    lines = content.split(b"\n")
    if len(content) == _TAIL:
        del lines[0]  # cut
    found: dict[str, dict[str, float]] = {}
    units: dict[str, str] = {}
    newest = 0.0
    for line in lines:
        if not line.endswith(b"}"):  # the last one, half-written
            continue
        said = json.loads(line)
        found[said["stage"]] = said
        units[said["stage"]] = said["unit"]
        newest = max(newest, said["at"])
    last = max(found, key=lambda name: found[name]["at"] - found[name]["seconds"], default=None)
    return [
        StageProgress(
            name,
            int(said["done"]),
            None if said["size"] is None else int(said["size"]),
            units[name],
            said["left"],
            (said["size"] is not None and said["done"] >= said["size"])
            or (name != last and (said["size"] is None or newest - said["at"] > _SILENT)),
        )
        for name, said in found.items()
    ]


_FOLDER = re.compile(r"(\d{4,9})-([a-z][a-z-]{0,40})")
UPLOAD = "files/"
"""How words of commands that name an upload begin."""
LARGEST_RESULT = 8_000_000
"""Bytes of a result that pages read whole; JSON takes some ten times that in memory."""
_SHOWN = 200_000
"""Bytes of the end of what a command has printed that pages show."""


_SEEN: ContextVar[dict[Path, RunState] | None] = ContextVar("seen", default=None)
"""States that this request has asked for, by the folders of the runs."""


class UnreadableResultError(ResourceError):
    """A result that no page reads: it is too large, or of a version of masktron with other results."""


class RunState(StrEnum):
    """Where a run is."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
    CANCELLED = "cancelled"
    LOST = "lost"
    """Its process has gone without a word: the machine was switched off, or the system has killed it."""


@dataclass(frozen=True, slots=True)
class InRun:
    """A file in the folder of the run, as an argument of its command: an output, or a copy that was made for it."""

    name: str


@dataclass(frozen=True, slots=True)
class InRunOf:
    """A file in the folder of another run of the same project, as an argument."""

    run: CommandRun
    name: str


type Argument = str | InRun | InRunOf


@dataclass(frozen=True, slots=True)
class ToldError:
    """The error that ended a command, as its JSON has it, worded for whoever has forms in place of options.

    Attributes
    ----------
    what, where, hint, kind : str
    exit_code : int or None
    problem : Problem or None
        None of an error that is a sentence alone. Places in the folder of the run are those in the project.
    setting : str
        As `UsageError` has it.
    given : tuple of Setting
        What its hint gives.
    """

    what: str
    where: str = ""
    hint: str = ""
    kind: str = ""
    exit_code: int | None = None
    problem: Problem | None = None
    setting: str = ""
    given: tuple[Setting, ...] = ()

    @property
    def code(self) -> str:
        """The code of its problem; empty where it has none."""
        return "" if self.problem is None else self.problem.code

    @classmethod
    def read(cls, told: Mapping[str, Any], here: Callable[[str], str] = str) -> ToldError:
        """Read an error as `masktron.commands.told_errors` writes it; `here` renames files."""
        options = (format_option(one["name"], one["value"]) for one in told.get("format_options", ()))
        error = cls(
            told["what"], here(told["where"]), told["hint"], told["kind"], told["exit_code"],
            setting=told.get("setting", ""), given=tuple(options),
        )  # fmt: skip
        try:
            return error.of_problem(Problem.from_dict(told).renamed(source=here)) if "code" in told else error
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            return error  # somebody else has written it, or another version of masktron

    def of_problem(self, problem: Problem) -> ToldError:
        """Return it as a problem words it."""
        with reading(Reader.BROWSER):
            said = worded(problem)
        where = str(problem.place)
        return replace(self, what=said.what, where=where, hint=said.hint, problem=problem, given=said.given)


@dataclass(frozen=True, slots=True)
class RunOutput:
    """A file that a run has written."""

    name: str
    size: int

    @property
    def confidential(self) -> bool:
        """Whether it is for inside the agency: all but the masked file, its rules and the page about it."""
        return not self.is_masked and not self.is_rulebook and not self.name.startswith("about.")

    @property
    def is_rulebook(self) -> bool:
        """Whether it says which rules hold in the masked file, beside which it leaves the project."""
        return self.name.startswith("masked.") and self.name.endswith(".rules.sch")

    @property
    def is_masked(self) -> bool:
        """Whether it is the masked file, which leaves the project by the page Release, once it has been checked."""
        confidential = ".manifest." in self.name  # those of earlier releases have a number behind it
        return self.name.startswith("masked.") and not confidential and not self.is_rulebook


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A run: ``runs/0003-mask`` of a project."""

    project: Project
    number: int
    step: str

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.number:04d}-{self.step}"

    @property
    def folder(self) -> Path:
        """Its folder."""
        return self.project.runs / self.name

    def path_of(self, name: str) -> str:
        """Return the path of a file in its folder, which may be there or not."""
        return f"{self.project.folder}/{RUNS}/{self.name}/{name}"

    @property
    def command(self) -> Mapping[str, Any]:
        """What was asked for: ``arguments``, ``asked`` (when)."""
        return read_plain(self.path_of(run_process.COMMAND)) or {"arguments": [], "asked": ""}

    def stamp_then(self, name: str) -> list[int] | None:
        """Return the stamp that a file which it reads had when it was asked for; None where it does not know it."""
        found: list[int] | None = self.command.get("stamps", {}).get(name)
        return found

    def is_of(self, data: str | None) -> bool:
        """Tell whether it was asked about these data; an original that they are compared with is not meant."""
        words = self.command["arguments"]
        return any(word == data and before != "--original" for before, word in zip(["", *words], words, strict=False))

    @property
    def shown_command(self) -> str:
        """The command that does the same, for a shell in the folder of the project."""
        return shlex.join(["masktron", *self.command["arguments"]])

    @property
    def _ended(self) -> Mapping[str, Any] | None:
        """How it ended: ``code``, ``problem``, ``began``, ``ended``; None where it has not."""
        return read_plain(self.path_of(run_process.EXIT))

    @property
    def state(self) -> RunState:
        """Where it is; within `one_look`, where it was when that was asked first."""
        seen = _SEEN.get()
        if seen is None:
            return self._state_now
        if self.folder not in seen:
            seen[self.folder] = self._state_now
        return seen[self.folder]

    @property
    def _state_now(self) -> RunState:
        """Where it is; asked of its lock, so that no server needs to have seen it start."""
        if (ended := self._ended) is not None:
            return RunState.CANCELLED if ended["code"] != 0 and self.is_cancelled else RunState.ENDED
        # asked before the lock, which a process has taken when it writes this: it may begin between two looks
        begun = (self.folder / run_process.PROCESS).exists()
        if self.is_held:
            return RunState.RUNNING
        if (self.folder / run_process.EXIT).exists():  # it ended between the two looks
            return self._state_now
        if self.is_cancelled:
            return RunState.CANCELLED
        return RunState.LOST if begun else RunState.WAITING

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self._ended is not None or self.state not in (RunState.WAITING, RunState.RUNNING)

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody wanted it to end."""
        return os.path.exists(self.path_of(run_process.CANCEL))  # noqa: PTH110 -- pages ask for hundreds

    @property
    def is_aside(self) -> bool:
        """Whether it tries a draft out, and does not take its turn among the others."""
        return bool(self.command.get("aside"))

    @property
    def is_held(self) -> bool:
        """Whether a process has its lock."""
        try:
            # shared: two that ask at once are no run
            descriptor = run_process.locked(self.folder, shared=True)
        except FileNotFoundError:  # the project was deleted meanwhile
            return False
        if descriptor is None:
            return True
        os.close(descriptor)
        return False

    @property
    def pid(self) -> int | None:
        """The number of its process, which is that of its group; None before it has begun."""
        found = read_plain(self.path_of(run_process.PROCESS))
        return None if found is None else int(found["pid"])

    @property
    def exit_code(self) -> int | None:
        """The exit code of the command; None where it has not ended, or could not be started."""
        if (_SEEN.get() or {}).get(self.folder) in (RunState.WAITING, RunState.RUNNING):
            return None  # it has ended since the page asked
        ended = self._ended
        return None if ended is None else ended["code"]

    @property
    def seconds(self) -> float | None:
        """How long it took; None where it has not ended."""
        ended = self._ended
        return None if ended is None else ended["ended"] - ended["began"]

    @property
    def stages(self) -> list[StageProgress]:
        """How far it is."""
        return stages_of(self.folder / run_process.PROGRESS)

    @property
    def error(self) -> ToldError | None:
        """The error that ended it, with what, where and hint; None where it ended without one."""
        ended = self._ended
        if (told := read_plain(self.path_of(run_process.ERROR))) is not None:
            return ToldError.read(told, lambda source: source.removeprefix(f"{RUNS}/{self.name}/"))
        if ended is not None and ended["code"] is None:
            return ToldError("").of_problem(Problem("run-not-started", reason=ended["problem"]))
        if ended is not None and ended["code"] == 1 and "Traceback (most recent call last)" in self.stderr:
            return ToldError("").of_problem(Problem("run-crashed"))
        return None

    @property
    def stdout(self) -> str:
        """The end of what the command has printed."""
        return last_bytes(self.folder / run_process.STDOUT, _SHOWN).decode(errors="replace")

    @property
    def stderr(self) -> str:
        """The end of what it has printed on standard error."""
        return last_bytes(self.folder / run_process.STDERR, _SHOWN).decode(errors="replace")

    @property
    def outputs(self) -> list[RunOutput]:
        """The files that came out, by name."""
        copies = set(self.command.get("copies", ()))
        return [
            RunOutput(one.name, one.stat(follow_symlinks=False).st_size)
            for one in plain_files(self.path_of(""))
            if one.name not in run_process.INTERNAL and one.name not in copies
        ]

    @property
    def copies(self) -> list[str]:
        """The copies of rules and settings that it works with."""
        return [one for one in self.command.get("copies", ()) if os.path.isfile(self.path_of(one))]  # noqa: PTH113

    def output(self, name: str) -> Path | None:
        """Return the path of an output, or of a copy that it works with; None where it has none of this name."""
        known = {*(one.name for one in self.outputs), *self.copies}
        return self.folder / name if name in known else None

    def result(self, name: str) -> dict[str, Any] | None:
        """Return an output of JSON as plain data; None where it is not there.

        Raises
        ------
        UnreadableResultError
            It is so large that reading it would take the memory that the server has for all; or it was written by a
            version of masktron whose results have other keys, or by somebody else.
        """
        path = self.output(name)
        if path is None:
            return None
        if path.stat().st_size > LARGEST_RESULT:
            reason = f"it has more than {LARGEST_RESULT // 1_000_000} MB"
            raise UnreadableResultError.of("result-unreadable", file=name, reason=reason)
        try:
            found = _RESULTS(path)
        except (TypeError, ValueError) as error:  # somebody has changed it
            raise UnreadableResultError.of("result-unreadable", file=name, reason="it is no result") from error
        if found is not None and found.get("schema_version") != SCHEMA_VERSION:
            reason = "another version of masktron has written it"
            raise UnreadableResultError.of("result-unreadable", file=name, reason=reason)
        return found

    def cancel(self) -> None:
        """Take note that somebody wants it to end; `RunQueue` sees to it."""
        with self.project.changing():
            if not self.is_cancelled:
                write_plain(self.folder / run_process.CANCEL, {"time": now()})


@contextmanager
def one_look() -> Iterator[None]:
    """Keep the first answer to where each run is, while one page is made.

    A run may end while a page is made. If its parts asked one after the other, one would say that the run goes on,
    and another one would not have the page asked for again.
    """
    token = _SEEN.set({})
    try:
        yield
    finally:
        _SEEN.reset(token)


def runs_of(project: Project) -> list[CommandRun]:
    """Return the runs of a project, the newest first."""
    found = _LISTS(f"{project.folder}/{RUNS}") or ()
    runs = [CommandRun(project, number, step) for number, step, _ in found]
    # a folder without a command is one that is being made: it was when its list was
    return [run for run, (_, _, begun) in zip(runs, found, strict=True) if begun or _is_begun(run)]


def run_of(project: Project, name: str) -> CommandRun | None:
    """Return a run by the name of its folder; None where there is none."""
    match = _FOLDER.fullmatch(name)
    run = None if match is None else CommandRun(project, int(match[1]), match[2])
    return run if run is not None and run.name == name and _is_begun(run) else None


def latest_run(project: Project, step: str, *, ended: bool = False) -> CommandRun | None:
    """Return the newest run of a step; with `ended`, the newest that ended with a result."""
    found = (run for run in runs_of(project) if run.step == step)
    return next((run for run in found if not ended or run.state is RunState.ENDED), None)


def _is_begun(run: CommandRun) -> bool:
    return os.path.exists(run.path_of(run_process.COMMAND))  # noqa: PTH110 -- pages ask for hundreds


def _list(folder: str) -> tuple[tuple[int, str, bool], ...]:
    """Return number, step and whether there is a command of each run in a folder, the newest first."""
    with os.scandir(folder) as entries:
        found = [(int(match[1]), match[2]) for one in entries if (match := _FOLDER.fullmatch(one.name))]
    return tuple(
        (number, step, os.path.exists(f"{folder}/{number:04d}-{step}/{run_process.COMMAND}"))  # noqa: PTH110
        for number, step in sorted(found, reverse=True)
    )


def _result(path: str) -> dict[str, Any]:
    with open(path, "rb") as stream:  # noqa: PTH123
        found = json.load(stream)
    if not isinstance(found, dict):
        raise TypeError("a result is a table")
    return found


_LISTS = kept_by_stamp(_list, files=200)
_RESULTS = kept_by_stamp(_result, files=20)


def prepared_run(
    project: Project,
    step: str,
    arguments: Sequence[Argument],
    *,
    draft: Mapping[str, bytes] | None = None,
) -> CommandRun:
    """Make the folder of a run, with copies of rules and settings as they are now, and its command.

    Parameters
    ----------
    project : Project
    step : str
        What the folder is called after its number: ``mask``.
    arguments : sequence of str, InRun or InRunOf
        Of the command, without ``masktron``. What a user typed stands behind the ``=`` of an option, so that it
        cannot be another option.
    draft : mapping of str to bytes, optional
        Files that take the place of the copies: what is tried out. Such a run does not wait for the others.

    Raises
    ------
    ProjectGoneError
        Somebody has deleted the project.
    """
    with project.changing():
        number = max((run.number for run in runs_of(project)), default=0) + 1
        while (project.runs / f"{number:04d}-{step}").exists():  # of a server that was killed here
            number += 1
        run = CommandRun(project, number, step)
        make_private(run.folder)
        copies = _copied(project, run.folder)
        for name, content in (draft or {}).items():
            write_bytes(run.folder / name, content)
            copies = [*copies, *({name} - {*copies})]
        plain = [_argument(run, one) for one in arguments]
        command: dict[str, Any] = {
            "arguments": plain,
            "asked": now(),
            "copies": copies,
            "stamps": _stamps(run, arguments),
            "schema_version": SCHEMA_VERSION,
        }
        command["aside"] = draft is not None
        write_plain(run.folder / run_process.COMMAND, command)
    return run


def stamp_of(project: Project, name: str) -> list[int] | None:
    """Return the stamp of a file; None where there is none.

    Parameters
    ----------
    project : Project
    name : str
        As a command in its folder names it.
    """
    try:
        found = os.stat(os.path.join(project.folder, name))  # noqa: PTH116, PTH118 -- each page asks for many
    except OSError:
        return None
    return stamp_from(found)


def stamp_from(found: os.stat_result) -> list[int]:
    """Return by what a file is known again: bytes, times of the last change in nanoseconds, number of the inode.

    Nobody can set the second of the times, that of the inode. The number of the device is not part of it, since it
    may be another one after a start of the machine.
    """
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _stamps(run: CommandRun, arguments: Sequence[Argument]) -> dict[str, list[int]]:
    """Return the stamps of what a command reads: uploads that it or settings name, and outputs of other runs."""
    project = run.project
    names = {one for one in arguments if isinstance(one, str) and one.startswith(UPLOAD)}
    names.update(*project.settings.named_files().values())
    for other in {one.run for one in arguments if isinstance(one, InRunOf)}:
        names |= {f"{RUNS}/{other.name}/{one.name}" for one in other.outputs}
    return {name: stamp for name in sorted(names) if (stamp := stamp_of(project, name)) is not None}


def _argument(run: CommandRun, one: Argument) -> str:
    match one:
        case InRun():
            return f"runs/{run.name}/{one.name}"
        case InRunOf():
            return f"runs/{one.run.name}/{one.name}"
        case _:
            return one


def _copied(project: Project, folder: Path) -> list[str]:
    """Copy rules and settings, which may change before the run begins, and after it."""
    copies = []
    for entry in plain_files(project.folder):
        kind = project_file(entry.name)
        if kind is not None and kind.copied and entry.name != SETTINGS_FILE:
            write_bytes(folder / entry.name, bytes_of(project.folder / entry.name) or b"")
            copies.append(entry.name)
    # also where there are none: else the command would take those that somebody writes into the folder afterwards
    write_bytes(folder / SETTINGS_FILE, project.settings.for_run(2) if project.settings.text else b"")
    return [*copies, SETTINGS_FILE]
