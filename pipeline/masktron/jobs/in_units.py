"""Files that do not fit into memory: how many records are masked at once, and where units are worked on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import masktron.memory as costs
from masktron.addresses import AddressPath
from masktron.config import LEAST_UNIT, Config
from masktron.declared import names
from masktron.errors import (
    DocumentError,
    InfeasibleError,
    MasktronError,
    OutsideLimitsError,
    ResourceError,
    UsageError,
    ViolationError,
)
from masktron.executor.contract import Executor
from masktron.executor.run_parts import RunParts, former_fingerprint, left_behind, parts_folder
from masktron.executor.which import StandingExecutor, executor_of
from masktron.jobs.column_memory import arrays_of_run
from masktron.jobs.documents import digests
from masktron.jobs.randomness import rules_in_one_form
from masktron.jobs.run import Run
from masktron.kernels.cores import usable_cores
from masktron.masking import Masked, SharedWork, mask_records
from masktron.masking.units.unit_parts import UnitSlices
from masktron.memory import memory_of_run
from masktron.problems.problem import Note, Setting
from masktron.problems.wording import sentence
from masktron.progress import Progress
from masktron.rules_given import rules_hash
from masktron.scratch import private_folder, require_room
from masktron.sources.frame_path import FramePath
from masktron.versions import versions
from masktron.write.atomic import parts_begun

_NOT_IN_PARTS = names(Config, lambda one: one.decides != "values" or one.confidential)
"""Settings that change nothing in a part, and the size of units, which has a line of its own."""


def sized(original: Run, out: Path, *, resume: bool) -> Run:
    """Settle how many records are masked at once; all where they fit.

    Parameters
    ----------
    original : Run
    out : Path
        What is going to be written.
    resume : bool
        The run goes on from what an earlier one has finished, and so with units of its size.

    Raises
    ------
    UsageError
        There is nothing to go on from.
    ResourceError
        The memory is too small for any unit.
    """
    config, notes = original.config, original.notes
    if config.unit_records == 0 and resume:
        raise UsageError.of(
            "cannot-resume",
            out,
            reason="this run masks the file as a whole, unless it is given the former size of units",
        )
    if config.unit_records == 0:
        config = replace(config, unit_records=None)
    elif resume:
        former = None if isinstance(out, AddressPath) else former_fingerprint(parts_folder(out))
        if former is None:
            raise UsageError.of("nothing-to-resume", out)
        if config.unit_records is None:
            size = former.get("unit_records", "")
            if not size.isdecimal():
                raise UsageError.of(
                    "cannot-resume", parts_folder(out), reason="the journal is not that of a run in units"
                )
            config = replace(config, unit_records=int(size))
    elif config.unit_records is None:
        most = _unit_records(original, config)
        config = replace(config, unit_records=most)
        if most is not None and len(original.kept) > most:
            notes = (
                *notes,
                Note(
                    "masked in units of {most:,} records, since memory was short: with another amount of it these "
                    "records are released with other values, and somebody with both files may compute some values of "
                    "respondents; to repeat this run, give its secret and [[--unit-records {most}]]",
                    most=most,
                ),
            )
    if config.unit_records is not None and len(original.kept) <= config.unit_records:
        config = replace(config, unit_records=None)
    stated = replace(original.given, unit_records=config.unit_records)
    return replace(original, config=config, given=stated, notes=notes)


def _unit_records(original: Run, config: Config) -> int | None:
    """Return how many records are masked at once; None where all are.

    A power of two, so that a little more or less of free memory changes nothing.
    """
    memory = memory_of_run(config.memory)
    records, fields = len(original.kept), len(original.records.columns)
    if costs.BASE + records * fields * costs.WHOLE_CELL <= memory:
        return None
    held = costs.BASE + records * fields * costs.HELD_CELL
    units = LEAST_UNIT * config.k * fields * costs.UNIT_CELL * costs.UNIT_SHARE
    least = max(held + units, costs.BASE + records * fields * costs.LATER_CELL)
    if memory < least:
        raise ResourceError.of(
            "memory-too-small",
            original.job.source.path,
            memory=round(memory / 1e6),
            records=LEAST_UNIT * config.k,
            total=records,
            fields=fields,
            least=-(-least // 10**6),
        )
    most = (memory - held) // costs.UNIT_SHARE // (fields * costs.UNIT_CELL)
    return max(LEAST_UNIT * config.k, 1 << (most.bit_length() - 1))


def going_on(config: Config, out: Path) -> None:
    """Begin a run that goes on from the parts of another: they stay, and are named, however early it is ended.

    Raises
    ------
    UsageError
        Treatments of keys would be drawn anew.
    """
    if config.draws_keys and config.secret is None and config.seed is None:
        raise UsageError.of(
            "needs-setting",
            name="a resumed run that draws, swaps or suppresses keys",
            needed="the secret of the first run",
            setting=(Setting("--secret", ("MANIFEST",)),),
        )
    if not isinstance(out, AddressPath | FramePath):
        parts_begun(parts_folder(out))


@contextmanager
def parts_of(run: Run, out: Path, *, resume: bool, progress: Progress) -> Iterator[RunParts | None]:
    """Give the place of what units have come to, where the settings ask for units; it is removed at the end.

    They are kept where the run is ended from outside, or by something that can be mended there: a full disk, a lack
    of memory, a scheduler that does not answer, a limit that is too narrow; not where the records and the rules are
    why.

    Raises
    ------
    UsageError
        Another run is at work on the output; or something has changed, so that nothing can be gone on from.
    DocumentError
        There is too little room on the disk.
    """
    arrays = arrays_of_run(len(run.records), len(run.records.columns), run.config.memory)
    if run.config.unit_records is None:
        with arrays, ExitStack() as stack:
            if not isinstance(out, AddressPath | FramePath):
                _tell_left(stack, out, progress)
            yield None
        return
    if isinstance(out, AddressPath):
        raise UsageError.of(
            "cannot-hold",
            out,
            format="a database",
            detail=f"{len(run.kept):,} records that are masked in units for want of memory",
        )
    with arrays, ExitStack() as stack:
        # of a data frame, nothing is gone on from, and its folder is the system's
        frame = isinstance(out, FramePath)
        folder = stack.enter_context(private_folder()) / "parts" if frame else parts_folder(out)
        parts = stack.enter_context(RunParts(folder, _fingerprint(run), resume=resume))
        if not frame:
            parts_begun(folder)
        if parts.found is not None:
            progress(f"found {parts.found}", 0)
        written = sum(path.stat().st_size for path in folder.iterdir())
        require_room(folder, _room(run) - written, what="masking in units")
        try:
            yield parts
        except BaseException as error:
            refused = isinstance(error, ViolationError | InfeasibleError) and not isinstance(
                error, OutsideLimitsError
            )
            if frame or refused:
                parts.remove()
            elif parts.names:
                stay = "{parts:finished part stays/finished parts stay} in {folder}; [[--resume]] goes on from there"
                kept = Note(stay, parts=len(parts.names), folder=folder)
                if not isinstance(error, MasktronError):
                    progress(sentence(kept), 0)
                elif error.problem.code != "part-changed":
                    error.then(kept)
            raise


def _tell_left(stack: ExitStack, out: Path, progress: Progress) -> None:
    """Say what a run in units has left beside the output, which goes when this one is done."""
    try:
        found = stack.enter_context(left_behind(parts_folder(out)))
    except DocumentError as error:
        progress(f"left alone: {error.where}: {error.what}", 0)
        return
    if found is not None:
        progress(f"found {found}; they go when {out.name} is written", 0)


def _room(run: Run) -> int:
    """Return how many bytes parts take at most: each partition has the cells of its fields, for each candidate."""
    cells = sum(
        len({*partition.variables, *(name for block in partition.blocks for name in block.conditions)})
        * max(len(block.candidates) for block in partition.blocks)
        for partition in run.plan.partitions
    )
    return len(run.kept) * cells * costs.PART_CELL


@contextmanager
def units_in(run: Run, parts: RunParts | None, shared: StandingExecutor | None = None) -> Iterator[UnitSlices | None]:
    """Give what masks unit by unit, with the workers that do so; None where the file is masked as a whole.

    Parameters
    ----------
    run : Run
    parts : RunParts or None
    shared : StandingExecutor, optional
        Of the whole run; it is taken where the memory holds a unit for each of its workers. Else it rests, since its
        workers and those of units are too much together.
    """
    config, most = run.config, run.config.unit_records
    if parts is None or most is None:
        yield None
        return
    workers = _workers(config, len(run.kept), len(run.records.columns), most)
    working: Executor | None = shared
    if shared is not None and shared.workers > workers:
        shared.rest()
        working = None
    with working or executor_of(config.executor, workers=workers, scheduler=config.scheduler) as executor:
        yield UnitSlices(parts, executor, most)


def masked_by(
    run: Run,
    progress: Progress,
    shared: SharedWork | None = None,
    parts: RunParts | None = None,
    executor: StandingExecutor | None = None,
) -> Masked:
    """Split and group the kept records, mask, aggregate and settle them.

    Parameters
    ----------
    shared : SharedWork, optional
        Of other runs on the same records.
    parts : RunParts, optional
        Where records are masked unit by unit.
    executor : StandingExecutor, optional
        Of the whole run, which may mask units.
    """
    job, config = run.job, run.config
    with units_in(run, parts, executor) as units:
        return mask_records(
            run.kept,
            run.plan,
            job.edits,
            job.rulebook,
            original=run.source.document_path.absolute(),  # units are masked by workers of other folders, too
            max_observed_share=config.max_observed_share,
            method=run.method,
            streams=run.randomness.streams,
            classes=run.classes,
            unlike=run.back.compositions_of(run.originals.keep),
            excluded=len(run.originals.keep) - len(run.kept),
            keep_missing=config.keep_missing,
            workers=config.workers,
            max_block_records=config.max_block_records,
            shared=shared,
            units=units,
            progress=progress,
        )


def _workers(config: Config, records: int, fields: int, most: int) -> int:
    """Return how many units are worked on at once: as many as the memory holds, where it is that of this machine."""
    asked = config.workers or usable_cores()
    if config.scheduler is not None:
        return asked
    left = memory_of_run(config.memory) - costs.CLIENT - records * fields * costs.HELD_CELL
    return max(1, min(asked, left // (costs.WORKER + most * fields * costs.UNIT_CELL)))


def _fingerprint(run: Run) -> dict[str, str]:
    """Return what the parts of a run depend on."""
    settings = {name: value for name, value in run.config.settings.items() if name not in _NOT_IN_PARTS}
    text = json.dumps(settings, sort_keys=True, default=_plain)
    asked = run.account.rulebook
    # the form has the files that a rulebook includes
    rules = hashlib.sha256(asked).hexdigest() if asked else rules_hash(run.job.rulebook.path)
    return {
        "input": run.source.digest,
        "rules": _summed(json.dumps([rules, rules_in_one_form(run.job, "")], default=_plain)),
        "plan": _summed(json.dumps(run.plan.as_dict(), sort_keys=True, default=_plain)),
        "documents": json.dumps(digests(run.job.rulebook, run.source.digest), sort_keys=True),
        "settings": _summed(text),
        "version": json.dumps(versions(), sort_keys=True),
        "unit_records": str(run.config.unit_records),
    }


def _plain(value: object) -> object:
    """Write what JSON has not; sets in one order, whatever their hashes are."""
    return sorted(value) if isinstance(value, frozenset | set) else str(value)


def _summed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
