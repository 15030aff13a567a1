"""Rules across records of flat files in two passes: gathered in the first, judged batch by batch in the second.

`masktron.judge.across.planned` says which aggregates the checks read. The first pass gathers them. Then the
checks are rewritten, and are evaluated like any others: over columns, or by the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.judge.across.collect import Collector, ConstantValue, RecordCollector
from masktron.judge.across.planned import Planned
from masktron.judge.across.rewrite import DerivedBatch, constant_text
from masktron.judge.across.selection import Aggregate, NotAcross, Predicate, RecordSource
from masktron.judge.deferral import DocumentFrame, OutcomeCache
from masktron.judge.exact import RecordJudge, report_whole
from masktron.judge.findings import Assigned, HandedBack, Shown, Tier, Verdict
from masktron.judge.programs import Documents
from masktron.judge.request import VerdictTally
from masktron.judge.runner import Runner, runs_of, usual_engines
from masktron.judge.stylesheet import EngineName
from masktron.judge.walk import ColumnCompiler, CompiledColumns, Lane
from masktron.rulebook.analysis import readers
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
        outside: Collection[str] = (),
        original_layout: Layout | None = None,
        original_outside: Collection[str] = (),
    ) -> None:
        super().__init__(rulebook, layout, checks, outside, original_layout, original_outside)
        self.rulebook = rulebook
        self.layout = layout
        self._failed: dict[Aggregate, str] = {}
        self._totals = {a: Collector(a) for a in self.aggregates if a.constant}
        self._columns = {a: RecordCollector(a) for a in self.aggregates if not a.constant}

    @property
    def needed(self) -> bool:
        """Whether there is anything to gather: else no check reads other records, or none is planned that does."""
        return bool(self.aggregates)

    @property
    def names(self) -> frozenset[str]:
        """Names of the attributes that `extend` adds."""
        return frozenset(name for a in self._columns for name in self.names_of(a))

    def take(self, batch: Batch, source: RecordSource, judge: BatchJudge | None) -> None:
        """Gather what a batch of the file or of the original adds, in the order of that.

        Parameters
        ----------
        judge : BatchJudge, optional
            Evaluates the checks of `conditions`; not needed where there are no `predicates`.

        Raises
        ------
        ValueError
            There are some, and no judge.
        """
        verdicts: Mapping[Predicate, NDArray[np.uint8]] = {}
        if self.predicates[source]:
            if judge is None:
                raise ValueError("there are conditions, and nobody to judge them")
            codes = judge(batch)
            verdicts = {p: codes[:, i] for i, p in enumerate(self.predicates[source])}
        for aggregate, total in self._totals.items():
            if aggregate.selection.source == source:
                self._try(aggregate, total.add, batch, verdicts)
        for aggregate, column in self._columns.items():
            others, mine = aggregate.selection.source == source, source == "file"
            if others or mine:
                self._try(aggregate, partial(column.add, others=others, mine=mine), batch, verdicts)

    def _try[**P](self, aggregate: Aggregate, step: Callable[P, None], *given: P.args, **named: P.kwargs) -> None:
        if aggregate not in self._failed:
            try:
                step(*given, **named)
            except NotAcross as problem:
                self._failed[aggregate] = str(problem)

    def finish(self) -> None:
        """End the first pass: rewrite the checks, and give those up that cannot be."""
        constants: dict[Aggregate, ConstantValue] = {}
        for aggregate, total in self._totals.items():
            self._try(aggregate, self._settle, total, constants)
        for aggregate, column in self._columns.items():
            self._try(aggregate, column.finish)
        for check in self.checks:
            reason = next((self._failed[one] for one in self._used[check] if one in self._failed), "")
            if reason:
                self.reasons[check] = reason
        self.checks -= set(self.reasons)
        self.outside &= self.checks
        self._columns = {one: column for one, column in self._columns.items() if one not in self._failed}
        self.layout = self.carrying(self._columns)
        self.rulebook = self.with_values(constants, frozenset((*constants, *self._columns)))

    @staticmethod
    def _settle(total: Collector, constants: dict[Aggregate, ConstantValue]) -> None:
        value = total.constant()
        constant_text(total.aggregate, value)
        constants[total.aggregate] = value

    def extend(self, batch: Batch) -> DerivedBatch:
        """Return a batch of the file whose records carry the values of their aggregates."""
        columns = self._columns.items()
        return DerivedBatch.of(
            batch, [d for one, column in columns for d in column.derived(batch, self.names_of(one))]
        )


type Batches = Callable[[], Generator[Batch]]
_CHUNK = 5000


@dataclass(frozen=True, slots=True, eq=False)
class FlatTable:
    """A flat file, as batches.

    Attributes
    ----------
    document : callable
        Returns where the XML document is.
    batches : callable
        Returns the records of the file, each time in the same batches.
    """

    document: Callable[[], Path]
    layout: Layout
    frame: DocumentFrame
    batches: Batches


def plan_passes(
    rulebook: Rulebook,
    layout: Layout,
    outside: Collection[str],
    tiers: Sequence[Assigned],
    engines: Sequence[EngineName],
    original: tuple[Layout, Collection[str]] | None,
) -> tuple[Across | None, tuple[Assigned, ...]]:
    """Plan the checks that would need the whole document, and those that look through the original record by record.

    The plan, if there is one, is returned with the tiers of all checks.

    Parameters
    ----------
    outside : collection of str
        As for `Planned`.
    original : (Layout, collection of str), optional
        Layout of the original, and what stands outside its records; None where it is no flat file.
    """
    usual = usual_engines(rulebook)
    wanted = {Tier.DOCUMENT, Tier.RECORDS} if rulebook.reads_original and original is not None else {Tier.DOCUMENT}
    # engines that are not ours could not be asked about what we gather there
    names = {one.name for one in rulebook.beside}
    apart = {check for check, read in readers(rulebook).items() if read & names} if names else set()
    asked = [i for i, own in enumerate(tiers) if own.tier in wanted and engines[i] == usual[i] and i not in apart]
    if not asked:
        return None, tuple(tiers)
    beside, around = original or (None, ())
    plan = partial(Across, rulebook, layout, outside=outside, original_layout=beside, original_outside=around)
    across = plan(asked)
    alone = [i for i in across.checks if tiers[i].tier is Tier.RECORDS and not across.used(i)]
    if alone:
        across = plan([i for i in asked if i not in alone])
    assigned = tuple(
        Assigned(Tier.ACROSS, own.reason)
        if i in across.checks
        else Assigned(own.tier, _both(own.reason, across.reasons.get(i, "") if own.tier is Tier.DOCUMENT else ""))
        for i, own in enumerate(tiers)
    )
    return (across if across.checks else None), assigned


def _both(one: str, other: str) -> str:
    return one if not other or other in one else other if one in other else f"{one}; {other}"


@dataclass(frozen=True, slots=True, eq=False)
class TwoPasses:
    """The two passes over one file.

    Attributes
    ----------
    table : FlatTable
        Of the file.
    other : FlatTable, optional
        Of the original, where that is another file.
    documents : Documents, optional
        What ``document()`` returns, where rules read it.
    planned : frozenset of int
        The checks of `across` before the first pass.
    """

    across: Across
    table: FlatTable
    other: FlatTable | None
    compiler: ColumnCompiler
    documents: Documents | None
    planned: frozenset[int]

    def gather(self, progress: Callable[[int], None]) -> int | None:
        """Make the first pass; return the number of records, None where none was needed."""
        across = self.across
        done: int | None = None
        sources: tuple[RecordSource, ...] = ("file", "original") if across.reads_original else ("file",)
        if across.needed:
            done = self._pass(self.table, sources if self.other is None else ("file",), progress)
            if across.reads_original and self.other is not None:
                self._pass(self.other, ("original",), lambda _: None)
        across.finish()
        return done

    def _pass(self, table: FlatTable, sources: Sequence[RecordSource], progress: Callable[[int], None]) -> int:
        judges = {source: self._judge(source, table) for source in sources}
        done = 0
        with closing(table.batches()) as batches:
            for batch in batches:
                for source, judge in judges.items():
                    self.across.take(batch, source, judge)
                done += len(batch)
                progress(done)
        return done

    def handed_back(self, tiers: Sequence[Assigned]) -> tuple[HandedBack, ...]:
        """Return which checks the first pass has given up, of the tiers that they have without it."""
        left = sorted(self.planned - self.across.checks)
        return tuple(HandedBack(i, self.across.reasons[i], tiers[i].tier is Tier.DOCUMENT) for i in left)

    def _judge(self, source: RecordSource, table: FlatTable) -> BatchJudge | None:
        """Return who says whether conditions on other records hold: columns, and the engine where they cannot."""
        if not self.across.predicates[source]:
            return None
        book = self.across.conditions(source)
        checks = range(len(book.checks))
        engine = EngineJudge(RecordJudge(book, table.layout, checks=checks, original=self.documents), table.frame)
        program, reasons = self.compiler(book, table.layout, checks)
        return engine if any(reasons) else ColumnJudge(program, engine)

    def lanes(self, engines: Sequence[EngineName], memo: int) -> list[Lane]:
        """Return what the second pass has to do inside records, after the first.

        Parameters
        ----------
        memo : int
            Outcomes of equal cells that are remembered at most.
        """
        across = self.across
        inside = across.checks - across.outside
        if not inside:
            return []
        program, reasons = self.compiler(across.rulebook, across.layout, inside)
        compiled = frozenset(i for i in inside if not reasons[i])

        def runners(checks: Collection[int]) -> tuple[Runner, ...]:
            runs = runs_of(engines, [""] * len(engines), checks)
            return tuple(Runner(run, across.rulebook, across.layout, self.documents) for run in runs)

        memory = OutcomeCache(program.reads, memo)
        view = across.extend if across.names else None
        return [Lane(program, runners(compiled), runners(inside - compiled), memory, view)]

    def around(self, engines: Sequence[EngineName], tally: VerdictTally, shown: Shown) -> None:
        """Evaluate what fires outside the records, on the document without them."""
        across = self.across
        for run in runs_of(engines, ["whole"] * len(engines), across.outside):
            runner = Runner(run, across.rulebook, self.table.layout, self.documents)
            root = self.table.frame.empty()
            events = runner.events(root, 0)
            tally.count(events)
            if any(tally.room(int(check)) != 0 for check in events.check[events.fails]):
                report_whole(self.table.document(), root, (), runner, tally, shown)


class EngineJudge:
    """Verdicts of the engine, a few thousand records at a time."""

    def __init__(self, evaluator: RecordJudge, documents: DocumentFrame) -> None:
        self._evaluator = evaluator
        self._documents = documents

    def __call__(self, batch: Batch) -> NDArray[np.uint8]:
        """Return `Verdict` codes, shape (n, checks)."""
        return self.rows(batch, np.arange(len(batch)))

    def rows(self, batch: Batch, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the verdicts of some records."""
        parts = [rows[at : at + _CHUNK] for at in range(0, max(len(rows), 1), _CHUNK)]
        return np.concatenate([self._evaluator.verdicts(self._documents.document(batch, part)) for part in parts])


class ColumnJudge:
    """Verdicts of checks that have all been compiled to columns; the engine says what these leave open."""

    def __init__(self, columns: CompiledColumns, engine: EngineJudge) -> None:
        self._columns = columns
        self._engine = engine

    def __call__(self, batch: Batch) -> NDArray[np.uint8]:
        """Return `Verdict` codes, shape (n, checks)."""
        outcome = self._columns.evaluate(batch)
        held = np.where(outcome.fired > 0, np.uint8(Verdict.HOLDS), np.uint8(Verdict.NOT_FIRED))
        verdicts: NDArray[np.uint8] = np.where(outcome.failed > 0, np.uint8(Verdict.FAILS), held)
        rows = np.flatnonzero(outcome.unsure.any(axis=1) | batch.odd)
        if len(rows):
            verdicts[rows] = self._engine.rows(batch, rows)
        return verdicts
