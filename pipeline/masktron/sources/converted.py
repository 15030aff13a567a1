"""Formats of microdata that no engine reads: each file is written as a document of its own for the engines.

The document is what rules see: every record is one element with one child element per value, and stands in a line of
its own. Engines that are not ours read its bytes by their own parsers, as they do with XML. That the document says
what the file says is for the format to see to: no engine checks it.
"""

from __future__ import annotations

import os
import re
import weakref
from abc import abstractmethod
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Self
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from masktron.errors import MasktronError, UsageError
from masktron.progress import Progress, Told, untold
from masktron.scratch import create_private, private_folder
from masktron.sources.names import Vocabulary
from masktron.sources.records import Coded, Layout, Records, Shape
from masktron.sources.source import EngineDocument, Source
from masktron.sources.xml.xml_source import XmlSource

type CellTexts = Mapping[str, Sequence[str | None]]
"""Lexemes by field name, record by record; None where a record does not have the field."""

_RECORDS_FROM = 2
"""Line of the document in which the first record stands."""
_IN_ELEMENTS = {"\r": "&#13;", "\n": "&#10;"}
_NAME = re.compile(r"[^\W\d][\w.\-]*")


class ConvertedSource(Source):
    """A file that is no XML. A format says how its cells are read and written, and in which line each record is.

    Parameters
    ----------
    path : Path
    record : str, optional
        What the record element is called in the document, and in the contexts of rules.
    hints : collection of str
        Not used: a table has one kind of record.
    progress : callable, optional
        Told of what takes long.
    """

    def __init__(
        self,
        path: Path,
        *,
        record: str | None = None,
        hints: Collection[str] = (),
        progress: Progress | None = None,
    ) -> None:
        super().__init__(path)
        del hints
        self._name, self._progress = record or "Record", progress
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)

    # what a format says

    @abstractmethod
    def read_cells(self) -> CellTexts:
        """Return the cells of the file.

        Raises
        ------
        DocumentError
            It cannot be read.
        """

    @abstractmethod
    def write_cells(self, target: Path, cells: CellTexts) -> None:
        """Write a file of this format, with what else the file has that may be released."""

    @abstractmethod
    def line_of(self, record: int) -> int:
        """Return the line, from 1, in which a record stands; from the record on, where there are no lines."""

    # what follows from it

    @cached_property
    def _document(self) -> XmlSource:
        folder = self._held.enter_context(private_folder())
        path = folder / "document.xml"
        os.close(create_private(path))
        write_document(path, self._cells, self._name)
        return XmlSource(path, record=self._name, progress=self._progress)

    @cached_property
    def _cells(self) -> CellTexts:
        return self.read_cells()

    @property
    def layout(self) -> Layout:
        """Where records and fields stand in the document."""
        with self.blamed():
            return self._document.layout

    @property
    def shape(self) -> Shape:
        """A table is flat."""
        with self.blamed():
            return self._document.shape

    @property
    def count(self) -> int | None:
        """Number of records of a document that is evaluated over columns."""
        with self.blamed():
            return self._document.count

    def estimate(self) -> int:
        """Return the number of records."""
        return max(map(len, self._cells.values()), default=0)

    def vocabulary(self) -> Vocabulary:
        """Return the names of the document."""
        with self.blamed():
            return self._document.vocabulary()

    def require_readable(self) -> None:
        """Refuse a file that is not of this format."""
        self._cells  # noqa: B018 -- reads the file

    def records(
        self,
        *,
        missing: Mapping[str, frozenset[str]] = MappingProxyType({}),
        only: Collection[str] | None = None,
        told: Told = untold,
    ) -> Records:
        """Read the records as columns from the document."""
        with self.blamed():
            found = self._document.records(missing=missing, only=only, told=told)
        lines = np.array([self.line_of(record) for record in range(len(found))], dtype=np.int64)
        return replace(found, source=self.path, lines=lines)

    @property
    def document_path(self) -> Path:
        """Where the document is, as long as the source is there."""
        return self._document.path

    @property
    def document(self) -> EngineDocument:
        """What was written for the engines."""
        return self._document.document

    def place(self, record: int, line: int, column: int) -> tuple[int, int]:
        """Return the line of a record; which column it is, the document does not tell."""
        del line, column
        return (0 if record < 0 else self.line_of(record)), 0

    @contextmanager
    def blamed(self) -> Generator[None]:
        """Let errors name the file, and the line of the record, where they name the document."""
        try:
            yield
        except MasktronError as error:
            path = re.escape(str(self._document.path))
            found = re.search(rf"{path}(?::(\d+)(?::\d+)?)?", error.where)
            if found is not None:
                record = -1 if found[1] is None else int(found[1]) - _RECORDS_FROM
                line = f":{self.line_of(record)}" if 0 <= record < self.estimate() else ""
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
        """Write a file of the same format."""
        size = self.estimate()
        rows = np.arange(size) if order is None else order
        if keep is not None:
            rows = rows[keep[rows]]
        cells: dict[str, Sequence[str | None]] = {}
        for name, lexemes in self._cells.items():
            if name in removed:
                continue
            new = replacements.get(name)
            column = np.array(lexemes, dtype=np.object_) if new is None else new.texts[new.codes]
            cells[name] = column[rows].tolist()
        self.write_cells(target, cells)
        told(size, size)
        return len(rows)

    def alike(self, path: Path) -> Self:
        """Return another file of this format."""
        return type(self)(path, record=self._name, progress=self._progress)

    def has_layout_of(self, original: Source, removed: Collection[str]) -> bool:
        """Whether the fields are those that the original releases."""
        fields = {field for field in original.layout.fields if field.name not in removed}
        return self.shape.flat and fields.issuperset(self.layout.fields)


def write_document(path: Path, cells: CellTexts, record: str) -> None:
    """Write cells as XML, a record in each line from the second one on.

    Raises
    ------
    UsageError
        The name of a field is no name of an element.
    """
    for name in cells:
        if not _NAME.fullmatch(name):
            raise UsageError(f"the field {name!r} is no name of an XML element", hint="rename it")
    with path.open("w", encoding="UTF-8", newline="\n") as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?><Data>\n')
        for row in zip(*cells.values(), strict=True):
            values = (
                f"<{name}>{escape(lexeme, _IN_ELEMENTS)}</{name}>"
                for name, lexeme in zip(cells, row, strict=True)
                if lexeme is not None
            )
            stream.write(f"<{record}>{''.join(values)}</{record}>\n")
        stream.write("</Data>\n")
