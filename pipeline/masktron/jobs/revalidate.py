"""The promise is about the written bytes: read them back and evaluate them, by engines that are not ours too."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from masktron.evaluation.exact import evaluate
from masktron.evaluation.findings import Evaluation
from masktron.evaluation.oracle import compare, evaluate_with_pyschematron
from masktron.jobs.common import Job, Progress
from masktron.read.records import Layout
from masktron.results import EngineResult

SAMPLE = 2000
"""pyschematron judges this many records, spread evenly over longer files: it takes a millisecond or more for each."""
CHUNK = 25


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
    path: Path, job: Job, layout: Layout, *, original: Path, binding: Collection[int], progress: Progress
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
    """
    rules = sorted(binding)
    decided = evaluate(
        path,
        job.rulebook,
        layout,
        original=original,
        progress=lambda done: progress("re-validating the written file", done),
    )
    engines = [
        EngineResult(decided.engine, decided.records, _violations(decided, rules), True),
    ]
    if job.rulebook.version == "1.0":
        other = evaluate(path, job.rulebook, layout, original=original, engine="saxon", limit=0)
        engines.append(_second(decided, other, rules, job))
    engines.append(_third(path, job, layout, original, decided, rules, progress))
    return Revalidation(decided, tuple(engines))


def _violations(evaluation: Evaluation, rules: list[int]) -> int:
    return int((evaluation.failed[rules] + evaluation.errors[rules]).sum())


def _second(decided: Evaluation, other: Evaluation, rules: list[int], job: Job) -> EngineResult:
    notes = tuple(
        f"{job.rulebook.checks[index].id}: fired {decided.fired[index]} and {other.fired[index]} times, "
        f"failed {decided.failed[index]} and {other.failed[index]} times"
        for index in rules
        if decided.fired[index] != other.fired[index] or other.failed[index] + other.errors[index]
    )
    return EngineResult(other.engine, other.records, _violations(other, rules), not notes, notes)


def _third(
    path: Path, job: Job, layout: Layout, original: Path, decided: Evaluation, rules: list[int], progress: Progress
) -> EngineResult:
    n = decided.records
    sample = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))
    opinion = evaluate_with_pyschematron(
        path,
        job.rulebook,
        layout,
        records=sample,
        chunk=CHUNK,
        original=original,
        progress=lambda done: progress("re-validating with pyschematron", done),
    )
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
    return EngineResult(opinion.engine, len(sample), failed, not blocking, tuple(notes))
