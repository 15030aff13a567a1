"""Which records hold the values of a prototype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.members import codes_of
from masktron.grouping.record_groups import RecordGroups
from masktron.kernels import distinct
from masktron.large_arrays import kept
from masktron.masking.file_values import FileValues
from masktron.settle.prototypes import Settled


@dataclass(frozen=True, slots=True, eq=False)
class Holders:
    """Prototypes compared with the records of the file.

    Numbers are equal if their values are, whatever their spelling; categories, if their texts are. A record holds a
    prototype if it has its values in all fields in which the prototype has one; a prototype without any is nobody's.

    Attributes
    ----------
    equal : ndarray of bool, shape (n,)
        Records that hold the prototype of their group.
    held : ndarray of bool, shape (groups,)
        Groups with such a record.
    in_file : ndarray of intp, shape (groups,)
        Records of the whole file that hold the prototype; 0 where none of the group does.
    alone : ndarray of bool, shape (groups,)
        Groups that publish a value of a field of which one record of the group alone has a value, and fewer than k
        records of the file have this one.
    """

    equal: NDArray[np.bool_]
    held: NDArray[np.bool_]
    in_file: NDArray[np.intp]
    alone: NDArray[np.bool_]
    _own: Sequence[NDArray[np.float64]]
    _written: Sequence[NDArray[np.float64]]
    _labels: NDArray[np.intp]

    @classmethod
    def of(
        cls, file: FileValues, k: int, variables: Sequence[str], grouping: RecordGroups, settled: Settled
    ) -> Holders:
        """Compare the prototypes of a block with all records."""
        cells = (_coded(file, name, settled, at) for at, name in enumerate(variables))
        own, written = map(list, zip(*((kept(one), other) for one, other in cells), strict=True))
        equal, some = np.ones(file.n, dtype=np.bool_), np.zeros(grouping.groups, dtype=np.bool_)
        for values, prototypes in zip(own, written, strict=True):
            masked = prototypes[grouping.labels]
            equal &= (values == masked) | np.isnan(masked)
            some |= ~np.isnan(prototypes)
        equal &= some[grouping.labels]
        held = np.bincount(grouping.labels, equal, minlength=grouping.groups) > 0
        return cls(
            equal=equal,
            held=held,
            in_file=_in_file(own, written, held),
            alone=np.any([_alone(*pair, grouping, k) for pair in zip(own, written, strict=True)], axis=0),
            _own=own,
            _written=written,
            _labels=grouping.labels,
        )

    def unchanged(self, position: int) -> NDArray[np.bool_]:
        """Groups with a value of the field at a position, in which every record gets its own back."""
        own, written = self._own[position], self._written[position]
        changed = np.bincount(self._labels, own != written[self._labels], minlength=len(written))
        return np.asarray(~np.isnan(written) & (changed == 0))


def _coded(file: FileValues, name: str, settled: Settled, at: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of a field in the records and in the prototypes, as numbers; NaN where there is none."""
    if name in file.numeric:
        return file.values[name], file.without_codes(name, settled.numbers_at(at))
    codes = distinct.codes_of(np.concatenate([file.columns[name].held, settled.texts(at)]))
    own, written = codes[: file.n], codes[file.n :]
    # What no record has is no value: a missing code, or an empty text.
    known = np.isin(written, own[own >= 0])
    return np.where(own >= 0, own, np.nan), np.where(known, written, np.nan)


def _in_file(
    own: Sequence[NDArray[np.float64]], written: Sequence[NDArray[np.float64]], held: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """How many records of the file hold each of some prototypes, pattern by pattern of missing values."""
    found = np.zeros(len(held), dtype=np.intp)
    groups = np.flatnonzero(held)
    missing = np.stack([np.isnan(prototypes[groups]) for prototypes in written], axis=1)
    patterns = codes_of(missing)
    for code in range(int(patterns.max(initial=-1)) + 1):
        of_code = groups[patterns == code]
        there = np.flatnonzero(~missing[patterns == code][0]).tolist()
        # Few records have the first values of a prototype; the others need not be compared with it.
        records = np.arange(len(own[0]))
        for at in there:
            records = records[np.isin(own[at][records], written[at][of_code])]
        cells = [np.concatenate([own[at][records], written[at][of_code]]) for at in there]
        alike = codes_of(np.stack(cells, axis=1))
        counts = np.bincount(alike[: len(records)], minlength=int(alike.max(initial=-1)) + 1)
        found[of_code] = counts[alike[len(records) :]]
    return found


def _alone(
    own: NDArray[np.float64], written: NDArray[np.float64], grouping: RecordGroups, k: int
) -> NDArray[np.bool_]:
    """Groups that publish the only value of a field that their records have, where it is rare in the file."""
    there = ~np.isnan(own)
    single = np.bincount(grouping.labels, there, minlength=grouping.groups) == 1
    value = np.full(grouping.groups, np.nan)
    value[grouping.labels[there]] = own[there]
    published = single & (written == value)
    if published.any():
        values, counts = np.unique(own[there], return_counts=True)
        which = np.flatnonzero(published)
        published[which] = counts[np.searchsorted(values, value[which])] < k
    return np.asarray(published)
