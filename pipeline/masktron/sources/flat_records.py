"""The records of a flat file, in batches: what is evaluated over columns, of whatever format the file is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from masktron.sources.columns import Batch
from masktron.sources.record_layout import Layout


@dataclass(frozen=True, slots=True)
class RecordSlice:
    """Where some records in a row stand: small, whatever they hold.

    Attributes
    ----------
    first, records : int
        Position of the first one, from 0, and their number.
    begin, end : int
        What the format finds them by: bytes, row groups or segments.
    line, column : int
        Place of the byte at `begin`, from 1, where the file is a text.
    """

    first: int
    records: int
    begin: int
    end: int
    line: int = 1
    column: int = 1


class InSlices:
    """A file that may be read slice by slice, of which each slice tells nothing but its records.

    Attributes
    ----------
    path : Path
        The file, for messages.
    """

    path: Path

    def remarks(self) -> object:
        """Return what the slice that was read last tells of the whole file: small, and picklable."""
        return None

    def settle(self, remarks: Sequence[object]) -> None:
        """Refuse what only all slices together tell.

        Parameters
        ----------
        remarks : sequence of object
            Of each slice.

        Raises
        ------
        DocumentError
        """
        if any(remark is not None for remark in remarks):
            raise ValueError(f"nobody knows what slices of {self.path} tell of it")


class FlatRecords(InSlices, ABC):
    """Reads the records of a file as often as wanted, a batch in memory at a time.

    It can be pickled where there are slices: what is read is the file, wherever that is done.

    Attributes
    ----------
    path : Path
        The file, for messages.
    layout : Layout
    """

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

    def slices(self) -> Sequence[RecordSlice]:
        """Return the whole file in slices of a fixed size, in their order; none where it cannot be cut."""
        return ()

    def batches_in(self, piece: RecordSlice) -> Generator[Batch]:
        """Yield the records of a slice.

        Raises
        ------
        DocumentError
            As `batches`.
        ValueError
            There are no slices.
        """
        raise ValueError(f"{self.path} cannot be cut at {piece.begin}")

    @abstractmethod
    def require_unchanged(self) -> None:
        """Refuse a file that is no longer the one that was surveyed.

        Raises
        ------
        DocumentError
        """
