"""Conditions on other records as checks on single records, so that they are evaluated like any check."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from masktron.evaluation.across.selection import Predicate
from masktron.rulebook.schema import Check, Origin, Pattern, Rule, Rulebook
from masktron.sources.records import Layout


def conditions_of(rulebook: Rulebook, layout: Layout, predicates: Collection[Predicate]) -> Rulebook:
    """Return a rulebook with one check for each condition: it holds where the condition is true.

    Parameters
    ----------
    rulebook : Rulebook
        Whose variables and prefixes the conditions use.
    layout : Layout
        Of the records that they are asked of.
    """
    tags = (*layout.record_path, *(field.tag for field in layout.fields))
    uris = dict.fromkeys(tag[1:].partition("}")[0] for tag in tags if tag.startswith("{"))
    prefixes = {uri: f"m-across{k}" for k, uri in enumerate(uris)}
    here = Origin(str(rulebook.path), 0)
    patterns = []
    for i, predicate in enumerate(predicates):
        check = Check(f"condition-{i}", i, "assert", predicate.source, (), here)
        rule = Rule(_context(predicate, layout, prefixes), (), (check,), here)
        lets = rulebook.patterns[predicate.scope].lets if predicate.scope >= 0 else ()
        patterns.append(Pattern(f"condition-{i}", lets, (rule,), here))
    namespaces = (*rulebook.namespaces, *((prefix, uri) for uri, prefix in prefixes.items()))
    return replace(rulebook, patterns=tuple(patterns), namespaces=namespaces)


def _context(predicate: Predicate, layout: Layout, prefixes: Mapping[str, str]) -> str:
    steps = [_step(tag, prefixes) for tag in layout.record_path]
    if predicate.field is not None:
        field = layout.fields[predicate.field]
        steps.append(("@" if field.attribute else "") + _step(field.tag, prefixes))
    return "/" + "/".join(steps)


def _step(tag: str, prefixes: Mapping[str, str]) -> str:
    uri, _, local = tag[1:].partition("}")
    return f"{prefixes[uri]}:{local}" if tag.startswith("{") else tag
