"""Tables of any format, as a `Source`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import weakref
from collections.abc import Collection, Generator, Mapping
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.addresses import AddressPath
from masktron.errors import DocumentError, MasktronError
from masktron.files import file_hash
from masktron.progress import Progress, Told, untold
from masktron.scratch import create_private, private_folder
from masktron.sources.known_formats import format_of_name, table_format
from masktron.sources.names import NO_CONTEXTS, ContextNames, Vocabulary
from masktron.sources.records import Coded, Layout, Records, Shape
from masktron.sources.source import EngineDocument, Source
from masktron.sources.tables.columns_of_cells import column_of
from masktron.sources.tables.document import FIRST_LINE, TwinNames, twin_names, write_twin
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import Variable
from masktron.sources.xml.xml_source import XmlSource

_NO_CODES: frozenset[str] = frozenset()
_ROWS = 1 << 14


class TableSource(Source):
    """A file that is no XML. Rules and engines see its XML twin, which a second reader of the file writes.

    Both readings are compared cell by cell before anything is made of either.

    Parameters
    ----------
    path : Path
    format : TableFormat
    options : mapping of str to str
        What the user says of the file.
    record : str, optional
        What the record element of the twin is called.
    contexts : ContextNames
        Of the rules: they say what the elements of the twin are called.
    progress : callable, optional
        Told of what takes long.
    """

    def __init__(
        self,
        path: Path,
        format: TableFormat,  # noqa: A002 -- what it is called everywhere
        *,
        options: Options = MappingProxyType({}),
        record: str | None = None,
        contexts: ContextNames = NO_CONTEXTS,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(path)
        self._file = _opened(path)
        self.format, self._options, self._record = format, options, record
        self._written: TableFormat | None = None
        self._contexts, self._progress = contexts, progress
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)

    @cached_property
    def table(self) -> Table:
        """The records, and what the file says of them."""
        return self.format.read(self._file, self._options)

    @property
    def size(self) -> int:
        """Bytes of the file; of its twin, for a table of a server."""
        return (self.document_path if isinstance(self._file, AddressPath) else self._file).stat().st_size

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file; for a table that was named by its address, of its records: see `record_digest`."""
        return record_digest(self.table) if isinstance(self.path, AddressPath) else file_hash(self.path)

    @property
    def own_variables(self) -> tuple[Variable, ...]:
        """What the file says of its columns."""
        return self.table.variables

    @cached_property
    def twin(self) -> TwinNames:
        """What the elements of the XML twin are called."""
        return twin_names(self.table.cells.column_names, self._record, self._contexts)

    @cached_property
    def _document(self) -> XmlSource:
        table = self.table
        folder = self._held.enter_context(private_folder())
        path = folder / "document.xml"
        os.close(create_private(path))
        write_twin(path, self.format.read_again(self._file, table), self.twin, str(self.path))
        document = XmlSource(path, record=self.twin.record, progress=self._progress)
        with self._naming_the_file(path):
            _require_same(table, document, str(self.path))
        return document

    @property
    def layout(self) -> Layout:
        """Where records and fields stand in the twin."""
        with self.blamed():
            return self._document.layout

    @property
    def shape(self) -> Shape:
        """A table is flat."""
        with self.blamed():
            return self._document.shape

    @property
    def count(self) -> int | None:
        """Number of records of a twin that is evaluated over columns."""
        with self.blamed():
            return self._document.count

    def estimate(self) -> int:
        """Return the number of records."""
        return len(self.table)

    def vocabulary(self) -> Vocabulary:
        """Return the names of the twin."""
        with self.blamed():
            return self._document.vocabulary()

    def require_readable(self) -> None:
        """Refuse a file that is not of this format."""
        self.table  # noqa: B018 -- reads the file

    def records(
        self,
        *,
        missing: Mapping[str, frozenset[str]] = MappingProxyType({}),
        only: Collection[str] | None = None,
        told: Told = untold,
    ) -> Records:
        """Read the records as columns."""
        columns = {}
        everywhere = missing.get("*", _NO_CODES)
        variables = {variable.name: variable for variable in self.variables}
        for field in self.layout.fields:
            if only is not None and field.name not in only:
                continue
            codes = missing.get(field.name, _NO_CODES) | everywhere
            columns[field.name] = column_of(field, self.table.cells[field.name], codes, variables[field.name].typed)
        size = len(self.table)
        told(size, size)
        lines = np.array([self.format.line_of(self.table, record) for record in range(size)], dtype=np.int64)
        return Records(self.path, self.layout, MappingProxyType(columns), lines)

    @property
    def document_path(self) -> Path:
        """Where the twin is, as long as the source is there."""
        return self._document.path

    @property
    def document(self) -> EngineDocument:
        """The twin."""
        return self._document.document

    def place(self, record: int, line: int, column: int) -> tuple[int, int]:
        """Return the line or row of a record."""
        del line, column
        return (0 if record < 0 else self.format.line_of(self.table, record)), 0

    @contextmanager
    def blamed(self) -> Generator[None]:
        """Let errors name the file, and the line of the record, where they name the twin."""
        document = self._document
        with self._naming_the_file(document.path):
            yield

    @contextmanager
    def _naming_the_file(self, twin: Path) -> Generator[None]:
        try:
            yield
        except MasktronError as error:
            found = re.search(rf"{re.escape(str(twin))}(?::(\d+)(?::\d+)?)?", error.where)
            if found is not None:
                record = -1 if found[1] is None else int(found[1]) - FIRST_LINE
                line = f":{self.format.line_of(self.table, record)}" if 0 <= record < len(self.table) else ""
                error.where = f"{error.where[: found.start()]}{self.path}{line}{error.where[found.end() :]}"
            raise

    def write(
        self,
        target: Path,
        replacements: Mapping[str, Coded],
        *,
        removed: Collection[str] = (),
        keep: NDArray[np.bool_] | None = None,
        order: NDArray[np.intp] | None = None,
        told: Told = untold,
    ) -> int:
        """Write a file of the same format, with the same types, labels and whatever else it carries."""
        size = len(self.table)
        rows = np.arange(size, dtype=np.intp) if order is None else order
        if keep is not None:
            rows = rows[keep[rows]]
        taken = pa.array(rows)
        cells = {}
        for name in self.table.cells.column_names:
            if name in removed:
                continue
            new = replacements.get(name)
            if new is None:
                cells[name] = self.table.cells[name].take(taken)
            else:
                texts = pa.array(new.texts.tolist(), type=pa.string())
                cells[name] = pa.chunked_array([texts.take(pa.array(new.codes[rows]))], type=pa.string())
        release = TableRelease(self.table, pa.table(cells), rows, frozenset(replacements))
        if self._written is None:
            self.format.write(_opened(target), release)
        else:
            whole = Table(release.variables, release.cells, self.table.title, self.table.carried)
            self._written.create(_opened(target), whole, {})
        told(size, size)
        return len(rows)

    def written_as(self, out: Path) -> Self:
        """Return a source that writes the format for which the name stands, where its own can only be read."""
        name = format_of_name(out)
        if self.format.name in self.format.writes or name not in self.format.writes:
            return self
        found = copy(self)
        found._written = table_format(name)
        return found

    def alike(self, path: Path) -> Self:
        """Return another file of the format that `write` writes."""
        return type(self)(
            path,
            self._written or self.format,
            options=self._options if self._written is None else {},
            record=self._record,
            contexts=self._contexts,
            progress=self._progress,
        )

    def has_layout_of(self, original: Source, removed: Collection[str]) -> bool:
        """Whether the fields are those that the original releases."""
        fields = {field for field in original.layout.fields if field.name not in removed}
        return self.shape.flat and fields.issuperset(self.layout.fields)

    def outline_notes(self, counts: Mapping[str, int]) -> tuple[str, ...]:
        """Say what of the file is not written again."""
        del counts
        return self.table.notes


