"""A tokenizer for flat records: bytes in, offsets of records and fields out.

It understands records whose tags are in a table, with single fields of text. The bytes are taken for well-formed
XML in UTF-8 or in an encoding of one byte per character that agrees with ASCII; whatever it does not understand it
reports, or calls odd. It never reads a meaning into bytes that a parser could read in another way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel

type Bytes = NDArray[np.uint8]

PADDING = 64
"""Zero bytes that must stand behind the data, in addition to the length of the longest name."""

# Why the scan stopped
MORE = 0
"""The data end inside a record, or between records."""
FULL = 1
"""No row is left for the next record."""
END = 2
"""An end tag stands where a record could begin."""
ALIEN = 3
"""Something else than records, white space, comments and processing instructions, or no well-formed XML."""
UNKNOWN = 4
"""The last record has an element or an attribute that is not in the table."""

# Whether a record has to be looked at by a parser
LOOK_RECORD = 1
"""The record is not made of the table's fields with text alone."""
LOOK_BEFORE = 2
"""Comments or processing instructions stand before it."""

# Cell status, as `masktron.sources.columns.Cell`
CELL_ABSENT, CELL_EMPTY, CELL_TEXT, CELL_ODD = 0, 1, 2, 3

# Classes of bytes, by bit
STOP, BAD, AMPERSAND, RETURN, NEWLINE, TAB, BRACKET = 1, 2, 4, 8, 16, 32, 64

_TAB_BYTE, _LF, _CR, _SPACE = 9, 10, 13, 32
_LT, _GT, _SLASH, _BANG, _QUERY, _EQUALS, _DASH, _QUOTE, _APOSTROPHE = 60, 62, 47, 33, 63, 61, 45, 34, 39
_OPEN, _CLOSE, _AMP, _SEMICOLON = 91, 93, 38, 59


def byte_classes() -> Bytes:
    """Return what each byte can mean inside a value, for `scan_records`."""
    classes = np.zeros(256, dtype=np.uint8)
    classes[:_SPACE] = BAD
    classes[_TAB_BYTE], classes[_LF], classes[_CR] = TAB, NEWLINE, RETURN
    classes[0] = STOP
    classes[_LT] = STOP
    classes[_AMP] = AMPERSAND
    classes[_CLOSE] = BRACKET
    return classes


@kernel
def is_space(byte: int) -> bool:
    """Tell whether a byte is white space of XML."""
    return byte == _LF or byte == _SPACE or byte == _TAB_BYTE or byte == _CR


@kernel
def line_breaks(data: Bytes, start: int, stop: int) -> int:
    """Count the line ends in a span that does not cut a pair of carriage return and newline."""
    count = 0
    for i in range(start, stop):
        if data[i] == _LF:
            count += 1
        elif data[i] == _CR and not (i + 1 < stop and data[i + 1] == _LF):
            count += 1
    return count


@kernel
def find_three(data: Bytes, size: int, at: int, first: int, second: int, third: int) -> int:
    """Position behind the next occurrence of three bytes; -1 if there is none."""
    for i in range(at, size - 2):
        if data[i] == first and data[i + 1] == second and data[i + 2] == third:
            return i + 3
    return -1


@kernel
def find_two(data: Bytes, size: int, at: int, first: int, second: int) -> int:
    """Position behind the next occurrence of two bytes; -1 if there is none."""
    for i in range(at, size - 1):
        if data[i] == first and data[i + 1] == second:
            return i + 2
    return -1


@kernel
def skip_markup(data: Bytes, size: int, at: int) -> int:
    """Position behind a comment, a CDATA section or a processing instruction at ``<!`` or ``<?``.

    -1 if the data end inside it, -2 if it is none of these.
    """
    if data[at + 1] == _QUERY:
        return find_two(data, size, at + 2, _QUERY, _GT)
    if at + 9 > size:
        return -1
    if data[at + 2] == _DASH and data[at + 3] == _DASH:
        return find_three(data, size, at + 4, _DASH, _DASH, _GT)
    if data[at + 2] == _OPEN:
        return find_three(data, size, at + 9, _CLOSE, _CLOSE, _GT)
    return -2


