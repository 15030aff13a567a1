"""Masktron in Python: the jobs on files or data frames."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import EllipsisType
from typing import Any, Unpack

import numpy as np
import pandas as pd

from masktron.addresses import AddressPath, is_address, path_of
from masktron.config import Config, ExecutorName, Role, config_from, did_you_mean, limits_from, memory_of
from masktron.errors import UsageError
from masktron.executor.which import asked_executor
from masktron.jobs.assess import run_assess
from masktron.jobs.check import require_inputs, run_check
from masktron.jobs.combine import read_estimates, run_combine
from masktron.jobs.convert import run_convert
from masktron.jobs.describe import ROWS, RowRange, run_describe
from masktron.jobs.explain import run_explain
from masktron.jobs.pairing import Stated
from masktron.jobs.recode import LOSS, RecodeWishes, run_recode, suppressed_records
from masktron.jobs.remedies.on_refusal import run_mask_or_suggest
from masktron.jobs.report import run_report
from masktron.jobs.rerun import Repeating, run_rerun
from masktron.jobs.suggest import run_suggest
from masktron.jobs.tune.asked import tune_settings_from, wider_limits
from masktron.jobs.tune.tuning import run_tune
from masktron.jobs.twice import Against, earlier_releases
from masktron.jobs.validate import run_validate
from masktron.keyword_arguments import told_in_python
from masktron.level_settings import GivenTables, levels_from
from masktron.processes import RULE_SECONDS, rules_within
from masktron.results import (
    AssessResult,
    CheckResult,
    CombineResult,
    ConvertResult,
    DescribeResult,
    ExplainResult,
    MaskResult,
    RecodeResult,
    ReportResult,
    RerunResult,
    SuggestResult,
    TuneResult,
    ValidateResult,
)
from masktron.scratch import private_folder
from masktron.settings import FieldSettings, PairSettings, Settings, takes
from masktron.sources.frame_path import FramePath
from masktron.sources.tables.frames import ArrowFrame, frame_format, is_data_frame, renamed, standing_for
from masktron.sources.tables.pandas_back import require_one_type
from masktron.thresholds import thresholds

type Microdata = str | PathLike[str] | pd.DataFrame | ArrowFrame
type OneOrMore = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A microdata file, or a frame with one row per record: of pandas, polars, pyarrow, DuckDB, or another library that
has the Arrow C stream."""

REPEATABLE = frozenset(
    {
        "roles",
        "missing",
        "nominal",
        "ordinal",
        "numeric",
        "quasi_identifiers",
        "documents",
        "metadata",
        "recode",
        "pram",
        "register",
        "workers",
        "executor",
        "scheduler",
    }
)
"""Settings that may be otherwise in a repeated run; the others are those of its manifest."""

_K_OF_KEYS = 3
"""Records that share a combination of keys, where `recode` is not told how many."""
INDEX = (
    "the index of the data frame is that of the original and leads every record back to it: drop it before a "
    "release, with result.data.reset_index(drop=True)"
)


