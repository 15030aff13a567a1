"""A run: how far it is, what came out, and the command that does the same."""

from __future__ import annotations

from typing import Any

from masktron.web.runs.checked_files import may_leave
from masktron.web.runs.one_run import CommandRun, RunState, run_of
from masktron.web.store.projects import Project
from masktron.web.web_page import FormFields, NothingHereError, Redirect, Visit, WebPage

_SAID = {
    RunState.WAITING: "waits for its turn",
    RunState.RUNNING: "works",
    RunState.ENDED: "has ended",
    RunState.CANCELLED: "was cancelled",
    RunState.LOST: "has ended without a result: the machine was switched off, or the system has ended it",
}
_CODES = {
    0: "All that was asked for holds.",
    1: "An edit, a contract or a limit fails.",
    5: "The rules and the protection cannot both be kept, or the records were released before.",
    6: "An engine, or the run, lacks time or memory.",
    7: "masktron itself has a mistake; this says nothing of rules and data.",
}
"""Exit codes that say more than that there was an error."""


def _found(visit: Visit, project: Project) -> CommandRun:
    if (run := run_of(project, visit.parts["run"])) is None:
        raise NothingHereError
    return run


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    run = _found(visit, project)
    state = run.state
    return {
        "run": run,
        "state": state.value,
        "says": _SAID[state],
        "verdict": _CODES.get(run.exit_code if run.exit_code is not None else -1) if run.is_over else None,
        "active": state in (RunState.WAITING, RunState.RUNNING),
        "place": visit.queue.place(run),
        "stages": run.stages if state is RunState.RUNNING else [],
        "path": visit.path_of_run(run),
        "folder": str(project.folder) if visit.is_local else None,
        "again": _again(run),
        "outputs": [
            {
                "name": one.name,
                "size": one.size,
                "confidential": one.confidential,
                "path": visit.path_of_run(run, one.name) if one.confidential or _leaves(run, one.name) else None,
                "report": visit.path_of_report(run, one.name) if one.name.endswith(".html") else None,
            }
            for one in (run.outputs if run.is_over else [])
        ],
        "release": visit.path(project, "release"),
        "copies": [(one, visit.path_of_run(run, one)) for one in run.copies],
    }


def _leaves(run: CommandRun, name: str) -> bool:
    with (run.folder / name).open("rb") as stream:
        return may_leave(run, name, stream)


def _again(run: CommandRun) -> str | None:
    """Return the command that repeats a run of mask to the byte, by the secret in its manifest."""
    manifests = [one.name for one in run.outputs if one.name.endswith(".manifest.json")]
    arguments = run.command["arguments"]
    if not manifests or not arguments or arguments[0] != "mask" or "--secret" in arguments:
        return None
    manifest = f"runs/{run.name}/{manifests[0]}"
    return f"{run.shown_command} --secret {manifest}"


def _cancel(visit: Visit, project: Project, _: FormFields) -> Redirect:
    run = _found(visit, project)
    if not run.is_over:
        visit.queue.cancel(run)
    return Redirect(visit.path_of_run(run))


RUN = WebPage("run", "runs/{run}", "Run", _show, actions={"cancel": _cancel})
