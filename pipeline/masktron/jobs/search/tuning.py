"""Try candidates on a file, and recommend one: `masktron tune`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from masktron.addresses import AddressPath
from masktron.config import Config
from masktron.errors import DocumentError, ResourceError, UsageError
from masktron.hierarchies import read_hierarchy
from masktron.jobs.limits import refuse_class_limits
from masktron.jobs.lowering.lower import Flat
from masktron.jobs.opening import open_original
from masktron.jobs.post_randomised import read_transition
from masktron.jobs.run import Run
from masktron.jobs.search import RESULT
from masktron.jobs.search.asked import TuneSettings, hierarchies_in, matrices_in
from masktron.jobs.search.bench import Bench
from masktron.jobs.search.grid import candidates, position_of, treatments_tried, with_keys
from masktron.jobs.search.helper import HelperFile, helpers_of
from masktron.jobs.search.schedule import BudgetOver, Deadline
from masktron.jobs.search.trials import MapSoFar, Trials, kinds_masked
from masktron.kernels.cores import usable_cores
from masktron.problems.problem import Setting
from masktron.progress import Progress, no_progress
from masktron.results import TuneCandidate, TuneResult
from masktron.scratch import folder_on_disk, remove_abandoned
from masktron.sources.frame_path import FramePath
from masktron.unrolling.level_names import errors_by_level
from masktron.write.manifest import write_json

_MOST_WORKERS = 4
"""Each holds the file in memory."""


def run_tune(
    data: Path,
    rules: Path,
    out: Path | None = None,
    *,
    config: Config | None = None,
    asked: TuneSettings | None = None,
    candidate: int | TuneCandidate | None = None,
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
    candidate : int or TuneCandidate, optional
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
    config = _with_axes(config, asked)
    if config.secret is not None or config.seed is not None:
        both = Setting("--secret"), Setting("--seed")
        reason = "the random numbers of tune are known, and those of a release must not be"
        raise UsageError.of("setting-not-usable", name=both, reason=reason)
    if asked.methods:  # then they are known, whatever the file holds
        _require_there(candidate, candidates(config, asked, numbers=True, categories=True))
    if out is not None:
        _make_folder(out)
    deadline = Deadline(asked.budget, begun)
    file = HelperFile(data, rules, config)
    helpers = helpers_of(_workers(asked, config, data), file)
    try:
        try:
            original = open_original(data, rules, config, deadline.watching(progress))
        except BudgetOver:
            raise ResourceError.of("budget-over", data) from None
        except UsageError as error:
            raise _by_axis(error, asked) from error
        asked = _with_groupings(asked, original)
        told = MapSoFar(None if out is None else out / RESULT, so_far)
        found = candidates(original.config, asked, **kinds_masked(original))
        _require_there(candidate, found)
        with Bench(original, ()) as bench, errors_by_level(original.names):
            result = Trials(
                original, bench, asked, found, deadline, helpers, file, out, kept, progress, told
            ).result()
    finally:
        for helper in helpers:
            helper.close()
        if any(not keys.is_none for keys in treatments_tried(config, asked)):
            remove_abandoned(folder_on_disk()[0], folders=True)  # treated files of helpers that were killed
    if out is not None:
        write_json(out / RESULT, result.for_reader())
    return result


def _with_groupings(asked: TuneSettings, original: Run) -> TuneSettings:
    """Return what is asked for with the groupings that `mask` has: of whole units, all fields together alone."""
    if isinstance(original.back, Flat) or not original.back.source.has_members:
        return asked
    source = original.back.source
    if "rules" in asked.groupings:
        unit = source.levels.level(source.record_level).name
        reason = f"mask groups each {unit} with its members by all masked fields"
        own = Setting("--grouping", ("rules",))
        raise UsageError.of("setting-not-usable", source.path, name=own, reason=reason)
    return replace(asked, groupings=("all",))


def _with_axes(config: Config, asked: TuneSettings) -> Config:
    """Return settings in which all fields that some candidate treats are keys; require the files that say how."""
    first = ({name: ways[0] for name, ways in axis.items()} for axis in (asked.recode, asked.pram))
    known = with_keys(config, *first)
    treatments_tried(known, asked)
    for name, how in hierarchies_in(known, asked):
        read_hierarchy(how.path, name).recoding(how.level)
    for name, path in matrices_in(known, asked):
        read_transition(path, name)
    return known


def _by_axis(error: UsageError, asked: TuneSettings) -> UsageError:
    """Name the axes by which a field became a key that the file does not have."""
    named = error.problem.references
    if "asked_by" in named:
        unknown = {one.name for one in named["name"]}
        axes = {"--recode": asked.recode, "--pram": asked.pram}
        given = [Setting(option) for option, ways in axes.items() if unknown & ways.keys()]
        others = [one for one in named["asked_by"].references["settings"] if one.option != "--role" or not given]
        asked_by = named["asked_by"].naming(settings=tuple(dict.fromkeys([*given, *others])))
        error.problem = error.problem.naming(asked_by=asked_by)
    return error


def _require_there(candidate: int | TuneCandidate | None, found: Sequence[TuneCandidate]) -> None:
    if candidate is not None:
        position_of(candidate, found)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        raise UsageError.of("no-folder-for-output", out.parent, output=Setting("--out")) from None
    except OSError as error:
        raise DocumentError.of("cannot-write", out, file="the folder of results", reason=error.strerror) from error


def _workers(asked: TuneSettings, config: Config, data: Path) -> int:
    """Return how many processes try candidates; none where what is read is no file, which another could read."""
    if isinstance(data, AddressPath | FramePath):
        return 0
    if asked.workers is not None:
        return asked.workers
    return config.workers or min(usable_cores(), _MOST_WORKERS)
