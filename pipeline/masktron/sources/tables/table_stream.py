"""Large files of tables that need not be in memory: their records block by block, as texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.problems.problem import Sentence
from masktron.sources.flat_records import InSlices, RecordSlice
from masktron.sources.tables.column_strings import require_xml, truths_of
from masktron.sources.tables.two_readings import unlike_counts
from masktron.sources.variables import Variable
from masktron.sources.xml.wellformed import Stamp, stamp_of_file


class TableStream(InSlices, ABC):
    """A file of which a block of records is in memory at a time.

    Attributes
    ----------
    path : Path
    names : tuple of str
        Of the columns, as XML has them.
    count : int
        Number of records.
    first : tuple of int
        The first record, from 0, in which each column has a value; -1 where none has.
    text : int
        Bytes of all values, roughly.
    variables : tuple of Variable
    notes : tuple of str
        As those of a `Dataset`; what only values tell is told of the first block.
    """

    names: tuple[str, ...]
    count: int
    first: tuple[int, ...]
    text: int
    variables: tuple[Variable, ...]
    notes: tuple[Sentence, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what slices do not need: what the file says of its variables."""
        return {name: value for name, value in vars(self).items() if name not in ("variables", "notes")}

    @abstractmethod
    def read_blocks(self) -> Generator[Sequence[pa.Array]]:
        """Yield blocks of records as columns of strings.

        Raises
        ------
        DocumentError
            The file cannot be read, holds what has no meaning, or has changed.
        """

    @abstractmethod
    def require_unchanged(self) -> None:
        """Refuse a file that is not the one that was surveyed.

        Raises
        ------
        DocumentError
        """

    @abstractmethod
    def lines(self, first: int, size: int) -> NDArray[np.int64]:
        """Return the lines or rows, from 1, of some records in a row; shape (size,)."""

    def pieces(self) -> Sequence[RecordSlice]:
        """Return the records in slices of a fixed size; none where they are read from the beginning to the end."""
        return ()

    def blocks_of(self, piece: RecordSlice) -> Generator[Sequence[pa.Array]]:
        """Yield the blocks of a slice; as `read_blocks`."""
        raise ValueError(f"{self.path} cannot be cut at {piece.begin}")

    def blocks(self) -> Generator[Sequence[pa.Array]]:
        """Yield blocks of records that XML can hold.

        Raises
        ------
        DocumentError
            No XML could hold a cell; or as `read_blocks`.
        """
        return self._sound(self.read_blocks(), 0, self.count)

    def blocks_in(self, piece: RecordSlice) -> Generator[Sequence[pa.Array]]:
        """Yield the blocks of a slice; as `blocks`."""
        return self._sound(self.blocks_of(piece), piece.first, piece.first + piece.records)

    def again(self) -> Generator[Sequence[pa.Array]]:
        """Yield blocks of records for engines: as a second reader has them, where there is one; as `blocks`."""
        return self.blocks()

    def _sound(self, blocks: Generator[Sequence[pa.Array]], done: int, count: int) -> Generator[Sequence[pa.Array]]:
        where = str(self.path)
        for block in blocks:
            require_xml(self.names, block, done, where)
            yield block
            done += len(block[0])
        if done != count:
            raise unlike_counts(where)


def places_of_values(blocks: Generator[Sequence[pa.Array]], columns: int) -> tuple[int, ...]:
    """Return the first record that has a value, for each column; -1 where none has. Stops where all are known."""
    first, done = [-1] * columns, 0
    for block in blocks:
        for at in [at for at in range(columns) if first[at] < 0]:
            if block[at].null_count < len(block[at]):
                first[at] = done + int(truths_of(block[at].is_valid()).argmax())
        if min(first) >= 0:
            break
        done += len(block[0])
    blocks.close()
    return tuple(first)


class StampedStream(TableStream):
    """A file that is opened again and again, and known by its stamp."""

    _stamp: Stamp
    """Of the file as it was surveyed."""

    def require_unchanged(self) -> None:
        """Refuse a file that has changed."""
        require_stamp(self.path, self._stamp)


def require_stamp(path: Path, stamp: Stamp) -> None:
    """Refuse a file that has another stamp, or is gone.

    Raises
    ------
    DocumentError
    """
    if not path.is_file() or stamp_of_file(path) != stamp:
        raise DocumentError.of("file-changed", path)
