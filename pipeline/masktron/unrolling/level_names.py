"""Fields and rules of wide records in the words of nested files: by level, with a position where that matters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from masktron.errors import MasktronError
from masktron.problems.level_names import LevelName, LevelNames
from masktron.sources.level_tree import Tree
from masktron.sources.source import Source
from masktron.sources.wide.wide_record import UnitPlace
from masktron.sources.wide.wide_source import WideSource
from masktron.unrolling.by_composition import OF_COMPOSITION
from masktron.unrolling.unrolled import Unrolled

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def ordinal(position: int) -> str:
    """Return the word for a position, which counts from 0: ``first``."""
    if position < len(_ORDINALS):
        return _ORDINALS[position]
    number = position + 1
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def place_words(place: UnitPlace) -> str:
    """Return what a member is called: ``second Person``, ``first Spell of the second Person``."""
    return " of the ".join(f"{ordinal(at)} {kind}" for kind, at in reversed(place.path))


def level_names(source: Source, unrolled: Unrolled | None = None) -> LevelNames:
    """Return the names of a source of wide records, and of its rules; any other source has those that it has."""
    if not isinstance(source, WideSource):
        return LevelNames()
    tree = Tree(source.wide.unit.level, source.levels.layout)  # that of the original, whose fields it has
    known: dict[str, LevelName] = {}
    for place in source.wide.places:
        if place.presence:
            number = f"the number of {place.level.name}"
            known[f"@{place.presence}"] = LevelName(number, f"whether there is a {place_words(place)}")
        for leaf in place.leaves:
            level = tree.name_of[place.level_path, leaf.field]
            single = f"{leaf.field.name} of the {place_words(place)}" if place.path else level
            if level != leaf.name:
                known[leaf.name] = LevelName(level, single)
    if source.wide.kind:
        known[f"@{source.wide.kind}"] = LevelName("the composition", "the composition")
    if unrolled is not None:
        places = {place.name: place for place in source.wide.places}
        for check, origin in zip(unrolled.rulebook.checks, unrolled.origins, strict=True):
            everywhere = check.id.rpartition(OF_COMPOSITION)[0] or check.id
            if everywhere != check.id:
                known[check.id] = LevelName(everywhere, everywhere)
            written, _, node = everywhere.partition(":" + origin.node) if origin.node else (check.id, "", "")
            if origin.node and not node:
                at = places.get(origin.node) or places.get(origin.node.rpartition(".")[0])
                known[check.id] = LevelName(written, f"{written} ({place_words(at)})" if at else written)
    return LevelNames(known)


@contextmanager
def errors_by_level(names: LevelNames) -> Iterator[None]:
    """Let errors that arise on wide records name fields and rules by level."""
    try:
        yield
    except MasktronError as error:
        error.problem = error.problem.renamed(names.called)
        error.facts = tuple(
            replace(
                fact,
                fields=names.names(fact.fields),
                conditions=names.names(fact.conditions),
                rules=names.names(fact.rules),
            )
            for fact in error.facts
        )
        raise
