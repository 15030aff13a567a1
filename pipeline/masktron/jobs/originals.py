"""The original file before masking: which of its records obey the rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.constraints import CrossRecordEdit
from masktron.counts import counted
from masktron.errors import RefusalFacts, ViolationError
from masktron.executor.contract import Executor
from masktron.jobs.common import code_notes, departure_notes, file_notes, notes_of, unsatisfiable_notes, violations
from masktron.jobs.job import Job
from masktron.jobs.untested import may_be_untested, refuse, untested, written_untested
from masktron.judge import Evaluation, Verdict
from masktron.problems.problem import Problem, Sentence, rules
from masktron.progress import Progress
from masktron.results import Untested, ValidateResult, shown


class InvalidOriginalError(ViolationError):
    """The original breaks its rules; the findings are at hand.

    Attributes
    ----------
    result : ValidateResult
    """

    def __init__(self, what: Problem, *, result: ValidateResult, facts: Sequence[RefusalFacts] = ()) -> None:
        super().__init__(what, facts=facts)
        self.result = result


@dataclass(frozen=True, slots=True, eq=False)
class Originals:
    """What may be masked.

    Attributes
    ----------
    keep : ndarray of bool, shape (n,)
        Records to mask; the others break a rule and are left out.
    released : tuple of int
        Rules that need not be kept: allowed ones, and soft ones that a record which is kept breaks.
    notes : tuple of Sentence
        What the user should know: soft rules given up, records of which libxml2 alone says something else.
    fired : tuple of int
        Nodes on which each check fired.
    untested : mapping of int to Untested
        Checks that the original does not test, and need not.
    """

    keep: NDArray[np.bool_]
    released: tuple[int, ...]
    notes: tuple[Sentence, ...]
    fired: tuple[int, ...] = ()
    untested: Mapping[int, Untested] = field(default_factory=dict)


def judge_originals(
    job: Job,
    config: Config,
    progress: Progress,
    executor: Executor | None = None,
    settled: frozenset[int] = frozenset(),
    left_out: NDArray[np.bool_] | None = None,
) -> Originals:
    """Evaluate the original and decide what may be masked.

    In XPath 1.0 that is what the Recommendation says; what libxml2 alone says of records is reported.

    Parameters
    ----------
    job : Job
    config : Config
    progress : callable
    executor : Executor, optional
        Who evaluates slices of the file, where it can be cut.
    settled : frozenset of int
        Checks that are known to hold: where they fire is counted, and nothing is asked.
    left_out : ndarray of bool, shape (n,), optional
        Records that are left out whatever rules say of them here.

    Raises
    ------
    InvalidOriginalError
        Hard rules are broken, and the settings do not say to exclude the records or to allow the rules.
    RulebookError, ViolationError
        A hard rule is not tested, and the settings do not allow that.
    """
    evaluation = job.without_asking(settled).evaluate(job.source, progress, executor=executor, keep_verdicts=True)
    allowed = {job.index_of(rule) for rule in config.allow}
    soft = {check.index for check in job.rulebook.checks if check.soft}
    idle = untested(job, evaluation, range(len(job.rulebook.checks)), job.source)
    loose = may_be_untested(job, config.allow_unfired) | allowed | soft
    refuse(job, {index: reason for index, reason in idle.items() if index not in loose})
    idle = {index: replace(reason, allowed=True) for index, reason in idle.items()}
    hard = [check.index for check in job.rulebook.checks if check.index not in soft | allowed]
    bad = np.zeros(len(evaluation.judged), dtype=np.bool_) if left_out is None else left_out.copy()
    for index in hard:
        bad |= evaluation.judged[:, index] >= Verdict.FAILS
    broken = {index: int((evaluation.judged[~bad, index] >= Verdict.FAILS).sum()) for index in sorted(soft - allowed)}
    beyond = _outside_records(job, evaluation, broken)
    given_up = {index: records for index, records in broken.items() if records or index in beyond}
    notes = [
        f"soft rule {job.rulebook.checks[index].id}: broken "
        f"{'in ' + counted(records, 'original record') if records else 'outside the records'}, so it is not kept"
        for index, records in given_up.items()
    ]
    notes += departure_notes(job, evaluation)
    outside = [job.rulebook.checks[index].id for index in _outside_records(job, evaluation, hard)]
    if outside or (bad.any() and config.invalid == "stop"):
        _refuse(job, config, evaluation, int(bad.sum()), outside, idle)
    return Originals(
        ~bad,
        tuple(sorted(allowed.union(given_up))),
        tuple(notes),
        tuple(evaluation.fired.tolist()),
        idle,
    )


def _outside_records(job: Job, evaluation: Evaluation, checks: Iterable[int]) -> list[int]:
    """Rules that fail outside all records, or count or sum up records: leaving records out cannot mend them."""
    within = evaluation.judged.max(axis=0, initial=Verdict.NOT_FIRED) >= Verdict.FAILS
    total = evaluation.failed + evaluation.errors
    tallied = {
        edit.check.index
        for edit in job.edits
        if isinstance(edit.constraint, CrossRecordEdit) and edit.constraint.kind in ("count", "total")
    }
    return [index for index in checks if total[index] and (index in tallied or not within[index])]


def _refuse(
    job: Job, config: Config, evaluation: Evaluation, records: int, outside: list[str], idle: Mapping[int, Untested]
) -> None:
    results = written_untested(job.rule_results(evaluation), job, idle, evaluation.fired.tolist())
    hard, soft = violations(results)
    codes = (*unsatisfiable_notes(job, evaluation), *code_notes(job, evaluation))
    result = ValidateResult(
        data=shown(job.source.path),
        records=evaluation.records,
        violations=hard,
        warnings=soft,
        rules=results,
        notes=(*file_notes(job.source, missing=config.missing), *notes_of(job), *departure_notes(job, evaluation)),
        engine=evaluation.engine,
        evaluation=evaluation,
        rulebook=job.rulebook,
    )
    names = tuple(dict.fromkeys(rule.id for rule in results if rule.violations and not rule.soft))
    if outside:
        raise InvalidOriginalError(
            Problem("original-breaks-file-rules", job.source.path, rules=rules(outside)),
            result=result,
            facts=[RefusalFacts("original", rules=names)],
        )
    raise InvalidOriginalError(
        Problem(
            "original-breaks-rules",
            job.source.path,
            records=records,
            total=evaluation.records,
            rules=rules(names),
            also="; " if codes else "",
            notes=codes,
        ),
        result=result,
        facts=[RefusalFacts("original", rules=names, records=records)],
    )
