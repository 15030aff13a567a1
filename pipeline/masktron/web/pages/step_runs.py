"""What steps have in common: their latest run, whether it still speaks of the project as it is, and its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from masktron.errors import UsageError
from masktron.results.result import SCHEMA_VERSION
from masktron.web.runs.checked_files import sha256_of_open
from masktron.web.runs.one_run import UPLOAD, Argument, CommandRun, InRun, latest_run, runs_of, stamp_of
from masktron.web.runs.run_kinds import KINDS, RunKind
from masktron.web.store.disk import bytes_of, digest_of, plain_files
from masktron.web.store.project_files import RULEBOOKS
from masktron.web.store.project_settings import NAME as SETTINGS_FILE
from masktron.web.store.project_settings import hierarchies_of, table_of, text_of
from masktron.web.store.projects import RULES, Project
from masktron.web.web_page import Visit


def needed_data(project: Project) -> str:
    """Return the microdata, as a word of a command.

    Raises
    ------
    UsageError
        There are none.
    """
    if (data := project.data()) is None:
        raise UsageError.of("earlier-step-missing", missing="data", page="Data")
    return data


def given_rules(project: Project) -> list[Argument]:
    """Return the option that names the rulebook; nothing where there is none."""
    return ["--rules", InRun(RULES)] if project.has_rules else []


def needed_rules(project: Project) -> Argument:
    """Return the rulebook, as a word of a command.

    Raises
    ------
    UsageError
        There is none.
    """
    if not project.has_rules:
        raise UsageError.of("earlier-step-missing", missing="rules", page="Rules")
    return InRun(RULES)


def current_run(project: Project, step: str) -> CommandRun | None:
    """Return the latest run of a step, if it still speaks of the project as it is."""
    run = latest_run(project, step)
    return run if run is not None and is_current(run) else None


def good_run(project: Project, step: str) -> CommandRun | None:
    """Return the latest run of a step that ended with code 0 on data, rules and settings as they are."""
    return next(
        (run for run in runs_of(project) if run.step == step and run.exit_code == 0 and is_current(run)), None
    )


def told_run(project: Project, step: str) -> CommandRun | None:
    """Return the run of a step that its page tells of: the latest one.

    Where that has ended on what has changed since, as by an undo, it is the latest that ended well on what there is.
    """
    run = latest_run(project, step)
    if run is None or not run.is_over or is_current(run):
        return run
    return good_run(project, step) or run


def is_current(run: CommandRun) -> bool:
    """Tell whether all on which the result of a run depends is still what it had.

    Its kind says what that is (`run_kinds`): the data and other files that it read, the rulebook with all that this
    takes in, settings. What a version of masktron with other results has written is not current.
    """
    if not _is_of_this_version(run):
        return False
    kind = KINDS[run.step]
    project = run.project
    try:
        data = project.data()
        same = not kind.data or (kind.without_data if data is None else run.is_of(data))
        return (
            same
            and _same_rules(run, kind)
            and _same_settings(run, kind)
            and _same_hierarchies(run, kind)
            and _same_files(run, kind)
        )
    except UsageError:  # somebody has broken the settings
        return False


def _same_rules(run: CommandRun, kind: RunKind) -> bool:
    if not kind.rules:
        return True
    now = [one.name for one in plain_files(run.project.folder) if RULEBOOKS.matches(one.name)]
    had = [name for name in run.copies if RULEBOOKS.matches(name)]
    return now == sorted(had) and all(
        digest_of(f"{run.project.folder}/{name}") == digest_of(run.path_of(name)) for name in now
    )


def _same_settings(run: CommandRun, kind: RunKind) -> bool:
    settings = run.project.settings
    now = settings.for_run(2) if kind.settings and settings.text else b""
    had = (bytes_of(run.path_of(SETTINGS_FILE)) or b"") if kind.settings else b""
    return now == had or _said(now, kind) == _said(had, kind)


def _same_hierarchies(run: CommandRun, kind: RunKind) -> bool:
    """Tell whether the hierarchies that settings name are those that a run had beside its settings."""
    named = hierarchies_of(run.project.settings.table).values() if "recode" in kind.settings else ()
    return all(digest_of(f"{run.project.folder}/{name}") == digest_of(run.path_of(name)) for name in named)


def _said(settings: bytes, kind: RunKind) -> dict[str, Any]:
    """Return what settings say to runs of a kind."""
    table = table_of(text_of(settings))
    return {name: value for name, value in table.items() if name in kind.settings}


def _same_files(run: CommandRun, kind: RunKind) -> bool:
    """Tell whether the files that a run has read have been written anew since."""
    stamps = run.command.get("stamps", {})
    names = {word for word in run.command["arguments"] if word.startswith(UPLOAD)} if kind.data else set()
    if len(stamps) > len(names & stamps.keys()):  # files that settings name
        for setting, files in run.project.settings.named_files().items():
            names |= {*files} & stamps.keys() if setting in kind.settings else set()
    return all(stamps.get(name) == stamp_of(run.project, name) for name in names)


def result_of(run: CommandRun | None, name: str) -> dict[str, Any] | None:
    """Return an output of JSON that a run has written, as plain data; None where it has not.

    None also of a version of masktron with other results: such a run is not current, and pages say so.

    Raises
    ------
    UnreadableResultError
        It is too large for a page.
    """
    return None if run is None or not run.is_over or not _is_of_this_version(run) else run.result(name)


def _is_of_this_version(run: CommandRun) -> bool:
    return bool(run.command.get("schema_version") == SCHEMA_VERSION)


def run_context(visit: Visit, run: CommandRun | None) -> dict[str, Any]:
    """Return what templates show of a run."""
    return {
        "run": run,
        "run_path": None if run is None else visit.path_of_run(run),
        "active": run is not None and not run.is_over,
        "stale": run is not None and run.is_over and not is_current(run),
        "folder": str(run.project.folder) if run is not None and visit.is_local else None,
    }


def cancel_run(visit: Visit, project: Project, step: str) -> None:
    """Cancel the latest run of a step, unless it is over."""
    run = latest_run(project, step)
    if run is not None and not run.is_over:
        visit.queue.cancel(run)


def sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of a file in hexadecimal digits; None of one that is too large to read for a page."""
    with path.open("rb") as stream:
        return sha256_of_open(stream)
