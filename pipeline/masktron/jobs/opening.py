"""A run up to where its fields are treated: the file and the rules are read, the records judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from masktron.codes import fields_of, kinds_by_file, likely_missing, unmet_in
from masktron.config import Config
from masktron.executor.contract import Executor
from masktron.jobs.column_memory import column_notes, read_columns
from masktron.jobs.common import judging_stage, require_records, size_notes
from masktron.jobs.described import completed
from masktron.jobs.documents import Given
from masktron.jobs.job import Job, open_job
from masktron.jobs.lowering.lower import Back, lower
from masktron.jobs.originals import judge_originals
from masktron.jobs.run import Run, released_of
from masktron.jobs.untested import may_be_untested, require_names
from masktron.progress import Progress, told_as
from masktron.roles import require_weights
from masktron.sources.wide.member_rows import MemberOrder
from masktron.unrolling.level_names import errors_by_level


def open_original(
    data: Path,
    rules: Path,
    config: Config,
    progress: Progress,
    executor: Executor | None = None,
) -> Run:
    """Read the rules and the file, and judge its records: a run up to where its fields are treated.

    Parameters
    ----------
    data, rules : Path
    config : Config
    progress : callable
    executor : Executor, optional
        Who judges slices of the original.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InvalidOriginalError
        What is given cannot be masked.
    """
    given = Given(config.documents, data, spare=config.spare_documents)
    job = open_job(data, rules, config, progress=progress, given=given, whole=True)
    return judged(job, config, progress, executor)


def judged(
    job: Job,
    config: Config,
    progress: Progress,
    executor: Executor | None = None,
    settled: frozenset[int] = frozenset(),
    order: MemberOrder | None = None,
) -> Run:
    """Lower the records of a file that is open, or of treated ones, classify their fields and judge them.

    Checks that are `settled` are known to hold of treated records, as they did before. Members of treated units stand
    in the `order` of the original.
    """
    job, back = lower(job, config, progress, executor, order)
    with errors_by_level(back.names), job.source.naming_elsewhere():
        return _judged(job, back, config, progress, executor, settled)


def _judged(
    job: Job, back: Back, stated: Config, progress: Progress, executor: Executor | None, settled: frozenset[int]
) -> Run:
    by_users = back.settings(stated, job)
    config, told = completed(back.with_kinds(by_users), job.source)
    reading = told_as(progress, f"reading {job.source.path.name}")
    records = read_columns(job.source, missing=config.missing, memory=config.memory, told=reading)
    require_records(job, len(records))
    require_names(job, may_be_untested(job, (*config.allow_unfired, *config.allow)))
    fields, likely = fields_of(
        records,
        job.edits,
        config,
        weights_later=True,
        called=back.names.name,
        by_file=kinds_by_file(config, by_users),
        nested=back.nested,
    )
    slow = size_notes(job)
    progress(judging_stage(job, slow), 0)
    originals = judge_originals(job, config, progress, executor, settled, back.left_out(job))
    if not job.rulebook.checks:  # no rule speaks of a single record of a nested file: nobody has looked at any
        originals = replace(originals, keep=np.ones(len(records), dtype=np.bool_))
    originals = back.released(originals, job, config)
    require_weights(records, fields, originals.keep)
    back.require_names(fields)
    return Run(
        given=stated,
        config=config,
        job=job,
        fields=tuple(fields),
        records=records,
        kept=released_of(records, originals),
        originals=originals,
        back=back,
        notes=(
            *told,
            *back.notes(stated),
            *column_notes(job.source, config.memory),
            *unmet_in(records, stated.missing),
            *likely.notes(),
            *likely_missing(records, fields, job.edits, job.source.variables),
        ),
        likely=likely,
        slow=tuple(slow),
    )
