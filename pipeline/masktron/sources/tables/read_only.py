"""Formats of which files are only read."""

from __future__ import annotations

from pathlib import Path

from masktron.sources.known_formats import require_written
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import NONE


class ReadOnlyFormat(TableFormat):
    """A format of which files are only read: `Format.instead` says what is written in its place."""

    def write(self, target: Path, release: TableRelease, options: Options = NONE) -> None:
        """Refuse."""
        require_written(target, self.name)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Refuse."""
        require_written(target, self.name)
