"""SAS transport files (.xpt, versions 5 and 8): headers as they are, numbers as IBM's floating point.

The layout is that of SAS's technical notes TS-140 (version 5) and of "Record layout of a SAS version 8 or 9 data set
in SAS transport format". pyreadstat writes no special missing values (``.A`` to ``.Z``, ``._``) into such a file and
gives none back, so they are read and written here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

_RECORD = 80
_VARIABLE = 140
_HEADER = b"HEADER RECORD*******"
_COUNT = slice(48, 58)
_PLAIN = frozenset({"", "$", "$F", "$CHAR", "$VARYING"})
"""Formats of texts whose width is a length of values."""
_TEXT = 2
"""Type of a variable of texts."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"


@dataclass(frozen=True, slots=True)
class SasVariable:
    """What a file says of a variable.

    Attributes
    ----------
    name, label : str
    text : bool
    length : int
        Bytes of a value.
    shown : str
        Name of its format, without width.
    width, decimals : int
        Of the format.
    start : int
        Of the value in a row.
    entry : bytes
        As the file has it.
    """

    name: str
    label: str
    text: bool
    length: int
    shown: str
    width: int
    decimals: int
    start: int
    entry: bytes

    def of_length(self, length: int) -> SasVariable:
        """Return a variable of texts with another length of its values, and of its plain formats.

        Parameters
        ----------
        length : int
            In bytes, from 1.
        """
        entry = bytearray(self.entry)
        struct.pack_into(">h", entry, 4, length)
        for name, width in ((56, 64), (72, 80)):  # format, informat
            if _text(self.entry[name : name + 8]).upper() in _PLAIN and self.entry[width : width + 2] != b"\0\0":
                struct.pack_into(">h", entry, width, length)
        (shown,) = struct.unpack_from(">h", entry, 64)
        return replace(self, length=length, width=shown, entry=bytes(entry))

    def of_texts(self) -> SasVariable:
        """Return a variable of texts of one byte, without a format or an informat."""
        entry = bytearray(self.entry)
        struct.pack_into(">h", entry, 0, _TEXT)
        for name, width in ((56, 64), (72, 80)):
            entry[name : name + 8] = b" " * 8
            struct.pack_into(">2h", entry, width, 0, 0)
        return replace(self, text=True, shown="", width=0, decimals=0, entry=bytes(entry)).of_length(1)


@dataclass(frozen=True, slots=True, eq=False)
class SasFile:
    """A transport file.

    Attributes
    ----------
    version : int
    front : bytes
        Records before the one that counts variables.
    variables : tuple of SasVariable
    labels : tuple of (int, bytes)
        Of version 8: the numbers of variables whose names or labels are long, from 1, each with its entry.
    label_head : bytes
        The record above these.
    head : bytes
        The record above the rows.
    rows : ndarray of uint8, shape (n, w)
    """

    version: int
    front: bytes
    variables: tuple[SasVariable, ...]
    labels: tuple[tuple[int, bytes], ...]
    label_head: bytes
    head: bytes
    rows: NDArray[np.uint8]

    @property
    def title(self) -> str:
        """Label of the data set."""
        return _text(self.front[-_RECORD:][32:72])

    def cells(self, variable: SasVariable) -> NDArray[np.uint8]:
        """Return the bytes of a column, shape (n, length)."""
        return self.rows[:, variable.start : variable.start + variable.length]


def _text(found: bytes) -> str:
    try:
        return found.decode("utf-8").rstrip(" \0")
    except UnicodeDecodeError:
        return found.decode("cp1252", "replace").rstrip(" \0")


def _entries(content: bytes, at: int, count: int, size: int) -> list[bytes]:
    if not 0 <= count <= (len(content) - at) // size:
        raise ValueError("it has fewer variables than it says")
    return [content[at + one * size : at + (one + 1) * size] for one in range(count)]


