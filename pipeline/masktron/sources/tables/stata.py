"""Stata files (.dta): types, labels, extended missing values, formats, notes and dates are kept."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
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
from masktron.sources.column_forms import ColumnForm
from masktron.sources.records import Typed
from masktron.sources.tables.arrow_values import no_room
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.created_columns import created_columns, texts_lost
from masktron.sources.tables.new_names import NamesAllowed
from masktron.sources.tables.pyreadstat_files import pyreadstat_library, read_file
from masktron.sources.tables.read_statistical import rows_again, stata_clock
from masktron.sources.tables.stata_reshaped import reshaped_file, reshaped_stored
from masktron.sources.tables.stata_sections import LONGEST_TEXT, StataFile, stata_bytes, stata_file
from masktron.sources.tables.stored_values import Clock, StoredColumn
from masktron.sources.tables.table_format import LexemeRow, Options, SecondReading, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease, losses_by_column
from masktron.sources.variables import Variable

# types of pandas leave these names out
StataReader = getattr(pandas_stata, "StataReader")  # noqa: B009
StataMissingValue = getattr(pandas_stata, "StataMissingValue")  # noqa: B009

_STATA = "a Stata file"
_OUT_OF_RANGE = "it is out of range of its type", "a wider type (recast double)"
_ORIGIN = datetime.date(1960, 1, 1)
_ROWS = 1 << 14
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TAGS = frozenset(f".{letter}" for letter in _LETTERS)
_UNITS = {"days": Decimal(86_400), "milliseconds": Decimal("0.001")}
_SHOWN = re.compile(r"%-?0?(\d+)[.,](\d+)fc?")
_DTYPES = {"int8": np.int8, "int16": np.int16, "int32": np.int32, "float": np.float32, "double": np.float64}
_LARGEST = {1: 100, 2: 32_740, 4: 2_147_483_620}
"""Of the integer types; what is above stands for missing values."""
_RESERVED = frozenset(
    [
        "_all",
        "_b",
        "byte",
        "_coef",
        "_cons",
        "double",
        "float",
        "if",
        "in",
        "int",
        "long",
        "_n",
        "_N",
        "_pi",
        "_pred",
        "_rc",
        "_skip",
        "strL",
        "using",
        "with",
    ]
)
_NAMES = NamesAllowed(
    "Stata",
    re.compile(r"[^\W\d]\w{0,31}"),
    32,
    128,
    "letters, digits and '_', at most 32, beginning with no digit",
    _RESERVED,
)


@dataclass(frozen=True, slots=True, eq=False)
class StataCarried:
    """What a Stata file holds beside the lexemes.

    Attributes
    ----------
    columns : mapping of str to StoredColumn
        By the name of the field.
    file : StataFile
    clocks : tuple
        Of the columns.
    """

    columns: Mapping[str, StoredColumn]
    file: StataFile


class StataFormat(TableFormat):
    """Stata, from release 8 on."""

    name: ClassVar[str] = "stata"
    exact_digits: ClassVar[int | None] = 15
    labels_numbers: ClassVar[bool] = True
    copies: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {"encoding": "of the texts of a file older than Stata 14"}

    def read(self, path: Path, options: Options) -> Table:
        """Read a file."""
        # as lists: in arrays of integers, pyreadstat 1.3 leaves a missing value after a code as chance has it
        found, meta = read_file(
            path, _STATA, "read_dta", user_missing=True, encoding=options.get("encoding"), output_format="dict"
        )
        try:
            file = stata_file(path.read_bytes())
        except (ValueError, KeyError, IndexError, TypeError) as problem:
            raise DocumentError.of("file-damaged", path, format=_STATA, detail=str(problem)) from None
        names = xml_names(found, str(path))
        cells, variables, columns = {}, [], {}
        for name, column in zip(names, found, strict=True):
            kind = meta.readstat_variable_types[column]
            shown = meta.original_variable_types[column] or ""
            stored = _stored(column, found[column], kind, shown)
            columns[name], cells[name] = stored, stored.lexemes(str(path))
            variables.append(_variable(name, stored, meta))
        return Table(
            tuple(variables),
            pa.table(cells),
            title=meta.file_label or "",
            carried=StataCarried(columns, file),
            of_release=tuple(_documents(file)),
        )

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the file with pandas, piece by piece."""
        del table
        opened: Any = StataReader(path)
        with opened as head:
            head.variable_labels()  # reads the header
            # pandas has no public name for the formats
            names, formats, types = head._varlist, head._fmtlist, head._typlist
        clocks, single = [stata_clock(shown) for shown in formats], [kind == "f" for kind in types]

        def rows() -> Iterator[LexemeRow]:
            with pd.read_stata(
                path,
                convert_dates=False,
                convert_categoricals=False,
                convert_missing=True,
                preserve_dtypes=True,
                chunksize=_ROWS,
            ) as reader:
                for piece in reader:
                    columns = [_objects(piece.iloc[:, at], single=low) for at, low in enumerate(single)]
                    yield from rows_again(columns, clocks)

        return SecondReading(tuple(names), rows())

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table in which some columns have other types, formats and labels."""
        carried: StataCarried = table.carried
        columns, file = dict(carried.columns), carried.file
        for at, variable in enumerate(table.variables):
            if (form := forms.get(variable.name)) is None:
                continue
            columns[variable.name] = reshaped_stored(columns[variable.name], form)
            file = reshaped_file(file, at, columns[variable.name], form)
        return replace(table, carried=replace(carried, columns=columns, file=file))

    def write(self, target: Path, release: TableRelease) -> None:
        """Write the sections of the original, with the rows that are released."""
        carried: StataCarried = release.original.carried
        file = carried.file
        position = {v.name: at for at, v in enumerate(release.original.variables)}
        kept = [position[v.name] for v in release.variables]
        taken = file.rows[release.rows]
        cells, texts, lengths = {}, {}, {}
        for variable, at in zip(release.variables, kept, strict=True):
            kind, changed = file.rows.dtype[at], release.changed(variable.name)
            if kind.kind == "S":  # what stands behind the end of a text is not copied
                changed = np.ones(len(taken), dtype=np.bool_)
            column = carried.columns[variable.name].released(
                release.rows, changed, release.cells[variable.name], _TAGS
            )
            if kind.kind == "S" and not release.as_it_was(variable.name):
                # a width may be that of the longest text of the original
                lengths[at] = _longest(column, file.release)
                kind = np.dtype(f"S{lengths[at]}")
            found = taken[str(at)].astype(kind)
            if kind.kind == "u":
                texts[at] = ["" if gone else text for text, gone in zip(column.values, column.absent, strict=True)]
            elif changed.any():
                found[changed] = _raw(column, changed, kind, file.release)
            cells[at] = found
        rows = np.empty(len(taken), dtype=[(str(at), cells[at].dtype) for at in kept])
        for at in kept:
            rows[str(at)] = cells[at]
        file = file.of_lengths(lengths)
        with target.open("wb") as stream:
            stream.writelines(stata_bytes(file, kept, rows, texts))

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new file, of Stata 14 and later."""
        del options
        pyreadstat = pyreadstat_library()
        _NAMES.require([variable.column for variable in table.variables])
        made = created_columns(table, _clock, _TAGS)
        series, labels, tags, formats = {}, {}, {}, {}
        for variable, one in zip(table.variables, made, strict=True):
            column, name = one.column, variable.column
            series[name] = _series(column)
            said = {**variable.labels, **variable.missing}
            named = {one.value(code): label for code, label in said.items() if label}
            if named and not column.text and all(isinstance(code, str) or code == int(code) for code in named):
                labels[name] = {code if isinstance(code, str) else int(code): label for code, label in named.items()}
            used = {code[1:] for code in variable.missing if code in _TAGS}
            used |= set() if column.tags is None else {tag[1:] for tag in column.tags if tag is not None}
            if used and not column.text:
                tags[name] = sorted(used)
            if variable.stored is not None and pa.types.is_decimal(variable.stored) and one.decimals:
                formats[name] = f"%{max(9, one.width + 1)}.{min(one.decimals, 16)}f"
            elif variable.typed.shown is not None and not column.text:
                width, places = variable.typed.shown
                formats[name] = f"%{max(width, one.width)}.{min(max(places, one.decimals), 16)}f"
            if column.clock is not None:
                formats[name] = {"date": "%td", "datetime": "%tc", "time": "%tcHH:MM:SS"}[column.clock.what]
        try:
            pyreadstat.write_dta(
                pd.DataFrame(series),
                str(target),
                file_label=table.title[:80],
                column_labels={v.column: v.label[:80] for v in table.variables if v.label},
                version=15 if len(made) > _MOST_OF_14 else 14,
                variable_value_labels=labels,
                missing_user_values=tags,
                variable_format=formats,
            )
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
            raise UsageError.of("cannot-hold", target, format="Stata", detail=f"this table: {error}") from error

    def form(self, table: Table) -> Iterator[str]:
        """Say that its notes and characteristics stay behind."""
        if count := len(table.carried.file.characteristics):
            yield f"notes and characteristics of the file: {count:,}"

    def losses(self, table: Table) -> Iterator[str]:
        """Say what Stata cannot hold."""
        yield from losses_by_column(
            table,
            *texts_lost(table),
            (
                "which codes mean 'missing', as they are no extended missing values (.a to .z)",
                lambda v: v.missing and (v.typed.text or not _TAGS.issuperset(v.missing)),
            ),
            (
                "labels of values of texts or fractions",
                lambda v: v.labels and (v.typed.text or any("." in code for code in v.labels)),
            ),
            ("labels beyond 80 characters", lambda v: len(v.label) > 80),
            ("which variable is the weight", lambda v: v.weight),
            ("kinds of variables", lambda v: v.kind is not None),
        )
        if len(table.title) > 80:
            yield "what the title of the file has beyond 80 characters"


