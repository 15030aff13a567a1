"""One candidate, masked by the real pipeline in memory, and its figures: those of `mask` and `assess`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from masktron.addresses import AddressPath
from masktron.config import Role
from masktron.errors import InfeasibleError, MasktronError, ResourceError, UsageError, ViolationError
from masktron.figures import figure_of
from masktron.jobs.mask import masked_by
from masktron.jobs.mask_result import side_by_side
from masktron.jobs.prepared import Opened, Prepared, planned
from masktron.jobs.released import declared_of, require_contract
from masktron.jobs.tune.recipes import TuneRecipe, settings_of
from masktron.jobs.unwritten import unwritten_columns
from masktron.jobs.written import refuse_broken
from masktron.masking import SharedWork
from masktron.measures.assessed import Assessed
from masktron.measures.figures import measure
from masktron.methods.chosen import chosen
from masktron.plan import Partition
from masktron.progress import Progress, no_progress
from masktron.release_key import key_of_seed
from masktron.sources.frame_path import FramePath
from masktron.sources.records import Records

_REFUSALS = (InfeasibleError, ResourceError, UsageError, ViolationError)
"""What stops a single candidate, and no other."""


@dataclass(frozen=True, slots=True)
class TuneOutcome:
    """What came of one run of a candidate.

    Attributes
    ----------
    refused : str
        Why there is nothing to measure; empty where there is.
    figures : mapping of str to (float, str)
        Value, and the field where it is worst.
    seconds : float
        What it took.
    ended : bool
        Refused for want of time or memory: another run may get further.
    """

    refused: str = ""
    figures: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    seconds: float = 0.0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a candidate.

    Attributes
    ----------
    position : int
        Of the candidate.
    recipe : TuneRecipe
    seed : int
        Which run it is, from 0.
    whole : bool
        On all records; else on the sample.
    """

    position: int
    recipe: TuneRecipe
    seed: int
    whole: bool


class Bench:
    """A file on which candidates are tried.

    Parameters
    ----------
    original : Opened
    names : sequence of str
        Figures that are computed.
    sample : ndarray of intp, or None
        Positions of the kept records that stand for a large file.
    threads : int
        That one candidate may use.
    """

    def __init__(
        self, original: Opened, names: Sequence[str], sample: NDArray[np.intp] | None = None, threads: int = 1
    ) -> None:
        self._original = original
        self._names = tuple(names)
        self._threads = threads
        self._kept: dict[bool, Records] = {True: original.kept}
        if sample is not None:
            self._kept[False] = some_records(original.kept, sample)
        self._shared = {whole: SharedWork() for whole in self._kept}

    def prepared(self, recipe: TuneRecipe, seed: int = 0, *, whole: bool = True) -> Prepared:
        """Plan a candidate.

        Raises
        ------
        UsageError, InfeasibleError
            The file, the rules or the method refuse it.
        """
        config = replace(settings_of(recipe, self._original.config), key=key_of_run(seed), workers=self._threads)
        method = chosen(config.method, config.params, config.k)
        return planned(replace(self._original, kept=self._kept[whole]), config, method, no_progress)

    def shape(self, recipe: TuneRecipe) -> tuple[tuple[Partition, ...], TuneOutcome | None]:
        """Return the partitions of a candidate, or its refusal where it is refused before anything is masked."""
        try:
            return self.prepared(recipe).plan.partitions, None
        except _REFUSALS as error:
            return (), TuneOutcome(_reason(error), ended=isinstance(error, ResourceError))

    def outcome(self, attempt: Attempt, progress: Progress) -> TuneOutcome:
        """Mask and measure; a refusal is an outcome."""
        begun = time.perf_counter()
        try:
            figures = self._figures(attempt, progress)
        except _REFUSALS as error:
            ended = isinstance(error, ResourceError)
            return TuneOutcome(_reason(error), {}, time.perf_counter() - begun, ended)
        return TuneOutcome("", figures, time.perf_counter() - begun)

    def _figures(self, attempt: Attempt, progress: Progress) -> dict[str, tuple[float, str]]:
        run = self.prepared(attempt.recipe, attempt.seed, whole=attempt.whole)
        made = masked_by(run, progress, self._shared[attempt.whole])
        columns = unwritten_columns(run, made)
        _, files = side_by_side(run, made, columns)
        require_contract(run, declared_of(run, made), columns)
        if run.plan.over_file and attempt.whole and not isinstance(run.source.path, AddressPath | FramePath):
            refuse_broken(run, made, progress)
        progress("measuring risk and utility", 0)
        return {one.figure.name: (one.value, one.field) for one in measure(self._names, files)}

    def unmasked(self, names: Sequence[str]) -> dict[str, float]:
        """Return figures of the records released as they are; those that need no manifest."""
        records = self._kept.get(False, self._original.kept)
        facts = [fact for fact in self._original.fields if fact.role is Role.CONFIDENTIAL]
        own = {fact.name: records.columns[fact.name] for fact in facts}
        files = Assessed(
            original=own,
            masked=own,
            numeric=tuple(fact.name for fact in facts if fact.numeric),
            codes={name: column.numbered() for name, column in own.items()},
            workers=self._threads,
        )
        return {
            one.figure.name: one.value
            for one in measure([name for name in dict.fromkeys(names) if not figure_of(name).needs], files)
        }


def key_of_run(seed: int) -> bytes:
    """Return the key with which a candidate is run: known to everybody, so never that of a release."""
    return key_of_seed(seed)


def some_records(records: Records, which: NDArray[np.intp]) -> Records:
    """Return some records, by their positions."""
    columns = {name: column.taken(which) for name, column in records.columns.items()}
    return replace(records, columns=columns, lines=records.lines[which])


def _reason(error: MasktronError) -> str:
    return " ".join(error.what.split())
