"""The sections of a Stata file (.dta, releases 113 to 119), to be written again with other rows.

pyreadstat and pandas make integers wider, forget characteristics and notes, and name sets of labels anew. Here the
sections are copied as they are, without what belongs to columns that are left out. The layout is that of Stata's
documentation, ``help dta``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError

_TYPES = {65_530: "i1", 65_529: "i2", 65_528: "i4", 65_527: "f4", 65_526: "f8"}
_OLD_TYPES = {251: "i1", 252: "i2", 253: "i4", 254: "f4", 255: "f8"}
_REFERENCE = 32_768
"""Type of a text that stands in a section of its own."""
_AS_TEXT = 130
"""Marks a long text that is text."""
_BYTES_OF_VARIABLE = {117: 4, 118: 2, 119: 3}
_SHOWN_TEXT = re.compile(r"%([-~]?)([0-9]+)s")
_LEAST_SHOWN = 9
"""Characters of the format that Stata gives to a short text."""
LONGEST_TEXT = {113: 244, 114: 244, 115: 244, 117: 2045, 118: 2045, 119: 2045}
"""Bytes of a text that is no long one, by release."""
_AROUND_SET, _AROUND_SETS = (b"<lbl>", b"</lbl>"), (b"<value_labels>", b"</value_labels>")
_SECTIONS = ("variable_types", "varnames", "sortlist", "formats", "value_label_names", "variable_labels")


@dataclass(frozen=True, slots=True, eq=False)
class StataFile:
    """A file, cut into what is written again.

    Attributes
    ----------
    release : int
    order : str
        Of bytes, as numpy has it.
    head : bytes
        Label and time stamp of the file, as they stand there.
    described : tuple of list of bytes
        For each section of `_SECTIONS`, the entries of all variables.
    characteristics : list of bytes
        Each with the name of its variable in front.
    rows : ndarray of a structured type, shape (n,)
        Fields are named by the position of the variable.
    tail : bytes
        Sets of labels.
    """

    release: int
    order: str
    head: bytes
    described: dict[str, list[bytes]]
    characteristics: list[bytes]
    rows: NDArray[Any]
    tail: bytes

    @property
    def names(self) -> list[str]:
        """Of variables."""
        return [_text(entry) for entry in self.described["varnames"]]

    def of_lengths(self, lengths: Mapping[int, int]) -> StataFile:
        """Return what a file says where some of its columns of texts have other widths, and formats as wide.

        Parameters
        ----------
        lengths : mapping of int to int
            Bytes of texts, from 1, by the position of the variable.
        """
        if not lengths:
            return self
        described = {name: list(entries) for name, entries in self.described.items()}
        for at, length in lengths.items():
            kinds, shown = described["variable_types"], described["formats"]
            kinds[at] = _packed(length, len(kinds[at]), self.order)
            found = _SHOWN_TEXT.fullmatch(_text(shown[at]))
            if found is not None and int(found[2]) > _LEAST_SHOWN:
                shown[at] = f"%{found[1]}{max(length, _LEAST_SHOWN)}s".encode().ljust(len(shown[at]), b"\0")
        return replace(self, described=described)

    def of_type(self, at: int, kind: str, shown: str) -> StataFile:
        """Return what a file says where a variable has another type of numbers, and a format; its cells say nothing.

        Parameters
        ----------
        at : int
            Position of the variable.
        kind : str
            As numpy has it, without the order of bytes.
        shown : str
            The format.
        """
        known = _TYPES if self.release >= 117 else _OLD_TYPES
        number = next(number for number, one in known.items() if one == kind)
        described = {name: list(entries) for name, entries in self.described.items()}
        kinds, formats = described["variable_types"], described["formats"]
        kinds[at] = _packed(number, len(kinds[at]), self.order)
        formats[at] = shown.encode().ljust(len(formats[at]), b"\0")
        types = [(str(one), self.rows.dtype[one]) for one in range(len(kinds))]
        types[at] = (str(at), np.dtype(f"{self.order}{kind}"))
        rows = np.zeros(len(self.rows), dtype=types)
        for one in range(len(kinds)):
            if one != at:
                rows[str(one)] = self.rows[str(one)]
        return replace(self, described=described, rows=rows)

    def of_labels(self, at: int, labels: Mapping[int, str]) -> StataFile:
        """Return what a file says where the values of a variable have other labels, in a set of its own.

        Parameters
        ----------
        at : int
            Position of the variable.
        labels : mapping of int to str
            By the numbers that the file stores, in rising order; none for a variable without labels.
        """
        described = {name: list(entries) for name, entries in self.described.items()}
        owned = described["value_label_names"]
        former, width = _text(owned[at]), len(owned[at])
        others = {_text(entry) for one, entry in enumerate(owned) if one != at} - {""}
        held = _sets_of(self)
        if former and former not in others:
            held.pop(former, None)
        name = former if former and former not in held else _free(self.names[at], {*others, *held}, self.release)
        owned[at] = (name if labels else "").encode().ljust(width, b"\0")
        if labels:
            held[name] = _set_of_labels(name, width, labels, self)
        return replace(self, described=described, tail=_tail_of(self, held.values()))


def _free(name: str, taken: set[str], release: int) -> str:
    """Return the name of a variable, or one made of it, for a set of labels: one that is not taken."""
    room = 28 if release < 118 else 124
    bare = name.encode()[:room].decode("utf-8", "ignore")
    return next(one for one in (name, *(f"{bare}_{number}" for number in range(2, 1000))) if one not in taken)


def _set_of_labels(name: str, width: int, labels: Mapping[int, str], file: StataFile) -> bytes:
    """Return a set of labels as a file has it."""
    encoding = "utf-8" if file.release >= 118 else "cp1252"
    try:
        texts = [label.encode(encoding) + b"\0" for label in labels.values()]
    except UnicodeEncodeError:
        detail = "the label of a class, as its encoding lacks a letter; Stata 14 and later have all letters"
        raise UsageError.of("cannot-hold", format="this release of Stata", detail=detail) from None
    places, at = [], 0
    for text in texts:
        places.append(at)
        at += len(text)
    numbers = [len(texts), at, *places, *labels]
    table = np.array(numbers, dtype=f"{file.order}i4").tobytes() + b"".join(texts)
    before, after = _AROUND_SET if file.release >= 117 else (b"", b"")
    head = _packed(len(table), 4, file.order) + name.encode().ljust(width, b"\0") + b"\0" * 3
    return before + head + table + after


def _sets_of(file: StataFile) -> dict[str, bytes]:
    """Return the sets of labels of a file, each as it is there, by their names."""
    before, after = _AROUND_SET if file.release >= 117 else (b"", b"")
    begin, end = _AROUND_SETS if before else (b"", b"")
    width = 129 if file.release >= 118 else 33
    at, stop, found = len(begin), len(file.tail) - len(end), {}
    while at < stop:
        size = int.from_bytes(file.tail[at + len(before) :][:4], "little" if file.order == "<" else "big")
        name = at + len(before) + 4
        behind = name + width + 3 + size + len(after)  # three bytes have no meaning
        found[_text(file.tail[name : name + width])] = file.tail[at:behind]
        at = behind
    return found


def _tail_of(file: StataFile, sets: Iterable[bytes]) -> bytes:
    begin, end = _AROUND_SETS if file.release >= 117 else (b"", b"")
    return b"".join([begin, *sets, end])


def _text(entry: bytes) -> str:
    return entry.split(b"\0")[0].decode("utf-8", "replace")


def _widths(release: int) -> dict[str, int]:
    """Bytes of the entry of a variable, by section."""
    if release >= 118:
        names = (2, 129, 4 if release == 119 else 2, 57, 129, 321)
    elif release == 117:
        names = (2, 33, 2, 49, 33, 81)
    else:
        names = (1, 33, 2, 49 if release >= 114 else 12, 33, 81)
    return dict(zip(_SECTIONS, names, strict=True))


def stata_file(content: bytes) -> StataFile:
    """Cut a file.

    Raises
    ------
    ValueError
        It is no Stata file of these releases, or damaged.
    """
    return _tagged(content) if content.startswith(b"<stata_dta>") else _untagged(content)


def _type_of(number: int, release: int) -> str:
    if release >= 117:
        if number == _REFERENCE:
            return "u8"
        return _TYPES.get(number, f"S{number}")
    return _OLD_TYPES.get(number, f"S{number}")


def _row_type(entries: list[bytes], order: str, release: int) -> np.dtype[Any]:
    sign = order if len(entries[0]) > 1 else "="
    numbers = [int(np.frombuffer(entry, f"{sign}u{len(entry)}")[0]) for entry in entries]
    return np.dtype([(str(at), f"{order}{_type_of(number, release)}") for at, number in enumerate(numbers)])


def _entries(content: bytes, start: int, count: int, width: int) -> list[bytes]:
    if start + count * width > len(content):
        raise ValueError("it has fewer variables than it says")
    return [content[start + at * width : start + (at + 1) * width] for at in range(count)]


class _Cursor:
    """Reads a file from front to back."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content, self.at = content, at

    def take(self, count: int) -> bytes:
        found = self.content[self.at : self.at + count]
        if len(found) < count:
            raise ValueError("it is cut short")
        self.at += count
        return found

    def number(self, order: str, width: int) -> int:
        return int(np.frombuffer(self.take(width), f"{order}u{width}")[0])

    def expect(self, *tags: str) -> None:
        for tag in tags:
            if self.take(len(tag)) != tag.encode():
                raise ValueError(f"{tag} is not where it has to be")


