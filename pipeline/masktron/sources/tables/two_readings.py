"""Two readings of a table, compared cell by cell: by two readers, or of what was to be written and what was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from masktron.errors import DocumentError
from masktron.problems.problem import Field, Note, Place, Sentence
from masktron.recodings import denote_alike
from masktron.sources.tables.column_names import xml_name
from masktron.sources.tables.descriptions import descriptions_lost
from masktron.sources.tables.table_model import Table
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


def compared_with(cells: pa.Table, columns: Sequence[str], where: str) -> ComparedBlocks:
    """Return what compares a second reading with a table, whose columns are strings.

    Parameters
    ----------
    cells : pyarrow.Table
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
    if sorted(names) != sorted(cells.column_names):
        raise unlike_names(where)
    batches = cells.select(names).to_batches()
    return ComparedBlocks((batch.columns for batch in batches), names, where)


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


def differences(before: Table, after: Table) -> Iterator[tuple[str, int, int]]:
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
    for variable in before.variables:
        own = before.cells[variable.name]
        if variable.name in after.cells.column_names:
            other = after.cells[variable.name]
        else:
            other = pa.chunked_array([pa.nulls(len(own), pa.string())])
        same = pc.or_(pc.fill_null(pc.equal(own, other), False), pc.and_(pc.is_null(own), pc.is_null(other)))
        unlike = pc.indices_nonzero(pc.invert(same))
        if len(unlike):
            yield variable.name, len(unlike), unlike[0].as_py()


def written_otherwise(meant: Table, written: Table) -> Iterator[Sentence]:
    """Say what a written file does not hold as it was meant: names, cells, and all that is said of them.

    Parameters
    ----------
    meant : Table
        Lexemes of numbers may be spelled in other ways than they are read back.
    written : Table
        As it is read back.
    """
    columns = [[one.column for one in table.variables] for table in (meant, written)]
    if len(meant) != len(written) or columns[0] != columns[1]:
        yield "the records and columns that were to be written"
        return
    for name, *_ in differences(meant, written):
        own, other = meant.cells[name].to_pylist(), written.cells[name].to_pylist()
        text = written.variable(name).typed.text
        if text or not all(denote_alike(*pair) for pair in set(zip(own, other, strict=True))):
            yield Note("values of {field} that were to be written", field=Field(name))
    said = replace(meant, variables=tuple(_as_any_file(one, meant) for one in meant.variables))
    yield from descriptions_lost(said, written)


def _as_any_file(variable: Variable, table: Table) -> Variable:
    """Return a variable without what some formats do not say where no cell has it.

    That is missing codes without a label, and the kind of a column without values: no ENUM is without categories. The
    type of recoded values is left out, too, as the format chooses it.
    """
    held = set(table.cells[variable.name].unique().to_pylist())
    missing = {code: label for code, label in variable.missing.items() if label or code in held}
    found = replace(variable, missing=missing, kind=variable.kind if held - {None} else None)
    return replace(found, kind=None, typed=UNTYPED, stored=None) if variable.recoded else found
