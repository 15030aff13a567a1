"""A field in releases of the same respondents: the sums that each of them tells, row by row beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.jobs.column_memory import read_columns
from masktron.measures.assessed import Assessed
from masktron.measures.differencing import OUTSIDE, FieldReleases, Sums, published_sums
from masktron.sources.dataset import Dataset
from masktron.sources.source import Source
from masktron.write.manifest import DescribedRelease

ALIKE = 0.5
"""Share of the values of a field, beyond what is alike by chance, from which respondents count as the same ones."""
NEARLY = 0.05
"""Standard deviations of a field by which two numbers of a respondent may differ and still count as one value."""
UNCOVERED = (
    "categories, fields in one release alone, fields that follow in each record from others, draws, and weights in "
    "one release alone are not covered"
)
NO_MEAN = (
    "one of the releases publishes no means of them; a median, a quantile or a medoid is the value of a respondent, "
    "and two of them bound others: this is not covered, and no figure says that it is little"
)
OTHER_WEIGHTS = (
    "respondents of both releases have other weights in one than in the other; two sums with two sets of weights may "
    "determine all values of a group, even where groups are the same: this is not covered, and no figure says that "
    "it is little; release one of the two, or keep the weights"
)
OTHER_SCALE = (
    "respondents of both releases have other numbers in one than in the other, which are the same in another "
    "unit or rounded otherwise; to whoever converts them they are one value: this is not covered, and no figure says "
    "that it is little; give both originals the same unit"
)
OTHER_VALUES = (
    "most respondents of both releases have other values in one original than in the other; whether they are the "
    "same respondents with new answers, or others, is not known, so no figure says that it is little; give both "
    "originals a field that names their records alike"
)
SCALED = 0.03
"""Share of the numbers of a field that differ, from which on another unit is looked for."""
STRAIGHT = 0.999
"""Correlation of two fields from which on one is taken for the other in another unit, or rounded otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseSide:
    """A release beside its original.

    Attributes
    ----------
    files : Assessed
    described : DescribedRelease
    records : Dataset
        All of the original.
    rows : ndarray of intp
        Of those, the released ones.
    """

    files: Assessed
    described: DescribedRelease
    records: Dataset
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, files: Assessed, described: DescribedRelease, original: Source, memory: int | None) -> ReleaseSide:
        """Read the original of a release."""
        records = read_columns(original, missing=described.missing, memory=memory)
        excluded = np.array(described.excluded, dtype=np.intp)
        return cls(files, described, records, np.setdiff1d(np.arange(len(records)), excluded).astype(np.intp))

    def values(self, name: str) -> NDArray[np.float64]:
        """Original values of a field in the released records."""
        found: NDArray[np.float64] = self.records.columns[name].values[self.rows]
        return found

    def masks(self, name: str) -> bool:
        """Whether groups share one number of the field."""
        own = self.described.declared.drawn
        return name in self.files.numeric and name not in self.files.solved and name not in own

    def sums(self, name: str) -> Sums | None:
        """What the release tells of a field; None where it tells no sums, or this part does not know them."""
        if name in self.described.kept:
            held = ~np.isnan(self.values(name))
            nothing = np.zeros(len(self.rows))
            return Sums(np.where(held, np.arange(len(self.rows)), OUTSIDE), nothing, nothing)
        if not self.masks(name) or name not in self.described.means:
            return None
        at = next(at for at, block in enumerate(self.files.blocks) if name in block)
        masked = self.files.masked[name]
        return published_sums(
            self.values(name),
            masked.values,
            self.files.groups[at],
            self.files.weights,
            step=10.0**-masked.decimals,
        )


def field_of(sides: Sequence[ReleaseSide], name: str, people: Sequence[NDArray[np.intp]]) -> FieldReleases | str:
    """Put what releases tell of a field side by side, the one at hand last; or say why it is not covered.

    A respondent has as many rows as the originals have values for him that are not nearly the same.
    """
    kept = [name in side.described.kept for side in sides]
    sums = _told_sums(sides, name, shown=any(kept))
    if isinstance(sums, str):
        return sums
    if len({side.files.weights is None for side, own in zip(sides, kept, strict=True) if not own}) != 1:
        return UNCOVERED
    size = 1 + max(int(own.max(initial=-1)) for own in people)
    values = [_spread(side.values(name), own, size, np.nan) for side, own in zip(sides, people, strict=True)]
    weights = _weights(sides, kept, people, size)
    for before, weight in zip(values[:-1], weights[:-1], strict=True):
        near = _nearly(before, values[-1])
        if (weight != weights[-1])[near].any():
            return OTHER_WEIGHTS
        if why := _incomparable(before, values[-1], near):
            return why
    rows, first = _rows(values)
    scale = np.ones(len(first))
    for own, weight in reversed([*zip(rows, weights, strict=True)]):
        scale[own[own >= 0]] = weight[own >= 0]
    joined = []
    for own, value, weight, places, told in zip(rows, values, weights, people, sums, strict=True):
        there = np.flatnonzero(own >= 0)
        if (weight[there] != scale[own[there]]).any():
            return OTHER_WEIGHTS
        groups, apart = np.full(len(first), OUTSIDE, dtype=np.intp), np.zeros(len(first))
        groups[own[there]] = _spread(told.groups, places, size, OUTSIDE)[there]
        apart[own[there]] = weight[there] * (value[there] - first[own[there]])
        joined.append(_of_first_values(replace(told, groups=groups), groups, apart))
    step = 10.0 ** -max(side.records.columns[name].decimals for side in sides)
    return FieldReleases(first, tuple(joined), scale, step)


