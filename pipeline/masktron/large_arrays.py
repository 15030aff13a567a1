"""Large arrays of a run that may not take much memory: in files that are mapped to it.

Such a file has no name, so that nobody else can open it and nothing is left of it when its array, or the process, is
gone. The system writes its pages to the disk and takes them back where memory is short.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from masktron.errors import DocumentError
from masktron.scratch import folder_on_disk

LARGE = 1 << 20
"""Bytes from which on an array is worth a file."""
_IN_FILES: ContextVar[bool] = ContextVar("in_files", default=False)


@contextmanager
def arrays_in_files(*, wanted: bool) -> Iterator[None]:
    """Have `new_array` and `kept` put large arrays into files, in this thread, until the end of the block."""
    token = _IN_FILES.set(wanted)
    try:
        yield
    finally:
        _IN_FILES.reset(token)


def new_array(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array to be filled, in C order; what it holds means nothing.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
        Not of objects.

    Raises
    ------
    DocumentError
        There is too little room for temporary files.
    """
    own = np.dtype(dtype)
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * own.itemsize
    if not _IN_FILES.get() or size < LARGE:
        return np.empty(shape, dtype=own)
    folder = folder_on_disk()[0]
    try:
        with tempfile.TemporaryFile(dir=folder) as stream:
            if hasattr(os, "posix_fallocate"):
                # room is taken now: a disk that is full later would end the process
                os.posix_fallocate(stream.fileno(), 0, size)
            else:
                stream.truncate(size)
            pages = mmap.mmap(stream.fileno(), size)
    except OSError as error:
        what, reason = "a temporary file (TMPDIR names their folder)", error.strerror or str(error)
        raise DocumentError.of("cannot-write", folder, file=what, reason=reason) from error
    return np.frombuffer(pages, dtype=own).reshape(shape)


def kept[A: NDArray[Any]](array: A) -> A:
    """Return an array that is going to be held for long: a copy in a file where it is large, and else itself.

    Raises
    ------
    DocumentError
        As `new_array`.
    """
    if not _IN_FILES.get() or array.nbytes < LARGE or array.dtype.hasobject:
        return array
    found = cast("A", new_array(array.shape, array.dtype))
    found[...] = array
    return found
