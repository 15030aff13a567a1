"""What every job does first: read the rulebook, open the file, classify; and then evaluate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Unpack

from masktron.classify import Edit, classify
from masktron.classify.nested_rules.across_edits import LevelNames, across_edits, crossing, without_other_levels
from masktron.config import Config, ReadOptions
from masktron.constraints import OpaqueEdit
from masktron.errors import UsageError
from masktron.executor.contract import Executor
from masktron.jobs.documents import NOT_GIVEN, Given, bound
from masktron.jobs.rulebooks import levels_of, open_rulebook
from masktron.judge import Assigned, Evaluation, Finding, Kept, Sink, tiers_of, verdicts
from masktron.problems.problem import Known, Rule
from masktron.progress import Progress, expect, no_progress
from masktron.report.wording import rule_text
from masktron.results import RuleResult, shown
from masktron.rulebook.context_paths import context_names
from masktron.rulebook.schema import Check, Rulebook
from masktron.rules_given import is_plain
from masktron.sources.opening import EarlyReader, open_source
from masktron.sources.record_layout import NO_CONTEXTS, AsDocument
from masktron.sources.source import Source

NONE_UNDECIDED: Mapping[int, int] = MappingProxyType({})
"""Of rules that have two outcomes."""


@dataclass(frozen=True, slots=True)
class Job:
    """A rulebook and a file, understood.

    Attributes
    ----------
    source : Source
    rulebook : Rulebook
    edits : tuple of Edit
    """

    source: Source
    rulebook: Rulebook
    edits: tuple[Edit, ...]

    def index_of(self, rule_id: str) -> int:
        """Return the index of the check with this id.

        Raises
        ------
        UsageError
            There is none.
        """
        for check in self.rulebook.checks:
            if check.id == rule_id:
                return check.index
        raise UsageError.of(
            "unknown-name",
            shown(self.rulebook.path),
            name=Rule(rule_id),
            known=Known(rule_id, tuple(check.id for check in self.rulebook.checks)),
            kind="rule",
        )

    def beside(
        self,
        original: Path | None,
        reading: ReadOptions,
        progress: Progress = no_progress,
        *,
        memory: int | None = None,
    ) -> Source | None:
        """Return another file whose records are called like those of this one; None where there is none.

        Parameters
        ----------
        original : Path or None
        reading : ReadOptions
            What the user says of both files.
        memory : int, optional
            Bytes that the run may take; half of what is free when not given.
        """
        if original is None:
            return None
        named = reading if self.source.layout.is_document else replace(reading, record=self.source.layout.record_tag)
        contexts = context_names(self.rulebook)
        return open_source(original, reading=named, contexts=contexts, progress=progress, whole=True, memory=memory)

    def evaluate(
        self,
        original: Source | None,
        progress: Progress,
        *,
        executor: Executor | None = None,
        **kept: Unpack[Kept],
    ) -> Evaluation:
        """Evaluate every rule on every record; see `masktron.judge.tiered`. Places are those of the file.

        Parameters
        ----------
        original : Source or None
            What ``document()`` in the rules means.
        progress : callable
        executor : Executor, optional
            Who evaluates slices of the file, where it can be cut.
        **kept
            As in `EvaluationRequest`, but that verdicts are kept only where that is asked for.
        """
        stage = f"validating {self.source.path.name}"
        kept.setdefault("keep_verdicts", False)
        if self.source.converted and (sink := kept.get("sink")) is not None:
            kept["sink"] = self._placing(sink)
        if self.source.count is not None:
            expect(progress, stage, self.source.count)
        with self.source.in_own_places():
            told = partial(progress, stage)
            evaluation = verdicts(self.rulebook, self.source, original, progress=told, executor=executor, **kept)
        if not self.source.converted:
            return evaluation
        return replace(evaluation, findings=tuple(map(self._placed, evaluation.findings)))

    def without_asking(self, checks: Collection[int]) -> Job:
        """Return the same with some checks that hold wherever they fire: they are counted, and ask nothing."""
        if not checks:
            return self
        holding = {"assert": "true()", "report": "false()"}
        book = with_tests(self.rulebook, lambda one: holding[one.kind] if one.index in checks else one.test)
        return replace(self, rulebook=book)

    def _placing(self, sink: Sink) -> Sink:
        """Return a sink that gets findings with their places in the file."""
        return lambda finding: sink(self._placed(finding))

    def _placed(self, finding: Finding) -> Finding:
        """Return a finding with its place in the file, where engines have read a document made of it."""
        line, column = self.source.place(finding.record, finding.line, finding.column)
        return finding._replace(line=line, column=column)

    def tiers(self, evaluation: Evaluation | None = None) -> tuple[Assigned, ...]:
        """Return for each check how it is evaluated on the file, and why so.

        Parameters
        ----------
        evaluation : Evaluation, optional
            Of the file. Which checks need the whole document after all is known only after it.
        """
        reason = self.source.shape.reason or "the file is small, or not written as plain records"
        return (evaluation and evaluation.tiers) or tiers_of(self.rulebook, self.source, reason)

    def undecided(
        self, original: Source | None, progress: Progress, executor: Executor | None = None
    ) -> dict[int, int]:
        """Return on how many nodes each rule in plain text was not decided, as a value of it is missing."""
        if not any(check.decided for check in self.rulebook.checks):
            return {}
        asked = replace(self, rulebook=with_tests(self.rulebook, lambda check: check.decided or "true()"))
        evaluation = asked.evaluate(original, progress, executor=executor, limit=0)
        return {check.index: int(evaluation.failed[check.index]) for check in self.rulebook.checks if check.decided}

    def rule_results(
        self, evaluation: Evaluation, leave_out: Iterable[int] = (), undecided: Mapping[int, int] = NONE_UNDECIDED
    ) -> tuple[RuleResult, ...]:
        """Counts of every rule but some."""
        without = frozenset(leave_out)
        return tuple(
            RuleResult(
                id=edit.check.id,
                kind=edit.name,
                fired=int(evaluation.fired[edit.check.index]),
                failed=int(evaluation.failed[edit.check.index]),
                errors=int(evaluation.errors[edit.check.index]),
                soft=edit.check.soft,
                origin=str(edit.check.origin),
                text=rule_text(edit.check),
                undecided=undecided.get(edit.check.index),
            )
            for edit in self.edits
            if edit.check.index not in without
        )


def open_job(
    data: Path,
    rules: Path,
    config: Config | None = None,
    *,
    reading: ReadOptions | None = None,
    progress: Progress = no_progress,
    judge: EarlyReader | None = None,
    given: Given = NOT_GIVEN,
    whole: bool = False,
    removed: Collection[str] = (),
    document: AsDocument = "never",
) -> Job:
    """Read the rulebook, open and survey the file, and classify the rules.

    Parameters
    ----------
    config : Config, optional
        The settings that hold for the file and the rules.
    reading : ReadOptions, optional
        How the file is read, where that is another way than the settings say.
    judge : EarlyReader, optional
        Of the file, where libxml2 has begun to read it.
    given : Given
        The documents that rules read.
    whole : bool
        Whether the job needs all records: see `masktron.sources.opening.open_source`.
    removed : collection of str
        Fields that masking has taken out of the file, and rules in plain text may name.
    document : {"never", "otherwise", "always"}
        Whether a file in XML is judged as one document, by rules in Schematron.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        One of them cannot be used.
    """
    config = config or Config()
    progress("reading the rules", 0)
    plain = is_plain(rules)
    # what rules in plain text mean depends on the file, and how records of a file are called may depend on Schematron
    rulebook = None if plain else open_rulebook(rules, config.phase)
    contexts = NO_CONTEXTS if rulebook is None else context_names(rulebook)
    source = open_source(
        data,
        reading=config.reading if reading is None else reading,
        contexts=contexts,
        progress=progress,
        judge=judge,
        whole=whole,
        memory=config.memory,
        document="never" if plain else document,
    )
    source.require_readable()  # that is said before anything is said of documents
    if rulebook is None:
        with source.naming_elsewhere():
            levels = levels_of(source, config.missing, removed)
            rulebook = open_rulebook(rules, config.phase, levels, config.allow_unfired)
    rulebook = bound(rulebook, given)
    progress(f"surveying {data.name}", 0)
    return Job(source, rulebook, classified(rulebook, source))


def job_on(source: Source, rulebook: Rulebook) -> Job:
    """Return a job on a file, of which the rules are at hand."""
    return Job(source, rulebook, classify(rulebook, source.layout))


def with_tests(rulebook: Rulebook, test: Callable[[Check], str]) -> Rulebook:
    """Return a rulebook whose checks ask something else on the same nodes."""
    return replace(
        rulebook,
        patterns=tuple(
            replace(
                pattern,
                rules=tuple(
                    replace(rule, checks=tuple(replace(check, test=test(check)) for check in rule.checks))
                    for rule in pattern.rules
                ),
            )
            for pattern in rulebook.patterns
        ),
    )


def classified(rulebook: Rulebook, source: Source) -> tuple[Edit, ...]:
    """Bring every check to its normal form, as far as it has one on the records of a file."""
    if source.layout.is_document:
        reason = "the file is one document"
        situated = rulebook.situated()
        return tuple(Edit(check, pattern.id, OpaqueEdit(reason, ()), (), ()) for pattern, _, check in situated)
    edits = classify(rulebook, source.layout)
    if source.shape.flat:
        return edits
    names = LevelNames.of(source.layout, source.shape.single, source.vocabulary())
    edits = without_other_levels(rulebook, edits, names)
    if source.tree is None:
        return edits
    return across_edits(rulebook, edits, source.tree, tuple(crossing(rulebook, names)))
