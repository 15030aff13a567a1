"""True cells: how many released values are the true value of somebody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting
from masktron.kernels.distinct import factorized
from masktron.measures.base import FieldPairs, require_finite


@dataclass(frozen=True, slots=True)
class TrueCells:
    """Released cells that hold a value of the original.

    Attributes
    ----------
    cells : int
        Released cells: those of the masked file that are not missing.
    own : float
        Those that hold the true value of their own record, per cent of the cells.
    group : float
        Those that hold the true value of some record of the group; NaN where no groups were given.
    file : float
        Those that hold the true value of some record of the file in that variable.
    sole : float
        Those that hold the true value of exactly one record of the file in that variable.
    """

    cells: int
    own: float
    group: float
    file: float
    sole: float


def true_cells(
    original: NDArray[np.float64], masked: NDArray[np.float64], groups: NDArray[np.integer] | None = None
) -> TrueCells:
    """Count the released cells that hold somebody's true value in the same variable.

    Values are compared as numbers, without a tolerance. A missing cell is not released, and a missing original has no
    true value. So ``own <= group <= file`` and ``sole <= file``. A mean may happen to be somebody's value, and in a
    variable of few values nearly every cell is true by chance. `sole` leaves these cells out: a value that only one
    record has tells that this respondent is in the file, whichever record it is published in.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing. Texts as codes, the same in both files.
    groups : ndarray of int, shape (n,), optional
        Labels of the groups that share a prototype.

    Returns
    -------
    TrueCells
        All 100 per cent for identical files; all 0 where no cell is released.

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    Medoid, median and mode publish true values by definition; means and synthesis should not, beyond chance.
    """
    return true_cells_of_fields(FieldPairs.over(original, masked), groups)


def true_cells_of_fields(pairs: FieldPairs, groups: NDArray[np.integer] | None = None) -> TrueCells:
    """Count as `true_cells`, field by field."""
    if groups is not None:
        require_fitting(groups.shape == (pairs.records,), groups=groups, files=pairs)
    label = None if groups is None else factorized(groups)[0].astype(np.int64)
    counts = np.zeros(5, dtype=np.int64)
    for before, after in pairs:
        require_finite(before, after)
        counts += _count(before, after, label)
    cells, own, group, file, sole = counts.tolist()
    share = 100.0 / cells if cells else 0.0
    of_group = share * group if groups is not None else float("nan")
    return TrueCells(cells, share * own, of_group, share * file, share * sole)


def _count(
    before: NDArray[np.float64], after: NDArray[np.float64], label: NDArray[np.int64] | None
) -> tuple[int, int, int, int, int]:
    """Released cells; those that are true of the own record, of the group, of the file, of one record of the file."""
    n = len(before)
    codes, values = factorized(np.concatenate([before, after]))
    codes = codes.astype(np.int64)
    known, released = codes[:n], codes[n:]
    has, gets = known >= 0, released >= 0
    own = int((known == released)[gets].sum())
    owners = np.bincount(known[has], minlength=len(values))[released[gets]]
    file, sole = int((owners > 0).sum()), int((owners == 1).sum())
    if label is None:
        return int(gets.sum()), own, 0, file, sole
    # both factors are at most 2**31, so that the product fits
    pairs = np.concatenate([(label * len(values) + known)[has], (label * len(values) + released)[gets]])
    numbers, distinct = factorized(pairs)
    first = int(has.sum())
    group = np.bincount(numbers[:first], minlength=len(distinct))[numbers[first:]]
    return int(gets.sum()), own, int((group > 0).sum()), file, sole
