"""Streams of files that must not change while they are read."""

from __future__ import annotations

from pathlib import Path

from masktron.errors import DocumentError
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.xml.wellformed import Stamp, stamp_of


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


def stamp_of_file(path: Path) -> Stamp:
    """Return what tells a file from what it may become."""
    with path.open("rb") as stream:
        return stamp_of(stream)
