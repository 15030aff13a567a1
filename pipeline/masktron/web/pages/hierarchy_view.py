"""The classes of the values of one field: proposed, uploaded, looked through and edited."""

from __future__ import annotations

import csv
import hashlib
import io
from typing import Any
from urllib.parse import quote

from masktron.errors import UsageError
from masktron.hierarchies import Hierarchy
from masktron.web.pages.key_facts import current_keys
from masktron.web.pages.paging import page_of_items
from masktron.web.pages.project_hierarchies import (
    MOST_BYTES,
    checked_hierarchy,
    hierarchy_name,
    hierarchy_of,
    text_of_hierarchy,
)
from masktron.web.pages.roles_step import described_fields
from masktron.web.pages.step_runs import is_current, needed_data, result_of
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import Argument, CommandRun, InRun, runs_of
from masktron.web.store.disk import bytes_of
from masktron.web.store.project_settings import hierarchies_of
from masktron.web.store.projects import Project
from masktron.web.web_page import FormFields, NothingHereError, PageProblem, Redirect, Visit, WebPage, problem_of

PROPOSED, RESULT = "proposed.hierarchy.csv", "hierarchy.json"
_MISSING_SHOWN = 40


def _field(visit: Visit, project: Project) -> dict[str, Any]:
    """Return the field of the address, as the data have it."""
    name = visit.parts["field"]
    found = next((one for one in described_fields(project) or () if one["name"] == name), None)
    if found is None:
        raise NothingHereError
    return found


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    field = _field(visit, project)
    name = field["name"]
    hierarchy = hierarchy_of(project, name)
    run = _proposal(project, name)
    active = run is not None and not run.is_over
    counts = _counts(project, name)
    rows = [] if hierarchy is None else _rows(hierarchy)
    page = page_of_items(rows, visit.query)
    return {
        "field": field,
        "own": _path(visit, project, name),
        "file": hierarchy_name(name) if text_of_hierarchy(project, name) else None,
        "unreadable": hierarchy is None and bool(text_of_hierarchy(project, name)),
        "hierarchy": hierarchy,
        "labels": [] if hierarchy is None else [len(set(level.values())) for level in hierarchy.levels],
        "rows": page,
        "counts": counts,
        "without": _without(hierarchy, counts),
        "stamp": _stamp(project, name),
        "largest": MOST_BYTES,
        "run": run,
        "run_path": None if run is None else visit.path_of_run(run),
        "active": active,
        "proposal": None if run is None or active or not is_current(run) else result_of(run, RESULT),
        "problems": _problems(run),
    }


def _problems(run: CommandRun | None) -> list[PageProblem]:
    """Return what stood in the way of a proposal, at its field."""
    if run is None or not run.is_over or run.error is None:
        return []
    return [problem_of(run.error, ("width", "levels", "digits"))]


def _path(visit: Visit, project: Project, name: str) -> str:
    return visit.path(project, f"protect/hierarchy/{quote(name, safe='')}")


