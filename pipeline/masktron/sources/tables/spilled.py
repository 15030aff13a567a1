"""What is too large for memory while a table is read and written: in private files that are mapped to it."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.scratch import create_private
from masktron.sources.array_stores import FolderStore
from masktron.sources.tables.arrow_columns import taken
from masktron.sources.tables.column_strings import octets_of

_AT_ONCE = 1 << 16
"""Texts that are objects at once."""


@contextmanager
def kept_in(folder: Path) -> Generator[None]:
    """Say in one way that a temporary file cannot be written.

    Raises
    ------
    DocumentError
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise DocumentError.of("no-temporary-file", folder, reason=os.strerror(error.errno)) from error


def spilled(batches: Iterable[pa.RecordBatch], schema: pa.Schema, folder: Path) -> pa.Table:
    """Write batches into a file of a folder, and return them as a table that is mapped to it.

    The file loses its name, where that is possible, and is gone with the table.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        Each becomes a chunk of every column.
    schema : pyarrow.Schema
    folder : Path
        The owner's alone.

    Raises
    ------
    DocumentError
        There is no room.
    """
    path = folder / f"{secrets.token_hex(8)}.columns"
    with kept_in(folder):
        os.close(create_private(path))
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        mapped = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    if sys.platform != "win32":
        path.unlink()
    return mapped


class SpilledRows:
    """Rows of a table that is mapped to memory, in any order.

    Parameters
    ----------
    table : pyarrow.Table
        Whose columns have the same chunks, as `spilled` returns it.
    """

    def __init__(self, table: pa.Table) -> None:
        self._batches = table.to_batches()
        self._starts = np.cumsum([0, *(batch.num_rows for batch in self._batches)])[:-1]
        self._empty = table.schema.empty_table()

    def some(self, rows: NDArray[np.intp]) -> dict[str, pa.ChunkedArray]:
        """Return some rows as columns by name: each chunk is asked once, for all that it has of them."""
        if not len(rows) or not self._batches:
            return dict(zip(self._empty.column_names, self._empty.columns, strict=True))
        part = np.searchsorted(self._starts, rows, side="right") - 1
        order = np.argsort(part, kind="stable")
        back = np.empty(len(rows), dtype=np.int64)
        back[order] = np.arange(len(rows))
        which, begins = np.unique(part[order], return_index=True)
        pieces = [
            (self._batches[at], pa.array(own - self._starts[at]))
            for at, own in zip(which.tolist(), np.split(rows[order], begins[1:]), strict=True)
        ]
        found = {}
        for position, name in enumerate(self._empty.column_names):
            kind = self._empty.schema.field(position).type
            column = pa.chunked_array([taken(batch.column(position), own) for batch, own in pieces], type=kind)
            found[name] = taken(column, pa.array(back))
        return found


class KeptTexts:
    """Texts in files of a folder, by their position; what is None has no characters.

    Parameters
    ----------
    store : FolderStore
    """

    def __init__(self, store: FolderStore) -> None:
        self._octets, self._ends = store.growing(np.uint8), store.growing(np.int64)
        self._ends.add(np.zeros(1, dtype=np.int64))
        self._bytes = self._size = 0

    def add(self, texts: NDArray[np.object_], written: Callable[[pa.Array], pa.Array] | None = None) -> int:
        """Put texts behind the others, and return the position of the first.

        Parameters
        ----------
        texts : ndarray of object
        written : callable, optional
            Returns, for an array of strings, the texts that are kept for them.
        """
        first = self._size
        for start in range(0, len(texts), _AT_ONCE):
            part = pa.array(texts[start : start + _AT_ONCE].tolist(), type=pa.string())
            part = part if written is None else written(part)
            sizes = np.nan_to_num(pc.binary_length(part).to_numpy(zero_copy_only=False)).astype(np.int64)
            self._octets.add(octets_of(part))
            self._ends.add(np.cumsum(sizes) + self._bytes)
            self._bytes += int(sizes.sum())
            self._size += len(part)
        return first

    def whole(self) -> MappedTexts:
        """Return all texts; nothing is added any more."""
        octets, ends = self._octets.whole(), self._ends.whole()
        for array in (octets, ends):
            array.flags.writeable = False
        return MappedTexts(octets, ends)


@dataclass(frozen=True, slots=True, eq=False)
class MappedTexts:
    """Texts one behind the other.

    Attributes
    ----------
    octets : ndarray of uint8
        UTF-8.
    ends : ndarray of int64, shape (m + 1,)
        Text i is ``octets[ends[i]:ends[i + 1]]``.
    """

    octets: NDArray[np.uint8]
    ends: NDArray[np.int64]
