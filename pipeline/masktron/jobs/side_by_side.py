"""From two files side by side to what pictures of them need: bins, moments, correlations, intruders, groups."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masktron.jobs.lowering.level_files import LevelFile
from masktron.measures.assessed import Assessed, numbers_of, pairs_of
from masktron.measures.category_shares import category_shares
from masktron.measures.information_loss import information_loss
from masktron.measures.joined_bins import joined_bins
from masktron.measures.kept_variation import KeptVariation, correlations, kept_variation
from masktron.measures.linkage import linkage_of_fields
from masktron.problems.level_names import AS_THEY_ARE, LevelNames
from masktron.progress import Told, untold
from masktron.results.side_by_side import (
    FieldDistribution,
    FieldMoments,
    FieldShares,
    GroupSizes,
    KnownFields,
    SideBySide,
)

DRAWN_FIELDS = 24
"""Numbers whose distributions are drawn: those that lose most, where there are more."""
CORRELATED_FIELDS = 40
"""Numbers in a matrix of correlations, likewise."""
MOST_KNOWN = 6
"""Numbers that the best informed intruder knows."""


def side_by_side(
    files: Assessed,
    k: int,
    told: Told = untold,
    drawn: Collection[str] = (),
    *,
    names: LevelNames = AS_THEY_ARE,
    intruders: bool = True,
) -> SideBySide:
    """Summarise two files for pictures; no bin, category or mean of fewer than k records is in it.

    Parameters
    ----------
    files : Assessed
    k : int
    told : callable, optional
        Told of the steps that are done, and of how many there are.
    drawn : collection of str
        Fields with values of their own in each record: records that are alike in them are no group.
    names : LevelNames
        What fields are called.
    intruders : bool
        Whether to say what they find.

    Raises
    ------
    UsageError
        A value is infinite.
    """
    steps = 4 + min(len(files.numeric), MOST_KNOWN)
    told(0, steps)
    moments = _moments(files, k, names) if files.paired else ()
    told(1, steps)
    loss = {at: one.loss for at, one in enumerate(moments) if not math.isnan(one.loss)}
    by_loss = sorted(range(len(files.numeric)), key=lambda at: (-loss.get(at, 0.0), at))
    shown, correlated = (sorted(by_loss[:most]) for most in (DRAWN_FIELDS, CORRELATED_FIELDS))
    distributions = tuple(
        FieldDistribution(names.shown(files.numeric[at]), bins.edges, bins.step, bins.before, bins.after)
        for at in shown
        if (bins := joined_bins(*files.pair(files.numeric[at]), k)) is not None
    )
    told(2, steps)
    named = [files.numeric[at] for at in correlated]
    before, after = (_matrix(correlations(numbers_of(side, named))) for side in (files.original, files.masked))
    told(3, steps)
    known, unmasked = (
        (_known(files, names, told, steps), _unmasked(files))
        if files.paired and files.numeric and intruders
        else ((), math.nan)
    )
    told(steps, steps)
    return SideBySide(
        records=len(files),
        paired=files.paired,
        distributions=distributions,
        moments=moments,
        shares=tuple(one for name in files.categorical if (one := _shares(files, name, k, names)) is not None),
        correlated=tuple(map(names.shown, named)),
        before=before,
        after=after,
        known=known,
        groups=_groups(files, names, drawn),
        unmasked_linkage=unmasked,
        notes=tuple(_left_out(files, len(shown), len(correlated))),
    )


def _moments(files: Assessed, k: int, names: LevelNames) -> tuple[FieldMoments, ...]:
    found = []
    for name in files.numeric:
        before, after = files.pair(name)
        means = [_mean(column, k) for column in (before, after)]
        both = before[:, np.newaxis], after[:, np.newaxis]
        (kept,) = kept_variation(*both)
        loss = math.nan if math.isnan(kept.ratio) else information_loss(*both)
        found.append(_moments_of(names.shown(name), kept, means, loss))
    return tuple(found)


def _moments_of(name: str, kept: KeptVariation, means: list[float], loss: float) -> FieldMoments:
    return FieldMoments(name, kept.records, means[0], means[1], kept.shift, kept.ratio, loss)


def _mean(column: NDArray[np.float64], k: int) -> float:
    held = column[~np.isnan(column)]
    return float(held.mean()) if len(held) >= k else math.nan


def _matrix(values: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in values)


def _known(files: Assessed, names: LevelNames, told: Told, steps: int) -> tuple[KnownFields, ...]:
    """Linkage by those who know the first number, the first two, and so on, and by those who know all."""
    count = len(files.numeric)
    found = []
    for known in dict.fromkeys((*range(1, min(count, MOST_KNOWN) + 1), count)):
        value = linkage_of_fields(files.pairs.of(range(known)), workers=files.workers)
        found.append(KnownFields(names.names(files.numeric[:known]), value))
        told(min(3 + known, steps), steps)
    return tuple(found)


def _unmasked(files: Assessed) -> float:
    same = pairs_of(files.original, files.original, files.numeric)
    return linkage_of_fields(same, workers=files.workers)


def _shares(files: Assessed, name: str, k: int, called: LevelNames) -> FieldShares | None:
    """Join the categories that fewer than k records have in a file; nothing where one is left."""
    counts = category_shares(files.original[name].held, files.masked[name].held)
    small = [one for one in counts.before if min(counts.before[one], counts.after[one]) < k]
    kept = [one for one in counts.before if one not in small]
    while small and kept and min(sum(side[one] for one in small) for side in (counts.before, counts.after)) < k:
        small.append(kept.pop(min(range(len(kept)), key=lambda at: counts.before[kept[at]])))
    names = [*kept, *([f"{len(small)} rarer ones" if len(small) > 1 else small[0]] if small else [])]
    if len(names) < 2:
        return None
    shares = []
    for side in (counts.before, counts.after):
        total = sum(side.values())
        parts = [side[one] for one in kept] + ([sum(side[one] for one in small)] if small else [])
        shares.append(tuple(100 * part / total for part in parts))
    return FieldShares(called.shown(name), tuple(names), *shares)


def _groups(files: Assessed, names: LevelNames, drawn: Collection[str]) -> tuple[GroupSizes, ...]:
    """How many records of the masked file are alike in each block; nothing where every record is on its own."""
    found = []
    for block, groups in zip(files.blocks, files.groups, strict=True):
        sizes, times = np.unique(np.bincount(groups), return_counts=True)
        if sizes.max() > 1 and not set(block).intersection(drawn):
            found.append(GroupSizes(names.names(block), tuple(zip(sizes.tolist(), times.tolist(), strict=True))))
    return tuple(found)


def _left_out(files: Assessed, shown: int, correlated: int) -> list[str]:
    count = len(files.numeric)
    notes = []
    if shown < count:
        notes.append(f"distributions of the {shown} numbers that lose most, of {count}")
    if correlated < count:
        notes.append(f"correlations of the {correlated} numbers that lose most, of {count}")
    return notes


def side_by_side_of_levels(
    files: Assessed,
    levels: Sequence[LevelFile],
    k: int,
    names: LevelNames,
    told: Told = untold,
    drawn: Collection[str] = (),
) -> SideBySide:
    """Summarise two files, and each of their levels; of flat files, them alone.

    Parameters
    ----------
    files : Assessed
        Of a nested file the records that were masked, with all their members.
    levels : sequence of LevelFile
    k : int
    names : LevelNames
        What fields of wide records are called.
    told : callable, optional
    drawn : collection of str
        As for `masktron.jobs.side_by_side.side_by_side`.

    Raises
    ------
    UsageError
        A value is infinite.
    """
    whole = side_by_side(files, k, told, drawn, names=names)
    return replace(whole, levels={one.level: side_by_side(one.files, k, intruders=False) for one in levels})
