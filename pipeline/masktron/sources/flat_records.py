"""The records of a flat file, in batches: what is evaluated over columns, of whatever format the file is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from pathlib import Path

from masktron.sources.columns import Batch
from masktron.sources.records import Layout


class FlatRecords(ABC):
    """Reads the records of a file as often as wanted, a batch in memory at a time.

    Attributes
    ----------
    path : Path
        The file, for messages.
    layout : Layout
    """

    path: Path
    layout: Layout

    @property
    @abstractmethod
    def around(self) -> tuple[str, str] | None:
        """Tags before and behind the records, where no file has them; None where that at `path` has them."""

    @abstractmethod
    def batches(self) -> Generator[Batch]:
        """Yield the records, each time in the same batches.

        Raises
        ------
        DocumentError
            The file cannot be read, or has changed.
        """

    @abstractmethod
    def require_unchanged(self) -> None:
        """Refuse a file that is no longer the one that was surveyed.

        Raises
        ------
        DocumentError
        """
