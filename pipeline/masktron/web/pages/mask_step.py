"""The sixth step: the data are masked; what is going to be masked together and why, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from masktron.config import Config
from masktron.declared import declared_in
from masktron.errors import Exit, ResourceError, UsageError
from masktron.figures import NAMES, figure_of
from masktron.report.level_figures_table import LEVEL_COLUMNS, level_rows
from masktron.report.sentences import engine_opinion
from masktron.results import EngineResult
from masktron.results.tune import TuneCandidate
from masktron.rulebook_text.rule_changes import NewRule, with_rules
from masktron.serialised import read_plain
from masktron.setting_values import Param
from masktron.sources.known_formats import known_formats, suffixes_of
from masktron.web.pages.choose_step import chosen_candidate
from masktron.web.pages.form_values import (
    at_fields,
    choice_from,
    further_changes,
    further_controls,
    further_settings,
    given_inputs,
    label_of,
    limits_from,
    whole_from,
)
from masktron.web.pages.key_facts import treated_context
from masktron.web.pages.method_words import FIGURE_WORDS, GROUPINGS, INVALID, LIMITS, METHOD_WORDS, figure_words
from masktron.web.pages.rules_step import rules_of, saved
from masktron.web.pages.step_runs import (
    cancel_run,
    current_run,
    given_rules,
    good_run,
    is_current,
    needed_data,
    needed_rules,
    result_of,
    run_context,
    told_run,
)
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import CommandRun, InRun, ToldError, latest_run
from masktron.web.store.projects import RULES, Project
from masktron.web.web_page import FormFields, Redirect, StepState, Visit, WebPage, wrong_input

RESULT, PAGE, ABOUT = "mask.json", "internal.html", "about.html"
PLAN_RESULT, PLAN_PAGE = "plan.json", "plan.html"
_FIELDS = (
    "method",
    "k",
    "grouping",
    "invalid",
    "params",
    *(f"limits.{name}" for name in LIMITS),
    "allow_unfired",
    "again",
)
_SIZES = (2, 3, 5, 10, 20)
_ENDINGS = {
    Exit.VIOLATION: "Nothing was published: the records break a rule, or the masked file would break a rule, the "
    "protection that was promised, or a limit.",
    Exit.INFEASIBLE: "Nothing was published: the rules and the protection cannot both be kept with these settings, "
    "or the records have been released before.",
    Exit.RESOURCES: "Nothing was published: there was not enough time or memory.",
    Exit.FAULT: "Nothing was published: masktron itself has a mistake.",
}
"""What exit codes of masking mean to whoever has asked for it."""


def masked_name(data: str) -> str:
    """Return the name of the masked file: that of the data tells the format, by its end alone."""
    name = PurePosixPath(data).name.lower()
    ends = ((suffix, one) for one in known_formats() for suffix in one.suffixes if name.endswith(suffix))
    end, found = max(ends, key=lambda one: len(one[0]), default=(".xml", None))
    return f"masked{suffixes_of(found.instead[0])[0] if found is not None and found.instead else end}"


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    config = project.settings.config
    run, plan = told_run(project, run_kinds.MASK.step), told_run(project, run_kinds.PLAN.step)
    over = run is not None and run.is_over
    current = run is not None and over and is_current(run)
    result = result_of(run, RESULT) if over and run is not None and run.exit_code == 0 else None
    error = run.error if run is not None and over else None
    return {
        **run_context(visit, run),
        "method": config.method,
        "methods": [(name, f"{name}: {words}") for name, words in METHOD_WORDS.items()],
        "k": config.k,
        "grouping": config.grouping,
        "groupings": list(GROUPINGS.items()),
        "invalid": config.invalid,
        "invalids": list(INVALID.items()),
        "limits": {name: f"{config.limits[name]:g}" if name in config.limits else "" for name in LIMITS},
        "limit_words": LIMITS,
        "other_limits": {name: bound for name, bound in config.limits.items() if name not in LIMITS},
        "params": "\n".join(f"{name} = {_param_text(value)}" for name, value in config.params.items()),
        "aggregator": config.aggregator,
        "further": further_controls(config, _FIELDS),
        "again_asked": error is not None and error.kind == "ReleasedBeforeError",
        "plan": plan,
        "plan_path": None if plan is None else visit.path_of_run(plan),
        "plan_active": plan is not None and not plan.is_over,
        "plan_current": plan is not None and plan.is_over and is_current(plan),
        "planned": _planned(plan) if plan is not None and plan.is_over and is_current(plan) else None,
        "plan_report": visit.path_of_report(plan, PLAN_PAGE) if plan is not None and plan.output(PLAN_PAGE) else None,
        "result": result,
        "figures": [] if result is None else _figures(result, config),
        "opinion": lambda one: engine_opinion(read_plain(EngineResult, one, "engines")),
        "concerns": [] if result is None else result.get("concerns", []),
        "verdict": verdict_of(result),
        "level_columns": LEVEL_COLUMNS,
        "level_rows": [] if result is None else _level_rows(result),
        "tiles": [] if result is None else _tiles(result, project, is_current=current),
        **treated_context(result),
        "report": visit.path_of_report(run, PAGE) if result is not None and run is not None else None,
        "error": error,
        "ending": _ENDINGS.get(Exit(error.exit_code)) if error and error.exit_code in set(_ENDINGS) else None,
        "helps": _helps(error, config) if current else [],
        "findings": _broken(run) if error is not None else [],
        "settings_text": project.settings.text,
        "runs": [
            (title, one) for title, one in (("What is masked together", plan), ("Mask", run)) if one is not None
        ],
        "problems": at_fields(error, (*_FIELDS, *further_settings(_FIELDS))) if current else [],
    }


def _param_text(value: Param) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else "auto" if value is None else str(value)


def _planned(plan: CommandRun) -> dict[str, Any] | None:
    """Return what `explain` has found: which fields are masked together, by which rules, and what would stop it."""
    found = result_of(plan, PLAN_RESULT)
    if found is None:
        return None
    blocks: dict[tuple[str, ...], dict[str, Any]] = {}
    for rule in found["rules"]:
        if rule["block"]:
            block = blocks.setdefault(
                tuple(rule["block"]),
                {
                    "fields": rule["block"],
                    "rules": [],
                    "by": rule["candidates"] or [rule["aggregator"]],
                    "why": rule["why"],
                },
            )
            block["rules"].append({"id": rule["id"], "form": rule["form"], "class": rule["class"]})
    tied = [rule for rule in found["rules"] if not rule["block"]]
    return {
        "blocks": list(blocks.values()),
        "others": [{"id": rule["id"], "form": rule["form"], "why": rule["why"]} for rule in tied],
        "obstacle": found["obstacle"],
        "notes": found["notes"],
    }


def _figures(result: Mapping[str, Any], config: Config) -> list[dict[str, Any]]:
    """Return the figures of a masked file as `mask` tells them, with the limits that hold for them."""
    return [
        {
            **one,
            "name": figure_words(one["figure"]),
            "told": "none"
            if one["value"] is None
            else f"{one['value']:,.4g}" + (f" {one['unit']}" if one["unit"] else ""),
            "limit": config.limits.get(one["figure"]),
            "outside": one["figure"] in config.limits
            and one["value"] is not None
            and one["figure"] in NAMES
            and not figure_of(one["figure"]).meets(one["value"], config.limits[one["figure"]]),
        }
        for one in result["figures"]
    ]


def _level_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """Return the figures of the levels of a nested file, a row for each; none of other files."""
    levels = {
        one["level"]: {figure["figure"]: figure["value"] for figure in one["figures"]}
        for one in result.get("levels", ())
    }
    return [row for _, *row in level_rows([("", levels)])]


def _tiles(result: Mapping[str, Any], project: Project, *, is_current: bool) -> list[tuple[str, str, str]]:
    """Return title, value and meaning of what a result says first: records, groups, and the figures of the map.

    Where `mask` has none of these, as the file is large or no number is masked, linkage and squared changes stand for
    them.
    """
    known = {one["figure"]: one for one in result["figures"]}
    asked, tried = project.settings.table.get("tune", {}), chosen_candidate(project) if is_current else None
    tiles = [("Records", f"{result['records_out']:,}", f"of {result['records_in']:,}"), *_group_tile(result)]
    for axis, usual, instead in (("risk", "disclosure_risk", "linkage"), ("utility", "pil", "information_loss")):
        wanted = str(asked.get(axis) or usual)
        drawn = known.get(wanted, {}).get("value") is not None
        name = wanted if drawn else instead
        value, unit = (known[wanted]["value"], known[wanted]["unit"]) if drawn else (result[instead], "%")
        said = figure_words(name)
        told = "-" if value is None else f"{value:.3g} {unit}".strip()
        tiles.append((said, told, "less is better" + _on_map(tried, name, unit)))
    if ("linkage" in known or result["linkage"] is not None) and FIGURE_WORDS["linkage"] not in {
        one[0] for one in tiles
    }:
        value = result["linkage"]
        told = "-" if value is None else f"{value:.3g} %"
        tiles.append((FIGURE_WORDS["linkage"], told, "of the records, by somebody who knows all original numbers"))
    return tiles


def _on_map(tried: TuneCandidate | None, name: str, unit: str) -> str:
    """Say what the map of Choose has of a figure, where it has the way to mask that was taken."""
    value = math.nan if tried is None else tried.figures.get(name, math.nan)
    if tried is None or math.isnan(value):
        return ""
    draws = tried.differs
    return f"; on the map of Choose {f'{value:.3g} {unit}'.strip()}{', by other draws' if draws else ''}"


def _group_tile(result: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Say how large the smallest group is, where there are groups: records that share values, or a draw from them.

    Records of drawn fields that happen to be alike are no group.
    """
    least, draw = f"{result['min_group']:,}", result.get("draw")
    grouped = any(block["aggregator"] != "drawn" for block in result.get("blocks", ()))
    if not draw:
        yield "Smallest group", least, "records share their values of a block of fields"
    elif draw["smallest"] is not None:
        apart = ", or share those of a block that was not drawn" if grouped else "; they share none"
        yield "Smallest group", least, f"records from which values were drawn{apart}"
    elif grouped:
        yield "Smallest group", least, "records share their values of a block that was not drawn"


