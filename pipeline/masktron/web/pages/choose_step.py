"""The fifth step: ways to mask are tried, and each stands on a map of risk and loss; one of them is taken."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

from masktron.config import Config
from masktron.errors import UsageError
from masktron.figures import figure_of
from masktron.problems.wording import sentence
from masktron.report.rendering import read_told
from masktron.results.tune import KeyTreatment, TuneCandidate, TuneResult
from masktron.web.pages.form_values import at_fields, choice_from, limits_from, whole_from
from masktron.web.pages.method_words import LIMITS, METHOD_WORDS, figure_words
from masktron.web.pages.paging import page_of_items
from masktron.web.pages.step_runs import (
    cancel_run,
    current_run,
    given_rules,
    good_run,
    is_current,
    needed_data,
    result_of,
    run_context,
)
from masktron.web.runs import run_kinds, run_process
from masktron.web.runs.one_run import LARGEST_RESULT, CommandRun, InRun, latest_run, run_of
from masktron.web.store.disk import bytes_of, read_plain
from masktron.web.store.projects import Project
from masktron.web.web_page import FormFields, Redirect, StepState, Visit, WebPage

RESULT, PICTURE, PAGE = "tune.json", "map.svg", "map.html"
KEPT = "tune"
"""The folder of what was tried, in that of the project: the next run goes on from it."""
BUDGETS = {"2m": "2 minutes", "10m": "10 minutes", "30m": "30 minutes", "1h": "an hour", "4h": "4 hours"}
_SECONDS = dict(zip(BUDGETS, (120, 600, 1800, 3600, 14400), strict=True))
SIZES = (3, 5, 10, 20)
_FIELDS = ("budget", "k", "methods", *(f"limits.{name}" for name in LIMITS))
_ORDERS = {"": "as they were tried", "risk": "least risk first", "loss": "least loss first"}


def _show(visit: Visit, project: Project) -> dict[str, Any]:
    config, asked = project.settings.config, project.settings.table.get("tune", {})
    run = latest_run(project, run_kinds.CHOOSE.step)
    result = _result(run)
    rows = [] if result is None else _rows(result, config)
    order = visit.query.get("sort", "") if visit.query.get("sort", "") in _ORDERS else ""
    if order:
        rows = sorted(rows, key=lambda one: (one[order] is None, one[order] or 0, one["number"]))
    found = page_of_items(rows, visit.query)
    budget = str(asked.get("budget", "10m"))
    error = run.error if run is not None and run.is_over else None
    context = run_context(visit, run)
    return {
        **context,
        "result": result,
        "found": found,
        "recommended": None if result is None else next((one for one in rows if one["recommended"]), None),
        "taken": "method" in project.settings.table,
        "chosen": next((one for one in rows if one["chosen"]), None),
        "rows_outside": any(one["bad"] for one in rows),
        "measured": sum(one["risk"] is not None for one in rows),
        "order": order,
        "orders": _ORDERS,
        "picture": visit.path_of_picture(run, PICTURE) if run is not None and run.output(PICTURE) else None,
        "drawn_at": _changed(run),
        "most_left": None if run is None or run.is_over else _left(run, budget),
        "report": visit.path_of_report(run, PAGE) if run is not None and run.is_over and run.output(PAGE) else None,
        "risk_name": None if result is None else figure_words(result.risk),
        "loss_name": None if result is None else figure_words(result.utility),
        "risk_meaning": None if result is None else figure_of(result.risk).meaning,
        "loss_meaning": None if result is None else figure_of(result.utility).meaning,
        "budget": budget,
        "budgets": list(({} if budget in BUDGETS else {budget: budget}).items()) + list(BUDGETS.items()),
        "k": ", ".join(map(str, asked.get("k") or SIZES)),
        "methods": METHOD_WORDS,
        "asked_methods": asked.get("methods") or [],
        "limits": {name: f"{config.limits[name]:g}" if name in config.limits else "" for name in LIMITS},
        "limit_words": LIMITS,
        "settings_text": project.settings.text,
        "runs": [] if run is None else [("Choose", run)],
        "error": error,
        "problems": [] if context["stale"] else at_fields(error, _FIELDS),
    }


def _changed(run: CommandRun | None) -> int:
    """Return when the picture of the map was drawn, in nanoseconds: browsers keep it under its address."""
    path = None if run is None else run.output(PICTURE)
    return 0 if path is None else path.stat().st_mtime_ns


def _left(run: CommandRun, budget: str) -> float | None:
    """Return the seconds that are left of the budget; None before it counts, or where it is none of the list."""
    began = (read_plain(run.folder / run_process.PROCESS) or {}).get("began")
    return None if began is None or budget not in _SECONDS else max(0.0, began + _SECONDS[budget] - time.time())


def _result(run: CommandRun | None) -> TuneResult | None:
    """Return the map: of a run that goes on, or was cancelled, as far as it came."""
    if run is None:
        return None
    found = result_of(run, RESULT) or _so_far(run)
    if found is None or found.get("job") != TuneResult.JOB:
        return None
    result: TuneResult = read_told(TuneResult, found, Path(RESULT))
    return result


def _so_far(run: CommandRun) -> dict[str, Any] | None:
    """Return what a run has written of its map up to now; nothing that another one has left."""
    path = run.project.folder / KEPT / RESULT
    began = (read_plain(run.folder / run_process.PROCESS) or {}).get("began")
    content = bytes_of(path)
    if began is None or content is None or len(content) > LARGEST_RESULT or path.stat().st_mtime < began:
        return None
    found: dict[str, Any] = json.loads(content)
    return found


def _rows(result: TuneResult, config: Config) -> list[dict[str, Any]]:
    rows = []
    for number, one in enumerate(result.candidates):
        risk, loss = (_known(one, name) for name in (result.risk, result.utility))
        rows.append(
            {
                "number": number,
                "name": one.name,
                "words": METHOD_WORDS.get(one.method, one.method),
                "risk": risk,
                "loss": loss,
                "recommended": number == result.recommended,
                "front": number in result.front,
                "chosen": _is_chosen(one, config),
                "verdict": _verdict(one, number, result),
                "bad": one.within_limits is False,
                "why": "; ".join(map(sentence, one.reasons)),
                "concerns": one.concerns,
                "takable": one.state in ("measured", "sampled"),
                "sampled": one.state == "sampled",
            }
        )
    return rows


_STATES = {
    "refused": "not possible here",
    "ended": "ended for want of time or memory",
    "unreached": "not tried",
}


def _verdict(one: TuneCandidate, number: int, result: TuneResult) -> str:
    if number == result.recommended:
        return "recommended"
    if one.state == "same":
        return f"does the same as number {one.same_as}"
    if one.state in _STATES:
        return _STATES[one.state]
    if one.within_limits is False:
        return "outside a limit"
    return "no other is better in both" if number in result.front else "possible"


def _known(one: TuneCandidate, name: str) -> float | None:
    return None if math.isnan(value := one.figures.get(name, math.nan)) else value


def _of_keys(one: TuneCandidate, config: Config) -> dict[str, Any]:
    """Return the settings that treat keys as a candidate does, where they do not do so already."""
    wanted = one.treatment
    if wanted == KeyTreatment.of(config):
        return {}
    keys = {**config.keys, "k": wanted.key_k} if config.keys and wanted.key_k is not None else None
    swap = {name: list(value) if isinstance(value, tuple) else value for name, value in wanted.swap.items()}
    return {
        "recode": wanted.recode or None,
        "pram": wanted.pram or None,
        "swap": swap or None,
        "keys": keys,
        "key_k": None if keys else wanted.key_k,
    }


def _settings(one: TuneCandidate, config: Config) -> dict[str, Any]:
    """Return the settings that a candidate stands for; None takes one away."""
    return {
        **_of_keys(one, config),
        "method": one.method,
        "k": one.k,
        "grouping": one.grouping,
        "aggregator": one.aggregator,
        "params": {name: list(value) if isinstance(value, tuple) else value for name, value in one.params.items()}
        or None,
    }


def _is_chosen(one: TuneCandidate, config: Config) -> bool:
    return all(getattr(config, name) == value for name, value in one.settings.items())


def chosen_candidate(project: Project) -> TuneCandidate | None:
    """Return the candidate that is chosen, if the current map has figures of it."""
    run = current_run(project, run_kinds.CHOOSE.step)
    result = None if run is None or not run.is_over else _result(run)
    candidates = () if result is None else result.candidates
    return next((one for one in candidates if one.figures and _is_chosen(one, project.settings.config)), None)


def _begin(visit: Visit, project: Project, form: FormFields) -> Redirect:
    data = needed_data(project)
    run = latest_run(project, run_kinds.CHOOSE.step)
    if run is not None and not run.is_over:
        raise UsageError.of("run-under-way", run=run.name, reason="tries ways to mask already")
    table, config = project.settings.table, project.settings.config
    former = str(table.get("tune", {}).get("budget", ""))
    budget = choice_from("budget", form.text("budget"), {*BUDGETS, former})
    sizes = [whole_from("k", part.strip(), 2) for part in form.text("k").split(",") if part.strip()]
    methods = [choice_from("methods", name, METHOD_WORDS) for name in form.texts("methods")]
    asked = {
        **{name: value for name, value in table.get("tune", {}).items() if name not in ("budget", "k", "methods")},
        "budget": budget,
        **({"k": sizes} if sizes and tuple(sizes) != SIZES else {}),
        **({"methods": methods} if methods else {}),
    }
    project.settings.update(
        {"tune": asked, "limits": limits_from(form, config) or None},
        said="What Choose tries, and limits",
    )
    words = ["tune", data, *given_rules(project), "--out", KEPT, "--json", InRun(RESULT)]
    visit.start(project, run_kinds.CHOOSE, [*words, "--map", InRun(PICTURE), "--html", InRun(PAGE)])
    return Redirect(visit.path(project, "choose"))


def _take(visit: Visit, project: Project, form: FormFields) -> Redirect:
    run = run_of(project, form.text("run"))
    result = _result(run)
    candidates = () if result is None else result.candidates
    number = whole_from("candidate", form.text("candidate"))
    if number >= len(candidates) or candidates[number].state not in ("measured", "sampled"):
        raise UsageError.of("page-outdated", reason="this way to mask has no figures")
    one = candidates[number]
    project.settings.update(_settings(one, project.settings.config), said=f"Chosen: {one.name}")
    return Redirect(visit.path(project, "choose") + "#chosen")


def _cancel(visit: Visit, project: Project, _: FormFields) -> Redirect:
    cancel_run(visit, project, run_kinds.CHOOSE.step)
    return Redirect(visit.path(project, "choose"))


def _state(project: Project) -> StepState:
    run = latest_run(project, run_kinds.CHOOSE.step)
    if run is not None and not run.is_over:
        return StepState(False, "under way")
    result = _result(run)
    current = run is not None and is_current(run)
    if result is not None and current:
        config = project.settings.config
        taken = [one for one in _rows(result, config) if one["chosen"] and one["takable"] and not one["bad"]]
        if taken and "method" in project.settings.table:
            return StepState(True, taken[0]["name"])
    if good_run(project, run_kinds.MASK.step) is not None:
        return StepState(True, "the settings were taken as they are")
    if result is not None and not current:
        return StepState(False, "data, rules or settings have changed since")
    return StepState(False, "" if result is None else "take one of the ways that were tried")


CHOOSE = WebPage(
    "choose",
    "choose",
    "Choose",
    _show,
    step="choose",
    actions={"begin": _begin, "take": _take, "cancel": _cancel},
    state=_state,
    writes=frozenset({"tune", "limits"}),
)
