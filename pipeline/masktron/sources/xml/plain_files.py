"""What flat and nested files that the compiled readers read have in common."""

from __future__ import annotations

from pathlib import Path

from masktron.kernels import ready
from masktron.kernels.compiling import said_of_compiling
from masktron.progress import Progress
from masktron.sources.xml.parser import opened
from masktron.sources.xml.wellformed import Stamp, stamp_of

SURVEY_BLOCK = 1 << 20
"""Bytes that a survey reads at a time: libxml2 refuses to be fed more than 10,000,000 bytes at once."""


def require_stamp(path: Path, stamp: Stamp) -> None:
    """Refuse a file that is no longer the one that was surveyed, as some passes open it anew.

    Raises
    ------
    DocumentError
        It cannot be read, or changed.
    """
    from masktron.sources.xml.blocks import changed  # noqa: PLC0415 -- loads numba

    with opened(path) as (stream, _):
        if stamp_of(stream) != stamp:
            raise changed(path)


def compile_first(progress: Progress | None) -> None:
    """Compile the kernels if that has to be done, and say so first: it takes seconds."""
    if ready.kernels_ready():
        return
    kept = ready.kernels_kept()
    if progress is not None:
        progress(said_of_compiling(kept=kept), 0)
    # where nothing is kept, only what a run needs is compiled, when it does
    if kept:
        ready.compile_kernels()
