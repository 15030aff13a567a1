"""Mask a file so that every edit still holds."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from masktron.config import Config
from masktron.executor.run_parts import RunParts
from masktron.executor.which import StandingExecutor
from masktron.files import refuse_outputs
from masktron.jobs.column_memory import arrays_of_run
from masktron.jobs.in_units import going_on, parts_of, sized, units_in
from masktron.jobs.keys_known import keys_of_run, refuse_limits_without_keys
from masktron.jobs.limits import refuse_class_limits
from masktron.jobs.mask_result import mask_result
from masktron.jobs.opening import open_original
from masktron.jobs.registered import registration
from masktron.jobs.released import (
    declared_of,
    manifest_of,
    refuse_foreign_manifest,
    require_contract,
    require_releasable,
)
from masktron.jobs.released_tables import tables_of_release
from masktron.jobs.run import Run
from masktron.jobs.sharing import executor_of_run
from masktron.jobs.steps import place_of_rules, published_rules, stale_rules, treated
from masktron.jobs.written import write
from masktron.kernels.compiling import told_of_compiling
from masktron.masking import Masked, SharedWork, mask_records
from masktron.methods.chosen import chosen
from masktron.progress import Progress, no_progress
from masktron.results import MaskResult
from masktron.sources.opening import format_of
from masktron.sources.output_names import manifest_beside, numbered, refuse_other_names, refuse_query
from masktron.unrolling.level_names import errors_by_level
from masktron.write.atomic import atomic_path
from masktron.write.manifest import manifest_content, write_plain
from masktron.write.publication import publications, settle_publication


def run_mask(
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
) -> MaskResult:
    """Mask, settle, write, re-validate and report.

    The output and the manifest appear only when the written file has been read back and every engine agrees that it
    obeys the rules, with groups of at least k.

    Parameters
    ----------
    data, rules, out : Path
    config : Config, optional
    manifest : Path, optional
        ``released.manifest.json`` beside ``released.xml`` when not given.
    rules_out : Path, optional
        Where the rules go as a recoding leaves them; ``released.rules.sch`` beside ``released.xml`` when not given.
        It is written only where some have changed.
    replaces : bool
        The output may take the place of a table of a database; a file is always replaced.
    again : str, optional
        Why records are released again that the register of releases has already.
    resume : bool
        Go on from the units that a run which was ended has finished.

    Raises
    ------
    UsageError, RulebookError, DocumentError
        Something cannot be used.
    InvalidOriginalError
        The original breaks a rule.
    InfeasibleError
        The rules and k cannot both be kept, or the written file would break a rule.
    ReleasedBeforeError
        The register has these records, the release is another one, and nobody said why.
    ViolationError
        Engines disagree about it, a group is too small, or a limit or the contract of the method is not kept.
        In either case nothing is published.
    """
    config = config or Config()
    chosen(config.method, config.params, config.k)  # what it refuses, it refuses before anything is read
    refuse_class_limits(config.limits)
    refuse_query(data, config.reading)
    refuse_other_names(out, format_of(data, config.reading), data)
    manifest = manifest or manifest_beside(out)
    inputs = {"the original": data, "the rulebook": rules, **config.named_files}
    inputs |= (tables := tables_of_release(data, out, config.levels)).inputs
    refuse_outputs(outputs := {"the output": out, "the manifest": manifest, **tables.outputs}, inputs)
    rules_out = place_of_rules(config, rules_out, outputs, inputs)
    refuse_foreign_manifest(manifest, out)
    tables.require_new(data, replaces=replaces)
    if resume:
        going_on(config, out)
    executor = executor_of_run(config)
    with (
        told_of_compiling(progress),
        ExitStack() as kept,
        ExitStack() as working,
        registration(config, again, out) as registered,
    ):
        if executor is not None:
            working.enter_context(executor)
        opened = open_original(data, rules, config, progress, executor)
        kept.enter_context(errors_by_level(opened.names))
        original = sized(kept.enter_context(treated(opened, rules_out, progress, executor)), out, resume=resume)
        run = original.planned(progress)
        refuse_limits_without_keys(config.limits, keys_of_run(run.plan.fields, run.config, run.identifying))
        if registered is not None:
            progress("looking up the records in the register of releases", 0)
            registered.look_up(run)
        with (
            arrays_of_run(len(run.records), len(run.records.columns), config.memory),
            parts_of(run, out, resume=resume, progress=progress) as parts,
        ):
            made = masked_by(run, progress, parts=parts, executor=executor)
            with (
                publications(tables.places, released=True, replaces=replaces) as places,
                published_rules(run.account, rules_out),
                atomic_path(manifest) as confidential,
            ):
                written = write(run, made, place := places[tables.top], out, progress, executor, beside=places)
                working.close()  # nothing is left for workers, whose memory the figures may need
                progress("comparing it with the original", 0)
                result, blocks, measured = mask_result(
                    run, made, written, out, manifest, progress, rules_out, tables.named
                )
                if executor is not None:  # which stage was the first for workers depends on the file
                    result = replace(result, notes=(*result.notes, *executor.notes))
                progress("testing the contract, writing the manifest", 0)
                require_releasable(run, result, measured)
                declared = declared_of(run, made)
                require_contract(run, declared, written.columns)
                in_memory = run.source.handed_back()
                entry, more = (None, ()) if registered is None else registered.enter(run, written)
                result = replace(result, notes=(*([config.found] if config.found else []), *result.notes, *more))
                content = manifest_of(run, made, result, blocks, written, declared, entry)
                write_plain(confidential, content, {} if written.order is None else {"order": written.order})
                with former_kept(manifest, content) as kept_former:
                    settle_publication(place)
    told = (
        kept_former + (() if registered is None else registered.confirm()) + stale_rules(run.account, out, rules_out)
    )
    return replace(result, data=in_memory, notes=(*result.notes, *told))


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


@contextmanager
def former_kept(manifest: Path, content: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Keep the manifest in the place of which a new one comes, unless it describes the same release.

    The copy is there before the new manifest is, for its owner alone: a process that is killed in between loses
    neither. It goes again where the context ends with an error. Of a link to a manifest it stands beside the file,
    not beside the link: that may be in a folder that somebody gives away.

    Parameters
    ----------
    manifest : Path
    content : mapping of str to plain data
        What the new manifest is going to say.

    Yields
    ------
    tuple of str
        A note that names the copy; none where there is nothing to keep.

    Raises
    ------
    DocumentError
        The copy cannot be written.
    """
    if not manifest.exists() or _same(manifest_content(manifest), content):
        yield ()
        return
    behind = Path(os.path.realpath(manifest))
    places = (numbered(behind, number) for number in itertools.count(1))
    place = next(one for one in places if not os.path.lexists(one))
    with atomic_path(place) as temporary:
        shutil.copyfile(behind, temporary)
    shown = place.name if behind.parent == Path(os.path.realpath(manifest.parent)) else place
    try:
        yield (
            "an earlier release of this name was replaced; its manifest is kept as "
            f"{shown} (confidential), as nothing else has the secret and the order of its records",
        )
    except BaseException:
        place.unlink(missing_ok=True)  # where somebody has removed it, the error is still the one to tell
        raise


def _same(former: Any, content: Mapping[str, Any]) -> bool:
    """Tell whether a manifest says all that the former one says, of the same bytes, original and secret."""
    entered = "register" in content or "register" not in former
    return entered and all(former.get(part) == content[part] for part in ("original", "output", "secret"))
