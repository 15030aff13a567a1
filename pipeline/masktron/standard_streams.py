"""Standard streams that may be closed or full: the run goes on, and its end says what could not be written.

A descriptor that is closed when the process starts would be given to the next file that is opened, and what libraries
print would end up in that file. So it is opened on the null device first.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Buffer
from typing import TextIO

_MODES = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)
"""Of the null device in the place of a closed descriptor: writing to standard output still fails, and is noticed."""


class _Output(io.BufferedWriter):
    """The bytes of a descriptor; after its first error, which is kept, they go to the null device."""

    error: OSError | None = None

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self._give_up(error)
            return memoryview(data).nbytes

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._give_up(error)
            super().flush()

    def _give_up(self, error: OSError) -> None:
        self.error = self.error or error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def open_standard_streams() -> None:
    """Replace standard streams by ones that never stop the run; to be called before anything else is opened."""
    for descriptor, mode in enumerate(_MODES):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # the lowest free number, which is this one
    if sys.platform == "win32":  # the consoles of Windows are no files
        return
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 -- as long as the process
    sys.stdout = _text(1, sys.stdout)
    # a descriptor of its own, as 2 leads nowhere while Saxon works
    sys.stderr = _text(os.dup(2), sys.stderr, line_buffering=True)


def output_error() -> OSError | None:
    """Write what is left for standard output, and return the first error of writing to it."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    buffer = getattr(sys.stdout, "buffer", None)
    return buffer.error if isinstance(buffer, _Output) else None


def _text(descriptor: int, former: TextIO | None, *, line_buffering: bool = False) -> TextIO:
    raw = io.FileIO(descriptor, "w", closefd=False)
    # a name that the encoding of the terminal lacks is no reason to stop
    return io.TextIOWrapper(
        _Output(raw),
        encoding=former.encoding if former else "utf-8",
        errors="backslashreplace",
        line_buffering=line_buffering or raw.isatty(),
    )
