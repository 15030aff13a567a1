"""A project at a glance: how far each step is, what comes next, and its latest runs."""

from __future__ import annotations

from typing import Any

from masktron.web.runs.one_run import runs_of
from masktron.web.store.projects import Project, project_name
from masktron.web.web_page import FormFields, Redirect, Visit, WebPage

_SHOWN = 8


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    runs = [run for run in runs_of(project) if not run.is_aside]
    return {
        "runs": [{"path": visit.path_of_run(run), "run": run, "state": run.state.value} for run in runs[:_SHOWN]],
        "more": max(0, len(runs) - _SHOWN),
        "folder": str(project.folder) if visit.is_local else None,
        "has_settings": project.settings.is_there,
    }


def _rename(visit: Visit, project: Project, form: FormFields) -> Redirect:
    name = project_name(form.text("name"))
    project.change_facts(said=f"Name: {name}", name=name)
    return Redirect(visit.path(project))


OVERVIEW = WebPage("overview", "", "Overview", _show, actions={"rename": _rename})
