"""What ``masktron`` says and writes for pages, at once: a stand-in that reads a small CSV and works out nothing."""

from __future__ import annotations

import csv
import hashlib
import json
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from made_up_map import made_up_map
from masktron.rulebook_text.rule_entries import rules_in
from told_results import explained, suggested, validated
from web_runs import MASKED, described, text_field

PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="390"><title>A map</title></svg>'
Options = Mapping[str, str]


def _describe(data: Path, options: Options) -> dict[str, Any]:
    header, *rows = csv.reader(data.read_text().splitlines())
    settings = Path(options["config"])
    roles = tomllib.loads(settings.read_text()).get("roles", {}) if settings.exists() else {}
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    fields = [
        {"name": name, "distinct": len(set(cells)), "least": min(cells), "greatest": max(cells)}
        if all(cell.isdigit() for cell in cells)
        else text_field(name, *cells[:2], role=roles.get(name))
        for name, cells in columns.items()
    ]
    shown = [{"record": at, "line": at + 1, "values": row} for at, row in enumerate(rows[:20], 1)]
    return {**described(*fields), "records": len(rows), "rows": shown, "format": "csv", "record": ""}


def _suggest(data: Path, _: Options) -> dict[str, Any]:
    total = {"id": "total-T", "form": "A + B = T", "context": "Record", "test": "A + B = number(T)"}
    return {**suggested(total, {"id": "range-A", "context": "Record"}), "data": str(data)}


def _explain(_: Path, options: Options) -> dict[str, Any]:
    entries = rules_in(Path(options["rules"]).read_bytes()).entries
    common = {"fired": 12, "failed": 0, "block": ["A", "B", "T"], "candidates": ["mean"], "why": "mean keeps it"}
    return explained(
        [
            {"id": one.id, "form": one.test, "context": one.context, "test": one.test, **common}
            | {"origin": f"{options['rules']}:{one.line}"}
            for one in entries
        ]
    )


def _validate(data: Path, options: Options) -> dict[str, Any]:
    entries = rules_in(Path(options["rules"]).read_bytes()).entries
    return {**validated([{"id": one.id, "passes": True} for one in entries], []), "data": str(data)}


def _mask(data: Path, options: Options) -> Mapping[str, Any]:
    out = Path(options["out"])
    out.write_bytes(data.read_bytes())
    out.with_name(f"{out.stem}.manifest.json").write_text("{}")
    return MASKED


def _check(data: Path, _: Options) -> dict[str, Any]:
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    return {"job": "check", "sha256": digest, "checked": ["2 rules"], "not_checked": [], "problems": [], "rules": []}


COMMANDS: Mapping[str, Callable[[Path, Options], Mapping[str, Any]]] = {
    "describe": _describe,
    "suggest": _suggest,
    "explain": _explain,
    "validate": _validate,
    "tune": lambda _, __: made_up_map(),
    "mask": _mask,
    "check": _check,
}


def carry_out(words: Sequence[str]) -> None:
    """Write what a command with these words would write."""
    command, positional, *rest = words
    pairs = [one.removeprefix("--").partition("=") for one in rest if "=" in one]
    options = {name: value for name, _, value in pairs}
    plain = [one for one in rest if "=" not in one]
    options |= {name.removeprefix("--"): value for name, value in zip(plain[::2], plain[1::2], strict=True)}
    if command == "explain":
        options["rules"] = positional
    result = COMMANDS[command](Path(positional), options)
    for name in ("html", "html-public", "csv", "map"):
        if name in options:
            Path(options[name]).write_text(PICTURE if name == "map" else "<!DOCTYPE html><title>t</title>")
    Path(options["json"]).write_text(json.dumps({"schema_version": 1, **result}))


if __name__ == "__main__":
    carry_out(sys.argv[1:])
