"""Rules across records over the batches of a flat file: planned, gathered in one pass, judged in another.

What a check reads of other records is an aggregate: a count, a sum, whether there is one of some kind. The first pass
gathers them. Then the check is rewritten: constants stand in it as literals, and what differs from record to record
is read from an attribute that the record seems to have. The rewritten check looks at one record only, as the same
analysis says that decides this for all rules, and is evaluated like any other: over columns, or by the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.across.collect import Collector
from masktron.evaluation.across.conditions import conditions_of
from masktron.evaluation.across.derived import Derived, DerivedBatch, extended
from masktron.evaluation.across.engine import Judge
from masktron.evaluation.across.outside import stands_alone
from masktron.evaluation.across.paths import Map, NotAcross
from masktron.evaluation.across.recognise import Hole
from masktron.evaluation.across.rewrite import (
    PREFIX,
    Names,
    Place,
    constant_text,
    fraction_of,
    reads_all_attributes,
    record_text,
    transform,
)
from masktron.evaluation.across.rewrite import filled as fill
from masktron.evaluation.across.selection import Aggregate, Predicate, Source
from masktron.evaluation.across.survey import Survey
from masktron.evaluation.stylesheet import needs_saxon
from masktron.read.columns import Batch
from masktron.read.forbidden import STANDARD_NAMESPACES
from masktron.read.locality import locality
from masktron.read.records import Layout
from masktron.read.rulebook import Check, Rulebook, ValueOf

type _Editor = Callable[[Hole, Place], str]


class Across:
    """Checks on several records of a flat file, and the rulebook in which they are checks on one record.

    Attributes
    ----------
    checks : frozenset of int
        Indices of the checks that are evaluated here; some leave again when the first pass meets what only an
        engine should read, with a reason.
    outside : frozenset of int
        Those of them that fire on nodes outside the records.
    reasons : dict of int to str
        Why a check is not evaluated here.
    conditions : Rulebook
        One check for each condition on other records, in the order of `predicates`.
    rulebook : Rulebook
        After `finish`: with the same checks, of which those in `checks` are rewritten. The other checks are to be
        evaluated by the rulebook as it was, since variables that they share may be rewritten.
    layout : Layout
        After `finish`: with the attributes that `extend` adds.
    """

    def __init__(
        self,
        rulebook: Rulebook,
        layout: Layout,
        checks: Collection[int],
        outside: Collection[str],
        original_layout: Layout | None,
        original_outside: Collection[str],
    ) -> None:
        self.original = rulebook
        self.rulebook = rulebook
        self.layout = layout
        self._fields = layout
        self._outside_names = frozenset(outside)
        maps: dict[Source, Map] = {"file": Map(layout, self._outside_names)}
        if original_layout is not None:
            maps["original"] = Map(original_layout, frozenset(original_outside))
        self._maps = maps
        self._survey = Survey(rulebook, maps)
        self.reasons: dict[int, str] = {}
        self._collectors: dict[Aggregate, Collector] = {}
        self._failed: dict[Aggregate, str] = {}
        self._numbers: dict[Aggregate, int] = {}
        self._plan(frozenset(checks))
        aggregates = {hole.aggregate for c in self.checks for hole in self._used[c]}
        self._collectors = {
            a: Collector(a, rulebook.version) for a in sorted(aggregates, key=self._numbers.__getitem__)
        }
        self.predicates: dict[Source, tuple[Predicate, ...]] = {
            source: tuple(
                dict.fromkeys(p for a in self._collectors if a.selection.source == source for p in a.selection.where)
            )
            for source in ("file", "original")
        }
        self._alive: list[Aggregate] = []

    def _plan(self, checks: frozenset[int]) -> None:
        book = self.original
        self._places = {
            check.index: (p, r, c)
            for p, pattern in enumerate(book.patterns)
            for r, rule in enumerate(pattern.rules)
            for c, check in enumerate(rule.checks)
        }
        for hole in (h for holes in self._survey.holes.values() for h in holes):
            self._numbers.setdefault(hole.aggregate, len(self._numbers))
        self._used = {check: self._holes_of(check) for check in self._places}
        draft = self._rewritten(self._placeholder)
        layout = extended(self._fields, self._names())
        tests = locality(draft, layout, self._outside_names)
        messages = self._message_reasons(draft, layout)
        self.outside = frozenset(
            i for i in checks if tests[i] and stands_alone(draft, self._maps["file"], self._survey.bases, i)
        )
        for check in checks:
            reason = "" if check in self.outside else tests[check] or messages[check]
            reason = (self._why(check) or reason) if reason else self._hindrance(check)
            if reason:
                self.reasons[check] = reason
        self.checks = checks - set(self.reasons)
        self.outside &= self.checks

    def _why(self, check: int) -> str:
        return next((r for place, r in self._survey.reasons.items() if place[:3] == self._places[check]), "")

    def _hindrance(self, check: int) -> str:  # noqa: PLR0911 -- one branch per reason
        """Say what else keeps a check from being evaluated here."""
        book = self.original
        p, _, _ = self._places[check]
        if any(needs_saxon(rule, book, self._fields) for rule in book.patterns[p].rules):
            return "a context that only a walk over the whole document decides"
        if dict(book.namespaces).get("xs", STANDARD_NAMESPACES["xs"]) != STANDARD_NAMESPACES["xs"]:
            return "the prefix xs means something else"
        if any(f.tag.startswith(PREFIX) for f in self._fields.fields):
            return f"there are fields named {PREFIX}..."
        varied = [hole for hole in self._used[check] if not hole.aggregate.constant]
        if varied and (wild := reads_all_attributes(book)):
            return f"a rule reads all attributes of a record: {wild!r}"
        for hole in self._used[check]:
            if check in self.outside and not hole.aggregate.constant:
                return "a value of one record outside the records"
            reason = self._condition_reason(hole.aggregate)
            if reason:
                return f"a condition on other records: {reason}"
        return ""

    def _condition_reason(self, aggregate: Aggregate) -> str:
        source = aggregate.selection.source
        where = aggregate.selection.where
        if not where:
            return ""
        book = conditions_of(self.original, self._maps[source].layout, where)
        return next(
            (reason for reason in locality(book, self._maps[source].layout, self._maps[source].outside) if reason), ""
        )

    def _holes_of(self, check: int) -> list[Hole]:
        """List the holes of a check and of all variables that it may see."""
        p, r, c = self._places[check]
        return [
            hole
            for place, holes in self._survey.holes.items()
            if place[:3] == (p, r, c) or (place[-1] < 0 and place[:-1] == (p, r)[: len(place) - 1])
            for hole in holes
        ]

    def _names(self) -> list[str]:
        return [name for a in self._numbers if not a.constant for name in self._names_of(a)]

    def _rewritten(self, text_of: _Editor, known: Collection[Aggregate] | None = None) -> Rulebook:
        """Return the rulebook with texts for aggregates; where not all of an expression are known, it stays."""

        def edit(source: str, place: Place) -> str:
            holes = self._survey.holes.get(place, ())
            if known is not None and any(hole.aggregate not in known for hole in holes):
                return source
            return fill(source, holes, lambda hole: text_of(hole, place))

        book = transform(self.original, edit)
        if book.version == "1.0" or "xs" in dict(book.namespaces):
            return book
        return replace(book, namespaces=(*book.namespaces, ("xs", STANDARD_NAMESPACES["xs"])))

    def _placeholder(self, hole: Hole, place: Place) -> str:
        if hole.aggregate.constant:
            return constant_text(
                hole, {"integer": 1, "double": 1.0, "boolean": True}[hole.type], self.original.version
            )
        return self._from_record(hole, place)

    def _from_record(self, hole: Hole, place: Place) -> str:
        names = Names.of(self._numbers[hole.aggregate])
        base = self._survey.bases.get((place[0], place[1])) if len(place) > 2 else None
        in_field = base is not None and base.field is not None
        return record_text(hole, names, self.original.version, in_field=in_field)

    def _message_reasons(self, draft: Rulebook, layout: Layout) -> tuple[str, ...]:
        """Return for each check why its message needs the whole document."""
        reasons = [""] * len(draft.checks)
        for k in range(max((len(check.message) for check in draft.checks), default=0)):
            asked = replace(
                draft,
                patterns=tuple(
                    replace(
                        p, rules=tuple(replace(r, checks=tuple(_asking(c, k) for c in r.checks)) for r in p.rules)
                    )
                    for p in draft.patterns
                ),
            )
            reasons = [
                old or new for old, new in zip(reasons, locality(asked, layout, self._outside_names), strict=True)
            ]
        return tuple(reasons)

    def conditions(self, source: Source = "file") -> Rulebook:
        """Return a rulebook with one check on single records for each of the `predicates`, in their order."""
        return conditions_of(self.original, self._maps[source].layout, self.predicates[source])

    def reads_others(self, check: int) -> bool:
        """Whether a check, or a variable that it may see, has an aggregate."""
        return bool(self._used[check])

    @property
    def needed(self) -> bool:
        """Whether there is anything to gather: else no check reads other records, or none is planned that does."""
        return bool(self._collectors)

    @property
    def names(self) -> frozenset[str]:
        """Names of the attributes that `extend` adds."""
        return frozenset(name for a in self._alive for name in self._names_of(a))

    @property
    def reads_original(self) -> bool:
        """Whether the original has to be read as well, before `finish`."""
        return any(a.selection.source == "original" for a in self._collectors)

    def first_pass(self, batch: Batch, judge: Judge | None = None) -> None:
        """Gather what a batch of the file adds, in the order of the file.

        Parameters
        ----------
        batch : Batch
        judge : Judge, optional
            Evaluates the checks of `conditions`; not needed where there are no `predicates`.

        Raises
        ------
        ValueError
            There are some, and no judge.
        """
        self._gather(batch, "file", judge)

    def original_pass(self, batch: Batch, judge: Judge | None = None) -> None:
        """Gather what a batch of the original adds."""
        self._gather(batch, "original", judge)

    def _gather(self, batch: Batch, source: Source, judge: Judge | None) -> None:
        verdicts: Mapping[Predicate, NDArray[np.uint8]] = {}
        if self.predicates[source]:
            if judge is None:
                raise ValueError("there are conditions, and nobody to judge them")
            codes = judge(batch)
            verdicts = {p: codes[:, i] for i, p in enumerate(self.predicates[source])}
        for aggregate, collector in self._collectors.items():
            others = aggregate.selection.source == source
            if aggregate in self._failed or not (others or source == "file"):
                continue
            if not others and aggregate.constant:
                continue
            try:
                collector.add(batch, verdicts, others=others, mine=source == "file")
            except NotAcross as problem:
                self._failed[aggregate] = str(problem)

    def finish(self) -> None:
        """End the first pass: rewrite the checks, and give those up that cannot be."""
        for aggregate, collector in self._collectors.items():
            if aggregate not in self._failed:
                try:
                    self._settle(aggregate, collector)
                except NotAcross as problem:
                    self._failed[aggregate] = str(problem)
        for check in self.checks:
            reason = next((self._failed[h.aggregate] for h in self._used[check] if h.aggregate in self._failed), "")
            if reason:
                self.reasons[check] = reason
        self.checks -= set(self.reasons)
        self.outside &= self.checks
        self._alive = [a for a in self._collectors if a not in self._failed and not a.constant]
        self.layout = extended(self._fields, [name for a in self._alive for name in self._names_of(a)])
        self.rulebook = self._rewritten(self._final, frozenset(self._collectors) - set(self._failed))

    def _settle(self, aggregate: Aggregate, collector: Collector) -> None:
        collector.check()
        if aggregate.constant:
            for hole in (h for holes in self._survey.holes.values() for h in holes if h.aggregate == aggregate):
                constant_text(hole, collector.constant(), self.original.version)

    def _names_of(self, aggregate: Aggregate) -> list[str]:
        names = Names.of(self._numbers[aggregate])
        return [names.value, *names.divisors] if aggregate.fold == "sum" else [names.value]

    def _final(self, hole: Hole, place: Place) -> str:
        if hole.aggregate.constant:
            return constant_text(hole, self._collectors[hole.aggregate].constant(), self.original.version)
        return self._from_record(hole, place)

    def extend(self, batch: Batch) -> DerivedBatch:
        """Return a batch of the file whose records carry the values of their aggregates."""
        added: list[Derived] = []
        for aggregate in self._alive:
            values, codes = np.unique(self._collectors[aggregate].per_record(batch), return_inverse=True)
            names = self._names_of(aggregate)
            if aggregate.fold == "sum":
                pairs = [fraction_of(value) for value in values.tolist()]
                for name, part in zip(names, zip(*pairs, strict=True), strict=True):
                    added.append(Derived(name, np.array(part, dtype=np.int64), codes))
            else:
                added.append(Derived(names[0], values.astype(np.int64), codes))
        return DerivedBatch.of(batch, added)


def _asking(check: Check, k: int) -> Check:
    part = check.message[k] if k < len(check.message) else None
    return replace(check, test=part.select if isinstance(part, ValueOf) else "true()")


def plan_across(
    rulebook: Rulebook,
    layout: Layout,
    checks: Collection[int],
    *,
    outside: Collection[str] = (),
    original_layout: Layout | None = None,
    original_outside: Collection[str] = (),
) -> tuple[Across, Mapping[int, str]]:
    """Plan the evaluation of checks that look beyond one record of a flat file.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    checks : collection of int
        Indices of the checks, mostly those to which `masktron.read.locality.locality` gives a reason.
    outside : collection of str
        Clark names of the elements (``@`` before attributes) that the file has outside its records.
    original_layout : Layout, optional
        Of the file that ``document()`` names, where that is flat; it may be the file itself. Without it, rules that
        read other records there are not planned.
    original_outside : collection of str
        As `outside`, for the original.

    Returns
    -------
    Across
    dict of int to str
        Why a check is not planned, for `explain`.
    """
    across = Across(rulebook, layout, checks, outside, original_layout, original_outside)
    return across, across.reasons
