"""Stata files (.dta): types, formats, labels, extended missing values and dates are kept.

pyreadstat reads them. pandas writes them, as it alone keeps the types of numbers and writes the same bytes each time;
and it is a witness of what is read.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandas.io import stata as pandas_stata

from masktron.errors import DocumentError, UsageError
from masktron.recodings import exact_number
from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_values import UnfitError, no_room
from masktron.sources.tables.column_names import NamesAllowed, xml_names
from masktron.sources.tables.column_strings import column_of
from masktron.sources.tables.created_columns import Created, created_column, texts_lost
from masktron.sources.tables.pyreadstat_files import read_file
from masktron.sources.tables.read_statistical import rows_again, stata_clock
from masktron.sources.tables.release import Release
from masktron.sources.tables.stored_values import Clock, StoredColumn
from masktron.sources.tables.table_format import LexemeRow, Options, SecondReading, TableFormat, UnreadError
from masktron.sources.variables import NONE, Typed, Variable

_PANDAS: Any = pandas_stata  # types of pandas leave its names out
_STATA = "a Stata file"
_ORIGIN = datetime.datetime(1960, 1, 1)
_ROWS = 1 << 14
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TAGS = frozenset(f".{letter}" for letter in _LETTERS)
_UNITS = {"days": Decimal(86_400), "milliseconds": Decimal("0.001")}
_SHOWN = re.compile(r"%-?0?(\d+)[.,](\d+)fc?")
_COUNTED = re.compile("%-?t")
"""How formats of weeks, months and the like begin, and those of moments."""
_SHOWN_TEXT = re.compile(r"%([-~]?)\d\d+s")
_BINARY = re.compile(rb"GSO(?:...\0.{5}\0{3}|...\0.{4}|\0...\0{3}.{5}|\0....{4})\x81", re.DOTALL)
"""How a strL of bytes begins: its variable and its record, in all releases and both orders of bytes, and its type."""
_LEAST_SHOWN = 9
"""Characters of the format that Stata gives to a short text."""
_LONGEST_TEXT = 2045
"""Bytes of a text that is no strL."""
_LONGEST_LABEL = 80
_DTYPES = {"int8": np.int8, "int16": np.int16, "int32": np.int32, "float": np.float32, "double": np.float64}
_LARGEST = {1: 100, 2: 32_740, 4: 2_147_483_620}
"""Of the integer types, by their bytes; what is above stands for missing values."""
_MISSING = {
    np.dtype(np.float32): (np.uint32, 0x7F000000, 0x800),
    np.dtype(np.float64): (np.uint64, 0x7FE0000000000000, 0x10000000000),
}
"""Of the floating types: the bits of ``.``, and what each letter adds to them."""
_CANNOT_READ = (ValueError, NotImplementedError)
"""What pandas raises for files that it does not read; all else is that the file is damaged."""
_RESERVED = "_all _b byte _coef _cons double float if in int long _n _N _pi _pred _rc _skip strL using with"
_ALLOWED = "letters, digits and '_', at most 32, beginning with no digit"
_NAMES = NamesAllowed("Stata", re.compile(r"[^\W\d]\w{0,31}"), 32, 128, _ALLOWED, frozenset(_RESERVED.split()))


@dataclass(frozen=True, slots=True, eq=False)
class StataColumn:
    """A column as a file stores and shows it.

    Attributes
    ----------
    stored : StoredColumn
    shown : str
        Its display format; empty for the one that Stata gives to its type.
    long : bool
        Its texts are of the type strL.
    """

    stored: StoredColumn
    shown: str = ""
    long: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class StataCarried:
    """What a Stata file holds beside the lexemes.

    Attributes
    ----------
    columns : mapping of str to StataColumn
        By the name of the field.
    encoding : str or None
        Of the texts of a file older than Stata 14; None for UTF-8.
    """

    columns: Mapping[str, StataColumn]
    encoding: str | None


class StataFormat(TableFormat):
    """Stata: what pyreadstat reads is read, and written for Stata 14 and later."""

    name: ClassVar[str] = "stata"
    exact_digits: ClassVar[int | None] = 15
    labels_numbers: ClassVar[bool] = True
    copies: ClassVar[bool] = True
    compared: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {"encoding": "of the texts of a file older than Stata 14"}

    def read(self, path: Path, options: Options) -> Dataset:
        """Read a file."""
        asked, old = options.get("encoding"), _is_old(path)
        # as lists: in arrays of integers, pyreadstat 1.3 leaves a missing value after a code as chance has it
        how = {"user_missing": True, "output_format": "dict"}
        found, meta = read_file(path, _STATA, "read_dta", encoding=asked if old else None, **how)
        cells, variables, columns = {}, [], {}
        for name, column in zip(xml_names(found, str(path)), found, strict=True):
            shown = meta.original_variable_types[column] or ""
            stored = _stored(column, found[column], meta.readstat_variable_types[column], shown)
            columns[name] = StataColumn(stored, shown, stored.text and not meta.variable_storage_width[column])
            cells[name] = stored.lexemes(str(path))
            variables.append(_variable(name, stored, meta))
        if any(column.long for column in columns.values()) and _BINARY.search(path.read_bytes()):
            detail = "it holds binary data, which are no text"
            raise DocumentError.of("file-damaged", path, format=_STATA, detail=detail)
        rows = max((len(column.stored.values) for column in columns.values()), default=0)
        return replace(
            Dataset.of_columns(path, map(column_of, variables, cells.values()), rows),
            title=meta.file_label or "",
            format_state=StataCarried(columns, (asked or "cp1252") if old else None),
            notes=(f"not written again: notes of the file: {len(meta.notes):,}",) if meta.notes else (),
            of_release=("Stata files are written for Stata 14 and later",) if old else (),
        )

    def read_again(self, path: Path, table: Dataset) -> SecondReading:
        """Read the file with pandas."""
        as_stored = {"convert_dates": False, "convert_categoricals": False, "convert_missing": True}
        try:
            with _PANDAS.StataReader(path, **as_stored) as reader:
                frame = reader.read()
                # pandas has no public name for the formats
                formats, types = reader._fmtlist, reader._typlist
        except _CANNOT_READ as problem:  # what it says may quote a value
            raise UnreadError(f"pandas ends with {type(problem).__name__}") from problem
        clocks, encoding = [stata_clock(shown) for shown in formats], table.format_state.encoding

        def rows() -> Iterator[LexemeRow]:
            for start in range(0, len(frame), _ROWS):
                piece = frame.iloc[start : start + _ROWS]
                columns = [_objects(piece.iloc[:, at], kind, encoding) for at, kind in enumerate(types)]
                yield from rows_again(columns, clocks)

        return SecondReading(tuple(frame.columns), rows())

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a file with the types, formats and labels of the original."""
        del options
        like: StataCarried | None = release.original.format_state
        held = {} if like is None else like.columns
        columns = [
            _released(held[one.name], one, release) if one.name in held else _new(one, release.cells(one.name))
            for one in release.variables
        ]
        _save(target, release.original.title, release.variables, columns)

    def form(self, table: Dataset) -> Iterator[str]:
        """Say that formats stay behind which show a number as a week, a month or the like."""
        columns: Mapping[str, StataColumn] = table.format_state.columns
        counted = [one for one in columns.values() if _COUNTED.match(one.shown) and one.stored.clock is None]
        if counted:
            yield f"display formats: {', '.join(f'{one.stored.name} ({one.shown})' for one in counted)}"

    def losses(self, table: Dataset) -> Iterator[str]:
        """Say what Stata cannot hold."""
        yield from texts_lost(table)


