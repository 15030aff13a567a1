"""The third step: which records break which rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from masktron.errors import RulebookError
from masktron.web.pages.form_values import choice_from
from masktron.web.pages.paging import page_of_items
from masktron.web.pages.rules_step import rules_of
from masktron.web.pages.step_runs import is_current, needed_data, needed_rules
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import Argument, CommandRun, InRun, RunState, UnreadableResultError, latest_run
from masktron.web.store.disk import bytes_of
from masktron.web.store.projects import Project
from masktron.web.web_page import FormFields, Redirect, StepState, Visit, WebPage, problem_of

RESULT, PAGE = "validate.json", "validate.html"
FORMATS = {
    "csv": ("findings.csv", "CSV: every failure, a row each, for a spreadsheet"),
    "svrl": ("findings.svrl", "SVRL: the report format of Schematron"),
    "junit": ("findings.junit.xml", "JUnit: for systems that run tests"),
    "sarif": ("findings.sarif", "SARIF: for editors and code hosts"),
}
"""Reports beside the page and the JSON, by the option of the command."""
_SHOWN = 6000
"""Failures in the JSON, shared among the rules; a page reads all of it."""
_SORTS = {
    "record": ("record", lambda one: (one["record"] is None, one["record"] or 0)),
    "rule": ("rule", lambda one: (one["rule"], one["record"] or 0)),
    "line": ("line", lambda one: one["line"]),
}


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    run = latest_run(project, run_kinds.VALIDATE.step)
    active = run is not None and not run.is_over
    result, problems = None, []
    if run is not None and run.state is RunState.ENDED:
        try:
            result = run.result(RESULT)
        except UnreadableResultError as error:
            problems.append(problem_of(error))
        if run.error is not None:
            problems.append(problem_of(run.error, ("original", "file")))
    uploads = [name for name in project.uploads() if f"files/{name}" != project.data()]
    return {
        "problems": problems,
        "run": run,
        "run_path": None if run is None else visit.path_of_run(run),
        "active": active,
        "data": project.data(),
        "has_rules": project.has_rules,
        "current": run is not None and is_current(run),
        "originals": [
            ("", "No rule compares with the original"),
            ("data", "The data themselves: nothing is masked as yet"),
            *((name, name) for name in uploads),
        ],
        "original": "data" if _reads_other(project) else "",
        "formats": FORMATS,
        "excludes": project.settings.table.get("invalid") == "exclude",
        **(_told(visit, project, run, result) if run is not None and result is not None else {"result": None}),
    }


def _reads_other(project: Project) -> bool:
    return any(
        b"document(" in (bytes_of(one) or b"") or b"doc(" in (bytes_of(one) or b"")
        for one in project.folder.glob("*.sch")
    )


def _told(visit: Visit, project: Project, run: CommandRun, result: Mapping[str, Any]) -> dict[str, Any]:
    findings = result["findings"]
    fields = _fields(findings)
    asked_rule, asked_field = visit.query.get("rule", ""), visit.query.get("field", "")
    asked_sort = visit.query.get("sort", "record")
    name, key = _SORTS.get(asked_sort, _SORTS["record"])
    chosen = [
        one
        for one in findings
        if (not asked_rule or one["rule"] == asked_rule) and (not asked_field or asked_field in one["values"])
    ]
    failed = [one for one in result["rules"] if _violations(one)]
    failed.sort(key=lambda one: (one["soft"], -_violations(one)))
    by_field = Counter[str]()
    for one in failed:
        for field in fields.get(one["id"], ()):
            by_field[field] += _violations(one)
    listed = len(findings)
    return {
        "result": result,
        "failed": [{**one, "violations": _violations(one), "fields": fields.get(one["id"], ())} for one in failed],
        "idle": [one for one in result["rules"] if one["untested"] is not None],
        "by_field": by_field.most_common(),
        "page_of_findings": page_of_items(sorted(chosen, key=key), visit.query),
        "asked_rule": asked_rule,
        "asked_field": asked_field,
        "sort": name,
        "sorts": list(_SORTS),
        "more": max(0, sum(map(_violations, result["rules"])) - listed),
        "downloads": [
            (one.name, one.size, visit.path_of_run(run, one.name)) for one in run.outputs if one.name != PAGE
        ],
        "report": visit.path_of_report(run, PAGE) if run.output(PAGE) is not None else None,
        "editors": _editors(visit, project),
    }


def _violations(rule: Mapping[str, Any]) -> int:
    return int((rule["failed"] or 0) + rule["errors"])


def _fields(findings: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the fields that each rule reads, as its findings show them."""
    found: dict[str, dict[str, None]] = {}
    for one in findings:
        found.setdefault(one["rule"], {}).update(dict.fromkeys(one["values"]))
    return {rule: tuple(fields) for rule, fields in found.items()}


def _editors(visit: Visit, project: Project) -> dict[str, str]:
    """Return where a rule can be changed, by its id."""
    try:
        rules = rules_of(project)
    except RulebookError:
        return {}
    entries = () if rules is None else rules.entries
    return {one.id: visit.path(project, f"rules/edit/{one.number}") for one in entries if one.id and not one.locked}


def _begin(visit: Visit, project: Project, form: FormFields) -> Redirect:
    data = needed_data(project)
    words: list[Argument] = ["validate", data, "--rules", needed_rules(project)]
    original = form.text("original")
    if original == "data":
        words += ["--original", data]
    elif original:
        words += ["--original", f"files/{choice_from('original', original, project.uploads())}"]
    words += ["--json", InRun(RESULT), "--html", InRun(PAGE)]
    for option, (name, _) in FORMATS.items():
        if option in form.texts("format"):
            words += [f"--{option}", InRun(name)]
    most = _SHOWN // max(1, _number_of_rules(project))
    visit.start(project, run_kinds.VALIDATE, [*words, f"--max-findings={max(5, min(1000, most))}"])
    return Redirect(visit.path(project, "validate"))


def _number_of_rules(project: Project) -> int:
    try:
        rules = rules_of(project)
    except RulebookError:  # it is not changed in place, and may still be read
        return 100
    return 1 if rules is None else len(rules.entries)


def _exclude(visit: Visit, project: Project, _: FormFields) -> Redirect:
    project.settings.update({"invalid": "exclude"}, said="Records that break a rule are left out when masking")
    return Redirect(visit.path(project, "validate"))


def _include(visit: Visit, project: Project, _: FormFields) -> Redirect:
    project.settings.update({"invalid": None}, said="Records that break a rule stop the masking")
    return Redirect(visit.path(project, "validate"))


def _state(project: Project) -> StepState:
    run = latest_run(project, run_kinds.VALIDATE.step)
    if run is None:
        return StepState(False, "not done as yet")
    if not run.is_over:
        return StepState(False, "under way")
    if not is_current(run):
        return StepState(False, "data, rules or settings have changed since")
    return _state_of_result(project, run)


def _state_of_result(project: Project, run: CommandRun) -> StepState:
    if run.exit_code == 0:
        return StepState(True, "every rule holds")
    if run.state is not RunState.ENDED or run.error is not None:
        return StepState(False, "it ended without a result", problem=True)
    if project.settings.table.get("invalid") == "exclude":
        return StepState(True, "records that break a rule are left out when masking")
    return StepState(False, "some records break a rule", problem=True)


VALIDATE = WebPage(
    "validate",
    "validate",
    "Validate",
    _show,
    step="validate",
    actions={"begin": _begin, "exclude": _exclude, "include": _include},
    state=_state,
)
