"""CSV, written: like the original, with the bytes of all cells that have not changed, or anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.kernels.separated import join_records
from masktron.problems.problem import Field, Place
from masktron.progress import Told
from masktron.sources.array_stores import FolderStore
from masktron.sources.tables.column_strings import blocks_of, one_array
from masktron.sources.tables.release import Release, StreamedRelease
from masktron.sources.tables.separated.content import Content, sink
from masktron.sources.tables.separated.csv_dialect import CANDIDATES, CsvDialect, from_lexemes, to_lexemes
from masktron.sources.tables.separated.csv_outline import CsvOutline, record_starts
from masktron.sources.tables.separated.csv_stream import CsvStream
from masktron.sources.tables.spilled import KeptTexts

_ROWS = 1 << 17
"""Records that are put together at once."""
_CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{80}-\x{9f}]"


@dataclass(frozen=True, slots=True, eq=False)
class Replaced:
    """Texts that some cells get.

    Attributes
    ----------
    slots : ndarray of int64, shape (columns,)
    codes : list of ndarray of int64
        For each column that changes, the text of each record, -1 for none.
    texts : list of pyarrow.Array
        Of each column that changes; codes count through them all.
    """

    slots: NDArray[np.int64]
    codes: list[NDArray[np.int64]]
    texts: list[pa.Array]


def write_like(target: Path, content: Content, outline: CsvOutline, release: Release, groups: frozenset[str]) -> bool:
    """Write a release in the dialect of the original.

    Parameters
    ----------
    target : Path
    content, outline : Content, CsvOutline
        The original.
    release : Release
    groups : frozenset of str
        Variables whose numbers have groups of digits.

    Returns
    -------
    bool
        Whether what was written is, unpacked, the original.

    Raises
    ------
    UsageError
        The dialect cannot hold a masked value; names the column.
    """
    header = int(outline.dialect.has_names)
    starts = record_starts(content.data, outline.dialect, outline.records + header)
    replaced = _replaced(release, outline.dialect, groups)
    offsets, texts = _joined(replaced.texts)
    octets = np.frombuffer(content.data, dtype=np.uint8)
    original = _Original(octets, outline, starts, replaced.slots, offsets, texts)
    rows, columns = release.rows, replaced.codes

    def some(at: int) -> list[NDArray[np.int64]]:
        return [column[at : at + _ROWS] for column in columns]

    return _written(target, original, rows, some) == content.digest


def write_mapped(target: Path, stream: CsvStream, release: StreamedRelease, told: Told) -> None:
    """Write a release in the dialect of the original; what is larger than some records is mapped to memory.

    Parameters
    ----------
    target : Path
    stream : CsvStream
        The original.
    release : StreamedRelease
    told : callable
        Told of the records written, and of how many there are.

    Raises
    ------
    UsageError
        The dialect cannot hold a masked value; names the column.
    DocumentError
        There is no room for temporary files.
    """
    outline, store = stream.outline, FolderStore(release.folder)
    slots = np.full(len(stream.variables), -2, dtype=np.int64)
    kept, firsts = KeptTexts(store), []
    codes: list[NDArray[np.int32]] = []
    released = {variable.name for variable in release.variables}
    for position, variable in enumerate(stream.variables):
        if variable.name not in released:
            continue
        slots[position] = -1
        if (coded := release.masked.get(variable.name)) is None:
            continue
        slots[position] = len(codes)
        own = partial(
            _file_texts, dialect=outline.dialect, column=variable.column, groups=False, single=len(released) == 1
        )
        firsts.append(kept.add(coded.lexicon.objects(), own))
        codes.append(coded.codes)
    texts = kept.whole()
    original = _Original(stream.bytes.mapped(), outline, _starts(stream, store), slots, texts.ends, texts.octets)

    def some(at: int) -> list[NDArray[np.int64]]:
        told(at, len(release.rows))
        part = release.rows[at : at + _ROWS]
        return [own[part].astype(np.int64) + first for own, first in zip(codes, firsts, strict=True)]

    _written(target, original, release.rows, some)
    told(len(release.rows), len(release.rows))


def _starts(stream: CsvStream, store: FolderStore) -> NDArray[np.int64]:
    """Return where the records of a file begin, that with the names among them; mapped to memory."""
    starts = store.growing(np.int64)
    if stream.outline.dialect.has_names:
        starts.add(np.zeros(1, dtype=np.int64))
    for one in stream.outline.segments:
        data = stream.bytes.part(one.begin, one.size)
        starts.add(record_starts(data, stream.outline.dialect, one.records) + one.begin)
    return starts.whole()


@dataclass(frozen=True, slots=True, eq=False)
class _Original:
    """The bytes of a file, where its records begin, what is done with each column, and the texts that come there."""

    octets: NDArray[np.uint8]
    outline: CsvOutline
    starts: NDArray[np.int64]
    slots: NDArray[np.int64]
    offsets: NDArray[np.int64]
    texts: NDArray[np.uint8]


def _written(
    target: Path,
    original: _Original,
    rows: NDArray[np.intp],
    codes: Callable[[int], list[NDArray[np.int64]]],
) -> bytes:
    """Write records, and return the digest of what was written, unpacked."""
    octets, outline, starts = original.octets, original.outline, original.starts
    dialect = outline.dialect
    ending = np.frombuffer(dialect.ending.encode(), dtype=np.uint8)
    try:
        with sink(target, dialect) as out:
            held = b""
            for some, new in _blocks(rows, codes, int(dialect.has_names)):
                stops = starts[np.minimum(some + 1, len(starts) - 1)]
                stops[some + 1 == len(starts)] = len(octets)
                taken = new[new >= 0]
                longest = int((stops - starts[some]).sum()) + len(some) * len(ending)
                longest += int((original.offsets[taken + 1] - original.offsets[taken]).sum())
                buffer = np.empty(longest, dtype=np.uint8)
                size = join_records(
                    octets,
                    *dialect.codes,
                    starts[some],
                    original.slots,
                    new,
                    original.offsets,
                    original.texts,
                    ending,
                    buffer,
                )
                out.write(held)
                held = buffer[:size].tobytes()
            tail = octets[outline.stop :].tobytes()
            out.write(held + tail if outline.closed else held[: -len(ending)])
            return out.digest()
    except UnicodeEncodeError:
        raise UsageError.of("csv-cannot-hold", detail=f"a masked value in the encoding {dialect.codec}") from None


def write_new(target: Path, release: Release, dialect: CsvDialect) -> None:
    """Write a table in a dialect.

    Raises
    ------
    UsageError
        The dialect cannot hold it; names the column.
    """
    if not release.variables:
        raise UsageError.of("no-column-left")
    names = pa.array([variable.column for variable in release.variables], type=pa.string())
    single = len(names) == 1
    try:
        with sink(target, dialect) as out:
            if dialect.has_names:
                quoted = _quoted(names, dialect, Place(), others=CANDIDATES)
                out.write((dialect.delimiter.join(quoted.to_pylist()) + dialect.ending).encode())
            for block in blocks_of(release.dataset):
                columns = [
                    _file_texts(
                        cells,
                        dialect,
                        v.column,
                        groups=bool(dialect.grouping),
                        single=single,
                        blank=True,
                    )
                    for v, cells in zip(release.variables, block, strict=True)
                ]
                ended = pa.scalar(dialect.ending)
                columns[-1] = pc.binary_join_element_wise(columns[-1], ended, "")
                joined = columns[0]
                if len(columns) > 1:
                    joined = pc.binary_join_element_wise(*columns, dialect.delimiter)
                out.write(_bytes_of(joined))
            out.digest()
    except UnicodeEncodeError:
        raise UsageError.of("csv-cannot-hold", detail=f"all values in the encoding {dialect.codec}") from None


def _blocks(
    rows: NDArray[np.intp], codes: Callable[[int], list[NDArray[np.int64]]], header: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int64]]]:
    if header:
        width = max(1, len(codes(len(rows))))
        yield np.zeros(1, dtype=np.intp), np.full((1, width), -1, dtype=np.int64)
    for at in range(0, len(rows), _ROWS):
        part = rows[at : at + _ROWS]
        columns = codes(at)
        changed = np.stack(columns, axis=1) if columns else np.full((len(part), 1), -1, dtype=np.int64)
        yield part + header, np.ascontiguousarray(changed)


def _replaced(release: Release, dialect: CsvDialect, groups: frozenset[str]) -> Replaced:
    released = {variable.name for variable in release.variables}
    slots = np.full(len(release.original.variables), -2, dtype=np.int64)
    codes: list[NDArray[np.int64]] = []
    texts: list[pa.Array] = []
    count = 0
    for position, variable in enumerate(release.original.variables):
        if variable.name not in released:
            continue
        slots[position] = -1
        changed = release.changed(variable.name)
        if not changed.any():
            continue
        slots[position] = len(codes)
        new = one_array(release.cells(variable.name).filter(pa.array(changed)))
        encoded = pc.dictionary_encode(new, null_encoding="encode")
        own = _file_texts(
            encoded.dictionary, dialect, variable.column, groups=variable.name in groups, single=len(released) == 1
        )
        which = np.full(len(changed), -1, dtype=np.int64)
        which[changed] = encoded.indices.to_numpy().astype(np.int64) + count
        codes.append(which)
        texts.append(own)
        count += len(own)
    return Replaced(slots, codes, texts)


def _file_texts(
    lexemes: pa.Array, dialect: CsvDialect, column: str, *, groups: bool, single: bool, blank: bool = False
) -> pa.Array:
    """Return lexemes as a file has them, quoted where they have to be; what has no value as the file says so.

    Raises
    ------
    UsageError
        Read again, one would be another lexeme, or the dialect has no way to write it.
    """
    dialect = dialect.of_column(column)
    own = from_lexemes(lexemes, dialect, groups=groups)
    back = to_lexemes(own, dialect)
    # a new file may have a text without a character as an empty cell: whoever converts is told so
    no_value = [text for text in ("", *dialect.null) if text or not blank]
    lost = pc.is_in(own, value_set=pa.array(no_value, type=pa.string()), skip_nulls=True)
    if not pc.all(pc.fill_null(pc.equal(back, lexemes), True)).as_py() or pc.any(lost).as_py():
        raise UsageError.of(
            "csv-cannot-hold",
            Place(field=Field(column)),
            detail="a value that would read as a missing value or as another number",
        )
    quoted = _quoted(own, dialect, Place(field=Field(column)))
    nothing = dialect.no_value
    if single and not nothing and dialect.quote:
        nothing = dialect.quote * 2
    return pc.fill_null(quoted, nothing)


def _quoted(texts: pa.Array, dialect: CsvDialect, place: Place, others: str = "") -> pa.Array:
    """Quote those of some texts in which something stands that separates, ends lines or quotes."""
    if pc.any(pc.match_substring_regex(texts, _CONTROLS)).as_py():
        raise UsageError.of("csv-cannot-hold", place, detail="a control character")
    special = {dialect.delimiter, "\r", "\n", *others}
    special |= {mark for mark in (dialect.quote, dialect.escape) if mark}
    found = pc.match_substring_regex(texts, f"[{re.escape(''.join(sorted(special)))}]")
    if not pc.any(found).as_py():
        return texts
    if not dialect.quote:
        raise UsageError.of(
            "csv-cannot-hold", place, detail="a delimiter or the end of a line within a value without quotes"
        )
    quote, escape = dialect.quote, dialect.escape
    inner = texts
    if escape:
        inner = pc.replace_substring(inner, escape, escape * 2)
    inner = pc.replace_substring(inner, quote, (escape or quote) + quote)
    mark = pa.scalar(quote)
    return pc.if_else(found, pc.binary_join_element_wise(mark, inner, mark, ""), texts)


def _joined(texts: list[pa.Array]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return some arrays of strings as one array of bytes with offsets."""
    if not texts:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    whole = pa.chunked_array([text.cast(pa.large_string()) for text in texts]).combine_chunks()
    _, places, octets = whole.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    return offsets, np.frombuffer(octets or b"", dtype=np.uint8)


def _bytes_of(texts: pa.Array) -> memoryview:
    """Return all texts, one behind the other."""
    whole = texts.cast(pa.large_string())
    _, places, octets = whole.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)
    return memoryview(octets or b"")[offsets[whole.offset] : offsets[whole.offset + len(whole)]]
