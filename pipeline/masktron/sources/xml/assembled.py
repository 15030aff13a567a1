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
from masktron.sources.xml.plain_files import require_stamp
from masktron.sources.xml.reordered import Reordered, parts_of, place_for
from masktron.sources.xml.written_names import names_of


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
    require_stamp(source, plain.stamp)
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
            between, size = _encoded(edits.spacing.between, plain), source.stat().st_size
            chosen = order if kept.all() else order[kept[order]]
            _write_ordered(out, pieces, chosen, len(kept), between, size, target)
        if order is None or kept.any():
            out.write(_space_behind(source, pieces.end))
        out.write(frame[1] + _encoded(CLOSING, plain))
    require_stamp(source, plain.stamp)
    return True


def _write_ordered(
    out: BinaryIO, pieces: Pieces, chosen: NDArray[np.intp], records: int, between: bytes, size: int, beside: Path
) -> None:
    """Write records, of so many, in another order; `size` bytes are about what they take."""
    with place_for(size, beside) as store:
        held = Reordered(store, chosen, records, parts_of(size), _gathered)
        for run in pieces.runs():
            whole = run.parts[0] if len(run.parts) == 1 else b"".join(run.parts)
            held.put(run.first, np.frombuffer(whole, dtype=np.uint8), run.lengths)
        out.writelines(held.parts(between))


def _gathered(
    octets: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    order: NDArray[np.int64],
    separator: NDArray[np.uint8],
) -> NDArray[np.uint8]:
    """Join pieces by the kernel."""
    found = np.empty(int((stops - starts)[order].sum()) + len(order) * len(separator), dtype=np.uint8)
    gather(octets, starts, stops, order, separator, found)
    return found


def _space_behind(source: Path, offset: int) -> bytes:
    """Return the white space that follows the records, which end at an offset."""
    with source.open("rb") as stream:
        stream.seek(offset)
        return space_at(stream.read())


def _encoded(text: str, plain: PlainFile) -> bytes:
    return text.encode(plain.codec, "xmlcharrefreplace")