def _opened(path: Path) -> Path:
    return path.opened if isinstance(path, AddressPath) else path


def record_digest(table: Table) -> str:
    """Return the SHA-256 of the records of a table, which says what its file or its server is no part of.

    It is that of UTF-8 text: the names of the columns, and then the lexemes of each record in the order of the table,
    each on a line as a JSON array without blanks, in ASCII, with ``null`` for what is missing; every line ends with a
    line feed.

    Parameters
    ----------
    table : Table

    Returns
    -------
    str
        In hexadecimal.
    """
    found = hashlib.sha256()
    write = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
    found.update(f"{write([variable.column for variable in table.variables])}\n".encode())
    for batch in table.cells.to_batches(_ROWS):
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        found.update("".join(f"{write(row)}\n" for row in rows).encode())
    return found.hexdigest()


def _require_same(table: Table, document: XmlSource, where: str) -> None:
    """Refuse a file of which two readers do not say the same."""
    found = document.records() if len(table) else None
    if (0 if found is None else len(found)) != len(table):
        raise DocumentError("two readers count different numbers of records", where=where)
    for name in table.cells.column_names:
        own = np.array(table.cells[name].to_pylist(), dtype=np.object_)
        column = None if found is None else found.columns.get(name)
        other = np.full(len(own), None, dtype=np.object_) if column is None else column.lexemes
        unlike = np.flatnonzero(own != other)
        if unlike.size:
            raise DocumentError(
                f"two readers do not agree on column {name!r} of record {int(unlike[0]) + 1}",
                where=where,
                hint="the file is ambiguous: say how it is to be read, or convert it",
            )
