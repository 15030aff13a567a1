"""Many seeds, in several processes: compared and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from traceback import format_exc

from differential.compare import Disagreement, run_case
from differential.coverage import Coverage, coverage, merged
from differential.generate import generate

ENDED = "ended by an exception"


@dataclass(slots=True)
class Part:
    """What came of one seed."""

    seed: int
    checks: int
    columns: bool
    refused: Counter[str]
    disagreements: list[Disagreement]
    coverage: Coverage


@dataclass(slots=True)
class Summary:
    """What came of all seeds."""

    parts: list[Part] = field(default_factory=list)

    @property
    def checks(self) -> int:
        """Checks on one file each, compared in every way."""
        return sum(part.checks for part in self.parts)

    @property
    def coverage(self) -> Coverage:
        """The sum over the seeds."""
        return merged(part.coverage for part in self.parts)

    @property
    def unrecorded(self) -> list[Disagreement]:
        """Disagreements that no deviation explains."""
        return [d for part in self.parts for d in part.disagreements if not d.deviation]

    def text(self) -> str:
        """Return all that as markdown."""
        flat = sum(part.columns for part in self.parts)
        known = Counter(d.deviation for part in self.parts for d in part.disagreements if d.deviation)
        new = Counter((d.first, d.second) for d in self.unrecorded)
        refused = sum((part.refused for part in self.parts), Counter[str]())
        lines = [
            f"{self.checks:,} checks on {len(self.parts):,} files, {flat:,} of them flat; "
            f"{len(self.unrecorded)} disagreements that are not recorded.",
            "",
            *(f"- not recorded: {one}, {other}, {count:,} checks" for (one, other), count in new.most_common()),
            *(f"- recorded: {name}, {count:,} checks" for name, count in known.most_common()),
            *(f"- not compared, since no engine takes it: {why}, {count:,}" for why, count in refused.most_common()),
        ]
        for d in self.unrecorded[:20]:
            lines += ["", f"seed {d.seed}, {d.check}: {d.first} and {d.second} on `{d.test}` at `{d.context}`"]
            lines += [f"    {said}"[:400] for said in d.said if said]
        return "\n".join(lines) + "\n"


def one(seed: int) -> Part:
    """Compare the case of a seed; what ends it is a disagreement, which no deviation explains."""
    try:
        case, found = run_case(generate(seed))
    except Exception:  # noqa: BLE001 - the other seeds go on, and not every exception comes out of a process
        ended = Disagreement(seed, "", "", "", ENDED, ENDED, ("", format_exc(limit=-1)), "")
        return Part(seed, 0, columns=False, refused=Counter(), disagreements=[ended], coverage={})
    covered = coverage(case, found.told, found.decided, columns=found.columns)
    return Part(seed, found.checks, found.columns, found.refused, found.disagreements, covered)


def parts(seeds: Sequence[int], *, jobs: int = 1) -> Iterator[Part]:
    """Yield what came of each seed, in their order; processes are fresh, since engines keep threads."""
    if jobs == 1:
        yield from map(one, seeds)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(one, seeds)
        finally:
            # also where nobody waits for the rest
            pool.shutdown(wait=False, cancel_futures=True)


def run(seeds: Sequence[int], *, jobs: int = 1) -> Summary:
    """Compare the cases of seeds."""
    return Summary(list(parts(seeds, jobs=jobs)))