@kernel
def skip_element(data: Bytes, size: int, at: int) -> int:
    """Position behind the end tag of the element that begins at a ``<``.

    -1 if the data end before it, -2 if this is no XML.
    """
    depth = 0
    i = at
    while True:
        while i < size and data[i] != _LT:
            i += 1
        if i + 1 >= size:
            return -1
        byte = data[i + 1]
        if byte == _BANG or byte == _QUERY:
            i = skip_markup(data, size, i)
            if i < 0:
                return i
            continue
        quote = np.uint8(0)
        j = i + 1
        while j < size and (quote != 0 or data[j] != _GT):
            if quote != 0:
                if data[j] == quote:
                    quote = np.uint8(0)
            elif data[j] == _QUOTE or data[j] == _APOSTROPHE:
                quote = data[j]
            j += 1
        if j >= size:
            return -1
        if byte == _SLASH:
            depth -= 1
        elif data[j - 1] != _SLASH:
            depth += 1
        i = j + 1
        if depth <= 0:
            return i


@kernel
def declares_namespace(data: Bytes, start: int, stop: int) -> bool:
    """Tell whether ``xmlns`` occurs; a value that holds the word counts, too."""
    for i in range(start, stop - 4):
        if data[i] == 120 and data[i + 1] == 109 and data[i + 2] == 108 and data[i + 3] == 110 and data[i + 4] == 115:
            return True
    return False


@kernel
def only_predefined(data: Bytes, start: int, stop: int) -> bool:
    """Tell whether each ``&`` begins one of the five references that XML defines itself."""
    i = start
    while i < stop:
        if data[i] == _AMP:
            a, b, c, d = data[i + 1], data[i + 2], data[i + 3], data[i + 4]
            if (a == 108 or a == 103) and b == 116 and c == _SEMICOLON:  # lt gt
                i += 4
            elif a == 97 and b == 109 and c == 112 and d == _SEMICOLON:  # amp
                i += 5
            elif a == 97 and b == 112 and c == 111 and d == 115 and data[i + 5] == _SEMICOLON:  # apos
                i += 6
            elif a == 113 and b == 117 and c == 111 and d == 116 and data[i + 5] == _SEMICOLON:  # quot
                i += 6
            else:
                return False
        else:
            i += 1
    return True


@kernel
def name_stop_behind(data: Bytes, at: int) -> int:
    """Position behind a name; the zeros behind the data end it as well."""
    i = at
    while (
        not is_space(data[i])
        and data[i] != _GT
        and data[i] != _SLASH
        and data[i] != _EQUALS
        and data[i] != _LT
        and data[i] != 0
    ):
        i += 1
    return i


@kernel
def _lookup(data: Bytes, at: int, names: Bytes, bounds: NDArray[np.int64], guess: int) -> int:
    """Find the name that begins here in a table, trying from a guess on; -1 if it is not there."""
    count = len(bounds) - 1
    k = guess
    for _ in range(count):
        if k >= count:
            k = 0
        start = bounds[k]
        length = bounds[k + 1] - start
        same = True
        for j in range(length):
            if data[at + j] != names[start + j]:
                same = False
                break
        if same:
            byte = data[at + length]
            if byte == _GT or byte == _SLASH or byte == _EQUALS or is_space(byte):
                return k
        k += 1
    return -1