_MOST_OF_14 = 32_767
"""Variables of a file that Stata 14 reads."""


def _clock(what: Any) -> Clock:
    return Clock(what, _ORIGIN, _UNITS["days" if what == "date" else "milliseconds"])


def _stored(name: str, values: list[Any], kind: str, shown: str) -> StoredColumn:
    if kind not in _DTYPES:
        texts = np.array([text if isinstance(text, str) else "" for text in values], dtype=np.object_)
        return StoredColumn(name, texts, np.array([not text.strip() for text in texts], dtype=np.bool_))
    held = np.array(values, dtype=np.object_)
    lettered = np.array([isinstance(value, str) for value in values], dtype=np.bool_)
    tags = None
    if lettered.any():
        tags = np.full(len(held), None, dtype=np.object_)
        tags[lettered] = [f".{letter}" for letter in held[lettered]]
    absent = np.array([value is None for value in values], dtype=np.bool_)
    held[absent | lettered] = 0
    typed = held.astype(_DTYPES[kind])
    if words := stata_clock(shown):
        return StoredColumn(name, typed, absent, tags, Clock(words[0], _ORIGIN, _UNITS[words[2]]))
    found = _SHOWN.fullmatch(shown)
    if found is None:
        return StoredColumn(name, typed, absent, tags)
    return StoredColumn(name, typed, absent, tags, None, int(found[2]), int(found[1]))


