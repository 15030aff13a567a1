"""Records written anew from the bytes of the source: some values replaced, fields taken out and put in.

What comes out is what libxml2 writes of a record after these edits: tags without white space that means nothing,
attributes in double quotes, empty elements as one tag; one white space for all records. A record in which
anything would have to be understood (CDATA, comments, character references, carriage returns in values) is left to
whoever has a parser.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel
from masktron.kernels.scanner import Bytes

type _Places = NDArray[np.int64]
type _PlacesByRow = NDArray[np.int64]

KEPT = -1
"""Instead of a line of codes: the field stays as it is."""
REMOVED = -2
"""The field is taken out of every record."""

_TAB, _LF, _CR, _SPACE, _QUOTE, _AMP = 9, 10, 13, 32, 34, 38
_APOSTROPHE, _SLASH, _SEMICOLON, _LT, _EQUALS, _GT = 39, 47, 59, 60, 61, 62

_LONGEST = 6
"""Bytes that one byte of a value can become, as ``&quot;``."""


@kernel
def _is_space(byte: int) -> bool:
    return byte == _LF or byte == _SPACE or byte == _TAB or byte == _CR


@kernel
def _named(data: Bytes, at: int, names: Bytes, bounds: _Places, first: int, stop: int, guess: int) -> int:
    """Return the field, of those from `first` to `stop`, whose name begins here; -1 if none does."""
    k = guess
    for _ in range(stop - first):
        if k >= stop:
            k = first
        begin = bounds[k]
        length = bounds[k + 1] - begin
        same = length > 0
        for j in range(length):
            if data[at + j] != names[begin + j]:
                same = False
                break
        if same:
            byte = data[at + length]
            if byte == _GT or byte == _SLASH or byte == _EQUALS or _is_space(byte):
                return k
        k += 1
    return -1


@kernel
def _stays(data: Bytes, start: int, stop: int, attribute: bool) -> bool:
    """Tell whether libxml2 writes the references of a value as they are, and reads no other character in it."""
    i = start
    while i < stop:
        byte = data[i]
        if byte == _AMP:
            a, b = data[i + 1], data[i + 2]
            if (a == 108 or a == 103) and b == 116 and data[i + 3] == _SEMICOLON:  # lt gt
                i += 3
            elif a == 97 and b == 109 and data[i + 3] == 112 and data[i + 4] == _SEMICOLON:  # amp
                i += 4
            else:
                return False
        elif byte == _CR or (attribute and (byte == _LF or byte == _TAB)):
            return False
        i += 1
    return True


@kernel
def _copied(source: Bytes, start: int, stop: int, out: Bytes, at: int) -> int:
    for i in range(stop - start):
        out[at + i] = source[start + i]
    return at + stop - start


@kernel
def _escaped(data: Bytes, start: int, stop: int, out: Bytes, at: int, attribute: bool) -> int:
    """Write a value of the source, with references for what libxml2 writes as such."""
    for i in range(start, stop):
        byte = data[i]
        if byte == _GT:
            out[at], out[at + 1], out[at + 2], out[at + 3] = _AMP, 103, 116, _SEMICOLON
            at += 4
        elif attribute and byte == _QUOTE:
            out[at], out[at + 1], out[at + 2], out[at + 3], out[at + 4] = _AMP, 113, 117, 111, 116
            out[at + 5] = _SEMICOLON
            at += 6
        else:
            out[at] = byte
            at += 1
    return at


@kernel
def _tokenized(
    data: Bytes,
    i: int,
    names: Bytes,
    bounds: _Places,
    attributes: int,
    lines: _Places,
    begins: _Places,
    ends: _Places,
    order: _Places,
) -> int:
    """Find the values of a record from behind its name on, and the order of its fields.

    A begin of -1 is no value. Returns the number of fields that are elements; -1 where the record is not plain.
    """
    fields = len(lines)
    for slot in range(fields):
        begins[slot] = -1
    closed = False
    last = -1
    count = 0
    while True:
        while _is_space(data[i]):
            i += 1
        if data[i] == _GT:
            i += 1
            break
        if data[i] == _SLASH:
            closed = True
            break
        slot = _named(data, i, names, bounds, 0, attributes, last + 1)
        if slot < 0 or begins[slot] >= 0:
            return -1
        last = slot
        i += bounds[slot + 1] - bounds[slot]
        quote = data[i + 1]
        if data[i] != _EQUALS or (quote != _QUOTE and quote != _APOSTROPHE):
            return -1
        i += 2
        begins[slot] = i
        while data[i] != quote:
            i += 1
        ends[slot] = i
        if lines[slot] == KEPT and not _stays(data, begins[slot], i, True):
            return -1
        i += 1
    last = attributes - 1
    while not closed:
        while _is_space(data[i]):
            i += 1
        if data[i] != _LT:
            return -1
        if data[i + 1] == _SLASH:
            break
        slot = _named(data, i + 1, names, bounds, attributes, fields, last + 1)
        if slot < 0 or begins[slot] >= 0:
            return -1
        last = slot
        order[count] = slot
        count += 1
        length = bounds[slot + 1] - bounds[slot]
        i += 1 + length
        while _is_space(data[i]):
            i += 1
        begins[slot] = ends[slot] = i
        if data[i] == _GT:
            i += 1
            begins[slot] = i
            while data[i] != _LT:
                i += 1
            ends[slot] = i
            if data[i + 1] != _SLASH or (lines[slot] == KEPT and not _stays(data, begins[slot], i, False)):
                return -1
            i += 2 + length
            while _is_space(data[i]):
                i += 1
        elif data[i] == _SLASH:
            i += 1
        if data[i] != _GT:
            return -1
        i += 1
    return count


@kernel
def _edited(
    row: int,
    bounds: _Places,
    attributes: int,
    lines: _Places,
    text_starts: _PlacesByRow,
    text_stops: _PlacesByRow,
    begins: _Places,
    ends: _Places,
    order: _Places,
    count: int,
) -> int:
    """Put new texts in the places of values; a new field stands before the first of the record that comes later.

    Returns the number of fields in the order; -1 where the name of a new field is not known.
    """
    for slot in range(len(lines)):
        line = lines[slot]
        if line == REMOVED:
            begins[slot] = -1
        if line < 0:
            continue
        is_new = begins[slot] < 0
        begins[slot], ends[slot] = text_starts[line, row], text_stops[line, row]
        if begins[slot] < 0:
            continue
        if bounds[slot + 1] == bounds[slot]:
            return -1
        if is_new and slot >= attributes:
            at = 0
            while at < count and order[at] < slot:
                at += 1
            for j in range(count, at, -1):
                order[j] = order[j - 1]
            order[at] = slot
            count += 1
    return count


@kernel
def _most(width: int, space: int, bounds: _Places, lines: _Places, begins: _Places, ends: _Places) -> int:
    """Bytes that a record can take at most, with so much white space at a field."""
    size = 2 * width + 5 + space
    for slot in range(len(lines)):
        if begins[slot] >= 0:
            length = ends[slot] - begins[slot]
            size += 5 + 2 * (bounds[slot + 1] - bounds[slot]) + space
            size += length if lines[slot] >= 0 else _LONGEST * length
    return int(size)


@kernel
def lay_out(
    octets: Bytes,
    spans: _PlacesByRow,
    codes: _Places,
    out: Bytes,
    size: int,
    cell_starts: _Places,
    cell_stops: _Places,
) -> int:
    """Put the texts of some cells one after the other, as far as there is room.

    The texts of a field are few enough for the cache, those of all fields are not; and records go through all fields.

    Parameters
    ----------
    octets : ndarray of uint8
        Texts, as they stand in the file.
    spans : ndarray of int64, shape (texts, 2)
        Where each begins and ends; both -1 for none.
    codes : ndarray of int64, shape (rows,)
        The text of each cell.
    out : ndarray of uint8
        Written from `size` on.
    size : int
    cell_starts, cell_stops : ndarray of int64, shape (rows,)
        Written: where the text of each cell stands in `out`; a start of -1 for none.

    Returns
    -------
    int
        Bytes in `out`; if they are more than there is room for, none of these was written.
    """
    begin = size
    for row in range(len(codes)):
        start, stop = spans[codes[row], 0], spans[codes[row], 1]
        size += stop - start
        cell_starts[row], cell_stops[row] = start, size
    if size > len(out):
        return size
    for row in range(len(codes)):
        start, stop = cell_starts[row], cell_stops[row]
        if start >= 0:
            for i in range(stop - begin):
                out[begin + i] = octets[start + i]
            cell_starts[row] = begin
        begin = stop
    return size


@kernel
def assemble(
    data: Bytes,
    starts: _Places,
    stops: _Places,
    odd: NDArray[np.bool_],
    keep: NDArray[np.bool_],
    apart: NDArray[np.bool_],
    row: int,
    record: Bytes,
    names: Bytes,
    bounds: _Places,
    attributes: int,
    lines: _Places,
    inner: Bytes,
    closing: Bytes,
    between: Bytes,
    texts: Bytes,
    text_starts: _PlacesByRow,
    text_stops: _PlacesByRow,
    out: Bytes,
    written: _Places,
    left: NDArray[np.bool_],
) -> tuple[int, int, int]:
    """Write records with new texts, from one row on, until the last or until there is no room.

    The fields of each record come in its own order, attributes in one for all, with one white space.

    Parameters
    ----------
    data, starts, stops, odd : ndarray
        Of a batch: its bytes, and its records, shape (rows,).
    keep, apart : ndarray of bool, shape (rows,)
        Which records are written, and which of them have white space before them.
    row : int
        Where to begin.
    record : ndarray of uint8
        Name of the record element as written.
    names, bounds : ndarray, shape (bytes,) and (fields + 1,)
        Names of the fields as written, one after the other, the attributes first; nothing for one that is not known.
    attributes : int
        How many fields are attributes.
    lines : ndarray of int64, shape (fields,)
        Row of `text_starts` for each field; KEPT or REMOVED.
    inner, closing, between : ndarray of uint8
        White space before a field, behind the last one, and between records.
    texts : ndarray of uint8
        New texts, as they stand in the file.
    text_starts, text_stops : ndarray of int64, shape (replaced fields, rows)
        The new text of each cell. A start of -1 stands for none: the element or attribute is taken out.
    out : ndarray of uint8
        Written.
    written : ndarray of int64, shape (rows,)
        Written: where each record ends in `out`.
    left : ndarray of bool, shape (rows,)
        Written: records that are to be written and are not, as only a parser understands them; their place is at
        their end.

    Returns
    -------
    row, size : int
        The first row that was not looked at, and the bytes in `out`.
    need : int
        Bytes that it takes at most; 0 behind the last.
    """
    rows, width, fields = len(starts), len(record), len(lines)
    begins = np.zeros(fields + 1, dtype=np.int64)
    ends = np.zeros(fields + 1, dtype=np.int64)
    order = np.zeros(fields + 1, dtype=np.int64)
    count = 0
    space = len(inner) + len(closing)
    size = 0
    while row < rows:
        plain = keep[row] and not odd[row]
        if plain:
            at = starts[row] + 1 + width
            count = _tokenized(data, at, names, bounds, attributes, lines, begins, ends, order)
            if count >= 0:
                count = _edited(row, bounds, attributes, lines, text_starts, text_stops, begins, ends, order, count)
            plain = count >= 0
        need = len(between)
        if plain:
            need += _most(width, space, bounds, lines, begins, ends)
        if size + need > len(out):
            return row, size, need
        left[row] = keep[row] and not plain
        if apart[row]:
            size = _copied(between, 0, len(between), out, size)
        if plain:
            out[size] = _LT
            size = _copied(record, 0, width, out, size + 1)
            for slot in range(attributes):
                if begins[slot] < 0:
                    continue
                out[size] = _SPACE
                size = _copied(names, bounds[slot], bounds[slot + 1], out, size + 1)
                out[size], out[size + 1] = _EQUALS, _QUOTE
                if lines[slot] >= 0:
                    size = _copied(texts, begins[slot], ends[slot], out, size + 2)
                else:
                    size = _escaped(data, begins[slot], ends[slot], out, size + 2, True)
                out[size] = _QUOTE
                size += 1
            filled = False
            for j in range(count):
                slot = order[j]
                if begins[slot] < 0:
                    continue
                if not filled:
                    out[size] = _GT
                    size += 1
                    filled = True
                size = _copied(inner, 0, len(inner), out, size)
                out[size] = _LT
                size = _copied(names, bounds[slot], bounds[slot + 1], out, size + 1)
                out[size] = _GT
                begin = size + 1
                if lines[slot] >= 0:
                    stop = _copied(texts, begins[slot], ends[slot], out, begin)
                else:
                    stop = _escaped(data, begins[slot], ends[slot], out, begin, False)
                if stop == begin:
                    out[size], out[size + 1] = _SLASH, _GT
                    size += 2
                else:
                    out[stop], out[stop + 1] = _LT, _SLASH
                    size = _copied(names, bounds[slot], bounds[slot + 1], out, stop + 2)
                    out[size] = _GT
                    size += 1
            if filled:
                size = _copied(closing, 0, len(closing), out, size)
                out[size], out[size + 1] = _LT, _SLASH
                size = _copied(record, 0, width, out, size + 2)
                out[size] = _GT
                size += 1
            else:
                out[size], out[size + 1] = _SLASH, _GT
                size += 2
        written[row] = size
        row += 1
    return row, size, 0


@kernel
def gather(data: Bytes, starts: _Places, stops: _Places, order: _Places, separator: Bytes, out: Bytes) -> int:
    """Write pieces in another order, each with the separator behind it.

    Parameters
    ----------
    data, starts, stops : ndarray
        The pieces, shape (n,).
    order : ndarray of int64, shape (m,)
        Positions of pieces.
    separator : ndarray of uint8
    out : ndarray of uint8
        Written; large enough.

    Returns
    -------
    int
        Bytes in `out`.
    """
    size = 0
    for at in order:
        size = _copied(data, starts[at], stops[at], out, size)
        size = _copied(separator, 0, len(separator), out, size)
    return size
