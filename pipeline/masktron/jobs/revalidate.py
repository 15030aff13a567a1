"""The promise is about the written bytes: read them back and evaluate them, by engines that are not ours too."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.findings import Evaluation
from masktron.evaluation.opinions import Opinions, SampleOf, ask
from masktron.evaluation.oracle import Opinion, compare
from masktron.evaluation.parallel import Counts, engine_name
from masktron.evaluation.runner import EngineChoice
from masktron.evaluation.tiered import evaluate
from masktron.evaluation.tiers import Tier
from masktron.jobs.common import Job, Progress, expect
from masktron.read.records import Layout
from masktron.results import EngineResult

if TYPE_CHECKING:
    from masktron.read.blocks import PlainFile

SAMPLE = 2000
"""pyschematron judges this many records, spread evenly over longer files: it takes a millisecond or more for each."""
WHOLE = 20_000_000
"""Bytes up to which engines that are not ours see the whole document for a rule that columns evaluate across records:
they look through all records for each, in a time that grows with the square."""


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


def revalidate(
    path: Path,
    job: Job,
    layout: Layout,
    *,
    original: Path,
    binding: Collection[int],
    progress: Progress,
    plain: PlainFile | None = None,
    decided: Evaluation | None = None,
) -> Revalidation:
    """Evaluate a written file.

    Parameters
    ----------
    path : Path
        The written file.
    layout : Layout
        Its layout.
    original : Path
        What ``document()`` in the rules means.
    binding : collection of int
        Rules that have to hold.
    plain : PlainFile, optional
        What the reader of columns knows of it.
    decided : Evaluation, optional
        What decides, with the verdicts on all records; by default `masktron.evaluation.tiered` is asked.
    """
    rules = sorted(binding)
    if decided is None:
        decided = evaluate(
            path,
            job.rulebook,
            layout,
            plain=plain,
            original=original,
            keep_verdicts=True,
            progress=lambda done: progress("re-validating the written file", done),
        )
    aside = left_to_columns(job, path, decided)
    alone = tuple(
        f"{job.rulebook.checks[index].id}: looks across records; no other engine is asked in so large a file"
        for index in sorted(aside.intersection(rules))
    )
    sample = SampleOf(_spread(decided.records), decided.records)
    asked = _asked(path, job, layout, decided, original=original, aside=aside, progress=progress, sample=sample)
    engines = [
        EngineResult(decided.engine, decided.records, _violations(decided, rules), True, alone),
        *_second(job, decided, rules, asked.counts, aside, ()),
    ]
    if asked.sampled is not None:
        engines.append(_third(job, decided, rules, asked.sampled))
    return Revalidation(decided, tuple(engines))


def second_opinions(
    path: Path,
    job: Job,
    layout: Layout,
    decided: Evaluation,
    rules: Collection[int],
    *,
    original: Path | None,
    progress: Progress,
    aside: frozenset[int] = frozenset(),
    failing: Collection[int] = (),
) -> list[EngineResult]:
    """Ask engines that are not ours about every record of a file: libxml2 and Saxon, or Saxon from XPath 2.0 on.

    Each reads the file by its own parser. The one that has decided alone, by the name in the evaluation, is not asked
    again.

    Parameters
    ----------
    decided : Evaluation
        What they have to agree with: as many records, and for each rule as many nodes on which it fired, failed and
        raised errors.
    rules : collection of int
        Indices of the checks that count.
    original : Path or None
        What ``document()`` in the rules means.
    aside : frozenset of int
        Rules that are not asked about: those of `left_to_columns`.
    failing : collection of int
        Rules for which the file is refused anyway. That an engine finds fewer violations of them, in as many nodes,
        is noted, and no disagreement; what it finds beyond those that were counted always is one.
    """
    asked = _asked(path, job, layout, decided, original=original, aside=aside, progress=progress)
    return _second(job, decided, rules, asked.counts, aside, failing)


def _asked(
    path: Path,
    job: Job,
    layout: Layout,
    decided: Evaluation,
    *,
    original: Path | None,
    aside: frozenset[int],
    progress: Progress,
    sample: SampleOf | None = None,
) -> Opinions:
    """Ask the engines that have not decided alone about every record, and pyschematron about a sample."""
    choices: tuple[EngineChoice, ...] = ("auto", "saxon") if job.rulebook.version == "1.0" else ("auto",)
    names = {engine_name(job.rulebook, layout, choice): choice for choice in choices}
    judging = len(aside) < len(job.rulebook.checks)
    engines = [choice for name, choice in names.items() if judging and name != decided.engine]
    stages: dict[EngineChoice | None, str] = {choice: f"asking {name}" for name, choice in names.items()}
    stages[None] = "re-validating with pyschematron"
    for choice in engines:
        expect(progress, stages[choice], decided.records)
    if sample is not None:
        expect(progress, stages[None], len(sample.positions))
    return ask(
        path,
        job.rulebook,
        layout,
        engines,
        sample=sample,
        original=original,
        leave_out=aside,
        told=lambda engine, done: progress(stages[engine], done),
    )


def _second(
    job: Job,
    decided: Evaluation,
    rules: Collection[int],
    opinions: Iterable[Counts],
    aside: frozenset[int],
    failing: Collection[int],
) -> list[EngineResult]:
    judged = [index for index in rules if index not in aside]
    results = []
    for counts in opinions:
        differences = list(_differences(job, decided, counts, judged))
        agrees = all(index in failing and _is_milder(decided, counts, index) for index, _ in differences)
        notes = tuple(note for _, note in differences)
        results.append(EngineResult(counts.engine, counts.records, _violations(counts, judged), agrees, notes))
    return results


def left_to_columns(job: Job, path: Path, decided: Evaluation) -> frozenset[int]:
    """Rules across records, in a file so large that no engine is asked about them."""
    if path.stat().st_size <= WHOLE:
        return frozenset()
    return frozenset(index for index, own in enumerate(job.tiers(decided)) if own.tier is Tier.ACROSS)


def _violations(counts: Evaluation | Counts, rules: Collection[int]) -> int:
    own = list(rules)
    return int((counts.failed[own] + counts.errors[own]).sum())


def _is_milder(decided: Evaluation, counts: Counts, index: int) -> bool:
    """Whether an engine saw a rule fire as often, and found nothing more to be wrong."""
    return bool(
        index >= 0
        and counts.fired[index] == decided.fired[index]
        and counts.failed[index] <= decided.failed[index]
        and counts.errors[index] <= decided.errors[index]
    )


def _differences(job: Job, decided: Evaluation, counts: Counts, rules: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield what an engine counts otherwise, with the rule; -1 for the records."""
    if decided.records != counts.records:
        yield -1, f"{decided.records} and {counts.records} records"
    for index in rules:
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


def _spread(n: int) -> NDArray[np.intp]:
    """Return the positions of a sample."""
    return np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))


def _third(job: Job, decided: Evaluation, rules: list[int], opinion: Opinion) -> EngineResult:
    agreement = compare(decided, opinion, job.rulebook)
    own = set(rules)
    blocking = [one for one in agreement.blocking if one.check in own]
    explained = [one for one in agreement.disagreements if one.check in own and one not in blocking]
    left_out = [job.rulebook.checks[index].id for index in opinion.not_compared if index in own]
    notes = [f"disagrees without a known reason: {one}" for one in blocking]
    notes += [f"known deviation: {one}" for one in explained]
    notes += [f"{rule}: looks beyond single records, so it was not compared" for rule in left_out]
    # What a known deviation explains is the engine's mistake, not a violation; the note has its count.
    mistaken = {one.check for one in explained} | set(opinion.not_compared)
    judged = [index for index in rules if index not in mistaken]
    failed = int((opinion.failed[judged] + opinion.errors[judged]).sum())
    return EngineResult(opinion.engine, len(opinion.records), failed, not blocking, tuple(notes))
