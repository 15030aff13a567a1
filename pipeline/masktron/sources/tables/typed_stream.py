"""Files with Arrow's types that are not in memory: some rows at a time, as texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.problems.problem import Sentence
from masktron.sources.flat_records import RecordSlice
from masktron.sources.tables.arrow_lexemes import has_text, lexemes_of, require_sound, variable_of
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.stamped_stream import StampedStream
from masktron.sources.tables.table_stream import places_of_values
from masktron.sources.xml.wellformed import Stamp

_NUMBER = 8
"""Bytes of a number as text, roughly."""


class TypedStream(StampedStream):
    """A file of typed columns.

    Parameters
    ----------
    path : Path
    schema : pyarrow.Schema
    notes : tuple of str
    stamp : Stamp
    count : int
        Number of records.
    size : int
        Bytes of all values, unpacked.

    Attributes
    ----------
    schema : pyarrow.Schema
        With the metadata of the file.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, notes: tuple[Sentence, ...], stamp: Stamp, count: int, size: int
    ) -> None:
        self.path, self.names, self.schema, self._stamp = path, xml_names(schema.names, str(path)), schema, stamp
        self.variables = tuple(map(variable_of, self.names, schema.names, schema.types))
        self.notes, self.count = notes, count
        self.text = max(size, _NUMBER * count * len(self.names))
        self.first = places_of_values(self._own(), len(self.names))

    @abstractmethod
    def typed_batches(self, piece: RecordSlice | None = None) -> Generator[pa.RecordBatch]:
        """Yield the rows, or those of a slice, as they are in the file.

        Raises
        ------
        DocumentError
            They cannot be read.
        """

    def unreadable(self, name: str, error: Exception) -> DocumentError:
        """Return the error of what a library says of the file, unless the file has changed: then that is raised."""
        self.require_unchanged()
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        return DocumentError.of("file-damaged", self.path, format=name.capitalize(), detail=reason)

    def read_blocks(self) -> Generator[Sequence[pa.Array]]:
        """Yield the rows as texts."""
        return self._unchanged(None)

    def blocks_of(self, piece: RecordSlice) -> Generator[Sequence[pa.Array]]:
        """Yield the rows of a slice as texts."""
        return self._unchanged(piece)

    def lines(self, first: int, size: int) -> NDArray[np.int64]:
        """Return the rows."""
        return np.arange(first + 1, first + size + 1, dtype=np.int64)

    def _unchanged(self, piece: RecordSlice | None) -> Generator[Sequence[pa.Array]]:
        self.require_unchanged()
        yield from self._own(piece)
        self.require_unchanged()

    def _own(self, piece: RecordSlice | None = None) -> Generator[Sequence[pa.Array]]:
        done, where = 0 if piece is None else piece.first, str(self.path)
        for batch in self.typed_batches(piece):
            block = []
            for label, column in zip(batch.schema.names, batch.columns, strict=True):
                require_sound(column, label, where)
                chunk = lexemes_of(pa.chunked_array([column]), label, where, done)
                block.append(chunk.chunk(0))
            yield block
            done += batch.num_rows


def streams(schema: pa.Schema) -> bool:
    """Tell whether each column of a file says what it means without the rest of the file: no categories do."""
    return bool(schema.names) and not any(pa.types.is_dictionary(kind) or not has_text(kind) for kind in schema.types)
