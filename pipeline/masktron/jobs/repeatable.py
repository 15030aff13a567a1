"""What of a file and its rules has to be as it was when a run is repeated on another file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from masktron.config import ALL_FIELDS, Config
from masktron.jobs.job import Job
from masktron.rulebook.schema import Rulebook
from masktron.sources.opening import format_of
from masktron.sources.records import Column, Records
from masktron.sources.source import Source


def traits_of(job: Job, records: Records, given: Config, config: Config) -> dict[str, Any]:
    """Describe a file and its rules, for the manifest: no value of a record.

    Parameters
    ----------
    job : Job
    records : Records
    given : Config
        The settings.
    config : Config
        The settings, completed by what the file says.
    """
    codes = declared_codes(job.source, config)
    return {
        "format": format_of(job.source.path, given.reading),
        "record": job.source.layout.record_tag,
        "fields": [
            {"name": name, **field_traits(column), "codes": sorted(codes(name))}
            for name, column in records.columns.items()
        ],
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


def declared_codes(source: Source, config: Config) -> Callable[[str], frozenset[str]]:
    """Return what tells the codes for missing values of a field that somebody declared, and not records alone."""
    observed = {variable.name: variable.observed for variable in source.variables}
    nothing: frozenset[str] = frozenset()

    def codes(name: str) -> frozenset[str]:
        every = config.missing.get(name, nothing) | config.missing.get(ALL_FIELDS, nothing)
        return every - observed.get(name, nothing)

    return codes


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
