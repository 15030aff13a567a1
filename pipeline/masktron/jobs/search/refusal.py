"""`mask`, and what could help where it refuses: remedies are tried on the records in memory; nothing is written."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from masktron.config import Config, Role, config_from
from masktron.counts import counted
from masktron.errors import (
    InfeasibleError,
    MasktronError,
    RefusalFacts,
    ReleasedBeforeError,
    ViolationError,
)
from masktron.figures import NAMES
from masktron.jobs.in_units import sized
from masktron.jobs.mask import run_mask
from masktron.jobs.opening import open_original
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.run import Run
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.search.bench import Attempt, Bench
from masktron.jobs.search.choosing import broken_limits, near_unmasked
from masktron.jobs.search.remedies import RefusedRun, cost_of, remedies_for
from masktron.jobs.search.schedule import BudgetOver, Deadline
from masktron.kernels.cores import usable_cores
from masktron.problems.problem import Note, Problem
from masktron.progress import Progress, no_progress
from masktron.results import MaskResult, RefusalResult, RemedyResult, SpreadResult, shown
from masktron.results.refusal import RemedyState

SECONDS = 120.0
"""What all trials together may take, with reading the original once more."""
MOST_TRIED = 16
"""Remedies that are tried; others are named."""
_NAMED = 4
"""Remedies that an error names."""
_SHOWN = ("information_loss", "linkage", "unchanged", "key_k", "key_uniques")
_MEASURED = (
    "figures are those of a trial in memory, with draws of its own; mask writes the file, reads it back and has "
    "other engines judge it, which may still refuse it"
)
_ALL_LOST = 100.0
"""Per cent: the information loss of one value for all records."""
_UNITS = "{n} are masked in units here: nothing was tried, and what may help is named"


def run_mask_or_suggest(
    request: MaskRequest, progress: Progress = no_progress, seconds: float = SECONDS
) -> MaskResult:
    """Mask as `run_mask` does; where it refuses and the settings ask for it, try what could help.

    Parameters
    ----------
    request : MaskRequest
    progress : callable
    seconds : float
        What the trials may take.

    Raises
    ------
    UsageError, RulebookError, DocumentError, ResourceError
        As for `run_mask`.
    InfeasibleError, ViolationError
        As for `run_mask`; ``refusal`` has the remedies where the settings ask for them, and the hint names some.
        A file that `out` would have replaced is unchanged, and the hint says so.
    """
    config, out = request.config, request.out
    try:
        return run_mask(request, progress)
    except (InfeasibleError, ViolationError) as error:
        if isinstance(error, ReleasedBeforeError):
            pass  # it says itself what helps
        elif config.pram or config.swap:
            if config.on_refusal == "suggest":
                _tell(error, "nothing is tried where keys are drawn anew or swapped")
        elif isinstance(error, InfeasibleError) or error.facts:
            if config.on_refusal == "suggest":
                _suggest(error, request, seconds, progress)
            else:
                _name(error, config)
        if out.is_file():
            error.then(Note("the existing file {out} is unchanged", out=shown(out)))
        raise


def _suggest(error: MasktronError, request: MaskRequest, seconds: float, progress: Progress) -> None:
    """Let an error have what helps, as far as the time reaches."""
    deadline = Deadline(seconds, time.monotonic())
    progress("refused; trying what could help", 0)
    try:
        error.refusal = remedies_tried(error, request, deadline, progress)
    except BudgetOver:
        _tell(error, "nothing could be tried within the time for suggestions")
        return
    if working := error.refusal.working:
        _tell(error, "works when tried: ", working)
    else:
        _tell(error, "nothing that was tried helps by itself; docs/refusals.md says what else there is")


def _name(error: MasktronError, config: Config) -> None:
    """Let an error name what may help, as far as that is known without looking at the records."""
    found = remedies_for(error.facts, RefusedRun(config))
    tries = "[[--on-refusal suggest]] tries what may help and shows what it costs{such}{remedies:or}"
    error.then(Note(tries, such=", such as " if found else "", remedies=_named(found)))


def _tell(error: MasktronError, how: str, found: Iterable[RemedyResult] = ()) -> None:
    error.then(Note("{how}{remedies:or}", how=how, remedies=_named(found)))


def _named(found: Iterable[RemedyResult]) -> tuple[Problem, ...]:
    """Return the first remedies as hints name them, each once."""
    each = {one.pasted: one.change for one in found}
    return tuple(itertools.islice(each.values(), _NAMED))


def remedies_tried(
    error: MasktronError, request: MaskRequest, deadline: Deadline, progress: Progress
) -> RefusalResult:
    """Try what suits an error, within the time.

    Raises
    ------
    BudgetOver
        Not even the original could be read within it.
    """
    config = request.config
    original = _opened(request, error.facts, deadline.watching(progress))
    if original is None:
        found, n, units = remedies_for(error.facts, RefusedRun(config)), 0, False
    else:
        found = remedies_for(error.facts, RefusedRun.of(original, config))
        size = sized(original, request.out, resume=False).config.unit_records
        n = len(original.kept)
        units = bool(size) and n > (size or 0)
    if original is not None and not units:
        found = _tried(found, original, config, deadline, progress)
    return RefusalResult(
        data=shown(request.data),
        rules=shown(request.rules),
        problem=error.problem,
        exit_code=int(error.exit_code),
        facts=error.facts,
        records=n if original is not None and original.given is config else 0,
        remedies=tuple(sorted(found, key=_place)),
        notes=(_UNITS.format(n=counted(n, "record")),) if units else (_MEASURED,),
    )


def _opened(request: MaskRequest, facts: Sequence[RefusalFacts], progress: Progress) -> Run | None:
    """Read the original; where it is what was refused, without the records and rules that stand in the way.

    None where it cannot be masked so either.
    """
    config = request.config
    named = (rule for fact in facts for rule in fact.rules)
    looser = replace(
        config, invalid="exclude", rare_units="exclude", allow=tuple(dict.fromkeys((*config.allow, *named)))
    )
    for settings in (config, looser):
        try:
            return open_original(request.data, request.rules, settings, progress)
        except (InvalidOriginalError, InfeasibleError):
            continue
    return None


def _tried(
    found: Sequence[RemedyResult], original: Run, config: Config, deadline: Deadline, progress: Progress
) -> tuple[RemedyResult, ...]:
    """Try the first remedies, one after the other."""
    treated = any(config_from(one.settings, base=config).treats_keys for one in found)
    wanted = {*_SHOWN, *config.limits, *(["key_loss"] if treated else [])}
    # the original may have been read with other settings than those that were stated
    stated = {name: getattr(config, name) for name in ("invalid", "rare_units", "allow")}
    made = []
    with Bench(original, [name for name in NAMES if name in wanted], None, usable_cores()) as bench:
        for at, remedy in enumerate(found[:MOST_TRIED], 1):
            progress(f"trying remedy {at} of {min(len(found), MOST_TRIED)}: {remedy.pasted}", 0)
            attempt = Attempt(at, {**stated, **remedy.settings}, 0, whole=True)
            made.append(_outcome(remedy, attempt, bench, config, deadline))
    return *made, *(replace(one, reason=f"not tried: the first {MOST_TRIED} were") for one in found[MOST_TRIED:])


def _outcome(
    remedy: RemedyResult, attempt: Attempt, bench: Bench, config: Config, deadline: Deadline
) -> RemedyResult:
    """Mask as a remedy says, and measure."""
    unended = replace(remedy, reason="not tried to its end: the time for suggestions was over")
    if deadline.left < 0:
        return unended
    try:
        made = bench.outcome(attempt, deadline.watching(no_progress))
    except BudgetOver:
        return unended
    except MasktronError as error:  # a value has no class in a recoding
        made = bench.refused(error)
    if made.refused:
        state: RemedyState = "ended" if made.ended else "refused"
        return replace(remedy, state=state, reason=made.refused, seconds=made.seconds)
    figures = {name: value for name, (value, _) in made.figures.items()}
    over = broken_limits({name: SpreadResult(one, one) for name, one in figures.items()}, config.limits)
    run = bench.treat(attempt.settings)
    masked = (fact.name for fact in run.fields if fact.role is Role.CONFIDENTIAL)
    return replace(
        remedy,
        state="refused" if over else "works",
        reason=Note("{over:;}", over=over) if over else "",
        figures=figures,
        records=len(run.kept),
        masked=len(run.names.names(masked)),
        seconds=made.seconds,
        levels=made.levels,
        concerns=made.concerns,
    )


def _place(one: RemedyResult) -> tuple[bool, bool, int, int]:
    """Order remedies: those that work first; of these, what loses all or leaves the file as it was comes last."""
    extreme = one.figures.get("information_loss", 0.0) >= _ALL_LOST or bool(near_unmasked(one.figures))
    return one.state != "works", extreme, cost_of(one), len(one.concerns)
