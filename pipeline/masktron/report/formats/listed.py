"""Long lists in reports: kept on disk until they are wanted, and written piece by piece."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from masktron.write.manifest import dump, dump_line

_BUFFERED = 16_000_000
"""Characters that all checks together hold in memory."""
_LEAST, _MOST = 4_096, 262_144
"""Characters after which a check's buffer goes to the file, whatever the number of checks."""


class Spool:
    """Collects texts for each check in the order in which they come, in bounded memory.

    Parameters
    ----------
    folder : Path
        Where its temporary file lies: that of the report, so that both have the same room. The file has no name where
        the system allows that, and nobody else can read it: what it holds is confidential.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, prefix=".masktron-")  # noqa: SIM115 -- closed by __exit__
        self._end = 0
        self._buffers: dict[int, list[str]] = {}
        self._sizes: dict[int, int] = {}
        self._blocks: dict[int, list[tuple[int, int]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, check: int, text: str) -> None:
        """Append a text to those of a check."""
        if check not in self._buffers:
            self._buffers[check], self._sizes[check], self._blocks[check] = [], 0, []
        self._buffers[check].append(text)
        self._sizes[check] += len(text)
        if self._sizes[check] > max(_LEAST, min(_MOST, _BUFFERED // len(self._buffers))):
            self._flush(check)

    def _flush(self, check: int) -> None:
        block = "".join(self._buffers[check]).encode()
        self._file.seek(self._end)
        self._file.write(block)
        self._blocks[check].append((self._end, len(block)))
        self._end += len(block)
        self._buffers[check], self._sizes[check] = [], 0

    def pieces(self, check: int) -> Iterator[bytes]:
        """Yield the texts of a check in UTF-8, in pieces, none of which is large."""
        for start, length in self._blocks.get(check, ()):
            self._file.seek(start)
            yield self._file.read(length)
        yield "".join(self._buffers.get(check, ())).encode()


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
