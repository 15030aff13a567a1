"""What keys tell as the data are, and what treatments would make of them and of the rules; nothing is written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from masktron.config import Config, untreated
from masktron.counts import counted
from masktron.errors import InfeasibleError
from masktron.figures import OF_KEYS_ALONE
from masktron.jobs.concerns import emptied_keys, likely_notes
from masktron.jobs.given_away import given_away_notes, read_off_before_masking, read_off_concerns, read_off_notes
from masktron.jobs.keys_known import KnownKeys
from masktron.jobs.mask_result import UNIQUES_UNASKED, fates_of
from masktron.jobs.opening import open_original
from masktron.jobs.run import Account, Run
from masktron.jobs.swapped import swap_notes
from masktron.jobs.translated_rules import rules_beside
from masktron.jobs.treated_records import treated
from masktron.jobs.treatment_limits import limit_notes
from masktron.jobs.treatment_results import treatment_results
from masktron.measures.assessed import Assessed
from masktron.measures.figures import measure
from masktron.measures.keys.key_file import KeyFile
from masktron.problems.level_names import LevelNames
from masktron.problems.problem import Note, Problem, Sentence, Setting, fields
from masktron.progress import Progress, no_progress
from masktron.results import FigureResult, KeyRisk, KeysResult, KeyValues, shown
from masktron.setting_values import ALL_FIELDS
from masktron.sources.column import Column
from masktron.sources.lexical import parse_number
from masktron.step_kinds import perturbed_in, recodings_in, suppressed_in
from masktron.unrolling.level_names import errors_by_level

LISTED = 10_000
"""Values of a field that the result lists; of one with more, it has their number."""


def run_keys(
    data: Path, rules: Path, *, config: Config | None = None, progress: Progress = no_progress
) -> KeysResult:
    """Measure the risk of keys before and after the treatments of the settings, and translate the rules.

    Records that break a rule are left out of it, as they would not be released, and so are units of a nested file
    that fewer than k are composed like.

    Parameters
    ----------
    data, rules : Path
    config : Config, optional
        ``recode``, ``pram``, ``swap``, ``key_k`` and ``keys`` say how keys are treated.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InfeasibleError
        As for `mask`, up to its treatments. What a recoding loses and where no key can be suppressed is no error: it
        is the obstacle of the result.
    """
    config = config or Config()
    opened = open_original(data, rules, replace(config, invalid="exclude", rare_units="exclude"), progress)
    with errors_by_level(opened.names):
        return _keys_told(opened, data, rules, config, progress)


def _keys_told(opened: Run, data: Path, rules: Path, config: Config, progress: Progress) -> KeysResult:
    called = opened.names
    names = opened.keys
    progress("measuring what keys tell", 0)
    before = _file(opened, names, opened)
    tried = _tried(opened, names, progress)
    fields_of_keys = called.by_level(name for name in names.names if name != names.weight)
    notes = (
        *opened.notes,
        *likely_notes(opened.likely),
        *_left_out(opened, config),
        *_lacking(before),
        *_unweighted(names),
        *tried.notes,
    )
    return KeysResult(
        data=shown(data),
        rulebook=shown(rules),
        records=len(opened.kept),
        keys=_risk(before, called),
        treated=_risk(tried.keys, called),
        before=_figures(before, called),
        figures=_figures(tried.keys, called),
        treatments=treatment_results(tried.done.treatments, outcome=True),
        fates=fates_of(tried.done),
        fields=tuple(_values(name, own, opened.kept.columns, tried) for name, own in fields_of_keys.items()),
        problem=tried.problem,
        notes=tuple(map(called.sentence, notes)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """What treatments came to.

    Attributes
    ----------
    done : Account
        Empty where there is nothing to do, or where nothing could be done.
    keys : KeyFile or None
        As they would be written.
    columns : mapping of str to Column
        The fields, likewise.
    problem : Problem or None
    given_away : tuple of str
        Which fields tell where others were changed.
    """

    done: Account = field(default_factory=Account)
    keys: KeyFile | None = None
    columns: Mapping[str, Column] | None = None
    problem: Problem | None = None
    given_away: tuple[Sentence, ...] = ()

    @property
    def notes(self) -> Iterator[Sentence]:
        """What it costs to suppress keys; another run draws others."""
        for one in suppressed_in(self.done.treatments):
            yield f"local suppression: {one.says}; the cells are drawn, and another run may leave out others"
        yield from swap_notes(self.done.treatments)
        emptied = emptied_keys(self.done.treatments)
        for concern in (*emptied, *read_off_concerns(self.keys)):
            yield Note("{says}; {hint}", says=concern.says, hint=concern.hint)
        for drawn in perturbed_in(self.done.treatments):
            yield Note(
                "{fields}: these are draws of a trial, and another run may draw others", fields=fields(drawn.changed)
            )
        yield from self.given_away
        yield from read_off_notes(self.keys)


def _tried(opened: Run, names: KnownKeys, progress: Progress) -> _Tried:
    """Treat the fields as settings say, or as far as that can be done, and say what stands in the way of the rest."""
    problem = None
    for changes in _less_and_less(opened.given):
        own = replace(opened, given=replace(opened.given, **changes), config=replace(opened.config, **changes))
        path = opened.job.source.path
        try:
            with treated(own, rules_beside(path) if own.given.recode else None, progress) as found:
                keys = read_off_before_masking(_file(opened, names, found), found)
                return _Tried(found.account, keys, found.kept.columns, problem, _given_away(found))
        except InfeasibleError as error:
            problem = problem or error.problem
    return _Tried(problem=problem)


def _given_away(found: Run) -> tuple[Sentence, ...]:
    """Say what is not promised, and which fields tell where others were changed; the order only if it is kept."""
    return (*limit_notes(found), *given_away_notes(found)) if found.account.treatments else ()


def _less_and_less(config: Config) -> Iterator[dict[str, Any]]:
    """Yield what is changed in settings so that more and more of what stands in their way is left out."""
    if not config.treats_keys:
        return
    yield {}
    if config.recode:
        lost: dict[str, Any] = {"allow_lost": (ALL_FIELDS,)}
        yield lost
        if config.draws_keys:
            yield {**lost, **untreated(draws_alone=True)}


def _file(opened: Run, names: KnownKeys, found: Run) -> KeyFile | None:
    """Return the keys as treatments leave them, with the weights of the original."""
    weights = None if names.weight is None else opened.kept.columns[names.weight].values
    return names.of(found.kept.columns, weights)


def _figures(keys: KeyFile | None, called: LevelNames) -> tuple[FigureResult, ...]:
    if keys is None:
        return ()
    names = [name for name in OF_KEYS_ALONE if name != "suda_share" or keys.looked_at <= UNIQUES_UNASKED]
    return tuple(FigureResult.of(one, called) for one in measure(names, Assessed({}, {}, (), {}, keys=keys)))


def _risk(keys: KeyFile | None, called: LevelNames) -> KeyRisk | None:
    """Put together what is known, with minimal sample uniques where they do not take long."""
    if keys is None:
        return None
    if keys.looked_at <= UNIQUES_UNASKED:
        _ = keys.uniqueness
    return KeyRisk.of(keys, called)


def _left_out(opened: Run, config: Config) -> Iterator[Sentence]:
    """Say how many records are not looked at, and what lets `mask` leave them out, too."""
    if not (records := len(opened.records) - len(opened.kept)):
        return
    settings = {"--invalid": config.invalid, "--rare-units": config.rare_units}
    if not opened.back.nested:
        said = f"{counted(records, 'record that breaks a rule is', 'records that break a rule are')} left out"
        del settings["--rare-units"]
    else:
        said = f"{counted(records, 'record is', 'records are')} left out that break a rule or are rare"
    needs = tuple(Setting(option, ("exclude",)) for option, own in settings.items() if own != "exclude")
    yield Note("{said} here: mask needs {needs:and} for that", said=said, needs=needs) if needs else said


def _unweighted(names: KnownKeys) -> Iterator[Sentence]:
    """Say what figures of the population are without a weight, where there are keys."""
    if names.names and names.weight is None:
        yield Note(
            "no weight is named, so the file is taken for the population: a record that is alone in it counts as "
            "alone in the population; if it is a sample, name its weight: [[--role FIELD=weight]]"
        )


def _lacking(keys: KeyFile | None) -> list[str]:
    if keys is None or keys.looked_at <= UNIQUES_UNASKED:
        return []
    return ["takes long with so many records and keys: suda_share; `masktron assess --measures suda_share` has it"]


def _values(name: str, own: Sequence[str], columns: Mapping[str, Column], tried: _Tried) -> KeyValues:
    """Count the values of a field, of members at all their positions, and the classes that they would have."""
    before = _counts(columns[one] for one in own)
    values = sorted(before, key=_place)
    after = None if tried.columns is None else _counts(tried.columns[one] for one in own)
    classes = None
    if after is not None:
        recoding = recodings_in(tried.done.treatments).get(name)
        order = dict.fromkeys(values if recoding is None else (recoding.label_of(one) or one for one in values))
        classes = _listed({label: after.get(label, 0) for label in order})
    return KeyValues(name, len(before), _listed({value: before[value] for value in values}), classes)


def _listed(counts: Mapping[str, int]) -> Mapping[str, int] | None:
    return counts if len(counts) <= LISTED else None


def _counts(columns: Iterable[Column]) -> Counter[str]:
    """Return how many cells have each value."""
    found = Counter[str]()
    for column in columns:
        codes = column.numbered(held=True)
        there = np.flatnonzero(codes >= 0)
        _, first, times = np.unique(codes[there], return_index=True, return_counts=True)
        found.update(dict(zip(map(str, column.lexemes_of(there[first])), times.tolist(), strict=True)))
    return found


def _place(value: str) -> tuple[bool, float, str]:
    """Return where a value stands among others: numbers by size, then texts."""
    number = parse_number(value)
    return math.isnan(number), 0.0 if math.isnan(number) else number, value
