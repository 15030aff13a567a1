"""The promise is about the written bytes: read them back and evaluate them, by engines that are not ours too."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from masktron.evaluation.cross_check import (
    EnginePart,
    PartProgress,
    PoolResults,
    Question,
    ask,
    processes_in_background,
    saxon_in_background,
)
from masktron.evaluation.findings import Evaluation
from masktron.evaluation.parallel import SMALL, EngineCounts
from masktron.evaluation.request import EvaluationRequest
from masktron.evaluation.runner import EngineChoice, beyond, engine_name, engines_of
from masktron.evaluation.tiered import evaluate
from masktron.evaluation.walk import Tier
from masktron.evaluation.worker_pool import Background
from masktron.executor.contract import Executor
from masktron.jobs.job import Job
from masktron.processes import interpreter
from masktron.progress import Progress, expect
from masktron.results import EngineResult
from masktron.sources.column import MANY_RECORDS
from masktron.sources.source import Source

_LIBXML2 = "libxml2 "
WHOLE = 20_000_000
"""Bytes up to which engines that are not ours see the whole document for a rule that columns evaluate across records:
they look through all records for each, in a time that grows with the square. In larger files they judge it over
aggregates that are computed apart from ours (`masktron.evaluation.recount`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Revalidation:
    """What all engines say of the written file.

    Attributes
    ----------
    evaluation : Evaluation
        Of the deciding engine, over all records.
    engines : tuple of EngineResult
        Of every engine, the deciding one first.
    """

    evaluation: Evaluation
    engines: tuple[EngineResult, ...]


class Asking:
    """Engines that are not ours on their way through a written file, while this process reads it itself.

    Of a large flat file it is known beforehand what they will be asked; what they say counts only if what decides
    turns out to leave the same question. Of a small one Saxon is asked at once (`saxon_prefetched`), others when the
    decision is there.

    Parameters
    ----------
    written : Source
    job : Job
        Of the original.
    original : Source
        What ``document()`` in the rules means.
    progress : callable
        Called from another thread too.
    executor : Executor, optional
        Who evaluates slices of the file, and has engines judge them; processes of this machine without it.
    """

    def __init__(
        self,
        written: Source,
        job: Job,
        *,
        original: Source,
        progress: Progress,
        executor: Executor | None = None,
    ) -> None:
        self._written, self._job, self._progress = written, job, progress
        self._request = EvaluationRequest.of(written, job.rulebook, original, executor=executor).on_document()
        self._original, self._executor = original, executor
        self._begun: tuple[Question, Background[PoolResults]] | None = None
        self._stack = ExitStack()
        self._saxon: Background[EngineCounts] | None = None

    def __enter__(self) -> Self:
        if self._written.count is not None:
            question = self._question(None, self._written.count)
            told = _telling(self._job, self._written, question, self._progress)
            self._begun = question, self._stack.enter_context(processes_in_background(self._request, question, told))
        else:
            prefetched = saxon_prefetched(self._written, self._job, self._original, self._progress)
            self._saxon = self._stack.enter_context(prefetched)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def revalidation(self, binding: Collection[int], decided: Evaluation | None = None) -> Revalidation:
        """Evaluate the written file, and return what all engines say of it.

        Parameters
        ----------
        binding : collection of int
            Rules that have to hold.
        decided : Evaluation, optional
            What decides, with the verdicts on all records; by default `masktron.evaluation.tiered` is asked.
        """
        rules = sorted(binding)
        decided = decided or self._decided()
        opinions = self._opinions(decided)
        alone = judged_by_columns_alone(self._job, decided, rules, opinions)
        violations = _violations(decided, rules)
        own = EngineResult(decided.engine, decided.records, violations, True, alone, rules=len(rules))
        others = _second(self._job, decided, rules, opinions) if self._job.rulebook.checks else None
        return Revalidation(decided, () if others is None else (own, *others))

    def _decided(self) -> Evaluation:
        stage, written = "re-validating the written file", self._written
        if written.count is not None:
            expect(self._progress, stage, written.count)
        told = partial(self._progress, stage)
        return evaluate(
            EvaluationRequest.of(written, self._job.rulebook, self._original, progress=told, executor=self._executor)
        )

    def _opinions(self, decided: Evaluation) -> tuple[EngineCounts, ...]:
        """Return what the engines count that have not decided alone."""
        question = self._question(decided, decided.records)
        found = None
        if self._begun is not None:
            begun, results = self._begun
            if begun == question:
                found = results.result()
            else:
                self._stack.close()
        told = _telling(self._job, self._written, question, self._progress)
        return ask(self._request, question, found=found, prefetched=self._saxon, told=told)

    def _question(self, decided: Evaluation | None, records: int) -> Question:
        aside = to_recount(self._job, self._written, decided)
        return Question(_others(self._job, self._written, decided), aside, records)


def second_opinions(
    job: Job,
    decided: Evaluation,
    rules: Collection[int],
    *,
    original: Source | None,
    progress: Progress,
    failing: Collection[int] = (),
    prefetched: Background[EngineCounts] | None = None,
    executor: Executor | None = None,
) -> tuple[list[EngineResult], tuple[str, ...]]:
    """Ask engines that are not ours about every record of a file: libxml2 on rules of XPath 1.0, Saxon on all.

    Each reads the file by its own parser. The one that has decided alone, by the name in the evaluation, is not asked
    again.

    Parameters
    ----------
    decided : Evaluation
        What they have to agree with: as many records, and for each rule as many nodes on which it fired, failed and
        raised errors.
    rules : collection of int
        Indices of the checks that count.
    original : Source or None
        What ``document()`` in the rules means.
    failing : collection of int
        Rules for which the file is refused anyway. That an engine finds fewer violations of them, in as many nodes,
        is noted, and no disagreement; what it finds beyond those that were counted always is one, with one exception:
        what libxml2 alone counts otherwise, while Saxon agrees, is its known deviation in numbers of XPath 1.0.
    prefetched : Background of EngineCounts, optional
        Saxon at work on the same question.
    executor : Executor, optional
        Who has engines judge slices of a large file; processes of this machine without it.

    Returns
    -------
    list of EngineResult
    tuple of str
        The rules that none of them judged, as `judged_by_columns_alone` says.
    """
    source = job.source
    question = Question(_others(job, source, decided), to_recount(job, source, decided), decided.records)
    told = _telling(job, source, question, progress)
    request = EvaluationRequest.of(source, job.rulebook, original, executor=executor).on_document()
    opinions = ask(request, question, prefetched=prefetched, told=told)
    alone = judged_by_columns_alone(job, decided, rules, opinions)
    return _second(job, decided, rules, opinions, failing, lenient=True), alone


def saxon_prefetched(
    source: Source, job: Job, original: Source | None, progress: Progress
) -> AbstractContextManager[Background[EngineCounts] | None]:
    """Have Saxon judge a file beside what decides; None where that gains nothing.

    In small files that libxml2 decides Saxon waits for nothing else: its process works beside.

    Parameters
    ----------
    source : Source
        The file of the job, or one written from it.
    """
    request = EvaluationRequest.of(source, job.rulebook, original)
    engines = engines_of(job.rulebook, request.layout, "auto")
    large = source.count is not None or request.on_document().path.stat().st_size > SMALL
    if "saxon" in engines or large or interpreter() is None:
        return nullcontext()

    def told(_: EnginePart, done: int) -> None:
        # by its name, which the process that works is asked for
        progress(f"asking {_name(job, source, 'saxon')}", done)

    return saxon_in_background(request.on_document(), told)


def _others(job: Job, source: Source, decided: Evaluation | None) -> tuple[EngineChoice, ...]:
    """Return the engines that have something to judge and have not decided alone."""
    choices: tuple[EngineChoice, ...] = ("unaided", "saxon")
    names = {_name(job, source, choice): choice for choice in choices}
    return tuple(choice for name, choice in names.items() if name and (decided is None or name != decided.engine))


def _name(job: Job, source: Source, choice: EngineChoice) -> str:
    book = job.rulebook
    return engine_name(book, source.document.layout, choice, beyond(choice, book))


def _telling(job: Job, source: Source, question: Question, progress: Progress) -> PartProgress:
    """Return what hears of each engine; it has been told what to expect."""
    stages: dict[EnginePart, str] = {choice: f"asking {_name(job, source, choice)}" for choice in question.engines}
    if question.aside:
        for choice in question.engines:
            part: Any = f"{choice} across"
            stages[part] = f"{stages[choice]} across records"
    for stage in stages.values():
        expect(progress, stage, question.records)
    return lambda part, done: progress(stages[part], done)


def _second(
    job: Job,
    decided: Evaluation,
    rules: Collection[int],
    opinions: Iterable[EngineCounts],
    failing: Collection[int] = (),
    *,
    lenient: bool = False,
) -> list[EngineResult]:
    results = []
    opinions = list(opinions)
    confirmed = _confirmed(job, decided, rules, opinions) if lenient else frozenset()
    for counts in opinions:
        judged = [index for index in rules if index not in counts.left]
        if rules and not judged:
            continue
        differences = list(_differences(job, decided, counts, judged))
        known = confirmed if counts.engine.startswith(_LIBXML2) else frozenset()
        agrees = all(
            index in known or (index in failing and _is_milder(decided, counts, index)) for index, _ in differences
        )
        notes = tuple(note for _, note in differences)
        missed = sorted(counts.left.keys() & set(rules))
        left = tuple(f"{job.rulebook.checks[index].id}: {counts.left[index]}" for index in missed)
        results.append(
            EngineResult(
                counts.engine,
                counts.records,
                _violations(counts, judged),
                agrees,
                notes,
                misreads=agrees and any(index in known for index, _ in differences),
                rules=len(judged),
                not_judged=left,
            )
        )
    return results


def _confirmed(
    job: Job, decided: Evaluation, rules: Collection[int], opinions: Iterable[EngineCounts]
) -> frozenset[int]:
    """Return the rules on which Saxon, which rounds numbers correctly, counts what was decided."""
    found = frozenset[int]()
    for counts in opinions:
        judged = [index for index in rules if index not in counts.left]
        apart = {index for index, _ in _differences(job, decided, counts, judged)}
        if not counts.engine.startswith(_LIBXML2) and -1 not in apart:
            found |= frozenset(judged) - apart
    return found


def judged_by_columns_alone(
    job: Job, decided: Evaluation, rules: Collection[int], opinions: Sequence[EngineCounts]
) -> tuple[str, ...]:
    """Name the rules that no engine judged that is not ours, with the reason."""
    if not decided.engine.startswith("masktron"):
        return ()
    return tuple(
        f"{job.rulebook.checks[index].id}: judged by masktron's columns alone, {opinions[-1].left[index]}"
        for index in sorted(rules)
        if opinions and all(index in counts.left for counts in opinions)
    )


def to_recount(job: Job, source: Source, decided: Evaluation | None) -> frozenset[int]:
    """Rules across records, in a file of so many that no engine is asked about them as they are written.

    As far as is known beforehand; what the decision has handed back to the whole document is asked there.
    """
    if source.document_path.stat().st_size <= WHOLE and (source.count or 0) < MANY_RECORDS:
        return frozenset()
    return frozenset(index for index, own in enumerate(job.tiers(decided)) if own.tier is Tier.ACROSS)


def _violations(counts: Evaluation | EngineCounts, rules: Collection[int]) -> int:
    own = list(rules)
    return int((counts.failed[own] + counts.errors[own]).sum())


def _is_milder(decided: Evaluation, counts: EngineCounts, index: int) -> bool:
    """Whether an engine saw a rule fire as often, and found nothing more to be wrong."""
    return bool(
        index >= 0
        and counts.fired[index] == decided.fired[index]
        and counts.failed[index] <= decided.failed[index]
        and counts.errors[index] <= decided.errors[index]
    )


def _differences(
    job: Job, decided: Evaluation, counts: EngineCounts, rules: Collection[int]
) -> Iterator[tuple[int, str]]:
    """Yield what an engine counts otherwise, with the rule; -1 for the records."""
    if decided.records != counts.records:
        yield -1, f"{decided.records} and {counts.records} records"
    for index in rules:
        if index in counts.objections:
            yield -1, f"{job.rulebook.checks[index].id}: {counts.objections[index]}"
        own = [int(of[index]) for of in (decided.fired, decided.failed, decided.errors)]
        other = [int(of[index]) for of in (counts.fired, counts.failed, counts.errors)]
        if own == other:
            continue
        first = f", first in record {counts.first[index] + 1}" if counts.first[index] >= 0 else ""
        errors = f", errors {own[2]} and {other[2]} times" if own[2] != other[2] else ""
        yield (
            index,
            f"{job.rulebook.checks[index].id}: fired {own[0]} and {other[0]} times, "
            f"failed {own[1]} and {other[1]} times{errors}{first}",
        )