@told_in_python
def validate(
    data: Microdata,
    rules: str | PathLike[str],
    *,
    original: Microdata | None = None,
    documents: Mapping[str, str | PathLike[str]] | None = None,
    record: str | None = None,
    format: str | None = None,  # noqa: A002 -- what it is called in every reader of tables
    format_options: Mapping[str, str] | None = None,
    metadata: str | PathLike[str] | None = None,
    levels: Mapping[str, Mapping[str, Any]] | None = None,
    phase: str | None = None,
    record_id: str | None = None,
    max_findings: int | None = 1000,
    max_failures: Mapping[str, int | str] | None = None,
    allow_unfired: Sequence[str] = (),
    allow_empty: bool = False,
    release_safe: bool = False,
    rule_timeout: float = RULE_SECONDS,
    workers: int | None = None,
    executor: ExecutorName = "local",
    scheduler: str | None = None,
    limit: int | EllipsisType | None = ...,
) -> ValidateResult:
    """Evaluate every rule on every record.

    Parameters
    ----------
    data : path or data frame
        A text may be the address of a table, ``postgresql://USER@HOST/DB?table=SCHEMA.NAME``, also in `original` and
        in the other functions. A frame is one of pandas, polars, pyarrow, DuckDB or another library that has the
        Arrow C stream. It is seen as ``<Data><Record>``, or as the rules name it, with one element per column, named
        as `mask` says; missing values are absent elements.
    rules : path
        Schematron rulebook.
    original : path or data frame, optional
        What ``document()`` in the rules means, where `documents` does not say so.
    documents : mapping of str to path, optional
        Other files that rules read, by what stands in their ``document()`` or ``doc()``.
    record : str, optional
        Name of the record element, where the file leaves it open.
    format : str, optional
        Name of the format of the files; what their suffixes say when not given.
    format_options : mapping of str to str, optional
        What the format is told, by the names of its options.
    metadata : path, optional
        What the variables mean, beside the data: DDI-Codebook or Table Schema; ``fields`` of the result has labels.
    levels : mapping of str to mapping, optional
        Of nested records in tables: what ``[levels]`` of the settings says of each level.
    phase : str, optional
        Schematron phase.
    record_id : str, optional
        Field that names the record in findings; by default the key of the top level, where `levels` says it, else
        ``@id`` where the file has it.
    max_findings : int or None
        Findings kept per rule, None for all; counts are always exact.
    max_failures : mapping of str to int or str, optional
        Failures that a rule may have before the result is not valid: nodes (``5``), or per cent of the nodes on which
        it fired (``"0.5%"``); by rule id, with ``*`` for the hard rules that it does not name.
    allow_unfired : sequence of str, optional
        Ids of rules that the data need not test: they may fire on nothing, or read a field that the data never have.
        ``"*"`` for all rules.
    allow_empty : bool
        Whether data without records are valid; an error by default.
    release_safe : bool
        Leave every value of a record out of the result and of errors: counts only, no findings.
    rule_timeout : float
        Seconds that an engine may take for one rule on one record, or on a whole document. One that takes longer is
        ended, and a `ResourceError` names the rule and the record.
    workers : int, optional
        Processes that a large flat file (XML, CSV, Parquet) is given to in slices; this process alone when None. The
        result is the same for any number.
    executor : {"local", "dask"}
        Processes of this machine, or the workers of a Dask cluster, for which ``masktron[dask]`` has to be installed.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers find the files under the same paths; when None, there is a cluster
        of `workers` on this machine.
    limit : int or None
        Former name of `max_findings`, with a DeprecationWarning: `mask` and `check` have limits of figures.

    Returns
    -------
    ValidateResult
        ``findings`` lists what is wrong, record by record; ``to_frame()`` has it as a data frame.

    Raises
    ------
    RulebookError, DocumentError, UsageError, ResourceError
    """
    _texts(record=record, phase=phase, record_id=record_id)
    if not isinstance(limit, EllipsisType):
        warnings.warn("limit of validate is called max_findings now", DeprecationWarning, stacklevel=3)
        max_findings = limit
    if max_findings is not None and (
        not isinstance(max_findings, int) or isinstance(max_findings, bool) or max_findings < 0
    ):
        raise UsageError(f"max_findings must be an integer of at least 0, or None for all, not {max_findings!r}")
    _switch(release_safe, "release_safe")
    _no_format(format, data, original)
    bounds = thresholds({} if max_failures is None else max_failures)
    way = Config(rule_timeout=rule_timeout, workers=workers, executor=executor, scheduler=scheduler)
    with rules_within(way.rule_timeout):
        return run_validate(
            _source(data, "data"),
            _path(rules, "rules"),
            original=_optional_source(original, "original"),
            documents=_documents(documents),
            reading=Config(
                record=record,
                format=format,
                format_options=format_options or {},
                metadata=None if metadata is None else _path(metadata, "metadata"),
                levels=levels_from(levels or {}, ""),
            ).reading,
            phase=phase,
            record_id=record_id,
            limit=max_findings,
            max_failures=bounds,
            allow_unfired=_rules(allow_unfired),
            allow_empty=_switch(allow_empty, "allow_empty"),
            release_safe=release_safe,
            executor=asked_executor(way),
        )


@takes(Settings)
@told_in_python
def explain(
    rules: str | PathLike[str],
    data: Microdata | None = None,
    *,
    original: Microdata | None = None,
    config: Config | None = None,
    **settings: Unpack[Settings],
) -> ExplainResult:
    """Say of each rule its class, variables and normal form; with data also what `mask` would do, and why.

    Parameters
    ----------
    rules : path
    data, original : path or data frame, optional
    config : Config, optional
        Settings that those given by name override.

    Returns
    -------
    ExplainResult

    Raises
    ------
    RulebookError, DocumentError, UsageError, ResourceError
    """
    path, source = _optional_source(data, "data"), _optional_source(original, "original")
    settled = _config(config, settings)
    _no_format(settled.format, data, original)
    with rules_within(settled.rule_timeout):
        result = run_explain(_path(rules, "rules"), path, config=settled, original=source)
    return replace(result, notes=(*result.notes, *_renamed(path)))