def _is_old(path: Path) -> bool:
    """Whether a file is older than Stata 14, so that its texts are not in UTF-8."""
    with path.open("rb") as stream:
        head = stream.read(40)
    return not head.startswith(b"<stata_dta>") or b"<release>117<" in head


def _clock(what: Any) -> Clock:
    return Clock(what, _ORIGIN.date(), _UNITS["days" if what == "date" else "milliseconds"])


def _stored(name: str, values: list[Any], kind: str, shown: str) -> StoredColumn:
    if kind not in _DTYPES:
        texts = np.array([text if isinstance(text, str) else "" for text in values], dtype=np.object_)
        return StoredColumn(name, texts, np.array([not text.strip() for text in texts], dtype=np.bool_))
    tags = np.array([f".{value}" if isinstance(value, str) else None for value in values], dtype=np.object_)
    absent = np.array([value is None for value in values], dtype=np.bool_)
    plain = (0 if tag or value is None else value for tag, value in zip(tags, values, strict=True))
    typed = np.array([*plain], dtype=_DTYPES[kind])
    if typed.dtype.kind == "i" and (typed > _LARGEST[typed.dtype.itemsize]).any():
        typed = typed.astype(np.float64)  # before Stata 8, fewer integers stood for missing values
    words, found = stata_clock(shown), _SHOWN.fullmatch(shown)
    clock = _clock(words[0]) if words else None
    width, decimals = (int(found[1]), int(found[2])) if found else (None, None)
    return StoredColumn(name, typed, absent, tags if any(tags) else None, clock, decimals, width)


