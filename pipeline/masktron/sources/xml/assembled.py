"""Plain files written from the bytes of the source, batch by batch: what a parser would make of them, without one.

The oracle is `masktron.sources.xml.edits`: every byte is as it would be if libxml2 had parsed and written the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.assembling import gather
from masktron.progress import Told, untold
from masktron.sources.xml.blocks import PlainFile
from masktron.sources.xml.edits import Edits
from masktron.sources.xml.outline import CLOSING, opening
from masktron.sources.xml.parser import opened
from masktron.sources.xml.pieces import Pieces, space_at
from masktron.sources.xml.plain import check_unchanged
from masktron.sources.xml.written_names import names_of

_ROOM = 1 << 23
"""Bytes that are put in order before they are written."""


def write_assembled(
    source: Path,
    target: Path,
    edits: Edits,
    plain: PlainFile,
    kept: NDArray[np.bool_],
    order: NDArray[np.intp] | None,
    told: Told = untold,
) -> bool:
    """Write a plain file as `writer.write_masked` says; False, and nothing, where it cannot be done so.

    Raises
    ------
    DocumentError
        The source cannot be read, or changed since it was surveyed.
    """
    check_unchanged(source, plain)
    with opened(source) as (stream, encoding):
        head = stream.read(plain.start)
    names = names_of(edits.layout, plain)
    frame = names.frame(head, edits.layout, plain.codec) if names is not None else None
    if names is None or frame is None:
        return False
    apart = np.zeros(len(kept), dtype=np.bool_)
    if order is None:
        # the white space behind each record but the last: behind that comes what ends the source
        followed = kept.copy()
        followed[np.flatnonzero(kept)[-1:]] = False
        apart[1:] = followed[:-1]
    pieces = Pieces(source, edits, plain, names, head, kept, apart, told)
    with target.open("wb") as out:
        out.write(_encoded(opening(encoding), plain) + frame[0])
        if order is None:
            out.writelines(pieces)
        else:
            _write_ordered(out, pieces, order[kept[order]], _encoded(edits.spacing.between, plain))
        if order is None or kept.any():
            out.write(_space_behind(source, pieces.end))
        out.write(frame[1] + _encoded(CLOSING, plain))
    check_unchanged(source, plain)
    return True


def _write_ordered(out: BinaryIO, pieces: Pieces, chosen: NDArray[np.intp], between: bytes) -> None:
    """Write records in another order: they are put together first, and held."""
    held = bytearray(1)  # never empty
    for piece in pieces:
        held += piece
    stops = 1 + np.cumsum(pieces.lengths)
    starts = stops - pieces.lengths
    data = np.frombuffer(held, dtype=np.uint8)
    separator = np.array(list(between), dtype=np.uint8)
    sizes = pieces.lengths[chosen] + len(separator)
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(chosen):
        written = int(ends[begin] - sizes[begin])
        stop = max(begin + 1, int(np.searchsorted(ends, written + _ROOM, side="right")))
        ordered = np.empty(int(ends[stop - 1]) - written, dtype=np.uint8)
        size = gather(data, starts, stops, chosen[begin:stop].astype(np.int64), separator, ordered)
        out.write(ordered[: size - len(separator)] if stop == len(chosen) else ordered)
        begin = stop


def _space_behind(source: Path, offset: int) -> bytes:
    """Return the white space that follows the records, which end at an offset."""
    with source.open("rb") as stream:
        stream.seek(offset)
        return space_at(stream.read())


def _encoded(text: str, plain: PlainFile) -> bytes:
    return text.encode(plain.codec, "xmlcharrefreplace")