def _broken(run: CommandRun | None) -> list[dict[str, Any]]:
    """Return the rules that original records break, where that has ended the run."""
    found = result_of(run, RESULT)
    if found is None or found["job"] != "validate":
        return []
    return [
        {"id": rule["id"], "failed": rule["failed"], "fired": rule["fired"], "text": rule.get("text", "")}
        for rule in found["rules"]
        if rule["failed"] or rule["errors"]
    ]


_GIVEN = {
    "rare_units": ("Leave these out, with all that stands in them, and mask", "exclude"),
    "allow_unfired": ("Go on although some rules are not tested by these data", "*"),
}
"""Buttons for inputs to which hints give values, by the name of the input."""


def _helps(error: ToldError | None, config: Config) -> list[dict[str, Any]]:
    """Return what may help against an error, as forms that do it: the settings change, and masking begins anew."""
    if error is None:
        return []
    helps: list[dict[str, Any]] = []
    lower = [size for size in _SIZES if size < config.k]
    for name, given in given_inputs(error, {*_FIELDS, *further_settings(_FIELDS)} - {"params", "again"}):
        label, value = _GIVEN.get(name, (f"{label_of(name)}: {given}, and mask", given))
        helps.append(_help(label, {name: value}))
    if error.kind == "InvalidOriginalError" and config.invalid == "stop":
        helps.append(_help("Leave out the records that break a rule, and mask", {"invalid": "exclude"}))
    if error.exit_code == Exit.INFEASIBLE and error.kind != "ReleasedBeforeError" and lower:
        size = lower[-1]
        helps.append(_help(f"Take smaller groups, of {size} records, and mask", {"k": size}))
    if error.exit_code == Exit.INFEASIBLE and error.kind != "ReleasedBeforeError" and config.grouping == "all":
        helps.append(_help("Mask field group by field group", {"grouping": "rules"}))
    if error.kind == "OutsideLimitsError":
        if config.grouping == "rules":
            helps.append(_help("Mask whole records together, which is harder to recognise", {"grouping": "all"}))
        helps.append(_help("Take away all limits, and mask", {"limits": ""}))
    return helps


