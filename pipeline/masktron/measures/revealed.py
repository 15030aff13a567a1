"""Values that a group of masked records reveals: all of its members had them, and they are published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.measures.unchanged import same_cells
from masktron.sources.records import Column


@dataclass(frozen=True, slots=True)
class Revealed:
    """What the groups of one block reveal.

    Attributes
    ----------
    cells : int
        Values of the original that were masked.
    revealed : int
        Of these, the ones that all members of a group of two or more had, and that are published.
    """

    cells: int
    revealed: int

    @property
    def share(self) -> float:
        """Per cent of the values; NaN where there are none."""
        return 100.0 * self.revealed / self.cells if self.cells else float("nan")


def revealed(pairs: Iterable[tuple[Column, Column]], groups: NDArray[np.intp]) -> Revealed:
    """Count the values that a group reveals, whatever its size.

    Records that share their published values of a block form a group. It reveals its value of a field where every
    member had this value before masking. Who finds a respondent in such a group, and no more than the group, has the
    true value: that of a lone record is `unchanged`, and no group of its own. A field with the same value in every
    record that has one reveals nothing of a group, and does not count as revealed.

    Parameters
    ----------
    pairs : iterable of (Column, Column)
        The fields of a block: original and masked, the same records in the same order.
    groups : ndarray of intp, shape (n,)
        Numbers of the groups from 0, without gaps.

    Returns
    -------
    Revealed
        Numbers are compared as numbers, all else as text. What the original does not have is no value: it is not
        among the cells, and a group reveals nothing of a field that one of its members did not have.

    Notes
    -----
    This is homogeneity as in l-diversity with l = 1 (Machanavajjhala and others 2007), for the masked fields
    themselves. A mean of values that cannot be negative is 0 only where all of them are. Every value that counts is
    unchanged as well, so that the share is at most that of `unchanged`. Time is linear in the cells.
    """
    sizes = np.bincount(groups)
    first = np.zeros(len(sizes), dtype=np.intp)
    first[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)
    cells = found = 0
    for original, masked in pairs:
        cells += int(original.present.sum())
        if not _varies(original):
            continue
        own = original.present & same_cells(original, masked)
        # where all members have what is published and it is published alike, they had it alike; a field that follows
        # from others in each record is not published alike
        own &= _as_first(original, first[groups])
        alike = np.bincount(groups[own], minlength=len(sizes)) == sizes
        found += int(sizes[alike & (sizes > 1)].sum())
    return Revealed(cells, found)


def _varies(column: Column) -> bool:
    """Whether two values of a column differ."""
    rows = np.flatnonzero(column.present)
    return bool(rows.size) and not _as_first(column, np.full(len(column), rows[0]))[rows].all()


def _as_first(column: Column, first: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which cells hold the value of another row each; shape (n,)."""
    same: NDArray[np.bool_] = column.values == column.values[first]
    numbers = column.is_number
    texts = np.flatnonzero(~(numbers & numbers[first]))
    same[texts] = column.taken(texts).same_texts(column.taken(first[texts]))
    return same
