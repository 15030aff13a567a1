"""Try candidates on a file, and recommend one: `masktron tune`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.addresses import AddressPath
from masktron.config import Config, Role
from masktron.counts import counted
from masktron.errors import DocumentError, ResourceError, UsageError
from masktron.figures import NAMES
from masktron.hierarchies import read_hierarchy
from masktron.jobs.keys_known import keys_of_run, refuse_limits_without_keys
from masktron.jobs.limits import refuse_class_limits
from masktron.jobs.mask_result import unasked_figures
from masktron.jobs.ordering import identifying
from masktron.jobs.prepared import Opened, open_original
from masktron.jobs.tune import FOLDER, RESULT, sampling
from masktron.jobs.tune.asked import TuneSettings, hierarchies_in
from masktron.jobs.tune.bench import Attempt, Bench, TuneOutcome
from masktron.jobs.tune.choosing import Recommendation, broken_limits, choose_candidate, finalists
from masktron.jobs.tune.helper import Helper, HelperFile, HelperSetup, helpers_of
from masktron.jobs.tune.outcomes import KeptOutcomes
from masktron.jobs.tune.recipes import TuneRecipe, position_of, recipes, with_keys
from masktron.jobs.tune.schedule import BudgetOver, Deadline, Durations, WorkerProcesses
from masktron.kernels.cores import usable_cores
from masktron.progress import Progress, expect, no_progress
from masktron.results import SpreadResult, TuneCandidate, TuneResult, shown
from masktron.results.tune import TuneState
from masktron.scratch import folder_on_disk, remove_abandoned
from masktron.sources.frame_path import FramePath
from masktron.write.manifest import write_json

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
_BETWEEN = 1.0
"""Seconds between two maps of a run that goes on, at least."""
_COST = 9.0
"""The same, as a multiple of what writing the last one took."""
_PLANNING = "planning candidates"
_UNREACHED = "not reached within the budget"
_NOT_YET = "not tried so far"
_MOST_WORKERS = 4
"""Each holds the file in memory."""


def run_tune(
    data: Path,
    rules: Path,
    out: Path | None = None,
    *,
    config: Config | None = None,
    asked: TuneSettings | None = None,
    candidate: int | TuneRecipe | None = None,
    begun: float | None = None,
    kept: Callable[[], object] | None = None,
    progress: Progress = no_progress,
    so_far: Callable[[TuneResult], None] | None = None,
) -> TuneResult:
    """Mask a file in several ways, in memory, and compare risk and utility.

    Parameters
    ----------
    data, rules : Path
    out : Path, optional
        Folder of the result and of what a run that goes on finds; it is made where it is not there. None keeps
        nothing.
    config : Config, optional
        As for `mask`; each candidate changes method, parameters, aggregator, k and grouping.
    asked : TuneSettings, optional
    candidate : int or TuneRecipe, optional
        A candidate that there has to be, by its position or as it is.
    begun : float, optional
        When the budget began, by `time.monotonic`; now when not given.
    kept : callable, optional
        Called for each result of this run that is in the folder, from which the next run goes on.
    progress : callable
    so_far : callable, optional
        Takes the map as it is now and then while candidates are tried; what it takes costs a tenth of the time at
        most. The folder has it as well.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InvalidOriginalError
        What is given cannot be masked, whatever the method; or there is no such candidate.
    ResourceError
        The budget ended before anything could be tried.
    """
    begun = time.monotonic() if begun is None else begun
    config, asked = config or Config(), asked or TuneSettings()
    refuse_class_limits(config.limits)
    if config.pram or config.swap:
        raise UsageError(
            "tune compares methods and treatments that recode or suppress, and the settings draw or swap fields",
            hint="leave [pram] and [swap] out of the settings that tune reads, and give them to mask",
        )
    config = with_keys(config, {name: ways[0] for name, ways in asked.recode.items()})
    for name, how in hierarchies_in(config, asked):
        read_hierarchy(how.path, name).recoding(how.level)
    if config.key is not None or config.seed is not None:
        raise UsageError(
            "tune takes no key and no seed: its random numbers are known to everybody, those of a release to nobody",
            hint="leave them out; --seeds says how many runs there are of what draws",
        )
    if asked.methods:  # then they are known, whatever the file holds
        _require_there(candidate, recipes(config, asked, numbers=True, categories=True))
    if out is not None:
        _make_folder(out)
    deadline = Deadline(asked.budget, begun)
    file = HelperFile(data, rules, config)
    helpers = helpers_of(_workers(asked, config, data), file)
    try:
        try:
            original = open_original(data, rules, config, deadline.watching(progress))
        except BudgetOver:
            raise ResourceError(
                "the budget ended before the file was read", where=str(data), hint="give more: --budget 10m"
            ) from None
        told = _SoFar(None if out is None else out / RESULT, so_far)
        found = recipes(original.config, asked, **_kinds(original))
        _require_there(candidate, found)
        with Bench(original, ()) as bench:
            tuning = _Tuning(original, bench, asked, found, deadline, helpers, file, out, kept, progress, told)
            result = tuning.result()
    finally:
        for helper in helpers:
            helper.close()
        if config.recode or config.key_k is not None or asked.recode or asked.key_k:
            remove_abandoned(folder_on_disk()[0], folders=True)  # treated files of helpers that were killed
    if out is not None:
        write_json(out / RESULT, result.as_dict())
    return result


class _SoFar:
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
            write_json(self._path, result.as_dict())
        if self._heard is not None:
            self._heard(result)
        now = time.monotonic()
        self._next = now + max(_BETWEEN, _COST * (now - began))


def _require_there(candidate: int | TuneRecipe | None, found: Sequence[TuneRecipe]) -> None:
    if candidate is not None:
        position_of(candidate, found)


def _kinds(original: Opened) -> dict[str, bool]:
    """Tell whether numbers are masked, and categories."""
    numeric = {fact.numeric for fact in original.fields if fact.role is Role.CONFIDENTIAL}
    return {"numbers": True in numeric, "categories": False in numeric}


def _axes(asked: TuneSettings, found: Sequence[TuneRecipe], *, numbers: bool) -> tuple[str, str]:
    """Return the figures of risk and loss; where keys are treated, what they tell and lose counts as well."""
    treats = any(one.treats for one in found)
    if numbers:
        usual = ("joint_risk", "joint_loss") if treats else ("disclosure_risk", "pil")
    else:
        usual = ("global_risk", "key_loss") if treats else ("unchanged", "category_change")
    return asked.risk or usual[0], asked.utility or usual[1]


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        raise UsageError("the folder of --out does not exist", where=str(out.parent), hint="create it") from None
    except OSError as error:
        raise DocumentError(f"cannot make the folder: {error.strerror}", where=str(out)) from error


def _workers(asked: TuneSettings, config: Config, data: Path) -> int:
    """Return how many processes try candidates; none where what is read is no file, which another could read."""
    if isinstance(data, AddressPath | FramePath):
        return 0
    if asked.workers is not None:
        return asked.workers
    return config.workers or min(usable_cores(), _MOST_WORKERS)


@dataclass(slots=True)
class _Tried:
    """What is known of a candidate."""

    recipe: TuneRecipe
    refusal: TuneOutcome | None = None
    same_as: int | None = None
    runs: dict[bool, dict[int, TuneOutcome]] = field(default_factory=lambda: {True: {}, False: {}})

    @property
    def open(self) -> bool:
        """Whether it is to be run."""
        return self.refusal is None and self.same_as is None


class _Tuning:
    """One run, from the file to the result."""

    def __init__(
        self,
        original: Opened,
        bench: Bench,
        asked: TuneSettings,
        found: Sequence[TuneRecipe],
        deadline: Deadline,
        helpers: list[Helper],
        file: HelperFile,
        out: Path | None,
        kept: Callable[[], object] | None,
        progress: Progress,
        told: _SoFar,
    ) -> None:
        self._told, self._over = told, False
        self._original, self._asked, self._deadline, self._progress = original, asked, deadline, progress
        self._limits = original.config.limits
        self._n = len(original.kept)
        self._risk, self._utility = _axes(asked, found, numbers=_kinds(original)["numbers"])
        keys = keys_of_run(original.fields, original.config, identifying(original.kept, original.fields))
        refuse_limits_without_keys((*self._limits, self._risk), keys)
        wanted = {*unasked_figures(self._n, self._limits, keys=bool(keys.names)), self._risk, self._utility}
        if any(one.treats for one in found):
            wanted |= {"global_risk", "key_loss"}
        names = tuple(name for name in NAMES if name in wanted)
        self._tried = [_Tried(recipe) for recipe in found]
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
        records = {True: self._n} | ({} if self._sample is None else {False: len(self._sample)})
        self._durations = Durations(records)
        self._original_figures: dict[str, float] = {}
        self._folder = None if out is None else out / FOLDER
        self._is_kept = kept or _nobody
        self._kept = KeptOutcomes(self._folder, original, names, "" if self._sample is None else self._units)
        self._processes = WorkerProcesses(
            self._bench, helpers, self._again, deadline, self._durations, self._found, progress
        )

    def _require_treatable(self) -> None:
        """Refuse a treatment that all candidates share as `mask` refuses it."""
        first, *others = (tried.recipe for tried in self._tried)
        if all(one.treatment(0) == first.treatment(0) for one in others):
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
            recipe = tried.recipe
            try:
                shape, tried.refusal = self._bench.shape(recipe, watched)
            except BudgetOver:
                return
            if tried.refusal or recipe.draws:
                continue
            same = recipe.method, recipe.k, str(recipe.params), recipe.treatment(0), shape
            tried.same_as = known.setdefault(same, at)
            if tried.same_as == at:
                tried.same_as = None
        self._progress(_PLANNING, len(self._tried))

    def _drawn(self) -> tuple[NDArray[np.intp] | None, str]:
        """Draw the sample, where there is to be one; and what decides it, in words."""
        size = self._asked.sample
        few = self._n <= (sampling.FROM if size is None else size)
        first = next((tried.recipe for tried in self._tried if tried.open), None)
        if few or size == 0 or first is None or self._deadline.left < 0:
            return None, ""
        run = self._bench.prepared(first)
        if run.plan.over_file:  # a total of all records is none of some
            return None, ""
        self._progress("drawing a sample", 0)
        most = max(tried.recipe.k for tried in self._tried)
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
            sample=None if self._sample is None else len(self._sample),
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
        while self._deadline.left > 0:
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
        """Run what would be recommended with the other seeds; tell whether something is recommended in the end."""
        tried: set[int] = set()
        while True:
            found = self._choice(self._candidates()).recommended
            if found is None or found in tried:
                return found is not None
            self._try([found], whole=True)
            tried.add(found)

    def _choice(self, candidates: Sequence[TuneCandidate]) -> Recommendation:
        return choose_candidate(candidates, self._risk, self._utility, self._limits, self._asked.seeds)

    def _unmasked(self) -> dict[str, float]:
        if not self._original_figures and self._deadline.left > 0:
            self._original_figures = self._bench.unmasked([self._risk, self._utility])
        return self._original_figures

    def _try(self, positions: Iterable[int], *, whole: bool, seeds: int | None = None) -> None:
        """Run candidates: all with the first seed, then those that draw with others."""
        most = self._asked.seeds if seeds is None else seeds
        chosen = [(at, self._tried[at].recipe) for at in positions]
        attempts = [
            Attempt(at, recipe, seed, whole)
            for seed in range(most)
            for at, recipe in chosen
            if seed == 0 or recipe.differs
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

    def _candidates(self) -> tuple[TuneCandidate, ...]:
        return tuple(map(self._candidate, self._tried))

    def _candidate(self, tried: _Tried) -> TuneCandidate:
        recipe = tried.recipe
        made = TuneCandidate(
            method=recipe.method,
            params=dict(recipe.params),
            k=recipe.k,
            grouping=recipe.grouping,
            aggregator=recipe.aggregator,
            recode=dict(recipe.recode),
            key_k=recipe.key_k,
            draws=recipe.draws,
        )
        if tried.refusal is not None:
            return replace(made, state=_refused_state([tried.refusal]), reasons=(tried.refusal.refused,))
        if tried.same_as is not None:
            return replace(
                made, state="same", same_as=tried.same_as, reasons=(f"the same as candidate {tried.same_as} here",)
            )
        whole = bool(tried.runs[True]) or self._sample is None
        runs = [tried.runs[whole][seed] for seed in sorted(tried.runs[whole])]
        if refused := [one for one in runs if one.refused]:
            share = f"in {len(refused)} of {len(runs)} runs: " if len(runs) > 1 else ""
            return replace(made, state=_refused_state(refused), reasons=(f"{share}{refused[0].refused}",))
        if not runs:
            return replace(made, state="unreached", reasons=(_UNREACHED if self._over else _NOT_YET,))
        state: TuneState = "measured" if whole else "sampled"
        spread = {name: _spread_of(runs, name) for name in runs[0].figures}
        broken = broken_limits(spread, self._limits)
        return replace(
            made,
            state=state,
            records=self._n if whole or self._sample is None else len(self._sample),
            seeds=len(runs),
            figures={name: math.fsum(one.figures[name][0] for one in runs) / len(runs) for name in spread},
            spread=spread,
            within_limits=not broken,
            reasons=broken,
        )

    def _notes(self, candidates: Sequence[TuneCandidate]) -> Iterator[str]:
        yield from self._original.notes
        gone = len(self._original.records) - self._n
        if gone:
            breaking = counted(gone, "record that breaks a rule is", "records that break a rule are")
            yield f"{breaking} left out, as mask leaves them out"
        yield from self._original.originals.notes
        yield _UNWRITTEN
        yield from self._asked.wider
        if self._sample is not None:
            yield _SAMPLED.format(sample=len(self._sample), n=self._n)
        if any(tried.recipe.differs and one.seeds for tried, one in zip(self._tried, candidates, strict=True)):
            many = self._asked.seeds
            yield _DRAWN.format(
                seeds="one seed that everybody knows"
                if many == 1
                else f"up to {many} seeds that everybody knows: loss is their mean, limits have to hold in all"
            )
        missed = sum(one.state == "unreached" for one in candidates)
        if missed and not self._over:
            yield (
                f"so far: {missed} of {len(candidates)} candidates were not tried as yet; the run goes on, or was "
                "interrupted: the same command goes on from here then"
            )
        elif missed:
            yield (
                f"the budget of {self._asked.budget:g} s ended before {missed} of {len(candidates)} candidates"
                + (
                    "; with a folder for results, another run goes on"
                    if self._folder is None
                    else "; run again, it goes on"
                )
                + " where this one stopped"
            )


def _refused_state(refused: Sequence[TuneOutcome]) -> TuneState:
    """Return the state of a candidate with refusals: ended where another run of each may get further."""
    return "ended" if all(one.ended for one in refused) else "refused"


def _nobody() -> None:
    """Tell nobody of a result that is kept."""


def _spread_of(runs: Sequence[TuneOutcome], name: str) -> SpreadResult:
    values = [one.figures[name][0] for one in runs]
    return SpreadResult(min(values), max(values), runs[0].figures[name][1])
