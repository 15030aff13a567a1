"""Records and cells in bytes that delimiters separate (CSV): where they are, and putting them together again.

The bytes are UTF-8 without a byte order mark; delimiter, quote and escape are ASCII. Strict: what two readers of CSV
could take differently is an error here, with its place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled, kernel, part
from masktron.kernels.scanner import Bytes

type Places = NDArray[np.int64]

# Where `survey` puts what it finds
RECORDS, COLUMNS, LONGEST, BREAKS, ENDING, BODY, STOP, CLOSED, ERROR, AT, LINE, CELL, EMPTY = range(13)
FACTS = 13

# Line ends
LF, CRLF, CR = 1, 2, 3

# Why the survey stopped
SOUND = 0
RAGGED = 1
"""A record has another number of cells than the first one."""
OPEN = 2
"""A quote is never closed."""
INSIDE = 3
"""A quote stands in a cell that does not begin with one."""
AFTER = 4
"""Something stands between a closing quote and the delimiter."""
CONTROL = 5
"""A control character, of ASCII or from U+0080 to U+009F."""
MIXED = 6
"""A line ends otherwise than the first one."""
BLANK = 7
"""An empty line stands between records, or is the first one."""
ESCAPED = 8
"""The escape character stands before the end of a line, or of the file."""

_TAB, _LINE_FEED, _RETURN, _SPACE = 9, 10, 13, 32
_C1, _LAST_C1 = 0xC2, 0x9F
"""U+0080 to U+009F are this byte and one from 0x80 to the second."""


@kernel
def survey(
    data: Bytes, delimiter: int, quote: int, escape: int, facts: Places, starts: Places, lines: Places, last: bool
) -> None:
    """Find the records, and what is wrong with them.

    A file may come in blocks. What begins in a block and may go on in the next one is left to that: it has to begin
    at the byte ``facts[AT]`` of this one.

    Parameters
    ----------
    data : ndarray of uint8
        The whole file, or a block of it.
    delimiter, quote, escape : int
        Bytes; -1 for no quotes, or for no escape: then quotes in a quoted cell are doubled.
    facts : ndarray of int64, shape (FACTS,)
        Zeros for the first block, else what the block before has left. Written, for all blocks together but for
        places, which are those of this block. Number of records and of the cells in the first one; bytes of the
        longest record, its line end among them; line ends inside quotes; how lines end, 0 where no line ends; where
        the first and the last record end, their line ends among them; whether the last has one; `SOUND`, or what is
        wrong: the byte, the line and the cell, from 1, which is the last one of a record with too many or too few;
        the line of the first of the empty lines at the end, or 0.
    starts : ndarray of int64, shape (0,) or (records,)
        Written: where each record begins. Not written when empty.
    lines : ndarray of int64, shape (0,) or (records,)
        Written: the line of each, from 1. Not written when empty. Both are of this block alone.
    last : bool
        Whether nothing follows.
    """
    size = len(data)
    at, line, blank = 0, max(1, facts[LINE]), facts[EMPTY]
    records, columns, longest, breaks = facts[RECORDS], facts[COLUMNS], facts[LONGEST], facts[BREAKS]
    ending, body, stop, closed = facts[ENDING], facts[BODY], facts[STOP], facts[CLOSED]
    before, error, cell = records, SOUND, 0
    while at < size and error == SOUND:
        start, first, broken, emptied = at, line, breaks, blank
        empty = data[at] == _LINE_FEED or data[at] == _RETURN
        if empty and columns != 1:
            if records == 0:
                error = BLANK
                break
            if blank == 0:
                blank = line
        elif blank != 0:
            error, line = BLANK, blank
            break
        cell = 0
        while True:
            cell += 1
            if at < size and data[at] == quote:
                opened, opened_at = line, at
                at += 1
                while True:
                    if at >= size:
                        error, line, at = OPEN, opened, opened_at
                        break
                    byte = data[at]
                    if byte == quote:
                        if escape < 0 and at + 1 < size and data[at + 1] == quote:
                            at += 2
                            continue
                        at += 1
                        break
                    if byte == escape:
                        if at + 1 >= size or data[at + 1] == _LINE_FEED or data[at + 1] == _RETURN:
                            error = ESCAPED
                            break
                        at += 1
                        byte = data[at]
                    if byte < _SPACE and byte != _TAB:
                        if byte == _LINE_FEED:
                            line += 1
                            breaks += 1
                        elif byte == _RETURN:
                            if at + 1 >= size or data[at + 1] != _LINE_FEED:
                                line += 1
                                breaks += 1
                        else:
                            error = CONTROL
                            break
                    elif byte == _C1 and at + 1 < size and data[at + 1] <= _LAST_C1:
                        error = CONTROL
                        break
                    at += 1
                if error == SOUND and at < size:
                    byte = data[at]
                    if byte != delimiter and byte != _LINE_FEED and byte != _RETURN:
                        error = AFTER
            else:
                while at < size:
                    byte = data[at]
                    if byte == delimiter or byte == _LINE_FEED or byte == _RETURN:
                        break
                    if byte == quote:
                        error = INSIDE
                        break
                    if byte == escape:
                        if at + 1 >= size or data[at + 1] == _LINE_FEED or data[at + 1] == _RETURN:
                            error = ESCAPED
                            break
                        at += 1
                        byte = data[at]
                    if byte < _SPACE and byte != _TAB:
                        error = CONTROL
                        break
                    if byte == _C1 and at + 1 < size and data[at + 1] <= _LAST_C1:
                        error = CONTROL
                        break
                    at += 1
            if error != SOUND or at >= size or data[at] != delimiter:
                break
            at += 1
        if not last and (at >= size - 1 or error == OPEN):
            at, line, breaks, blank, error = start, first, broken, emptied, SOUND
            break
        if error != SOUND:
            break
        if blank == 0:
            if columns == 0:
                columns = cell
            elif cell != columns:
                error, line, at = RAGGED, first, start
                break
        if at < size:
            found = LF
            if data[at] == _RETURN:
                found = CRLF if at + 1 < size and data[at + 1] == _LINE_FEED else CR
            if ending == 0:
                ending = found
            elif found != ending:
                error = MIXED
                break
            at += 2 if found == CRLF else 1
            line += 1
            closed = 1
        else:
            closed = 0
        if blank == 0:
            if len(starts) > 0:
                starts[records - before] = start
            if len(lines) > 0:
                lines[records - before] = first
            records += 1
            longest = max(longest, at - start)
            stop = at
            if records == 1:
                body = at
    facts[RECORDS], facts[COLUMNS], facts[LONGEST], facts[BREAKS] = records, columns, longest, breaks
    facts[ENDING], facts[BODY], facts[STOP], facts[CLOSED] = ending, body, stop, closed
    facts[ERROR], facts[AT], facts[LINE], facts[CELL], facts[EMPTY] = error, at, line, cell, blank


@part
def _cell_end(data: Bytes, at: int, delimiter: int, quote: int, escape: int) -> int:
    """Return where a cell ends that begins at a place, in bytes that a survey found sound."""
    size = len(data)
    if at < size and data[at] == quote:
        at += 1
        while True:
            if data[at] == escape:
                at += 2
            elif data[at] != quote:
                at += 1
            elif escape < 0 and at + 1 < size and data[at + 1] == quote:
                at += 2
            else:
                return at + 1
    while at < size and data[at] != delimiter and data[at] != _LINE_FEED and data[at] != _RETURN:
        at += 2 if data[at] == escape else 1
    return at


@kernel
def unlike_cell(
    data: Bytes,
    delimiter: int,
    quote: int,
    escape: int,
    texts: Bytes,
    starts: Places,
    stops: Places,
    there: NDArray[np.bool_],
    null: Bytes,
    nulls: Places,
    cell: Bytes,
) -> int:
    """Cut records into cells, and compare each with what another reader says of it.

    Parameters
    ----------
    data : ndarray of uint8
        Whole records; sound: see `survey`.
    delimiter, quote, escape : int
    texts : ndarray of uint8
        What the other reader has: that of a column in a record is ``texts[starts[column, record]:stops[...]]``.
    starts, stops : ndarray of int64, shape (columns, records)
    there : ndarray of bool, shape (columns, records)
        Whether there is a value.
    null, nulls : ndarray
        Cells that mean that there is no value, beside the empty one: ``null[nulls[i]:nulls[i + 1]]``.
    cell : ndarray of uint8
        As long as the longest record, for the work.

    Returns
    -------
    int
        ``record * columns + column`` of the first cell that is not the same; the number of all cells where what
        follows them is not the end; -1 where all is the same.
    """
    columns, records = len(starts), starts.shape[1]
    size, at = len(data), 0
    for record in range(records):
        for column in range(columns):
            if at > size:
                return int(record * columns + column)
            length, quoted = 0, False
            if at < size and data[at] == quote:
                quoted = True
                at += 1
            while at < size:
                byte = data[at]
                if byte == escape:
                    at += 1
                    byte = data[at]
                elif quoted:
                    if byte == quote:
                        at += 1
                        if escape >= 0 or at >= size or data[at] != quote:
                            break
                elif byte == delimiter or byte == _LINE_FEED or byte == _RETURN:
                    break
                cell[length] = byte
                length += 1
                at += 1
            missing = length == 0
            for which in range(len(nulls) - 1):
                begin = nulls[which]
                if length == nulls[which + 1] - begin:
                    same = True
                    for place in range(length):
                        if null[begin + place] != cell[place]:
                            same = False
                            break
                    missing = missing or same
            if missing == there[column, record]:
                return int(record * columns + column)
            if not missing:
                begin = starts[column, record]
                if stops[column, record] - begin != length:
                    return int(record * columns + column)
                for place in range(length):
                    if texts[begin + place] != cell[place]:
                        return int(record * columns + column)
            if column < columns - 1:
                if at >= size or data[at] != delimiter:
                    return int(record * columns + column)
                at += 1
        if at < size and data[at] == _RETURN:
            at += 1
            if at < size and data[at] == _LINE_FEED:
                at += 1
        elif at < size and data[at] == _LINE_FEED:
            at += 1
        elif at < size or record < records - 1:
            return int(record * columns + columns - 1)
    return int(records * columns) if at < size else -1


@kernel
def join_records(
    data: Bytes,
    delimiter: int,
    quote: int,
    escape: int,
    starts: Places,
    slots: Places,
    codes: NDArray[np.int64],
    offsets: Places,
    texts: Bytes,
    ending: Bytes,
    out: Bytes,
) -> int:
    """Write records, in which cells keep their bytes or get others.

    Parameters
    ----------
    data : ndarray of uint8
        Sound; see `survey`.
    delimiter, quote, escape : int
    starts : ndarray of int64, shape (n,)
        Where the records begin that are written, in the order in which they are.
    slots : ndarray of int64, shape (columns,)
        What is done with each column: -2 to leave it out, -1 to keep it, else its column in `codes`.
    codes : ndarray of int64, shape (n, changed columns)
        Which text a cell gets; -1 to keep its bytes.
    offsets, texts : ndarray
        Text i is ``texts[offsets[i]:offsets[i + 1]]``.
    ending : ndarray of uint8
        Behind each record.
    out : ndarray of uint8
        Written; long enough.

    Returns
    -------
    int
        How many bytes are written.
    """
    to = 0
    for row in range(len(starts)):
        at, begun = starts[row], False
        for column in range(len(slots)):
            stop = _cell_end(data, at, delimiter, quote, escape)
            slot = slots[column]
            if slot > -2:
                if begun:
                    out[to] = delimiter
                    to += 1
                begun = True
                code = -1
                if slot >= 0:
                    code = codes[row, slot]
                if code < 0:
                    for place in range(at, stop):
                        out[to] = data[place]
                        to += 1
                else:
                    for place in range(offsets[code], offsets[code + 1]):
                        out[to] = texts[place]
                        to += 1
            at = stop + 1
        for byte in ending:
            out[to] = byte
            to += 1
    return to


ENTRIES = (survey, unlike_cell, join_records)
"""What is called from outside the kernels."""


def separated_ready() -> bool:
    """Tell whether nothing has to be compiled."""
    return all(is_compiled(one) for one in ENTRIES)


def compile_separated() -> None:
    """Compile what a CSV is read and written with: bytes of a file cannot be written to."""
    data, none = np.frombuffer(b"A\n", dtype=np.uint8), np.zeros(0, dtype=np.int64)
    survey(data, 44, 34, -1, np.zeros(FACTS, dtype=np.int64), none, none, True)
    cells = np.zeros((1, 0), dtype=np.int64)
    unlike_cell(data[:0], 44, 34, -1, data, cells, cells, cells != 0, data, none, np.empty(1, dtype=np.uint8))
    codes = np.zeros((0, 1), dtype=np.int64)
    out = np.empty(1, dtype=np.uint8)
    join_records(data, 44, 34, -1, none, none, codes, none, out, data, out)
