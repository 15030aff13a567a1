"""libxml2's verdict on a whole file, found in a thread while other things happen."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import BinaryIO

from masktron.sources.column import MANY_RECORDS
from masktron.sources.xml.parser import deaf_parser, opened

SMALLEST = 4_000_000
"""Size in bytes below which a file is read the exact way only, unless it has `MANY_RECORDS`."""
_LAST = re.compile(rb"(</[^<>]+>)\s*</[^<>]+>\s*\Z")
"""The last record's end, and that of the root."""
_TAIL = 4096
"""Bytes in which it is looked for."""

_BLOCK = 1 << 23
"""libxml2 refuses to be fed more than 10,000,000 bytes at once; between two blocks it waits for the interpreter."""

type Stamp = tuple[int, int, int]
"""What tells a file from another, and from itself after a change: node, size, time of the last change.

Not the device: of a shared folder, each machine has a number of its own for it, and workers compare stamps, too.
"""


def worth_columns(path: Path) -> bool:
    """Whether a file is worth what evaluation over columns takes at the start: it is large, or has many records.

    Raises
    ------
    OSError
        It cannot be read.
    """
    if path.stat().st_size >= SMALLEST:
        return True
    return has_records(path, MANY_RECORDS)


def has_records(path: Path, least: int) -> bool:
    """Whether a file, which is read, has at least so many records, as far as its end tells what a record is."""
    content = path.read_bytes()
    last = _LAST.search(content[-_TAIL:])
    return last is not None and content.count(last[1]) >= least


def stamp_of(stream: BinaryIO) -> Stamp:
    """Return what tells this file from another."""
    status = os.fstat(stream.fileno())
    return status.st_ino, status.st_size, status.st_mtime_ns


def stamp_of_file(path: Path) -> Stamp:
    """Return what tells a file from what it may become."""
    with path.open("rb") as stream:
        return stamp_of(stream)


class WellFormedness:
    """Whether a file is well-formed, to be asked for later."""

    def __init__(self, verdict: Future[Stamp | None], stopped: Event) -> None:
        self._verdict = verdict
        self._stopped = stopped

    def verdict(self) -> Stamp | None:
        """Wait for the end of the file and return which file was read; None if `stop` came first.

        Raises
        ------
        XMLSyntaxError, MasktronError
            It is not well-formed, or cannot be read.
        """
        return self._verdict.result()

    def stop(self) -> None:
        """Read no further: nobody asks any more."""
        self._stopped.set()


@contextmanager
def judged(path: str | Path) -> Iterator[WellFormedness | None]:
    """Begin to read a file worth it with libxml2; it is stopped where the context ends. None for other files.

    Meanwhile other threads run: libxml2 needs the interpreter only between blocks.
    """
    path = Path(path)
    # what cannot be opened is for the exact way to say
    if not path.is_file() or not worth_columns(path):
        yield None
        return
    stopped = Event()
    with ThreadPoolExecutor(max_workers=1) as helper:
        judge = WellFormedness(helper.submit(_read, path, stopped), stopped)
        try:
            yield judge
        finally:
            judge.stop()


def _read(path: Path, stopped: Event) -> Stamp | None:
    parser = deaf_parser()
    with opened(path) as (stream, _):
        stamp = stamp_of(stream)
        while block := stream.read(_BLOCK):
            if stopped.is_set():
                return None
            parser.feed(block)
    parser.close()
    return stamp
