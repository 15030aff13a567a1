"""The masked file: written, read back, and re-validated by every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts, ViolationError
from masktron.executor.contract import Executor
from masktron.jobs.column_memory import read_columns
from masktron.jobs.compared import ReorderedColumns
from masktron.jobs.revalidate import Asking, Revalidation
from masktron.jobs.run import Run
from masktron.judge import verdicts
from masktron.large_arrays import kept
from masktron.masking import Masked, MaskedBlock
from masktron.problems.problem import Field, Note, Place, fields, rules
from masktron.progress import Progress, told_as
from masktron.scratch import private_folder
from masktron.sources.column import Column, written_alike
from masktron.sources.dataset import Dataset
from masktron.sources.lexicon import Lexicon
from masktron.sources.source import Source
from masktron.sources.wide.wide_source import as_read, releasing
from masktron.write.atomic import blamed


@dataclass(frozen=True, slots=True, eq=False)
class WrittenFile:
    """The masked file, read back and judged.

    Attributes
    ----------
    source : Source
        The file as it was written.
    records : Dataset
    columns : mapping of str to Column
        All masked fields among them, also those without a value; in the order of the original.
    order : ndarray of intp, shape (n,), or None
        Written record i is kept record ``order[i]``; None where they are in the order of the original.
    verdict : Revalidation
        What all engines say, without the verdicts on single records.
    """

    source: Source
    records: Dataset
    columns: Mapping[str, Column]
    order: NDArray[np.intp] | None
    verdict: Revalidation


def write(
    run: Run,
    made: Masked,
    target: Path,
    out: Path,
    progress: Progress,
    executor: Executor | None = None,
    beside: Mapping[str, Path] = MappingProxyType({}),
) -> WrittenFile:
    """Write a file like the original, read it back and have it judged.

    Parameters
    ----------
    target : Path
        What is written.
    out : Path
        What it is going to be called.
    executor : Executor, optional
        Who evaluates slices of the written file, and has engines judge them.
    beside : mapping of str to Path
        Where further tables of nested records are written, by the names of their levels.

    Raises
    ------
    ViolationError
        What was written is not what was to be.
    DocumentError, RulebookError, ResourceError
        It cannot be written or judged.
    """
    order = _order(run)
    written, count = _put(run, made, target, out, order, progress, beside)
    judged = run.back.job
    asked, original = as_read(written), judged.source
    asking = Asking(judged, original, progress, written=asked, executor=executor)
    with written.in_own_places(), asking:
        reading = told_as(progress, "reading the written file back")
        masked = read_columns(written, missing=run.config.missing, memory=run.config.memory, told=reading)
        _require_all(run, count, masked)
        _require_cells(run, made, masked, order, respelled=asked.respells_numbers)
        verdict = asking.revalidation(run.binding_as_written)
    # what became of single records nobody asks any more
    verdict = replace(verdict, evaluation=replace(verdict.evaluation, verdicts=None))
    return WrittenFile(written, masked, _in_order(run, masked, order), order, verdict)


def refuse_broken(run: Run, made: Masked, progress: Progress) -> None:
    """Write a file for a moment, and have what decides judge it, and nobody else.

    Raises
    ------
    InfeasibleError
        A rule that has to hold does not, such as one over several records.
    """
    with private_folder() as folder:
        target = folder / f"masked{run.source.path.suffix}"
        written, _ = _put(run, made, target, target, _order(run), progress)
        with written.in_own_places():
            found = verdicts(run.job.rulebook, written, run.source)
    checks = run.job.rulebook.checks
    if broken := [checks[index].id for index in run.binding if found.failed[index] + found.errors[index]]:
        raise InfeasibleError.of(
            "rules-not-kept",
            run.source.path,
            fields=fields(run.plan.by_role(Role.CONFIDENTIAL)),
            rules=rules(broken),
            reason="the masked file fails them",
            facts=[RefusalFacts("written", rules=tuple(broken))],
        )


def _put(
    run: Run,
    made: Masked,
    target: Path,
    out: Path,
    order: NDArray[np.intp] | None,
    progress: Progress,
    beside: Mapping[str, Path] = MappingProxyType({}),
) -> tuple[Source, int]:
    """Write a file like the original; return it, and how many records were written."""
    writer = releasing(run.source.written_as(out), beside, run.plan.by_role(Role.IDENTIFIER))
    with blamed(out):
        count = writer.write(
            target,
            _replacements(run, made.blocks),
            removed=run.plan.by_role(Role.IDENTIFIER),
            keep=run.originals.keep,
            order=None if order is None else _source_order(run, order),
            told=told_as(progress, f"writing {out.name}"),
        )
    progress("surveying the written file", 0)
    written = writer.alike(target)
    _require_layout(run, written)
    return written, count


def _order(run: Run) -> NDArray[np.intp] | None:
    """Permutation of the kept records: written record i is kept record order[i]."""
    if not run.ordering.random or run.randomness.streams is None:
        return None
    generator = run.randomness.streams.generator("order")
    return kept(run.back.shuffled(run.originals.keep, generator))


def _source_order(run: Run, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Permutation of all source records: the kept ones in order, then those that are not written."""
    keep = run.originals.keep
    if keep.all():
        return order
    return np.concatenate([np.flatnonzero(keep)[order], np.flatnonzero(~keep)])


