"""Masktron in Python: the four jobs on files or data frames."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.check import run_check
from masktron.jobs.explain import run_explain
from masktron.jobs.mask import run_mask
from masktron.jobs.validate import run_validate
from masktron.read.frame import to_frame, write_frame
from masktron.read.layout import detect_layout
from masktron.read.microdata import read_records
from masktron.results import CheckResult, ExplainResult, MaskResult, ValidateResult

type Source = str | PathLike[str] | pd.DataFrame
"""A microdata file, or a data frame with one row per record."""


def validate(
    data: Source,
    rules: str | PathLike[str],
    *,
    original: Source | None = None,
    record: str | None = None,
    phase: str | None = None,
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

    Returns
    -------
    ValidateResult

    Raises
    ------
    RulebookError, DocumentError, UsageError
    """
    with _file(data) as path, _optional_file(original) as source:
        return run_validate(path, Path(rules), original=source, record=record, phase=phase)


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

    Raises
    ------
    RulebookError, DocumentError, UsageError
    """
    with _optional_file(data) as path, _optional_file(original) as source:
        return run_explain(Path(rules), path, config=_config(config, settings), original=source)


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
        The masked file. May be left out for a data frame: then nothing is kept on disk, and the masked records are
        in ``result.data``.
    config : Config, optional
    manifest : path, optional
        ``manifest.json`` beside `out` when not given.
    **settings
        Settings of `Config` that override `config`, such as ``k=5`` or ``roles={"NAME": "identifier"}``.

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
    with _file(data) as path, tempfile.TemporaryDirectory(prefix="masktron-") as folder:
        target = Path(folder) / "masked.xml" if out is None else Path(out)
        result = run_mask(
            path,
            Path(rules),
            target,
            config=_config(config, settings),
            manifest=None if manifest is None else Path(manifest),
        )
        if not framed:
            return result
        return replace(result, data=to_frame(read_records(target, detect_layout(target))))


def check(
    masked: Source,
    rules: str | PathLike[str],
    *,
    original: Source | None = None,
    manifest: str | PathLike[str] | None = None,
    record: str | None = None,
    phase: str | None = None,
) -> CheckResult:
    """Check a masked file: its edits, and as far as manifest and original are given its contract.

    Parameters
    ----------
    masked, original : path or DataFrame
    rules : path
    manifest : path, optional
    record, phase : str, optional

    Raises
    ------
    UsageError, RulebookError, DocumentError
    """
    with _file(masked) as path, _optional_file(original) as source:
        return run_check(
            path,
            Path(rules),
            original=source,
            manifest=None if manifest is None else Path(manifest),
            record=record,
            phase=phase,
        )


def _config(config: Config | None, settings: dict[str, Any]) -> Config:
    if "roles" in settings:
        settings = {**settings, "roles": {name: Role(role) for name, role in settings["roles"].items()}}
    return replace(config or Config(), **settings)


@contextmanager
def _file(source: Source) -> Iterator[Path]:
    """Give a source a path; a data frame gets a file in a temporary folder."""
    if not isinstance(source, pd.DataFrame):
        yield Path(source)
        return
    with tempfile.TemporaryDirectory(prefix="masktron-") as folder:
        path = Path(folder) / "frame.xml"
        write_frame(source, path)
        yield path


@contextmanager
def _optional_file(source: Source | None) -> Iterator[Path | None]:
    if source is None:
        yield None
        return
    with _file(source) as path:
        yield path
