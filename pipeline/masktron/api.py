"""Masktron in Python: the jobs on files or data frames."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from masktron.config import Config, config_from, limits_from
from masktron.errors import MasktronError, UsageError
from masktron.jobs.assess import run_assess
from masktron.jobs.check import require_inputs, run_check
from masktron.jobs.combine import CombineResult, read_estimates, run_combine
from masktron.jobs.explain import run_explain
from masktron.jobs.mask import run_mask
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.validate import run_validate
from masktron.read.frame import to_frame, write_frame
from masktron.read.layout import detect_layout
from masktron.read.microdata import read_records
from masktron.results import AssessResult, CheckResult, ExplainResult, MaskResult, ValidateResult
from masktron.thresholds import thresholds

type Source = str | PathLike[str] | pd.DataFrame
"""A microdata file, or a data frame with one row per record."""

FRAME = "data frame"
"""Stands for the path in results and messages about a data frame."""


def validate(
    data: Source,
    rules: str | PathLike[str],
    *,
    original: Source | None = None,
    record: str | None = None,
    phase: str | None = None,
    key: str | None = None,
    limit: int | None = 1000,
    max_failures: Mapping[str, int | str] | None = None,
    release_safe: bool = False,
) -> ValidateResult:
    """Evaluate every rule on every record.

    Parameters
    ----------
    data : path or DataFrame
        A data frame is seen as ``<Data><Record>`` with one element per column; missing values are absent elements.
    rules : path
        Schematron rulebook.
    original : path or DataFrame, optional
        What ``document()`` in the rules means; `data` itself when not given.
    record : str, optional
        Name of the record element, where the file leaves it open.
    phase : str, optional
        Schematron phase.
    key : str, optional
        Field that names the record in findings; ``@id`` where the file has it.
    limit : int or None
        Findings kept per rule, None for all; counts are always exact.
    max_failures : mapping of str to int or str, optional
        Failures that a rule may have before the result is not valid: nodes (``5``), or per cent of the nodes on which
        it fired (``"0.5%"``); by rule id, with ``*`` for the hard rules that it does not name.
    release_safe : bool
        Leave every value of a record out of the result and of errors: counts only, no findings.

    Returns
    -------
    ValidateResult
        ``findings`` lists what is wrong, record by record; ``to_frame()`` has it as a data frame.

    Raises
    ------
    RulebookError, DocumentError, UsageError
    """
    _texts(record=record, phase=phase, key=key)
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise UsageError(f"limit must be an integer of at least 0, or None for all, not {limit!r}")
    if not isinstance(release_safe, bool):
        raise UsageError(f"release_safe must be true or false, not {release_safe!r}")
    bounds = thresholds({} if max_failures is None else max_failures)
    with _file(data, "data") as path, _optional_file(original, "original") as source:
        result = run_validate(
            path,
            _path(rules, "rules"),
            original=source,
            record=record,
            phase=phase,
            key=key,
            limit=limit,
            max_failures=bounds,
            release_safe=release_safe,
        )
    return replace(result, data=_shown(data, result.data))


def explain(
    rules: str | PathLike[str],
    data: Source | None = None,
    *,
    original: Source | None = None,
    config: Config | None = None,
    **settings: Any,
) -> ExplainResult:
    """Say of each rule its class, variables and normal form; with data also what `mask` would do, and why.

    Parameters
    ----------
    rules : path
    data, original : path or DataFrame, optional
    config : Config, optional
    **settings
        Settings of `Config` that override `config`.

    Returns
    -------
    ExplainResult

    Raises
    ------
    RulebookError, DocumentError, UsageError
    """
    with _optional_file(data, "data") as path, _optional_file(original, "original") as source:
        result = run_explain(_path(rules, "rules"), path, config=_config(config, settings), original=source)
        if isinstance(data, pd.DataFrame) and result.obstacle is not None:
            return replace(result, obstacle=result.obstacle.replace(str(path), FRAME))
        return result


def mask(
    data: Source,
    rules: str | PathLike[str],
    out: str | PathLike[str] | None = None,
    *,
    config: Config | None = None,
    manifest: str | PathLike[str] | None = None,
    **settings: Any,
) -> MaskResult:
    """Mask records so that every rule still holds, and verify the written file.

    Parameters
    ----------
    data : path or DataFrame
    rules : path
    out : path, optional
        The masked file. May be left out for a data frame: then it is not kept on disk, and the masked records are
        in ``result.data``.
    config : Config, optional
    manifest : path, optional
        ``manifest.json`` beside `out` when not given.
    **settings
        Settings of `Config` that override `config`, such as ``k=5``, ``roles={"NAME": "identifier"}``,
        ``nominal=["NACE"]`` or ``ordinal={"SIZE": ["small", "medium", "large"]}``.

    Returns
    -------
    MaskResult
        With ``data``, the masked records, where `data` was a data frame.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InfeasibleError, ViolationError
    """
    framed = isinstance(data, pd.DataFrame)
    if out is None and not framed:
        raise UsageError("mask needs the name of a file to write", hint='mask("in.xml", "rules.sch", "out.xml")')
    with _file(data, "data") as path, tempfile.TemporaryDirectory(prefix="masktron-") as folder:
        target = Path(folder) / "masked.xml" if out is None else _path(out, "out")
        result = run_mask(
            path,
            _path(rules, "rules"),
            target,
            config=_config(config, settings),
            manifest=None if manifest is None else _path(manifest, "manifest"),
        )
        if not framed:
            return result
        masked = to_frame(read_records(target, detect_layout(target, record="Record")))
    return replace(
        result,
        data=masked,
        output="" if out is None else result.output,
        manifest="" if out is None and manifest is None else result.manifest,
    )


def check(
    masked: Source,
    rules: str | PathLike[str],
    *,
    original: Source | None = None,
    manifest: str | PathLike[str] | None = None,
    record: str | None = None,
    phase: str | None = None,
    max_failures: Mapping[str, int | str] | None = None,
    limits: Mapping[str, float] | None = None,
) -> CheckResult:
    """Check a masked file: its edits, and as far as manifest and original are given its contract.

    Parameters
    ----------
    masked, original : path or DataFrame
        A data frame cannot be compared with a manifest byte by byte, so there the files are wanted.
    rules : path
    manifest : path, optional
    record, phase : str, optional
    max_failures : mapping of str to int or str, optional
        As for `validate`.
    limits : mapping of str to float, optional
        Bounds of the figures of `assess`, by name: the most, or the least where a higher value is better. They need
        the original, and some the manifest.

    Returns
    -------
    CheckResult

    Raises
    ------
    UsageError, RulebookError, DocumentError
    """
    _texts(record=record, phase=phase)
    _no_frames(manifest, masked, original)
    figures = limits_from({} if limits is None else limits)
    require_inputs(figures, original, manifest)
    bounds = thresholds({} if max_failures is None else max_failures)
    with _file(masked, "masked") as path, _optional_file(original, "original") as source:
        result = run_check(
            path,
            _path(rules, "rules"),
            original=source,
            manifest=None if manifest is None else _path(manifest, "manifest"),
            record=record,
            phase=phase,
            max_failures=bounds,
            limits=figures,
        )
    return replace(result, data=_shown(masked, result.data))


def assess(
    masked: Source,
    original: Source,
    *,
    manifest: str | PathLike[str] | None = None,
    measures: Sequence[str] | None = None,
    class_field: str | None = None,
    config: Config | None = None,
    **settings: Any,
) -> AssessResult:
    """Compare a masked file with its original: what risk is left, and what the data are still good for.

    Parameters
    ----------
    masked, original : path or DataFrame
        Without a manifest the same records in the same order.
    manifest : path, optional
        Says which fields were masked together and which records were left out, and in which order they were
        written. It describes files, so data frames are compared without one.
    measures : sequence of str, optional
        Names of figures; all that can be had when not given.
    class_field : str, optional
        A field that sorts records into classes, for the figures of classes.
    config : Config, optional
        Roles, kinds and missing codes where there is no manifest; ``record`` and ``workers``.
    **settings
        Settings of `Config` that override `config`, such as ``roles={"Id": "key"}``.

    Returns
    -------
    AssessResult
        ``result["linkage"]`` is a figure; ``to_frame()`` has all with their meaning.

    Raises
    ------
    UsageError, DocumentError
    """
    _texts(class_field=class_field)
    _no_frames(manifest, masked, original)
    listed = measures is None or (isinstance(measures, Sequence) and not isinstance(measures, str))
    if not listed or not all(isinstance(name, str) for name in measures or ()):
        raise UsageError(f"measures must be a list of names, not {measures!r}", hint='for example ["linkage"]')
    with _file(masked, "masked") as path, _file(original, "original") as source:
        result = run_assess(
            path,
            source,
            manifest=None if manifest is None else _path(manifest, "manifest"),
            config=_config(config, settings),
            measures=measures,
            class_field=class_field,
        )
    return replace(result, masked=_shown(masked, result.masked), original=_shown(original, result.original))


def combine(
    estimates: str | PathLike[str] | Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    full: bool = False,
    level: float = 0.95,
    ratio: float = 1.0,
) -> CombineResult:
    """Combine what was estimated from several synthetic releases.

    Parameters
    ----------
    estimates : path or mapping
        By the name of a quantity its estimates and their variances (squared standard errors), release by release; or
        a CSV or JSON file with them.
    full : bool
        Whether the releases are fully synthetic. By default only some values are.
    level : float
        Of the confidence intervals.
    ratio : float
        Records of a release, divided by those of the original; for fully synthetic releases.

    Returns
    -------
    CombineResult
        ``result["mean income"].variance``; ``quantities`` has all of them.

    Raises
    ------
    UsageError
    """
    named = estimates if isinstance(estimates, Mapping) else read_estimates(_path(estimates, "estimates"))
    return run_combine(named, full=full, level=level, ratio=ratio)


def _no_frames(manifest: object, *sources: Source | None) -> None:
    if manifest is not None and any(isinstance(source, pd.DataFrame) for source in sources):
        raise UsageError(
            "a manifest describes files, and a data frame is none", hint="give the paths of the files, or no manifest"
        )


def _config(config: Config | None, settings: dict[str, Any]) -> Config:
    if config is not None and not isinstance(config, Config):
        raise UsageError(
            f"config must be a Config, not of type {type(config).__name__}",
            hint="use masktron.Config(k=5), masktron.load_config(path), or give settings by name: k=5",
        )
    return config_from(settings, base=config)


def _path(given: object, what: str) -> Path:
    if not isinstance(given, str | PathLike):
        raise UsageError(f"{what} must be a path, not of type {type(given).__name__}", hint="give the name of a file")
    name = os.fspath(given)
    return Path(name if isinstance(name, str) else os.fsdecode(name))


def _texts(**arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{name} must be a name, not {value!r}")


def _shown(source: Source, path: str) -> str:
    return FRAME if isinstance(source, pd.DataFrame) else path


@contextmanager
def _file(source: Source, what: str) -> Iterator[Path]:
    """Give a source a path; a data frame gets a file in a temporary folder, whose name no message shows."""
    if not isinstance(source, pd.DataFrame):
        if not isinstance(source, str | PathLike):
            raise UsageError(
                f"{what} must be a path or a data frame, not of type {type(source).__name__}",
                hint="give the name of a file, or a pandas DataFrame with one row per record",
            )
        yield _path(source, what)
        return
    with tempfile.TemporaryDirectory(prefix="masktron-") as folder:
        path = Path(folder) / "frame.xml"
        write_frame(source, path)
        try:
            yield path
        except MasktronError as error:
            error.where = error.where.replace(str(path), FRAME)
            if isinstance(error, InvalidOriginalError):
                error.result = replace(error.result, data=FRAME)
            raise


@contextmanager
def _optional_file(source: Source | None, what: str) -> Iterator[Path | None]:
    if source is None:
        yield None
        return
    with _file(source, what) as path:
        yield path
