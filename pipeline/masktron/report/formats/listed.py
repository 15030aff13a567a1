"""A long list in a JSON document: written piece by piece, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from masktron.evaluation.spool import Spool
from masktron.write.manifest import dump, dump_line


class Listed:
    """The first findings of each check as lines of JSON, kept on disk.

    Parameters
    ----------
    folder : Path
        Where they are kept.
    limit : int or None
        How many of each check; None for all.
    """

    def __init__(self, folder: Path, limit: int | None) -> None:
        self._spool = Spool(folder)
        self._limit = limit
        self._taken: dict[int, int] = {}

    def close(self) -> None:
        """Give them up."""
        self._spool.__exit__(None, None, None)

    def wants(self, check: int) -> bool:
        """Whether there is room for one more finding of a check; it counts as taken then."""
        taken = self._taken.get(check, 0)
        if self._limit is not None and taken >= self._limit:
            return False
        self._taken[check] = taken + 1
        return True

    def add(self, check: int, content: Mapping[str, Any]) -> None:
        """Take one."""
        self._spool.add(check, f",\n{dump_line(content)}")

    def write(self, stream: IO[bytes], content: Mapping[str, Any], name: str, checks: Iterable[int]) -> None:
        """Write a document, with the list in the place of its last empty one, which is called `name`."""
        empty = f'"{name}": []'
        before, found, after = dump(content).rpartition(empty)
        if not found:
            raise ValueError(f"the document has no empty list {name!r}")
        stream.write(before.encode())
        stream.write(f'"{name}": ['.encode())
        skipped = 1  # the comma before the first
        for check in checks:
            for piece in self._spool.pieces(check):
                stream.write(piece[skipped:])
                skipped = 0 if piece else skipped
        stream.write(b"]" if skipped else b"\n]")
        stream.write(after.encode())
