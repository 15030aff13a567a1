"""Rules of nested records, unrolled for each composition of units, and put together as one rulebook.

A sum over members has as many addends as there are members. Written for all compositions at once, it is one rule with
two to the power of the optional members alternatives; written for each, it is as many rules without any, each of
which fires on its own units. What is the same for all units that have a member, such as a rule on that member alone,
is written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from masktron.rulebook.schema import Check, Pattern, Rule, Rulebook
from masktron.sources.level_tree import LevelPath
from masktron.sources.records import Layout
from masktron.sources.wide.wide_record import UnitPlace, WideRecord, kind_text
from masktron.unrolling.member_sequence import FieldOfLevel
from masktron.unrolling.unrolled import Unrolled, UnrolledCheck, unroll

type _Said = tuple[tuple[str, tuple[tuple[UnrolledCheck, str], ...]], ...]
"""Of a pattern, each rule: its context, and its checks with where they come from and their tests."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A pattern of the wide records of one composition."""

    pattern: Pattern
    origins: tuple[UnrolledCheck, ...]

    def said(self) -> _Said:
        """Return what tells it from others."""
        return tuple(
            (rule.context, tuple((self.origins[check.index], check.test) for check in rule.checks))
            for rule in self.pattern.rules
        )

    @property
    def first(self) -> UnrolledCheck:
        """Where its first check comes from."""
        return self.origins[next(check.index for rule in self.pattern.rules for check in rule.checks)]


def unroll_each(
    rulebook: Rulebook, wide: WideRecord, layout: Layout, inexact: frozenset[FieldOfLevel] = frozenset()
) -> Unrolled:
    """Write the rules of a nested file for wide records, for each composition that these have.

    Theorem: on a unit of a composition, the checks that fire, and fail, are those of `unroll` for that composition.
    Proof: a pattern that is written for some compositions fires on their units alone, by its guard; one that is
    written for all that have a member is the pattern of each of them, and fires where the member is there. No pattern
    has another effect than by its own checks.

    Parameters
    ----------
    rulebook, wide, layout, inexact
        As for `unroll`.
    """
    if not wide.kinds:
        return unroll(rulebook, wide, layout, inexact)
    each = [unroll(rulebook, wide.of_one_kind(kind), layout, inexact) for kind in wide.kinds]
    found: dict[_Said, tuple[_Part, list[int]]] = {}
    for code, one in enumerate(each):
        for pattern in one.rulebook.patterns:
            part = _Part(pattern, one.origins)
            found.setdefault(part.said(), (part, []))[1].append(code)
    order = {check.index: at for at, check in enumerate(rulebook.checks)}
    places = {place.name: place for place in wide.places}
    joined = _Joined(wide, places)
    parts = sorted(found.values(), key=lambda own: (order[own[0].first.check], own[1][0]))
    patterns = tuple(joined.pattern(part, codes) for part, codes in parts)
    book = replace(each[0].rulebook, patterns=patterns)
    return Unrolled(book, tuple(joined.origins), _first_reasons(each), _all_sequences(each))


class _Joined:
    """Patterns of several compositions, with guards; the checks are numbered as they come."""

    def __init__(self, wide: WideRecord, places: Mapping[str, UnitPlace]) -> None:
        self._wide, self._places = wide, places
        self._owners = {leaf.name: place for place in places.values() for leaf in place.leaves}
        self.origins: list[UnrolledCheck] = []

    def pattern(self, part: _Part, codes: Sequence[int]) -> Pattern:
        """Return a pattern that fires on units of some compositions."""
        node = part.first.node
        place = self._owners.get(node) or self._places[node]
        having = [code for code, kind in enumerate(self._wide.kinds) if not place.name or place.name in kind]
        everywhere = list(codes) == having
        guard = self._there(place) if everywhere else self._guard(codes)
        suffix = "" if everywhere else ":composition." + ".".join(map(kind_text, codes))
        rules = tuple(self._rule(rule, part, guard, suffix) for rule in part.pattern.rules)
        return replace(part.pattern, id=f"{part.pattern.id}{suffix}" if part.pattern.id else "", rules=rules)

    def _there(self, place: UnitPlace) -> str:
        return f"boolean(@{place.presence})" if place.presence else ""

    def _guard(self, codes: Sequence[int]) -> str:
        return " or ".join(f"@{self._wide.kind} = '{kind_text(code)}'" for code in codes)

    def _rule(self, rule: Rule, part: _Part, guard: str, suffix: str) -> Rule:
        context = rule.context
        if guard:
            record = self._wide.layout.record_tag
            inner = context.removeprefix(record).removeprefix("[").removesuffix("]")
            context = f"{record}[({guard}) and ({inner})]" if inner else f"{record}[{guard}]"
        return replace(rule, context=context, checks=tuple(self._checks(rule, part, suffix)))

    def _checks(self, rule: Rule, part: _Part, suffix: str) -> Iterator[Check]:
        for check in rule.checks:
            index = len(self.origins)
            self.origins.append(part.origins[check.index])
            yield replace(check, id=f"{check.id}{suffix}", index=index)


def _first_reasons(each: Sequence[Unrolled]) -> dict[int, str]:
    found: dict[int, str] = {}
    for one in each:
        for check, reason in one.reasons.items():
            found.setdefault(check, reason)
    return found


def _all_sequences(each: Sequence[Unrolled]) -> dict[LevelPath, tuple[int, ...]]:
    found: dict[LevelPath, set[int]] = {}
    for one in each:
        for path, checks in one.sequences.items():
            found.setdefault(path, set()).update(checks)
    return {path: tuple(sorted(checks)) for path, checks in found.items()}