@takes(FieldSettings)
@told_in_python
def describe(
    data: Microdata,
    *,
    rows: int = ROWS,
    start: int = 1,
    release_safe: bool = False,
    config: Config | None = None,
    **settings: Unpack[FieldSettings],
) -> DescribeResult:
    """Say what a file holds: its fields, what `mask` would take them for and why, some records, and problems.

    Parameters
    ----------
    data : path or data frame
    rows : int
        Records to show.
    start : int
        Number of the first of them, from 1.
    release_safe : bool
        Leave every value of a record out.
    config : Config, optional
        Settings that those given by name override.

    Returns
    -------
    DescribeResult
        Confidential: ``rows`` has records, ``fields`` extreme and frequent values.

    Raises
    ------
    DocumentError, UsageError
    """
    for name, value in (("rows", rows), ("start", start)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise UsageError(f"{name} must be an integer, not {value!r}")
    settled = _config(config, settings)
    _no_format(settled.format, data)
    return run_describe(
        _source(data, "data"),
        config=settled,
        rows=RowRange(rows, start),
        release_safe=_switch(release_safe, "release_safe"),
    )


@takes(FieldSettings)
@told_in_python
def suggest(
    data: Microdata,
    out: str | PathLike[str] | None = None,
    *,
    accept: str | Sequence[str | int] = (),
    config: Config | None = None,
    **settings: Unpack[FieldSettings],
) -> SuggestResult:
    """Propose rules that the data suggest, each with what speaks for it, and write those that are accepted.

    Parameters
    ----------
    data : path or data frame
    out : path, optional
        The rulebook of what is accepted.
    accept : str, or sequence of str or int
        Numbers or ids of proposals, ranges such as ``"5-8"``, or ``"all"``. Nothing is written without.
    config : Config, optional
        Settings that those given by name override.

    Returns
    -------
    SuggestResult
        ``proposals`` has them, strong ones first. Confidential: lists of codes and bounds show values.

    Raises
    ------
    DocumentError, UsageError
    """
    asked = [accept] if isinstance(accept, str) else accept
    if not isinstance(asked, Sequence) or not all(isinstance(one, str | int) for one in asked):
        raise UsageError(f"accept must be a list of numbers or ids, not {accept!r}", hint='accept="all"')
    settled = _config(config, settings)
    _no_format(settled.format, data)
    return run_suggest(
        _source(data, "data"),
        None if out is None else _path(out, "out"),
        accept=[str(one) for one in asked],
        config=settled,
    )


@takes(Settings)
@told_in_python
def mask(
    data: Microdata,
    rules: str | PathLike[str],
    out: str | PathLike[str] | None = None,
    *,
    config: Config | None = None,
    manifest: str | PathLike[str] | None = None,
    rules_out: str | PathLike[str] | None = None,
    replace: bool = False,
    again: str | None = None,
    resume: bool = False,
    **settings: Unpack[Settings],
) -> MaskResult:
    """Mask records so that every rule still holds, and verify the written file.

    A data frame comes back with its types, the labels of its columns and its index, without identifiers and records
    that were left out. A masked value that its type cannot hold stops the run, as rounding could break a rule. Its
    index links each row to the original: drop it before a release. Columns whose labels are no XML names have others
    in rules and settings, as in files: ``annual income`` is ``annual_x0020_income``, 2024 is ``_x0032_024``.
    Booleans, and categorical columns of numbers, are masked as categories, those of texts when they are ordered or
    have a role.
    A frame of polars or pyarrow, or a relation of DuckDB, comes back as one of the same kind, with the types of its
    columns; one of another library as a `pyarrow.Table`. Categories that no released record has any more are gone.

    Parameters
    ----------
    data : path or data frame
    rules : path
    out : path, optional
        The masked file; of a data frame in any format that its name says. May be left out for a data frame: then
        nothing is kept on disk, and the masked records are in ``result.data``.
    config : Config, optional
        Settings that those given by name override, such as ``k=5``, ``roles={"NAME": "identifier"}``,
        ``nominal=["NACE"]`` or ``ordinal={"SIZE": ["small", "medium", "large"]}``.
    manifest : path, optional
        ``released.manifest.json`` beside ``released.xml`` when not given.
    rules_out : path, optional
        Where the rules go as a recoding leaves them (``recode``), if it changes some; ``released.rules.sch`` beside
        ``released.xml`` when not given. They are in ``result.rulebook``, too.
    replace : bool
        Let `out` take the place of a table of its name in a database; a file is always replaced.
    again : str, optional
        Why records are released again that the register of releases (``register``) has already.
    resume : bool
        Go on from the units that a run which was ended has finished, if nothing has changed: files too large for the
        memory are masked in units (``memory``, ``unit_records``).

    Returns
    -------
    MaskResult
        With ``data``, the masked records, where `data` was a data frame.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InfeasibleError, ViolationError, ResourceError
        With ``on_refusal="suggest"``, the attribute ``refusal`` of an InfeasibleError or ViolationError is a
        RefusalResult: what could help, and what it costs.
    """
    _texts(again=again)
    settled = _config(config, settings)
    if _is_frame(data):
        _no_format(settled.format, data)
        if _switch(resume, "resume"):
            raise UsageError("a data frame is masked in one run, and there is nothing to go on from")
        with rules_within(settled.rule_timeout):
            return _mask_frame(
                standing_for(data),
                _path(rules, "rules"),
                out,
                settled,
                manifest,
                rules_out,
                replaces=_switch(replace, "replace"),
                again=again,
            )
    if out is None:
        raise UsageError("mask needs the name of a file to write", hint='mask("in.xml", "rules.sch", "out.xml")')
    with rules_within(settled.rule_timeout):
        return run_mask_or_suggest(
            _source(data, "data"),
            _path(rules, "rules"),
            _place(out, "out"),
            config=settled,
            manifest=None if manifest is None else _path(manifest, "manifest"),
            rules_out=None if rules_out is None else _path(rules_out, "rules_out"),
            replaces=_switch(replace, "replace"),
            again=again,
            resume=_switch(resume, "resume"),
        )


def _mask_frame(
    frame: FramePath,
    rules: Path,
    out: str | PathLike[str] | None,
    config: Config,
    manifest: str | PathLike[str] | None,
    rules_out: str | PathLike[str] | None,
    *,
    replaces: bool,
    again: str | None,
) -> MaskResult:
    """Mask a data frame; without a name for a file, nothing is kept on disk."""
    of_pandas = isinstance(frame.frame, pd.DataFrame)
    if of_pandas:
        unmasked = {name for name, role in config.roles.items() if role is not Role.CONFIDENTIAL}
        require_one_type(frame.frame, unmasked)
    with private_folder() as folder:
        result = run_mask_or_suggest(
            frame,
            rules,
            FramePath(folder / "masked") if out is None else _place(out, "out"),
            config=config,
            manifest=None if manifest is None else _path(manifest, "manifest"),
            rules_out=None if rules_out is None else _path(rules_out, "rules_out"),
            replaces=replaces,
            again=again,
        )
    return replace(
        result,
        rules_file="" if out is None and rules_out is None else result.rules_file,
        output="" if out is None else result.output,
        manifest="" if out is None and manifest is None else result.manifest,
        notes=(*result.notes, *_renamed(frame), *([INDEX] if of_pandas else [])),
    )


@told_in_python
def rerun(
    manifest: str | PathLike[str],
    data: str | PathLike[str],
    out: str | PathLike[str],
    *,
    rules: str | PathLike[str] | None = None,
    new_manifest: str | PathLike[str] | None = None,
    accept: Sequence[str] = (),
    tables: Mapping[str, str | PathLike[str]] | None = None,
    dry_run: bool = False,
    again: str | None = None,
    replace: bool = False,
    **settings: Any,
) -> RerunResult:
    """Do on another file what a run of `mask` has done, and compare both.

    Settings, rules and method are those of the manifest. The same file gives the same bytes, where no version and no
    setting has changed; another file has a secret of its own.

    Parameters
    ----------
    manifest : path
        Of the former run.
    data : path
    out : path
        The masked file.
    rules : path, optional
        The rulebook, where it has moved or is another one.
    new_manifest : path, optional
        The manifest of this run; ``released.manifest.json`` beside ``released.xml`` when not given.
    accept : sequence of str
        Kinds of changes that do not stand in the way, such as ``"new-field"``: `masktron.jobs.changes.KINDS`.
    tables : mapping of str to path, optional
        Tables of this run by their levels, where keys join several: ``{"Person": "persons.csv"}``. That of the last
        run is taken for a level without one.
    dry_run : bool
        Say what has changed and what would happen, and write nothing.
    again : str, optional
        As for `mask`.
    replace : bool
        As for `mask`.
    **settings
        What is said otherwise: ``roles``, ``missing``, ``nominal``, ``ordinal``, ``numeric``, ``documents``,
        ``metadata``, ``register``, ``workers``, ``executor`` and ``scheduler``, as for `mask`; ``recode`` and
        ``pram`` say where the same hierarchies and matrices are now. Tables are joined with those of the former run.

    Returns
    -------
    RerunResult
        ``changes``, ``figures``, ``blocks`` and ``failures`` of both runs; ``run`` is the result of `mask`.

    Raises
    ------
    ChangedInputError
        The file or the rules do not fit any more; ``result`` has all changes.
    UsageError, RulebookError, DocumentError, InfeasibleError, ViolationError, ResourceError
        As for `mask`.
    """
    _texts(again=again)
    if not isinstance(accept, Sequence) or isinstance(accept, str):
        raise UsageError(f"accept must be a list of kinds of changes, not {accept!r}", hint='accept=["new-field"]')
    if unknown := sorted({*settings} - REPEATABLE):
        raise UsageError(
            f"rerun takes no setting {unknown[0]!r}: all others are those of the manifest",
            hint=did_you_mean(unknown[0], sorted(REPEATABLE)),
        )
    stated = config_from(settings)
    how = Repeating(
        rules=None if rules is None else _path(rules, "rules"),
        manifest=None if new_manifest is None else _path(new_manifest, "new_manifest"),
        accept=tuple(accept),
        tables=_tables(tables),
        settings={name: getattr(stated, name) for name in settings},
        again=again,
        replaces=_switch(replace, "replace"),
        dry_run=_switch(dry_run, "dry_run"),
    )
    return run_rerun(_path(manifest, "manifest"), _place(data, "data"), _place(out, "out"), how)


def _renamed(path: Path | None) -> Iterator[str]:
    """Say which columns of a data frame have other names in rules and settings."""
    if isinstance(path, FramePath):
        yield from renamed(frame_format(path).read(path, {}))


@told_in_python
def check(
    masked: Microdata,
    rules: str | PathLike[str],
    *,
    original: Microdata | None = None,
    documents: Mapping[str, str | PathLike[str]] | None = None,
    manifest: str | PathLike[str] | None = None,
    record: str | None = None,
    format: str | None = None,  # noqa: A002 -- what it is called in every reader of tables
    format_options: Mapping[str, str] | None = None,
    levels: Mapping[str, Mapping[str, Any]] | None = None,
    tables: Mapping[str, str | PathLike[str]] | None = None,
    original_tables: Mapping[str, str | PathLike[str]] | None = None,
    phase: str | None = None,
    max_failures: Mapping[str, int | str] | None = None,
    limits: Mapping[str, float] | None = None,
    allow_unfired: Sequence[str] = (),
    allow_empty: bool = False,
    same_order: bool = False,
    quasi_identifiers: Sequence[str] = (),
    rule_timeout: float = RULE_SECONDS,
    memory: int | str | None = None,
    workers: int | None = None,
    executor: ExecutorName = "local",
    scheduler: str | None = None,
) -> CheckResult:
    """Check a masked file: its edits, and as far as manifest and original are given its contract.

    Parameters
    ----------
    masked, original : path or data frame
        A data frame cannot be compared with a manifest byte by byte, so there the files are wanted.
    rules : path
    documents : mapping of str to path, optional
        As for `validate`.
    manifest : path, optional
    record, format, phase : str, optional
        As for `validate`.
    format_options : mapping of str to str, optional
        As for `validate`.
    levels : mapping of str to mapping, optional
        Of nested records in tables, as for `validate`, those of the original; the tables of the release lie beside
        the masked file. What the manifest says when not given.
    tables, original_tables : mapping of str to path, optional
        Tables of the release, and of the original, by level, where they lie elsewhere: ``{"Person": "persons.csv"}``.
    max_failures : mapping of str to int or str, optional
        As for `validate`.
    limits : mapping of str to float, optional
        Bounds of the figures of `assess`, by name: the most, or the least where a higher value is better. They need
        the original, and some the manifest. The limits of the manifest hold as well; of two the stricter one.
    allow_unfired : sequence of str, optional
        As for `validate`. Rules of which the manifest says that the masked file does not test them need not be named.
    allow_empty : bool
        As for `validate`.
    same_order : bool
        As for `assess`, for limits of figures.
    quasi_identifiers : sequence of str
        Fields that others may know, for limits on figures of keys; those of the manifest where none is given.
    rule_timeout : float
        As for `validate`.
    memory : int or str, optional
        Bytes that all processes may take, or a text such as ``4GB``; half of what is free when None.
    workers : int, optional
        Processes that slices of a large flat file are given to, for the rules and for engines that are not ours. When
        None, rules are evaluated in this process, and engines have a process for each core, up to four. The result is
        the same for any number.
    executor : {"local", "dask"}
    scheduler : str, optional
        As for `validate`.

    Returns
    -------
    CheckResult

    Raises
    ------
    UsageError, RulebookError, DocumentError, ResourceError
    """
    _texts(record=record, phase=phase)
    _no_frames(manifest, masked, original)
    figures = limits_from({} if limits is None else limits)
    require_inputs(figures, original, manifest)
    _no_format(format, masked, original)
    bounds = thresholds({} if max_failures is None else max_failures)
    way = Config(
        rule_timeout=rule_timeout,
        memory=None if memory is None else memory_of(memory),
        workers=workers,
        executor=executor,
        scheduler=scheduler,
    )
    with rules_within(way.rule_timeout):
        return run_check(
            _source(masked, "masked"),
            _path(rules, "rules"),
            original=_optional_source(original, "original"),
            documents=_documents(documents),
            manifest=None if manifest is None else _path(manifest, "manifest"),
            reading=Config(
                record=record,
                format=format,
                format_options=format_options or {},
                levels=levels_from(levels or {}, ""),
            ).reading,
            phase=phase,
            max_failures=bounds,
            limits=figures,
            allow_unfired=_rules(allow_unfired),
            allow_empty=_switch(allow_empty, "allow_empty"),
            config=config_from({"quasi_identifiers": quasi_identifiers}, base=way),
            stated=_stated(masked, original, same_order),
            tables=GivenTables(_tables(tables), _tables(original_tables)),
        )


@takes(Settings)
@told_in_python
def recode(
    data: Microdata,
    rules: str | PathLike[str],
    hierarchies: Mapping[str, str | PathLike[str]],
    *,
    suppressed: int | str = 0,
    loss: str = LOSS,
    importance: Mapping[str, float] | None = None,
    diversity: Mapping[str, int] | None = None,
    header: bool = False,
    write: str | PathLike[str] | None = None,
    config: Config | None = None,
    **settings: Unpack[Settings],
) -> RecodeResult:
    """Find the recodings of keys that lose least and reach k, and say what they make of rules and of risk.

    Keys are the fields with a hierarchy and all others that are named as quasi-identifiers and are not masked. What
    is searched, and what is counted, stands in docs/keys.md.

    Parameters
    ----------
    data : path or data frame
    rules : path
    hierarchies : mapping of str to path
        For each field a CSV file with a value and its labels in each row.
    suppressed : int or str
        Records that may share their combination with fewer than k, and are left to local suppression: a number, or a
        share such as ``"1%"``.
    loss : str
        Measure of loss: ``"entropy"``, ``"precision"`` or ``"discernibility"``.
    importance : mapping of str to float, optional
        How much a loss in a key counts beside others; 1 where not given.
    diversity : mapping of str to int, optional
        Different values of a masked field beside each combination, at least.
    header : bool
        Whether the first row of the hierarchies has names.
    write : path, optional
        A new file of settings with the section ``[recode]``, for `mask`.
    config : Config, optional
        Settings that those given by name override: ``key_k``, how many records share a combination (3 by default),
        ``limits`` on figures of keys, ``allow_lost``, and what fields are.

    Returns
    -------
    RecodeResult
        ``recode`` is what ``mask(recode=...)`` takes.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InvalidOriginalError, InfeasibleError
    """
    settled = _config(config, settings)
    _no_format(settled.format, data)
    files = {
        name: _path(path, f"hierarchies[{name!r}]") for name, path in _mapping(hierarchies, "hierarchies").items()
    }
    wishes = RecodeWishes(
        k=_K_OF_KEYS if settled.key_k is None else settled.key_k,
        suppressed=suppressed_records(str(suppressed)),
        loss=loss,
        importance=_mapping(importance or {}, "importance"),
        diversity=_mapping(diversity or {}, "diversity"),
        allow_lost=settled.allow_lost,
        header=_switch(header, "header"),
    )
    with rules_within(settled.rule_timeout):
        return run_recode(
            _source(data, "data"),
            _path(rules, "rules"),
            files,
            wishes,
            config=settled,
            write=None if write is None else _path(write, "write"),
        )


@takes(Settings)
@told_in_python
def tune(
    data: Microdata,
    rules: str | PathLike[str],
    out: str | PathLike[str] | None = None,
    *,
    config: Config | None = None,
    ask: Mapping[str, object] | None = None,
    **settings: Unpack[Settings],
) -> TuneResult:
    """Mask records in several ways, in memory, compare risk and utility, and recommend one way.

    Parameters
    ----------
    data : path or data frame
    rules : path
    out : path, optional
        Folder for ``tune.json`` and for what a run that goes on finds; it is made where it is not there. Without one
        nothing is kept.
    config : Config, optional
        Settings that those given by name override. Each candidate has its own method, parameters, aggregator, k and
        grouping, and treatment of keys where that is asked for; all else is the same for all.
    ask : mapping of str to value, optional
        What is tried, by the keys of the table ``[tune]`` of a file of settings:
        ``{"methods": ["mdav", "noise"], "k": [3, 10], "recode": {"AGE": ["width:5"]}, "key_k": 3, "budget": "5m"}``;
        ``pram`` as ``recode``, and ``swap_rate`` where the settings say which regions are swapped.

    Returns
    -------
    TuneResult
        ``candidates`` has all of them, ``recommended`` the position of the one to take and ``why`` the reason;
        ``to_frame()`` has them as a data frame.

    Raises
    ------
    UsageError, RulebookError, DocumentError, ViolationError, ResourceError
    """
    settled = _config(config, settings)
    if _is_frame(data):
        _no_format(settled.format, data)
    with rules_within(settled.rule_timeout):
        return run_tune(
            _source(data, "data"),
            _path(rules, "rules"),
            None if out is None else _path(out, "out"),
            config=settled,
            asked=replace(
                tune_settings_from({} if ask is None else ask, "ask"),
                least=settled.k if config is not None or "k" in settings else 0,
                wider=() if config is None else wider_limits(config.limits, settled.limits),
            ),
        )


@takes(PairSettings)
@told_in_python
def assess(
    masked: Microdata,
    original: Microdata,
    *,
    manifest: str | PathLike[str] | None = None,
    measures: Sequence[str] | None = None,
    class_field: str | None = None,
    same_order: bool = False,
    tables: Mapping[str, str | PathLike[str]] | None = None,
    original_tables: Mapping[str, str | PathLike[str]] | None = None,
    against: OneOrMore | None = None,
    against_original: OneOrMore | None = None,
    against_manifest: OneOrMore | None = None,
    config: Config | None = None,
    **settings: Unpack[PairSettings],
) -> AssessResult:
    """Compare a masked file with its original: what risk is left, and what the data are still good for.

    Parameters
    ----------
    masked, original : path or data frame
        Masked records may be in random order. Without a manifest, data frames are put together by their indices,
        unless that of the masked one simply counts from 0; and files by a field that differs in every record and has
        the same values in both, or has the role record-id. Else figures that compare record by record need
        `same_order`.
    manifest : path, optional
        Says which fields were masked together and which records were left out, and in which order they were
        written. It describes files, so data frames are compared without one.
    measures : sequence of str, optional
        Names of figures; all that can be had when not given.
    class_field : str, optional
        A field that sorts records into classes, for the figures of classes.
    same_order : bool
        The masked records are in the order of the original.
    tables, original_tables : mapping of str to path, optional
        As for `check`.
    against : path or list of paths, optional
        Earlier releases of the same respondents, for the figure ``differencing``: how many values all of
        them and this one give away together. It needs `manifest`.
    against_original : path or list of paths, optional
        What each earlier release was made of, in the same order; `original` when not given.
    against_manifest : path or list of paths, optional
        Their manifests, in the same order; the one beside each when not given.
    config : Config, optional
        Roles, kinds and missing codes where there is no manifest; ``record``, ``memory`` and ``workers``. Those given
        by name override them, such as ``roles={"Id": "record-id"}``.

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
    settled = _config(config, settings)
    _no_format(settled.format, masked, original)
    return run_assess(
        _source(masked, "masked"),
        _source(original, "original"),
        manifest=None if manifest is None else _path(manifest, "manifest"),
        config=settled,
        measures=measures,
        class_field=class_field,
        stated=_stated(masked, original, same_order),
        tables=GivenTables(_tables(tables), _tables(original_tables)),
        against=_against(against, against_original, against_manifest),
    )


def _against(released: object, original: object, manifest: object) -> tuple[Against, ...]:
    return earlier_releases(
        [_place(one, "against") for one in _listed(released)],
        [_place(one, "against_original") for one in _listed(original)],
        [_path(one, "against_manifest") for one in _listed(manifest)],
    )


def _listed(given: object) -> list[object]:
    if given is None:
        return []
    return [*given] if isinstance(given, list | tuple) else [given]


def _stated(masked: Microdata, original: Microdata | None, same_order: object) -> Stated:
    """What is said of the order of records; of two data frames by their indices, where these lead back.

    An index that simply counts from 0 may have been made anew, and says nothing.
    """
    if not isinstance(same_order, bool):
        raise UsageError(f"same_order must be true or false, not {same_order!r}")
    if not (isinstance(masked, pd.DataFrame) and isinstance(original, pd.DataFrame)):
        return Stated(same_order)
    labels = masked.index
    if labels.equals(pd.RangeIndex(len(labels))) or not (labels.is_unique and original.index.is_unique):
        return Stated(same_order)
    rows = original.index.get_indexer(labels)
    if (rows < 0).any():
        return Stated(same_order)
    if same_order and (np.diff(rows) != 1).any():
        raise UsageError(
            "the indices of the data frames have another order than same_order says",
            hint="leave same_order out: the index leads each masked row to its original",
        )
    return Stated(index=rows)


@told_in_python
def convert(
    data: Microdata,
    out: str | PathLike[str],
    *,
    record: str | None = None,
    format: str | None = None,  # noqa: A002 -- what it is called in every reader of tables
    format_options: Mapping[str, str] | None = None,
    to: str | None = None,
    to_options: Mapping[str, str] | None = None,
    metadata: str | PathLike[str] | None = None,
    rename: Mapping[str, str] | None = None,
    replace: bool = False,
) -> ConvertResult:
    """Write the records of a file or a data frame in another format, read them back, and compare every value.

    Parameters
    ----------
    data : path or data frame
    out : path
        The file to write, whose name says the format; or, as a text, the address of a table.
    record : str, optional
        Name of the record element, in XML.
    format : str, optional
        Name of the format of `data`; what its suffix says when not given.
    format_options : mapping of str to str, optional
        What that format is told, by the names of its options.
    to : str, optional
        Name of the format of `out`, where its name does not say it.
    to_options : mapping of str to str, optional
        What that format is told.
    metadata : path, optional
        A description of the variables of `data`: DDI-Codebook or Table Schema.
    rename : mapping of str to str, optional
        New names of columns, by the names that they have.
    replace : bool
        Let `out` take the place of a table of its name in a database; a file is always replaced.

    Returns
    -------
    ConvertResult
        ``losses`` says what the original says and the target cannot hold; a value is never among it.

    Raises
    ------
    UsageError
        The target cannot hold a value or a name; nothing is written.
    DocumentError, ViolationError
    """
    _texts(record=record, to=to)
    _no_format(format, data)
    described = None if metadata is None else _path(metadata, "metadata")
    reading = Config(record=record, format=format, format_options=format_options or {}, metadata=described).reading
    writing = Config(record=record, format=to, format_options=to_options or {}).reading
    return run_convert(
        _source(data, "data"),
        _place(out, "out"),
        reading=reading,
        writing=writing,
        rename=rename or {},
        replaces=_switch(replace, "replace"),
    )


@told_in_python
def write_report(
    result: str | PathLike[str],
    *,
    html: str | PathLike[str] | None = None,
    html_public: str | PathLike[str] | None = None,
    masked: str | PathLike[str] | None = None,
    original: str | PathLike[str] | None = None,
    rules: str | PathLike[str] | None = None,
    beside: Sequence[str | PathLike[str]] = (),
) -> ReportResult:
    """Write pages with pictures of a result that was kept: one HTML file each, readable without a network.

    Parameters
    ----------
    result : path
        What a command wrote with ``--json``, or the manifest of `mask`, which has the most to show.
    html : path, optional
        The page for inside the agency. Confidential, but of a rulebook without data or of counts alone.
    html_public : path, optional
        The page for whoever gets the masked file: what was done, and what an analyst must know; no value of an
        original record. It needs a manifest.
    masked, original, rules : path, optional
        The files of a manifest, where they are not where it says. Other files are refused by their SHA-256.
    beside : sequence of path
        Results of the same command to compare with: earlier validations, the oldest first, or other ways to mask.

    Returns
    -------
    ReportResult

    Raises
    ------
    UsageError, RulebookError, DocumentError
    """
    return run_report(
        _path(result, "result"),
        masked=None if masked is None else _place(masked, "masked"),
        original=None if original is None else _place(original, "original"),
        rules=None if rules is None else _path(rules, "rules"),
        beside=[_path(one, "beside") for one in beside],
        html=None if html is None else _path(html, "html"),
        html_public=None if html_public is None else _path(html_public, "html_public"),
    )


@told_in_python
def combine(
    estimates: str | PathLike[str] | Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    full: bool = False,
    population: bool = False,
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
    population : bool
        Whether each release is a sample from a synthetic population of its own.
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
    return run_combine(named, full=full, population=population, level=level, ratio=ratio)


def _no_frames(manifest: object, *sources: Microdata | None) -> None:
    if manifest is not None and any(map(_is_frame, sources)):
        raise UsageError(
            "a manifest describes files, and a data frame is none", hint="give the paths of the files, or no manifest"
        )


def _no_format(name: str | None, *sources: Microdata | None) -> None:
    if name is not None and any(map(_is_frame, sources)):
        raise UsageError(f"a data frame has no format {name!r}", hint="leave it out")


def _is_frame(source: object) -> bool:
    return not isinstance(source, str | PathLike) and is_data_frame(source)


def _config(config: Config | None, settings: Mapping[str, object]) -> Config:
    if config is not None and not isinstance(config, Config):
        raise UsageError(
            f"config must be a Config, not of type {type(config).__name__}",
            hint=f"config=masktron.load_config({str(config)!r})"
            if isinstance(config, str | PathLike)
            else "use masktron.Config(k=5), masktron.load_config(path), or give settings by name: k=5",
        )
    return config_from(settings, base=config)


def _path(given: object, what: str) -> Path:
    if not isinstance(given, str | PathLike):
        raise UsageError(f"{what} must be a path, not of type {type(given).__name__}", hint="give the name of a file")
    name = os.fspath(given)
    return Path(name if isinstance(name, str) else os.fsdecode(name))


def _place(given: object, what: str) -> Path:
    """Return the path of microdata, which may be the address of a table in a database."""
    if isinstance(given, AddressPath):
        return given
    if isinstance(given, str):
        return path_of(given)
    path = _path(given, what)
    if is_address(str(path)):
        raise UsageError(f"{what} is an address, and no path", hint="give it as a text: a path has no double slashes")
    return path


def _rules(ids: Sequence[str]) -> tuple[str, ...]:
    return Config(allow_unfired=ids).allow_unfired  # type: ignore[arg-type]


def _documents(given: Mapping[str, str | PathLike[str]] | None) -> Mapping[str, Path]:
    return config_from({"documents": {} if given is None else given}).documents


def _mapping[T](given: Mapping[str, T], name: str) -> Mapping[str, T]:
    if not isinstance(given, Mapping):
        raise UsageError(f"{name} must be a mapping from fields, not {given!r}", hint='such as {"AGE": ...}')
    return given


def _tables(given: Mapping[str, str | PathLike[str]] | None) -> dict[str, Path]:
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"tables must be a mapping from levels, not {given!r}", hint='{"Person": "persons.csv"}')
    return {str(level): _place(table, f"the table of {level}") for level, table in (given or {}).items()}


def _switch(given: object, name: str) -> bool:
    if not isinstance(given, bool):
        raise UsageError(f"{name} must be true or false, not {given!r}")
    return given


def _texts(**arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{name} must be a name, not {value!r}")


def _source(given: Microdata, what: str) -> Path:
    """Return a path, or what stands for a data frame where jobs pass paths."""
    if isinstance(given, str | PathLike):
        return _place(given, what)
    if not _is_frame(given):
        if isinstance(given, MaskResult):
            raise UsageError(
                f"{what} must be a path or a data frame, not the result of a run",
                hint="give the data of the result: result.data of a data frame that was masked, else result.output",
            )
        raise UsageError(
            f"{what} must be a path or a data frame, not of type {type(given).__name__}",
            hint="give the name of a file, or a data frame of pandas, polars, pyarrow or DuckDB with one row per "
            "record; one of polars that is lazy after collect()",
        )
    return standing_for(given)


def _optional_source(given: Microdata | None, what: str) -> Path | None:
    return None if given is None else _source(given, what)
