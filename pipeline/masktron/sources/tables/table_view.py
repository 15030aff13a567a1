"""What rules and engines see of a table: the names of its XML view, its layout, and the document that is written."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from masktron.problems.problem import Place
from masktron.progress import Progress
from masktron.scratch import create_private, folder_on_disk, private_folder, require_room
from masktron.sources.column import MANY_RECORDS
from masktron.sources.names import NO_CONTEXTS, ContextNames
from masktron.sources.record_layout import Layout
from masktron.sources.tables.document import FIRST_LINE, TwinNames, twin_layout, twin_names, write_twin
from masktron.sources.tables.spilled import kept_in
from masktron.sources.tables.table_format import Options
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.xml import wellformed
from masktron.sources.xml.plain_files import compile_first
from masktron.sources.xml.xml_source import XmlSource


@dataclass(frozen=True, slots=True)
class TableRequest:
    """What is asked of a table beside its file.

    Attributes
    ----------
    options : mapping of str to str
        What the user says of the file.
    record : str, optional
        What the record element of the twin is called.
    contexts : ContextNames
        Of the rules: they say what the elements of the twin are called.
    progress : callable, optional
        Told of what takes long.
    memory : int, optional
        Bytes that the run may take, where all records will be asked for: a table that is small beside them is read at
        once. Without it, any large file is read block by block.
    """

    options: Options = MappingProxyType({})
    record: str | None = None
    contexts: ContextNames = NO_CONTEXTS
    progress: Progress | None = None
    memory: int | None = None

    def names(self, columns: Sequence[str]) -> TwinNames:
        """Return what the elements of the view of a table with these columns are called."""
        return twin_names(columns, self.record, self.contexts)

    def size_of_view(self, blocks: TableStream) -> int:
        """Return roughly how many bytes the document would have."""
        names = (self.names(blocks.names).record, *blocks.names)
        return blocks.text + blocks.count * sum(len(f"<{name}></{name}>") for name in names)


class TableView:
    """The XML view of the records of a table; the document is written when it is first asked for.

    Parameters
    ----------
    path : Path
        The file, for messages.
    blocks : TableStream
    asked : TableRequest
    reading : method
        Of the source that has this view; returns the context in which records are read, on which two libraries agree
        where two read them.
    """

    def __init__(
        self,
        path: Path,
        blocks: TableStream,
        asked: TableRequest,
        reading: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.path, self.blocks, self._asked = path, blocks, asked
        self._reading = weakref.WeakMethod(reading)  # so that the document goes with the source that has this view
        self.names = asked.names(blocks.names)
        self.size = asked.size_of_view(blocks)
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)

    @property
    def is_large(self) -> bool:
        """Whether the document is worth a place on a disk, and its records evaluation over columns."""
        return self.size >= wellformed.SMALLEST

    @cached_property
    def _place(self) -> Path:
        above = folder_on_disk()[0] if self.is_large else None
        return self._held.enter_context(private_folder(above)) / "document.xml"

    @cached_property
    def document(self) -> Path:
        """Where the document is, as long as this is there."""
        path = self._place
        if self.is_large:
            require_room(path.parent, self.size, what=f"what engines read of {self.path.name}")
            compile_first(self._asked.progress)
        path.unlink(missing_ok=True)  # of an attempt that was refused
        with kept_in(path.parent):
            os.close(create_private(path))
        reading = self._reading()
        if reading is None:
            raise ValueError("the source of this view is gone")
        with reading(), closing(self.blocks.again()) as found:
            columns = [variable.column for variable in self.blocks.variables]
            write_twin(path, columns, found, self.names, str(self.path))
        return path

    @cached_property
    def _seen(self) -> tuple[Layout, int | None]:
        """What a survey of the document would say: its layout, and how many records, where these are many."""
        layout = twin_layout(self.names, self.blocks.names, self.blocks.first)
        if layout is None:
            return XmlSource(self.document, record=self.names.record, progress=self._asked.progress).layout, None
        if not self.is_large and self.blocks.count < MANY_RECORDS:
            return layout, None
        compile_first(self._asked.progress)
        return layout, self.blocks.count

    @property
    def layout(self) -> Layout:
        """Where records and fields stand."""
        return self._seen[0]

    @property
    def count(self) -> int | None:
        """Number of records of a table that is evaluated over columns."""
        return self._seen[1]

    def line(self, record: int) -> int:
        """Return the line or row of a record in the file; 0 of what is none."""
        return int(self.blocks.lines(record, 1)[0]) if 0 <= record < self.blocks.count else 0

    def own_place(self, place: Place) -> Place:
        """Return the file, and the line of the record, for a place in the document."""
        if "_place" not in self.__dict__ or place.source != str(self._place):
            return place
        line = self.line(place.line - FIRST_LINE) if place.line else 0
        return replace(place, source=str(self.path), line=line, column=0)
