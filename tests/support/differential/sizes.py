"""Generated files judged small, and padded beyond every size from which they are judged in another way.

``python -m differential.sizes CHECKS [FIRST]`` from ``tests/support`` compares so many checks, in two processes, from
a seed on.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from random import Random
from traceback import format_exc
from unittest.mock import patch

from lxml import etree

from differential.case import Case, Check, Pattern, Rule, Step
from differential.generate import generate
from differential.tree import leaf
from masktron.errors import MasktronError
from masktron.jobs.job import open_job
from masktron.jobs.revalidate import Asking
from masktron.judge.findings import Evaluation
from masktron.judge.request import EvaluationRequest
from masktron.judge.second_opinions import USUAL, engine_opinions
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


_ACROSS_NODES = (
    "count(//{r}[{a} > current()/{a}]) < {n}",
    "count(//{r}[{a} = current()/{a}]) = 1",
    "count(//{r}[{b} = current()/{b} and {a} > current()/{a}]) < {n}",
)
"""Of XPath 1.0, and later where `current` is a function."""
_ACROSS = (
    "not(preceding-sibling::{r}[1]/{a} = {a})",
    "not(following-sibling::{r}[1]/{a} = {b})",
    "count(preceding-sibling::{r}) > {n}",
    "count(//{r}/{a}) > {n}",
    "not({a} = preceding-sibling::{r}/{a})",
)
_ACROSS_LATER = (
    "some $r in //{r} satisfies $r/{a} = {b}",
    "every $r in //{r} satisfies not($r/{a} = 'n')",
    "count(distinct-values(//{r}/{a})) > {n}",
)


def with_checks_across(case: Case) -> Case:
    """Return a case with a pattern of checks that read other records: ranks, neighbours, keys, quantifiers."""
    draw = Random(f"across {case.seed}")
    prefix = "" if case.table.naming == "none" else "d:"
    fields = [f"@{one.name}" if one.attribute else f"{prefix}{one.name}" for one in case.table.columns]
    forms = (*_ACROSS_NODES, *_ACROSS, *(() if case.version == "1.0" else _ACROSS_LATER))
    checks = []
    for k, form in enumerate(draw.choices(forms, k=6)):
        text = form.format(r=f"{prefix}Record", a=draw.choice(fields), b=draw.choice(fields), n=draw.randint(0, 9))
        checks.append(Check(f"x{k}", "assert", leaf("boolean", text, "across")))
    rule = Rule((Step(f"{prefix}Record"),), "Record", (), tuple(checks))
    return replace(case, patterns=(*case.patterns, Pattern((), (rule,))))


@contextmanager
def lowered(size: int = 40_000, records: int = 100) -> Iterator[None]:
    """Let small files reach, when they are padded, the sizes from which files are judged otherwise."""
    cutting = replace(USUAL, small=size, size=size // 8)
    with ExitStack() as stack:
        for name in ("sources.xml.wellformed.SMALLEST", "jobs.revalidate.WHOLE", "jobs.revalidate.SMALL_FILE"):
            stack.enter_context(patch(f"masktron.{name}", size))
        for name in ("sources.xml.wellformed.MANY_RECORDS", "jobs.revalidate.MANY_RECORDS"):
            stack.enter_context(patch(f"masktron.{name}", records))
        stack.enter_context(
            patch.object(
                engine_opinions, "__kwdefaults__", {**(engine_opinions.__kwdefaults__ or {}), "cutting": cutting}
            )
        )
        yield


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
    data, rules = with_checks_across(generate(seed)).write(folder)
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


def _seed(seed: int, size: int = 50_000, records: int = 110) -> tuple[int, list[str]]:
    """Compare the checks of a seed with lowered sizes; an exception is a difference."""
    try:
        with lowered(), tempfile.TemporaryDirectory() as folder:
            return by_size(seed, Path(folder), size=size, records=records)
    except Exception:  # noqa: BLE001 -- the other seeds go on
        return 0, [f"seed {seed}: {format_exc(limit=-3)}"]


def main() -> None:
    """Compare as many checks as are asked for, and print what differs and the number."""
    wanted, seed, total, count = int(sys.argv[1]), int((*sys.argv, "0")[2]), 0, 0
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        while total < wanted:
            for compared, differing in pool.map(_seed, range(seed, seed + 20)):
                total, count = total + compared, count + len(differing)
                for line in differing:
                    sys.stdout.write(f"{line}\n")
            seed += 20
            sys.stdout.write(f"{total:,} checks compared up to seed {seed}, {count} differences\n")
            sys.stdout.flush()
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