def _tagged(content: bytes) -> StataFile:
    cursor = _Cursor(content)
    cursor.expect("<stata_dta>", "<header>", "<release>")
    release = int(cursor.take(3))
    if release not in (117, 118, 119):
        raise ValueError(f"release {release} is not known")
    cursor.expect("</release>", "<byteorder>")
    order = {b"LSF": "<", b"MSF": ">"}[cursor.take(3)]
    cursor.expect("</byteorder>", "<K>")
    count = cursor.number(order, 4 if release == 119 else 2)
    cursor.expect("</K>", "<N>")
    size = cursor.number(order, 4 if release == 117 else 8)
    cursor.expect("</N>")
    start = cursor.at
    end = content.index(b"</header>", start)
    head = content[start:end]
    cursor.at = end
    cursor.expect("</header>", "<map>")
    places = np.frombuffer(cursor.take(14 * 8), f"{order}u8").astype(int).tolist()
    described = {}
    widths = _widths(release)
    for place, name in zip(places[2:8], _SECTIONS, strict=True):
        cursor.at = place
        cursor.expect(f"<{name}>")
        described[name] = _entries(content, cursor.at, count, widths[name])
    characteristics = []
    cursor.at = places[8]
    cursor.expect("<characteristics>")
    while content.startswith(b"<ch>", cursor.at):
        cursor.expect("<ch>")
        characteristics.append(cursor.take(cursor.number(order, 4)))
        cursor.expect("</ch>")
    rows = np.frombuffer(
        content, _row_type(described["variable_types"], order, release), size, places[9] + len("<data>")
    )
    cursor.at = places[10]
    cursor.expect("<strls>")
    while content.startswith(b"GSO", cursor.at):
        cursor.take(3 + 4 + _observation(release))
        if cursor.take(1) != bytes([_AS_TEXT]):
            raise ValueError("it holds binary data, which are no text")
        cursor.take(cursor.number(order, 4))
    return StataFile(release, order, head, described, characteristics, rows, content[places[11] : places[12]])


