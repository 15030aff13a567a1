"""`mask`, and what could help where it refuses."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from pathlib import Path

from masktron.config import Config
from masktron.errors import InfeasibleError, MasktronError, ReleasedBeforeError, ViolationError
from masktron.jobs.mask import run_mask
from masktron.jobs.remedies.refused_run import RefusedRun
from masktron.jobs.remedies.suited import remedies_for
from masktron.jobs.remedies.trying import RemedyTrials
from masktron.jobs.tune.schedule import BudgetOver, Deadline
from masktron.problems.problem import Note, Problem
from masktron.progress import Progress, no_progress
from masktron.results import MaskResult, RemedyResult, shown

SECONDS = 120.0
"""What all trials together may take, with reading the original once more."""
_NAMED = 4
"""Remedies that an error names."""


def run_mask_or_suggest(
    data: Path,
    rules: Path,
    out: Path,
    *,
    config: Config | None = None,
    manifest: Path | None = None,
    rules_out: Path | None = None,
    replaces: bool = False,
    again: str | None = None,
    resume: bool = False,
    progress: Progress = no_progress,
    seconds: float = SECONDS,
) -> MaskResult:
    """Mask as `run_mask` does; where it refuses and the settings ask for it, try what could help.

    Parameters
    ----------
    data, rules, out, config, manifest, rules_out, replaces, again, resume, progress
        As for `run_mask`.
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
    config = config or Config()
    try:
        return run_mask(
            data,
            rules,
            out,
            config=config,
            manifest=manifest,
            rules_out=rules_out,
            replaces=replaces,
            again=again,
            resume=resume,
            progress=progress,
        )
    except (InfeasibleError, ViolationError) as error:
        if isinstance(error, ReleasedBeforeError):
            pass  # it says itself what helps
        elif config.pram or config.swap:
            if config.on_refusal == "suggest":
                _tell(error, "nothing is tried where keys are drawn anew or swapped")
        elif isinstance(error, InfeasibleError) or error.facts:
            if config.on_refusal == "suggest":
                _suggest(error, data, rules, out, config, seconds, progress)
            else:
                _name(error, config)
        if out.is_file():
            error.then(Note("the existing file {out} is unchanged", out=shown(out)))
        raise


def _suggest(
    error: MasktronError, data: Path, rules: Path, out: Path, config: Config, seconds: float, progress: Progress
) -> None:
    """Let an error have what helps, as far as the time reaches."""
    deadline = Deadline(seconds, time.monotonic())
    progress("refused; trying what could help", 0)
    try:
        error.refusal = RemedyTrials(data, rules, out, config, deadline, progress).result(error)
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
