"""Tables of any format, as a `Source`."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import masktron.memory as costs
from masktron.addresses import AddressPath
from masktron.errors import DocumentError, MasktronError, UsageError, ViolationError
from masktron.files import file_hash, refuse_special
from masktron.large_arrays import kept
from masktron.memory import bounded_memory, told_of_memory
from masktron.problems.problem import Note, Place, Problem, Sentence
from masktron.progress import Told, untold
from masktron.scratch import folder_on_disk, private_folder, require_room
from masktron.sources.array_stores import FolderStore
from masktron.sources.column import Column, ColumnForm
from masktron.sources.dataset import Dataset
from masktron.sources.flat_records import FlatRecords
from masktron.sources.frame_path import FramePath
from masktron.sources.known_formats import format_of_name, require_written, table_format, written_formats
from masktron.sources.level_tree import TOP
from masktron.sources.record_layout import Layout, Shape, Vocabulary
from masktron.sources.source import Changes, EngineDocument, Reading, Source
from masktron.sources.tables.class_values import class_values, recoded
from masktron.sources.tables.release import Release, StreamedRelease
from masktron.sources.tables.table_format import TableFormat, UnreadError
from masktron.sources.tables.table_records import DatasetStream, TableRecords, record_digest
from masktron.sources.tables.table_stream import TableStream, require_stamp
from masktron.sources.tables.table_view import TableRequest, TableView, TwinNames, twin_layout
from masktron.sources.tables.two_readings import compared_with, written_otherwise
from masktron.sources.variables import Variable
from masktron.sources.xml import wellformed
from masktron.sources.xml.layout import names_of
from masktron.sources.xml.wellformed import Stamp, stamp_of_file
from masktron.supervisor import tell_reading

_OF_WRONG_BYTES = (
    ValueError,
    LookupError,
    ArithmeticError,
    EOFError,
    RecursionError,
    struct.error,
    zlib.error,
    pa.ArrowException,
)
"""What libraries raise where bytes are not what they have to be."""


@dataclass(frozen=True, slots=True, eq=False)
class WrittenLike:
    """What the records of a source are written like: those of the file, but for what treatments have changed.

    Attributes
    ----------
    original : TableSource
        Of the file.
    rows : ndarray of intp, shape (n,)
        The position there of each record.
    names : frozenset of str
        The fields that have other values.
    """

    original: TableSource
    rows: NDArray[np.intp]
    names: frozenset[str]


class TableSource(Source):
    """A file that is no XML. Rules and engines see its XML twin.

    Where a second library reads the format, its reading is compared with the first, cell by cell, before anything is
    made of either.

    Parameters
    ----------
    path : Path
    format : TableFormat
    asked : TableRequest
    """

    def __init__(
        self,
        path: Path,
        format: TableFormat,  # noqa: A002 -- what it is called everywhere
        asked: TableRequest = TableRequest(),  # noqa: B008 -- frozen
    ) -> None:
        super().__init__(path)
        self._file = opened_place(path)
        self.format, self._asked = format, asked
        self._written: TableFormat | None = None
        self._unread: list[Sentence] = []
        self._read_back: TableSource | None = None
        self._treated: WrittenLike | None = None

    @cached_property
    def table(self) -> Dataset:
        """The records, and what the file says of them."""
        self._stamp  # noqa: B018 -- before anything is read
        with _readable(str(self.path), self.format.name):
            return self.format.read(self._file, self._asked.options)

    @cached_property
    def _stamp(self) -> Stamp | None:
        """Of the file before it is read; None for what is no file, and is known by its records."""
        _require_file(self._file, str(self.path))
        if isinstance(self.path, AddressPath | FramePath):
            return None
        self._require_no_journal()
        return stamp_of_file(self._file)

    def _require_unchanged(self) -> None:
        """Refuse a file of which readings or the digest may be of another state."""
        if self._stamp is not None:
            self._require_no_journal()
            require_stamp(self._file, self._stamp)

    def _require_no_journal(self) -> None:
        """Refuse a database of which records stand in another file, as its SHA-256 would not be theirs."""
        for ending in self.format.journals:
            beside = self._file.with_name(f"{self._file.name}{ending}")
            if beside.is_file() and beside.stat().st_size:
                detail = f"changes are in {beside.name}, not yet in the file itself"
                address = f"{self.format.name}:{self._file.name}?table=NAME"
                raise DocumentError.of("database-file-in-use", self.path, detail=detail, address=address)

    @property
    def size(self) -> int:
        """Bytes of the file; of the twin, for a table of a server and for a data frame."""
        return self._bytes.stat().st_size

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file, or of the twin of a data frame; for a table with an address see `record_digest`.

        Raises
        ------
        DocumentError
            The file has changed since it was read.
        """
        if self._treated is not None:
            return _digest_of(self.table, self._treated.original.digest)
        if isinstance(self.path, AddressPath):
            return record_digest(self.table)
        self._stamp  # noqa: B018 -- where nothing has been read yet
        found = file_hash(self._bytes)
        self._require_unchanged()
        return found

    @property
    def part(self) -> tuple[str, ...]:
        """What the options say of the table that is read; the digest of what is no file is of its records alone."""
        if isinstance(self.path, AddressPath | FramePath):
            return ()
        options = self._asked.options
        return tuple(f"{name}={options[name]}" for name in sorted(self.format.choosing) if name in options)

    @property
    def _bytes(self) -> Path:
        return self.document_path if isinstance(self._file, AddressPath | FramePath) else self._file

    @property
    def own_variables(self) -> tuple[Variable, ...]:
        """What the file says of its columns."""
        return self._blocks.variables

    @property
    def reading_options(self) -> Mapping[str, str]:
        """How the file is written, as its format says it."""
        own = self._of_file
        return self.format.reading_options(own.table if own._stream is None else own._stream)

    @property
    def _of_file(self) -> TableSource:
        """The source of the file: this one, but for treated records."""
        return self if self._treated is None else self._treated.original

    @property
    def _written_like(self) -> WrittenLike:
        """What is written is like this; a row for each record, so that whoever writes asks once."""
        return self._treated or WrittenLike(self, np.arange(self._blocks.count, dtype=np.intp), frozenset())

    @property
    def notes(self) -> tuple[Sentence, ...]:
        """What a user should know of how the file reads, and of what is written of it and what is not."""
        if self._stream is not None:
            return self._stream.notes
        notes, name = (*self.table.notes, *self.table.of_release, *self._unread), self.format.name
        if name not in (writes := written_formats(name)):
            return (*notes, f"masktron does not write .{name} files: a release is {' or '.join(writes)}")
        return notes

    @property
    def elsewhere(self) -> Problem | None:
        """Other tables of the file, where nobody has said which of them is read."""
        unchosen = self.format.choosing.isdisjoint(self._asked.options)
        return self.format.elsewhere(self.table) if unchosen and self._stream is None else None

    @cached_property
    def _stream(self) -> TableStream | None:
        """The file block by block, where it is a large one that can be read so."""
        self._stamp  # noqa: B018 -- before anything is read
        if self._is_small_file():
            return None  # it is not surveyed for nothing
        with _readable(str(self.path), self.format.name):
            found = self.format.stream(self._file, self._asked.options)
        if found is None or self._asked.size_of_view(found) < wellformed.SMALLEST or self._is_held(found):
            return None
        # where a name stands twice, the survey of the twin has to say what that means
        return None if twin_layout(self._asked.names(found.names), found.names, found.first) is None else found

    @cached_property
    def _blocks(self) -> TableStream:
        """The records block by block, out of the file or out of memory."""
        return DatasetStream(self.table) if self._stream is None else self._stream

    @cached_property
    def _view(self) -> TableView:
        """What rules and engines see of the records."""
        return TableView(self.path, self._blocks, self._asked, self._both_readings)

    @contextmanager
    def _both_readings(self) -> Generator[None]:
        """Read records in this context, of which a second library, where one reads the format, says the same."""
        if self._stream is None:
            self.confirmed  # noqa: B018 -- that of a stream is compared block by block
        with _readable(str(self.path), self.format.name):
            yield
        self._require_unchanged()

    def _is_small_file(self) -> bool:
        """Whether all records will be asked for, and its table is small beside the memory in any case."""
        if self._asked.memory is None or isinstance(self._file, AddressPath | FramePath):
            return False
        return self._file.stat().st_size * costs.TABLE_UNPACKED * costs.COLUMN_SHARE <= self._asked.memory

    def _is_held(self, stream: TableStream) -> bool:
        """Whether all records will be asked for, and are small beside the memory."""
        if self._asked.memory is None:
            return False
        size = stream.text + stream.count * len(stream.names) * costs.TABLE_CELL
        return size * costs.COLUMN_SHARE <= self._asked.memory

    @property
    def twin(self) -> TwinNames:
        """What the elements of the XML view are called."""
        return self._view.names

    @cached_property
    def confirmed(self) -> Dataset:
        """The records, of which a second library, where one reads the format, says the same.

        Raises
        ------
        DocumentError
            It says something else, or the file has changed.
        """
        if self._treated is not None:  # of an original that was read twice
            return self.table
        where = str(self.path)
        with _readable(where, self.format.name):
            try:
                reading = self.format.read_again(self._file, self.table)
                if reading is not None:
                    compared = compared_with(self.table, reading.columns, where)
                    for block in reading.in_columns(where):
                        compared.take(block)
                    compared.end()
            except UnreadError as problem:
                self._unread[:] = [f"only one library could read this file, so no second one confirms it: {problem}"]
        self._require_unchanged()
        return self.table

    @property
    def layout(self) -> Layout:
        """Where records and fields stand in the XML view."""
        with self.in_own_places():
            return self._view.layout

    @property
    def shape(self) -> Shape:
        """A table is flat."""
        self.layout  # noqa: B018 -- what cannot be read is told here, too
        return Shape(True)

    @property
    def count(self) -> int | None:
        """Number of records of a table that is evaluated over columns."""
        with self.in_own_places():
            return self._view.count

    def estimate(self) -> int:
        """Return the number of records."""
        return self._blocks.count

    @property
    def beside_columns(self) -> int:
        """Bytes of the documents that engines read, and of what is put together for the file that is written."""
        if self._of_file._stream is None:
            return 0
        return costs.TABLE_DOCUMENTS * self._view.size + costs.TABLE_COPIES * self._blocks.text

    def vocabulary(self) -> Vocabulary:
        """Return the names of the twin."""
        return names_of(self.layout)

    def require_readable(self) -> None:
        """Refuse a file that is not of this format."""
        if self._stream is None:
            self.table  # noqa: B018 -- reads the file

    def read(self, asked: Reading) -> Dataset:
        """Read the records as columns."""
        if self._stream is not None:
            return self._stored(self._stream, asked)
        self.confirmed  # noqa: B018 -- both readings agree
        columns = {}
        variables = {variable.name: variable for variable in self.variables}
        for field in self.layout.fields:
            if asked.only is not None and field.name not in asked.only:
                continue
            own = self.table.columns[field.name]
            columns[field.name] = Column.of_texts(
                variables[field.name], own.lexicon, own.codes, asked.codes(field.name)
            )
        size = len(self.table)
        asked.told(size, size)
        return Dataset.flat(self.path, self.layout, columns, self.table.lines)

    def _stored(self, stream: TableStream, asked: Reading) -> Dataset:
        """Read the records block by block, as both readers have them; into files of a folder, where there is one."""
        from masktron.sources.xml.table import columns_of_batches  # noqa: PLC0415 -- loads numba

        missing = {field.name: asked.codes(field.name) for field in self.layout.fields}
        store = None if asked.storage is None else FolderStore(asked.storage)
        with closing(TableRecords(self.path, self.layout, self.twin, stream).batches()) as batches:
            found = columns_of_batches(
                self.path,
                self.layout,
                batches,
                missing,
                variables={variable.name: variable for variable in self.variables},
                told=lambda done: asked.told(done, stream.count),
                store=store,
            )
        if found is None:
            raise AssertionError("a cell of a table has no markup")
        return found

    @property
    def document_path(self) -> Path:
        """Where the document is, as long as the source is there."""
        return self._view.document

    @property
    def converted(self) -> bool:
        """Engines read the twin."""
        return True

    @property
    def document(self) -> EngineDocument:
        """The twin, and the records without it."""
        flat: FlatRecords | None = None
        if self.count is not None:
            if self._stream is None:
                self.confirmed  # noqa: B018 -- both readings agree
            flat = TableRecords(self.path, self.layout, self.twin, self._blocks)
        return EngineDocument(self.path, self.layout, flat, lambda: self.document_path)

    def place(self, record: int, line: int, column: int) -> tuple[int, int]:
        """Return the line or row of a record."""
        del line, column
        return self._view.line(record), 0

    def own_place(self, place: Place) -> Place:
        """Return the file, and the line of the record, for a place in the document."""
        return self._view.own_place(place)

    def recoded(self, name: str, form: ColumnForm) -> Variable:
        """Return what a column that was recoded is like in the format, in a type that holds its values."""
        return recoded(next(one for one in self.own_variables if one.name == name), form)

    def treated(
        self, dataset: Dataset, names: Collection[str], keep: NDArray[np.bool_], folder: Path, told: Told = untold
    ) -> Self:
        """Return the records with other values in some fields; they are in memory, and no file has them."""
        del folder
        rows, found = np.flatnonzero(keep), self._fresh()
        like, columns = self._written_like, []
        for variable in self.own_variables:
            own = dataset.columns.get(variable.name)
            column = Column.absent(variable, len(keep)) if own is None else own
            said = variable if column.variable.recoded is None else column.variable
            codes = column.codes if keep.all() else kept(column.codes[rows])
            columns.append(replace(column, codes=codes, variable=said))
        lines = dataset.lines[rows]
        found.table = replace(self._carried, levels=Dataset.of_columns(self.path, columns, lines).levels)
        found._stream = None
        found._treated = WrittenLike(like.original, like.rows[rows], like.names.union(names))
        found.metadata, found._written = self.metadata, self._written
        told(len(rows), len(rows))
        return found

    @property
    def _carried(self) -> Dataset:
        """What the file says beside its columns."""
        if self._stream is None:
            return self.table
        return replace(Dataset.of_columns(self.path, (), 0), notes=self._stream.notes)

    def _fresh(self) -> Self:
        """Return the same file as it was before anybody has read it."""
        return type(self)(self.path, self.format, self._asked)

    def rewrite(self, target: Path, changes: Changes) -> int:
        """Write a file of the same format, with the same types, labels and whatever else it carries."""
        size = self.estimate()
        replacements, removed = changes.replacements[TOP], changes.removed[TOP]
        rows = np.arange(size, dtype=np.intp) if changes.order is None else changes.order
        if changes.keep is not None:
            rows = rows[changes.keep[rows]]
        like = self._written_like
        masked = like.names.union(replacements)
        variables = [variable for variable in self.own_variables if variable.name not in removed]
        stream = like.original._stream
        if stream is not None and self._written is None:
            new = dict(replacements)
            if self._treated is not None:
                new = {name: self.table.columns[name] for name in masked.difference(removed)} | new
                new = {name: column.spread(like.rows, stream.count) for name, column in new.items()}
            if self._written_streamed(stream, target, variables, like.rows[rows], new, changes.told):
                return len(rows)
        columns = [
            replace(replacements.get(one.name, self.table.columns[one.name]).taken(rows), variable=one)
            for one in variables
        ]
        written = replace(Dataset.of_columns(self.path, columns, len(rows)), title=self.table.title)
        release = Release(like.original.table, written, like.rows[rows], masked)
        self._save(target, release)
        if (self._written or self.format).compared:
            self._require_as_meant(target, release)
        changes.told(size, size)
        return len(rows)

    def _written_streamed(
        self,
        stream: TableStream,
        target: Path,
        variables: Sequence[Variable],
        rows: NDArray[np.intp],
        replacements: Mapping[str, Column],
        told: Told,
    ) -> bool:
        """Write what is released without the whole table, where the format can; tell whether it could."""
        with private_folder(folder_on_disk()[0]) as folder:
            require_room(folder, costs.TABLE_COPIES * stream.text, what=f"writing a file like {self.path.name}")
            release = StreamedRelease(tuple(variables), rows, replacements, folder)
            return self.format.write_blocks(opened_place(target), stream, release, told)

    def _save(self, target: Path, release: Release) -> None:
        """Write what is released."""
        made = self._written or self.format
        require_written(target, made.name)
        try:
            made.write(opened_place(target), release)
        except UsageError as error:
            place = error.problem.place
            error.at(replace(place, source=place.source or str(self.path)))
            raise

    def _require_as_meant(self, target: Path, release: Release) -> None:
        """Refuse a written file that is read back with other cells, types, labels or missing codes."""
        self._read_back = None  # of what was written there before
        found = self._read_back = self.alike(target)
        for lost in written_otherwise(release.dataset, found.table):
            detail = Note("the file that was written does not say {lost}", lost=lost)
            raise ViolationError.of("self-check-failed", self.path, detail=detail)

    def written_as(self, out: Path) -> Self:
        """Return a source that writes the format for which the name stands, where its own can only be read."""
        name = format_of_name(out)
        writes = written_formats(self.format.name)
        if self.format.name in writes or name not in writes:
            return self
        found = copy(self)
        found._written = table_format(name)
        return found

    def class_values(self, name: str, labels: Sequence[str], taken: Collection[str]) -> tuple[str, ...]:
        """Return labels of classes, or numbers for them where the format has labels for numbers."""
        variable = next(one for one in self.own_variables if one.name == name)
        return class_values(variable, labels, taken, labelled=(self._written or self.format).labels_numbers)

    def alike(self, path: Path) -> Self:
        """Return another file of the format that `write` writes."""
        found, self._read_back = self._read_back, None
        if isinstance(found, type(self)) and found.path == path:
            return found
        if self._written is None:
            return type(self)(path, self.format, self._asked)
        return type(self)(path, self._written, replace(self._asked, options={}))

    @property
    def respells_numbers(self) -> bool:
        """As the format does."""
        return self.format.respells_numbers

    def has_layout_of(self, original: Source, removed: Collection[str]) -> bool:
        """Whether the fields are those that the original releases."""
        return self.shape.flat and self.has_fields_of(original, removed)


