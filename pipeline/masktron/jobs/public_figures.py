"""Coarse figures of an original, for whoever gets the masked file: none where few decide about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.jobs.lowering.level_files import LevelFile, groups_of_all, groups_of_block
from masktron.measures.assessed import Assessed, numbers_of
from masktron.measures.category_shares import category_shares, moved_by_group
from masktron.measures.kept_variation import (
    KeptCorrelation,
    KeptVariation,
    intervals_left,
    kept_correlation,
    kept_variation,
)
from masktron.results.public_release import (
    PUBLIC_LARGEST_SHARE,
    PUBLIC_LEAST_GROUPS,
    PUBLIC_LEAST_INTERVAL,
    PUBLIC_LEAST_OPEN,
    PUBLIC_LEAST_RECORDS,
    STEP,
    KeptFigure,
    SharesBound,
    ShiftBound,
)
from masktron.sources.column import Column, Status

type Partitions = Sequence[NDArray[np.intp] | None]
"""Groups of n records, each from 0, by who shares values of a field; None: each record has a value of its own."""

_SHIFTS: tuple[ShiftBound, ...] = ("0.01", "0.05", "0.2")
_SHARES: tuple[SharesBound, ...] = ("1", "5", "20")
_LEAST_MOVED = float(_SHARES[0]) / 100 / 2
"""Half of the finest bound of shares: a group that moves fewer of all records may have moved alone."""


class PublicFigures:
    """Coarse figures of the original, by field; none where few respondents or groups decide about them.

    Every record counts once. With survey weights a single heavy record could decide about a bound.

    Parameters
    ----------
    files : Assessed or None
        Without them, or where nobody knows which record belongs to which, there are no figures.
    partitions : callable
        Given a field, returns partitions of which each has to hold enough groups, none too large: as many of every
        field.
    respondents : ndarray of intp, shape (n,), optional
        Whose each record is, from 0: the household of a person. Each is of its own when not given.
    """

    def __init__(
        self,
        files: Assessed | None,
        partitions: Callable[[str], Partitions],
        respondents: NDArray[np.intp] | None = None,
    ) -> None:
        self._files = files if files is not None and files.paired else None
        self._columns = () if files is None else (files.masked, files.everything)  # unmasked fields are as they were
        self._partitions, self._respondents = partitions, respondents
        self._kept: dict[str, tuple[KeptVariation, ...]] = {}
        self._hidden: dict[str, bool] = {}
        self._moved: dict[str, float] = {}
        if self._files is None:
            return
        for name in self._files.numeric:
            before, after = self._files.pair(name)
            self._kept[name] = self._variations(name, before, after)
            self._hidden[name] = _stays_open(before, after)
        self._moved = self._correlations([name for name in self._files.numeric if self._told(name)])

    @classmethod
    def of_records(cls, files: Assessed | None, *, whole: bool) -> Self:
        """Return the figures of flat records.

        Parameters
        ----------
        files : Assessed or None
        whole : bool
            Whether one partition was made of all masked fields: the file shows it in all of them together.
        """
        together = groups_of_all(files) if whole and files is not None else None
        return cls(files, lambda name: () if files is None else (groups_of_block(files, name, together),))

    @classmethod
    def of_level(cls, level: LevelFile) -> Self:
        """Return the figures of the records of a level, of which a respondent, such as a household, has several.

        What a household has in all its persons is held to the bounds, and so is what persons have alone: groups are
        those of households, and those of persons at the same position of these.
        """
        return cls(level.files, lambda name: level.partitions[name], level.units)

    def _variations(
        self,
        name: str,
        before: NDArray[np.float64],
        after: NDArray[np.float64],
        which: NDArray[np.bool_] | None = None,
    ) -> tuple[KeptVariation, ...]:
        """Compare a field, among some records, by each of its partitions."""
        some = slice(None) if which is None else which
        respondents = None if self._respondents is None else self._respondents[some]
        return tuple(
            kept_variation(
                before[some][:, np.newaxis],
                after[some][:, np.newaxis],
                None if groups is None else groups[some],
                respondents,
            )[0]
            for groups in self._partitions(name)
        )

    def _told(self, name: str) -> bool:
        """Whether so many respondents and groups decide about a field that its figures give nobody away."""
        kept = self._kept.get(name, ())
        return bool(kept) and math.isfinite(kept[0].ratio) and all(map(_enough, kept)) and self._hidden[name]

    def _correlations(self, names: Sequence[str]) -> dict[str, float]:
        """By how much the correlations of each field with the other ones moved on average, up or down."""
        if self._files is None or len(names) < 2:
            return {}
        held: dict[str, list[float]] = {name: [] for name in names}
        for one, other in combinations(names, 2):
            change = self._change(one, other)
            if change is not None:
                held[one].append(change)
                held[other].append(change)
        return {name: math.fsum(changes) / len(changes) for name, changes in held.items() if changes}

    def _change(self, one: str, other: str) -> float | None:
        """By how much one correlation moved; None where few decide about it, as averages can be solved for it.

        The variances are tested again among the records that the two fields have in common, if these are fewer.
        """
        assert self._files is not None  # noqa: S101 -- for mypy
        before, after = (numbers_of(side, (one, other)) for side in (self._files.original, self._files.masked))
        found = [
            kept_correlation(before, after, pair, self._respondents)
            for pair in zip(self._partitions(one), self._partitions(other), strict=True)
        ]
        if not all(math.isfinite(own.change) and _enough(own) for own in found):
            return None
        if found[0].records < max(self._kept[one][0].records, self._kept[other][0].records):
            common = ~(np.isnan(before).any(axis=1) | np.isnan(after).any(axis=1))
            for at, name in enumerate((one, other)):
                if not all(map(_enough, self._variations(name, before[:, at], after[:, at], common))):
                    return None
        return found[0].change

    def mean(self, name: str) -> ShiftBound | None:
        """Bound of the shift of the mean, in standard deviations."""
        if not self._told(name):
            return None
        shift = abs(self._kept[name][0].shift)
        return next((bound for bound in _SHIFTS if shift <= float(bound)), "more")

    def keeps_mean(self, name: str) -> bool:
        """Whether mean and total of the released values are those of the original ones.

        Each file counts what is present in it, under its own weights where it has some: values that were missing may
        be filled, and a weight that is written in classes is another one.
        """
        files = self._files
        if files is None or not self._told(name):
            return False
        before, after = files.pair(name)
        weights = np.ones(len(before)) if files.weights is None else files.weights
        earlier = weights if files.weights_before is None else files.weights_before
        size, own = (float(weight[~np.isnan(x)].sum()) for x, weight in ((before, earlier), (after, weights)))
        rounding = 0.5 * 10.0 ** -files.masked[name].decimals * (1 + 1e-9)
        total = math.fsum(np.nan_to_num(after) * weights - np.nan_to_num(before) * earlier)
        mean = math.fsum(np.nan_to_num(after) * weights / own - np.nan_to_num(before) * earlier / size)
        return abs(total) <= rounding * size and abs(mean) <= rounding

    def variance(self, name: str) -> KeptFigure | None:
        """Variance after divided by variance before."""
        return KeptFigure.coarsened(self._kept[name][0].ratio) if self._told(name) else None

    def correlations(self, name: str) -> KeptFigure | None:
        """Mean change of the correlations."""
        return KeptFigure.coarsened(self._moved[name]) if name in self._moved else None

    def missing(self, name: str) -> int | None:
        """Values that are missing in the released file, which whoever has it can count."""
        column = self._written(name)
        return None if column is None else int((~column.present).sum())

    def below_zero(self, name: str) -> int:
        """Values below 0 in the released file, which whoever has it can count."""
        column = self._written(name)
        return 0 if column is None else int((column.present & (column.values < 0)).sum())

    def codes(self, name: str) -> tuple[str, ...]:
        """What stands for missing values in the released file; codes that it does not have are not told."""
        column = self._written(name)
        return () if column is None else tuple(sorted(column.texts(Status.CODE)))

    def _written(self, name: str) -> Column | None:
        """Return a field of the released file; None where that file was not at hand."""
        return next((columns[name] for columns in self._columns if name in columns), None)

    def shares(self, name: str) -> SharesBound | None:
        """Bound of the shares of categories that moved."""
        if self._files is None or name not in self._files.categories:
            return None
        original, masked = self._files.original[name], self._files.masked[name]
        present = original.present & masked.present
        before, after = original.lexemes_of(present), masked.lexemes_of(present)
        people = len(before) if self._respondents is None else len(np.unique(self._respondents[present]))
        if people < PUBLIC_LEAST_RECORDS:
            return None
        for groups in self._partitions(name):
            moved = moved_by_group(before, after, None if groups is None else groups[present])
            largest, total = float(moved.max()), float(moved.sum())
            if len(moved) < PUBLIC_LEAST_GROUPS:
                return None
            if largest > PUBLIC_LARGEST_SHARE * total and largest > _LEAST_MOVED * len(before):
                return None
        distance = category_shares(before, after).distance
        return next((bound for bound in _SHARES if distance <= float(bound)), "more")


def _stays_open(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Whether the share of variance leaves each value open for whoever knows all other ones, however heavy it is."""
    values = before[~(np.isnan(before) | np.isnan(after))]
    if not len(values) or values.min() == values.max():
        return True
    widths = intervals_left(before, after, step=STEP)
    largest = float(np.abs(values).max())
    units = np.abs(values / largest) / float((values / largest).std())
    needed = np.clip(PUBLIC_LEAST_OPEN * units, PUBLIC_LEAST_INTERVAL, 0.5)
    return bool((widths >= needed).all())


def _enough(kept: KeptVariation | KeptCorrelation) -> bool:
    """Whether enough respondents and groups are behind a figure, and none of them decides about it."""
    return (
        kept.respondents >= PUBLIC_LEAST_RECORDS
        and kept.groups >= PUBLIC_LEAST_GROUPS
        and kept.record_share <= PUBLIC_LARGEST_SHARE
        # what moves a figure by less than half a step is lost in rounding, whoever decides about it
        and (kept.change_share <= PUBLIC_LARGEST_SHARE or kept.largest_change < STEP / 2)
    )
