"""What record swapping moves: records, or whole households, with their regions, profiles, weights and risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Indices
from masktron.errors import DocumentError
from masktron.kernels.distinct import alike
from masktron.measures.keys.combinations import key_frequencies
from masktron.treatments.admissibility import AdmitsCodes, KeyCodes, asked
from masktron.treatments.record_units import RecordUnits, record_units


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
        raise DocumentError(
            "the records of one household are in several regions",
            where=f"record {int(apart[0]) + 1}",
            hint="correct the region or the number of the household, or swap records, not households",
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