def _help(label: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"label": label, "fields": fields}


def _changes(project: Project, form: FormFields) -> dict[str, Any]:
    """Return the settings that a form changes: the whole form, or one of the buttons that help."""
    config = project.settings.config
    changes: dict[str, Any] = {}
    if "method" in form.names:
        changes["method"] = choice_from("method", form.text("method"), METHOD_WORDS)
    if "k" in form.names:
        changes["k"] = whole_from("k", form.text("k"))
    for name, known in (("grouping", GROUPINGS), ("invalid", INVALID)):
        if name in form.names:
            changes[name] = choice_from(name, form.text(name), known)
    if "params" in form.names:
        kept = {name: _plain(value) for name, value in config.params.items()}
        said = {name: _value(text) for name, text in _params(form.raw("params")).items()}
        same = changes.get("method", config.method) == config.method
        # those of the former method go with it, unless somebody has changed them as well
        changes["params"] = (said if same or said != kept else {}) or None
    if form.with_prefix("limits."):
        changes["limits"] = limits_from(form, config) or None
    elif "limits" in form.names:
        changes["limits"] = None
    changes |= further_changes(form, config, _FIELDS)
    if form.text("allow_unfired") == "*":
        changes["allow_unfired"] = ["*"]
    # what the form sends as it was is no change: else the map and the plan would be said to be of other settings
    as_it_was = {name: getattr(config, name) for name in ("method", "k", "grouping", "invalid")}
    as_it_was |= dict.fromkeys(further_settings(_FIELDS).keys() - project.settings.table.keys())
    return {name: value for name, value in changes.items() if value != as_it_was.get(name, _OTHER)}