def _replacements(run: Run, blocks: Sequence[MaskedBlock]) -> dict[str, Column]:
    """Return masked lexemes for every record of the source; excluded records, which are not written, have none."""
    found = {}
    everyone = np.arange(len(run.kept), dtype=np.int32)
    for masked in blocks:
        settled = masked.settled
        shared = _spread(run, masked.grouping.labels.astype(np.int32), settled.groups)
        for at, name in enumerate(masked.block.variables):
            texts, codes = settled.written[at], shared
            if at in settled.own:
                texts, codes = settled.own[at], _spread(run, everyone, len(everyone))
            if not run.originals.keep.all():
                texts = Lexicon.joined([texts, Lexicon.of([None])])
            found[name] = Column.of_texts(run.kept.columns[name].variable, texts, codes)
    return found


def _spread(run: Run, codes: NDArray[np.int32], nothing: int) -> NDArray[np.int32]:
    """Codes of the kept records as codes of all records of the source."""
    if run.originals.keep.all():
        return codes
    spread = np.full(len(run.records), nothing, dtype=np.int32)
    spread[run.originals.keep] = codes
    return spread


def _require_layout(run: Run, written: Source) -> None:
    """Refuse a written file that is no table of the fields to release."""
    if not written.has_layout_of(run.job.source, run.plan.by_role(Role.IDENTIFIER)):
        raise ViolationError.of(
            "self-check-failed", run.source.path, detail="it does not have the layout of the original"
        )


def _require_all(run: Run, written: int, masked: Dataset) -> None:
    """Refuse a written file that has not all records to release."""
    expected = int(run.originals.keep.sum())
    if not written == len(masked) == expected:
        raise ViolationError.of(
            "self-check-failed",
            run.source.path,
            detail=f"{counted(len(masked), 'record was', 'records were')} read back of {expected} to release",
        )


def _require_cells(
    run: Run, made: Masked, masked: Dataset, order: NDArray[np.intp] | None, *, respelled: bool
) -> None:
    """Refuse a written file of which a cell is read back as another one than was to be written."""
    new = {name: (block, at) for block in made.blocks for at, name in enumerate(block.block.variables)}
    for fact in run.plan.fields:
        if fact.role is Role.IDENTIFIER:
            continue
        texts, codes = _meant(run, fact.name, *new.get(fact.name, (None, 0)))
        column = masked.columns.get(fact.name) or Column.absent(run.kept.columns[fact.name].variable, len(masked))
        alike = written_alike(texts, codes if order is None else codes[order], column, respelled=respelled)
        if not alike.all():
            place = Place(str(run.source.path), field=Field(fact.name))
            record = int(np.argmin(alike)) + 1
            detail = Note("its record {record} has another value than was to be written", record=record)
            raise ViolationError.of("self-check-failed", place, detail=detail)


def _meant(run: Run, name: str, block: MaskedBlock | None, at: int) -> tuple[Lexicon, NDArray[np.integer]]:
    """Return the texts of a field that were to be written, and which one each kept record has."""
    if block is None:
        return run.kept.columns[name].lexicon, run.kept.columns[name].codes
    if at in block.settled.own:
        return block.settled.own[at], np.arange(len(run.kept))
    return block.settled.written[at], block.grouping.labels


def _in_order(run: Run, masked: Dataset, order: NDArray[np.intp] | None) -> Mapping[str, Column]:
    """The columns as written, those of all fields that are released, in the order of the original."""
    columns = dict(masked.columns)
    for fact in run.plan.fields:  # of a field that only records had that were left out, no cell is written
        if fact.role is not Role.IDENTIFIER:
            columns.setdefault(fact.name, Column.absent(run.records.columns[fact.name].variable, len(masked)))
    if order is None:
        return columns
    return ReorderedColumns(columns, kept(np.argsort(order)))