def _variable(name: str, stored: StoredColumn, meta: Any) -> Variable:
    column = stored.name
    said = {
        f".{code}" if isinstance(code, str) else str(int(code)): label
        for code, label in meta.variable_value_labels.get(column, {}).items()
    }
    held = set() if stored.tags is None else {tag for tag in stored.tags if tag is not None}
    codes = sorted(held | _TAGS.intersection(said))
    return Variable(
        name,
        column,
        label=meta.column_names_to_labels.get(column) or "",
        labels={code: label for code, label in said.items() if code not in _TAGS},
        missing={code: said.get(code, "") for code in codes},
        typed=_typed(stored),
        stored=stored.arrow,
    )


def _documents(file: StataFile) -> Iterator[str]:
    """Say how many notes and characteristics a file has: they are whatever somebody wrote there."""
    if count := len(file.characteristics):
        yield f"notes and characteristics of the file are copied as they are: {count:,}, look at them"


def _typed(stored: StoredColumn) -> Typed:
    """Return what a column can hold: the largest integers of a type stand for missing values."""
    if stored.text or stored.values.dtype.kind == "f":
        return stored.typed
    largest = _LARGEST[stored.values.dtype.itemsize]
    return replace(stored.typed, lower=Fraction(-largest - 27), upper=Fraction(largest))


