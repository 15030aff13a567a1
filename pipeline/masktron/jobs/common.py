"""What every job does first: read the rulebook, survey the file, classify, evaluate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from masktron.classify import Edit, classify
from masktron.config import did_you_mean
from masktron.errors import DocumentError, UsageError
from masktron.evaluation.findings import Departure, Evaluation
from masktron.evaluation.report_reader import NOTHING_SHOWN, Shown
from masktron.evaluation.request import EvaluationRequest
from masktron.evaluation.runner import engines_of
from masktron.evaluation.tally import Sink
from masktron.evaluation.tiered import evaluate, tiers_of
from masktron.evaluation.tiers import MEMORY, PRACTICAL, Assigned, Tier
from masktron.jobs.documents import NOT_GIVEN, Given, bound
from masktron.jobs.spellings import remedy, spelled
from masktron.jobs.untested import told
from masktron.jobs.walks import slow_rules
from masktron.progress import Progress, expect, no_progress
from masktron.report.wording import rule_text
from masktron.results import RuleResult
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.records import Layout, Shape
from masktron.sources.xml.parser import opened
from masktron.sources.xml.plain import survey_file

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import PlainFile
    from masktron.sources.xml.wellformed import WellFormedness

__all__ = [
    "LARGE",
    "MAY_BE_EMPTY",
    "Job",
    "Progress",
    "context_names",
    "departure_notes",
    "expect",
    "fired_notes",
    "judging_stage",
    "no_progress",
    "notes_of",
    "open_job",
    "require_flat",
    "require_records",
    "shown_path",
    "size_notes",
    "violations",
]

_READS = re.compile("the rule '[^']*' reads '([^']*)'")
_NO_FIELD = re.compile("the file has no field ([^:]+)|([^ ]+) (?:is one name in XPath|has no prefix|is asked for in)")
MAY_BE_EMPTY = "where a file may be empty: --allow-empty (allow_empty=True in Python)"
"""What to do about a file without records in `validate` and `check`."""
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
        shown: Shown = NOTHING_SHOWN,
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
            EvaluationRequest(
                path,
                self.rulebook,
                self.layout,
                plain,
                original,
                limit=limit,
                shown=shown,
                sink=sink,
                sunk=sunk,
                keep_verdicts=keep_verdicts,
                progress=lambda done: progress(stage, done),
            )
        )

    def tiers(self, evaluation: Evaluation | None = None) -> tuple[Assigned, ...]:
        """Return for each check how it is evaluated on the file, and why so.

        Parameters
        ----------
        evaluation : Evaluation, optional
            Of the file. Which checks need the whole document after all is known only after it.
        """
        reason = self.shape.reason or "the file is small, or not written as plain records"
        tiers = tiers_of(EvaluationRequest(self.data, self.rulebook, self.layout, self.plain), reason)
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
    judge: WellFormedness | None = None,
    given: Given = NOT_GIVEN,
) -> Job:
    """Read the rulebook, survey the file and classify the rules.

    Parameters
    ----------
    judge : WellFormedness, optional
        Of the file, where libxml2 has begun to read it.
    given : Given
        The documents that rules read.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        One of them cannot be used.
    """
    progress(f"reading {rules.name}", 0)
    rulebook = read_rules(rules, phase=phase)
    with opened(data):
        pass  # that there is no such file, or that it is no XML, is said before anything is said of documents
    rulebook = bound(rulebook, given)
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


def notes_of(job: Job, evaluation: Evaluation | None = None, results: Sequence[RuleResult] = ()) -> tuple[str, ...]:
    """Repairs of the rulebook and lints of its rules, for the user.

    Lints on fields that the results tell of are left out, and all of them for a file without records: it has no
    fields.
    """
    records = evaluation is None or evaluation.records
    why = {rule.id: rule.untested.what for rule in results if rule.untested is not None}
    lints = [
        f"{edit.check.id}: {lint}"
        for edit in job.edits
        for lint in edit.lints
        if not (_on_a_field(lint, why.get(edit.check.id, "")) if records else _NO_FIELD.match(lint))
    ]
    return (*job.rulebook.notes, *lints)


def _on_a_field(lint: str, why: str) -> bool:
    """Whether a lint says of a field what is said of a rule that reads it."""
    reads, field = _READS.search(why), _NO_FIELD.match(lint)
    return bool(reads and field and reads[1] == (field[1] or field[2]))


def fired_notes(job: Job, evaluation: Evaluation, results: Sequence[RuleResult]) -> tuple[str, ...]:
    """Say which rules are not tested and why; or that there is nothing that could test them."""
    if not evaluation.records:
        return (f"the file has no records: they are looked for as {shown_path(job.layout)}",)
    reasons = tuple(told(results))
    if results and not any(rule.fired + rule.errors for rule in results):
        hint = "look at the contexts, the namespace prefixes and the phase"
        return (f"no rule fires on any record: {hint}", *reasons)
    return reasons


def require_records(job: Job, records: int, hint: str) -> None:
    """Refuse a file without records: nothing was asked of anybody.

    Raises
    ------
    DocumentError
    """
    if not records:
        raise DocumentError(
            f"the file has no record, so that there is nothing to judge: records are looked for as "
            f"{shown_path(job.layout)}",
            where=str(job.data),
            hint=f"name another element with --record; {hint}",
        )


def shown_path(layout: Layout) -> str:
    """Return the path of the records, without namespaces."""
    return "/" + "/".join(tag.rpartition("}")[2] for tag in layout.record_path)


def size_notes(job: Job, evaluation: Evaluation | None = None) -> tuple[str, ...]:
    """Warn of rules that need the whole document, where the file is large or they take long, and say what that takes.

    Parameters
    ----------
    evaluation : Evaluation, optional
        As for `Job.tiers`.
    """
    size = job.data.stat().st_size
    slow = slow_rules(job)
    checks = job.rulebook.checks
    walking = tuple(f"{checks[index].id}: {slow.said}" for index in slow.rules)
    if size < LARGE:
        return walking
    engines = engines_of(job.rulebook, job.layout, "auto")
    return walking + tuple(
        f"{check.id}: needs the whole file in memory ({assigned.reason}); with {size / 1e6:.0f} MB that takes about "
        f"{size * MEMORY[engine] / 1e9:.1f} GB, and above some {PRACTICAL / MEMORY[engine] / 1e6:.0f} MB it is not "
        "practical any more"
        for check, assigned, engine in zip(job.rulebook.checks, job.tiers(evaluation), engines, strict=True)
        if assigned.tier is Tier.DOCUMENT
    )


def departure_notes(job: Job, evaluation: Evaluation) -> tuple[str, ...]:
    """Say how many records libxml2 by itself refuses or accepts by its own way with numbers, and what to write."""
    checks = job.rulebook.checks
    notes = [
        f"{checks[one.check].id}: libxml2 by itself {' and '.join(_alone(one))} that XPath 1.0 does not, since it "
        "does not read or write numbers as that says (docs/engines.md); the verdict is that of XPath 1.0"
        for one in evaluation.departures
    ]
    if notes and (found := spelled(job, {one.check for one in evaluation.departures})):
        notes.append(remedy(found, places=False))
    return tuple(notes)


def _alone(one: Departure) -> Iterator[str]:
    for count, does in ((one.refused, "refuses"), (one.accepted, "accepts")):
        if count:
            yield f"{does} {count:,} {'record' if count == 1 else 'records'}"


def judging_stage(job: Job) -> str:
    """Name the stage in which rules are evaluated; where they see the whole document, also how long it takes."""
    stage = f"validating {job.data.name}"
    return f"{stage}, whole{slow_rules(job).together}" if size_notes(job) else stage


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
