"""Targeted record swapping: units that are rare in their region change places with like ones of other regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Indices, require_value
from masktron.errors import DocumentError, InfeasibleError, UsageError
from masktron.kernels.distinct import alike
from masktron.measures.keys.combinations import key_frequencies
from masktron.problems.problem import Place
from masktron.treatments.admissibility import AdmitsCodes, KeyCodes, asked, checked_codes, checked_weights
from masktron.treatments.record_units import RecordUnits, record_units

MOST_ASKED = 200_000_000
"""Pairs of a unit and a region for which answers of the rules are held."""


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """What a report says of a level of regions. None of it is a value of a record.

    Attributes
    ----------
    regions : int
    at_risk : int
        Units with a record that shared its keys with fewer than k records of its region.
    stayed : int
        Those of them that are in their own region of the level as before: nothing could be exchanged with them.
    swapped : int
        Units that are in another region of the level.
    rare : int
        Records that share their keys with fewer than k records of their region in the written file.
    rare_at_home : int
        Those of them that are of this region: somebody who finds one there is right.
    """

    regions: int
    at_risk: int
    stayed: int
    swapped: int
    rare: int
    rare_at_home: int


@dataclass(frozen=True, slots=True, eq=False)
class RecordSwaps:
    """What record swapping has made of the regions.

    Attributes
    ----------
    regions : tuple of ndarray of intp, shape (n,) each
        What is written, from coarse to fine.
    partner : ndarray of intp, shape (n,)
        A record of the unit with which that of the record has changed places; -1 where it has not. Confidential.
    units : int
    targeted, at_random : int
        Pairs that were exchanged for the risk of one of them, and for the rate.
    by_profile : tuple of int
        Pairs that agree in all similar fields, in all but the last, and so on.
    across : int
        Pairs that were exchanged for a finer level and are of two regions of the level above.
    other_weight : int
        Pairs whose weights are of different classes.
    without_region : int
        Units that were not looked at, since a code of their region is missing.
    levels : tuple of LevelFigures
        From coarse to fine.
    """

    regions: tuple[KeyCodes, ...]
    partner: Indices
    units: int
    targeted: int
    at_random: int
    by_profile: tuple[int, ...]
    across: int
    other_weight: int
    without_region: int
    levels: tuple[LevelFigures, ...]


def record_swaps(
    regions: Sequence[NDArray[np.integer[Any]]],
    generator: np.random.Generator,
    *,
    keys: Sequence[NDArray[np.integer[Any]]] = (),
    k: int = 3,
    rate: float = 0.0,
    similar: Sequence[NDArray[np.integer[Any]]] = (),
    required: int | None = None,
    households: NDArray[np.integer[Any]] | None = None,
    least_regions: int = 2,
    admissible: AdmitsCodes | None = None,
    weights: NDArray[np.float64] | None = None,
) -> RecordSwaps:
    """Exchange the regions of units in pairs.

    Parameters
    ----------
    regions : sequence of ndarray of int, shape (n,) each
        Codes of regions from coarse to fine, -1 where missing. All of them move together.
    generator : numpy.random.Generator
        From a stream of the secret of the release (`masktron.streams`).
    keys : sequence of ndarray of int, shape (n,) each
        What makes a record rare in its region, -1 where missing. Without them nothing is at risk.
    k : int
        A record is at risk at a level where fewer than k records of its region share its keys.
    rate : float
        Share of the units that is to be swapped, from 0 to 1. Units at risk and their partners count; where they are
        fewer, others are drawn, at the finest level.
    similar : sequence of ndarray of int, shape (n,) each
        Fields that agree in the two units, the most important first.
    required : int, optional
        How many of them agree at least; where nobody agrees in all, the last are dropped one by one. All by default.
    households : ndarray of int, shape (n,), optional
        Records with one number move together; -1 for a record on its own.
    least_regions : int
        Where a unit goes is drawn from at least so many other regions of the level; else it stays. With 1, as other
        programs do it, whoever sees that a record of a file with two regions was moved knows where it came from.
    admissible : callable, optional
        In which regions the rules admit a record; in all where not given.
    weights : ndarray of float64, shape (n,), optional
        Those go first whose mean weight lies between the same powers of 2, or the nearest.

    Returns
    -------
    RecordSwaps

    Raises
    ------
    UsageError
        An argument is wrong, or rules would have to be asked of too many regions.
    DocumentError
        The records of a household are in several regions.
    InfeasibleError
        The rules do not admit a record in its own region.

    Notes
    -----
    From the coarsest level to the finest, units at risk there that have not moved are taken in random order. Partners
    are units that have not moved, are of another region of the level, have as many records, agree in the profile, and
    are admitted in the other's region, as the unit is in theirs. Of the first profile whose partners are of at least
    `least_regions` regions, those are taken first that are of the same region of the level above, so that its tables
    stay, then those of the nearest class of weights, no more than `least_regions` regions ask for; one of them is
    drawn, each with the same chance. Then units are drawn from all, and exchanged at the finest level, until the
    rate is reached.

    *Kept exactly*: both units have as many records and agree in the required fields, and each gets the region of the
    other. So the records with each combination of region and required fields are as many as before (in households: of
    members' values taken together), and so are all tables of other fields without regions. *Not kept*: tables of
    regions by other fields, and rules across records of a region, which the re-validation judges. A unit moves
    once.

    Source: Dalenius and Reiss (1982), Data-swapping; Shlomo, Tudor and Groom (2010), Data swapping for protecting
    census tables; ``recordSwap`` of sdcMicro, whose profiles need not contain one another, and which has no
    `least_regions`.
    """
    codes = checked_codes(regions, "record swapping")
    n = len(codes[0])
    others = checked_codes([codes[0], *keys, *similar], "record swapping")[1:]
    known, like = others[: len(keys)], others[len(keys) :]
    required = len(like) if required is None else required
    _require_numbers(k, rate, required, len(like), least_regions)
    of = None if households is None else checked_codes([codes[0], households], "record swapping")[1]
    units = swap_units(codes, of, like, required, checked_weights(weights, n))
    exchange = _Exchange(units, generator, least_regions, _admitted(units, codes, admissible))
    numbers = region_numbers(codes)
    risky = [units.any_record(records_at_risk(known, level, k)) for level in numbers.T]
    for level, at_risk in enumerate(risky):
        waiting = np.flatnonzero(at_risk & exchange.free)
        for unit in waiting[generator.permutation(len(waiting))].tolist():
            exchange.move(unit, level)
    targeted = exchange.pairs
    if rate > 0:
        _to_rate(exchange, rate)
    partner = exchange.partner[units.of_record]
    moved = partner >= 0
    source = np.where(moved, units.first[partner], np.arange(n))
    written = numbers[source]
    levels = []
    for level, at_risk in enumerate(risky):
        elsewhere = (written[:, level] != numbers[:, level])[units.first]
        rare = records_at_risk(known, written[:, level], k)
        levels.append(
            LevelFigures(
                regions=len(np.unique(numbers[numbers[:, level] >= 0, level])),
                at_risk=int(at_risk.sum()),
                stayed=int((at_risk & ~elsewhere).sum()),
                swapped=int(elsewhere.sum()),
                rare=int(rare.sum()),
                rare_at_home=int((rare & (written[:, level] == numbers[:, level])).sum()),
            )
        )
    return RecordSwaps(
        regions=tuple(column[source] for column in codes),
        partner=np.where(moved, source, -1),
        units=len(units),
        targeted=targeted,
        at_random=exchange.pairs - targeted,
        by_profile=tuple(exchange.by_profile),
        across=exchange.across,
        other_weight=exchange.other_weight,
        without_region=int((units.region[:, -1] < 0).sum()),
        levels=tuple(levels),
    )


@dataclass(slots=True, eq=False)
class _Exchange:
    """Units that change places, one pair after the other."""

    units: SwapUnits
    generator: np.random.Generator
    least_regions: int
    admitted: NDArray[np.bool_] | None
    free: NDArray[np.bool_] = field(init=False)
    partner: Indices = field(init=False)
    by_profile: list[int] = field(init=False)
    members: list[dict[int, Indices]] = field(init=False)
    pairs: int = 0
    across: int = 0
    other_weight: int = 0

    def __post_init__(self) -> None:
        units = self.units
        self.free = units.region[:, -1] >= 0
        self.partner = np.full(len(units), -1, dtype=np.intp)
        self.by_profile = [0] * units.profile.shape[1]
        self.members = []
        for profile in units.profile.T:
            order = np.argsort(profile, kind="stable")
            starts = np.flatnonzero(np.diff(profile[order], prepend=-1))
            parts = np.split(order, starts[1:]) if len(order) else []
            self.members.append({int(profile[part[0]]): part for part in parts})

    def move(self, unit: int, level: int) -> bool:
        """Exchange a unit with one of another region of a level; tell whether there was one to draw."""
        if not self.free[unit]:
            return False
        for at, members in enumerate(self.members):
            pool = self._pool(unit, members[int(self.units.profile[unit, at])], level)
            if pool.size:
                other = int(pool[self.generator.integers(len(pool))])
                self._join(unit, other, level, at)
                return True
        return False

    def _pool(self, unit: int, members: Indices, level: int) -> Indices:
        """Return the units from which the partner is drawn: none where they are of too few regions."""
        region, weight = self.units.region, self.units.weight
        found: Indices = members[self.free[members] & (region[members, level] != region[unit, level])]
        if self.admitted is not None:
            found = found[self.admitted[unit, region[found, -1]] & self.admitted[found, region[unit, -1]]]
        _, place = np.unique(region[found, level], return_inverse=True)
        if not found.size or place.max() + 1 < self.least_regions:
            return np.empty(0, dtype=np.intp)
        far = np.abs(weight[found] - weight[unit])
        if level:
            far = far + (far.max() + 1) * (region[found, level - 1] != region[unit, level - 1])
        nearest = np.full(place.max() + 1, far.max())
        np.minimum.at(nearest, place, far)
        pool: Indices = found[far <= np.sort(nearest)[self.least_regions - 1]]
        return pool

    def _join(self, unit: int, other: int, level: int, profile: int) -> None:
        region, weight = self.units.region, self.units.weight
        self.free[[unit, other]] = False
        self.partner[[unit, other]] = other, unit
        self.pairs += 1
        self.by_profile[profile] += 1
        self.across += bool(level and region[unit, level - 1] != region[other, level - 1])
        self.other_weight += bool(weight[unit] != weight[other])


def _to_rate(exchange: _Exchange, rate: float) -> None:
    """Exchange units that are drawn from all until the rate is reached; a fraction of a pair is drawn for."""
    region = exchange.units.region
    inside = np.flatnonzero(region[:, -1] >= 0)
    wanted = int(rate * len(inside) / 2 + exchange.generator.random()) - exchange.pairs
    for unit in inside[exchange.generator.permutation(len(inside))].tolist():
        if wanted <= 0:
            return
        wanted -= exchange.move(unit, region.shape[1] - 1)


def _admitted(
    units: SwapUnits, codes: Sequence[KeyCodes], admissible: AdmitsCodes | None
) -> NDArray[np.bool_] | None:
    """Return in which regions the rules admit each unit, shape (units, regions); None where they do not say."""
    if admissible is None:
        return None
    of_units = units.region[:, -1]
    count = int(of_units.max(initial=-1)) + 1
    if count * len(units) > MOST_ASKED:
        raise UsageError.of(
            "too-many-values", number=count * len(units), things="pairs of records and regions", most=MOST_ASKED
        )
    places = np.zeros(count, dtype=np.intp)
    inside = np.flatnonzero(of_units >= 0)
    places[of_units[inside]] = units.first[inside]
    found = admitted_regions(units, codes, admissible, places)
    wrong = inside[~found[inside, of_units[inside]]]
    if wrong.size:
        raise InfeasibleError.of("own-value-refused", Place(record=int(units.first[wrong[0]]) + 1))
    return found


def _require_numbers(k: int, rate: float, required: int, similar: int, least_regions: int) -> None:
    require_value(k >= 2, "k", "2 or more", k)
    require_value(0 <= rate <= 1, "rate", "a share from 0 to 1", rate)
    require_value(0 <= required <= similar, "required", f"from 0 to {similar}, the similar fields", required)
    require_value(least_regions >= 1, "least_regions", "1 or more", least_regions)


@dataclass(frozen=True, slots=True, eq=False)
class SwapUnits(RecordUnits):
    """Units of a file that change places.

    Attributes
    ----------
    region : ndarray of intp, shape (units, levels)
        Number of its region at each level, from coarse to fine; -1 where a code is missing.
    profile : ndarray of intp, shape (units, profiles)
        Equal where two units have as many records and these agree: in all similar fields, in all but the last, ...
    weight : ndarray of intp, shape (units,)
        Class of its mean weight: powers of 2.
    """

    region: NDArray[np.intp]
    profile: NDArray[np.intp]
    weight: Indices


def swap_units(
    regions: Sequence[KeyCodes],
    households: KeyCodes | None,
    similar: Sequence[KeyCodes],
    required: int,
    weights: Floats,
) -> SwapUnits:
    """Put records together to units.

    Parameters
    ----------
    regions : sequence of ndarray of intp, shape (n,) each
        Codes from coarse to fine. A region of a level is a combination of the codes down to it.
    households : ndarray of intp, shape (n,), or None
        A record with -1 is a unit of its own; so is every record with None.
    similar : sequence of ndarray of intp, shape (n,) each
    required : int
        How many of them have to agree at least.
    weights : ndarray of float64, shape (n,)

    Raises
    ------
    DocumentError
        The records of a household are in several regions.
    """
    n = len(regions[0])
    units = record_units(np.full(n, -1) if households is None else households)
    of_record, first = units.of_record, units.first
    levels = region_numbers(regions)
    apart = np.flatnonzero(units.unlike(list(levels.T)))
    if apart.size:
        raise DocumentError.of(
            "household-differs",
            Place(record=int(apart[0]) + 1),
            households=len(np.unique(of_record[apart])),
            total=len(first),
            fields="the region",
        )
    sizes = np.bincount(of_record, minlength=len(first))
    profile = [
        _alike_units(of_record, sizes, alike([column.astype(np.int32) for column in similar[:many]], n)[0])
        for many in range(len(similar), required - 1, -1)
    ]
    means = np.bincount(of_record, weights, len(first)) / np.maximum(sizes, 1)
    return SwapUnits(of_record, first, levels[first], np.stack(profile, axis=1), np.frexp(means)[1].astype(np.intp))


def region_numbers(regions: Sequence[KeyCodes]) -> NDArray[np.intp]:
    """Number the regions of each level, shape (n, levels): combinations of codes, -1 where one is missing."""
    found = np.full((len(regions[0]), len(regions)), -1, dtype=np.intp)
    for level in range(len(regions)):
        known = np.logical_and.reduce([column >= 0 for column in regions[: level + 1]])
        found[known, level], _ = alike(
            [column[known].astype(np.int32) for column in regions[: level + 1]], known.sum()
        )
    return found


def records_at_risk(keys: Sequence[NDArray[np.integer[Any]]], region: Indices, k: int) -> NDArray[np.bool_]:
    """Tell which records share their keys with fewer than k records of their region, themselves included, shape (n,).

    A missing key matches every value; a record without a region is in none, and not at risk.
    """
    found = np.zeros(len(region), dtype=np.bool_)
    inside = region >= 0
    if keys and inside.any():
        found[inside] = key_frequencies([*(key[inside] for key in keys), region[inside]]).sample < k
    return found


def admitted_regions(
    units: SwapUnits, regions: Sequence[KeyCodes], admissible: AdmitsCodes, places: Indices
) -> NDArray[np.bool_]:
    """Ask in which regions the rules admit each unit with all its records.

    Parameters
    ----------
    units : SwapUnits
    regions : sequence of ndarray of intp, shape (n,) each
    admissible : callable
        Of the codes of a region, for all levels.
    places : ndarray of intp, shape (regions,)
        A record of each region of the finest level, in the order of their numbers.

    Returns
    -------
    ndarray of bool, shape (units, regions)
    """
    found = np.ones((len(units), len(places)), dtype=np.bool_)
    known = np.logical_and.reduce([column >= 0 for column in regions])
    for number, place in enumerate(places.tolist()):
        proposed = [np.where(known, column[place], column) for column in regions]
        found[:, number] = ~units.any_record(~asked(admissible, proposed))
    return found


def _alike_units(of_record: Indices, sizes: Indices, number: Indices) -> Indices:
    """Number units, equal where they have the same records, as multisets of numbers, shape (units,)."""
    found = np.zeros(len(sizes), dtype=np.intp)
    order = np.lexsort((number, of_record))
    starts = np.cumsum(sizes) - sizes
    above = 0
    for size in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == size)
        columns = (number[order[starts[which] + at]].astype(np.int32) for at in range(size))
        numbers, count = alike(columns, len(which))
        found[which] = above + numbers
        above += count
    return found
