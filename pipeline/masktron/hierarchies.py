"""Hierarchies of values: which labels a value has, each level coarser than the one below.

`read_hierarchy` reads the CSV that ARX has; `widths` and `prefixes` make them of numbers and of
codes; `Hierarchy.recoding` is one level as a recoding.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from masktron.counts import counted
from masktron.errors import UsageError
from masktron.files import read_text
from masktron.problems.problem import Field, Known, Place
from masktron.recodings import ListRecoding

ANY = "*"
"""The label of the level at which all values are alike, as ARX writes it."""
_SEPARATORS = ";\t,"
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
_LISTED = 10_000
"""Whole numbers that are listed, whether or not they were given."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The labels of the values of a field, by level.

    Attributes
    ----------
    field : str
    levels : tuple of mapping of str to str
        Level 0 has every value as its own label; level i maps each value to its label. Values of one label at a level
        have one label at all levels above it.
    """

    field: str
    levels: tuple[Mapping[str, str], ...]

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.levels) - 1

    def recoding(self, level: int) -> ListRecoding:
        """Return the recoding to the labels of a level.

        Raises
        ------
        UsageError
            There is no such level.
        """
        if not 0 <= level <= self.height:
            known = Known(str(level), tuple(map(str, range(self.height + 1))))
            raise UsageError.of("unknown-name", kind="level of the hierarchy", name=str(level), known=known)
        return ListRecoding(self.field, self.levels[level])

    def require_no_names(self, path: Path, values: Collection[str]) -> None:
        """Refuse a first row that names the levels, which would be a class of its own.

        Parameters
        ----------
        path : Path
            The file, for the message.
        values : collection of str
            Those that the field has.

        Raises
        ------
        UsageError
            The data do not have the value of the first row, and no other row has one of its labels.
        """
        first = next(iter(self.levels[0]))
        if first in values or len(self.levels[0]) == 1:
            return
        shared = any(
            labels[first] == label for labels in self.levels[1:] for value, label in labels.items() if value != first
        )
        if not shared:
            raise UsageError.of("hierarchy-has-header", path, field=Field(self.field))


def read_hierarchy(path: Path, field: str, *, header: bool = False) -> Hierarchy:
    """Read a hierarchy of CSV: in each row a value and its labels from level 1 up.

    Parameters
    ----------
    path : Path
        UTF-8, with or without a byte order mark. Semicolon, tab or comma separates; which one is found out: by it
        all rows have equally many cells. Cells may stand in double quotes; white space around them is left out.
    field : str
        The field whose values these are.
    header : bool
        The first row has names, and is left out.

    Returns
    -------
    Hierarchy

    Raises
    ------
    UsageError
        The file cannot be read, has no row or no level; rows differ in length; a cell is empty or has control
        characters; a value stands twice with different labels; values with one label at a level have several at the
        next. The line is named.

    Notes
    -----
    Source: the CSV of generalization hierarchies of ARX (Prasser and Kohlmayer 2015).
    """
    return hierarchy_in(read_text(path, f"hierarchy of {field}"), path, field, header=header)


def hierarchy_in(text: str, path: Path, field: str, *, header: bool = False) -> Hierarchy:
    """Read the text of a hierarchy as `read_hierarchy` reads a file, whose path stands in messages.

    Raises
    ------
    UsageError
        As for `read_hierarchy`.
    """
    lines, rows = _rows(path, field, text)
    lines, rows = lines[header:], rows[header:]
    if not rows:
        raise UsageError.of("bad-hierarchy", path, field=Field(field), detail="it has no values")
    height = len(rows[0]) - 1
    if not height:
        raise UsageError.of(
            "bad-hierarchy", Place(str(path), lines[0]), field=Field(field), detail="it has one column"
        )
    first: dict[str, tuple[int, list[str]]] = {}
    for line, row in zip(lines, rows, strict=True):
        detail = _wrong_labels(row)
        if len(row) != height + 1:
            detail = f"this line has {counted(len(row), 'cell')}, and line {lines[0]} has {height + 1}"
        earlier, other = first.setdefault(row[0], (line, row))
        if not detail and other != row:
            detail = f"line {earlier} has the same value with other labels"
        if detail:
            raise UsageError.of("bad-hierarchy", Place(str(path), line), field=Field(field), detail=detail)
    _require_nested(path, field, first.values())
    return _of_rows(field, (row for _, row in first.values()))


def _rows(path: Path, field: str, text: str) -> tuple[list[int], list[list[str]]]:
    """Return the lines and rows that are not empty, by the separator that gives all of them equally many cells."""
    found: list[tuple[list[int], list[list[str]]]] = []
    broken: UsageError | None = None
    for separator in _SEPARATORS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
        lines: list[int] = []
        rows: list[list[str]] = []
        try:
            for row in reader:
                cells = [cell.strip() for cell in row]
                if any(cells):
                    lines.append(reader.line_num)
                    rows.append(cells)
        except csv.Error as error:
            place = Place(str(path), reader.line_num)
            broken = broken or UsageError.of(
                "bad-hierarchy", place, field=Field(field), detail=f"it is no CSV: {error}"
            )
            continue
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            return lines, rows
        found.append((lines, rows))
    if broken:
        raise broken
    return next((one for one in found if one[1] and len(one[1][0]) > 1), found[0])


def _wrong_labels(row: Sequence[str]) -> str:
    for at, cell in enumerate(row):
        what = f"the label at level {at}" if at else "the value"
        if not cell:
            return f"{what} is empty"
        if _CONTROL.search(cell):
            return f"{what} has a control character"
    return ""


def _require_nested(path: Path, field: str, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
    """Require of rows, each with its line, that values of one label have one label at the next level."""
    above: dict[tuple[int, str], tuple[int, str]] = {}
    for line, row in rows:
        for level, (label, higher) in enumerate(pairwise(row[1:]), 1):
            earlier, other = above.setdefault((level, label), (line, higher))
            if other != higher:
                detail = f"its label at level {level} has another label above it in line {earlier}"
                raise UsageError.of("bad-hierarchy", Place(str(path), line), field=Field(field), detail=detail)


def _of_rows(field: str, rows: Iterable[Sequence[str]]) -> Hierarchy:
    columns = list(zip(*rows, strict=True))
    levels = (dict(zip(columns[0], labels, strict=True)) for labels in columns)
    return Hierarchy(field, tuple(MappingProxyType(labels) for labels in levels))


def written(hierarchy: Hierarchy) -> bytes:
    """Return a hierarchy as CSV that `read_hierarchy` and ARX read: UTF-8, separated by semicolons, no header."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=";", lineterminator="\n")
    writer.writerows([labels[value] for labels in hierarchy.levels] for value in hierarchy.levels[0])
    return stream.getvalue().encode()


