"""Rules across records over the batches of a flat file: planned, gathered in one pass, judged in another.

`masktron.evaluation.across.planned` says which aggregates the checks read. The first pass gathers them. Then the
checks are rewritten, and are evaluated like any others: over columns, or by the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.across.collect import Collector
from masktron.evaluation.across.derived import Derived, DerivedBatch
from masktron.evaluation.across.paths import NotAcross
from masktron.evaluation.across.planned import Planned
from masktron.evaluation.across.rewrite import constant_text, fraction_of
from masktron.evaluation.across.selection import Aggregate, Predicate, RecordSource
from masktron.rulebook.schema import Rulebook
from masktron.sources.columns import Batch
from masktron.sources.record_layout import Layout

type BatchJudge = Callable[[Batch], NDArray[np.uint8]]
"""Returns `Verdict` codes of checks that look at one record only, shape (n, checks)."""


class Across(Planned):
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
        super().__init__(rulebook, layout, checks, outside, original_layout, original_outside)
        self.rulebook = rulebook
        self.layout = layout
        self._failed: dict[Aggregate, str] = {}
        self._collectors = {a: Collector(a) for a in self.aggregates}
        self._alive: list[Aggregate] = []

    @property
    def needed(self) -> bool:
        """Whether there is anything to gather: else no check reads other records, or none is planned that does."""
        return bool(self._collectors)

    @property
    def names(self) -> frozenset[str]:
        """Names of the attributes that `extend` adds."""
        return frozenset(name for a in self._alive for name in self.names_of(a))

    def first_pass(self, batch: Batch, judge: BatchJudge | None = None) -> None:
        """Gather what a batch of the file adds, in the order of the file.

        Parameters
        ----------
        batch : Batch
        judge : BatchJudge, optional
            Evaluates the checks of `conditions`; not needed where there are no `predicates`.

        Raises
        ------
        ValueError
            There are some, and no judge.
        """
        self._gather(batch, "file", judge)

    def original_pass(self, batch: Batch, judge: BatchJudge | None = None) -> None:
        """Gather what a batch of the original adds."""
        self._gather(batch, "original", judge)

    def _gather(self, batch: Batch, source: RecordSource, judge: BatchJudge | None) -> None:
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
        self.layout = self.carrying(self._alive)
        known = frozenset(self._collectors) - set(self._failed)
        self.rulebook = self.with_values({a: self._collectors[a].constant() for a in known if a.constant}, known)

    def _settle(self, aggregate: Aggregate, collector: Collector) -> None:
        collector.check()
        if aggregate.constant:
            for hole in (h for holes in self.holes.values() for h in holes if h.aggregate == aggregate):
                constant_text(hole, collector.constant())

    def extend(self, batch: Batch) -> DerivedBatch:
        """Return a batch of the file whose records carry the values of their aggregates."""
        added: list[Derived] = []
        for aggregate in self._alive:
            values, codes = np.unique(self._collectors[aggregate].per_record(batch), return_inverse=True)
            names = self.names_of(aggregate)
            if aggregate.fold == "sum":
                pairs = [fraction_of(value) for value in values.tolist()]
                for name, part in zip(names, zip(*pairs, strict=True), strict=True):
                    added.append(Derived(name, np.array(part, dtype=np.int64), codes))
            else:
                added.append(Derived(names[0], values.astype(np.int64), codes))
        return DerivedBatch.of(batch, added)


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
        Indices of the checks, mostly those to which `masktron.rulebook.locality.locality` gives a reason.
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
