"""The second step: the rulebook, uploaded or made; each rule with what it says and what the data say to it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from masktron.errors import ResourceError, RulebookError, UsageError
from masktron.problems.problem import Place
from masktron.rulebook_text.rule_entries import RuleEntry, RulesInText, includes_of, rules_in
from masktron.rulebook_text.spans import NotInPlaceError
from masktron.rules_given import is_plain
from masktron.web.pages.paging import SIZE, page_of_items
from masktron.web.pages.rule_facts import PAGE, CheckedRules, RuleFacts, check_rules, checked_rules, facts_of
from masktron.web.runs.one_run import ToldError
from masktron.web.store.disk import bytes_of, plain_files
from masktron.web.store.kept_files import kept_by_stamp
from masktron.web.store.project_files import RULEBOOKS
from masktron.web.store.projects import RULES, Project
from masktron.web.web_page import FormFields, PageProblem, Redirect, StepState, Visit, WebPage, problem_of

_FILE = re.compile(r"[\w-][\w.-]*\.sch")


def rules_of(project: Project) -> RulesInText | None:
    """Return the rules of the rulebook; None where there is none.

    Raises
    ------
    RulebookError
        It cannot be read, or not be changed in place.
    """
    return _RULES(project.folder / RULES)


def _read(path: str) -> RulesInText:
    return rules_in(bytes_of(path) or b"", RULES)


def _taken_in(path: str) -> tuple[str, ...]:
    return includes_of(bytes_of(path) or b"", Path(path).name)


_RULES = kept_by_stamp(_read, files=4)
_INCLUDES = kept_by_stamp(_taken_in, files=100)


def saved(visit: Visit, project: Project, files: Mapping[str, bytes | None], said: str) -> Redirect:
    """Write rules, have them checked, and go to their list."""
    project.write(files, said=said)
    where = visit.path(project, "rules")
    if RULES in files and files[RULES] is None:
        return Redirect(where)
    try:
        check_rules(visit, project)
    except ResourceError:
        return Redirect(f"{where}?unchecked=1")
    return Redirect(where)


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    checked = checked_rules(project) if project.has_rules else CheckedRules()
    problems: list[PageProblem] = []
    rules, fixed = None, ""
    try:
        rules = rules_of(project)
    except NotInPlaceError as error:
        fixed = error.what
    except RulebookError as error:
        problems.append(problem_of(error))
    told = checked.run.error if checked.run is not None and checked.current and checked.run.is_over else None
    rows = list(_rows(rules, checked, told))
    asked = visit.query.get("show", "")
    shown = [row for row in rows if asked != "doubts" or row["doubts"]]
    page = page_of_items(shown, visit.query)
    run = checked.run
    return {
        "problems": problems,
        "rules": rules,
        "fixed": fixed,
        "page_of_rules": page,
        "all": len(rows),
        "doubted": sum(1 for row in rows if row["doubts"]),
        "asked": asked,
        "checked": checked,
        "run": run,
        "run_path": None if run is None else visit.path_of_run(run),
        "report": visit.path_of_report(run, PAGE) if run is not None and run.output(PAGE) is not None else None,
        "error": told,
        "error_at": next(
            ({**row, "page": page.link(show="", page=at // SIZE + 1)} for at, row in enumerate(rows) if row["error"]),
            None,
        ),
        "unchecked": "unchecked" in visit.query,
        "missing": _missing(project),
        "parts": [
            one.name for one in plain_files(project.folder) if RULEBOOKS.matches(one.name) and one.name != RULES
        ],
        "data": project.data(),
        "last": project.history.undoable(),
    }


def _rows(rules: RulesInText | None, checked: CheckedRules, error: ToldError | None) -> Iterator[dict[str, Any]]:
    """Yield the rules of the file in its order, then those that come from other files."""
    taken: set[str] = set()
    place = Place() if error is None or error.problem is None else error.problem.place
    at = place.line if place.source == RULES else 0
    counted = True
    for entry in () if rules is None else rules.entries:
        found = facts_of(entry, checked.facts, current=checked.known)
        taken |= {one.id for one in found}
        # checks without an id are numbered through the rulebook, which is known here as long as all stand in the file
        counted = counted and entry.kind in ("assert", "report")
        if entry.kind != "include":
            row = _row(entry, found, f"rule-{entry.number}" if counted else f"the rule in line {entry.line}")
            yield {**row, "error": error if entry.line <= at <= entry.last_line else None}
    if checked.known:
        for one in checked.facts.all:
            if one.id not in taken:
                yield {**_row(None, [one], one.id), "locked": f"it stands in {one.place}", "error": None}


def _row(entry: RuleEntry | None, found: list[RuleFacts], unnamed: str) -> dict[str, Any]:
    first = found[0] if found else None
    fired = [one.fired for one in found if one.fired is not None]
    failed = [one.failed for one in found if one.failed is not None]
    return {
        "number": None if entry is None else entry.number,
        "name": (entry.id if entry is not None else "") or (first.id if first is not None else unnamed),
        "entry": entry,
        "facts": found,
        "context": (entry.context if entry is not None else "") or (first.context if first is not None else ""),
        "test": (entry.test if entry is not None else "") or (first.test if first is not None else ""),
        "message": "" if entry is None else entry.message,
        "locked": "" if entry is None else entry.locked,
        "fired": sum(fired) if fired else None,
        "failed": sum(failed) if failed else None,
        "soft": any(one.soft for one in found),
        "doubts": tuple(dict.fromkeys(doubt for one in found for doubt in one.doubts)),
    }


def _missing(project: Project) -> list[str]:
    """Return the files that the rulebook takes in and the project lacks."""
    names = {one.name for one in plain_files(project.folder)}
    left, seen = [RULES] if RULES in names else [], {RULES}
    missing: list[str] = []
    while left:
        name = left.pop()
        try:
            found = _INCLUDES(project.folder / name) or ()
        except RulebookError:  # the check of the rules says so
            continue
        for one in found:
            if one not in seen:
                seen.add(one)
                (left if one in names else missing).append(one)
    return missing


def _took(visit: Visit, project: Project, name: str) -> Redirect:
    if is_plain(Path(name)):
        shell = shlex.join(["masktron", "rules", name, "--to", "schematron", "--data", "DATA", "--out", RULES])
        instead = f"upload the {RULES} that `{shell}` writes in a shell"
        raise UsageError.of("not-supported", name, construct="rules in plain text on this page", instead=instead)
    content = project.small_upload(name)
    wanted = _missing(project)
    parts = {one.name for one in plain_files(project.folder)} - {RULES}
    try:
        taken_in = includes_of(content, name)
    except NotInPlaceError:
        taken_in = ()
    is_part = name in wanted or (name in parts and RULEBOOKS.matches(name))
    if is_part:
        if not _FILE.fullmatch(name):
            raise UsageError.of("includes-elsewhere", file=name)
        answer = saved(visit, project, {name: content}, f"{name} uploaded, which the rulebook takes in")
    else:
        try:
            number = len(rules_in(content, name).entries)
            said = f"Rulebook {name} uploaded, {number} rules"
        except NotInPlaceError:
            said = f"Rulebook {name} uploaded"
        if elsewhere := [one for one in taken_in if "/" in one]:
            raise UsageError.of("includes-elsewhere", file=elsewhere[0])
        answer = saved(visit, project, {RULES: content}, said)
    project.remove_upload(name)
    return answer


def _check(visit: Visit, project: Project, _: FormFields) -> Redirect:
    if not project.has_rules:
        raise UsageError.of("earlier-step-missing", missing="rules", page="Rules")
    check_rules(visit, project)
    return Redirect(visit.path(project, "rules"))


def _undo(visit: Visit, project: Project, form: FormFields) -> Redirect:
    project.undo(form.text("change"))
    if project.has_rules:
        check_rules(visit, project)
    return Redirect(visit.path(project, "rules"))


def _state(project: Project) -> StepState:
    if not project.has_rules:
        return StepState(False, "upload a rulebook, or begin with what the data suggest")
    checked = checked_rules(project)
    if checked.active:
        return StepState(False, "being checked")
    if checked.current and checked.run is not None and checked.run.error is not None:
        return StepState(False, "they cannot be read", problem=True)
    if any(fact.contradicts for fact in checked.facts.all):
        return StepState(True, "some contradict each other", problem=True)
    if not checked.current:
        return StepState(True, "not checked since rules, data or settings have changed")
    return StepState(True, f"{len(checked.facts.all)} rules")


RULES_PAGE = WebPage(
    "rules",
    "rules",
    "Rules",
    _show,
    step="rules",
    actions={"check": _check, "undo": _undo},
    take=_took,
    state=_state,
)
