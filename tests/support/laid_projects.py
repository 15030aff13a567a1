"""Projects in every state that pages show: with nothing, with all results, with errors, with runs that go on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from made_up_map import made_up_map
from masktron.errors import InfeasibleError, UsageError
from masktron.problems.problem import Field, Problem, SettingName
from masktron.report.pages.tune_page import plane_of
from masktron.report.pictures.canvas import svg_file
from masktron.results import TuneResult
from masktron.rulebook_text.rule_entries import rules_in
from masktron.serialised import read_plain
from masktron.web.pages.project_hierarchies import hierarchy_name
from masktron.web.runs.one_run import CommandRun, InRun, InRunOf, prepared_run
from masktron.web.store.projects import Project, ProjectStore
from told_results import explained, keys_tried, suggested, validated
from web_runs import MASKED, described, laid_run, text_field

LONG = "LongestNameOfAFieldThatAnyoneHasEverGivenToAVariable"
RULES, SETTINGS = InRun("rules.sch"), ("--config", InRun("masktron.toml"))
STEPS = ("describe", "rules", "suggest", "validate", "keys", "hierarchy", "choose", "plan", "mask", "check")
"""Names of runs, as pages ask for them."""


def empty_project(store: ProjectStore) -> Project:
    """Make a project in which nobody has done anything."""
    return store.make("Nothing as yet")


def filled_project(store: ProjectStore) -> Project:
    """Make a project of the sample in which every step has a result, with more fields than one page shows."""
    project, data = _sample(store, "Every result")
    laid_run(project, "describe", ["describe", data], {"describe.json": _fields()})
    _lay_rules(project, data)
    suggestions = suggested({}, {"strength": "guess", "test": "long" * 40, "exceptions": 2, "first": [1, 2]})
    laid_run(project, "suggest", ["suggest", data], {"suggest.json": suggestions})
    found = [{"rule": "income-sum", "record": one + 1, "values": {"Income": "9" * 40}} for one in range(60)]
    judged = validated([{"id": "income-sum", "failed": 60, "text": "Income", "passes": False}], found)
    files = {"validate.json": judged, "findings.csv": "x", "validate.html": "x"}
    laid_run(project, "validate", ["validate", data, RULES, *SETTINGS], files, code=1)
    _lay_keys(project, data)
    plane = plane_of(read_plain(TuneResult, made_up_map(), ""))
    assert plane is not None
    tried = {"tune.json": made_up_map(), "map.svg": svg_file(plane, "map"), "map.html": "<title>t</title>"}
    laid_run(project, "choose", ["tune", data, RULES, *SETTINGS], tried)
    rule = {"id": "sum", "form": "A + B = T" * 5, "class": "linear", "block": [LONG, "B"], "candidates": ["mean"]}
    plan = {"job": "explain", "rules": [{**rule, "why": "mean keeps sum"}], "obstacle": None, "notes": ["a note"]}
    laid_run(project, "plan", ["explain", RULES, "--data", data, *SETTINGS], {"plan.json": plan, "plan.html": "x"})
    mask = _lay_masking(project, data)
    laid_run(project, "check", ["check", InRunOf(mask, "masked.xml")], {"check.json": _verdict(), "check.html": "x"})
    convert = ["convert", InRunOf(mask, "masked.xml"), "--out", InRun("masked.csv")]
    laid_run(project, "convert", convert, {"masked.csv": "A\n1\n", "convert.json": {"losses": ["labels of values"]}})
    return project


def failed_project(store: ProjectStore) -> Project:
    """Make a project of the sample in which every step has ended with an error, or has found something."""
    project, data = _sample(store, "Every error")
    project.settings.update({"k": 10, "grouping": "all", "limits": {"linkage": 5}}, said="k")
    mask = _lay_masking(project, data)
    outside = {**_verdict(), "problems": [f"{LONG} is not as the manifest says"], "rules": []}
    laid_run(project, "check", ["check", InRunOf(mask, "masked.xml")], {"check.json": outside}, code=1)
    where = f"/srv/surveys/{LONG.lower()}/rules.sch:31"
    named = {
        "setting": SettingName("recode", (LONG,)),
        "field": Field(LONG),
        "reason": "which is masked",
        "role": "quasi-identifier",
    }
    problem = Problem("role-does-not-fit", where).naming(**named)
    words: Mapping[str, list[Any]] = {
        "describe": ["describe", data],
        "rules": ["explain", RULES, "--data", data, *SETTINGS],
        "suggest": ["suggest", data],
        "validate": ["validate", data, RULES, *SETTINGS],
        "keys": ["keys", data, "--rules", RULES, *SETTINGS],
        "hierarchy": ["hierarchy", data, f"--field={LONG}", *SETTINGS],
        "choose": ["tune", data, RULES, *SETTINGS],
        "plan": ["explain", RULES, "--data", data, *SETTINGS],
        "convert": ["convert", InRunOf(mask, "masked.xml"), "--out", InRun("masked.csv")],
    }
    for step, arguments in words.items():
        laid_run(project, step, arguments, code=2, error=UsageError(problem))
    broken = validated([{"id": "income-sum", "failed": 60, "text": "Income", "passes": False}], [])
    told: Mapping[str, Any] = {"mask.json": broken}
    laid_run(project, "mask", ["mask", data, RULES, *SETTINGS], told, code=4, error=InfeasibleError(problem))
    return project


def busy_project(store: ProjectStore) -> Project:
    """Make a project of the sample whose runs wait for a file ``go``, as `quick_masktron` does."""
    project, _ = _sample(store, "Every run under way")
    for step in STEPS:
        prepared_run(project, step, [*SETTINGS, "wait=go"])
    return project


def _sample(store: ProjectStore, name: str) -> tuple[Project, str]:
    project = store.make_sample()
    project.change_facts(said=f"Name: {name}", name=name)
    data = project.data()
    assert data is not None
    return project, data


def _fields() -> dict[str, Any]:
    codes = {str(one): f"label {one} " * 3 for one in range(9)}
    fields = [
        {"name": "Income", "distinct": 400, "label": "Income of the household in a year"},
        text_field("Name", "Ben Costa", "Quentin Rossi"),
        text_field("Remark", "moved in spring", "none"),
        {"name": LONG, "labels": codes, "missing_codes": {"-9": "not stated"}, "missing": 7},
        *({"name": f"F{at}"} for at in range(60)),
    ]
    points = [
        {"field": name, "record": 3, "line": 71, "what": f"{name!r} has no role", "hint": f"--role {name}=record-id"}
        for name in ("Name", LONG)
    ]
    found = described(*fields, problems=points)
    rows = [
        {"record": at, "line": 30 * at, "values": ["30", "Ben Costa", "none", None, *["17"] * 60]} for at in (1, 2, 3)
    ]
    return {**found, "format": "xml", "record": "HouseholdSurvey/Household", "rows": rows, "notes": ["a note"]}


def _lay_keys(project: Project, data: str) -> None:
    """Lay down a field in classes and one that is left out in part, a hierarchy, and what was tried of them."""
    roles = {**project.settings.table["roles"], LONG: "quasi-identifier", "F1": "quasi-identifier"}
    recode = {LONG: f"{hierarchy_name(LONG)}:1"}
    rows = "".join(f"{at};{'a class with a long name ' * 2}{at // 10};*\n" for at in range(70))
    project.write({hierarchy_name(LONG): rows.encode()}, said="classes")
    project.settings.update({"roles": roles, "recode": recode, "keys": {"k": 3}}, said="keys")
    laid_run(project, "keys", ["keys", data, "--rules", RULES, *SETTINGS], {"keys.json": keys_tried(LONG, "F1")})
    told = {"job": "hierarchy", "field": LONG, "values": 70, "classes": [7, 1]}
    files = {"hierarchy.json": told, "proposed.hierarchy.csv": rows}
    laid_run(project, "hierarchy", ["hierarchy", data, f"--field={LONG}", *SETTINGS], files)


def _lay_rules(project: Project, data: str) -> None:
    rules = rules_in(project.rulebook.encode())
    facts = [
        {
            "id": one.id or "housing-balance", "form": "A + B = C" * 9, "context": one.context, "test": one.test,
            "fired": 2000, "failed": 5 * (one.number == 12), "lints": ["look at it"] * (one.number == 13),
            "origin": f"x/rules.sch:{one.line}",
        }
        for one in rules.entries
        if one.kind == "assert"
    ]  # fmt: skip
    files = {"explain.json": explained(facts), "explain.html": "x"}
    laid_run(project, "rules", ["explain", RULES, "--data", data, *SETTINGS], files)


def _lay_masking(project: Project, data: str) -> CommandRun:
    tried = keys_tried(LONG, "F1")
    treated = {name: tried[name] for name in ("treatments", "fates", "before", "keys")}
    told = {**MASKED, **treated, "figures": [*MASKED["figures"], *tried["figures"]], "rules_file": "masked.rules.sch"}
    files = {
        "mask.json": told,
        "masked.rules.sch": "<schema/>",
        "masked.xml": "<A/>",
        "masked.manifest.json": "{}",
        "internal.html": "x",
    }
    return laid_run(project, "mask", ["mask", data, RULES, *SETTINGS], {**files, "about.html": "x"})


def _verdict() -> dict[str, Any]:
    return {
        "job": "check", "sha256": hashlib.sha256(b"<A/>").hexdigest(), "checked": ["2 rules"],
        "not_checked": ["groups"], "problems": [], "rules": [],
    }  # fmt: skip
