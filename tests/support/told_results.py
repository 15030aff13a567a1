"""What commands would have told, put into the folders of runs: the results are of the shape that the schemas say."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from masktron.errors import RulebookError
from masktron.problems.problem import Place
from masktron.web.runs import run_process
from masktron.web.runs.one_run import CommandRun
from masktron.web.store.disk import write_plain
from paths import ROOT
from web_runs import tell_error

EMPTY: Mapping[str, Any] = {
    "solver": "HiGHS",
    **{
        name: []
        for name in (
            "contradictions", "redundant", "duplicates", "impossible", "allowed", "always", "never",
            "skipped", "in_part", "undecided",
        )
    },
}  # fmt: skip


@cache
def _schemas() -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in (ROOT / "schemas").glob("*.schema.json")}


def conforming(content: dict[str, Any]) -> dict[str, Any]:
    """Return a result that is of the shape of its command."""
    import jsonschema  # what stands in for commands shall not wait for it
    from referencing import Registry, Resource

    schemas = _schemas()
    registry = Registry().with_resources([(one["$id"], Resource.from_contents(one)) for one in schemas.values()])
    schema = schemas[f"{content['job']}.schema.json"]
    jsonschema.Draft202012Validator(schema, registry=registry).validate(content)
    return content


def told(run: CommandRun, content: dict[str, Any] | None = None, name: str = "", *, code: int = 0) -> CommandRun:
    """Let a run have ended with a result."""
    if content is not None:
        (run.folder / name).write_text(json.dumps(conforming(content)))
    now = time.time()
    write_plain(run.folder / run_process.PROCESS, {"pid": 1, "began": now})
    write_plain(run.folder / run_process.EXIT, {"code": code, "problem": "", "began": now, "ended": now})
    return run


def failed(run: CommandRun, place: Place | str = "", *, reason: str = "", name: object = "x") -> CommandRun:
    """Let a run have ended with an error that is about an input, or has a reason."""
    tell_error(run, RulebookError.of("bad-value", place, name=name, expected=reason, given=""))
    return told(run, code=3)


def explained(rules: Sequence[Mapping[str, Any]], **preflight: Any) -> dict[str, Any]:
    """Return what `explain` says of rules."""
    usual = {
        "class": "linear", "soft": False, "marks": [], "variables": [], "form": "", "reason": "", "lints": [],
        "context": "", "test": "", "fired": None, "failed": None, "block": None, "candidates": [], "aggregator": None,
        "why": None, "tier": None,
    }  # fmt: skip
    return {
        "schema_version": 1,
        "job": "explain",
        "rulebook": "rules.sch",
        "xpath": "1.0",
        "rules": [{**usual, **one} for one in rules],
        "notes": [],
        "obstacle": None,
        "preflight": {**EMPTY, **preflight},
        "ties": [],
        "coverage": [],
        "tested": None,
        "fields": [],
        "levels": [],
        "steps": [],
    }


def validated(
    rules: Sequence[Mapping[str, Any]], findings: Sequence[Mapping[str, Any]], **more: Any
) -> dict[str, Any]:
    """Return what `validate` says of rules and records."""
    usual_rule = {
        "class": "linear", "fired": 100, "failed": 0, "errors": 0, "soft": False, "origin": "rules.sch:1",
        "untested": None, "text": "", "allowed": None, "passes": True, "undecided": None,
    }  # fmt: skip
    usual = {
        "kind": "failed-assert", "severity": "error", "record_id": None, "line": 1, "column": None, "location": "/a",
        "message": "", "values": {}, "artefact": False, "diagnostics": [], "member": None, "more": {},
    }  # fmt: skip
    violations = sum((one.get("failed") or 0) for one in rules if not one.get("soft"))
    return {
        "schema_version": 1,
        "job": "validate",
        "confidential": "confidential",
        "data": "files/household.xml",
        "valid": not violations,
        "records": 2000,
        "violations": violations,
        "warnings": sum((one.get("failed") or 0) for one in rules if one.get("soft")),
        "tested": {"rules": len(rules), "tested": len(rules), "untested": [], "few": []},
        "rules": [{**usual_rule, **one} for one in rules],
        "notes": [],
        "engine": "libxml2",
        "limit": 1000,
        "findings": [{**usual, **one} for one in findings],
        "fields": [],
        "documents": [],
        "unread": [],
        **more,
    }


def suggested(*proposals: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `suggest` proposes."""
    usual = {
        "kind": "range", "form": "A >= 0", "class": "values", "fields": ["A"], "context": "Household",
        "test": "A >= 0", "message": "A {A}", "records": 10, "exceptions": 0, "first": [], "strength": "strong",
        "evidence": "it holds", "follows_from": [], "accepted": False, "plain": "",
    }  # fmt: skip
    numbered = [{**usual, "number": number, "id": f"p{number}", **one} for number, one in enumerate(proposals, 1)]
    return {
        "schema_version": 1, "job": "suggest", "data": "files/household.xml", "records": 10, "output": None,
        "namespaces": {}, "proposals": numbered, "notes": [],
    }  # fmt: skip


def keys_tried(field: str, other: str) -> dict[str, Any]:
    """Return what ``keys --json`` writes of a recoding that loses a rule."""
    figure = {"group": "risk", "unit": "records", "better": "lower", "field": None, "meaning": "alone"}
    keys = {
        "fields": [field, other], "stated": True, "k": 1, "mean": 0.1, "largest": 1.0,
        "below": {"2": 9, "3": 12, "5": 20}, "below_without_weight": None, "weight": None, "minimal_uniques": [0, 4],
        "records": 60, "expected": 1.5, "population_uniques": 0.4, "model_expected": 2.5, "model_uniques": 0.8,
        "model_pairs": [[field, other]], "model_without": None,
        "contributions": {field: 80.0, other: 20.0},
    }  # fmt: skip
    fate = {"rule": "adult", "fate": "lost", "before": "AGE >= 16", "after": "", "reason": "it reads all records",
            "fields": [field]}  # fmt: skip
    return {
        "job": "keys", "records": 60, "keys": keys, "treated": {**keys, "below": {"2": 1, "3": 2, "5": 4}},
        "before": [{**figure, "figure": "key_uniques", "value": 9}],
        "figures": [{**figure, "figure": "key_uniques", "value": 1}],
        "treatments": [{"kind": "recoding", "field": field, "how": "width:5"},
                       {"kind": "suppression", "field": other, "how": "k = 3: 2 of 60 cells (3.3 %)"},
                       {"kind": "pram", "field": other, "how": "change 0.1; odds rise at most 8.8 times"},
                       {"kind": "swapping", "field": other, "how": "records drawn from all; 3 pairs"}],
        "fates": [fate],
        "fields": [{"field": field, "different": 30, "values": {"16": 2}, "classes": {"15-19": 8, "20-24": 10}},
                   {"field": other, "different": 3, "values": {"N1": 20, "W9": 1}, "classes": {"N1": 20}}],
        "obstacle": "the rule adult is lost", "notes": ["a note"],
    }  # fmt: skip
