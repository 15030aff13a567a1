"""The promise is about the written bytes: read them back and evaluate them, by engines that are not ours too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from masktron.executor.contract import Executor
from masktron.jobs.job import Job
from masktron.judge import (
    SMALL_FILE,
    Background,
    EngineChoice,
    EnginePart,
    Evaluation,
    EvaluationRequest,
    PartProgress,
    Question,
    Tier,
    beyond,
    engine_name,
    engine_opinions,
    engines_of,
    in_background,
    verdicts,
)
from masktron.processes import interpreter
from masktron.progress import Progress, expect
from masktron.results import EngineResult
from masktron.sources.column import MANY_RECORDS
from masktron.sources.source import Source

_LIBXML2 = "libxml2 "
WHOLE = 20_000_000
"""Bytes up to which engines that are not ours see the whole document for a rule that columns evaluate across records:
they look through all records for each, in a time that grows with the square. In larger files they judge it over
aggregates that are computed apart from ours (`masktron.judge.recount`)."""


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
    """Engines that are not ours on their way through a file, while this process judges it itself.

    Of a large flat file it is known beforehand what they will be asked. Of a small one Saxon is asked at once: its
    process works beside libxml2. What they say counts only if what decides leaves the same rules to be recounted.

    Parameters
    ----------
    job : Job
        Of the file, or of the original.
    original : Source or None
        What ``document()`` in the rules means.
    progress : callable
        Called from another thread too.
    written : Source, optional
        The file; that of the job when not given.
    executor : Executor, optional
        Who evaluates slices of the file, and has engines judge them; processes of this machine without it.
    """

    def __init__(
        self,
        job: Job,
        original: Source | None,
        progress: Progress,
        *,
        written: Source | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._file, self._job, self._progress = written or job.source, job, progress
        self._request = EvaluationRequest.of(self._file, job.rulebook, original, executor=executor).on_document()
        self._original, self._executor = original, executor
        self._begun: tuple[Question, Background[tuple[Evaluation, ...]]] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        question = self._first_question()
        if question.engines:
            self._begun = question, self._stack.enter_context(in_background(partial(self._asked, question)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _first_question(self) -> Question:
        if self._file.count is not None:
            return self._question(None, self._file.count)
        engines = engines_of(self._job.rulebook, self._request.layout, "auto")
        large = self._request.path.stat().st_size > SMALL_FILE
        waits = "saxon" in engines or large or interpreter() is None
        return Question(() if waits else ("saxon",), frozenset(), 0)

    def _asked(self, question: Question, go_on: Callable[[], None] = lambda: None) -> tuple[Evaluation, ...]:
        return engine_opinions(
            self._request, question, told=_telling(self._job, self._file, question, self._progress, go_on)
        )

    def opinions(self, decided: Evaluation) -> tuple[Evaluation, ...]:
        """Return what the engines count that have not decided alone."""
        question, known = self._question(decided, decided.records), dict[EngineChoice, Evaluation]()
        if self._begun is not None:
            begun, results = self._begun
            if begun.aside == question.aside:
                known = dict(zip(begun.engines, results.result(), strict=True))
            else:
                self._stack.close()
        left = tuple(choice for choice in question.engines if choice not in known)
        if left:
            known |= dict(zip(left, self._asked(replace(question, engines=left)), strict=True))
        return tuple(known[choice] for choice in question.engines)

    def revalidation(self, binding: Collection[int], decided: Evaluation | None = None) -> Revalidation:
        """Evaluate the file, and return what all engines say of it.

        Parameters
        ----------
        binding : collection of int
            Rules that have to hold.
        decided : Evaluation, optional
            What decides, with the verdicts on all records; by default `masktron.judge.verdicts`.
        """
        rules = sorted(binding)
        decided = decided or self._decided()
        opinions = self.opinions(decided)
        alone = judged_by_columns_alone(self._job, decided, rules, opinions)
        violations = _violations(decided, rules)
        own = EngineResult(decided.engine, decided.records, violations, True, alone, rules=len(rules))
        others = _second(self._job, decided, rules, opinions) if self._job.rulebook.checks else None
        return Revalidation(decided, () if others is None else (own, *others))

    def second_opinions(
        self, decided: Evaluation, rules: Collection[int], failing: Collection[int] = ()
    ) -> tuple[list[EngineResult], tuple[str, ...]]:
        """Ask engines that are not ours about every record: libxml2 on rules of XPath 1.0, Saxon on all.

        Each reads the file by its own parser. The one that has decided alone, by the name in the evaluation, is not
        asked again.

        Parameters
        ----------
        decided : Evaluation
            What they have to agree with: as many records, and for each rule as many nodes on which it fired, failed
            and raised errors.
        rules : collection of int
            Indices of the checks that count.
        failing : collection of int
            Rules for which the file is refused anyway. That an engine finds fewer violations of them, in as many
            nodes, is noted, and no disagreement; what it finds beyond those that were counted always is one, with one
            exception: what libxml2 alone counts otherwise, while Saxon agrees, is its known deviation in numbers of
            XPath 1.0.

        Returns
        -------
        list of EngineResult
        tuple of str
            The rules that none of them judged, as `judged_by_columns_alone` says.
        """
        opinions = self.opinions(decided)
        alone = judged_by_columns_alone(self._job, decided, rules, opinions)
        return _second(self._job, decided, rules, opinions, failing, lenient=True), alone

    def _decided(self) -> Evaluation:
        stage = "re-validating the written file"
        if self._file.count is not None:
            expect(self._progress, stage, self._file.count)
        told = partial(self._progress, stage)
        return verdicts(self._job.rulebook, self._file, self._original, progress=told, executor=self._executor)

    def _question(self, decided: Evaluation | None, records: int) -> Question:
        aside = to_recount(self._job, self._file, decided)
        return Question(_others(self._job, self._file, decided), aside, records)


def _others(job: Job, source: Source, decided: Evaluation | None) -> tuple[EngineChoice, ...]:
    """Return the engines that have something to judge and have not decided alone."""
    choices: tuple[EngineChoice, ...] = ("unaided", "saxon")
    names = {_name(job, source, choice): choice for choice in choices}
    return tuple(choice for name, choice in names.items() if name and (decided is None or name != decided.engine))


def _name(job: Job, source: Source, choice: EngineChoice) -> str:
    book = job.rulebook
    return engine_name(book, source.document.layout, choice, beyond(choice, book))


def _telling(
    job: Job, source: Source, question: Question, progress: Progress, go_on: Callable[[], None]
) -> PartProgress:
    """Return what hears of each engine; it has been told what to expect."""
    stages: dict[EnginePart, str] = {choice: f"asking {_name(job, source, choice)}" for choice in question.engines}
    if question.aside:
        for choice in question.engines:
            part: Any = f"{choice} across"
            stages[part] = f"{stages[choice]} across records"
    for stage in stages.values():
        if question.records:
            expect(progress, stage, question.records)

    def told(part: EnginePart, done: int) -> None:
        go_on()
        progress(stages[part], done)

    return told


def _second(
    job: Job,
    decided: Evaluation,
    rules: Collection[int],
    opinions: Iterable[Evaluation],
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
                apart=frozenset(counts.objections.keys() & set(judged)).union(
                    index for index, _ in differences if index >= 0
                ),
            )
        )
    return results


def _confirmed(
    job: Job, decided: Evaluation, rules: Collection[int], opinions: Iterable[Evaluation]
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
    job: Job, decided: Evaluation, rules: Collection[int], opinions: Sequence[Evaluation]
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


def _violations(counts: Evaluation, rules: Collection[int]) -> int:
    own = list(rules)
    return int((counts.failed[own] + counts.errors[own]).sum())


def _is_milder(decided: Evaluation, counts: Evaluation, index: int) -> bool:
    """Whether an engine saw a rule fire as often, and found nothing more to be wrong."""
    return bool(
        index >= 0
        and counts.fired[index] == decided.fired[index]
        and counts.failed[index] <= decided.failed[index]
        and counts.errors[index] <= decided.errors[index]
    )


def _differences(
    job: Job, decided: Evaluation, counts: Evaluation, rules: Collection[int]
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