@kernel
def scan_records(
    data: Bytes,
    size: int,
    at: int,
    line: int,
    record: Bytes,
    elements: Bytes,
    element_bounds: NDArray[np.int64],
    element_slots: NDArray[np.int64],
    attributes: Bytes,
    attribute_bounds: NDArray[np.int64],
    attribute_slots: NDArray[np.int64],
    learn: bool,
    classes: Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    lines: NDArray[np.int64],
    odd: NDArray[np.bool_],
    look: Bytes,
    cell_starts: NDArray[np.int64],
    cell_stops: NDArray[np.int64],
    status: Bytes,
) -> tuple[int, int, int, int, int, int, bool]:
    """Tokenize records, one after the other.

    Parameters
    ----------
    data : ndarray of uint8, shape (at least size + PADDING + longest name,)
        Zero from `size` on.
    size : int
    at, line : int
        Where to begin, between two records, and the source line (from 1) of that place.
    record : ndarray of uint8
        Name of the record element as written, with its prefix.
    elements, element_bounds, element_slots : ndarray
        Names of the fields as written, one after the other; where each begins, and at last their total length; the
        column of each, -1 for a name that makes the record odd. Of `attributes` the same.
    learn : bool
        Stop behind a record that has a name which is in no table.
    classes : ndarray of uint8, shape (256,)
        From `byte_classes`.
    starts, stops, lines, odd, look : ndarray, shape (rows,)
        Written: each record's first byte, the byte behind its last, its line, whether it is not plain as a whole,
        and the LOOK bits: what a parser must see to confirm that the file is flat and well-formed.
    cell_starts, cell_stops, status : ndarray, shape (columns, rows)
        Written: each value's bytes and kind. An absent cell has whatever offsets were there.

    Returns
    -------
    rows, at, line : int
        Records found, and where to go on, behind the last of them.
    reason : int
        MORE, FULL, END, ALIEN or UNKNOWN.
    name_start, name_stop, is_attribute : int, int, bool
        The unknown name.
    """
    rows = len(starts)
    columns = len(status)
    row = 0
    i = at
    here, here_line = at, line
    width = len(record)
    last_element, last_attribute = -1, -1
    reason = MORE
    while True:
        remark = False
        while True:  # what stands between records
            while True:
                byte = data[i]
                if byte == _LF:
                    line += 1
                elif byte == _CR:
                    line += 0 if data[i + 1] == _LF else 1
                elif byte != _SPACE and byte != _TAB_BYTE:
                    break
                i += 1
            if i + 1 >= size or data[i] != _LT or (data[i + 1] != _BANG and data[i + 1] != _QUERY):
                break
            after = skip_markup(data, size, i)
            if data[i + 1] == _BANG and i + 2 < size and data[i + 2] != _DASH:
                after = -2
            if after < 0:
                i = size if after == -1 else i
                break
            line += line_breaks(data, i, after)
            remark = True
            i = after
        if i + 1 >= size:
            reason = MORE
            break
        if data[i] != _LT:
            reason = ALIEN
            break
        if data[i + 1] == _SLASH:
            reason = END
            break
        if row == rows:
            reason = FULL
            break
        same = True
        for j in range(width):
            if data[i + 1 + j] != record[j]:
                same = False
                break
        start, start_line = i, line
        i += 1 + width
        if i >= size:
            reason = MORE
            break
        if not same or not (data[i] == _GT or data[i] == _SLASH or is_space(data[i])):
            reason = ALIEN
            break
        for j in range(columns):
            status[j, row] = CELL_ABSENT
        plain = True  # until the record turns out to be odd as a whole
        seen = False  # whether a parser must see it all the same
        closed = False
        unknown = False
        is_attribute = False
        name_start = name_stop = 0
        while plain:  # attributes
            while is_space(data[i]):
                if data[i] == _LF or (data[i] == _CR and data[i + 1] != _LF):
                    line += 1
                i += 1
            byte = data[i]
            if byte == _GT:
                i += 1
                break
            if byte == _SLASH:
                closed = data[i + 1] == _GT
                plain = closed
                i += 2
                break
            k = _lookup(data, i, attributes, attribute_bounds, last_attribute + 1)
            stop = name_stop_behind(data, i)
            if k < 0 or attribute_slots[k] < 0 or not is_space(data[i - 1]):
                plain = False
                if k < 0 and not (stop - i >= 5 and declares_namespace(data, i, i + 5)):
                    unknown, is_attribute = True, True
                    name_start, name_stop = i, stop
                break
            last_attribute = k
            i = stop
            if data[i] == _EQUALS and (data[i + 1] == _QUOTE or data[i + 1] == _APOSTROPHE):
                quote = data[i + 1]
                i += 2
            else:
                plain = False
                break
            value = i
            kind = np.uint8(0)
            while data[i] != quote and i < size:
                kind |= classes[data[i]]
                i += 1
            slot = attribute_slots[k]
            if kind & (STOP | BAD) or status[slot, row] != CELL_ABSENT:
                plain = False
                break
            cell_starts[slot, row] = value
            cell_stops[slot, row] = i
            if kind & (AMPERSAND | TAB | NEWLINE | RETURN):
                status[slot, row] = CELL_ODD
                line += line_breaks(data, value, i)
                if kind & AMPERSAND and not only_predefined(data, value, i):
                    seen = True
            else:
                status[slot, row] = CELL_TEXT if i > value else CELL_EMPTY
            i += 1
        while plain and not closed:  # fields
            while is_space(data[i]):
                if data[i] == _LF or (data[i] == _CR and data[i + 1] != _LF):
                    line += 1
                i += 1
            if data[i] != _LT:
                plain = False
                break
            if data[i + 1] == _SLASH:
                for j in range(width):
                    if data[i + 2 + j] != record[j]:
                        plain = False
                        break
                i += 2 + width
                while is_space(data[i]):
                    if data[i] == _LF or (data[i] == _CR and data[i + 1] != _LF):
                        line += 1
                    i += 1
                plain = plain and data[i] == _GT
                i += 1
                break
            tag = i
            k = _lookup(data, i + 1, elements, element_bounds, last_element + 1)
            if k < 0 or element_slots[k] < 0:
                plain = False
                byte = data[i + 1]
                if k < 0 and byte != _BANG and byte != _QUERY:
                    unknown, is_attribute = True, False
                    name_start, name_stop = i + 1, name_stop_behind(data, i + 1)
                break
            last_element = k
            slot = element_slots[k]
            name = element_bounds[k]
            length = element_bounds[k + 1] - name
            i += 1 + length
            while is_space(data[i]):
                if data[i] == _LF or (data[i] == _CR and data[i + 1] != _LF):
                    line += 1
                i += 1
            intact = True
            value = stop = i
            kind = np.uint8(0)
            if data[i] == _GT:
                i += 1
                value = i
                byte = classes[data[i]]
                while byte & STOP == 0:
                    kind |= byte
                    i += 1
                    byte = classes[data[i]]
                stop = i
                intact = data[i + 1] == _SLASH
                i += 2
                for j in range(length):
                    if data[i + j] != elements[name + j]:
                        intact = False
                        break
                if intact:
                    i += length
                    while data[i] != _GT and is_space(data[i]):
                        if data[i] == _LF or (data[i] == _CR and data[i + 1] != _LF):
                            line += 1
                        i += 1
                    intact = data[i] == _GT
                    i += 1
            elif data[i] == _SLASH and data[i + 1] == _GT:
                value = stop = i
                i += 2
            else:
                intact = False
            if not intact:
                i = skip_element(data, size, tag)
                if i < 0 or declares_namespace(data, tag, i):
                    plain = False
                    break
                line = start_line + line_breaks(data, start, i)
                status[slot, row] = CELL_ODD
                cell_starts[slot, row], cell_stops[slot, row] = tag, tag
                seen = True
                continue
            if status[slot, row] != CELL_ABSENT:
                status[slot, row] = CELL_ODD
                seen = True
            else:
                status[slot, row] = CELL_TEXT if stop > value else CELL_EMPTY
            cell_starts[slot, row] = value
            cell_stops[slot, row] = stop
            if kind & (AMPERSAND | RETURN | NEWLINE | BRACKET | BAD):
                if kind & (NEWLINE | RETURN):
                    line += line_breaks(data, value, stop)
                if kind & (AMPERSAND | RETURN | BAD):
                    status[slot, row] = CELL_ODD
                if (
                    kind & BAD
                    or (kind & BRACKET and find_three(data, stop, value, _CLOSE, _CLOSE, _GT) >= 0)
                    or (kind & AMPERSAND and not only_predefined(data, value, stop))
                ):
                    seen = True
        if i > size or not plain:
            i = skip_element(data, size, start)
            if i < 0:
                reason = MORE if i == -1 else ALIEN
                break
            line = start_line + line_breaks(data, start, i)
            plain = False
            for j in range(columns):
                status[j, row] = CELL_ODD
                cell_starts[j, row], cell_stops[j, row] = start, start
        starts[row], stops[row], lines[row] = start, i, start_line
        odd[row] = not plain
        look[row] = (LOOK_RECORD if seen or not plain else 0) | (LOOK_BEFORE if remark else 0)
        row += 1
        here, here_line = i, line
        if unknown and learn:
            return row, here, here_line, UNKNOWN, name_start, name_stop, is_attribute
    return row, here, here_line, reason, 0, 0, False


def table_of(names: list[bytes]) -> tuple[Any, Any]:
    """Lay names out for `scan_records`: their bytes, and where each begins."""
    bounds = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum([len(name) for name in names], out=bounds[1:])
    return np.frombuffer(b"".join(names), dtype=np.uint8).copy(), bounds
