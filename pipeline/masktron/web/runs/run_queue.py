"""Which runs work now: at most so many at once; the others wait, on disk."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from masktron.errors import ResourceError
from masktron.processes import import_environment, interpreter
from masktron.web.mistakes import note_mistake
from masktron.web.runs import run_process
from masktron.web.runs.one_run import Argument, CommandRun, RunState, prepared_run, runs_of
from masktron.web.store.disk import write_plain
from masktron.web.store.projects import GONE, Project, ProjectStore

BEAT = 0.25
"""Seconds between two looks at the runs under way."""
GRACE = 8.0
"""Seconds that a cancelled run has to clean up, before it is killed."""
_DRAFTS = 1
"""Runs that try drafts out at the same time, beside those that are about to end."""
_PAUSE = 10.0
"""Seconds until a run that found no room is tried again."""


@dataclass(slots=True)
class _Working:
    run: CommandRun
    process: subprocess.Popen[bytes] | None
    """None where another server has started it."""
    ending: float | None = None
    """When it was asked to end."""
    killed: bool = False


class RunQueue:
    """Starts runs, watches them, and ends those that are cancelled.

    All that it knows is on disk as well: a server that begins finds the runs that wait and those that work.

    Parameters
    ----------
    store : ProjectStore
    at_once : int
        Runs that work at the same time.
    """

    def __init__(self, store: ProjectStore, at_once: int = 1) -> None:
        self._store = store
        self._at_once = at_once
        self._lock = threading.Lock()
        self._waiting: list[CommandRun] = []
        self._working: dict[Path, _Working] = {}
        self._not_before = 0.0
        """When runs may begin again, after there was no room."""

    def recover(self) -> None:
        """Find the runs that wait or work, as another server has left them."""
        with self._lock:
            found: list[tuple[str, str, CommandRun]] = []
            for project in self._store.all():
                for run in runs_of(project):
                    try:
                        if (state := run.state) is RunState.WAITING:
                            found.append((run.command["asked"], str(run.folder), run))
                        elif state is RunState.RUNNING:
                            self._working[run.folder] = _Working(run, None)
                        else:
                            _remove_scratch(run)
                    except (TypeError, ValueError, LookupError) as error:  # somebody has changed its files
                        note_mistake(error)
            self._waiting += [run for _, _, run in sorted(found, key=lambda one: one[:2])]

    def start(self, project: Project, step: str, arguments: Sequence[Argument]) -> CommandRun:
        """Enter a run, and return it at once; it works as soon as its turn comes.

        Raises
        ------
        ResourceError
            There is no room on the disk.
        """
        return self._entered(project, step, arguments)

    def try_out(
        self, project: Project, step: str, arguments: Sequence[Argument], files: Mapping[str, bytes]
    ) -> CommandRun:
        """Start a short run on a draft beside those that take their turns; the former one of the step ends and goes.

        Parameters
        ----------
        project : Project
        step : str
            No other run is called so.
        arguments : sequence of str, InRun or InRunOf
        files : mapping of str to bytes
            The draft, by the names of files in the folder of the run.

        Raises
        ------
        ResourceError
            There is no room on the disk.
        """
        gone = []
        with project.lock():  # who types sends the next draft before the one before has its answer
            for run in [one for one in runs_of(project) if one.step == step]:
                if run.is_over:
                    gone.append(run.folder.rename(run.folder.with_name(f"{GONE}{run.name}-{secrets.token_hex(4)}")))
                elif not run.is_cancelled:
                    self.cancel(run)
            run = self._entered(project, step, arguments, files)
        for folder in gone:
            shutil.rmtree(folder)
        return run

    def _entered(
        self,
        project: Project,
        step: str,
        arguments: Sequence[Argument],
        draft: Mapping[str, bytes] | None = None,
    ) -> CommandRun:
        run = prepared_run(project, step, arguments, draft=draft)
        with self._lock:
            self._waiting.append(run)
        return run

    def cancel(self, run: CommandRun) -> None:
        """End a run: at once if it waits, else as soon as its process has cleaned up."""
        run.cancel()
        with self._lock:
            self._waiting = [one for one in self._waiting if one.folder != run.folder]

    def end_project(self, project: Project) -> None:
        """Cancel all runs of a project and wait until none of its processes is left, so that it can be deleted."""
        runs = [run for run in runs_of(project) if not run.is_over]
        for run in runs:
            self.cancel(run)
            with self._lock:
                working = self._working.get(run.folder)
            if working is not None:
                self._signal(working, signal.SIGKILL)
        limit = time.monotonic() + GRACE
        while any(run.is_held for run in runs) and time.monotonic() < limit:
            time.sleep(0.02)

    def place(self, run: CommandRun) -> int | None:
        """Return how many runs come before one that waits."""
        with self._lock:
            found = [one.folder for one in self._waiting]
        return found.index(run.folder) if run.folder in found else None

    def busy(self) -> set[Path]:
        """Return the folders of projects that have a run under way."""
        with self._lock:
            return {run.project.folder for run in (*self._waiting, *(one.run for one in self._working.values()))}

    async def work(self) -> None:
        """Look after the runs until cancelled; they go on without it."""
        while True:
            try:
                await asyncio.to_thread(self.beat)
            except Exception as error:  # noqa: BLE001 -- other runs go on
                note_mistake(error)
            await asyncio.sleep(BEAT)

    def leave(self) -> None:
        """Leave the processes to themselves, as another server, or nobody, looks after them from now on."""
        with self._lock:
            for working in self._working.values():
                if working.process is not None and working.process.poll() is None:
                    working.process.returncode = 0  # it is not waited for

    def beat(self) -> None:
        """Take away what has ended, end what was cancelled, start what may start."""
        with self._lock:
            for folder, working in list(self._working.items()):
                if self._is_over(working):
                    del self._working[folder]
                    _remove_scratch(working.run)
                elif working.run.is_cancelled:
                    self._end(working)
            for aside, at_once in ((False, self._at_once), (True, _DRAFTS)):
                self._begin_some(aside, at_once)

    def _begin_some(self, aside: bool, at_once: int) -> None:
        if time.monotonic() < self._not_before:
            return
        works = [one.run for one in self._working.values() if one.run.is_aside == aside]
        # who types on does not wait for what has been typed before
        busy = sum(not (aside and run.is_cancelled) for run in works)
        for run in [one for one in self._waiting if one.is_aside == aside]:
            if busy >= at_once:
                break
            self._waiting.remove(run)
            if run.folder.is_dir() and not run.is_cancelled:
                self._try(run)
                busy += 1

    def _try(self, run: CommandRun) -> None:
        try:
            self._begin(run)
        except OSError as error:  # no process, or no room
            note_mistake(error)
            if not self._note_unbegun(run, str(error.strerror)):
                self._waiting.insert(0, run)
                self._not_before = time.monotonic() + _PAUSE

    @staticmethod
    def _note_unbegun(run: CommandRun, problem: str) -> bool:
        """Write that a run could not begin; False where there is no room for even that."""
        now = time.time()
        ended = {"code": None, "problem": problem, "began": now, "ended": now}
        try:
            write_plain(run.folder / run_process.EXIT, ended)
        except FileNotFoundError:  # it was deleted meanwhile
            return True
        except (OSError, ResourceError) as error:
            note_mistake(error)
            return False
        return True

    def _begin(self, run: CommandRun) -> None:
        executable = interpreter() or sys.executable
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with os.fdopen(os.open(run.folder / run_process.STDERR, flags, 0o600), "wb") as err:
            process = subprocess.Popen(  # noqa: S603 -- ourselves
                [executable, "-P", "-m", "masktron.web.runs.run_process", str(run.folder)],
                cwd=run.project.folder,
                env=import_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                start_new_session=True,
            )
        self._working[run.folder] = _Working(run, process)

    def _is_over(self, working: _Working) -> bool:
        process, run = working.process, working.run
        if process is None:
            return not run.is_held
        if process.poll() is None:
            return False
        if run.folder.is_dir() and run.state is RunState.WAITING:  # else it would be started for ever
            problem = f"its process ended with code {process.returncode} before it began"
            if not self._note_unbegun(run, problem):
                return False
        return not run.is_held  # the command may live on where the process above it was killed

    def _end(self, working: _Working) -> None:
        now = time.monotonic()
        if working.ending is None:
            if self._signal(working, signal.SIGTERM):
                working.ending = now
        elif not working.killed and now - working.ending > GRACE:
            working.killed = self._signal(working, signal.SIGKILL)

    @staticmethod
    def _signal(working: _Working, number: signal.Signals) -> bool:
        """Send a signal to all processes of a run; False where it has none as yet."""
        # who holds the lock is in the group, so its number is nobody else's
        pid = working.run.pid if working.run.is_held else None
        if pid is None:
            return False
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(pid, number)
        return True


def _remove_scratch(run: CommandRun) -> None:
    """Remove the temporary files of a run that was killed; one that has ended has done so itself."""
    try:
        shutil.rmtree(run.path_of(run_process.SCRATCH))
    except FileNotFoundError:
        return
    except OSError as error:  # it goes with its project at the latest
        note_mistake(error)
