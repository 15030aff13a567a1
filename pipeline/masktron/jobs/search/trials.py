"""One run of `tune`, from the file to the map: candidates are tried as the budget allows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.counts import counted
from masktron.figures import NAMES
from masktron.jobs.keys_known import refuse_limits_without_keys
from masktron.jobs.mask_result import unasked_figures
from masktron.jobs.run import Run
from masktron.jobs.search import FOLDER, sampling
from masktron.jobs.search.asked import TuneSettings
from masktron.jobs.search.bench import Attempt, Bench, TuneOutcome
from masktron.jobs.search.choosing import Recommendation, broken_limits, choose_candidate, finalists, near_unmasked
from masktron.jobs.search.helper import Helper, HelperFile, HelperSetup, helpers_of
from masktron.jobs.search.outcomes import KeptOutcomes
from masktron.jobs.search.schedule import BudgetOver, Deadline, Durations, WorkerProcesses
from masktron.kernels.cores import usable_cores
from masktron.problems.problem import Note, Sentence
from masktron.progress import Progress, expect, no_progress
from masktron.results import SpreadResult, TuneCandidate, TuneResult, shown
from masktron.results.tune import TuneState, worst_protection
from masktron.write.manifest import write_json

_UNREACHED = "not reached within the budget"
_NOT_YET = "not tried so far"


@dataclass(frozen=True, slots=True)
class TuneRecords:
    """How many records candidates are tried on.

    Attributes
    ----------
    all : int
    sample : int or None
        None where all are compared at once.
    """

    all: int
    sample: int | None = None


@dataclass(slots=True)
class TriedCandidate:
    """What is known of a candidate."""

    candidate: TuneCandidate
    refusal: TuneOutcome | None = None
    same_as: int | None = None
    runs: dict[bool, dict[int, TuneOutcome]] = field(default_factory=lambda: {True: {}, False: {}})

    @property
    def open(self) -> bool:
        """Whether it is to be run."""
        return self.refusal is None and self.same_as is None

    def outcomes(self, whole: bool) -> list[TuneOutcome]:
        """Return what came of its runs, on all records or on the sample, by their seeds."""
        return [self.runs[whole][seed] for seed in sorted(self.runs[whole])]

    def told(self, records: TuneRecords, limits: Mapping[str, float], *, over: bool) -> TuneCandidate:
        """Return it as it stands on the map.

        Parameters
        ----------
        records : TuneRecords
        limits : mapping of str to float
        over : bool
            Whether nothing will be tried any more.
        """
        made = self.candidate
        if self.refusal is not None:
            return replace(made, state=_refused_state([self.refusal]), reasons=(self.refusal.refused,))
        if self.same_as is not None:
            reasons = (f"the same as candidate {self.same_as} here",)
            return replace(made, state="same", same_as=self.same_as, reasons=reasons)
        whole = bool(self.runs[True]) or records.sample is None
        runs = self.outcomes(whole)
        if refused := [one for one in runs if one.refused]:
            share = f"in {len(refused)} of {len(runs)} runs: " if len(runs) > 1 else ""
            return replace(
                made,
                state=_refused_state(refused),
                reasons=(Note("{share}{why}", share=share, why=refused[0].refused),),
            )
        if not runs:
            return replace(made, state="unreached", reasons=(_UNREACHED if over else _NOT_YET,))
        return _measured(
            replace(
                made,
                state="measured" if whole else "sampled",
                records=records.all if whole or records.sample is None else records.sample,
            ),
            runs,
            limits,
        )


def _measured(made: TuneCandidate, runs: Sequence[TuneOutcome], limits: Mapping[str, float]) -> TuneCandidate:
    """Return a candidate with the figures of its runs."""
    spread = {name: _spread_of(runs, name) for name in runs[0].figures}
    broken = broken_limits(spread, limits)
    return replace(
        made,
        seeds=len(runs),
        figures={name: math.fsum(one.figures[name][0] for one in runs) / len(runs) for name in spread},
        spread=spread,
        protection=worst_protection(one.protection for one in runs),
        within_limits=not broken,
        reasons=(*broken, *near_unmasked({name: own.most for name, own in spread.items()})),
        concerns=max((one.concerns for one in runs), key=len),
        levels={
            level: {name: math.fsum(one.levels[level][name] for one in runs) / len(runs) for name in own}
            for level, own in runs[0].levels.items()
            if all(level in one.levels and own.keys() <= one.levels[level].keys() for one in runs)
        },
    )


def _refused_state(refused: Sequence[TuneOutcome]) -> TuneState:
    """Return the state of a candidate with refusals: ended where another run of each may get further."""
    return "ended" if all(one.ended for one in refused) else "refused"


def _spread_of(runs: Sequence[TuneOutcome], name: str) -> SpreadResult:
    values = [one.figures[name][0] for one in runs]
    return SpreadResult(min(values), max(values), runs[0].figures[name][1])


_BETWEEN = 1.0
"""Seconds between two maps of a run that goes on, at least."""
_COST = 9.0
"""The same, as a multiple of what writing the last one took."""


class MapSoFar:
    """Passes on the map of a run that goes on, not more often than pays."""

    def __init__(self, path: Path | None, heard: Callable[[TuneResult], None] | None) -> None:
        self._path, self._heard = path, heard
        self._next = -math.inf

    def tell(self, made: Callable[[], TuneResult]) -> None:
        """Write the map, and hand it on, unless that was done a moment ago."""
        began = time.monotonic()
        if began < self._next:
            return
        result = made()
        if self._path is not None:
            write_json(self._path, result.for_reader())
        if self._heard is not None:
            self._heard(result)
        now = time.monotonic()
        self._next = now + max(_BETWEEN, _COST * (now - began))


_UNWRITTEN = (
    "candidates are masked in memory: mask also has the written file judged by engines that are not ours, and may "
    "refuse what stands here"
)
_SAMPLED = (
    "compared on a sample of {sample:,} of {n:,} records, drawn with a fixed seed: whole strata (records that "
    "miss the same values and satisfy the same rules), and whole neighbourhoods of those that are too large. A "
    "sample makes linkage look higher, as there are fewer others to take somebody for, and pil lower, as luck "
    "plays a larger part; it may miss rare strata, and a limit that is nearly met on it may be broken on all. So "
    "only candidates that were run on all records are recommended"
)
_DRAWN = (
    "methods that draw were run with {seeds}. A release has a key of its own, and so other figures: do not draw "
    "again until they please, since a lucky draw is lucky in the figures alone"
)
_PERTURBED = (
    "figures take values that are drawn anew, and regions that are swapped, as true: they count what a draw loses, "
    "and not what it hides, so that the map speaks against drawing. Say in the settings how much is to be drawn, "
    "or take a candidate by what is said of its draws"
)


def original_notes(original: Run) -> Iterator[Sentence]:
    """Say what was left out of the original, and how it was understood."""
    yield from map(original.names.sentence, original.notes)
    gone = len(original.records) - len(original.kept)
    if gone:
        breaking = counted(gone, "record that breaks a rule is", "records that break a rule are")
        yield f"{breaking} left out, as mask leaves them out"
    yield from original.originals.notes
    yield _UNWRITTEN


def measured_notes(
    tried: Sequence[TriedCandidate], candidates: Sequence[TuneCandidate], asked: TuneSettings, records: TuneRecords
) -> Iterator[Sentence]:
    """Say how candidates were compared, and what their draws leave open."""
    yield from asked.wider
    if records.sample is not None:
        yield _SAMPLED.format(sample=records.sample, n=records.all)
    measured = [one for one in candidates if one.seeds]
    if any(one.differs for one in measured):
        seeds = (
            "one seed that everybody knows"
            if asked.seeds == 1
            else f"up to {asked.seeds} seeds that everybody knows: loss is their mean, limits have to hold in all"
        )
        yield _DRAWN.format(seeds=seeds)
    if any(one.treatment.perturbs for one in measured):
        yield _PERTURBED
    runs = [run for one in tried for whole in (True, False) for run in one.outcomes(whole)]
    yield from dict.fromkeys(note for run in runs for note in run.given_away)


def missed_note(candidates: Sequence[TuneCandidate], budget: float, *, over: bool, keeps: bool) -> Iterator[str]:
    """Say how many candidates were not reached.

    Parameters
    ----------
    candidates : sequence of TuneCandidate
    budget : float
    over : bool
        Whether nothing will be tried any more.
    keeps : bool
        Whether there is a folder for results.
    """
    missed = sum(one.state == "unreached" for one in candidates)
    if missed and not over:
        yield (
            f"so far: {missed} of {len(candidates)} candidates were not tried as yet; the run goes on, or was "
            "interrupted: the same command goes on from here then"
        )
    elif missed:
        another = "another run" if keeps else "with a folder for results, another run"
        yield (
            f"the budget of {budget:g} s ended before {missed} of {len(candidates)} candidates; {another} goes on "
            "where this one stopped"
        )


_PLANNING = "planning candidates"


def kinds_masked(original: Run) -> dict[str, bool]:
    """Tell whether numbers are masked, and categories."""
    numeric = {fact.numeric for fact in original.fields if fact.role is Role.CONFIDENTIAL}
    return {"numbers": True in numeric, "categories": False in numeric}


def _axes(asked: TuneSettings, found: Sequence[TuneCandidate], *, numbers: bool) -> tuple[str, str]:
    """Return the figures of risk and loss; where keys are treated, what they tell and lose counts as well."""
    treats = any(not one.treatment.is_none for one in found)
    if numbers:
        usual = ("joint_risk", "joint_loss") if treats else ("disclosure_risk", "pil")
    else:
        usual = ("global_risk", "key_loss") if treats else ("unchanged", "category_change")
    return asked.risk or usual[0], asked.utility or usual[1]


class Trials:
    """One run, from the file to the result."""

    def __init__(
        self,
        original: Run,
        bench: Bench,
        asked: TuneSettings,
        found: Sequence[TuneCandidate],
        deadline: Deadline,
        helpers: list[Helper],
        file: HelperFile,
        out: Path | None,
        kept: Callable[[], object] | None,
        progress: Progress,
        told: MapSoFar,
    ) -> None:
        self._told, self._over, self._cut = told, False, False
        self._original, self._asked, self._deadline, self._progress = original, asked, deadline, progress
        self._limits = original.config.limits
        self._n = len(original.kept)
        self._risk, self._utility = _axes(asked, found, numbers=kinds_masked(original)["numbers"])
        keys = original.keys
        refuse_limits_without_keys((*self._limits, self._risk), keys)
        wanted = {*unasked_figures(self._n, self._limits, keys=bool(keys.names)), self._risk, self._utility}
        if any(not one.treatment.is_none for one in found):
            wanted |= {"global_risk", "key_loss"}
        names = tuple(name for name in NAMES if name in wanted)
        self._tried = [TriedCandidate(one) for one in found]
        threads = max(1, usable_cores() // max(1, len(helpers)))
        self._bench = bench
        bench.names, bench.threads = names, threads
        self._require_treatable()
        self._look()
        bench.sample, self._units = self._drawn()
        self._sample = bench.sample
        self._file, self._setup = file, HelperSetup(original.job.source.digest, names, self._sample, threads)
        for helper in helpers:
            helper.set_up(self._setup)
        self._records = TuneRecords(self._n, None if self._sample is None else len(self._sample))
        durations = {True: self._n} | ({} if self._records.sample is None else {False: self._records.sample})
        self._durations = Durations(durations)
        self._original_figures: dict[str, float] = {}
        self._folder = None if out is None else out / FOLDER
        self._is_kept = kept or _nobody
        self._kept = KeptOutcomes(self._folder, original, names, "" if self._sample is None else self._units)
        self._processes = WorkerProcesses(
            self._bench, helpers, self._again, deadline, self._durations, self._found, progress
        )

    def _require_treatable(self) -> None:
        """Refuse a treatment that all candidates share as `mask` refuses it."""
        first, *others = (tried.candidate.settings for tried in self._tried)
        if len({self._bench.records_of(one, 0) for one in (first, *others)}) == 1:
            with suppress(BudgetOver):
                self._bench.treat(first, progress=self._deadline.watching(self._progress))

    def _look(self) -> None:
        """Find out which candidates are refused before anything is masked, and which are the same."""
        expect(self._progress, _PLANNING, len(self._tried), "candidates")
        watched = self._deadline.watching(no_progress)
        known: dict[object, int] = {}
        for at, tried in enumerate(self._tried):
            if self._deadline.left < 0:
                return  # nothing will be run any more
            self._progress(_PLANNING, at)
            one = tried.candidate
            try:
                shape, tried.refusal = self._bench.shape(one.settings, watched)
            except BudgetOver:
                return
            if tried.refusal or one.draws:
                continue
            same = one.method, one.k, str(one.params), self._bench.records_of(one.settings, 0), shape
            tried.same_as = known.setdefault(same, at)
            if tried.same_as == at:
                tried.same_as = None
        self._progress(_PLANNING, len(self._tried))

    def _drawn(self) -> tuple[NDArray[np.intp] | None, str]:
        """Draw the sample, where there is to be one; and what decides it, in words."""
        size = self._asked.sample
        few = self._n <= (sampling.FROM if size is None else size)
        first = next((tried.candidate for tried in self._tried if tried.open), None)
        if few or size == 0 or first is None or self._deadline.left < 0:
            return None, ""
        run = self._bench.prepared(first.settings)
        if run.plan.over_file:  # a total of all records is none of some
            return None, ""
        self._progress("drawing a sample", 0)
        most = max(tried.candidate.k for tried in self._tried)
        size = size or sampling.RECORDS
        return sampling.sample_of(run, size, most), f"{size} {most}"

    def _again(self) -> Helper | None:
        """Start a helper in the place of one that was lost."""
        for helper in helpers_of(1, self._file):
            helper.set_up(self._setup)
            return helper
        return None

    def _found(self, attempt: Attempt, outcome: TuneOutcome) -> None:
        if self._kept.keep(attempt, outcome):
            self._is_kept()
        self._tried[attempt.position].runs[attempt.whole][attempt.seed] = outcome
        self._told.tell(self._map)

    def result(self) -> TuneResult:
        """Try what fits into the budget, and choose."""
        everything = [at for at, tried in enumerate(self._tried) if tried.open]
        if self._sample is None:
            self._try(everything, whole=True)
        else:
            self._try(everything, whole=False, seeds=1)
            self._measure_best()
        self._unmasked()
        self._over = True
        return self._map()

    def _map(self) -> TuneResult:
        """Return what is known now."""
        candidates = self._candidates()
        choice = self._choice(candidates)
        return TuneResult(
            data=shown(self._original.job.source.path),
            rules=shown(self._original.job.rulebook.path),
            records=self._n,
            sample=self._records.sample,
            risk=self._risk,
            utility=self._utility,
            limits=dict(self._limits),
            candidates=candidates,
            front=choice.front,
            recommended=choice.recommended,
            why=choice.why,
            unmasked=self._original_figures,
            seeds=self._asked.seeds,
            notes=tuple(self._notes(candidates)),
        )

    def _measure_best(self) -> None:
        """Run on all records those that the sample has found best, and more while none of them keeps the limits.

        Other seeds are for the one that would be recommended: it has to be so with all of them.
        """
        done: set[int] = set()
        while not self._cut:
            candidates = self._candidates()
            best = finalists(candidates, self._risk, self._utility, self._limits, again=bool(done))
            fresh = [at for at in best if at not in done]
            if not fresh:
                return
            self._try(fresh, whole=True, seeds=1)
            done.update(fresh)
            if self._steady():
                return

    def _steady(self) -> bool:
        """Run the best candidate with the other seeds; tell whether there is one in the end."""
        tried: set[int] = set()
        while True:
            found = self._choice(self._candidates()).best
            if found is None or found in tried:
                return found is not None
            self._try([found], whole=True)
            tried.add(found)

    def _choice(self, candidates: Sequence[TuneCandidate]) -> Recommendation:
        finished = self._over and not self._cut
        return choose_candidate(candidates, self._risk, self._utility, self._limits, finished=finished)

    def _unmasked(self) -> dict[str, float]:
        if not self._original_figures and self._deadline.left > 0:
            self._original_figures = self._bench.unmasked([self._risk, self._utility])
        return self._original_figures

    def _try(self, positions: Iterable[int], *, whole: bool, seeds: int | None = None) -> None:
        """Run candidates: all with the first seed, then those that draw with others."""
        most = self._asked.seeds if seeds is None else seeds
        chosen = [(at, self._tried[at].candidate) for at in positions]
        attempts = [
            Attempt(at, one.settings, seed, whole)
            for seed in range(most)
            for at, one in chosen
            if seed == 0 or one.differs
        ]
        waiting = []
        for attempt in attempts:
            known = self._kept.find(attempt)
            if known is None:
                waiting.append(attempt)
            else:
                self._is_kept()
                self._tried[attempt.position].runs[whole][attempt.seed] = known
                if not known.refused:
                    self._durations.took(attempt, known.seconds)
        if waiting:
            self._processes.work(waiting, self._unmasked)
        self._cut |= any(one.seed not in self._tried[one.position].runs[whole] for one in waiting)

    def _candidates(self) -> tuple[TuneCandidate, ...]:
        return tuple(one.told(self._records, self._limits, over=self._over) for one in self._tried)

    def _notes(self, candidates: Sequence[TuneCandidate]) -> Iterator[Sentence]:
        keeps = self._folder is not None
        yield from original_notes(self._original)
        yield from measured_notes(self._tried, candidates, self._asked, self._records)
        yield from missed_note(candidates, self._asked.budget, over=self._over, keeps=keeps)


def _nobody() -> None:
    """Tell nobody of a result that is kept."""
