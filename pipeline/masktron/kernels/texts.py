"""Dictionary coding: the distinct texts of a field, told apart by their bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel
from masktron.kernels.scanner import Bytes

_EMPTY, _TEXT = 1, 2
_PRIME = np.uint64(1099511628211)
_BASIS = np.uint64(14695981039346656037)


@kernel
def code_texts(
    data: Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    status: Bytes,
    slots: NDArray[np.int32],
    codes: NDArray[np.int32],
    firsts: NDArray[np.int32],
) -> int:
    """Number the texts of a field in the order in which they first occur.

    Parameters
    ----------
    data, starts, stops, status : ndarray
        A buffer, and the cells of one field, shape (n,).
    slots : ndarray of int32, shape (a power of two above n,)
        All -1; overwritten: the hash table. A hash only says where to look; bytes are compared.
    codes : ndarray of int32, shape (n,)
        Written: the number of each text, -1 where the cell is absent or odd.
    firsts : ndarray of int32, shape (n,)
        Written: the row in which each distinct text first occurs.

    Returns
    -------
    int
        How many texts are distinct.
    """
    mask = np.uint64(len(slots) - 1)
    distinct = 0
    for row in range(len(starts)):
        codes[row] = -1
        if status[row] != _TEXT and status[row] != _EMPTY:
            continue
        start = starts[row]
        length = stops[row] - start
        value = _BASIS
        for i in range(start, start + length):
            value = (value ^ np.uint64(data[i])) * _PRIME
        value ^= value >> np.uint64(32)
        while True:
            code = slots[value & mask]
            if code < 0:
                slots[value & mask] = distinct
                firsts[distinct] = row
                codes[row] = distinct
                distinct += 1
                break
            other = starts[firsts[code]]
            same = stops[firsts[code]] - other == length
            if same:
                for i in range(length):
                    if data[start + i] != data[other + i]:
                        same = False
                        break
            if same:
                codes[row] = code
                break
            value += np.uint64(1)
    return distinct
