"""Many seeds, in several processes: compared, counted, and what is not explained made small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from traceback import format_exc

from differential.case import Case
from differential.compare import Compared, Disagreement, run_case
from differential.conformance import Conformance, Expected, text
from differential.coverage import Coverage, coverage, merged, table
from differential.generate import generate
from differential.log import Log, Part
from differential.shrink import only, shrink

ENDED = "ended by an exception"

type Progress = Callable[[Summary], None]


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

    def text(self, *, with_table: bool = True) -> str:
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
        if with_table:
            lines += ["", table(self.coverage)]
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


def run(seeds: Sequence[int], *, jobs: int = 1, log: Log | None = None, progress: Progress | None = None) -> Summary:
    """Compare the cases of seeds.

    Parameters
    ----------
    seeds : sequence of int
    jobs : int
        Number of processes.
    log : Log, optional
        Where each seed is written when it is done; what it has of the seeds is not done again.
    progress : callable, optional
        Called with the summary so far after each seed. What it has is what there is when the run is cut.
    """
    known = log.read() if log is not None else {}
    summary = Summary([known[seed] for seed in seeds if seed in known])
    with closing(parts([seed for seed in seeds if seed not in known], jobs=jobs)) as found:
        for part in found:
            if log is not None:
                log.add(part)
            summary.parts.append(part)
            if progress is not None:
                progress(summary)
    summary.parts.sort(key=lambda part: part.seed)
    return summary


def smallest(found: Disagreement, *, seconds: float = 60) -> tuple[Case, Compared]:
    """Return the smallest case in which the same two ways disagree, unrecorded, and what is found there."""

    def disagrees(case: Case) -> bool:
        return any((d.first, d.second) == (found.first, found.second) for d in run_case(case)[1].unrecorded)

    case = run_case(generate(found.seed))[0]
    alone = only(case, {found.check})
    return run_case(shrink(alone if found.check and disagrees(alone) else case, disagrees, seconds=seconds))


def save(found: Disagreement, folder: Path, *, seconds: float = 60) -> Path:
    """Write the smallest case as a conformance case that expects what the independent oracle says."""
    case, compared = smallest(found, seconds=seconds)
    says = (
        f"{found.first} and {found.second} disagreed. Made small from `{found.test}` of seed {found.seed}; "
        "expected is what the oracle says."
    )
    expected = tuple(Expected.of(check, told) for check, told in compared.oracle.items())
    made = Conformance(f"seed-{found.seed}", case.version, says, case.rulebook, case.table.document, expected)
    path = folder / f"{made.name}.xml"
    path.write_text(text(made, case.table.encoding, mark=case.table.mark), encoding="utf-8")
    return path
