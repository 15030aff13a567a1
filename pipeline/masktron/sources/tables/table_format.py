"""What a format of tables has to say: how a file is read, written, and read a second time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from masktron.errors import DocumentError
from masktron.problems.problem import Place, Problem
from masktron.progress import Told
from masktron.sources.dataset import Dataset
from masktron.sources.tables.column_strings import no_letter
from masktron.sources.tables.release import Release, StreamedRelease
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.variables import NONE

_ROWS = 1 << 14
"""Rows that are Python objects at once."""
type LexemeRow = Sequence[str | None]
"""Lexemes of a record, None where it has no value."""
type Options = Mapping[str, str]
"""What a user says of a file, by the name of the option."""


class UnreadError(Exception):
    """A second reader cannot read a file that the first one reads: that is no fault of the file."""


@dataclass(frozen=True, slots=True, eq=False)
class SecondReading:
    """The records of a file as a reader has them that shares nothing with `TableFormat.read`.

    Attributes
    ----------
    columns : tuple of str
        Names, as the file has them.
    rows : iterable of sequences of str or None
    """

    columns: tuple[str, ...]
    rows: Iterable[LexemeRow]

    def in_columns(self, where: str) -> Iterator[Sequence[pa.Array]]:
        """Yield the records in blocks, as columns of strings; once.

        Parameters
        ----------
        where : str
            The file, for messages.

        Raises
        ------
        DocumentError
            A row has not one cell for each column, or a cell holds half a surrogate.
        """
        before, width = 0, len(self.columns)
        coming = iter(self.rows)
        while rows := list(islice(coming, _ROWS)):
            for number, row in enumerate(rows, start=before + 1):
                if len(row) != width:
                    detail = f"it has {len(row)} cells for {width} columns"
                    raise DocumentError.of(
                        "file-damaged", Place(where, record=number), format="a table", detail=detail
                    )
            columns = list(zip(*rows, strict=True))
            try:
                yield [pa.array(column, type=pa.string()) for column in columns]
            except UnicodeEncodeError:
                number, at = _half(rows)
                raise no_letter(where, before + number, self.columns[at]) from None
            before += len(rows)


def _half(rows: Sequence[LexemeRow]) -> tuple[int, int]:
    """Return the row, from 1, and the column of the first text that UTF-8 cannot hold."""
    return next(
        (number, at)
        for number, row in enumerate(rows, start=1)
        for at, text in enumerate(row)
        if text is not None and any("\ud800" <= letter <= "\udfff" for letter in text)
    )


class TableFormat(ABC):
    """A format of tables. Its subclasses hold no state: what is known of a file is in its `Dataset`.

    Attributes
    ----------
    name : str
        As ``--format`` has it.
    options : mapping of str to str
        What may be said of a file, each with what it means, in a line of help.
    choosing : frozenset of str
        Those of the options that say which of several tables of a file is read.
    tells_empty : bool
        Whether a text without a character differs from a missing value.
    exact_digits : int or None
        Digits of decimal numbers that a new file holds as numbers and gives back equal; 0 where it holds them as
        texts, None where all values are texts anyway.
    respells_numbers : bool
        Whether numbers that are written may be read back with other texts; False where all values are texts.
    journals : tuple of str
        Endings of files beside one of this format in which changes stand that are not yet in it.
    labels_numbers : bool
        Whether numbers of a column may have labels: then classes of numbers are written as numbers with labels.
    copies : bool
        Whether a file becomes another one of the same format with formats, widths and labels that it carries.
    compared : bool
        Whether a file like the original is read back, and compared with what was to be written: where one library
        alone reads and writes the format.
    """

    name: ClassVar[str]
    options: ClassVar[Mapping[str, str]] = {}
    choosing: ClassVar[frozenset[str]] = frozenset()
    tells_empty: ClassVar[bool] = False
    exact_digits: ClassVar[int | None] = None
    respells_numbers: ClassVar[bool] = True
    journals: ClassVar[tuple[str, ...]] = ()
    labels_numbers: ClassVar[bool] = False
    copies: ClassVar[bool] = False
    compared: ClassVar[bool] = False

    def reading_options(self, held: Dataset | TableStream) -> Mapping[str, str]:
        """Return how a file is written, by the options that say so; nothing where a file itself tells all of it."""
        return {}

    @abstractmethod
    def read(self, path: Path, options: Options) -> Dataset:
        """Read a file.

        Raises
        ------
        DocumentError
            It is not of this format, or holds what has no meaning here: says in which row and column.
        UsageError
            An option has no such value, or the library is not installed.
        """

    def stream(self, path: Path, options: Options) -> TableStream | None:
        """Open a file to be read block by block, often; None where only the whole file tells what it means.

        Of a file that `read` refuses before it looks at records, it may say nothing; then that is asked.

        Raises
        ------
        DocumentError, UsageError
            As `read`.
        """
        del path, options
        return None

    def read_again(self, path: Path, table: Dataset) -> SecondReading | None:
        """Read a file by another way, for the document that engines judge; None where one library alone reads it.

        Parameters
        ----------
        path : Path
        table : Dataset
            Of this file. Only what a user might have said of it may be taken from there, such as its dialect.

        Raises
        ------
        DocumentError
        UnreadError
            The other reader cannot read the file, here or when rows are taken.
        """
        del path, table
        return None

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a file like the original, if there is one: cells that have not changed are as they were there.

        A column keeps the type, the format and the width that it has there, where it holds what is written.

        Parameters
        ----------
        target : Path
        release : Release
        options : mapping of str to str
            What a user says of the file.

        Raises
        ------
        UsageError
            The format or a column cannot hold a value or a name, or no file can be written; says what to do.
        """
        raise NotImplementedError(f"{self.name} is only read: see `require_written`")

    def write_blocks(self, target: Path, stream: TableStream, release: StreamedRelease, told: Told) -> bool:
        """Write a file like the original, as `write` does, without the whole table; tell whether this format can.

        The bytes are those that `write` gives. False is said before anything is written.

        Parameters
        ----------
        target : Path
        stream : TableStream
            Of the original, as `stream` has opened it.
        release : StreamedRelease
        told : callable
            Told of the records written, and of how many there are.

        Raises
        ------
        UsageError
            As `write`.
        DocumentError
            The original has changed, or there is no room for temporary files.
        """
        del target, stream, release, told
        return False

    def losses(self, table: Dataset) -> Iterator[str]:
        """Say what a new file does not hold of texts and of the types of columns; a value is never among it.

        What else a file says of its variables is compared when it is read back: see `descriptions_lost`.
        """
        del table
        yield from ()

    def form(self, table: Dataset) -> Iterator[str]:
        """Say how a file is written beside its table, in sentences: what no new file takes over."""
        del table
        yield from ()

    def elsewhere(self, table: Dataset) -> Problem | None:
        """Say where a field may be that a table does not have: in other tables of its file that nobody has chosen."""
        del table
        return None

    def misnamed(self, data: Path, out: Path) -> str:
        """Say why a file like `data` is not to be named `out`, though that is a name of this format; or nothing."""
        del data, out
        return ""
