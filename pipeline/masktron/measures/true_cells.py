"""True cells: how many released values are the true value of somebody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
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
    """

    cells: int
    own: float
    group: float
    file: float


def true_cells(
    original: NDArray[np.float64], masked: NDArray[np.float64], groups: NDArray[np.integer] | None = None
) -> TrueCells:
    """Count the released cells that hold somebody's true value in the same variable.

    Values are compared as numbers, without a tolerance. A missing cell is not released, and a missing original has no
    true value. So ``own <= group <= file``. A mean may happen to be somebody's value, and in a variable of few values
    nearly every cell is true by chance: what counts there is `own`, and what a file gives away beyond chance is the
    difference to another way of masking.

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
    if original.shape != masked.shape or original.ndim != 2:
        raise UsageError(f"files of shapes {original.shape} and {masked.shape} have no cells in common")
    return true_cells_of_fields(FieldPairs.over(original, masked), groups)


def true_cells_of_fields(pairs: FieldPairs, groups: NDArray[np.integer] | None = None) -> TrueCells:
    """Count as `true_cells`, field by field."""
    if groups is not None and groups.shape != (pairs.records,):
        raise UsageError(f"labels of shape {groups.shape} do not group {pairs.records} records")
    label = None if groups is None else factorized(groups)[0].astype(np.int64)
    counts = np.zeros(4, dtype=np.int64)
    for before, after in pairs:
        require_finite(before, after, "is nobody's true value")
        counts += _count(before, after, label)
    cells, own, group, file = counts.tolist()
    share = 100.0 / cells if cells else 0.0
    return TrueCells(cells, share * own, share * group if groups is not None else float("nan"), share * file)


def _count(
    before: NDArray[np.float64], after: NDArray[np.float64], label: NDArray[np.int64] | None
) -> tuple[int, int, int, int]:
    """Released cells; those that are true of the own record, of the group, of the file."""
    n = len(before)
    codes, values = factorized(np.concatenate([before, after]))
    codes = codes.astype(np.int64)
    known, released = codes[:n], codes[n:]
    has, gets = known >= 0, released >= 0
    own = int((known == released)[gets].sum())
    file = _found(known[has], released[gets], len(values))
    if label is None:
        return int(gets.sum()), own, 0, file
    # both factors are at most 2**31, so that the product fits
    pairs = np.concatenate([(label * len(values) + known)[has], (label * len(values) + released)[gets]])
    numbers, distinct = factorized(pairs)
    first = int(has.sum())
    return int(gets.sum()), own, _found(numbers[:first], numbers[first:], len(distinct)), file


def _found(known: NDArray[np.integer], released: NDArray[np.integer], count: int) -> int:
    seen = np.zeros(count, dtype=np.bool_)
    seen[known] = True
    return int(seen[released].sum())