def _rows(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    return [tuple(level[value] for level in hierarchy.levels) for value in hierarchy.levels[0]]


def _counts(project: Project, name: str) -> dict[str, int]:
    """Return how many records have each value, where somebody has measured what keys tell."""
    found = current_keys(project)
    fields = [] if found is None else [one for one in found["fields"] if one["field"] == name]
    return dict(fields[0]["values"] or {}) if fields else {}


def _without(hierarchy: Hierarchy | None, counts: dict[str, int]) -> dict[str, Any]:
    """Return values of the data without a row, which would stop a run, as rows that somebody can complete."""
    if hierarchy is None:
        return {"count": 0, "listed": []}
    found = [value for value in counts if value not in hierarchy.levels[0]]
    return {"count": len(found), "listed": found[:_MISSING_SHOWN]}


def _stamp(project: Project, name: str) -> str:
    return hashlib.sha256(text_of_hierarchy(project, name)).hexdigest()[:16]


def _proposal(project: Project, name: str) -> CommandRun | None:
    """Return the latest run that has proposed classes for the field."""
    asked = f"--field={name}"
    runs = (run for run in runs_of(project) if run.step == run_kinds.HIERARCHY.step)
    return next((run for run in runs if asked in run.command["arguments"]), None)


def _propose(visit: Visit, project: Project, form: FormFields) -> Redirect:
    name = _field(visit, project)["name"]
    words: list[Argument] = ["hierarchy", needed_data(project), f"--field={name}", "--out", InRun(PROPOSED)]
    if form.text("by") == "codes":
        words += [f"--digits={form.text('digits')}"]
    else:
        words += [f"--width={form.text('width')}", f"--levels={form.text('levels') or '4'}"]
    visit.start(project, run_kinds.HIERARCHY, [*words, "--json", InRun(RESULT)])
    return Redirect(_path(visit, project, name))


def _take_proposal(visit: Visit, project: Project, form: FormFields) -> Redirect:
    name = _field(visit, project)["name"]
    run = _proposal(project, name)
    if run is None or run.name != form.text("run") or run.output(PROPOSED) is None:
        raise UsageError.of("page-outdated", reason="this proposal is gone")
    content = bytes_of(run.folder / PROPOSED) or b""
    return _kept(visit, project, name, checked_hierarchy(content, name), "taken as proposed")


def _took(visit: Visit, project: Project, upload: str) -> Redirect:
    name = _field(visit, project)["name"]
    content = checked_hierarchy(project.small_upload(upload, MOST_BYTES), name)
    answer = _kept(visit, project, name, content, f"uploaded from {upload}")
    project.remove_upload(upload)
    return answer


def _kept(visit: Visit, project: Project, name: str, content: bytes, said: str) -> Redirect:
    project.write({hierarchy_name(name): content}, said=f"Hierarchy of {name} {said}")
    return Redirect(_path(visit, project, name))


def _save(visit: Visit, project: Project, form: FormFields) -> Redirect:
    """Write the classes that were typed in the place of those that the page showed."""
    name = _field(visit, project)["name"]
    hierarchy = hierarchy_of(project, name)
    if hierarchy is None or form.text("stamp") != _stamp(project, name):
        raise UsageError.of("page-outdated", reason="the hierarchy has changed since")
    rows = [list(row) for row in _rows(hierarchy)]
    for place, text in form.with_prefix("cell.").items():
        row, _, level = place.partition(".")
        digits = row.isascii() and row.isdigit() and level.isascii() and level.isdigit()
        if not digits or int(row) >= len(rows) or not 1 <= int(level) <= hierarchy.height:
            raise UsageError.of("page-outdated", reason="the hierarchy has no such cell")
        rows[int(row)][int(level)] = text
    gone = {int(one) for one in form.texts("gone") if one.isascii() and one.isdigit() and len(one) < 9}
    stream = io.StringIO()
    csv.writer(stream, delimiter=";", lineterminator="\n").writerows(
        row for at, row in enumerate(rows) if at not in gone
    )
    content = checked_hierarchy((stream.getvalue() + form.raw("more")).encode(), name)
    answer = _kept(visit, project, name, content, "edited")
    page = visit.query.get("page", "")
    return Redirect(f"{answer.to}?page={page}") if page.isascii() and page.isdigit() else answer


def _remove(visit: Visit, project: Project, _: FormFields) -> Redirect:
    name = _field(visit, project)["name"]
    if hierarchy_name(name) in hierarchies_of(project.settings.table).values():
        raise UsageError.of("hierarchy-in-use")
    project.write({hierarchy_name(name): None}, said=f"Hierarchy of {name} removed")
    return Redirect(visit.path(project, "protect"))


HIERARCHY = WebPage(
    "hierarchy",
    "protect/hierarchy/{field}",
    "Classes of a field",
    _show,
    actions={"propose": _propose, "take": _take_proposal, "save": _save, "remove": _remove},
    take=_took,
)
