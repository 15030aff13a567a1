"""What of a file and its rules has to be as it was when a run is repeated on another file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from masktron.config import ReadOptions
from masktron.jobs.job import Job
from masktron.rulebook.schema import Rulebook
from masktron.sources.opening import format_of
from masktron.sources.records import Column, Records


def traits_of(job: Job, records: Records, reading: ReadOptions) -> dict[str, Any]:
    """Describe a file and its rules, for the manifest: no value of a record."""
    return {
        "format": format_of(job.source.path, reading),
        "record": job.source.layout.record_tag,
        "fields": [{"name": name, **field_traits(column)} for name, column in records.columns.items()],
        "rules": rule_digests(job.rulebook),
    }


def field_traits(column: Column) -> dict[str, Any]:
    """Describe what a field holds: numbers, texts or nothing; whether it lacks values, and has negative ones.

    A field holds numbers where most of its values are.
    """
    present = int(column.present.sum())
    numbers = int(column.is_number.sum())
    kind = "nothing" if not present else "numbers" if 2 * numbers > present else "texts"
    return {"type": kind, "gaps": not bool(column.present.all()), "negative": bool((column.values < 0).any())}


def rule_digests(rulebook: Rulebook) -> dict[str, str]:
    """Return a digest of each rule as it is understood, by its id: messages and comments change nothing."""
    return {check: sha256(json.dumps(rule).encode()).hexdigest() for check, rule in _rules(rulebook)}


def _rules(rulebook: Rulebook) -> Iterator[tuple[str, list[Any]]]:
    around = [rulebook.version, [list(pair) for pair in rulebook.namespaces]]
    lets = [[let.name, let.value] for let in rulebook.lets]
    for pattern in rulebook.patterns:
        own = [*lets, *([let.name, let.value] for let in pattern.lets)]
        before = ""
        for rule in pattern.rules:
            bound = [*own, *([let.name, let.value] for let in rule.lets)]
            for check in rule.checks:
                # a node fires the first rule of a pattern that takes it
                yield check.id, [*around, bound, before, rule.context, check.kind, check.test, check.soft]
            before = sha256(f"{before} {rule.context}".encode()).hexdigest()
