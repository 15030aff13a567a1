"""A data frame as a `Source`: what is written is a frame, and a file of any format where one is asked for."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Any, Self

from masktron.errors import UsageError
from masktron.problems.problem import Field, Place
from masktron.sources.column import Status
from masktron.sources.frame_path import FramePath
from masktron.sources.known_formats import XML, format_of_name, table_format
from masktron.sources.tables.conversion import with_types
from masktron.sources.tables.descriptions import descriptions_lost, orders_lost
from masktron.sources.tables.frames import categories_kept, frame_format, metadata_kept
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_source import TableSource, opened_place
from masktron.sources.tables.table_view import TableRequest
from masktron.sources.xml.xml_source import XmlSource


class FrameSource(TableSource):
    """A data frame in memory.

    Parameters
    ----------
    path : FramePath
    asked : TableRequest
    """

    def __init__(self, path: FramePath, asked: TableRequest = TableRequest()) -> None:  # noqa: B008 -- frozen
        super().__init__(path, frame_format(path), asked)
        # copies share what is written
        self._made = FramePath.of(path.frame)
        self._lost: list[str] = []
        self._beside: list[str] = []
        self._file_format: str | None = None

    def written_as(self, out: Path) -> Self:
        """Return a source that also writes a file, if this is the name of one."""
        found = copy(self)
        found._file_format = None if isinstance(out, FramePath) else format_of_name(out) or XML
        return found

    def _save(self, target: Path, release: Release) -> None:
        """Make a frame of the same kind, with the same types and labels, and write what it holds to the file."""
        self._made.frame = self.path.frame  # type: ignore[attr-defined]
        super()._save(self._made, release)
        if self._file_format is None:
            self._beside[:] = metadata_kept(self.table)
        else:
            self._write_file(target, self._again())
            self._beside[:] = [f"the file does not hold {one}" for one in self.format.form(self.table)]

    def _fresh(self) -> Self:
        """Return the same frame as it was before anybody has read it."""
        return type(self)(self.path, self._asked)  # type: ignore[arg-type]

    def _again(self) -> FrameSource:
        return FrameSource(self._made, self._asked)

    def _write_file(self, target: Path, written: FrameSource) -> None:
        table, name = written.table, self._file_format or XML
        if name == XML:
            shutil.copyfile(written.document_path, target)
            self._lost[:] = descriptions_lost(table, None)
            return
        made = table_format(name)
        empty = [one.variable.column for one in table.columns.values() if "" in one.texts(Status.EMPTY)]
        if empty and not made.tells_empty:
            raise UsageError.of(
                "cannot-hold",
                Place(field=Field(empty[0])),
                format=name,
                detail="an empty text beside a missing value",
            )
        made.write(opened_place(target), Release.new(with_types(table, made.exact_digits)))
        self._lost[:] = made.losses(table)

    def alike(self, path: Path) -> Any:
        """Return what `write` has written: the file, or the frame where there is none."""
        if self._file_format is None:
            return self._again()
        if self._file_format == XML:
            return XmlSource(path, record=self.twin.record, progress=self._asked.progress)
        found = TableSource(path, table_format(self._file_format), self._asked)
        meant = self._again().table
        told = (*descriptions_lost(meant, found.table), *orders_lost(meant, found.table))
        self._lost += [lost for lost in told if lost not in self._lost]
        return found

    def handed_back(self) -> Any:
        """Return the frame that `write` has made."""
        return self._made.frame

    def outline_notes(self, counts: Mapping[str, int]) -> tuple[str, ...]:
        """Say what of the frame is not in the file, or what metadata a masked frame has."""
        lost = (f"the file does not hold what the data frame says: {', '.join(self._lost)}",) if self._lost else ()
        return (*super().outline_notes(counts), *categories_kept(self.table), *lost, *self._beside)
