"""The dictionary of an SPSS system file: what pyreadstat neither reads nor writes of it.

The layout is that of the PSPP developers' manual, "System File Format".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

_HEAD = 176
_WEIGHT = 76
"""Offset of the number of the weight variable."""
_SEGMENT = 252
"""Bytes of a very long string that one of its segments holds."""
_DISPLAY, _LONG_STRINGS, _ATTRIBUTES = 11, 14, 18
_NOT_CARRIED = {
    5: "sets of variables",
    7: "sets of multiple responses",
    17: "attributes of the file",
    19: "sets of multiple responses",
    24: "the dictionary in XML",
}
_ROLE = re.compile(r"[^:/]*:\$@Role\('0'\n\)")


@dataclass(slots=True)
class SpssDictionary:
    """Where things stand in a system file. Columns count from 0.

    Attributes
    ----------
    order : str
        Of bytes, as `struct` has it.
    compression : int
        0 for none, 1 for bytecodes, 2 for zlib (.zsav).
    weight : int or None
        Column of the weight variable.
    numbers : list of int
        Of the dictionary entry of each column, from 1.
    alignments : list of int
        Of each column: 0 left, 1 right, 2 centre; empty where the file does not say.
    places : list of int
        Offsets in the file of the alignments.
    lost : tuple of str
        What the file holds beyond columns and their labels.
    """

    order: str
    compression: int
    weight: int | None = None
    numbers: list[int] = field(default_factory=list)
    alignments: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    lost: tuple[str, ...] = ()


def spss_dictionary(path: Path) -> SpssDictionary:
    """Read the dictionary of a system file that pyreadstat could read.

    Raises
    ------
    ValueError
        It ends too early, or holds an unknown record.
    """
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
        order = "<" if head[64:68] in (b"\x02\0\0\0", b"\x03\0\0\0") else ">"
        compression, weight = struct.unpack_from(f"{order}2i", head, 72)

        def ints(count: int) -> tuple[int, ...]:
            found: tuple[int, ...] = struct.unpack(f"{order}{count}i", taken(4 * count))
            return found

        def taken(count: int) -> bytes:
            # a length may lie: then nothing goes back, and no more is asked for than there is
            if not 0 <= count <= path.stat().st_size - stream.tell():
                raise ValueError("a length in its dictionary lies")
            return stream.read(count)

        entries: list[int] = []  # number of the entry of each variable, segments of long strings among them
        names: list[bytes] = []
        extensions: dict[int, tuple[int, int, bytes]] = {}
        number = 0
        try:
            while (kind := ints(1)[0]) != 999:
                if kind == 2:
                    number += 1
                    width, labelled, missing, _, _ = ints(5)
                    name = taken(8)
                    if labelled:
                        taken(-(-ints(1)[0] // 4) * 4)
                    taken(8 * abs(missing))
                    if width >= 0:
                        entries.append(number)
                        names.append(name.rstrip())
                elif kind == 3:
                    _skip_labels(stream, ints(1)[0])
                elif kind == 4:
                    ints(ints(1)[0])
                elif kind == 6:
                    taken(80 * ints(1)[0])
                elif kind == 7:
                    subtype, each, count = ints(3)
                    extensions[subtype] = (stream.tell(), each, taken(each * count))
                else:
                    raise ValueError(f"a record of type {kind}")
        except (struct.error, IndexError):
            raise ValueError("its dictionary is cut short") from None
    found = SpssDictionary(order, compression, lost=tuple(dict.fromkeys(_lost(extensions))))
    first = list(_first_segments(names, extensions))
    found.numbers = [entries[at] for at in first]
    if weight in found.numbers:
        found.weight = found.numbers.index(weight)
    if _DISPLAY in extensions and names:
        place, _, content = extensions[_DISPLAY]
        each = len(content) // 4 // len(names)
        values = struct.unpack(f"{order}{len(content) // 4}i", content)
        found.alignments = [values[at * each + each - 1] for at in first]
        found.places = [place + 4 * (at * each + each - 1) for at in first]
    return found


def _skip_labels(stream: BinaryIO, count: int) -> None:
    for _ in range(count):
        stream.seek(8, 1)
        length = stream.read(1)[0]
        stream.seek((length + 8) // 8 * 8 - 1, 1)


def _first_segments(names: list[bytes], extensions: dict[int, tuple[int, int, bytes]]) -> Iterator[int]:
    """Yield the variables that are columns: a very long string is several variables."""
    content = extensions.get(_LONG_STRINGS, (0, 0, b""))[2]
    pairs = (one.partition(b"=") for one in re.split(rb"\x00?\t", content) if one)
    lengths = {name.upper(): int(length.strip(b"\0")) for name, _, length in pairs}
    at = 0
    while at < len(names):
        yield at
        at += max(1, -(-lengths.get(names[at].upper(), 0) // _SEGMENT))


def _lost(extensions: dict[int, tuple[int, int, bytes]]) -> Iterator[str]:
    for subtype in sorted(extensions):
        content = extensions[subtype][2]
        if subtype in _NOT_CARRIED and content.strip(b"\0\n "):
            yield _NOT_CARRIED[subtype]
        elif subtype == _ATTRIBUTES and any(
            one and not _ROLE.fullmatch(one) for one in content.decode("latin-1").strip("\0").split("/")
        ):
            yield "attributes and roles of variables"


def amend(path: Path, weight: int | None, alignments: list[int]) -> None:
    """Say in a file that pyreadstat has written which column is the weight, and how columns are aligned.

    Parameters
    ----------
    weight : int or None
        Column, from 0.
    alignments : list of int
        Of all columns, or none.
    """
    found = spss_dictionary(path)
    with path.open("r+b") as stream:
        if weight is not None:
            stream.seek(_WEIGHT)
            stream.write(struct.pack(f"{found.order}i", found.numbers[weight]))
        for place, alignment in zip(found.places, alignments, strict=False):
            stream.seek(place)
            stream.write(struct.pack(f"{found.order}i", alignment))