def _variable(name: str, stored: StoredColumn, meta: Any) -> Variable:
    labels = meta.variable_value_labels.get(stored.name, {})
    said = {_code(code, stored.clock): label for code, label in labels.items()}
    tags = () if stored.tags is None else filter(None, stored.tags)
    label = meta.column_names_to_labels.get(stored.name) or ""
    said = dict.fromkeys(tags, "") | said
    return Variable(
        name,
        stored.name,
        label,
        labels={code: label for code, label in said.items() if code not in _TAGS},
        missing={code: said[code] for code in sorted(_TAGS.intersection(said))},
        typed=_typed(stored),
        stored=stored.arrow,
    )


def _code(code: float | str, clock: Clock | None) -> str:
    """Return the lexeme of a value that has a label; the number that stands for a moment that no cell can be."""
    if isinstance(code, str):
        return f".{code}"
    with suppress(UnfitError):
        return str(int(code)) if clock is None else clock.lexeme(code)
    return str(int(code))


def _typed(stored: StoredColumn) -> Typed:
    """Return what a column can hold: the largest integers of a type stand for missing values."""
    if stored.text or stored.values.dtype.kind == "f":
        return stored.typed
    largest = _LARGEST[stored.values.dtype.itemsize]
    return replace(stored.typed, lower=Fraction(-largest - 27), upper=Fraction(largest))


def _objects(values: pd.Series[Any], kind: object, encoding: str | None) -> list[object]:
    """Return the values of a piece of a column of pandas as numbers and texts.

    pandas makes doubles of those of single precision beside a code, and takes all texts of old files for Latin-1.
    """

    def plain(value: Any) -> object:
        if isinstance(value, _PANDAS.StataMissingValue):
            return None if value.string == "." else value.string
        if isinstance(value, str) and encoding is not None:
            return value.encode("latin-1").decode(encoding)
        return np.float32(value) if kind == "f" else value

    return [plain(value) for value in values]


def _released(own: StataColumn, variable: Variable, release: Release) -> StataColumn:
    """Return what is released of a column, in a type that holds what was recoded."""
    if variable.recoded and not own.stored.text:
        own = StataColumn(_with_room(own.stored, variable.recoded))
    name, shown = variable.name, own.shown
    stored = own.stored.released(release.rows, release.changed(name), release.cells(name), _TAGS)
    if stored.text and not release.as_it_was(name):
        # a width may be that of the longest text of the original
        shown = _SHOWN_TEXT.sub(rf"%\g<1>{max(_longest(stored), _LEAST_SHOWN)}s", shown)
    return StataColumn(stored, shown, own.long)


def _new(variable: Variable, cells: pa.ChunkedArray) -> StataColumn:
    """Return a column that no file has."""
    one = created_column(variable, cells, _clock, _TAGS)
    stored, shown = one.column, ""
    if stored.clock is not None:
        shown = {"date": "%td", "datetime": "%tc", "time": "%tcHH:MM:SS"}[stored.clock.what]
    elif variable.stored is not None and pa.types.is_decimal(variable.stored) and one.decimals:
        shown = f"%{max(9, one.width + 1)}.{min(one.decimals, 16)}f"
    elif variable.typed.shown is not None and not stored.text:
        width, places = variable.typed.shown
        shown = f"%{max(width, one.width)}.{min(max(places, one.decimals), 16)}f"
    return StataColumn(_narrowed(stored, variable.stored), shown)


def _with_room(stored: StoredColumn, lexemes: Sequence[str]) -> StoredColumn:
    """Return an empty column of numbers in a type that holds some: its own one if that can."""
    numbers = [number for lexeme in lexemes if (number := exact_number(lexeme)) is not None]
    kind = stored.values.dtype
    if kind.kind == "i":
        largest = max(map(abs, numbers), default=0)
        whole = all(number.denominator == 1 for number in numbers)
        sizes = [size for size, most in _LARGEST.items() if size >= kind.itemsize and whole and largest <= most]
        kind = np.dtype(f"i{sizes[0]}") if sizes else np.dtype(np.float64)
    size = len(stored.values)
    return StoredColumn(stored.name, np.zeros(size, dtype=kind), np.ones(size, dtype=np.bool_))


