"""The masked file: the source again, with new values in some fields."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.kernels.assembling import gather
from masktron.problems.problem import Field, Known, Place
from masktron.progress import Told, untold
from masktron.scratch import unnamed_file
from masktron.sources.column import Column
from masktron.sources.record_layout import Layout
from masktron.sources.xml.blocks import PlainFile
from masktron.sources.xml.edits import Edits, RecordEdits, RecordText, records_of, serialised
from masktron.sources.xml.layout import confirm
from masktron.sources.xml.microdata import chunk_document, iter_documents, record_lines
from masktron.sources.xml.nested_units import require_stamp
from masktron.sources.xml.new_texts import check_replacements
from masktron.sources.xml.outline import CLOSING, opening, released, spacing_of
from masktron.sources.xml.parser import opened, scan
from masktron.sources.xml.pieces import Pieces, names_of, space_at

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import PlainFile


PART = 1 << 24
"""Bytes of a part, if records are equally long: at least two parts are in memory at a time."""
MOST_PARTS = 1 << 10
"""A run of records gives a piece to each part, and pieces of a few hundred bytes are slow to read."""
HELD = 1 << 25
"""Bytes of a file whose records stay in memory."""

type _Octets = NDArray[np.uint8]
type _Offsets = NDArray[np.int64]
type Gather = Callable[[_Octets, _Offsets, _Offsets, _Offsets, _Octets], _Octets]
"""Joins pieces of some bytes: where each starts and stops, in which order, and what stands behind each."""

_NOTHING = np.zeros(0, dtype=np.uint8)


def parts_of(size: int) -> int:
    """Return into how many parts a file of so many bytes is cut."""
    return max(1, min(-(-size // PART), MOST_PARTS))


def place_for(size: int, beside: Path) -> AbstractContextManager[BinaryIO]:
    """Return where records of so many bytes are put down until all of them are there."""
    return nullcontext(io.BytesIO()) if size <= HELD else unnamed_file(beside)


def joined(octets: _Octets, starts: _Offsets, stops: _Offsets, order: _Offsets, separator: _Octets) -> _Octets:
    """Join pieces without compiled code, which takes longer to load than few records to join."""
    held, behind = octets.tobytes(), separator.tobytes()
    places = zip(starts[order].tolist(), stops[order].tolist(), strict=True)
    return np.frombuffer(b"".join(part for start, stop in places for part in (held[start:stop], behind)), np.uint8)


class Reordered:
    """Records that come in one order, and are written in another.

    Parameters
    ----------
    store : binary file
        Empty; written and read.
    order : ndarray of intp, shape (m,)
        The records that are written, by their positions in the order in which they come: each at most once.
    records : int
        How many come.
    parts : int
        Into how many parts the new file is cut.
    gather : callable
    """

    def __init__(self, store: BinaryIO, order: NDArray[np.intp], records: int, parts: int, gather: Gather) -> None:
        self._store, self._order, self._gather = store, order, gather
        self._bounds = np.linspace(0, len(order), parts + 1).astype(np.int64)
        self._part_of = np.full(records, parts, dtype=np.int16)
        for part, (begin, end) in enumerate(zip(self._bounds[:-1], self._bounds[1:], strict=True)):
            self._part_of[order[begin:end]] = part
        self._lengths = np.zeros(records, dtype=np.int64)
        self._extents: list[_Offsets] = []
        self._size = 0

    def put(self, first: int, octets: _Octets, lengths: _Offsets) -> None:
        """Take the next records.

        Parameters
        ----------
        first : int
            Position of the first of them.
        octets : ndarray of uint8
            One record after the other.
        lengths : ndarray of int64
            Bytes of each.

        Raises
        ------
        OSError
            The disk is full.
        """
        rows = slice(first, first + len(lengths))
        self._lengths[rows] = lengths
        parts = self._part_of[rows]
        count = len(self._bounds) - 1
        # stable: within a part, records stay in the order in which they come
        own = np.argsort(parts, kind="stable")[: int((parts < count).sum())]
        stops = np.cumsum(lengths)
        moved = self._gather(octets, stops - lengths, stops, own, _NOTHING)
        ends = np.concatenate([[0], np.cumsum(lengths[own])])
        self._extents.append(self._size + ends[np.searchsorted(parts[own], np.arange(count + 1))])
        _write_all(self._store, moved)
        self._size += len(moved)

    def parts(self, separator: bytes) -> Iterator[_Octets]:
        """Yield the records in their new order, with a separator between them.

        Raises
        ------
        DocumentError
            What was put down is not there any more.
        """
        between = np.frombuffer(bytearray(separator), dtype=np.uint8)  # what kernels take may be written to
        for part, (begin, end) in enumerate(zip(self._bounds[:-1], self._bounds[1:], strict=True)):
            own = self._order[begin:end]
            if not len(own):
                continue
            # the part holds its records in the order in which they came
            came = np.argsort(own)
            place = np.empty_like(came)
            place[came] = np.arange(len(own))
            lengths = self._lengths[own[came]]
            stops = np.cumsum(lengths)
            octets = self._gather(self._read(part, int(stops[-1])), stops - lengths, stops, place, between)
            yield octets[: len(octets) - len(between)] if end == len(self._order) else octets

    def _read(self, part: int, size: int) -> _Octets:
        """Read what was put down for a part, run by run."""
        found = np.empty(size, dtype=np.uint8)
        view, at = memoryview(found), 0
        for extents in self._extents:
            begin, end = int(extents[part]), int(extents[part + 1])
            self._store.seek(begin)
            while begin < end:
                read = self._store.readinto(view[at : at + end - begin])  # type: ignore[attr-defined]
                if not read:
                    raise DocumentError.of("no-temporary-file", reason="one was cut short while it was read")
                begin, at = begin + read, at + read
        return found


def _write_all(store: BinaryIO, octets: _Octets) -> None:
    """Write behind what is there: a file without a buffer may take less at once."""
    view = memoryview(octets)
    while view:
        view = view[store.write(view) :]


_RUN = 1000
"""Records that are put down at once."""


def write_masked(
    source: Path,
    target: Path,
    layout: Layout,
    replacements: Mapping[str, Column],
    *,
    removed: Collection[str] = (),
    keep: NDArray[np.bool_] | None = None,
    order: NDArray[np.intp] | None = None,
    plain: PlainFile | None = None,
    told: Told = untold,
) -> int:
    """Write a copy of a flat file with new lexemes in some fields.

    The encoding, the XML declaration, the root with its attributes, the namespaces that names need and lexemes that
    are not replaced stay, and so does the order of the fields in a record. White space is that of the first record,
    so that no record is told by how it was indented. All else is dropped, as it could carry original values:
    comments, processing instructions, the document type, other declarations of namespaces, attributes of elements
    between the root and the records; `masktron.sources.xml.outline` counts it. CDATA sections and character
    references become plain text with the same value.

    Parameters
    ----------
    source : Path
    target : Path
        Written directly: give it a path from `masktron.write.atomic.atomic_path`.
    layout : Layout
    replacements : mapping of str to Column
        Lexemes by field name, in the order of the source; None removes the element or attribute, and a value
        where there was none is inserted, in layout order.
    removed : collection of str
        Names of the fields that no record keeps.
    keep : ndarray of bool, shape (n,), optional
        Records that are written; without it, all.
    order : ndarray of intp, shape (n,), optional
        Permutation: source positions in the order in which they are written, `keep` applied after it; without
        it the order of the source. With it the records of a large file go through a file beside the target, so that
        the disk needs room for them twice.
    plain : PlainFile, optional
        What the survey knows of a large file: its records are then put together from the bytes of the source, which
        changes nothing but the time.
    told : callable, optional
        Told of the records of the source that are written or left out, and of how many there are.

    Returns
    -------
    int
        Number of records written.

    Raises
    ------
    DocumentError
        The source cannot be parsed, is not flat or has changed, or a lexeme has characters that XML forbids.
    UsageError
        An unknown field, or an array that does not have one entry per record.
    """
    n = _flat_records(source, layout) if plain is None else plain.records
    _check_names(layout, replacements, removed)
    check_choice(n, keep, order)
    check_replacements(layout, replacements, n)
    kept = np.ones(n, dtype=np.bool_) if keep is None else keep
    edits = Edits(layout, replacements, removed, spacing_of(source, layout))
    if plain is not None:
        if write_assembled(source, target, edits, plain, kept, order, told):
            return int(kept.sum())
        _flat_records(source, layout)
    write_parsed(source, target, edits, kept, order, told)
    told(n, n)
    return int(kept.sum())


def check_choice(n: int, keep: NDArray[np.bool_] | None, order: NDArray[np.intp] | None) -> None:
    """Refuse what does not say of each of n records whether, and where, it is written.

    Raises
    ------
    UsageError
    """
    for name, array in (("keep", keep), ("order", order)):
        if array is not None and array.shape != (n,):
            raise UsageError.of(
                "bad-arrays", detail=f"{name} has the shape {array.shape}, and the file has {n:,} records"
            )
    if order is not None and not _is_permutation(order):
        raise UsageError.of("bad-arrays", detail=f"order is not a permutation of the {n:,} records")


def _is_permutation(order: NDArray[np.intp]) -> bool:
    met = np.zeros(len(order), dtype=np.bool_)
    if len(order) and not 0 <= order.min() <= order.max() < len(order):
        return False
    met[order] = True
    return bool(met.all())


def _flat_records(source: Path, layout: Layout) -> int:
    """Read the file again and return how many records it has.

    Raises
    ------
    DocumentError
        It is not flat, or another file.
    """
    shape = confirm(source, layout)
    if not shape.flat:
        raise DocumentError.of("records-not-flat", Place(str(source), shape.line), reason=shape.reason)
    return len(record_lines(source, layout))


def _check_names(layout: Layout, replacements: Mapping[str, Column], removed: Collection[str]) -> None:
    for name in (*replacements, *removed):
        if layout.field(name) is None:
            raise UsageError.of(
                "unknown-name",
                name=Field(name),
                known=Known(name, tuple(f.name for f in layout.fields)),
                kind="field",
            )
    for name in replacements:
        if name in removed:
            raise UsageError.of("bad-arrays", Place(field=Field(name)), detail="it is both replaced and removed")


def write_parsed(
    source: Path,
    target: Path,
    edits: RecordEdits,
    kept: NDArray[np.bool_],
    order: NDArray[np.intp] | None,
    told: Told,
) -> None:
    """Write any file, record by record as trees, which are made anew in the order of the source."""
    encoding = scan(source)
    with target.open("w", encoding=encoding.codec, errors="xmlcharrefreplace", newline="") as stream:
        stream.write(opening(encoding))
        pieces = _pieces(source, edits, len(kept), lambda done: told(done, len(kept)))
        if order is None or not len(kept):
            whole = [etree.tostring(released(chunk_document(edits.layout, []), edits.layout), encoding="unicode")]
            stream.writelines(_in_source_order(pieces, edits.spacing.between, kept) if len(kept) else whole)
        else:
            size = source.stat().st_size
            with place_for(size, target) as store:
                held = Reordered(store, order[kept[order]], len(kept), parts_of(size), joined)
                stream.writelines(_reordered(pieces, edits.spacing.between, held))
        stream.write(CLOSING)


def _pieces(source: Path, edits: RecordEdits, records: int, told: Callable[[int], None]) -> Iterator[RecordText]:
    for root, first, _count in iter_documents(source, edits.layout, records):
        told(first)
        for j, record in enumerate(records_of(root, edits.layout)):
            edits.apply(record, first + j)
        yield from serialised(root, edits.layout)


def _reordered(pieces: Iterator[RecordText], between: str, held: Reordered) -> Iterator[str]:
    """Yield the root element with the records that are kept, in their new order."""
    at, written = 0, False
    for run in batched(pieces, _RUN):
        if not at:
            yield run[0].opening
        texts = [piece.text.encode() for piece in run]
        held.put(at, np.frombuffer(b"".join(texts), np.uint8), np.array([*map(len, texts)], dtype=np.int64))
        at, last = at + len(run), run[-1]
    for octets in held.parts(between.encode()):
        written = True
        yield octets.tobytes().decode()
    yield (last.tail if written else "") + last.closing


def _in_source_order(pieces: Iterator[RecordText], between: str, kept: NDArray[np.bool_]) -> Iterator[str]:
    last: RecordText | None = None
    pending = ""
    for piece, wanted in zip(pieces, kept, strict=True):
        if last is None:
            yield piece.opening
        if wanted:
            yield pending
            yield piece.text
            pending = between
        last = piece
    if last is not None:
        yield last.tail
        yield last.closing


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
