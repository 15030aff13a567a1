"""Targeted record swapping on the records of a file: rare records exchange regions where the rules admit both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from masktron.config import Role
from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.jobs.cell_rules import CellRules
from masktron.jobs.coded_fields import CodedField, admissible_codes, coded, treating, with_codes
from masktron.jobs.keys_known import needs_keys
from masktron.jobs.run import Run
from masktron.perturbation_settings import SwapSettings
from masktron.problems.problem import Field, Place
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Swapped, Treatment, plain_settings
from masktron.treatments.admissibility import KeyCodes
from masktron.treatments.record_swapping import RecordSwaps, record_swaps

_MANY = 0.1
"""Share of the units that change places above which that is said."""
_FEWER = "name fewer similar fields, require fewer of them"


def swap_regions(run: Run) -> Run:
    """Let records that are rare in their region, or their households, change places with similar ones.

    Parameters
    ----------
    run : Run

    Raises
    ------
    UsageError, DocumentError
        There is no such field, or it is masked; or a household is in several regions.
    InfeasibleError
        Records are rare, and none can be exchanged.
    """
    config = run.config
    how = SwapSettings(**config.swap)
    run.require_written("swap", (*how.regions, *how.keys, *how.similar))
    run.require_there(() if how.household is None else (how.household,))
    _require_apart(how)
    with treating(how.regions, str(run.job.source.path)):
        return _swapped(run, replace(how, keys=how.keys or _keys(run, how)))


def _require_apart(how: SwapSettings) -> None:
    for name in how.regions:
        for setting, others in (("keys", how.keys), ("similar", how.similar), ("household", (how.household,))):
            if name in others:
                raise UsageError.of(
                    "field-not-usable",
                    setting=f"swap.{setting}",
                    field=Field(name),
                    reason="which is a region, so it moves",
                )


def _keys(run: Run, how: SwapSettings) -> tuple[str, ...]:
    """Return the quasi-identifiers that are no regions."""
    named = {*run.config.quasi_identifiers}
    found = [
        fact.name
        for fact in run.fields
        if fact.name not in (*how.regions, how.household)
        and (fact.role is Role.QUASI_IDENTIFIER or (fact.name in named and fact.role is Role.UNTOUCHED))
    ]
    if not found and how.rate <= 0:
        raise needs_keys("swapping without a rate")
    return tuple(found)


def _swapped(run: Run, how: SwapSettings) -> Run:
    """Exchange regions, and return what that leaves, with what it protects and changes."""
    kept = run.kept
    fields = tuple(coded(kept.columns[name]) for name in how.regions)
    weight = run.config.weight
    treatment = Swapped(how, 0, run.let_go)
    run, streams = run.streams(plain_settings([treatment]))
    released = {check.index for check in run.job.rulebook.checks if check.id in run.let_go}
    rules = CellRules.of(run.job, released, how.regions, list(kept.columns))
    made = record_swaps(
        [one.codes for one in fields],
        streams.generator("swapping"),
        keys=[kept.columns[name].numbered(held=True) for name in how.keys],
        k=how.k,
        rate=how.rate,
        similar=[kept.columns[name].numbered() for name in how.similar],
        required=how.required,
        households=_households(kept, how),
        least_regions=how.least_regions,
        admissible=admissible_codes(rules, kept, how.regions, fields),
        weights=None if weight is None else kept.columns[weight].values,
    )
    pairs = made.targeted + made.at_random
    if not pairs:
        if how.rate > 0 or any(level.at_risk for level in made.levels):
            _require_regions(how, fields)
        raise InfeasibleError.of(
            "no-swaps",
            reason=f"nobody is rare, or nobody similar is in {counted(how.least_regions, 'other region')}",
            facts=[RefusalFacts("keys", conditions=how.regions)],
        )
    columns = with_codes(run, how.regions, fields, made.regions)
    return run.after(columns, replace(treatment, pairs=pairs, figures=_told(made)))


def _require_regions(how: SwapSettings, fields: Sequence[CodedField]) -> None:
    """Refuse fewer regions than partners are to be drawn from."""
    for name, one in zip(how.regions, fields, strict=True):
        regions = len(np.unique(one.codes[one.codes >= 0]))
        if regions <= how.least_regions:
            raise InfeasibleError.of(
                "no-swaps",
                Place(field=Field(name)),
                reason=f"least_regions = {how.least_regions} needs more than {regions} regions",
                facts=[RefusalFacts("keys", conditions=how.regions)],
            )


def swap_notes(treatments: Iterable[Treatment]) -> Iterator[str]:
    """Say where fewer changed places than a rate asks for, or so many that tables of regions may be worth little."""
    for one in treatments:
        if isinstance(one, Swapped) and one.figures:
            yield from _fewer_swapped(one)
            yield from _many_swapped(one)


def _fewer_swapped(one: Swapped) -> Iterator[str]:
    told, how = one.figures, one.settings
    inside = told["units"] - told["without_region"]
    if one.pairs < int(how.rate * inside / 2):
        units = "records" if how.household is None else "households"
        instead = _FEWER if how.similar else "swap regions of a coarser level"
        yield (
            f"swapping: {200 * one.pairs / inside:.3g} % of the {units} have changed places, not the "
            f"{100 * how.rate:g} % of the rate: others have nobody similar in enough other regions to which the "
            f"rules admit both; {instead}, or lower least_regions or the rate, under [swap] in settings"
        )


def _many_swapped(one: Swapped) -> Iterator[str]:
    if 2 * one.pairs > _MANY * one.figures["units"]:
        units = "record" if one.settings.household is None else "household"
        share = f"{200 * one.pairs / one.figures['units']:.3g}"
        yield (
            f"swapping: {share} % of the {units}s have another {', '.join(one.settings.regions)}, "
            f"{one.figures['targeted']:,} of {counted(one.pairs, 'pair')} for the risk: a {units} moves where a "
            f"record is one of fewer than {one.settings.k} by {', '.join(one.settings.keys) or 'no key'} in its "
            "region. Fewer keys, or these recoded, under [swap] in settings let more stay"
        )


def _households(records: Dataset, how: SwapSettings) -> KeyCodes | None:
    """Number the households, -1 for a record without one; None where records move alone."""
    if how.household is None:
        return None
    return coded(records.columns[how.household]).codes


def _told(made: RecordSwaps) -> dict[str, Any]:
    """Return figures of the swaps: none of them is a value or a record."""
    names = ("units", "targeted", "at_random", "across", "other_weight", "without_region")
    return {
        **{name: getattr(made, name) for name in names},
        "by_profile": list(made.by_profile),
        "levels": [asdict(level) for level in made.levels],
    }
