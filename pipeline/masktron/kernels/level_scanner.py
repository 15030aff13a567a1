"""A tokenizer for nested records: bytes in, offsets of units, of the records within them and of their fields out.

It reads what `masktron.kernels.scanner` reads, and records within records: the names of each level are in a table of
their own. A unit with anything that the tables do not know, or that only a parser should read, is odd as a whole, and
none of the records within it is told. The bytes are taken for well-formed XML, so an end tag between the fields of a
record is its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel
from masktron.kernels.scanner import (
    ALIEN,
    AMPERSAND,
    BAD,
    BRACKET,
    CELL_ABSENT,
    CELL_EMPTY,
    CELL_ODD,
    CELL_TEXT,
    END,
    FULL,
    LOOK_BEFORE,
    LOOK_RECORD,
    MORE,
    NEWLINE,
    RETURN,
    STOP,
    TAB,
    UNKNOWN,
    Bytes,
    declares_namespace,
    find_three,
    is_space,
    line_breaks,
    name_stop_behind,
    only_predefined,
    skip_element,
    skip_markup,
)

UNREADABLE = -1
"""Instead of a column: a name that makes its unit odd."""
INNER = -2
"""Less the number of a level, instead of a column: the name of the records of that level."""

_LF, _CR, _SPACE, _TAB_BYTE = 10, 13, 32, 9
_LT, _GT, _SLASH, _BANG, _QUERY, _EQUALS, _DASH, _QUOTE, _APOSTROPHE = 60, 62, 47, 33, 63, 61, 45, 34, 39
_CLOSE = 93


@kernel
def _look_up(
    data: Bytes, at: int, names: Bytes, bounds: NDArray[np.int64], first: int, behind: int, guess: int
) -> int:
    """Find the name that begins here in a part of a table, trying from a guess on; -1 if it is not there."""
    k = guess
    for _ in range(behind - first):
        if k >= behind or k < first:
            k = first
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
def _scan_field(
    data: Bytes, size: int, at: int, names: Bytes, name: int, length: int, classes: Bytes
) -> tuple[int, int, int, int, bool]:
    """Read a field from behind the name in its start tag on.

    Returns where it ends, where its value begins and ends, the classes of the bytes in it, and whether all is plain.
    """
    i = at
    while is_space(data[i]):
        i += 1
    if data[i] == _SLASH and data[i + 1] == _GT:
        return i + 2, i, i, 0, True
    if data[i] != _GT:
        return i, i, i, 0, False
    i += 1
    value = i
    kind = 0
    byte = classes[data[i]]
    while byte & STOP == 0:
        kind |= byte
        i += 1
        byte = classes[data[i]]
    stop = i
    if data[i + 1] != _SLASH:
        return i, value, stop, kind, False
    i += 2
    for j in range(length):
        if data[i + j] != names[name + j]:
            return i, value, stop, kind, False
    i += length
    while is_space(data[i]):
        i += 1
    return i + 1, value, stop, kind, data[i] == _GT


@kernel
def scan_levels(
    data: Bytes,
    size: int,
    line: int,
    unit: Bytes,
    names: Bytes,
    bounds: NDArray[np.int64],
    slots: NDArray[np.int64],
    sections: NDArray[np.int64],
    columns: NDArray[np.int64],
    learn: bool,
    classes: Bytes,
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    odd: NDArray[np.bool_],
    mixed: NDArray[np.bool_],
    look: Bytes,
    lines: NDArray[np.int64],
    parents: NDArray[np.int64],
    cell_starts: NDArray[np.int64],
    cell_stops: NDArray[np.int64],
    status: Bytes,
) -> tuple[int, int, int, int, int, int, bool]:
    """Tokenize units, one after the other.

    Parameters
    ----------
    data : ndarray of uint8, shape (at least size + PADDING + longest name,)
        Zero from `size` on; it begins between two units.
    size, line : int
        The source line (from 1) of the first byte.
    unit : ndarray of uint8
        Name of the unit as written, with its prefix.
    names, bounds : ndarray
        Names as written, one after the other, and where each begins: of each level the elements in it, in the order
        that is usual in its records, and then its attributes.
    slots : ndarray of int64, shape (names,)
        The column of each, `UNREADABLE`, or `INNER` less the number of a level.
    sections : ndarray of int64, shape (2 * levels + 1,)
        Of each level the first element and the first attribute; level 0 is that of the units.
    columns : ndarray of int64, shape (levels + 1,)
        The first column of each level.
    learn : bool
        Stop behind a unit that has a name which is in no table.
    classes : ndarray of uint8, shape (256,)
        From `masktron.kernels.scanner.byte_classes`.
    counts : ndarray of int64, shape (levels,)
        Written: the records of each level.
    starts, stops, odd, mixed, look : ndarray, shape (rows,)
        Written, of units: as in `masktron.kernels.scanner.scan_records`; `mixed` where elements do not come in the
        order of the tables.
    lines, parents : ndarray of int64, shape (levels, rows)
        Written: the line of each record, and the row of its parent in the level above; of a unit, its own row.
    cell_starts, cell_stops, status : ndarray, shape (columns, rows)
        Written: each value's bytes and kind, in the rows of its level. Of an odd unit all cells are odd.

    Returns
    -------
    at, line : int
        Where to go on, behind the last unit.
    reason : int
        MORE, FULL, END, ALIEN or UNKNOWN.
    level, name_start, name_stop, is_attribute : int, int, int, bool
        The unknown name, and the level in which it stands.
    """
    rows = len(starts)
    levels = len(counts)
    width = len(unit)
    counts[:] = 0
    before = np.zeros(levels, dtype=np.int64)
    way = np.zeros(levels + 1, dtype=np.int64)  # levels from the unit down to the record at hand
    ranks = np.zeros(levels + 1, dtype=np.int64)  # of each of them the last element, as a place in the table
    guesses = np.zeros(2 * levels, dtype=np.int64)
    i = 0
    here, here_line = 0, line
    reason = MORE
    while True:
        remark = False
        while True:  # what stands between units
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
        row = counts[0]
        if row == rows:
            reason = FULL
            break
        same = True
        for j in range(width):
            if data[i + 1 + j] != unit[j]:
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
        before[:] = counts
        plain = True  # until the unit turns out to be odd as a whole
        seen = False  # whether a parser must see it all the same
        disordered = False
        crowded = False
        unknown = False
        is_attribute = False
        name_start = name_stop = 0
        depth = 0
        level = 0
        way[0] = 0
        opened = True
        while plain and depth >= 0:
            if opened:  # a start tag, from behind its name on
                opened = False
                at = counts[level]
                if at == rows:
                    crowded = True
                    plain = False
                    break
                counts[level] = at + 1
                lines[level, at] = start_line if depth == 0 else line
                parents[level, at] = at if depth == 0 else counts[way[depth - 1]] - 1
                for j in range(columns[level], columns[level + 1]):
                    status[j, at] = CELL_ABSENT
                ranks[depth] = -1
                closed = False
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
                    first, behind = sections[2 * level + 1], sections[2 * level + 2]
                    k = _look_up(data, i, names, bounds, first, behind, guesses[2 * level + 1])
                    stop = name_stop_behind(data, i)
                    if k < 0 or slots[k] < 0 or not is_space(data[i - 1]):
                        plain = False
                        if k < 0 and not (stop - i >= 5 and declares_namespace(data, i, i + 5)):
                            unknown, is_attribute = True, True
                            name_start, name_stop = i, stop
                        break
                    guesses[2 * level + 1] = k + 1
                    i = stop
                    if data[i] == _EQUALS and (data[i + 1] == _QUOTE or data[i + 1] == _APOSTROPHE):
                        quote = data[i + 1]
                        i += 2
                    else:
                        plain = False
                        break
                    value = i
                    kind = 0
                    while data[i] != quote and i < size:
                        kind |= classes[data[i]]
                        i += 1
                    slot = slots[k]
                    if kind & (STOP | BAD) or status[slot, at] != CELL_ABSENT:
                        plain = False
                        break
                    cell_starts[slot, at] = value
                    cell_stops[slot, at] = i
                    if kind & (AMPERSAND | TAB | NEWLINE | RETURN):
                        status[slot, at] = CELL_ODD
                        line += line_breaks(data, value, i)
                        if kind & AMPERSAND and not only_predefined(data, value, i):
                            seen = True
                    else:
                        status[slot, at] = CELL_TEXT if i > value else CELL_EMPTY
                    i += 1
                if closed:
                    depth -= 1
                    level = way[max(depth, 0)]
                continue
            while is_space(data[i]):
                if data[i] == _LF or (data[i] == _CR and data[i + 1] != _LF):
                    line += 1
                i += 1
            if data[i] != _LT or i >= size:
                plain = False
                break
            if data[i + 1] == _SLASH:  # the end of the record at hand
                while data[i] != _GT and i < size:
                    if data[i] == _LF or (data[i] == _CR and data[i + 1] != _LF):
                        line += 1
                    i += 1
                i += 1
                depth -= 1
                level = way[max(depth, 0)]
                continue
            tag = i
            first, behind = sections[2 * level], sections[2 * level + 1]
            k = _look_up(data, i + 1, names, bounds, first, behind, guesses[2 * level])
            if k < 0 or slots[k] == UNREADABLE:
                plain = False
                byte = data[i + 1]
                if k < 0 and byte != _BANG and byte != _QUERY:
                    unknown, is_attribute = True, False
                    name_start, name_stop = i + 1, name_stop_behind(data, i + 1)
                break
            guesses[2 * level] = k + 1
            disordered |= k < ranks[depth]
            ranks[depth] = k
            slot = slots[k]
            name = bounds[k]
            length = bounds[k + 1] - name
            if slot <= INNER:
                i += 1 + length
                level = INNER - slot
                depth += 1
                way[depth] = level
                opened = True
                guesses[2 * way[depth - 1]] = k  # another one of the kind is likelier than what comes behind
                continue
            at = counts[level] - 1
            i, value, stop, kind, intact = _scan_field(data, size, i + 1 + length, names, name, length, classes)
            if not intact:
                i = skip_element(data, size, tag)
                if i < 0 or declares_namespace(data, tag, i):
                    plain = False
                    break
                line += line_breaks(data, tag, i)
                status[slot, at] = CELL_ODD
                cell_starts[slot, at], cell_stops[slot, at] = tag, tag
                seen = True
                continue
            if status[slot, at] != CELL_ABSENT:
                status[slot, at] = CELL_ODD
                seen = True
            else:
                status[slot, at] = CELL_TEXT if stop > value else CELL_EMPTY
            cell_starts[slot, at] = value
            cell_stops[slot, at] = stop
            if i - tag != stop - value + 2 * length + 5 or kind & (NEWLINE | RETURN):
                line += line_breaks(data, tag, i)
            if kind & (AMPERSAND | RETURN | BRACKET | BAD):
                if kind & (AMPERSAND | RETURN | BAD):
                    status[slot, at] = CELL_ODD
                if (
                    kind & BAD
                    or (kind & BRACKET and find_three(data, stop, value, _CLOSE, _CLOSE, _GT) >= 0)
                    or (kind & AMPERSAND and not only_predefined(data, value, stop))
                ):
                    seen = True
        if crowded and row > 0:
            counts[:] = before
            reason = FULL
            break
        if i > size or not plain:
            counts[:] = before
            i = skip_element(data, size, start)
            if i < 0:
                reason = MORE if i == -1 else ALIEN
                break
            line = start_line + line_breaks(data, start, i)
            plain = False
            counts[0] = row + 1
            lines[0, row], parents[0, row] = start_line, row
            for j in range(columns[1]):
                status[j, row] = CELL_ODD
                cell_starts[j, row], cell_stops[j, row] = start, start
        starts[row], stops[row] = start, i
        odd[row] = not plain
        mixed[row] = disordered
        look[row] = (LOOK_RECORD if seen or not plain else 0) | (LOOK_BEFORE if remark else 0)
        here, here_line = i, line
        if unknown and learn:
            return here, here_line, UNKNOWN, level, name_start, name_stop, is_attribute
    return here, here_line, reason, 0, 0, 0, False
