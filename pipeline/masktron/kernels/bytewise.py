"""Cells compared byte by byte."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel


@kernel
def order_cells(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    others: NDArray[np.uint8],
    other_starts: NDArray[np.int64],
    other_stops: NDArray[np.int64],
    order: NDArray[np.int8],
    alike: bool,
) -> None:
    """Compare the texts of two fields, or of a field and a constant, row by row.

    In UTF-8 the order of bytes is that of code points.

    Parameters
    ----------
    data, starts, stops : ndarray
        A buffer, and where the cells of one field stand in it, shape (n,).
    others, other_starts, other_stops : ndarray
        The same for the other field; of shape (1,) for a constant.
    order : ndarray of int8, shape (n,)
        Written: -1 where the first comes before the other, 1 where it comes after it, 0 where they are the same.
    alike : bool
        Whether only the zeros are asked for: lengths that differ then decide, and the bytes are not read.
    """
    single = len(other_starts) == 1
    for row in range(len(starts)):
        at = 0 if single else row
        start, other = starts[row], other_starts[at]
        length, other_length = stops[row] - start, other_stops[at] - other
        found = 0
        common = 0 if alike and length != other_length else min(length, other_length)
        for k in range(common):
            if data[start + k] != others[other + k]:
                found = -1 if data[start + k] < others[other + k] else 1
                break
        if found == 0 and length != other_length:
            found = -1 if length < other_length else 1
        order[row] = found
