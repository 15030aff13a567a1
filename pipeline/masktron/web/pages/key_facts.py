"""What ``masktron keys`` has found: the risk of what others may know, and what treatments would make of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masktron.report.sentences import estimate_lines
from masktron.results import KeyRisk
from masktron.serialised import read_plain
from masktron.step_kinds import ALL
from masktron.web.pages.step_runs import given_rules, is_current, needed_data, result_of
from masktron.web.runs import run_kinds
from masktron.web.runs.one_run import Argument, CommandRun, InRun, latest_run
from masktron.web.store.projects import Project
from masktron.web.web_page import Visit, problem_of

RESULT = "keys.json"
KEY_WORDS: Mapping[str, str] = {
    "key_k": "Records that share all keys, at least",
    "key_uniques": "Records like no other one",
    "key_population_uniques": "Of these, alone in the population",
    "individual_risk": "Mean risk of a record",
    "global_risk": "Records that are found, as expected",
    "suda_share": "Records with a special set of up to three values",
}
"""What figures of keys are called, by name."""
FATES: Mapping[str, str] = {
    "exact": "the same, asked of classes",
    "implied": "always true now, and not asked any more",
    "weakened": "weaker: asked as far as classes tell",
    "vacuous": "asks nothing any more of any class: in each, some value obeys it",
    "removed": "not asked any more: it reads a field that is left out of the file",
    "lost": "lost: nothing of it can be asked",
}
"""What becomes of a rule that reads a recoded or removed field."""
_CLASSES_SHOWN = 200


def keys_arguments(project: Project) -> list[Argument]:
    """Return the command that measures what keys tell, in the folder of a run.

    Raises
    ------
    UsageError
        There are no data.
    """
    return ["keys", needed_data(project), *given_rules(project), "--json", InRun(RESULT)]


def measure_keys(visit: Visit, project: Project) -> CommandRun:
    """Start the command; one that is under way is of former settings, and ends.

    Raises
    ------
    UsageError
        As for `keys_arguments`.
    """
    words = keys_arguments(project)
    run = latest_run(project, run_kinds.KEYS.step)
    if run is not None and not run.is_over:
        visit.queue.cancel(run)
    return visit.start(project, run_kinds.KEYS, words)


def current_keys(project: Project) -> dict[str, Any] | None:
    """Return what the latest run has found, if it still speaks of the project as it is."""
    run = latest_run(project, run_kinds.KEYS.step)
    return result_of(run, RESULT) if run is not None and run.is_over and is_current(run) else None


def keys_context(project: Project, draft: CommandRun | None, poll: str) -> dict[str, Any]:
    """Return what the part of the page shows that tells of keys.

    Parameters
    ----------
    project : Project
    draft : CommandRun or None
        The run that tries out what was typed; None where what was saved is shown.
    poll : str
        Where a script asks again, as long as it goes on.
    """
    run = latest_run(project, run_kinds.KEYS.step) if draft is None else draft
    active = run is not None and not run.is_over
    result = None if run is None or active else result_of(run, RESULT)
    return {
        "keys_run": run,
        "keys_active": active,
        "keys_poll": poll if active else "",
        "keys_stale": run is not None and draft is None and not active and not is_current(run),
        "keys_error": None if run is None or active or run.error is None else problem_of(run.error),
        "tried": None if result is None else tried(result),
    }


def treated_context(result: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the result of `mask` says of treatments and of keys; nothing where it has neither.

    Parameters
    ----------
    result : mapping or None
        As ``mask --json`` writes it.
    """
    keys = None if result is None else result.get("keys")
    if result is None or (keys is None and not result.get("treatments")):
        return {"treated": None}
    before = result.get("before", [])
    named = {one["figure"] for one in before} or KEY_WORDS.keys()
    figures = [one for one in result["figures"] if one["figure"] in named]
    return {
        "treated": {
            "treatments": _treatments(result),
            "untrue": any(one["drawn"] for one in _treatments(result)),
            "figures": figures_beside(before or figures, figures if before else []),
            "both": bool(before),
            "estimates": [] if keys is None else estimate_lines(read_plain(KeyRisk, keys, "keys")),
            "contributions": contributions(keys),
            "fates": fates_told(result.get("fates", [])),
            "rules_file": result.get("rules_file", ""),
        }
    }


def _treatments(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what was done to fields, with what it is called."""
    kinds = {kind.kind: kind for kind in ALL}
    own = ((one, kinds[one["kind"]]) for one in result.get("treatments", []))
    return [{**one, "words": kind.outcome, "drawn": kind.untrue} for one, kind in own]


def tried(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of the command as templates show it."""
    suppressed = {one["field"]: one["how"] for one in result["treatments"] if one["kind"] == "suppression"}
    recoded = {one["field"]: one["how"] for one in result["treatments"] if one["kind"] == "recoding"}
    keys, treated = result["keys"], result["treated"]
    return {
        "figures": figures_beside(result["before"], result["figures"]),
        "treated": treated is not None,
        "drawn": [one for one in _treatments(result) if one["drawn"]],
        "records": result["records"],
        "known": keys,
        "below": [] if keys is None else _below(keys, treated),
        "estimates": [] if keys is None else estimate_lines(read_plain(KeyRisk, treated or keys, "keys")),
        "contributions": contributions(keys),
        "fields": [
            {
                "name": one["field"],
                "different": one["different"],
                "how": recoded.get(one["field"]),
                "suppressed": suppressed.get(one["field"]),
                "classes": _some(one["classes"]),
                "more": max(0, len(one["classes"] or ()) - _CLASSES_SHOWN),
            }
            for one in result["fields"]
        ],
        "fates": fates_told(result["fates"]),
        "obstacle": result["obstacle"],
        "notes": result["notes"],
    }


def _some(classes: Mapping[str, int] | None) -> list[tuple[str, int]]:
    return [] if classes is None else list(classes.items())[:_CLASSES_SHOWN]


def figures_beside(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put figures of keys before and after treatments side by side."""
    now = {one["figure"]: one for one in after}
    return [
        {
            "name": KEY_WORDS.get(one["figure"], one["figure"]),
            "before": figure_told(one),
            "after": figure_told(now[one["figure"]]) if one["figure"] in now else "",
            "meaning": one["meaning"],
        }
        for one in before
    ]


def figure_told(one: Mapping[str, Any]) -> str:
    """Write a figure with its unit."""
    if one["value"] is None:
        return "none"
    unit = " %" if one["unit"] == "%" else ""
    return f"{one['value']:,.4g}{unit}" if one["value"] < 1000 else f"{one['value']:,.0f}{unit}"


def _below(keys: Mapping[str, Any], treated: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Say how many records share their keys with few, with the weight and without it."""
    without = keys["below_without_weight"] or {}
    now = {} if treated is None else (treated["below_without_weight"] if without else treated["below"])
    return [{"k": k, "before": without.get(k, count), "after": now.get(k)} for k, count in keys["below"].items()]


def contributions(keys: Mapping[str, Any] | None) -> list[tuple[str, float]]:
    """Return what each field contributes to the scores of minimal sample uniques, in per cent, the most first."""
    if keys is None or not keys["contributions"] or not any(keys["minimal_uniques"]):
        return []
    return sorted(((name, share or 0.0) for name, share in keys["contributions"].items()), key=lambda one: -one[1])


def fates_told(fates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Say in words what becomes of each rule."""
    return [{**one, "words": FATES[one["fate"]]} for one in fates]
