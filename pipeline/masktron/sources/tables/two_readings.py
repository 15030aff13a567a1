"""Two readings of a table, compared cell by cell: by two readers, or of what was to be written and what was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.errors import DocumentError
from masktron.problems.problem import Field, Note, Place, Sentence
from masktron.sources.column import Column, written_alike
from masktron.sources.dataset import Dataset
from masktron.sources.tables.column_names import xml_name
from masktron.sources.tables.column_strings import blocks_of
from masktron.sources.tables.descriptions import descriptions_lost
from masktron.sources.variables import UNTYPED, Variable


class ComparedBlocks:
    """Compares what a second reader says with what a first one does, block by block; blocks need not be alike.

    Parameters
    ----------
    blocks : iterator of sequences of pyarrow.Array
        The first reading: columns of strings.
    names : sequence of str
        Of the columns.
    where : str
        The file.
    """

    def __init__(self, blocks: Iterator[Sequence[pa.Array]], names: Sequence[str], where: str) -> None:
        self._blocks, self._names, self._where = blocks, names, where
        self._held: Sequence[pa.Array] = ()
        self._done = 0

    def take(self, block: Sequence[pa.Array]) -> None:
        """Compare the next records.

        Raises
        ------
        DocumentError
            A cell is another one: says which column and record. Or the first reader has fewer records.
        """
        size = len(block[0])
        start = 0
        while start < size:
            while not self._held or not len(self._held[0]):
                found = next(self._blocks, None)
                if found is None:
                    raise unlike_counts(self._where)
                self._held = found
            some = min(size - start, len(self._held[0]))
            for name, own, theirs in zip(self._names, self._held, block, strict=True):
                one, other = own.slice(0, some), theirs.slice(start, some)
                if not one.equals(other):
                    raise disagreement(name, self._done + first_unlike(one, other), self._where)
            self._held = [column.slice(some) for column in self._held]
            self._done, start = self._done + some, start + some

    def end(self) -> None:
        """Refuse a second reading with fewer records.

        Raises
        ------
        DocumentError
        """
        left = [*self._held[:1], *(block[0] for block in self._blocks)]
        if any(map(len, left)):
            raise unlike_counts(self._where)


def compared_with(dataset: Dataset, columns: Sequence[str], where: str) -> ComparedBlocks:
    """Return what compares a second reading with a dataset.

    Parameters
    ----------
    dataset : Dataset
        The first reading.
    columns : sequence of str
        Names of the second reading, as the file has them.
    where : str
        The file.

    Raises
    ------
    DocumentError
        The readers do not name the same columns.
    """
    names = [xml_name(column) for column in columns]
    if sorted(names) != sorted(dataset.columns):
        raise unlike_names(where)
    own = Dataset.of_columns(dataset.path, map(dataset.columns.__getitem__, names), dataset.lines)
    return ComparedBlocks(blocks_of(own), names, where)


def first_unlike(own: pa.ChunkedArray | pa.Array, other: pa.ChunkedArray | pa.Array) -> int:
    """Return the first place at which two columns of one length differ; -1 where they are equal."""
    apart = pc.fill_null(pc.not_equal(own, other), pc.not_equal(pc.is_null(own), pc.is_null(other)))
    return int(pc.index(apart, True).as_py())


def unlike_counts(where: str) -> DocumentError:
    """Return the error of a file of which one reader finds more records than another."""
    return DocumentError.of("readings-differ", where, what="the number of records")


def unlike_names(where: str) -> DocumentError:
    """Return the error of a file whose columns have other names for another reader."""
    return DocumentError.of("readings-differ", where, what="the names of the columns")


def disagreement(name: str, record: int, where: str) -> DocumentError:
    """Return the error of a cell, in a record counted from 0, of which two readers do not say the same."""
    return DocumentError.of("readings-differ", Place(where, record=record + 1), what=Field(name))


def differences(before: Dataset, after: Dataset) -> Iterator[tuple[str, int, int]]:
    """Yield the variables that a second file has otherwise.

    Yields
    ------
    str
        Name of the variable.
    int
        Cells that differ.
    int
        Position of the first of them.
    """
    for name, own in before.columns.items():
        other = after.columns.get(name)
        unlike = ~own.same_texts(Column.absent(own.variable, len(own)) if other is None else other)
        if unlike.any():
            yield name, int(np.count_nonzero(unlike)), int(np.argmax(unlike))


def written_otherwise(meant: Dataset, written: Dataset) -> Iterator[Sentence]:
    """Say what a written file does not hold as it was meant: names, cells, and all that is said of them.

    Parameters
    ----------
    meant : Dataset
        Lexemes of numbers may be spelled in other ways than they are read back.
    written : Dataset
        As it is read back.
    """
    columns = [[one.column for one in table.variables] for table in (meant, written)]
    if len(meant) != len(written) or columns[0] != columns[1]:
        yield "the records and columns that were to be written"
        return
    for name, own in meant.columns.items():
        if not written_alike(own.lexicon, own.codes, written.columns[name], respelled=True).all():
            yield Note("values of {field} that were to be written", field=Field(name))
    yield from descriptions_lost(meant.with_variables(map(_as_any_file, meant.columns.values())), written)


def _as_any_file(column: Column) -> Variable:
    """Return a variable without what some formats do not say where no cell has it.

    That is missing codes without a label, and the kind of a column without values: no ENUM is without categories. The
    type of recoded values is left out, too, as the format chooses it.
    """
    variable, held = column.variable, set(column.lexicon.some(np.flatnonzero(column.used)).tolist())
    missing = {code: label for code, label in variable.missing.items() if label or code in held}
    found = replace(variable, missing=missing, kind=variable.kind if held - {None} else None)
    return replace(found, kind=None, typed=UNTYPED, stored=None) if variable.recoded else found
