"""Mask a file so that every edit still holds."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from masktron.jobs.in_units import masked_by, parts_of, sized
from masktron.jobs.keys_known import refuse_limits_without_keys
from masktron.jobs.opening import open_original
from masktron.jobs.publishing import published
from masktron.jobs.register.registration import registration
from masktron.jobs.run_places import MaskRequest, places_of
from masktron.jobs.sharing import workers_of_run
from masktron.jobs.translated_rules import stale_rules
from masktron.jobs.treated_records import treated
from masktron.progress import Progress, no_progress
from masktron.results import MaskResult


def run_mask(request: MaskRequest, progress: Progress = no_progress) -> MaskResult:
    """Mask, settle, write, re-validate and report.

    The output and the manifest appear only when the written file has been read back and every engine agrees that it
    obeys the rules, with groups of at least k.

    Parameters
    ----------
    request : MaskRequest
    progress : callable

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
    places = places_of(request)
    config, out, resume = request.config, request.out, request.resume
    with (
        workers_of_run(config, progress) as workers,
        registration(config, request.again, out) as register,
        ExitStack() as stack,
    ):
        run = open_original(request.data, request.rules, config, progress, workers)
        run = stack.enter_context(treated(run, places.rules, progress, workers))
        run = sized(run, out, resume=resume).planned(progress)
        refuse_limits_without_keys(config.limits, run.keys)
        register.look_up(run, progress)
        with parts_of(run, out, resume=resume, progress=progress) as parts:
            made = masked_by(run, progress, parts=parts, executor=workers)
            result = published(run, made, places, register, progress, workers)
    return replace(result, notes=(*result.notes, *register.confirm(), *stale_rules(run.account, out, places.rules)))