def sas_file(content: bytes) -> SasFile:
    """Read a transport file with one data set.

    Raises
    ------
    ValueError
        It is none, holds several data sets or is damaged.
    """
    if not content.startswith(_HEADER):
        raise ValueError("it does not begin as a transport file does")
    version = 8 if content[20:25] == b"LIBV8" else 5
    at = content.find(_HEADER + (b"NAMSTV8 " if version == 8 else b"NAMESTR "))
    if at != 7 * _RECORD:
        raise ValueError("its headers are not those of a data set")
    front, count = content[:at], int(content[at : at + _RECORD][_COUNT])
    size = _VARIABLE if content[4 * _RECORD - 8 : 4 * _RECORD].strip()[-4:] in (b"0140", b"140") else 136
    at += _RECORD
    entries = _entries(content, at, count, size)
    at += -(-count * size // _RECORD) * _RECORD
    variables = [_variable(entry, version) for entry in entries]
    labels: list[tuple[int, bytes]] = []
    label_head = b""
    if content[at + 20 : at + 27] in (b"LABELV8", b"LABELV9"):
        label_head = content[at : at + _RECORD]
        nine = label_head[26:27] == b"9"
        begin = at = at + _RECORD
        for _ in range(int(label_head[_COUNT])):
            lengths = struct.unpack_from(">5H" if nine else ">3H", content, at)
            text = at + (10 if nine else 6)
            end = text + sum(lengths[1:])
            number = lengths[0]
            labels.append((number, content[at:end]))
            name = _text(content[text : text + lengths[1]])
            label = _text(content[text + lengths[1] : text + lengths[1] + lengths[2]])
            variables[number - 1] = replace(variables[number - 1], name=name, label=label)
            at = end
        at = begin + -(-(at - begin) // _RECORD) * _RECORD
    head = content[at : at + _RECORD]
    if not head.startswith(_HEADER + b"OBS"):
        raise ValueError("its rows are not where they have to be")
    at += _RECORD
    width = sum(variable.length for variable in variables)
    counted = head[48:63].strip() if version == 8 else b""
    held = len(content) - at
    found = int(counted) if counted.isdigit() and int(counted) else held // width if width else 0
    if found * width > held:
        raise ValueError("it is cut short")
    rows = np.frombuffer(content, np.uint8, found * width, at).reshape(found, width)
    if (_HEADER + b"MEMB") in content[at:]:
        raise ValueError("it holds several data sets")
    if version == 5:
        # the last record is filled with blanks, which are rows of blanks where rows are short
        blank = (rows == ord(" ")).all(axis=1)
        last = len(rows)
        while last and blank[last - 1] and (len(rows) - last + 1) * width < _RECORD:
            last -= 1
        rows = rows[:last]
    return SasFile(version, front, tuple(variables), tuple(labels), label_head, head, rows)


def _variable(entry: bytes, version: int) -> SasVariable:
    kind, _, length, _ = struct.unpack_from(">4h", entry)
    width, decimals = struct.unpack_from(">2h", entry, 64)
    (start,) = struct.unpack_from(">i", entry, 84)
    name = _text(entry[88:120]) if version == 8 else ""
    return SasVariable(
        name or _text(entry[8:16]),
        _text(entry[16:56]),
        kind == _TEXT,
        length,
        _text(entry[56:64]),
        width,
        decimals,
        start,
        entry,
    )


def sas_bytes(file: SasFile, kept: Sequence[int], columns: Sequence[NDArray[np.uint8]]) -> Iterator[bytes]:
    """Yield the bytes of a file with some of the variables, and with other rows.

    Parameters
    ----------
    file : SasFile
    kept : sequence of int
        Positions of the variables.
    columns : sequence of ndarray of uint8, each of shape (m, length)
        Of these variables.
    """
    size = len(columns[0]) if columns else 0
    yield file.front
    name = b"NAMSTV8 " if file.version == 8 else b"NAMESTR "
    yield _HEADER + name + b"HEADER RECORD!!!!!!!%010d00000000000000000000  " % len(kept)
    entries, start = [], 0
    for number, at in enumerate(kept, start=1):
        entry = bytearray(file.variables[at].entry)
        struct.pack_into(">h", entry, 6, number)
        struct.pack_into(">i", entry, 84, start)
        start += file.variables[at].length
        entries.append(bytes(entry))
    yield _filled(b"".join(entries))
    numbers = {at + 1: number for number, at in enumerate(kept, start=1)}
    labels = [struct.pack(">h", numbers[old]) + entry[2:] for old, entry in file.labels if old in numbers]
    if labels:
        yield file.label_head[:48] + b"%-32d" % len(labels)
        yield _filled(b"".join(labels))
    yield file.head[:48] + b"%15d" % size + file.head[63:] if file.version == 8 else file.head
    yield _filled(np.concatenate(columns, axis=1).tobytes() if columns else b"")


def _filled(content: bytes) -> bytes:
    return content + b" " * (-len(content) % _RECORD)


def new_sas_file(version: int, title: str, variables: Sequence[SasVariable]) -> SasFile:
    """Return a file without rows for some variables, whose entries and places need not be given.

    Parameters
    ----------
    version : int
        5 or 8.
    title : str
        At most 40 characters.
    """
    marks = (b"LIBRARY", b"MEMBER ", b"DSCRPTR") if version == 5 else (b"LIBV8  ", b"MEMBV8 ", b"DSCPTV8")
    none, when = b"0" * 30 + b"  ", b"01JAN60:00:00:00"
    names = b"DATASET " if version == 5 else b"DATASET".ljust(32)
    sizes = b"000000000000000001600000000140  "
    front = b"".join(
        (
            _HEADER + marks[0] + b" HEADER RECORD!!!!!!!" + none,
            (b"SAS     SAS     SASLIB  9.4".ljust(64) + when),
            when.ljust(_RECORD),
            _HEADER + marks[1] + b" HEADER RECORD!!!!!!!" + sizes,
            _HEADER + marks[2] + b" HEADER RECORD!!!!!!!" + none,
            (b"SAS     " + names + b"SASDATA 9.4").ljust(64) + when,
            when.ljust(32) + title.encode().ljust(40) + b" " * 8,
        )
    )
    entries, labels = [], []
    for number, one in enumerate(variables, start=1):
        name, label = one.name.encode(), one.label.encode()
        entry = struct.pack(">4h", 2 if one.text else 1, 0, one.length, number)
        entry += name[:8].ljust(8) + label[:40].ljust(40) + one.shown.encode().ljust(8)
        entry += struct.pack(">3h", one.width, one.decimals, 0) + b"\0\0" + b" " * 8 + b"\0" * 8
        long = name[:32].ljust(32) + struct.pack(">h", len(label)) if version == 8 else b""
        entries.append(replace(one, entry=(entry + long).ljust(_VARIABLE, b"\0")))
        if version == 8 and len(label) > 40:
            labels.append((number, struct.pack(">3h", number, len(name), len(label)) + name + label))
    head = _HEADER + (b"OBS    " if version == 5 else b"OBSV8  ") + b" HEADER RECORD!!!!!!!" + none
    label_head = _HEADER + b"LABELV8 HEADER RECORD!!!!!!!" + b" " * 32
    if version == 8:
        head = head[:48] + b" " * 32
    return SasFile(version, front, tuple(entries), tuple(labels), label_head, head, np.zeros((0, 0), np.uint8))


def numbers_of(cells: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    """Return numbers, and what stands for a missing one: ``.``, ``.A`` to ``.Z``, ``._``; None elsewhere.

    A number is 16 ** (e - 64) * m: a sign, 7 bits of e, up to 56 of m, a fraction.

    Parameters
    ----------
    cells : ndarray of uint8, shape (n, 2 to 8)
    """
    whole = np.zeros((len(cells), 8), dtype=np.uint8)
    whole[:, : cells.shape[1]] = cells
    raw = np.ascontiguousarray(whole).view(">u8")[:, 0].astype(np.uint64)
    mantissa = (raw & np.uint64(0x00FF_FFFF_FFFF_FFFF)).astype(np.float64)
    power = ((raw >> np.uint64(56)) & np.uint64(0x7F)).astype(np.int64)
    values = np.ldexp(mantissa, 4 * (power - 64) - 56) * np.where(raw >> np.uint64(63), -1.0, 1.0)
    values[mantissa == 0] = 0.0
    codes = np.full(len(cells), None, dtype=np.object_)
    empty = ~whole[:, 1:].any(axis=1)
    for letter, code in ((".", "."), *((letter, f".{letter}") for letter in _LETTERS)):
        codes[empty & (whole[:, 0] == ord(letter))] = code
    return values, codes


def cells_of(values: NDArray[Any], codes: NDArray[np.object_], length: int) -> NDArray[np.uint8]:
    """Return numbers as a file stores them; the inverse of `numbers_of`.

    Raises
    ------
    OverflowError
        A number is too large or too exact for so many bytes.
    """
    mantissa, power = np.frexp(np.abs(values.astype(np.float64)))
    sixteens = -(-power.astype(np.int64) // 4)
    digits = np.ldexp(mantissa, 56 + power - 4 * sixteens).astype(np.uint64)
    some = values != 0
    if ((sixteens[some] < -64) | (sixteens[some] > 63)).any():
        raise OverflowError("a number is out of range")
    raw = ((sixteens + 64).astype(np.uint64) << np.uint64(56)) | digits
    raw |= np.where(values < 0, np.uint64(1 << 63), np.uint64(0))
    raw[~some] = 0
    for letter, code in ((".", "."), *((letter, f".{letter}") for letter in _LETTERS)):
        raw[codes == code] = np.uint64(ord(letter)) << np.uint64(56)
    whole = raw.astype(">u8").view(np.uint8).reshape(len(values), 8)
    if whole[:, length:].any():
        raise OverflowError(f"a number needs more than {length} bytes")
    return whole[:, :length]