_OTHER = object()


def _plain(value: Param) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _params(text: str) -> dict[str, str]:
    lines = [line for line in text.split("\n") if line.strip()]
    if wrong := [line for line in lines if not all(part.strip() for part in line.partition("="))]:
        raise wrong_input("params", "lines of the form NAME = VALUE, such as c = 0.3", wrong[0])
    return dict(declared_in(Config)["params"].collected("params", lines))


def _value(text: str) -> Any:
    """Return a parameter as a file of settings has it: a number where it looks like one."""
    if "," in text:
        return [_value(part.strip()) for part in text.split(",") if part.strip()]
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _saved(visit: Visit, project: Project, form: FormFields) -> None:
    table = project.settings.table
    if changes := {name: value for name, value in _changes(project, form).items() if value != table.get(name)}:
        told = [f"{name} {_said(value)}" for name, value in changes.items()]
        project.settings.update(changes, said=f"Masking: {', '.join(told)}")


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(one)}" for name, one in value.items())
    return (
        ", ".join(map(str, value))
        if isinstance(value, Sequence) and not isinstance(value, str)
        else f"{'none' if value is None else value}"
    )


def _mask(visit: Visit, project: Project, form: FormFields) -> Redirect:
    data = needed_data(project)
    _saved(visit, project, form)
    again = [f"--again={reason}"] if (reason := form.text("again")) else []
    visit.start(
        project,
        run_kinds.MASK,
        ["mask", data, *given_rules(project), "--out", InRun(masked_name(data)),
         "--json", InRun(RESULT), "--html", InRun(PAGE), "--html-public", InRun(ABOUT), *again],
    )  # fmt: skip
    return Redirect(visit.path(project, "mask"))


