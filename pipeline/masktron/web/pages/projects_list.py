"""The list of projects: new ones, the sample, and what is done with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from masktron.errors import MasktronError
from masktron.web.mistakes import note_mistake
from masktron.web.runs.one_run import runs_of
from masktron.web.store.projects import Project, ProjectFacts, ProjectGoneError
from masktron.web.web_page import FormFields, NothingHereError, Redirect, Visit


def show(visit: Visit) -> dict[str, Any]:
    """Return what the template gets."""
    projects = visit.store.newest()
    return {
        "projects": [
            {
                "path": visit.path(one),
                "facts": _facts(one),
                "identity": one.identity,
                "busy": any(not run.is_over for run in runs_of(one)),
            }
            for one in projects
        ],
        "left": visit.store.left(),
    }


def _facts(project: Project) -> ProjectFacts:
    """Return what a project says of itself; the others are listed although one cannot be read."""
    try:
        return project.facts
    except MasktronError as error:
        note_mistake(error)
        return ProjectFacts("A project that cannot be read", "")


def _new(visit: Visit, form: FormFields) -> Redirect:
    return Redirect(visit.path(visit.store.make(form.text("name"))))


def _sample(visit: Visit, _: FormFields) -> Redirect:
    return Redirect(visit.path(visit.store.make_sample()))


def _delete(visit: Visit, form: FormFields) -> Redirect:
    project = visit.store.get(form.text("project"))
    if project is None:
        raise NothingHereError
    with suppress(ProjectGoneError):  # by another window
        visit.queue.end_project(project)
    visit.store.delete(project)
    return Redirect("/")


ACTIONS: Mapping[str, Callable[[Visit, FormFields], Redirect]] = {"new": _new, "sample": _sample, "delete": _delete}
"""What forms of the page may ask for."""
