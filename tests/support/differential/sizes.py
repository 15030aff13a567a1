"""Generated files judged small, and padded beyond every size from which they are judged in another way."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from differential.generate import generate
from masktron.errors import MasktronError
from masktron.jobs.job import open_job
from masktron.jobs.revalidate import Asking
from masktron.judge.findings import Evaluation
from masktron.judge.request import EvaluationRequest
from masktron.judge.tiered import evaluate
from masktron.progress import no_progress
from masktron.results import EngineResult
from masktron.rulebook.locality import locality

type Counts = tuple[int, int, int]
"""How often a check fired, failed and raised an error."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of each check, and by the engines that are not ours; or the error that refuses the file."""

    counts: tuple[Counts, ...] = ()
    agrees: tuple[tuple[str, bool], ...] = ()
    local: tuple[bool, ...] = ()
    names: tuple[str, ...] = ()
    error: str = ""


def judged(data: Path, rules: Path) -> Judged:
    """Judge a file as `validate` and `check` do."""
    try:
        job = open_job(data, rules)
        rulebook, layout = job.rulebook, job.source.document.layout
        decided = evaluate(EvaluationRequest.of(job.source, rulebook, job.source))
        every = range(len(rulebook.checks))
        opinions, _ = Asking(job, job.source, no_progress).second_opinions(decided, every)
    except MasktronError as error:
        return Judged(error=type(error).__name__)
    local = tuple(not why for why in locality(rulebook, layout))
    names = tuple(check.id for check in rulebook.checks)
    return Judged(tuple(_counts(decided)), tuple(map(_opinion, opinions)), local, names)


def _counts(decided: Evaluation) -> Iterator[Counts]:
    for fired, failed, errors in zip(decided.fired, decided.failed, decided.errors, strict=True):
        yield int(fired), int(failed), int(errors)


def _opinion(engine: EngineResult) -> tuple[str, bool]:
    return engine.engine, engine.agrees


def padded(data: Path, out: Path, *, size: int = 0, records: int = 0) -> int:
    """Write a file with more bytes of white space between its records, or with its records repeated.

    Returns
    -------
    int
        How many times each record is there.
    """
    tree = etree.parse(data)
    root = tree.getroot()
    own = [one for one in root if isinstance(one.tag, str)]
    times = max(1, -(-records // len(own)))
    for _ in range(times - 1):
        root.extend(deepcopy(one) for one in own)
    for one in own if size else ():  # libxml2 reads texts of 10 MB at most
        one.tail = (one.tail or "") + " " * (size // len(own) + 1)
    tree.write(out, encoding="utf-8", xml_declaration=True)
    return times


def by_size(seed: int, folder: Path, *, size: int, records: int) -> tuple[int, list[str]]:
    """Judge a generated file small and padded; return the number of checks compared, and what differs.

    With its records repeated, a check that reads other records has another meaning: only the others are compared.
    """
    data, rules = generate(seed).write(folder)
    small, large = folder / "small.xml", folder / "large.xml"
    padded(data, small)
    expected = judged(small, rules)
    compared, differing = 0, []
    for more in ({"size": size}, {"records": records}):
        times = padded(data, large, **more)
        found = judged(large, rules)
        if expected.error != found.error:
            differing.append(f"seed {seed}, {more}: {expected.error or 'no error'}, {found.error or 'no error'}")
            continue
        for k, (one, other) in enumerate(zip(expected.counts, found.counts, strict=True)):
            if times > 1 and not expected.local[k]:
                continue
            compared += 1
            if tuple(count * times for count in one) != other:
                differing.append(f"seed {seed}, {more}: {expected.names[k]}: {one} times {times}, {other}")
        if times == 1:
            before = dict(expected.agrees)
            differing += [
                f"seed {seed}, {more}: {engine} {'agrees' if agrees else 'does not agree'}"
                for engine, agrees in found.agrees
                if before.get(engine, True) != agrees
            ]
    return compared, differing
