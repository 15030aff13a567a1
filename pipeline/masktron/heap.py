"""How the C library keeps freed memory, where that is glibc."""

from __future__ import annotations

import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of malloc.h
_LARGE_BLOCK = 1 << 20
"""Bytes from which on a block is mapped by itself, and given back when it is freed; smaller ones, as the arrays of a
batch, would be mapped so often that a run of 100,000 records takes a fifth more of the processor."""
_SPARE = 1 << 24
"""Bytes that are kept at the end of a heap."""
_ARENAS = 2


def give_back_freed() -> None:
    """Have large blocks given back to the system when they are freed; for the whole process, and not undone.

    glibc raises its threshold of 128 KiB to the size of each mapped block that is freed, up to 32 MiB: arrays of
    a column then come from heaps, which keep their holes. A threshold that is set is not raised any more. Threads
    have a heap each, eight for each core, and few of them is enough: numpy allocates little while threads compute.
    Another C library is left as it is.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes  # noqa: PLC0415 -- not for help

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
        mallopt(_TRIM_THRESHOLD, _SPARE)
        mallopt(_ARENA_MAX, _ARENAS)