def widths(field: str, values: Iterable[str], width: Fraction | int, levels: int = 4, origin: int = 0) -> Hierarchy:
    """Make a hierarchy of intervals that double.

    Parameters
    ----------
    field : str
    values : iterable of str
        Numbers, as they are spelled.
    width : Fraction or int
        Of the intervals of level 1, above 0; those of level i are ``2**(i - 1)`` as wide.
    levels : int
        How many levels are above the values; at the last, all are ``*``.
    origin : int
        Where an interval begins.

    Returns
    -------
    Hierarchy
        Values rise. Whole numbers in intervals of whole width are listed from the lower end of the lowest of the
        widest intervals to the upper end of the highest, up to 10,000 of them: so the list does not tell which of
        them the file has, and a later file finds its values. Beyond that, and for other numbers, `values` are listed.
        Labels are ``15-19``, or ``[2.5, 5)`` where numbers are not whole or are below 0: closed below, open above.

    Raises
    ------
    UsageError
        There is no value, one is not a decimal number, `width` is not above 0, or `levels` is below 1.
    """
    if width <= 0:
        raise UsageError.of("bad-value", name="the width of the intervals", expected="above 0", given=str(width))
    _require_levels(levels)
    spelled = {value: _number(field, value) for value in values}
    if not spelled:
        raise UsageError.of("no-hierarchy", field=Field(field), detail="has no values")
    width, widest = Fraction(width), Fraction(width) * 2 ** max(0, levels - 2)
    whole = width.denominator == 1 and all(_WHOLE.fullmatch(value) for value in spelled)
    if whole:
        low, high = (origin + widest * ((end(spelled.values()) - origin) // widest) for end in (min, max))
        if high + widest - low <= _LISTED:
            spelled = {str(number): Fraction(number) for number in range(int(low), int(high + widest))}
    plain = whole and min(spelled.values()) >= 0
    rows = []
    for value, number in sorted(spelled.items(), key=lambda item: (item[1], item[0])):
        labels = [_interval(number, width * 2**level, origin, plain=plain) for level in range(levels - 1)]
        rows.append([value, *labels, ANY])
    return _of_rows(field, rows)


def _number(field: str, value: str) -> Fraction:
    if not _NUMBER.fullmatch(value):
        raise UsageError.of("no-hierarchy", field=Field(field), detail="has a value that is not a decimal number")
    return Fraction(value if value[-1] != "." else value[:-1])


def _interval(number: Fraction, width: Fraction, origin: int, *, plain: bool) -> str:
    low = origin + width * ((number - origin) // width)
    if not plain:
        return f"[{_decimal(low)}, {_decimal(low + width)})"
    return str(low) if width == 1 else f"{low}-{low + width - 1}"


def _decimal(number: Fraction) -> str:
    """Write a number as a decimal where it is one."""
    if number.denominator == 1:
        return str(number.numerator)
    scale = next((places for places in range(1, 19) if 10**places % number.denominator == 0), None)
    if scale is None:
        return str(number)
    digits = str(abs(int(number * 10**scale))).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def prefixes(field: str, values: Iterable[str], lengths: Sequence[int]) -> Hierarchy:
    """Make a hierarchy of codes by their beginnings, as in ``47.11``, ``47.1``, ``47``, ``*``.

    Parameters
    ----------
    field : str
    values : iterable of str
        Codes, such as those of NACE or ISCO.
    lengths : sequence of int, shape (levels - 1,)
        Letters and digits that a code keeps at levels 1, 2, ...: falling, above 0. Other characters count nothing,
        and none stands at the end of a label. What is shorter stays as it is. The level above them is ``*``.

    Returns
    -------
    Hierarchy
        Values in the order of their characters.

    Raises
    ------
    UsageError
        There is no value, or lengths are not falling or not above 0.
    """
    if any(length < 1 for length in lengths) or any(a <= b for a, b in pairwise(lengths)):
        shown = ",".join(map(str, lengths))
        raise UsageError.of(
            "bad-value", name="the lengths", expected="falling numbers above 0, such as 3,2", given=shown
        )
    known = sorted(set(values))
    if not known:
        raise UsageError.of("no-hierarchy", field=Field(field), detail="has no values")
    return _of_rows(field, ([value, *(_beginning(value, length) for length in lengths), ANY] for value in known))


def _beginning(code: str, length: int) -> str:
    ends = [at for at, character in enumerate(code, 1) if character.isalnum()]
    return code[: ends[length - 1]] if len(ends) > length else code


def _require_levels(levels: int) -> None:
    if levels < 1:
        raise UsageError.of("bad-value", name="the number of levels", expected="1 or more", given=str(levels))
