"""One pair through masktron, and what came of it."""

from __future__ import annotations

import re
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import masktron
from masktron import MaskResult, MasktronError
from masktron.results import BlockResult
from pairs.facts import Facts, blocks, facts_of
from pairs.generate import Pair, generate
from pairs.judge import changed, follow, smallest_group, table, violations
from pairs.proof import lonely
from pairs.switches import Part, without

LIMIT = 60.0
"""Seconds of processors after which a pair counts as crashed."""
_WAITS = 10
"""How much longer a machine with much else to do may take for it."""

_REASONS: tuple[tuple[str, str], ...] = (
    (r"cannot form a group of k", "k > n"),
    (r"looks at several records at once", "cross-record"),
    (r"satisfies the rules with the unmasked", "fixed field"),
    (r"the masked file would break", "broken in the end"),
    (r"no value for .* satisfies the rules", "no candidate"),
    (r"no aggregator keeps", "no aggregator"),
)


class PairTimeoutError(BaseException):
    """A pair took too long; nothing below may catch it."""


@dataclass(frozen=True, slots=True)
class BlockOutcome:
    """A block that masktron made: its aggregator, the labels of its rules, how its groups were settled.

    ``obstacles`` are the rules that masktron names as the reason against other aggregators.
    """

    aggregator: str
    labels: tuple[str, ...]
    exits: dict[str, int]
    obstacles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a pair.

    Attributes
    ----------
    code : int
        Exit code; -1 for a crash.
    reason : str
        Why nothing was written, in a word; the whole message is `message`.
    violations : dict of str to int
        By check, as `pairs.judge` counts them in the written file.
    smallest : int or None
        Smallest group over all blocks, counted in the written file.
    faults : tuple of str
        What else is wrong with the written file.
    labels : tuple of str
        Of the pair's rules, those that share a block joined.
    proof : str
        Why a refused pair has no solution, as `why_refused` shows it; empty where it does not.
    """

    seed: int
    n: int
    k: int
    facts: Facts
    labels: tuple[str, ...]
    seconds: float
    code: int = 0
    reason: str = ""
    message: str = ""
    violations: dict[str, int] = field(default_factory=dict)
    smallest: int | None = None
    faults: tuple[str, ...] = ()
    blocks: tuple[BlockOutcome, ...] = ()
    proof: str = ""

    @property
    def crashed(self) -> bool:
        return self.code < 0

    @property
    def broken(self) -> bool:
        """A promise about a written file that it does not keep."""
        small = self.smallest is not None and self.smallest < self.k
        return bool(self.violations or self.faults or small)

    @property
    def exits(self) -> Counter[str]:
        """Groups of all blocks by how they were settled."""
        return sum((Counter(block.exits) for block in self.blocks), Counter())


def run_pair(seed: int, parts: Collection[Part] = (), *, limit: float = LIMIT) -> Outcome:
    """Generate a pair, check its original, mask it, without some parts if asked to, and judge what is written."""
    pair = generate(seed)
    facts, labels = facts_of(pair), combinations(pair)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="pairs-") as name:
        folder = Path(name)
        data, rules = pair.write(folder)
        if invalid := violations(rules, data, data):
            raise AssertionError(f"the original of seed {seed} breaks its rules: {invalid}")
        out = folder / "masked.xml"
        try:
            with limited(limit), without(parts):
                result = masktron.mask(data, rules, out, **masktron_settings(pair))
        except MasktronError as error:
            seconds = time.perf_counter() - start
            code, text = int(error.exit_code), str(error).replace(str(folder), "")
            faults = ("a file in spite of the error",) if out.exists() else ()
            reason = reason_of(text)
            proof = "" if parts else why_refused(pair, reason, folder)
            return Outcome(
                seed, pair.n, pair.k, facts, labels, seconds, code, reason, text, faults=faults, proof=proof
            )
        except (Exception, PairTimeoutError) as error:  # noqa: BLE001 - any other exception is a finding
            seconds = time.perf_counter() - start
            where = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
            text = f"{reason}: {error}"
            return Outcome(seed, pair.n, pair.k, facts, labels, seconds, -1, reason, text)
        seconds = time.perf_counter() - start
        found = violations(rules, out, data)
        before, after = table(data), table(out)
    return Outcome(
        seed, pair.n, pair.k, facts, labels, seconds,
        violations=found,
        smallest=min((smallest_group(after, grouped(block)) for block in result.blocks), default=None),
        faults=_faults(pair, before, after, result),
        blocks=tuple(_block(pair, block) for block in result.blocks),
    )  # fmt: skip


def masktron_settings(pair: Pair) -> dict[str, Any]:
    """Return the settings as `masktron.mask` takes them."""
    missing = {name: frozenset(codes) for name, codes in pair.settings["missing"].items()}
    # Small files with hard rules: medoids are what the table counts, so the cap on them must not stop a pair.
    # Rules are drawn without looking at the records, so some are tested by none.
    return {**pair.settings, "missing": missing, "max_observed_share": 100.0, "allow_unfired": ["*"]}


def combinations(pair: Pair) -> tuple[str, ...]:
    """Return the labels of the rules of each block."""
    masked = {variable.name for variable in pair.variables if variable.masked}
    own = [edit for edit in pair.edits if masked.intersection(edit.variables) and edit.kind != "cross-record"]
    return tuple(" + ".join(sorted({edit.label for edit in block})) for block in blocks(own, masked))


def reason_of(message: str) -> str:
    """Name what a message says in a word."""
    for pattern, reason in _REASONS:
        if re.search(pattern, message):
            return reason
    return re.sub(r"V?[0-9]+", "#", message.splitlines()[0])[:70]


def why_refused(pair: Pair, reason: str, folder: Path) -> str:
    """Show without masktron why a pair has to be refused; empty where that cannot be shown.

    It has fewer than k records, or the rule over several records that is the reason reads a masked field, or an
    unmasked field leaves records without company.
    """
    if pair.k > pair.n:
        return f"{pair.n} records for k = {pair.k}"
    if reason == "cross-record":
        masked = {variable.name for variable in pair.variables if variable.masked}
        rules = [edit for edit in pair.edits if edit.kind == "cross-record" and masked.intersection(edit.variables)]
        return ", ".join(f"{edit.id} ({edit.label}) reads several records" for edit in rules)
    return lonely(pair, folder) or ""


def grouped(block: BlockResult) -> list[str]:
    """Return the variables that a group shares."""
    return [name for name in block.variables if name not in {solved.field for solved in block.solved}]


def _block(pair: Pair, block: BlockResult) -> BlockOutcome:
    aggregator, rules, reason, exits = block.aggregator, block.rules, block.reason, dict(block.exits)
    labels = {edit.id: edit.label for edit in pair.edits}
    obstacles = tuple(
        f"{name}: {labels[rule.removesuffix('-else')]}"
        for name, rule in re.findall(r"(\w+) would break ([\w-]+)", reason)
        if rule.removesuffix("-else") in labels
    )
    own = tuple(sorted({labels[rule.removesuffix("-else")] for rule in rules}))
    return BlockOutcome(aggregator, own, exits, obstacles + (("needs numbers",) if "needs numbers" in reason else ()))


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