def _require_file(path: Path, where: str) -> None:
    """Refuse a name of nothing, or of a folder, in one way for all formats; addresses and frames name no file."""
    if isinstance(path, AddressPath | FramePath):
        return
    refuse_special(path, DocumentError)
    if path.is_dir():
        raise DocumentError.of("cannot-read", where, file="table", reason="this is a folder")
    if not path.exists():
        raise DocumentError.of("cannot-read", where, file="file", reason="it does not exist")


def _digest_of(dataset: Dataset, original: str) -> str:
    """Return a digest of records, given that of the file of which they were made."""
    found = sha256(original.encode())
    for name, column in dataset.columns.items():
        found.update(f"{name} {len(column)} {len(column.lexicon)} ".encode())
        for part in (column.codes, column.lexicon.ends, column.lexicon.data):
            found.update(np.ascontiguousarray(part))
    return found.hexdigest()


@contextmanager
def _readable(where: str, kind: str) -> Generator[None]:
    """Bound what reading a file may take, and say of the file what libraries say of its bytes.

    Their own words may quote a value. A damaged file makes libraries fail in any way that bytes can: what is caught
    is what reading wrong bytes raises, and no more.
    """
    tell_reading(where)
    try:
        with told_of_memory(where), bounded_memory():
            yield
    except MasktronError:
        raise
    except UnicodeDecodeError as error:
        detail = f"a text is not in its encoding, {error.encoding}"
        raise DocumentError.of("file-damaged", where, format=kind, detail=detail) from None
    except _OF_WRONG_BYTES as error:
        detail = f"reading it ends with {type(error).__name__}"
        raise DocumentError.of("file-damaged", where, format=kind, detail=detail) from error
    finally:
        tell_reading("")


def opened_place(path: Path) -> Path:
    """Return what a format opens: the file of a database where an address names a table of it; else the path."""
    return path.opened if isinstance(path, AddressPath) else path