def _longest(column: StoredColumn, release: int) -> int:
    """Return the bytes of the longest text, but no more than a file of a release can hold."""
    texts = (text for text, gone in zip(column.values, column.absent, strict=True) if not gone)
    longest = max((len(_encoded(text, release, column.name)) for text in texts), default=0)
    return min(max(1, longest), LONGEST_TEXT[release])


def _raw(column: StoredColumn, changed: NDArray[np.bool_], kind: np.dtype[Any], release: int) -> NDArray[Any]:
    """Return changed cells as the file stores them."""
    values, absent = column.values[changed], column.absent[changed]
    name = column.name
    if column.text:
        encoded = [b"" if gone else _encoded(text, release, name) for text, gone in zip(values, absent, strict=True)]
        if max(map(len, encoded)) > kind.itemsize:
            detail = f"it has more than {kind.itemsize} bytes"
            raise no_room(name, detail, "the type strL (recast strL, Stata 13 and later)")
        return np.array(encoded, dtype=kind)
    places = np.zeros(len(values), dtype=np.int64)
    if column.tags is not None:
        places = np.array([0 if tag is None else _LETTERS.index(tag[1]) + 1 for tag in column.tags[changed]])
    gone = absent | (places > 0)
    if kind.kind == "i":
        largest = _LARGEST[kind.itemsize]
        if ((values.astype(np.int64) > largest) | (values.astype(np.int64) < -largest - 27))[~gone].any():
            raise no_room(name, *_OUT_OF_RANGE)
        return np.where(gone, largest + 1 + places, values).astype(kind)
    raw = values.astype(kind)
    # a missing value is 2 to the highest power, with the letter in the next bits
    bits = {4: (np.uint32, 0x7F000000, 0x800), 8: (np.uint64, 0x7FE0000000000000, 0x10000000000)}[kind.itemsize]
    unsigned, first, step = bits
    codes = (np.uint64(first) + places.astype(np.uint64) * np.uint64(step)).astype(unsigned)
    if (np.abs(values[~gone]) >= np.array([first], unsigned).view(values.dtype)[0]).any():
        raise no_room(name, *_OUT_OF_RANGE)
    found = np.where(gone, codes.view(values.dtype), raw.astype(values.dtype))
    return found.astype(kind)


def _encoded(text: str, release: int, name: str) -> bytes:
    try:
        return text.encode("utf-8" if release >= 118 else "cp1252")
    except UnicodeEncodeError:
        raise no_room(name, "the encoding of the file lacks one of its letters", "the encoding of Stata 14") from None


def _series(column: StoredColumn) -> pd.Series[Any]:
    if column.text:
        return pd.Series(
            ["" if gone else text for text, gone in zip(column.values, column.absent, strict=True)], dtype=object
        )
    values = column.values.astype(np.float64)
    if column.tags is None or all(tag is None for tag in column.tags):
        held = values[~column.absent]
        small = bool((held == np.floor(held)).all()) and bool((np.abs(held) <= _LARGEST[4]).all())
        if small and not column.absent.any() and column.clock is None:
            return pd.Series(values.astype(np.int32))
        return pd.Series(np.where(column.absent, np.nan, values))
    mixed = [
        None if gone else float(value) if tag is None else tag[1:]
        for value, gone, tag in zip(values, column.absent, column.tags, strict=True)
    ]
    return pd.Series(mixed, dtype=object)


def _objects(values: pd.Series[Any], *, single: bool) -> list[object]:
    """Return the values of a piece of a column; pandas makes doubles of those of single precision beside a code."""
    return [
        (None if value.string == "." else value.string)
        if isinstance(value, StataMissingValue)
        else np.float32(value)
        if single
        else value
        for value in values
    ]
