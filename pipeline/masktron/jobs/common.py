"""What every job does first: read the rulebook, survey the file, classify, evaluate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from masktron.classify import Edit, classify
from masktron.config import did_you_mean
from masktron.errors import DocumentError, UsageError
from masktron.evaluation.findings import Evaluation
from masktron.evaluation.report_reader import Shown
from masktron.evaluation.runner import engines_of
from masktron.evaluation.tally import Sink
from masktron.evaluation.tiered import evaluate, tiers_of
from masktron.evaluation.tiers import MEMORY, PRACTICAL, Assigned, Tier
from masktron.jobs.untested import told
from masktron.progress import Progress, expect, no_progress
from masktron.read.layout import Shape
from masktron.read.plain import survey_file
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook
from masktron.read.schematron import read_rules
from masktron.report.wording import rule_text
from masktron.results import RuleResult

if TYPE_CHECKING:
    from masktron.read.blocks import PlainFile
    from masktron.read.judge import Judge

__all__ = [
    "LARGE",
    "Job",
    "Progress",
    "context_names",
    "expect",
    "fired_notes",
    "no_progress",
    "notes_of",
    "open_job",
    "require_flat",
    "shown_path",
    "size_notes",
    "violations",
]

LARGE = 10_000_000
"""Bytes from which a rule that needs the whole document in memory is worth a warning."""


@dataclass(frozen=True, slots=True)
class Job:
    """A rulebook and a file, understood.

    Attributes
    ----------
    data : Path
    rulebook : Rulebook
    layout : Layout
    shape : Shape
    edits : tuple of Edit
    plain : PlainFile or None
        What the reader of columns knows of the file; None where it does not read it.
    """

    data: Path
    rulebook: Rulebook
    layout: Layout
    shape: Shape
    edits: tuple[Edit, ...]
    plain: PlainFile | None = None

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
        raise UsageError(
            f"the rulebook has no rule {rule_id!r}",
            where=str(self.rulebook.path),
            hint=did_you_mean(rule_id, [check.id for check in self.rulebook.checks]),
        )

    def evaluate(
        self,
        path: Path,
        original: Path | None,
        progress: Progress,
        *,
        limit: int | None = 1000,
        shown: Shown | None = None,
        sink: Sink | None = None,
        sunk: int | None = None,
        keep_verdicts: bool = False,
    ) -> Evaluation:
        """Evaluate every rule on every record of a file of the same layout; see `masktron.evaluation.tiered`."""
        stage = f"validating {path.name}"
        plain = self.plain if path == self.data else None
        if plain is not None:
            expect(progress, stage, plain.records)
        return evaluate(
            path,
            self.rulebook,
            self.layout,
            plain=plain,
            original=original,
            limit=limit,
            shown=shown,
            sink=sink,
            sunk=sunk,
            keep_verdicts=keep_verdicts,
            progress=lambda done: progress(stage, done),
        )

    def tiers(self, evaluation: Evaluation | None = None) -> tuple[Assigned, ...]:
        """Return for each check how it is evaluated on the file, and why so.

        Parameters
        ----------
        evaluation : Evaluation, optional
            Of the file. Which checks need the whole document after all is known only after it.
        """
        reason = self.shape.reason or "the file is small, or not written as plain records"
        tiers = tiers_of(self.data, self.rulebook, self.layout, self.plain, reason)
        back = {one.check: one for one in evaluation.handed_back} if evaluation is not None else {}
        return tuple(
            Assigned(Tier.DOCUMENT if back[i].whole else Tier.RECORDS, back[i].reason) if i in back else own
            for i, own in enumerate(tiers)
        )

    def rule_results(self, evaluation: Evaluation, leave_out: Iterable[int] = ()) -> tuple[RuleResult, ...]:
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
            )
            for edit in self.edits
            if edit.check.index not in without
        )


def open_job(
    data: Path,
    rules: Path,
    *,
    record: str | None = None,
    phase: str | None = None,
    progress: Progress = no_progress,
    judge: Judge | None = None,
) -> Job:
    """Read the rulebook, survey the file and classify the rules.

    Parameters
    ----------
    judge : Judge, optional
        Of the file, where libxml2 has begun to read it.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        One of them cannot be used.
    """
    progress(f"reading {rules.name}", 0)
    rulebook = read_rules(rules, phase=phase)
    progress(f"surveying {data.name}", 0)
    layout, shape, plain = survey_file(
        data, record=record, hints=context_names(rulebook), progress=progress, judge=judge
    )
    return Job(data, rulebook, layout, shape, classify(rulebook, layout), plain)


def context_names(rulebook: Rulebook) -> tuple[str, ...]:
    """Local names of the elements that rule contexts mention: one of them is the record, most likely."""
    names = (
        name.rpartition(":")[2]
        for pattern in rulebook.patterns
        for rule in pattern.rules
        for name in re.findall(r"[\w.:-]+", re.sub(r"\[.*?\]|'[^']*'|\"[^\"]*\"", "", rule.context))
    )
    return tuple(dict.fromkeys(name for name in names if name))


def notes_of(job: Job) -> tuple[str, ...]:
    """Repairs of the rulebook and lints of its rules, for the user."""
    lints = [f"{edit.check.id}: {lint}" for edit in job.edits for lint in edit.lints]
    return (*job.rulebook.notes, *lints)


def fired_notes(job: Job, evaluation: Evaluation, results: Sequence[RuleResult]) -> tuple[str, ...]:
    """Say which rules are not tested and why; or that there is nothing that could test them."""
    if not evaluation.records:
        return (f"the file has no records: they are looked for as {shown_path(job.layout)}",)
    reasons = tuple(told(results))
    if results and not any(rule.fired + rule.errors for rule in results):
        hint = "look at the contexts, the namespace prefixes and the phase"
        return (f"no rule fires on any record: {hint}", *reasons)
    return reasons


def shown_path(layout: Layout) -> str:
    """Return the path of the records, without namespaces."""
    return "/" + "/".join(tag.rpartition("}")[2] for tag in layout.record_path)


def size_notes(job: Job, evaluation: Evaluation | None = None) -> tuple[str, ...]:
    """Warn of rules that need the whole document, where the file is large, and say what that takes.

    Parameters
    ----------
    evaluation : Evaluation, optional
        As for `Job.tiers`.
    """
    size = job.data.stat().st_size
    if size < LARGE:
        return ()
    engines = engines_of(job.rulebook, job.layout, "auto")
    return tuple(
        f"{check.id}: needs the whole file in memory ({assigned.reason}); with {size / 1e6:.0f} MB that takes about "
        f"{size * MEMORY[engine] / 1e9:.1f} GB, and above some {PRACTICAL / MEMORY[engine] / 1e6:.0f} MB it is not "
        "practical any more"
        for check, assigned, engine in zip(job.rulebook.checks, job.tiers(evaluation), engines, strict=True)
        if assigned.tier is Tier.DOCUMENT
    )


def violations(rules: Sequence[RuleResult]) -> tuple[int, int]:
    """Violations of hard rules, and of soft ones."""
    hard = sum(rule.violations for rule in rules if not rule.soft)
    return hard, sum(rule.violations for rule in rules if rule.soft)


def require_flat(job: Job) -> None:
    """Refuse a file that cannot be masked for its shape.

    Raises
    ------
    DocumentError
        Naming the line and what is there.
    """
    if not job.shape.flat:
        raise DocumentError(
            f"the records are not flat: {job.shape.reason}",
            where=f"{job.data}:{job.shape.line}",
            hint="nested or repeated fields can be validated but not masked; write one record per person or unit",
        )