def _untagged(content: bytes) -> StataFile:
    release = content[0] if content else 0
    if release not in (113, 114, 115):
        raise ValueError(f"release {release} is not known")
    order = {1: ">", 2: "<"}[content[1]]
    cursor = _Cursor(content, 4)
    count, size = cursor.number(order, 2), cursor.number(order, 4)
    head = cursor.take(81 + 18)
    widths = _widths(release)
    described = {}
    for name in _SECTIONS:
        described[name] = _entries(content, cursor.at, count, widths[name])
        cursor.take(count * widths[name])
        if name == "sortlist":
            cursor.take(2)
    characteristics = []
    while (kind := cursor.number(order, 1)) or content[cursor.at : cursor.at + 4] != b"\0\0\0\0":
        characteristics.append(bytes([kind]) + (length := cursor.take(4)) + cursor.take(_int(length, order)))
    cursor.take(4)
    row = _row_type(described["variable_types"], order, release)
    rows = np.frombuffer(content, row, size, cursor.at)
    cursor.take(row.itemsize * size)
    return StataFile(release, order, head, described, characteristics, rows, content[cursor.at :])


def _int(found: bytes, order: str) -> int:
    return int(np.frombuffer(found, f"{order}u{len(found)}")[0])


def stata_bytes(
    file: StataFile, kept: Sequence[int], rows: NDArray[Any], texts: Mapping[int, Sequence[str]]
) -> Iterator[bytes]:
    """Yield the bytes of a file with some of the variables, and with other rows.

    The file says no more that it is sorted.

    Parameters
    ----------
    file : StataFile
    kept : sequence of int
        Positions of the variables.
    rows : ndarray of a structured type, shape (m,)
        Of these variables alone, with the types that they have.
    texts : mapping of int to sequence of str
        Of variables whose texts stand in a section of their own.
    """
    gone = {name for at, name in enumerate(file.names) if at not in set(kept)}
    widths = _widths(file.release)
    sections = {}
    for name in _SECTIONS:
        entries = [file.described[name][at] for at in kept]
        if name == "sortlist":
            entries = [b"\0" * widths[name]] * (len(kept) + 1)
        sections[name] = b"".join(entries)
    if file.release < 117:
        yield bytes([file.release, {">": 1, "<": 2}[file.order], 1, 0])
        yield _packed(len(kept), 2, file.order) + _packed(len(rows), 4, file.order) + file.head
        yield from sections.values()
        yield from (one for one in file.characteristics if one[0] != 1 or _text(one[5:]) not in gone)
        yield b"\0" * 5
        yield rows.tobytes()
        yield _label_sets(file, kept)
        return
    width = 129 if file.release >= 118 else 33
    characteristics = [one for one in file.characteristics if _text(one[:width]) not in gone]
    parts = [f"<{name}>".encode() + content + f"</{name}>".encode() for name, content in sections.items()]
    parts.append(
        b"<characteristics>"
        + b"".join(b"<ch>" + _packed(len(one), 4, file.order) + one + b"</ch>" for one in characteristics)
        + b"</characteristics>"
    )
    rows, long_texts = _with_long_texts(file, kept, rows, texts)
    parts += [b"<data>" + rows.tobytes() + b"</data>", b"<strls>" + long_texts + b"</strls>"]
    parts.append(_label_sets(file, kept))
    counted = _packed(len(kept), 4 if file.release == 119 else 2, file.order)
    sized = _packed(len(rows), 4 if file.release == 117 else 8, file.order)
    byteorder = b"LSF" if file.order == "<" else b"MSF"
    front = b"<stata_dta><header><release>%d</release><byteorder>%b</byteorder><K>%b</K><N>%b</N>%b</header>" % (
        file.release,
        byteorder,
        counted,
        sized,
        file.head,
    )
    at = len(front)
    places = [0, at]
    at += len("<map></map>") + 14 * 8
    for part in parts:
        places.append(at)
        at += len(part)
    places += [at, at + len("</stata_dta>")]
    yield front + b"<map>" + b"".join(_packed(place, 8, file.order) for place in places) + b"</map>"
    yield from parts
    yield b"</stata_dta>"


