"""Rules of nested records, unrolled for each composition of units, and put together as one rulebook.

A sum over members has as many addends as there are members. Written for all compositions at once, it is one rule with
two to the power of the optional members alternatives; written for each, it is as many rules without any, each of
which fires on its own units. What is the same for all units that have a member, such as a rule on that member alone,
is written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from masktron.rulebook.schema import Check, Pattern, Rule, Rulebook
from masktron.sources.level_tree import LevelPath
from masktron.sources.record_layout import Layout
from masktron.sources.wide.wide_record import UnitPlace, WideRecord, kind_text
from masktron.unrolling.unit_steps import FieldOfLevel
from masktron.unrolling.unrolled import Unrolled, UnrolledCheck, unroll

OF_COMPOSITION = ":composition."
"""Behind the id of a check that is written for some compositions, before their numbers."""

type _Said = tuple[tuple[str, ...], UnrolledCheck, str]
"""Of a check: the contexts of its rule and of those before it in the pattern, where it comes from, and its test."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """A check of the wide records of one composition, with the rules that decide whether it fires."""

    pattern: Pattern
    position: int
    check: Check
    origin: UnrolledCheck

    @property
    def contexts(self) -> tuple[str, ...]:
        """Of its rule, which comes last, and of those before it."""
        return tuple(rule.context for rule in self.pattern.rules[: self.position + 1])

    @property
    def said(self) -> _Said:
        """What tells it from others."""
        return self.contexts, self.origin, self.check.test


def unroll_each(
    rulebook: Rulebook, wide: WideRecord, layout: Layout, inexact: frozenset[FieldOfLevel] = frozenset()
) -> Unrolled:
    """Write the rules of a nested file for wide records, for each composition that these have.

    Theorem: on a unit of a composition, the checks that fire, and fail, are those of `unroll` for that composition.
    Proof: whether a check fires depends on its context and those before it in the pattern, so that a pattern may be
    parted by its checks if each part keeps these contexts. What is written for some compositions fires on their units
    alone, by its guard; what is written for all that have a member is the same in each of them, and fires where the
    member is there.

    Parameters
    ----------
    rulebook, wide, layout, inexact
        As for `unroll`.
    """
    if not wide.kinds:
        return unroll(rulebook, wide, layout, inexact)
    each = [unroll(rulebook, wide.of_one_kind(kind), layout, inexact) for kind in wide.kinds]
    found: dict[_Said, tuple[_Clause, list[int]]] = {}
    for code, one in enumerate(each):
        for clause in _clauses(one):
            found.setdefault(clause.said, (clause, []))[1].append(code)
    order = {check.index: at for at, check in enumerate(rulebook.checks)}
    together: dict[tuple[tuple[str, ...], str, tuple[int, ...]], list[_Clause]] = {}
    for clause, codes in sorted(found.values(), key=lambda own: (order[own[0].origin.check], own[1][0])):
        together.setdefault((clause.contexts, clause.origin.node, tuple(codes)), []).append(clause)
    joined = _Joined(wide)
    patterns = tuple(joined.pattern(clauses, codes) for (_, _, codes), clauses in together.items())
    book = replace(each[0].rulebook, patterns=patterns)
    return Unrolled(book, tuple(joined.origins), _first_reasons(each), _all_sequences(each))


def _clauses(unrolled: Unrolled) -> Iterator[_Clause]:
    for pattern in unrolled.rulebook.patterns:
        for position, rule in enumerate(pattern.rules):
            for check in rule.checks:
                yield _Clause(pattern, position, check, unrolled.origins[check.index])


class _Joined:
    """Patterns of several compositions, with guards; the checks are numbered as they come."""

    def __init__(self, wide: WideRecord) -> None:
        self._wide = wide
        self._places = {place.name: place for place in wide.places}
        self._owners = {leaf.name: place for place in wide.places for leaf in place.leaves}
        self.origins: list[UnrolledCheck] = []

    def pattern(self, clauses: Sequence[_Clause], codes: Sequence[int]) -> Pattern:
        """Return a pattern of checks that fire on units of some compositions; one node and one rule have them all."""
        first = clauses[0]
        node = first.origin.node
        place = self._owners.get(node) or self._places[node]
        having = [code for code, kind in enumerate(self._wide.kinds) if not place.name or place.name in kind]
        everywhere = list(codes) == having
        guard = self._there(place) if everywhere else self._guard(codes)
        suffix = "" if everywhere else OF_COMPOSITION + ".".join(map(kind_text, codes))
        *before, own = first.pattern.rules[: first.position + 1]
        rules = [replace(rule, context=self._guarded(rule, guard), checks=()) for rule in before]
        checks = tuple(self._numbered(clause, suffix) for clause in clauses)
        rules.append(replace(own, context=self._guarded(own, guard), checks=checks))
        name = f"{first.pattern.id}{suffix}" if first.pattern.id else ""
        return replace(first.pattern, id=name, rules=tuple(rules))

    def _there(self, place: UnitPlace) -> str:
        return f"boolean(@{place.presence})" if place.presence else ""

    def _guard(self, codes: Sequence[int]) -> str:
        return " or ".join(f"@{self._wide.kind} = '{kind_text(code)}'" for code in codes)

    def _guarded(self, rule: Rule, guard: str) -> str:
        if not guard:
            return rule.context
        record = self._wide.layout.record_tag
        inner = rule.context.removeprefix(record).removeprefix("[").removesuffix("]")
        return f"{record}[({guard}) and ({inner})]" if inner else f"{record}[{guard}]"

    def _numbered(self, clause: _Clause, suffix: str) -> Check:
        index = len(self.origins)
        self.origins.append(clause.origin)
        return replace(clause.check, id=f"{clause.check.id}{suffix}", index=index)


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
