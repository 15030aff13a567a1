"""One pair through masktron, and what came of it."""

from __future__ import annotations

import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

import masktron
from masktron import MaskResult, MasktronError
from masktron.results import BlockResult
from pairs.facts import Facts, facts_of
from pairs.generate import Pair, generate
from pairs.judge import changed, follow, smallest_group, table, violations
from pairs.proof import lonely

LIMIT = 60.0
"""Seconds of processors after which a pair counts as crashed."""
_WAITS = 10
"""How much longer a machine with much else to do may take for it."""


class PairTimeoutError(BaseException):
    """A pair took too long; nothing below may catch it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a pair.

    Attributes
    ----------
    code : int
        Exit code; -1 for a crash.
    reason : str
        Why nothing was written: the code of the error, the kind of its facts, or where it crashed; `message` says it.
    violations : dict of str to int
        By check, as `pairs.judge` counts them in the written file.
    smallest : int or None
        Smallest group over all blocks, counted in the written file.
    faults : tuple of str
        What else is wrong with the written file.
    exits : Counter
        Groups of all blocks by how they were settled.
    proof : str
        Why a refused pair has no solution, as `why_refused` shows it; empty where it does not.
    """

    seed: int
    n: int
    k: int
    facts: Facts
    seconds: float
    code: int = 0
    reason: str = ""
    message: str = ""
    violations: dict[str, int] = field(default_factory=dict)
    smallest: int | None = None
    faults: tuple[str, ...] = ()
    exits: Counter[str] = field(default_factory=Counter)
    proof: str = ""

    @property
    def crashed(self) -> bool:
        return self.code < 0

    @property
    def broken(self) -> bool:
        """A promise about a written file that it does not keep."""
        small = self.smallest is not None and self.smallest < self.k
        return bool(self.violations or self.faults or small)


def run_pair(seed: int, *, limit: float = LIMIT) -> Outcome:
    """Generate a pair, check its original, mask it, and judge what is written."""
    pair = generate(seed)
    facts = facts_of(pair)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="pairs-") as name:
        folder = Path(name)
        data, rules = pair.write(folder)
        if invalid := violations(rules, data, data):
            raise AssertionError(f"the original of seed {seed} breaks its rules: {invalid}")
        out = folder / "masked.xml"
        try:
            with limited(limit):
                result = masktron.mask(data, rules, out, **masktron_settings(pair))
        except MasktronError as error:
            seconds = time.perf_counter() - start
            code, text = int(error.exit_code), str(error).replace(str(folder), "")
            faults = ("a file in spite of the error",) if out.exists() else ()
            said = error.problem.code
            kinds = {"total": "across-records"}  # one over records, as others are
            reason = (
                kinds.get(error.facts[0].kind, error.facts[0].kind)
                if said in ("rules-not-kept", "steps-break-rules")
                else said
            )
            proof = why_refused(pair, reason, folder)
            return Outcome(seed, pair.n, pair.k, facts, seconds, code, reason, text, faults=faults, proof=proof)
        except (Exception, PairTimeoutError) as error:  # noqa: BLE001 - any other exception is a finding
            seconds = time.perf_counter() - start
            where = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
            text = f"{reason}: {error}"
            return Outcome(seed, pair.n, pair.k, facts, seconds, -1, reason, text)
        seconds = time.perf_counter() - start
        found = violations(rules, out, data)
        before, after = table(data), table(out)
    return Outcome(
        seed, pair.n, pair.k, facts, seconds,
        violations=found,
        smallest=min((smallest_group(after, grouped(block)) for block in result.blocks), default=None),
        faults=_faults(pair, before, after, result),
        exits=sum((Counter(block.exits) for block in result.blocks), Counter()),
    )  # fmt: skip


