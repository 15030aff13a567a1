"""Records written anew from the bytes of the source: some values replaced, fields taken out and put in.

What comes out is what libxml2 writes of a record after these edits: tags without white space that means nothing,
attributes in double quotes, empty elements as one tag. A record in which anything would have to be understood (CDATA,
comments, character references, carriage returns in values) is left to whoever has a parser.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel

type Bytes = NDArray[np.uint8]
type Places = NDArray[np.int64]
type Held = NDArray[np.int64]
"""Two dimensions."""

KEPT = -1
"""Instead of a line of codes: the field stays as it is."""
REMOVED = -2
"""The field is taken out of every record."""

_TAB, _LF, _CR, _SPACE, _QUOTE, _AMP = 9, 10, 13, 32, 34, 38
_APOSTROPHE, _SLASH, _SEMICOLON, _LT, _EQUALS, _GT = 39, 47, 59, 60, 61, 62

_SLOT, _START, _STOP, _NEW, _TAIL, _TAIL_STOP = 0, 1, 2, 3, 4, 5
"""Rows of what is noted of a value: field, bytes, whether they are those of a new text, white space behind it."""
_GIVEN, _CHILDREN, _INNER, _INNER_STOP = 0, 1, 2, 3
"""What is noted of a record: how many attributes and fields it has, and the white space before the first field."""
_LONGEST = 6
"""Bytes that one byte of a value can become, as ``&quot;``."""


@kernel
def _is_space(byte: int) -> bool:
    return byte == _LF or byte == _SPACE or byte == _TAB or byte == _CR


@kernel
def _named(data: Bytes, at: int, names: Bytes, bounds: Places, first: int, stop: int, guess: int) -> int:
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
def _spaced(data: Bytes, start: int, stop: int, out: Bytes, at: int) -> int:
    """Write white space with the line ends that a parser makes of it."""
    for i in range(start, stop):
        if data[i] == _CR:
            if i + 1 < stop and data[i + 1] == _LF:
                continue
            out[at] = _LF
        else:
            out[at] = data[i]
        at += 1
    return at


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
    bounds: Places,
    attributes: int,
    lines: Places,
    given: Held,
    held: Held,
    where: Places,
    shape: Places,
) -> bool:
    """Find attributes, fields and white space of a record from behind its name on; False where it is not plain."""
    fields = len(lines)
    for slot in range(fields):
        where[slot] = -1
    found = 0
    closed = False
    last = -1
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
        if slot < 0 or where[slot] >= 0:
            return False
        last = slot
        i += bounds[slot + 1] - bounds[slot]
        quote = data[i + 1]
        if data[i] != _EQUALS or (quote != _QUOTE and quote != _APOSTROPHE):
            return False
        i += 2
        start = i
        while data[i] != quote:
            i += 1
        if lines[slot] == KEPT and not _stays(data, start, i, True):
            return False
        given[_SLOT, found], given[_START, found], given[_STOP, found], given[_NEW, found] = slot, start, i, 0
        where[slot] = found
        found += 1
        i += 1
    shape[_GIVEN] = found
    start = i
    while not closed and _is_space(data[i]):
        i += 1
    shape[_INNER], shape[_INNER_STOP] = start, i
    found = 0
    last = attributes - 1
    while not closed:
        if data[i] != _LT:
            return False
        if data[i + 1] == _SLASH:
            break
        slot = _named(data, i + 1, names, bounds, attributes, fields, last + 1)
        if slot < 0 or where[slot] >= 0:
            return False
        last = slot
        length = bounds[slot + 1] - bounds[slot]
        i += 1 + length
        while _is_space(data[i]):
            i += 1
        start = stop = i
        if data[i] == _GT:
            i += 1
            start = i
            while data[i] != _LT:
                i += 1
            stop = i
            if data[i + 1] != _SLASH or (lines[slot] == KEPT and not _stays(data, start, stop, False)):
                return False
            i += 2 + length
            while _is_space(data[i]):
                i += 1
        elif data[i] == _SLASH:
            i += 1
        if data[i] != _GT:
            return False
        i += 1
        held[_SLOT, found], held[_START, found], held[_STOP, found], held[_NEW, found] = slot, start, stop, 0
        held[_TAIL, found] = i
        while _is_space(data[i]):
            i += 1
        held[_TAIL_STOP, found] = i
        where[slot] = found
        found += 1
    shape[_CHILDREN] = found
    return True


@kernel
def _shifted(table: Held, where: Places, begin: int, count: int, by: int) -> None:
    """Move the entries from `begin` to `count` by one place."""
    for j in range(count - begin):
        source = count - 1 - j if by > 0 else begin + j
        for row in range(len(table)):
            table[row, source + by] = table[row, source]
        where[table[_SLOT, source + by]] = source + by


@kernel
def _put(table: Held, at: int, slot: int, start: int, stop: int) -> None:
    table[_SLOT, at], table[_START, at], table[_STOP, at], table[_NEW, at] = slot, start, stop, 1


@kernel
def _edited(
    row: int,
    bounds: Places,
    attributes: int,
    lines: Places,
    text_starts: Held,
    text_stops: Held,
    given: Held,
    held: Held,
    where: Places,
    shape: Places,
) -> bool:
    """Do to the values what is to be done, field by field; False where that takes what other records have."""
    children = shape[_CHILDREN]
    inner, inner_stop = shape[_INNER], shape[_INNER_STOP]
    closing = closing_stop = 0
    if children:
        closing, closing_stop = held[_TAIL, children - 1], held[_TAIL_STOP, children - 1]
    for slot in range(len(lines)):
        line = lines[slot]
        if line == KEPT:
            continue
        start, stop = (text_starts[line, row], text_stops[line, row]) if line >= 0 else (-1, -1)
        at = where[slot]
        is_attribute = slot < attributes
        if start < 0 and at < 0:
            continue
        if start >= 0 and at >= 0:
            _put(given if is_attribute else held, at, slot, start, stop)
        elif start >= 0:
            if bounds[slot + 1] == bounds[slot] or (not is_attribute and children == 0):
                return False
            if is_attribute:
                _put(given, shape[_GIVEN], slot, start, stop)
                shape[_GIVEN] += 1
                continue
            count = shape[_CHILDREN]
            at = 0
            while at < count and held[_SLOT, at] < slot:
                at += 1
            if at < count:
                _shifted(held, where, at, count, 1)
                held[_TAIL, at], held[_TAIL_STOP, at] = inner, inner_stop
            else:
                if at:
                    held[_TAIL, at - 1], held[_TAIL_STOP, at - 1] = inner, inner_stop
                else:
                    shape[_INNER], shape[_INNER_STOP] = inner, inner_stop
                held[_TAIL, at], held[_TAIL_STOP, at] = closing, closing_stop
            _put(held, at, slot, start, stop)
            shape[_CHILDREN] += 1
        elif is_attribute:
            _shifted(given, where, at + 1, shape[_GIVEN], -1)
            shape[_GIVEN] -= 1
        else:
            count = shape[_CHILDREN]
            if count == 1:
                shape[_INNER_STOP] = shape[_INNER]
            elif at == count - 1:
                held[_TAIL, at - 1], held[_TAIL_STOP, at - 1] = closing, closing_stop
            _shifted(held, where, at + 1, count, -1)
            shape[_CHILDREN] -= 1
    return True


@kernel
def _most(width: int, bounds: Places, given: Held, held: Held, shape: Places) -> int:
    """Bytes that a record can take at most."""
    size = 2 * width + 5 + shape[_INNER_STOP] - shape[_INNER]
    for at in range(shape[_GIVEN]):
        slot = given[_SLOT, at]
        length = given[_STOP, at] - given[_START, at]
        size += 4 + bounds[slot + 1] - bounds[slot] + (length if given[_NEW, at] else _LONGEST * length)
    for at in range(shape[_CHILDREN]):
        slot = held[_SLOT, at]
        length = held[_STOP, at] - held[_START, at]
        size += 5 + 2 * (bounds[slot + 1] - bounds[slot]) + (length if held[_NEW, at] else _LONGEST * length)
        size += held[_TAIL_STOP, at] - held[_TAIL, at]
    return int(size)


@kernel
def lay_out(
    octets: Bytes,
    spans: Held,
    codes: Places,
    out: Bytes,
    size: int,
    cell_starts: Places,
    cell_stops: Places,
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
    starts: Places,
    stops: Places,
    odd: NDArray[np.bool_],
    keep: NDArray[np.bool_],
    apart: NDArray[np.bool_],
    row: int,
    record: Bytes,
    names: Bytes,
    bounds: Places,
    attributes: int,
    lines: Places,
    texts: Bytes,
    text_starts: Held,
    text_stops: Held,
    out: Bytes,
    ends: Places,
    left: NDArray[np.bool_],
) -> tuple[int, int, int]:
    """Write records with new texts, from one row on, until the last or until there is no room.

    Parameters
    ----------
    data, starts, stops, odd : ndarray
        Of a batch: its bytes, and its records, shape (rows,). The white space before the first record is there.
    keep, apart : ndarray of bool, shape (rows,)
        Which records are written, and before which of them the white space that stands there is.
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
    texts : ndarray of uint8
        New texts, as they stand in the file.
    text_starts, text_stops : ndarray of int64, shape (replaced fields, rows)
        The new text of each cell. A start of -1 stands for none: the element or attribute is taken out.
    out : ndarray of uint8
        Written.
    ends : ndarray of int64, shape (rows,)
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
    given = np.zeros((6, fields + 1), dtype=np.int64)
    held = np.zeros((6, fields + 1), dtype=np.int64)
    where = np.zeros(fields + 1, dtype=np.int64)
    shape = np.zeros(4, dtype=np.int64)
    size = 0
    while row < rows:
        before = int(stops[row - 1]) if row else 0
        plain = keep[row] and not odd[row]
        if plain:
            plain = _tokenized(
                data, starts[row] + 1 + width, names, bounds, attributes, lines, given, held, where, shape
            ) and _edited(row, bounds, attributes, lines, text_starts, text_stops, given, held, where, shape)
        need = starts[row] - before
        if plain:
            need += _most(width, bounds, given, held, shape)
        if size + need > len(out):
            return row, size, need
        left[row] = keep[row] and not plain
        if apart[row]:
            until = before
            while _is_space(data[until]):
                until += 1
            size = _spaced(data, before, until, out, size)
        if plain:
            out[size] = _LT
            size = _copied(record, 0, width, out, size + 1)
            for at in range(shape[_GIVEN]):
                slot, start, stop = given[_SLOT, at], given[_START, at], given[_STOP, at]
                out[size] = _SPACE
                size = _copied(names, bounds[slot], bounds[slot + 1], out, size + 1)
                out[size], out[size + 1] = _EQUALS, _QUOTE
                if given[_NEW, at]:
                    size = _copied(texts, start, stop, out, size + 2)
                else:
                    size = _escaped(data, start, stop, out, size + 2, True)
                out[size] = _QUOTE
                size += 1
            if shape[_CHILDREN] == 0 and shape[_INNER] == shape[_INNER_STOP]:
                out[size], out[size + 1] = _SLASH, _GT
                size += 2
            else:
                out[size] = _GT
                size = _spaced(data, shape[_INNER], shape[_INNER_STOP], out, size + 1)
                for at in range(shape[_CHILDREN]):
                    slot, start, stop = held[_SLOT, at], held[_START, at], held[_STOP, at]
                    out[size] = _LT
                    size = _copied(names, bounds[slot], bounds[slot + 1], out, size + 1)
                    out[size] = _GT
                    begin = size + 1
                    if held[_NEW, at]:
                        stop = _copied(texts, start, stop, out, begin)
                    else:
                        stop = _escaped(data, start, stop, out, begin, False)
                    if stop == begin:
                        out[size], out[size + 1] = _SLASH, _GT
                        size += 2
                    else:
                        out[stop], out[stop + 1] = _LT, _SLASH
                        size = _copied(names, bounds[slot], bounds[slot + 1], out, stop + 2)
                        out[size] = _GT
                        size += 1
                    size = _spaced(data, held[_TAIL, at], held[_TAIL_STOP, at], out, size)
                out[size], out[size + 1] = _LT, _SLASH
                size = _copied(record, 0, width, out, size + 2)
                out[size] = _GT
                size += 1
        ends[row] = size
        row += 1
    return row, size, 0


@kernel
def gather(data: Bytes, starts: Places, stops: Places, order: Places, separator: Bytes, out: Bytes) -> int:
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
