"""Texts by check, kept on disk while a file is read: they come record by record and are wanted check by check."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

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