def run_pairs(seeds: Sequence[int]) -> list[Outcome]:
    """Run pairs in two processes, in the order of their seeds; processes are fresh, since engines keep threads."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        return list(pool.map(run_pair, seeds, chunksize=5))


def masktron_settings(pair: Pair) -> dict[str, Any]:
    """Return the settings as `masktron.mask` takes them."""
    missing = {name: frozenset(codes) for name, codes in pair.settings["missing"].items()}
    # Small files with hard rules: medoids are what the table counts, so the cap on them must not stop a pair.
    # Rules are drawn without looking at the records, so some are tested by none.
    return {**pair.settings, "missing": missing, "max_observed_share": 100.0, "allow_unfired": ["*"]}


def why_refused(pair: Pair, reason: str, folder: Path) -> str:
    """Show without masktron why a pair has to be refused; empty where that cannot be shown.

    It has fewer than k records, or the rule over several records that is the reason reads a masked field, or an
    unmasked field leaves records without company.
    """
    if pair.k > pair.n:
        return f"{pair.n} records for k = {pair.k}"
    if reason == "across-records":
        masked = {variable.name for variable in pair.variables if variable.masked}
        rules = [edit for edit in pair.edits if edit.kind == "cross-record" and masked.intersection(edit.variables)]
        return ", ".join(f"{edit.id} ({edit.label}) reads several records" for edit in rules)
    return lonely(pair, folder) or ""


def grouped(block: BlockResult) -> list[str]:
    """Return the variables that a group shares."""
    return [name for name in block.variables if name not in {solved.field for solved in block.solved}]


def _faults(
    pair: Pair, before: list[dict[str, str | None]], after: list[dict[str, str | None]], result: MaskResult
) -> tuple[str, ...]:
    faults = []
    if len(before) != len(after):
        return (f"{len(after)} of {len(before)} records",)
    if changed(before, after, [v.reference for v in pair.variables if not v.masked]):
        faults.append("an unmasked field changed")
    unmasked = [v.reference for v in pair.variables if not v.masked]
    for block in result.blocks:
        solved = sorted({one.field for one in block.solved})
        if solved and not follow(after, grouped(block), unmasked, solved, pair.k):
            faults.append(f"{', '.join(solved)} does not follow from the other fields")
    if left := {v.reference for v in pair.variables if v.masked} - {n for b in result.blocks for n in b.variables}:
        names = [variable for variable in pair.variables if variable.reference in left and variable.numbers]
        faults += [f"{variable.name} is in no block" for variable in names]
    return tuple(faults)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise in what takes so many seconds of processors, or `_WAITS` times as many of the clock."""

    def stop(_: int, __: FrameType | None) -> None:
        raise PairTimeoutError(f"more than {seconds:g} seconds")

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, 1), (signal.ITIMER_REAL, signal.SIGALRM, _WAITS))
    previous = {number: signal.signal(number, stop) for _, number, _ in timers}
    for timer, _, times in timers:
        # Again and again: where the alarm falls into a callback of an engine, its exception is lost.
        signal.setitimer(timer, times * seconds, 1.0)
    try:
        yield
    finally:
        for timer, number, _ in timers:
            signal.setitimer(timer, 0)
            signal.signal(number, previous[number])


def counted(words: Iterable[str]) -> str:
    """Return words with how often each occurs."""
    return ", ".join(f"{word} {count}" for word, count in Counter(words).most_common())


def summary(outcomes: Sequence[Outcome]) -> str:
    """Say in plain text what came of a set of pairs."""
    exits = sum((one.exits for one in outcomes), Counter[str]())
    refused = [one for one in outcomes if one.code > 0]
    lines = [
        f"pairs     {len(outcomes)}: "
        + counted(name for one in outcomes for name, has in asdict(one.facts).items() if has),
        f"refused   {len(refused)}: " + counted(f"{one.reason} (exit {one.code})" for one in refused),
        f"          {sum(not one.proof for one in refused)} of them not shown to have no solution",
        f"crashes   {sum(one.crashed for one in outcomes)}",
        f"broken    {sum(one.broken for one in outcomes)}",
        f"groups    {exits.total()}: " + counted(exits.elements()),
        f"seconds   {sum(one.seconds for one in outcomes):.1f}, at most {max(one.seconds for one in outcomes):.1f}",
    ]
    for one in outcomes:
        small = one.smallest is not None and one.smallest < one.k
        found = [f"{name} broken {count} times" for name, count in one.violations.items()] + list(one.faults)
        found += [f"a group of {one.smallest} for k = {one.k}"] if small else []
        found += [f"exit {one.code}, n = {one.n}, k = {one.k}: {one.message}", one.proof] if one.code else []
        lines += [f"seed {one.seed}: {'; '.join(found)}"] if found else []
    return "\n".join(lines)


def medoid_share(outcomes: Sequence[Outcome]) -> float:
    """Return the share of groups that took a record's values."""
    exits = sum((one.exits for one in outcomes), Counter[str]())
    return exits["medoid"] / max(1, exits.total())