def _told_sums(sides: Sequence[ReleaseSide], name: str, *, shown: bool) -> list[Sums] | str:
    """Return what each release tells of a field; where one shows it as it is, others need not tell anything."""
    if any(name not in side.records.columns for side in sides):
        return UNCOVERED
    held = shown and all((~np.isnan(side.values(name))).any() for side in sides)
    found = []
    for side in sides:
        told = side.sums(name)
        if told is None and not held:
            return NO_MEAN if all(one.masks(name) for one in sides) else UNCOVERED
        nothing = np.empty(0)
        found.append(told or Sums(np.full(len(side.rows), OUTSIDE, dtype=np.intp), nothing, nothing))
    return found


def _weights(
    sides: Sequence[ReleaseSide], kept: Sequence[bool], people: Sequence[NDArray[np.intp]], size: int
) -> list[NDArray[np.float64]]:
    """Return the weights of respondents by release; a value that is shown as it is has the weight of the others."""
    found = [
        _spread(np.ones(len(own)) if side.files.weights is None else side.files.weights, own, size, np.nan)
        for side, own in zip(sides, people, strict=True)
    ]
    others = np.full(size, np.nan)
    for weight, own in zip(found, kept, strict=True):
        if not own:
            others = np.where(np.isnan(others), weight, others)
    others[np.isnan(others)] = 1.0
    return [others if own else weight for weight, own in zip(found, kept, strict=True)]


def _rows(values: Sequence[NDArray[np.float64]]) -> tuple[list[NDArray[np.intp]], NDArray[np.float64]]:
    """Number values of respondents, those that are nearly the same alike.

    Returns
    -------
    rows : list of ndarray of intp, shape (size,)
        By release and respondent; -1 where there is no value.
    first : ndarray of float64, shape (n,)
        The first of the values of each row.
    """
    rows, first = list[NDArray[np.intp]](), np.empty(0)
    for own in values:
        row = np.full(len(own), -1, dtype=np.intp)
        for before, known in zip(values, rows, strict=False):
            same = (row < 0) & (known >= 0) & _nearly(before, own)
            row[same] = known[same]
        new = (row < 0) & ~np.isnan(own)
        row[new] = len(first) + np.arange(int(new.sum()))
        rows.append(row)
        first = np.concatenate([first, own[new]])
    return rows, first


def _of_first_values(told: Sums, groups: NDArray[np.intp], apart: NDArray[np.float64]) -> Sums:
    """Say what sums of second values tell of the first ones, from which these are apart by little.

    The sum of the first values of a group is that of the second ones less the sum of what they are apart. Who attacks
    is taken to know for each value by how much at most, which favours him.
    """
    inside = (groups != OUTSIDE) & (apart != 0)
    m = len(told.error)
    return replace(
        told,
        error=told.error - np.bincount(groups[inside], apart[inside], minlength=m),
        tolerance=told.tolerance + np.bincount(groups[inside], np.abs(apart[inside]), minlength=m),
    )


def _incomparable(some: NDArray[np.float64], others: NDArray[np.float64], near: NDArray[np.bool_]) -> str:
    """Why the values of a field in two originals are not those of the same respondents; empty where they may be."""
    if _on_other_scale(some, others, near):
        return OTHER_SCALE
    return OTHER_VALUES if _alike(some, others, near) < ALIKE else ""


def _nearly(some: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which respondents have one value in both originals, but for what rounding changes: see `NEARLY`."""
    found: NDArray[np.bool_] = np.abs(some - others) <= NEARLY * _spread_of(some, others)
    return found


def _spread_of(some: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The smaller standard deviation of a field in two originals; 0 where one of them has no value."""
    held = [own[~np.isnan(own)] for own in (some, others)]
    return min(float(own.std()) if len(own) else 0.0 for own in held)


def _alike(some: NDArray[np.float64], others: NDArray[np.float64], near: NDArray[np.bool_]) -> float:
    """Share of the pairs of values that are nearly the same, less what is by chance; 1 where all are by chance.

    Chance is the share of all pairs of any two respondents (Cohen 1960, A coefficient of agreement for nominal
    scales, equation 1). Missing values are in no pair.
    """
    both = ~(np.isnan(some) | np.isnan(others))
    if not both.any():
        return 1.0
    width = NEARLY * _spread_of(some, others)
    ordered = np.sort(others[both])
    above = np.searchsorted(ordered, some[both] + width, side="right")
    below = np.searchsorted(ordered, some[both] - width, side="left")
    chance = float((above - below).mean()) / len(ordered)
    return (float(near[both].mean()) - chance) / (1.0 - chance) if chance < 1.0 else 1.0


def _on_other_scale(some: NDArray[np.float64], others: NDArray[np.float64], near: NDArray[np.bool_]) -> bool:
    """Whether more than a few numbers that both releases have differ, and lie on a straight line."""
    both = ~np.isnan(some) & ~np.isnan(others)
    apart = both & ~near
    few = max(3.0, SCALED * both.sum())
    if apart.sum() < few or min(np.ptp(some[apart]), np.ptp(others[apart])) == 0:
        return False
    return bool(abs(np.corrcoef(some[apart], others[apart])[0, 1]) >= STRAIGHT)


def _spread[T: np.generic](values: NDArray[T], places: NDArray[np.intp], size: int, nothing: float) -> NDArray[T]:
    found = np.full(size, nothing, dtype=values.dtype)
    found[places] = values
    return found
