"""The first step: microdata uploaded or picked, and what was read of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from masktron.errors import UsageError
from masktron.web.runs.one_run import CommandRun, InRun, RunState, latest_run
from masktron.web.store.file_names import listed
from masktron.web.store.projects import Project
from masktron.web.web_page import FormFields, Redirect, StepState, Visit, WebPage

STEP = "describe"
"""What runs of it are called."""
RESULT = "describe.json"


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    run = latest_run(project, STEP)
    return {
        "uploads": project.uploads(),
        "data": project.data(),
        "folders": [_folder(place, visit, number) for number, place in enumerate(project.pickable)],
        "largest": min(visit.largest_upload, visit.store.left(visit.user)),
        "run": run,
        "run_path": None if run is None else visit.path_of_run(run),
        "active": run is not None and not run.is_over,
        "result": None if run is None else _result(run, project),
    }


def _folder(place: Path, visit: Visit, number: int) -> dict[str, Any]:
    """Return what can be picked from a folder; ``?in=NUMBER:FOLDER`` says which folder of it is open."""
    asked, _, inner = visit.query.get("in", "").partition(":")
    inner = inner if asked == str(number) else ""
    folders, files = listed(place, inner)
    return {
        "number": number,
        "name": place.name or str(place),
        "inner": inner,
        "above": inner.rpartition("/")[0],
        "folders": [(one, f"{inner}/{one}".lstrip("/")) for one in folders],
        "files": [(one, f"{inner}/{one}".lstrip("/"), size) for one, size in files],
    }


def _result(run: CommandRun, project: Project) -> dict[str, Any] | None:
    """Return what the command found, if it speaks of the data that the project has now."""
    if run.state is not RunState.ENDED or project.data() not in run.command["arguments"]:
        return None
    return run.result(RESULT)


def look_at(visit: Visit, project: Project) -> CommandRun:
    """Start the command that reads the data and says what it found.

    Raises
    ------
    UsageError
        There are none.
    """
    if (data := project.data()) is None:
        raise UsageError("there are no data as yet", hint="upload a file, or pick one")
    return visit.start(project, STEP, ["describe", data, "--config", InRun("masktron.toml"), "--json", InRun(RESULT)])


def _took(visit: Visit, project: Project, name: str) -> Redirect:
    project.choose_data(name, by=visit.user)
    look_at(visit, project)
    return Redirect(visit.path(project, "data"))


def _choose(visit: Visit, project: Project, form: FormFields) -> Redirect:
    return _took(visit, project, form.text("file"))


def _pick(visit: Visit, project: Project, form: FormFields) -> Redirect:
    number = form.text("folder")
    if not (number.isascii() and number.isdigit() and int(number) < len(project.pickable)):
        raise UsageError("there is no such folder", hint="pick a file from the list")
    project.choose_data(form.raw("file"), folder=project.pickable[int(number)], by=visit.user)
    look_at(visit, project)
    return Redirect(visit.path(project, "data"))


def _read(visit: Visit, project: Project, _: FormFields) -> Redirect:
    look_at(visit, project)
    return Redirect(visit.path(project, "data"))


def _remove(visit: Visit, project: Project, form: FormFields) -> Redirect:
    project.remove_upload(form.text("file"))
    return Redirect(visit.path(project, "data"))


def _state(project: Project) -> StepState:
    try:
        data = project.data()
    except UsageError as error:
        return StepState(False, error.what, problem=True)
    if data is None:
        return StepState(False, "upload a file, or pick one")
    return StepState(True, Path(data).name)


DATA = WebPage(
    "data",
    "data",
    "Data",
    _show,
    step="data",
    actions={"choose": _choose, "pick": _pick, "read": _read, "remove": _remove},
    take=_took,
    state=_state,
)
