"""Where arrays stand that grow while a file is read: in memory, or in files that are mapped to it."""

from __future__ import annotations

import os
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from masktron.errors import DocumentError
from masktron.scratch import create_private

_MOST_TEXTS = 1 << 19
"""Distinct texts of a field that are looked up while it is read into files: their table takes some 20 MB."""


class GrowingArray(ABC):
    """An array of one dimension, made part by part."""

    @abstractmethod
    def add(self, part: NDArray[Any]) -> None:
        """Put a part behind the others; it may be changed afterwards."""

    @abstractmethod
    def whole(self) -> NDArray[Any]:
        """Return all parts as one array that may be written to; nothing is added any more."""


class ArrayStore(ABC):
    """A place for arrays.

    Attributes
    ----------
    most_texts : int or None
        Distinct texts of a field after which equal ones are not looked for among the earlier ones; None for all.
    """

    most_texts: int | None

    @abstractmethod
    def growing(self, dtype: DTypeLike) -> GrowingArray:
        """Begin an array."""


class MemoryStore(ArrayStore):
    """Arrays in memory."""

    most_texts = None

    def growing(self, dtype: DTypeLike) -> GrowingArray:
        """Begin an array in memory."""
        return _InMemory(dtype)


class FolderStore(ArrayStore):
    """Arrays in files of a folder, mapped to memory that the system may take back at any time.

    A file has no name any more once its array is whole, and is gone with the array or the process. Until then it is
    the owner's alone, and goes with the folder, as `masktron.scratch.private_folder` gives one. On Windows a mapped
    file keeps its name, and has to be let go of before its folder can be removed.

    Parameters
    ----------
    folder : Path
    most_texts : int
    """

    def __init__(self, folder: Path, *, most_texts: int = _MOST_TEXTS) -> None:
        self.folder, self.most_texts = folder, most_texts

    def growing(self, dtype: DTypeLike) -> GrowingArray:
        """Begin an array in a file."""
        return _InFile(self.folder, dtype)


class _InMemory(GrowingArray):
    def __init__(self, dtype: DTypeLike) -> None:
        self._parts = [np.empty(0, dtype=dtype)]

    def add(self, part: NDArray[Any]) -> None:
        self._parts.append(part.astype(self._parts[0].dtype))

    def whole(self) -> NDArray[Any]:
        parts, self._parts = self._parts, []
        return np.concatenate(parts)


class _InFile(GrowingArray):
    def __init__(self, folder: Path, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._path = folder / f"{secrets.token_hex(8)}.array"
        self._size = 0
        self._descriptor = self._tried(lambda: create_private(self._path))

    def __del__(self) -> None:
        self._close()

    def add(self, part: NDArray[Any]) -> None:
        octets = memoryview(np.ascontiguousarray(part, dtype=self._dtype)).cast("B")
        self._size += len(octets)
        while octets:
            octets = octets[self._tried(lambda: os.write(self._descriptor, octets)) :]  # noqa: B023 -- called at once

    def whole(self) -> NDArray[Any]:
        # what is mapped needs a byte at least
        found = np.empty(0, dtype=self._dtype)
        if self._size:
            shape = (self._size // self._dtype.itemsize,)
            found = np.asarray(self._tried(lambda: np.memmap(self._path, self._dtype, "r+", shape=shape)))
        self._close()
        return found

    def _close(self) -> None:
        """Let go of the file, and of its name where that is possible."""
        descriptor, self._descriptor = getattr(self, "_descriptor", -1), -1
        if descriptor < 0:
            return
        os.close(descriptor)
        if sys.platform != "win32":
            self._path.unlink(missing_ok=True)

    def _tried[T](self, write: Callable[[], T]) -> T:
        try:
            return write()
        except OSError as error:
            raise DocumentError.of(
                "no-temporary-file", self._path.parent, reason=error.strerror or str(error)
            ) from error
