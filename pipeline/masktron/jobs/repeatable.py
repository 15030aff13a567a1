"""What of a file and its rules has to be as it was when a run is repeated on another file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from masktron.config import Config, Kind, ReadOptions, Role
from masktron.jobs.fields_by_level import (
    HeldField,
    completed_by_level,
    fields_by_level,
    levels_of_file,
    variables_by_level,
)
from masktron.jobs.job import Job
from masktron.jobs.lowering.lower import Lowered
from masktron.results import BlockResult
from masktron.roles import FieldFacts
from masktron.rulebook.schema import Rulebook
from masktron.setting_values import ALL_FIELDS
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.opening import format_of
from masktron.sources.source import Source
from masktron.sources.variables import Variable


def traits_of(job: Job, records: Dataset, given: Config, config: Config) -> dict[str, Any]:
    """Describe a file and its rules, for the manifest: no value of a record.

    Parameters
    ----------
    job : Job
    records : Dataset
    given : Config
        The settings.
    config : Config
        The settings, completed by what the file says.
    """
    codes = declared_codes(job.source.variables, config)
    return {
        "format": format_of(job.source.path, given.reading),
        "record": job.source.layout.record_tag,
        "fields": [
            {"name": name, **field_traits(column), "codes": sorted(codes(name))}
            for name, column in records.columns.items()
        ],
        "rules": rule_digests(job.rulebook),
    }


def traits_by_level(
    nested: Lowered, given: Config, facts: Sequence[FieldFacts], blocks: Sequence[BlockResult]
) -> dict[str, Any]:
    """Describe a nested file and its rules as they are written, for the manifest: no value of a field of numbers.

    Parameters
    ----------
    nested : Lowered
    given : Config
        The settings.
    facts : sequence of FieldFacts
        Of the wide records: what each field was taken for.
    blocks : sequence of BlockResult
        With the names of fields by level.
    """
    job, tree = nested.job, nested.source.levels
    config, _ = completed_by_level(given, job.source, tree)
    codes = declared_codes(variables_by_level(job.source, tree), config)
    dataset = job.source.level_records(missing=config.missing) if config.missing else nested.source.dataset
    taken = _taken_by_level(nested, config, facts)
    tabled = tables_of_levels(job.source, given.reading)
    return {
        "format": format_of(job.source.path, given.reading),
        "record": job.source.layout.record_tag,
        "fields": [
            {
                "name": name,
                **field_traits(field.column),
                "codes": sorted(codes(name)),
                **_as_taken(field, *taken(name, field)),
            }
            for name, field in fields_by_level(dataset).items()
        ],
        "rules": rule_digests(job.rulebook),
        "levels": list(levels_of_file(job.source)),
        "tables": {name: {"format": how, "sha256": digest} for name, (how, digest) in tabled.items()},
        "blocks": [
            {
                "variables": list(block.variables),
                "aggregator": block.aggregator,
                "groups": block.groups,
                "information_loss": block.information_loss,
            }
            for block in blocks
        ],
    }


def tables_of_levels(source: Source, reading: ReadOptions) -> dict[str, tuple[str, str]]:
    """Return the format and the SHA-256 of each table, by its level; none where records stand in one file."""
    if not isinstance(source, JoinedSource) or not source.others:
        return {}
    top, *others = reading.levels.values()
    own = {one.name: ReadOptions(format=one.format, options=one.format_options) for one in others}
    tables: dict[str, tuple[Source, ReadOptions]] = {top.name: (source.tables[0], reading)}
    tables |= {name: (table, own[name]) for name, table in source.others.items()}
    return {name: (format_of(table.path, how), table.digest) for name, (table, how) in tables.items()}


def _taken_by_level(
    nested: Lowered, config: Config, facts: Sequence[FieldFacts]
) -> Callable[[str, HeldField], tuple[Role, Kind]]:
    """Return what tells the role and the kind of a field: as it was masked at its first position, or around it."""
    known = {fact.name: fact for fact in facts}
    leaves = nested.source.wide.by_field()
    names = nested.source.levels.names

    def taken(name: str, field: HeldField) -> tuple[Role, Kind]:
        own = [known[leaf.name] for leaf in leaves.get(names[name], ()) if leaf.name in known]
        role, kind = config.roles.get(name), config.kind_of(name)
        if own:
            return role or own[0].role, own[0].kind
        held = bool(field.column.present.any())
        # beside records that are protected alone, what is masked and has a value is a sum of theirs
        return (
            role or (Role.CONFIDENTIAL if held else Role.UNTOUCHED),
            kind or (Kind.NUMBER if field.column.numeric or not held else Kind.NOMINAL),
        )

    return taken


def _as_taken(field: HeldField, role: Role, kind: Kind) -> dict[str, Any]:
    """Return what a manifest says of how a field was masked; of categories, which there were."""
    listed = role is Role.CONFIDENTIAL and kind is not Kind.NUMBER
    return {"role": str(role), "kind": str(kind), "categories": sorted(field.column.texts()) if listed else None}


def field_traits(column: Column) -> dict[str, Any]:
    """Describe what a field holds: numbers, texts or nothing; whether it lacks values, and has negative ones.

    A field holds numbers where most of its values are.
    """
    present = int(column.present.sum())
    numbers = int(column.is_number.sum())
    kind = "nothing" if not present else "numbers" if 2 * numbers > present else "texts"
    return {"type": kind, "gaps": not bool(column.present.all()), "negative": bool((column.values < 0).any())}


def declared_codes(variables: Iterable[Variable], config: Config) -> Callable[[str], frozenset[str]]:
    """Return what tells the codes for missing values of a field that somebody declared, and not records alone."""
    observed = {variable.name: variable.observed for variable in variables}
    nothing: frozenset[str] = frozenset()

    def codes(name: str) -> frozenset[str]:
        every = config.missing.get(name, nothing) | config.missing.get(ALL_FIELDS, nothing)
        return every - observed.get(name, nothing)

    return codes


def rule_digests(rulebook: Rulebook) -> dict[str, str]:
    """Return a digest of each rule as it is understood, by its id: messages and comments change nothing."""
    return {check: sha256(json.dumps(rule).encode()).hexdigest() for check, rule in _rules(rulebook)}


def _rules(rulebook: Rulebook) -> Iterator[tuple[str, list[Any]]]:
    spaces = [list(pair) for pair in rulebook.namespaces]
    lets = [[let.name, let.value] for let in rulebook.lets]
    for pattern in rulebook.patterns:
        outer = [*lets, *([let.name, let.value] for let in pattern.lets)]
        before = ""
        for rule in pattern.rules:
            bound = [*outer, *([let.name, let.value] for let in rule.lets)]
            for check in rule.checks:
                # a node fires the first rule of a pattern that takes it
                own = [rule.context, check.kind, check.test, check.soft]
                yield check.id, [pattern.version, spaces, bound, before, *own]
            before = sha256(f"{before} {rule.context}".encode()).hexdigest()
