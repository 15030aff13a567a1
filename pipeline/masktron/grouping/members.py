"""Codes of records, and the records of each code as one array that is cut where it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

type Rows = NDArray[np.intp]

_CLOSE_BY = 4
"""Entries for each record of which a table of integers is worth its memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Members(Sequence[Rows]):
    """Records group by group; ``members[g]`` is the part of group g, in file order.

    Attributes
    ----------
    order : ndarray of intp, shape (records,)
        Records of all groups, sorted by group and then by record.
    starts : ndarray of intp, shape (groups + 1,)
        Where each group begins in `order`; the last entry is its length.
    """

    order: Rows
    starts: Rows

    @classmethod
    def of(cls, labels: Rows, groups: int | None = None) -> Self:
        """Sort records by group.

        Parameters
        ----------
        labels : ndarray of intp, shape (n,)
            Groups 0 to g - 1; -1 for records in none, which are left out.
        groups : int, optional
            g; one more than the largest label when not given.
        """
        order = np.argsort(labels, kind="stable")
        order = order[np.count_nonzero(labels < 0) :]
        count = int(labels.max(initial=-1)) + 1 if groups is None else groups
        sizes = np.bincount(labels[order], minlength=count)
        return cls(order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, group: int) -> Rows: ...
    @overload
    def __getitem__(self, group: slice) -> tuple[Rows, ...]: ...
    def __getitem__(self, group: int | slice) -> Rows | tuple[Rows, ...]:
        if isinstance(group, slice):
            return tuple(self[one] for one in range(*group.indices(len(self))))
        at = group + len(self) if group < 0 else group
        if not 0 <= at < len(self):
            raise IndexError(f"there is no group {group} of {len(self)}")
        return self.order[self.starts[at] : self.starts[at + 1]]

    @property
    def sizes(self) -> Rows:
        """Records of each group, shape (groups,)."""
        return np.diff(self.starts)

    @property
    def labels(self) -> Rows:
        """Group of each entry of `order`."""
        return np.repeat(np.arange(len(self)), self.sizes)


def codes_of(columns: NDArray[np.generic]) -> NDArray[np.intp]:
    """Number the distinct rows of a 2-d array, in sorted order; shape (n,). All 0 where there are no columns."""
    return codes_of_columns(columns.T, len(columns))


def codes_of_columns(columns: Iterable[NDArray[np.generic]], n: int) -> NDArray[np.intp]:
    """Number distinct rows as `codes_of`, of columns of shape (n,) that come one after the other."""
    codes = np.zeros(n, dtype=np.intp)
    for column in columns:
        own = _numbered(column)
        # two codes below n give one below n * n, which is in the order of the pairs
        codes = _numbered(codes * (int(own.max(initial=0)) + 1) + own)
    return codes


def _numbered(column: NDArray[np.generic]) -> NDArray[np.intp]:
    """Number the distinct values of a column in sorted order; without sorting where they are integers close by."""
    if len(column) and np.issubdtype(column.dtype, np.integer):
        lowest, highest = int(column.min()), int(column.max())
        if highest - lowest <= _CLOSE_BY * len(column):
            places = column.astype(np.intp) - lowest
            there = np.zeros(highest - lowest + 1, dtype=np.intp)
            there[places] = 1
            numbers = np.empty(len(there), dtype=np.intp)
            np.cumsum(there, out=numbers)
            return numbers[places] - 1
    codes: Rows = np.unique(column, return_inverse=True)[1].ravel().astype(np.intp)
    return codes
