"""Runs of masktron web that have ended, laid down in the folder of a project without a process."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from masktron.commands.told_errors import tell
from masktron.errors import ERROR_FILE, MasktronError
from masktron.results.result import SCHEMA_VERSION
from masktron.web.pages.all_pages import PAGES
from masktron.web.runs import run_process
from masktron.web.runs.one_run import Argument, CommandRun, prepared_run
from masktron.web.store.projects import Project

VERDICT: Mapping[str, Any] = {
    "rules": {"level": "green", "ground": "rules", "reason": "Every rule holds.", "figures": {}},
    "protection": {"level": "amber", "ground": "no-limit", "reason": "No limit is set.", "figures": {}},
    "details": "12.5 % of the records link to their original by distance.",
}
MASKED: Mapping[str, Any] = {
    "job": "mask", "verdict": VERDICT, "records_in": 12, "records_out": 11, "min_group": 3,
    "linkage": 12.5, "information_loss": None,
    "method": "mdav", "promise": "3 records are alike", "notes": ["a note"], "excluded": [4],
    "engines": [{"engine": "libxml2", "agrees": True, "rules": 2, "records": 11, "violations": 0}],
    "figures": [
        {"figure": "linkage", "group": "risk", "value": 12.5, "unit": "%", "meaning": "found again"},
        {"figure": "pil", "group": "utility", "value": None, "unit": "%", "meaning": "loss"},
    ],
}  # fmt: skip
"""What ``mask --json`` writes, as far as pages show it."""


def laid_run(
    project: Project,
    step: str,
    arguments: Sequence[Argument],
    outputs: Mapping[str, Any] | None = None,
    *,
    code: int = 0,
    error: Mapping[str, Any] | MasktronError | None = None,
) -> CommandRun:
    """Return a run that has ended: with its outputs (text, bytes, or plain data as JSON), its code and its error.

    An error stands as commands write it; of plain data, what is not said is as of a sentence alone.
    """
    run = prepared_run(project, step, arguments)
    began = time.time() - 5
    for name, content in (outputs or {}).items():
        data = (
            content if isinstance(content, str | bytes) else json.dumps({"schema_version": SCHEMA_VERSION, **content})
        )
        (run.folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    (run.folder / run_process.PROCESS).write_text(json.dumps({"pid": 1, "began": began}))
    if isinstance(error, MasktronError):
        tell_error(run, error)
    elif error is not None:
        told = {"kind": "UsageError", "where": "", "hint": "", "exit_code": code, **error}
        (run.folder / run_process.ERROR).write_text(json.dumps(told))
    ended = {"code": code, "problem": "", "began": began, "ended": began + 5}
    (run.folder / run_process.EXIT).write_text(json.dumps(ended))
    return run


def tell_error(run: CommandRun, error: MasktronError) -> None:
    """Let a command have told its error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ERROR_FILE, str(run.folder / run_process.ERROR))
        tell(type(error).__name__, error.what, error.exit_code, hint=error.hint, error=error)


def described(*fields: Mapping[str, Any], problems: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return what ``describe --json`` writes, with these fields; what they do not say is as of a number."""
    usual = {
        "label": "", "type": "integer", "kind": "number", "why": "all values are numbers", "role": "confidential",
        "labels": {}, "missing_codes": {}, "missing": 0, "distinct": 300, "many": False, "least": "1",
        "greatest": "99", "frequent": [], "unmet_codes": [], "level": "",
    }  # fmt: skip
    rows = [{"column": one["name"], **usual, **one} for one in fields]
    return {"job": "describe", "records": 400, "fields": rows, "rows": [], "problems": list(problems), "notes": []}


def text_field(name: str, *values: str, role: str | None = None) -> dict[str, Any]:
    """Return a field of texts as ``describe`` has it; without a role, `mask` asks."""
    return {
        "name": name, "type": "text", "kind": None if role is None else "nominal", "role": role, "least": None,
        "why": "a text without a role", "greatest": None, "distinct": len(values),
        "frequent": [{"value": one, "label": "", "records": 9} for one in values],
    }  # fmt: skip


def state_of(project: Project, name: str) -> Any:
    """Return what a page says of its step."""
    page = next(one for one in PAGES if one.name == name)
    assert page.state is not None
    return page.state(project)
