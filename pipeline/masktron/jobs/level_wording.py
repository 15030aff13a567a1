"""Fields and rules of wide records in the words of nested files: by level, with a position where that matters."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Self

from masktron.errors import MasktronError, RefusalFacts
from masktron.problems.problem import Field, Rule
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


@dataclass(frozen=True, slots=True)
class WideName:
    """What a name of wide records means.

    Attributes
    ----------
    level : str
        The name that it has by its level, the same one at all positions.
    single : str
        What it is called where it stands alone.
    """

    level: str
    single: str


@dataclass(frozen=True)
class LevelWording:
    """The names of the wide records of a file.

    Attributes
    ----------
    known : mapping of str to WideName
    """

    known: Mapping[str, WideName] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Source, unrolled: Unrolled | None = None) -> Self:
        """Return the names of a source of wide records, and of its rules; of any other source, none."""
        if not isinstance(source, WideSource):
            return cls()
        tree = Tree(source.wide.unit.level, source.levels.layout)  # that of the original, whose fields it has
        known: dict[str, WideName] = {}
        for place in source.wide.places:
            if place.presence:
                number = f"the number of {place.level.name}"
                known[f"@{place.presence}"] = WideName(number, f"whether there is a {place_words(place)}")
            for leaf in place.leaves:
                level = tree.name_of[place.level_path, leaf.field]
                single = f"{leaf.field.name} of the {place_words(place)}" if place.path else level
                if level != leaf.name:
                    known[leaf.name] = WideName(level, single)
        if source.wide.kind:
            known[f"@{source.wide.kind}"] = WideName("the composition", "the composition")
        if unrolled is not None:
            places = {place.name: place for place in source.wide.places}
            for check, origin in zip(unrolled.rulebook.checks, unrolled.origins, strict=True):
                everywhere = check.id.rpartition(OF_COMPOSITION)[0] or check.id
                if everywhere != check.id:
                    known[check.id] = WideName(everywhere, everywhere)
                written, _, node = everywhere.partition(":" + origin.node) if origin.node else (check.id, "", "")
                if origin.node and not node:
                    at = places.get(origin.node) or places.get(origin.node.rpartition(".")[0])
                    known[check.id] = WideName(written, f"{written} ({place_words(at)})" if at else written)
        return cls(known)

    def given(self, value: str) -> str:
        """Return what an option is given, ``Person.2.Age=untouched``, as settings name the field."""
        name, equals, rest = value.partition("=")
        return f"{self.name(name)}{equals}{rest}"

    def name(self, name: str) -> str:
        """Return the name that a field or rule has by its level."""
        return self.known[name].level if name in self.known else name

    def named[T: (Field, Rule)](self, one: T) -> T:
        """Return a field or rule of a problem with the names that it has by its level."""
        known = self.known.get(one.name)
        return one if known is None else type(one)(known.level, known.single)

    def names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names that fields or rules have by their levels, once each."""
        return tuple(dict.fromkeys(map(self.name, names)))

    def facts(self, facts: RefusalFacts) -> RefusalFacts:
        """Return why a run was refused with the names that settings have for fields and rules."""
        return replace(
            facts,
            fields=self.names(facts.fields),
            conditions=self.names(facts.conditions),
            rules=self.names(facts.rules),
        )


@dataclass(slots=True)
class Rewording:
    """Who says it by level what a job says of wide records, once it has them."""

    wording: LevelWording = field(default_factory=LevelWording)

    def know(self, source: Source, unrolled: Unrolled | None = None) -> None:
        """Learn the names of a file."""
        self.wording = LevelWording.of(source, unrolled)


@contextmanager
def said_by_level() -> Generator[Rewording]:
    """Let errors name fields and rules by level once the names are known."""
    rewording = Rewording()
    try:
        yield rewording
    except MasktronError as error:
        error.problem = error.problem.renamed(rewording.wording.named)
        error.facts = tuple(rewording.wording.facts(fact) for fact in error.facts)
        raise


def merged[T](rows: Sequence[T], name: Callable[[T], str], wording: LevelWording) -> dict[str, list[T]]:
    """Return rows by the names that their fields have by level, in their order."""
    found: dict[str, list[T]] = {}
    for row in rows:
        found.setdefault(wording.name(name(row)), []).append(row)
    return found
