"""One candidate, masked by the real pipeline in memory, and its figures: those of `mask` and `assess`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from masktron.addresses import AddressPath
from masktron.config import Config, Role, config_from
from masktron.declared import about
from masktron.errors import (
    DocumentError,
    InfeasibleError,
    MasktronError,
    ResourceError,
    UsageError,
    ViolationError,
)
from masktron.figures import figure_of
from masktron.jobs.concerns import candidate_concerns
from masktron.jobs.given_away import given_away_notes, read_off_before_masking, read_off_concerns
from masktron.jobs.in_units import masked_by
from masktron.jobs.mask_result import levels_of_run, side_by_side
from masktron.jobs.opening import judged
from masktron.jobs.released import declared_of, require_contract
from masktron.jobs.run import Run
from masktron.jobs.steps import chain_of
from masktron.jobs.translated_rules import rules_beside
from masktron.jobs.treated_records import treated
from masktron.jobs.written import refuse_broken
from masktron.kernels.compiling import told_of_compiling
from masktron.masking import Masked, SharedWork
from masktron.measures.assessed import Assessed
from masktron.measures.figures import OF_KEYS_ALONE, measure
from masktron.measures.keys.key_file import KeyFile
from masktron.plan import Partition
from masktron.problems.problem import Note, Sentence
from masktron.progress import Progress, no_progress
from masktron.recoding_settings import averages, how_of
from masktron.release_secret import secret_of_seed
from masktron.results.tune import worst_protection
from masktron.sources.column import Column
from masktron.sources.frame_path import FramePath
from masktron.step_kinds import Treatment

_REFUSALS = (InfeasibleError, ResourceError, UsageError, ViolationError)
"""What stops a single candidate, and no other."""
_TREATED_RECORDS = 1_000_000
"""Treated records that stay open, at most, beside the two that were asked for last."""
_OF_STEPS = about(Config, "treating") | {"k"}
"""Settings of the steps that change keys."""
_OF_MASKING = about(Config, "way", "masking")
"""Settings that decide how records are masked; others, which records these are and what their fields are."""


@dataclass(frozen=True, slots=True)
class TuneOutcome:
    """What came of one run of a candidate.

    Attributes
    ----------
    refused : Sentence
        Why there is nothing to measure; empty where there is.
    figures : mapping of str to (float, str)
        Value, and the field where it is worst.
    seconds : float
        What it took.
    ended : bool
        Refused for want of time or memory: another run may get further.
    protection : mapping of str to float
        What draws and swaps of keys protect: see `masktron.results.tune.PROTECTION`.
    given_away : tuple of str
        Which fields tell where values were drawn anew or swapped, as sentences.
    levels : mapping of str to mapping of str to float
        Of a nested file, figures of each of its levels, by name; of runs on all records alone.
    concerns : tuple of str
        What speaks against it, a sentence each.
    """

    refused: Sentence = ""
    figures: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    seconds: float = 0.0
    ended: bool = False
    protection: Mapping[str, float] = field(default_factory=dict)
    given_away: tuple[Sentence, ...] = ()
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    concerns: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a candidate.

    Attributes
    ----------
    position : int
        Of the candidate.
    settings : mapping of str to value
        Those that it changes, by name.
    seed : int
        Which run it is, from 0.
    whole : bool
        On all records; else on the sample.
    """

    position: int
    settings: Mapping[str, Any]
    seed: int
    whole: bool


class _Tried:
    """An original with its keys as some treatment leaves them, and what all candidates share that mask it."""

    def __init__(self, opened: Run) -> None:
        self._opened = opened
        self._sampled: Run | None = None
        self._of_keys: dict[str, float] | None = None
        self.shared = {True: SharedWork(), False: SharedWork()}
        done = opened.account.treatments
        self.protection = protection_of(done)
        self._keys = read_off_before_masking(_keys_of(opened), opened)
        read: Iterable[Sentence] = (
            Note("{says}; {hint}", says=one.says, hint=one.hint) for one in read_off_concerns(self._keys)
        )
        self.given_away = (*given_away_notes(opened), *read) if done else ()

    def opened(self, sample: NDArray[np.intp] | None) -> Run:
        """Return all records to release, or those of a sample."""
        if sample is None:
            return self._opened
        if self._sampled is None:
            self._sampled = _sampled(self._opened, sample)
        return self._sampled

    def of_keys(self, names: Iterable[str], files: Assessed) -> dict[str, float]:
        """Return what keys tell in all records, for a comparison of a sample; nothing where a key is masked."""
        if self._of_keys is None:
            keys = self._keys
            masked = keys is not None and not files.masked.keys().isdisjoint(keys.names)
            own = [] if keys is None or masked else [name for name in OF_KEYS_ALONE if name in {*names}]
            before = self._opened.original
            found = measure(own, replace(files, keys=keys, keys_before=lambda: _keys_of(before)))
            self._of_keys = {one.figure.name: one.value for one in found}
        return self._of_keys


