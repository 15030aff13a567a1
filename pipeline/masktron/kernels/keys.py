"""Keys of records as numbers: a hash table whose entries are compared byte by byte."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel

_OFFSET = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_SHIFT = np.uint64(29)


@kernel
def intern(
    buffer: NDArray[np.uint8],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    present: NDArray[np.bool_],
    slots: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    ends: NDArray[np.int64],
    arena: NDArray[np.uint8],
    known: int,
    ids: NDArray[np.int32],
) -> int:
    """Number the keys ``buffer[start:stop]`` in the order in which they first come; return how many are known then.

    Two keys have one number if and only if their bytes are equal: the hash only says where to look.

    Parameters
    ----------
    present : ndarray of bool, shape (n,)
        Rows without a key get the number -1.
    slots : ndarray of int32, shape (a power of two,)
        Number of the key in each slot, -1 where it is free; linear probing. There are more slots than keys.
    hashes : ndarray of uint64, shape (room,)
    ends : ndarray of int64, shape (room + 1,)
        Key ``k`` is ``arena[ends[k]:ends[k + 1]]``.
    arena : ndarray of uint8
        With room for all keys of this call.
    known : int
        Number of keys in the table before.
    ids : ndarray of int32, shape (n,)
        Filled.
    """
    mask = np.uint64(len(slots) - 1)
    for row in range(len(start)):
        if not present[row]:
            ids[row] = -1
            continue
        first, last = start[row], stop[row]
        code = _OFFSET
        for at in range(first, last):
            code = (code ^ np.uint64(buffer[at])) * _PRIME
        code ^= code >> _SHIFT
        slot = code & mask
        found = -1
        while slots[slot] >= 0:
            key = slots[slot]
            base = ends[key]
            if hashes[key] == code and ends[key + 1] - base == last - first:
                same = True
                for at in range(last - first):
                    if arena[base + at] != buffer[first + at]:
                        same = False
                        break
                if same:
                    found = key
                    break
            slot = (slot + np.uint64(1)) & mask
        if found < 0:
            found = known
            slots[slot] = known
            hashes[known] = code
            base = ends[known]
            for at in range(last - first):
                arena[base + at] = buffer[first + at]
            ends[known + 1] = base + last - first
            known += 1
        ids[row] = found
    return known


@kernel
def reslot(hashes: NDArray[np.uint64], known: int, slots: NDArray[np.int32]) -> None:
    """Fill empty slots with the keys that are known."""
    mask = np.uint64(len(slots) - 1)
    for key in range(known):
        slot = hashes[key] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = key


@kernel
def running_sums(
    groups: NDArray[np.int64], values: NDArray[np.float64], zero: float, sums: NDArray[np.float64]
) -> None:
    """Add values one by one within each stretch of equal groups.

    Parameters
    ----------
    groups : ndarray of int64, shape (n,)
    values : ndarray of float64, shape (n,)
    zero : float
        What each sum begins with.
    sums : ndarray of float64, shape (n,)
        Filled: the sum of the values of the stretch up to each row, that of the row included.
    """
    total = zero
    for row in range(len(groups)):
        if row > 0 and groups[row] != groups[row - 1]:
            total = zero
        total += values[row]
        sums[row] = total