def _label_sets(file: StataFile, kept: Sequence[int]) -> bytes:
    """Return the sets of labels without those that belong to variables alone that are left out."""
    owners = [_text(entry) for entry in file.described["value_label_names"]]
    gone = {name for at, name in enumerate(owners) if at not in set(kept)} - {owners[at] for at in kept}
    return _tail_of(file, (one for name, one in _sets_of(file).items() if name not in gone))


def _packed(number: int, width: int, order: str) -> bytes:
    return number.to_bytes(width, "little" if order == "<" else "big")


def _with_long_texts(
    file: StataFile, kept: Sequence[int], rows: NDArray[Any], texts: Mapping[int, Sequence[str]]
) -> tuple[NDArray[Any], bytes]:
    """Let cells refer to their long texts, and return these: each one once, named after its first cell."""
    if not texts:
        return rows, b""
    rows = rows.copy()
    first = _BYTES_OF_VARIABLE[file.release]
    found: dict[str, bytes] = {"": b"\0" * 8}
    section = []
    for variable, at in enumerate(kept, start=1):
        if at not in texts:
            continue
        cells = []
        for observation, text in enumerate(texts[at], start=1):
            if text not in found:
                found[text] = _packed(variable, first, file.order) + _packed(observation, 8 - first, file.order)
                content = text.encode() + b"\0"
                where = _packed(variable, 4, file.order) + _packed(
                    observation, _observation(file.release), file.order
                )
                section.append(b"GSO" + where + bytes([_AS_TEXT]) + _packed(len(content), 4, file.order) + content)
            cells.append(found[text])
        rows[str(at)] = np.frombuffer(b"".join(cells), rows.dtype[str(at)])
    return rows, b"".join(section)


def _observation(release: int) -> int:
    return 4 if release == 117 else 8
