"""The aggregates of a rulebook, with the places where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from masktron.errors import RulebookError
from masktron.evaluation.across.paths import Map, NotAcross, PathReader, Spot
from masktron.evaluation.across.recognise import Hole, Recogniser
from masktron.evaluation.across.resolve import Surroundings
from masktron.evaluation.across.rewrite import TextPlace
from masktron.evaluation.across.selection import RecordSource
from masktron.rulebook.analysis import context_of
from masktron.rulebook.schema import Let, Pattern, Rule, Rulebook, ValueOf
from masktron.xpath.context_match import ContextPath
from masktron.xpath.namespaces import with_standard
from masktron.xpath.tokens import parse, repair


class AggregateSurvey:
    """Walks over a rulebook once.

    Attributes
    ----------
    holes : dict of TextPlace to tuple of Hole
    bases : dict of (pattern, rule) to Spot
        Where each rule fires; those that fire at several kinds of nodes are left out.
    reasons : dict of TextPlace to str
        What was met in an expression and not understood.
    """

    def __init__(self, rulebook: Rulebook, maps: Mapping[RecordSource, Map]) -> None:
        self.holes: dict[TextPlace, tuple[Hole, ...]] = {}
        self.bases: dict[tuple[int, int], Spot] = {}
        self.reasons: dict[TextPlace, str] = {}
        self._rulebook = rulebook
        self._namespaces = with_standard(rulebook.namespaces)
        self._map = maps["file"]
        around = Surroundings(
            rulebook.version,
            PathReader(self._namespaces, frozenset(one.name for one in rulebook.beside)),
            maps,
            Spot(0),
        )
        around = self._lets(around, rulebook.lets, (), shared=True)
        for p, pattern in enumerate(rulebook.patterns):
            self._pattern(replace(around, scope=p), p, pattern)

    def _pattern(self, around: Surroundings, p: int, pattern: Pattern) -> None:
        around = self._lets(around, pattern.lets, (p,), shared=True)
        for r, rule in enumerate(pattern.rules):
            base = self._base(rule)
            if base is None:
                continue
            self.bases[p, r] = base
            self._rule(replace(around, base=base), (p, r), rule)

    def _rule(self, around: Surroundings, place: TextPlace, rule: Rule) -> None:
        around = self._lets(around, rule.lets, place, shared=False)
        for c, check in enumerate(rule.checks):
            self._expression(around, check.test, (*place, c, 0), truth=True)
            for k, part in enumerate(check.message):
                if isinstance(part, ValueOf) and not part.is_name:
                    self._expression(around, part.select, (*place, c, k + 1), truth=False)

    def _lets(self, around: Surroundings, lets: tuple[Let, ...], place: TextPlace, *, shared: bool) -> Surroundings:
        for k, let in enumerate(lets):
            token, inner = self._expression(around, let.value, (*place, -1 - k), truth=False)
            known = let.name in around.variables
            value = None
            if token is not None and not known:
                try:
                    value = inner.value(token)
                except NotAcross:
                    value = None
            around = around.bind(let.name, value)
            if shared and not known:
                around = replace(around, shared=around.shared | {let.name})
        return around

    def _expression(
        self, around: Surroundings, expression: str, place: TextPlace, *, truth: bool
    ) -> tuple[Any, Surroundings]:
        around = replace(around, source=repair(expression))
        try:
            token = parse(expression, self._namespaces)
        except RulebookError:
            return None, around
        recogniser = Recogniser(around)
        found = tuple(sorted(recogniser.holes(token, around, truth=truth), key=lambda hole: hole.start))
        if found:
            self.holes[place] = found
        if recogniser.reasons:
            self.reasons[place] = recogniser.reasons[0]
        return token, around

    def _base(self, rule: Rule) -> Spot | None:
        paths = context_of(self._rulebook, rule.context)
        spots = {self._target(path) for path in paths or ()}
        return spots.pop() if len(spots) == 1 else None

    def _target(self, path: ContextPath) -> Spot | None:
        """Return where the nodes of a context stand, by the name of its last step."""
        if not path.steps:
            return Spot(0)
        last = path.steps[-1]
        if last.plain_name is None:
            return None
        prefix, colon, local = last.plain_name.rpartition(":")
        uri = self._namespaces.get(prefix, "") if colon else ""
        tag = f"{{{uri}}}{local}" if uri else local
        found = list(self._spots(tag, attribute=last.kind == "attribute"))
        return found[0] if len(found) == 1 else None

    def _spots(self, tag: str, *, attribute: bool) -> Iterator[Spot]:
        layout = self._map.layout
        if not attribute:
            yield from (Spot(i + 1) for i, name in enumerate(layout.record_path) if name == tag)
        for i, f in enumerate(layout.fields):
            if f.tag == tag and f.attribute == attribute:
                yield Spot(len(layout.record_path), i)
