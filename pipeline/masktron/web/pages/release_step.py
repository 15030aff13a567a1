"""The last step: the masked file in the format that is wanted, checked once more; its reports and its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from masktron.errors import UsageError
from masktron.sources.known_formats import known_formats
from masktron.web.pages.form_values import choice_from
from masktron.web.pages.key_facts import treated_context
from masktron.web.pages.mask_step import ABOUT, PAGE, needs_a_look, verdict_of
from masktron.web.pages.mask_step import RESULT as MASK_RESULT
from masktron.web.pages.roles_step import is_nested
from masktron.web.pages.step_runs import cancel_run, is_current, result_of, sha256_of
from masktron.web.runs import run_kinds
from masktron.web.runs.checked_files import (
    CHECK_RESULT,
    CheckedFile,
    checked_file,
    masked_name,
    may_leave,
    word_of,
)
from masktron.web.runs.one_run import (
    LARGEST_RESULT,
    Argument,
    CommandRun,
    InRun,
    InRunOf,
    RunOutput,
    run_of,
    runs_of,
    stamp_of,
)
from masktron.web.store.disk import lines_of
from masktron.web.store.project_files import HIERARCHIES
from masktron.web.store.project_settings import NAME as SETTINGS_FILE
from masktron.web.store.projects import RULES, Project
from masktron.web.web_page import FormFields, NothingHereError, Redirect, StepState, Visit, WebPage

CHECK_PAGE, CONVERT_RESULT = "check.html", "convert.json"
_XML, *_TABLES = known_formats()
FORMATS: Mapping[str, str] = {one.name: one.what for one in (*_TABLES, _XML) if not one.instead}
"""Formats that a release can be written in, by name, as a reader knows them."""


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    mask = _masking(project)
    files = [] if mask is None else _files(visit, mask)
    last = next((run for run in runs_of(project) if run.step in (run_kinds.CHECK.step, run_kinds.CONVERT.step)), None)
    register = project.settings.config.register
    return {
        "mask": mask,
        "mask_path": None if mask is None else visit.path_of_run(mask),
        "stale": mask is not None and not is_current(mask),
        "files": files,
        "concerns": (result_of(mask, MASK_RESULT) or {}).get("concerns", []),
        "verdict": verdict_of(result_of(mask, MASK_RESULT)),
        "waiting": last,
        "waiting_path": None if last is None else visit.path_of_run(last),
        "active": last is not None and not last.is_over,
        "error": last.error if last is not None and last.is_over else None,
        "formats": _formats(project, mask),
        "about": _document(visit, mask, ABOUT),
        "rules": _document(visit, mask, _rules(mask)),
        "settings_files": [] if mask is None else _settings_files(visit, mask),
        **treated_context(result_of(mask, MASK_RESULT)),
        "inside": [one for one in (_document(visit, mask, PAGE), _document(visit, mask, _manifest(mask))) if one],
        "register": None if register is None else register.path.as_posix(),
        "releases": [] if register is None else _releases(project.folder / register.path),
        "settings_text": project.settings.text,
        "folder": str(project.folder) if visit.is_local else None,
        "runs": _commands(mask, files),
        "problems": [],
    }


def _masking(project: Project) -> CommandRun | None:
    """Return the latest run that has masked the data by rules and settings as they are; else the latest of all."""
    ended = (run for run in runs_of(project) if run.step == run_kinds.MASK.step and run.exit_code == 0)
    found = [run for run in ended if masked_name(run) is not None]
    return next((run for run in found if is_current(run)), found[0] if found else None)


def _masked(run: CommandRun) -> str:
    """Return the name of the file that a run has masked or converted."""
    if (name := masked_name(run)) is None:
        raise NothingHereError
    return name


def _manifest(run: CommandRun | None) -> str:
    names = [] if run is None else [one.name for one in run.outputs if one.name.endswith(".manifest.json")]
    return names[0] if names else ""


def _rules(run: CommandRun | None) -> str:
    """Return the name of the rules that hold in the masked file; empty where those of the project do."""
    outputs = [] if run is None else run.outputs
    return next((one.name for one in outputs if one.is_rulebook), "")


def _formats(project: Project, mask: CommandRun | None) -> list[tuple[str, str]]:
    """Return the formats that the masked file can be written in, too: records in records are no plain table."""
    if mask is None or is_nested(project):
        return []
    return [(name, text) for name, text in FORMATS.items() if name != _format(mask)]


def _settings_files(visit: Visit, run: CommandRun) -> list[tuple[str, str]]:
    """Return the settings of a run and the hierarchies that they name: with its secret they give the same bytes."""
    names = [name for name in run.copies if name == SETTINGS_FILE or HIERARCHIES.matches(name)]
    return [(name, visit.path_of_run(run, name)) for name in sorted(names)]


def _format(run: CommandRun) -> str:
    """Return the format of a masked file, as settings or the end of its name say it."""
    named = run.project.settings.config.format
    name = _masked(run)
    ends = [(suffix, one.name) for one in known_formats() for suffix in one.suffixes if name.endswith(suffix)]
    return named or max(ends, key=lambda end: len(end[0]), default=("", "xml"))[1]


def _made(mask: CommandRun) -> list[CommandRun]:
    """Return the run that has masked, and those that have written the same in other formats, the newest of each."""
    found: dict[str, CommandRun] = {}
    for run in runs_of(mask.project):
        if (
            run.step == run_kinds.CONVERT.step
            and run.exit_code == 0
            and masked_name(run) is not None
            and word_of(mask, _masked(mask)) in run.command["arguments"]
        ):
            found.setdefault(_masked(run), run)
    return [mask, *found.values()]


def _checked(made: CommandRun) -> CheckedFile:
    """Return what is known of the masked file of a run."""
    with (made.folder / _masked(made)).open("rb") as stream:
        return checked_file(made, _masked(made), stream)


def _files(visit: Visit, mask: CommandRun) -> list[dict[str, Any]]:
    return [_file(visit, made) for made in _made(mask)]


def _file(visit: Visit, made: CommandRun) -> dict[str, Any]:
    """Return a masked file: its hash, what the check says of these very bytes, and where to get it."""
    name = _masked(made)
    known = _checked(made)
    check = known.check
    converted = result_of(made, CONVERT_RESULT)
    return {
        "run": made,
        "name": name,
        "size": (made.folder / name).stat().st_size,
        "check": check,
        "check_path": None if check is None else visit.path_of_run(check),
        "verdict": known.verdict,
        "passed": known.passed,
        "failed": known.verdict is not None and check is not None and check.exit_code != 0,
        "first": known.verdict is not None and check is not None and check.exit_code == 0 and not known.passed,
        "when": "" if check is None else check.command["asked"],
        "sha256": known.sha256,
        "download": visit.path_of_run(made, name) if known.passed else None,
        "report": visit.path_of_report(check, CHECK_PAGE) if check is not None and check.output(CHECK_PAGE) else None,
        "active": check is not None and not check.is_over,
        "losses": [] if converted is None else converted["losses"],
        "is_converted": converted is not None,
    }


def _document(visit: Visit, run: CommandRun | None, name: str) -> dict[str, Any] | None:
    """Return a report, or the manifest, with its hash."""
    path = None if run is None or not name else run.output(name)
    if run is None or path is None:
        return None
    with path.open("rb") as stream:
        leaves = RunOutput(name, 0).confidential or may_leave(run, name, stream)
    return {
        "name": name,
        "size": path.stat().st_size,
        "sha256": sha256_of(path),
        "download": visit.path_of_run(run, name) if leaves else None,
        "open": visit.path_of_report(run, name) if name.endswith(".html") else None,
    }


def _releases(path: Path) -> list[dict[str, Any]]:
    """Return the entries of the register, the newest first; none where it is too large for a page."""
    if not path.is_file() or path.stat().st_size > LARGEST_RESULT:
        return []
    found = [one for one in lines_of(path) if one.get("kind") == "release"]
    return [
        {
            "at": one["at"],
            "name": one["output"]["name"],
            "sha256": one["output"]["sha256"],
            "method": one["method"],
            "k": one["k"],
            "again": one.get("again"),
        }
        for one in reversed(found)
    ][:50]


def _commands(mask: CommandRun | None, files: list[dict[str, Any]]) -> list[tuple[str, CommandRun]]:
    found = [] if mask is None else [("Mask", mask)]
    for one in files:
        found += [(f"Write {one['name']}", one["run"])] if one["is_converted"] else []
        found += [(f"Check {one['name']}", one["check"])] if one["check"] is not None else []
    return found


def _needed(project: Project) -> CommandRun:
    if (mask := _masking(project)) is None:
        raise UsageError.of("earlier-step-missing", missing="masked file", page="Mask")
    return mask


def _check(visit: Visit, project: Project, form: FormFields) -> Redirect:
    mask = _needed(project)
    made = run_of(project, form.text("run"))
    if made is None or made.name not in [one.name for one in _made(mask)]:
        raise UsageError.of("page-outdated", reason="this masked file is gone")
    original = mask.command["arguments"][1]
    if mask.stamp_then(original) != stamp_of(project, original):
        raise UsageError.of("earlier-step-missing", missing="masked file of these data", page="Mask")
    is_masked = made.name == mask.name
    # without a manifest nobody translates rules again
    rules = RULES if is_masked else _rules(mask) or RULES
    words: list[Argument] = ["check", InRunOf(made, _masked(made))]
    words += ["--rules", InRunOf(mask, rules)] if "--rules" in mask.command["arguments"] else []
    words += ["--config", InRunOf(mask, SETTINGS_FILE), "--original", original]
    if is_masked:  # a manifest describes the bytes that were masked, and no other format of them
        words += ["--manifest", InRunOf(mask, _manifest(mask))]
    visit.start(project, run_kinds.CHECK, [*words, "--json", InRun(CHECK_RESULT), "--html", InRun(CHECK_PAGE)])
    return Redirect(visit.path(project, "release"))


def _convert(visit: Visit, project: Project, form: FormFields) -> Redirect:
    mask, table = _needed(project), project.settings.table
    name = choice_from("format", form.text("format"), FORMATS)
    suffix = next(one.suffixes[0] for one in known_formats(name))
    words: list[Argument] = ["convert", InRunOf(mask, _masked(mask)), "--out", InRun(f"masked{suffix}")]
    words += [f"--{key}={table[key]}" for key in ("format", "record", "metadata") if key in table]
    words += [f"--format-option={key}={_text(value)}" for key, value in table.get("format_options", {}).items()]
    visit.start(project, run_kinds.CONVERT, [*words, "--json", InRun(CONVERT_RESULT)])
    return Redirect(visit.path(project, "release"))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cancel(visit: Visit, project: Project, form: FormFields) -> Redirect:
    kind = run_kinds.CONVERT if form.text("which") == run_kinds.CONVERT.step else run_kinds.CHECK
    cancel_run(visit, project, kind.step)
    return Redirect(visit.path(project, "release"))


def _state(project: Project) -> StepState:
    mask = _masking(project)
    if mask is None or not is_current(mask):
        return StepState(False)
    known = [_checked(made) for made in _made(mask)]
    if any(one.passed for one in known):
        if needs_a_look(mask):
            return StepState(True, "checked; look at what stands above the file before you publish it", problem=True)
        return StepState(True, "checked, and ready to be downloaded")
    checks = [one.check for one in known if one.check is not None]
    failed = any(check.is_over and check.exit_code not in (0, None) for check in checks)
    return StepState(False, "the check has found something" if failed else "check the file", problem=failed)


RELEASE = WebPage(
    "release",
    "release",
    "Release",
    _show,
    step="release",
    actions={"check": _check, "convert": _convert, "cancel": _cancel},
    state=_state,
)