class Bench:
    """A file on which candidates are tried.

    What keys come to is found once for each treatment, and goes when the bench is closed.

    Parameters
    ----------
    original : Run
    names : sequence of str
        Figures that are computed.
    sample : ndarray of intp, or None
        Positions of the kept records that stand for a large file.
    threads : int
        That one candidate may use.
    """

    def __init__(
        self, original: Run, names: Sequence[str], sample: NDArray[np.intp] | None = None, threads: int = 1
    ) -> None:
        self._original = original
        self.names = tuple(names)
        self.threads = threads
        self.sample = sample
        self._untreated = _Tried(original)
        self._treated: dict[tuple[object, ...], tuple[ExitStack, _Tried]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let treated records go."""
        while self._treated:
            _, (files, _) = self._treated.popitem()
            files.close()

    def treat(self, settings: Mapping[str, Any], seed: int = 0, progress: Progress = no_progress) -> Run:
        """Return the records that a candidate masks, with keys treated as it says.

        Raises
        ------
        UsageError, DocumentError, InfeasibleError, ViolationError
            They cannot be.
        """
        return self._tried(settings, seed, progress).opened(None)

    def records_of(self, settings: Mapping[str, Any], seed: int) -> tuple[object, ...]:
        """Return all that decides which records a candidate masks: those that agree in it mask the same ones.

        Fields are named in the order in which they are treated: in another one, others are drawn.
        """
        given = config_from(settings, base=self._original.given)
        decides = sorted({*settings} - self._of_masking(given))
        return tuple((name, repr(getattr(given, name))) for name in decides), seed if given.draws_keys else None

    def _of_masking(self, given: Config) -> frozenset[str]:
        """Return the settings that decide how records are masked, and not which records these are."""
        # units of a nested file are rare by k, and means of classes of fewer records are refused
        k_counts = self._original.back.nested or any(averages(how_of(*one)) for one in given.recode.items())
        return _OF_MASKING - {"k"} if k_counts else _OF_MASKING

    def _tried(self, settings: Mapping[str, Any], seed: int, progress: Progress) -> _Tried:
        """Return the records that a candidate masks: those of the original, or judged and treated again."""
        original = self._original.given
        given = config_from(settings, base=original)
        others = {name for name in settings if getattr(given, name) != getattr(original, name)}
        others -= self._of_masking(given)
        if not others and not chain_of(given):
            return self._untreated
        key = self.records_of(settings, seed)
        if key not in self._treated:
            self._make_room()
            own = {**settings, "seed": None, "secret": secret_of_run(seed)}
            with ExitStack() as files:
                opened = files.enter_context(self._opened(own, others, progress))
                self._treated[key] = files.pop_all(), _Tried(opened)
        found = self._treated[key] = self._treated.pop(key)  # the last of them is the one that was asked for last
        return found[1]

    @contextmanager
    def _opened(self, settings: Mapping[str, Any], others: set[str], progress: Progress) -> Iterator[Run]:
        """Judge the records again where more than steps on flat records decides them, and take the steps."""
        run = self._original
        given = config_from(settings, base=run.given)
        if run.back.nested or not _OF_STEPS.issuperset(others):
            run = judged(run.back.job, given, progress)
        else:
            run = replace(run, given=given, config=config_from(settings, base=run.config))
        rules = rules_beside(run.job.source.path) if given.recode else None
        with treated(run, rules, progress) if chain_of(given) else nullcontext(run) as found:
            yield found

    def _make_room(self) -> None:
        """Let records go that were not asked for longest, where there are too many."""
        most = max(2, _TREATED_RECORDS // max(1, len(self._original.kept)))
        while len(self._treated) >= most:
            files, _ = self._treated.pop(next(iter(self._treated)))
            files.close()

    def prepared(
        self,
        settings: Mapping[str, Any],
        seed: int = 0,
        *,
        whole: bool = True,
        progress: Progress = no_progress,
    ) -> Run:
        """Plan a candidate, with its keys treated.

        Raises
        ------
        UsageError, InfeasibleError, ViolationError
            The file, the rules or the method refuse it.
        DocumentError
            A value has no class in a recoding, or what keys come to cannot be written.
        """
        opened = self._tried(settings, seed, progress).opened(None if whole else self.sample)
        own = {name: value for name, value in settings.items() if name in _OF_MASKING}
        own |= {"seed": None, "secret": secret_of_run(seed), "workers": self.threads}
        return replace(opened, config=config_from(own, base=opened.config)).planned(no_progress)

    def shape(
        self, settings: Mapping[str, Any], progress: Progress = no_progress
    ) -> tuple[tuple[Partition, ...], TuneOutcome | None]:
        """Return the partitions of a candidate, or its refusal where it is refused before anything is masked."""
        try:
            return self.prepared(settings, progress=progress).plan.partitions, None
        except (*_REFUSALS, DocumentError) as error:
            return (), self.refused(error)

    def outcome(self, attempt: Attempt, progress: Progress) -> TuneOutcome:
        """Mask and measure; a refusal is an outcome."""
        begun = time.perf_counter()
        try:
            made = self._measured(attempt, progress)
        except _REFUSALS as error:
            made = self.refused(error)
        return replace(made, seconds=time.perf_counter() - begun)

    def _measured(self, attempt: Attempt, progress: Progress) -> TuneOutcome:
        run = self.prepared(attempt.settings, attempt.seed, whole=attempt.whole, progress=progress)
        tried = self._tried(attempt.settings, attempt.seed, progress)
        with told_of_compiling(progress):
            made = masked_by(run, progress, tried.shared[attempt.whole])
        columns = unwritten_columns(run, made)
        _, files = side_by_side(run, made, columns)
        require_contract(run, declared_of(run, made), columns)
        if run.plan.over_file and attempt.whole and not isinstance(run.source.path, AddressPath | FramePath):
            refuse_broken(run, made, progress)
        progress("measuring risk and utility", 0)
        if not attempt.whole:
            files = replace(files, known={**files.known, **tried.of_keys(self.names, files)})
        levels = levels_of_run(run, columns) if attempt.whole else ()
        names = [name for name in self.names if run.keys.names or "keys" not in figure_of(name).needs]
        return TuneOutcome(
            figures={one.figure.name: (one.value, run.names.shown(one.field)) for one in measure(names, files)},
            protection=tried.protection,
            given_away=tried.given_away,
            levels={one.level: {figure.name: figure.value for figure in one.figures} for one in levels},
            concerns=candidate_concerns(run, made, columns, files),
        )

    def refused(self, error: MasktronError) -> TuneOutcome:
        """Return an error as an outcome: what is wrong, and not what can be done."""
        why = self._original.names.sentence(Note("{problem:alone}", problem=error.problem))
        return TuneOutcome(why, ended=isinstance(error, ResourceError))

    def unmasked(self, names: Sequence[str]) -> dict[str, float]:
        """Return figures of the records released as they are; those that need no manifest."""
        original = self._untreated.opened(self.sample)
        records, known = original.kept, _keys_of(original)
        facts = [fact for fact in original.fields if fact.role is Role.CONFIDENTIAL]
        own = {fact.name: records.columns[fact.name] for fact in facts}
        files = Assessed(
            original=own,
            masked=own,
            numeric=tuple(fact.name for fact in facts if fact.numeric),
            codes={name: column.numbered() for name, column in own.items()},
            workers=self.threads,
            keys=known,
            keys_before=lambda: known,
            everything=records.columns,
        )
        here = {"keys"} if known is not None else set()
        return {
            one.figure.name: one.value
            for one in measure(
                [name for name in dict.fromkeys(names) if here.issuperset(figure_of(name).needs)], files
            )
        }


def secret_of_run(seed: int) -> bytes:
    """Return the secret with which a candidate is run: known to everybody, so never that of a release."""
    return secret_of_seed(seed)


def _sampled(opened: Run, sample: NDArray[np.intp]) -> Run:
    """Return an original with some of its records, and so it was before its keys were treated."""
    before = opened.before and _sampled(opened.before, sample)
    return replace(opened, kept=opened.kept.taken(sample), before=before)


def _keys_of(opened: Run) -> KeyFile | None:
    """Return the quasi-identifiers of records that are released as they are."""
    columns = opened.kept.columns
    keys = opened.keys
    return keys.of(columns, None if keys.weight is None else columns[keys.weight].values)


def protection_of(treatments: Iterable[Treatment]) -> dict[str, float]:
    """Return what is said of draws and swaps in a run, by the names of `masktron.results.tune.PROTECTION`.

    Parameters
    ----------
    treatments : iterable of Treatment
        As they were carried out.
    """
    return worst_protection(one.protection for one in treatments)


def unwritten_columns(run: Run, made: Masked) -> dict[str, Column]:
    """Return the masked fields as they would be read from the written file, in the order of the original.

    Parameters
    ----------
    run : Run
    made : Masked
        Of the same records.

    Returns
    -------
    dict of str to Column
        In the order of the original, shape (n,) each; fields without a value among them.
    """
    codes = {fact.name: frozenset(fact.codes) for fact in run.plan.fields}
    found: dict[str, Column] = {}
    for masked in made.blocks:
        labels = masked.grouping.labels
        for position, name in enumerate(masked.block.variables):
            own = masked.settled.own.get(position)
            texts, which = (masked.settled.written[position], labels) if own is None else (own, np.arange(len(own)))
            found[name] = Column.of_texts(run.kept.columns[name].variable, texts, which, codes[name])
    return {name: found[name] for name in run.kept.columns if name in found}
