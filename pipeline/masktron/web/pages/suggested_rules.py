"""Rules that the data suggest: each with what speaks for it, and accepted by its own box."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from masktron.errors import UsageError
from masktron.rulebook_text.rule_changes import accepted_rules, empty_rulebook, with_rules
from masktron.rulebook_text.rule_entries import rules_in
from masktron.web.pages.rules_step import rules_of, saved
from masktron.web.pages.step_runs import is_current, needed_data, result_of
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import CommandRun, InRun, RunState, latest_run
from masktron.web.store.projects import RULES, Project
from masktron.web.web_page import FormFields, Redirect, Visit, WebPage, wrong_input

RESULT = "suggest.json"
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_BOUND = re.compile(rf"([<>]=) ({_NUMBER})")
_WORDS = {">=": "at least", "<=": "at most"}
STRENGTHS = {
    "strong": ("Strong", "No chance explains these, and no record breaks them."),
    "fair": ("Fair", "Chance is not ruled out, or some records break these: look at the numbers first."),
    "guess": ("Guesses", "The data cannot tell where these end: you have to know it."),
}


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    run = latest_run(project, run_kinds.SUGGEST.step)
    result = None if run is None else _result(run, project)
    rules = rules_of(project)
    there = set() if rules is None else {(one.context, one.test) for one in rules.entries}
    proposals = [] if result is None else result["proposals"]
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in proposals:
        key = "follows" if one["follows_from"] else one["strength"]
        known = {"there": (one["context"], one["test"]) in there, "bounds": _bounds(one)}
        groups.setdefault(key, []).append({**one, **known})
    return {
        "run": run,
        "run_path": None if run is None else visit.path_of_run(run),
        "active": run is not None and not run.is_over,
        "result": result,
        # an error of other data, or of other settings, says nothing of these
        "error": run.error if run is not None and run.is_over and is_current(run) else None,
        "stale": run is not None and result is not None and not is_current(run),
        "data": project.data(),
        "groups": [(key, *STRENGTHS[key], groups[key]) for key in STRENGTHS if key in groups],
        "following": groups.get("follows", []),
        "command": None if run is None else _command(run, ["1", "3"]),
    }


def _result(run: CommandRun, project: Project) -> dict[str, Any] | None:
    """Return what the command found, if it speaks of the data that the project has now."""
    if run.state is not RunState.ENDED or not run.is_of(project.data()):
        return None
    return result_of(run, RESULT)


def _command(run: CommandRun, numbers: list[str]) -> str:
    found = f"runs/{run.name}/{RESULT}"
    return shlex.join(["masktron", "rules", RULES, f"--suggested={found}", f"--accept={','.join(numbers)}"])


def _look(visit: Visit, project: Project, _: FormFields) -> Redirect:
    visit.start(project, run_kinds.SUGGEST, ["suggest", needed_data(project), "--json", InRun(RESULT)])
    return Redirect(visit.path(project, "rules/suggested"))


def _accept(visit: Visit, project: Project, form: FormFields) -> Redirect:
    run = latest_run(project, run_kinds.SUGGEST.step)
    result = None if run is None or run.name != form.text("run") else _result(run, project)
    if run is None or result is None:
        raise UsageError.of("page-outdated", reason="these proposals are of other data")
    numbers = [one for one in form.texts("accept") if one.isascii() and one.isdigit()]
    changed = {one["number"]: _with_bounds(one, form) for one in result["proposals"] if str(one["number"]) in numbers}
    proposals = [changed.get(one["number"], one) for one in result["proposals"]]
    added, namespaces = accepted_rules({**result, "proposals": proposals}, numbers)
    rules = rules_of(project)
    if rules is None:
        rules = rules_in(empty_rulebook("rules"))
    content = with_rules(rules, added, namespaces)
    noun = "rule" if len(added) == 1 else "rules"
    said = f"{len(added)} suggested {noun} accepted: {', '.join(one.id for one in added)} ({_command(run, numbers)}"
    for one in result["proposals"]:
        new = changed.get(one["number"], one)
        if new["test"] != one["test"]:
            words = [f"--change={one['id']}", f"--test={new['test']}", f"--message={new['message']}"]
            said += f"; {shlex.join(['masktron', 'rules', RULES, *words])}"
    return saved(visit, project, {RULES: content}, f"{said})")


def _bounds(one: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the bounds of a proposed range, each as its sign and its number; none of other proposals."""
    return _BOUND.findall(one["test"]) if one["kind"] == "range" else []


def _with_bounds(one: dict[str, Any], form: FormFields) -> dict[str, Any]:
    """Return a proposal with the bounds that somebody has put in the place of those that the data suggest.

    Raises
    ------
    UsageError
        One is no number.
    """
    new = dict(one)
    for at, (sign, number) in enumerate(_bounds(one)):
        name = f"bound.{one['number']}.{at}"
        typed = form.text(name).replace(",", ".") if name in form.names else number
        if not re.fullmatch(_NUMBER, typed):
            raise wrong_input(name, "a number, such as 120 or -2.5", typed)
        new["test"] = new["test"].replace(f"{sign} {number}", f"{sign} {typed}")
        new["message"] = new["message"].replace(f"{_WORDS[sign]} {number}", f"{_WORDS[sign]} {typed}")
    return new


SUGGESTED = WebPage(
    "suggested",
    "rules/suggested",
    "Rules that the data suggest",
    _show,
    actions={"look": _look, "accept": _accept},
)
