"""What was done in a project, the newest first, with undo; and all of its runs."""

from __future__ import annotations

from typing import Any

from masktron.web.runs.one_run import runs_of
from masktron.web.store.projects import Project
from masktron.web.web_page import FormFields, Redirect, Visit, WebPage

_PAGE = 100


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    changes = project.history.changes()
    undone = {one.undoes for one in changes}
    entries = [
        {"time": one.time, "said": one.said, "undone": one.number in undone, "path": None, "state": ""}
        for one in reversed(changes)
    ]
    entries += [
        {
            "time": run.command["asked"],
            "said": run.shown_command,
            "undone": False,
            "path": visit.path_of_run(run),
            "name": run.name,
            "state": run.state.value,
        }
        for run in runs_of(project)
        if not run.is_aside
    ]
    entries.sort(key=lambda one: str(one["time"]), reverse=True)
    return {"entries": entries[:_PAGE], "more": max(0, len(entries) - _PAGE), "undoable": project.history.undoable()}


def _undo(visit: Visit, project: Project, form: FormFields) -> Redirect:
    project.undo(form.text("change"))
    return Redirect(visit.path(project, "history"))


HISTORY = WebPage("history", "history", "History", _show, actions={"undo": _undo})