def _forbid(visit: Visit, project: Project, form: FormFields) -> Redirect:
    """Add the rules that keep fields from what the last masking found: values below 0."""
    run = latest_run(project, run_kinds.MASK.step)
    result = None if run is None or run.name != form.text("run") else result_of(run, RESULT)
    known = {one["field"]: one["rule"] for one in (result or {}).get("concerns", ()) if one["rule"]}
    if not known:
        raise UsageError.of("page-outdated", reason="these values are of another masking")
    if not (fields := [name for name in form.texts("forbid") if name in known]):
        raise wrong_input("forbid", "at least one of the fields", "")
    needed_rules(project)
    if (rules := rules_of(project)) is None:
        raise UsageError.of("earlier-step-missing", missing="rules", page="Rules")
    wanted = [known[name] for name in fields]
    spaces = {prefix: space for one in wanted for prefix, space in one["namespaces"].items()}
    added = [NewRule(one["context"], one["test"], one["message"], one["id"]) for one in wanted]
    said = f"Forbidden below 0: {', '.join(fields)}"
    saved(visit, project, {RULES: with_rules(rules, added, spaces)}, said)
    return Redirect(visit.path(project, "mask"))


def _plan(visit: Visit, project: Project, form: FormFields) -> Redirect:
    data, rules = needed_data(project), needed_rules(project)
    _saved(visit, project, form)
    words = ["explain", rules, "--data", data, "--json", InRun(PLAN_RESULT)]
    visit.start(project, run_kinds.PLAN, [*words, "--html", InRun(PLAN_PAGE)])
    return Redirect(visit.path(project, "mask"))


def _save(visit: Visit, project: Project, form: FormFields) -> Redirect:
    _saved(visit, project, form)
    return Redirect(visit.path(project, "mask"))


def _cancel(visit: Visit, project: Project, form: FormFields) -> Redirect:
    kind = run_kinds.PLAN if form.text("which") == run_kinds.PLAN.step else run_kinds.MASK
    cancel_run(visit, project, kind.step)
    return Redirect(visit.path(project, "mask"))


def _state(project: Project) -> StepState:
    if (good := good_run(project, run_kinds.MASK.step)) is not None:
        look = needs_a_look(good)
        return StepState(True, "masked, but look at the result" if look else "masked", problem=look)
    run = latest_run(project, run_kinds.MASK.step)
    if run is None:
        return StepState(False)
    if not run.is_over:
        return StepState(False, "under way")
    if run.exit_code == 0:
        return StepState(False, "data, rules or settings have changed since")
    failed = current_run(project, run_kinds.MASK.step) is not None and not run.is_cancelled
    return StepState(False, "nothing was published" if failed else "", problem=failed)


def verdict_of(result: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the two statements of a result; those of earlier versions have a text in their place."""
    found = None if result is None else result.get("verdict")
    return found if isinstance(found, Mapping) else None


@lru_cache(maxsize=64)
def needs_a_look(run: CommandRun) -> bool:
    """Tell whether protection is red, or a run has concerns; every page of the project wants to know."""
    try:
        result = run.result(RESULT) or {}
        verdict = verdict_of(result)
        return bool(result.get("concerns")) or (verdict is not None and verdict["protection"]["level"] == "red")
    except ResourceError:  # more than a page shows: the report has it
        return False


MASK = WebPage(
    "mask",
    "mask",
    "Mask",
    _show,
    step="mask",
    actions={"mask": _mask, "plan": _plan, "save": _save, "cancel": _cancel, "forbid": _forbid},
    state=_state,
    writes=frozenset({"method", "k", "grouping", "invalid", "params", "limits", "allow_unfired"})
    | further_settings(_FIELDS).keys(),
)