def _narrowed(stored: StoredColumn, kind: pa.DataType | None) -> StoredColumn:
    """Return a column as integers where each number is one; short ones where another format has them short."""
    if stored.text or stored.clock is not None:
        return stored
    gone = stored.absent if stored.tags is None else stored.absent | (stored.tags != None)  # noqa: E711 -- elementwise
    numbers, integers = stored.values[~gone], kind is not None and pa.types.is_integer(kind)
    if (numbers != np.floor(numbers)).any() or (np.signbit(numbers) & (numbers == 0)).any():
        return stored
    if not numbers.size and not integers:
        return stored
    least = kind.bit_width // 8 if kind is not None and integers else 4
    largest = np.abs(numbers).max(initial=0)
    size = next((size for size, most in _LARGEST.items() if size >= min(least, 4) and largest <= most), None)
    return stored if size is None else replace(stored, values=np.where(gone, 0, stored.values).astype(f"i{size}"))


class _Writer(_PANDAS.StataWriterUTF8):  # type: ignore[misc]
    """The writer of pandas, without its changes of names that only Mata reserves, such as ``class``."""

    def _check_column_names(self, data: pd.DataFrame) -> pd.DataFrame:
        return data


def _save(target: Path, title: str, variables: Sequence[Variable], columns: Sequence[StataColumn]) -> None:
    """Write a file whose time stamp is always the same.

    pandas writes no extended missing values and no formats of its own: it is told the types of the columns first, and
    then given the cells as they are stored.

    Raises
    ------
    UsageError
        Stata cannot hold a name or a value.
    """
    _NAMES.require([variable.column for variable in variables])
    cells: dict[str, pd.Series[Any]] = {}
    raw, labels, long = {}, {}, []
    for variable, column in zip(variables, columns, strict=True):
        name, stored = variable.column, column.stored
        if stored.text:
            cells[name] = pd.Series(stored.texts, dtype=object)
            if column.long or _longest(stored) > _LONGEST_TEXT:
                long.append(name)
        else:
            raw[name], labels[name] = _raw(stored), _numbered(variable, stored)
            cells[name] = pd.Series(np.zeros_like(raw[name]))
    try:
        writer = _Writer(
            target,
            pd.DataFrame(cells),
            write_index=False,
            byteorder="little",
            time_stamp=_ORIGIN,
            data_label=title[:_LONGEST_LABEL],
            variable_labels={v.column: v.label[:_LONGEST_LABEL] for v in variables if v.label},
            value_labels={name: named for name, named in labels.items() if named},
            convert_strl=long,
        )
        for name, values in raw.items():
            writer.data[name] = values
        writer.fmtlist = [column.shown or own for column, own in zip(columns, writer.fmtlist, strict=True)]
        writer.write_file()
    except ValueError as error:
        raise UsageError.of("cannot-hold", target, format="Stata", detail=f"this table: {error}") from error


def _longest(stored: StoredColumn) -> int:
    """Return the bytes of the longest text."""
    return max((len(text.encode()) for text in stored.texts), default=0)


def _numbered(variable: Variable, stored: StoredColumn) -> dict[int, str]:
    """Return the labels of values, by the integers for which Stata has labels: those of its missing values, too."""
    found = {}
    for code, label in {**variable.labels, **variable.missing}.items():
        number = exact_number(code)
        if code in _TAGS:
            found[_LARGEST[4] + 2 + _LETTERS.index(code[1])] = label
            continue
        if number is None:
            number = Fraction(Created(stored).value(code))
        if number.denominator == 1 and abs(number) <= _LARGEST[4]:
            found[int(number)] = label
    return {number: label for number, label in found.items() if label}


def _raw(stored: StoredColumn) -> NDArray[Any]:
    """Return the cells of a column of numbers as a file stores them.

    Raises
    ------
    UsageError
        One is out of range.
    """
    values = stored.values
    places = np.zeros(len(values), dtype=np.uint64)
    if stored.tags is not None:
        places += np.array([0 if tag is None else _LETTERS.index(tag[1]) + 1 for tag in stored.tags], np.uint64)
    gone = stored.absent | (places > 0)
    if values.dtype.kind == "i":
        largest = _LARGEST[values.dtype.itemsize]
        outside = (values.astype(np.int64) > largest) | (values.astype(np.int64) < -largest - 27)
        missing = (np.uint64(largest + 1) + places).astype(values.dtype)
    else:
        unsigned, first, step = _MISSING[values.dtype]
        outside = np.abs(values) >= np.array([first], unsigned).view(values.dtype)[0]
        missing = (np.uint64(first) + places * np.uint64(step)).astype(unsigned).view(values.dtype)
    if (outside & ~gone).any():
        raise no_room(stored.name, "it is out of range of its type", "a wider type (recast double)")
    return np.where(gone, missing, values)
