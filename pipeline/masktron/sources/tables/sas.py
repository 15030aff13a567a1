"""SAS: transport files (.xpt), read and written, and data sets (.sas7bdat), which can only be read."""

from __future__ import annotations

import datetime
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_values import unfit_field
from masktron.sources.tables.column_names import NamesAllowed, xml_names
from masktron.sources.tables.column_strings import column_of
from masktron.sources.tables.created_columns import created_column, texts_lost
from masktron.sources.tables.pyreadstat_files import (
    as_series,
    cut,
    is_utf8,
    overwrite,
    pyreadstat_library,
    read_file,
    told_when_unfit,
)
from masktron.sources.tables.read_statistical import rows_again, sas_clock
from masktron.sources.tables.release import Release
from masktron.sources.tables.stored_values import Clock, StoredColumn
from masktron.sources.tables.table_format import Options, SecondReading, TableFormat, UnreadError
from masktron.sources.variables import NONE, Variable

_ORIGIN = datetime.date(1960, 1, 1)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_TAGS = frozenset(f".{letter}" for letter in _LETTERS)
_UNITS = {"days": Decimal(86_400), "seconds": Decimal(1)}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TRANSPORT, _DATA_SET = "a SAS transport file", "a SAS data set"
_LONGEST = {5: 8, 8: 32}
"""Characters of a name, by version."""
_LONGEST_LABEL = {5: 40, 8: 256}
_LONGEST_TEXT = {5: 200, 8: 32_767}
_LONGEST_TITLE = 40
_SMALLEST, _LARGEST = 1e-78, 1e75
"""Between them every double comes back from a transport file as it is."""
_SHOWN = re.compile(r"(\$?[A-Za-z][A-Za-z0-9_]*?|\$|)(\d+)?(?:\.(\d+)?)?")
_AS_SHOWN = frozenset({"", "F", "COMMA", "COMMAX", "DOLLAR", "NUMX", "Z"})
_PLAIN_TEXT = frozenset({"$", "$F", "$CHAR", "$VARYING"})
"""Formats of texts whose width is a length of values."""
_NEW_FORMATS = {"date": "DATE9", "datetime": "DATETIME20", "time": "TIME8"}
_RECORD = 80
_HEADER = b"HEADER RECORD*******"
_TITLE = slice(512, 552)
_TIMES = (144, 160, 464, 480)
"""Offsets of times of writing."""
_NO_TIME = b"01JAN60:00:00:00"


@dataclass(frozen=True, slots=True, eq=False)
class SasCarried:
    """What a SAS file holds beside the lexemes; mappings are by names of columns, as the file has them.

    Attributes
    ----------
    columns : mapping of str to StoredColumn
        By the name of the field.
    formats, informats : mapping of str to str
    widths : mapping of str to int
        Bytes of values.
    encoding : str
        Of texts.
    version : int
        Of a transport file.
    member : str or None
        Name of the data set.
    """

    columns: Mapping[str, StoredColumn]
    formats: Mapping[str, str]
    informats: Mapping[str, str]
    widths: Mapping[str, int]
    encoding: str = "UTF-8"
    version: int = 8
    member: str | None = None


class XportFormat(TableFormat):
    """SAS transport files of version 5 and 8."""

    name: ClassVar[str] = "xpt"
    copies: ClassVar[bool] = True
    compared: ClassVar[bool] = True
    exact_digits: ClassVar[int | None] = 15
    options: ClassVar[Mapping[str, str]] = {
        "encoding": "of its texts, where they are not in UTF-8",
        "version": "of a new file: 5, whose names have at most 8 characters, or 8",
    }

    def read(self, path: Path, options: Options) -> Dataset:
        """Read a file."""
        _version(options)
        content = path.read_bytes()
        if content.find(_HEADER + b"MEMB", 4 * _RECORD) >= 0:
            raise DocumentError.of("file-damaged", path, format=_TRANSPORT, detail="it holds several data sets")
        table = _read(path, _TRANSPORT, "read_xport", options)
        if _is_cut(content, len(table), sum(table.format_state.widths.values())):
            raise DocumentError.of("file-damaged", path, format=_TRANSPORT, detail="it is cut short")
        return replace(
            table,
            title=_text(content[_TITLE]),
            format_state=replace(table.format_state, version=8 if content[20:25] == b"LIBV8" else 5),
        )

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a file with what the original says of its columns; a new one of version 8 unless an option says 5."""
        like: SasCarried = release.original.format_state or SasCarried({}, {}, {}, {})
        version = _version(options) if "version" in options else like.version
        _names_of(version).require([variable.column for variable in release.variables])
        columns, formats, widths = [], dict(like.formats), {}
        for variable in release.variables:
            name, cells, own = variable.column, release.cells(variable.name), like.columns.get(variable.name)
            if own is None or own.text != variable.typed.text or not own.holds(variable.recoded or (), _TAGS):
                made = created_column(variable, cells, _clock, _TAGS).column
                columns.append(made)
                formats[name] = "" if made.clock is None else _NEW_FORMATS[made.clock.what]
                continue
            columns.append(own.released(release.rows, release.changed(variable.name), cells, _TAGS))
            # a length that was made for texts tells how long the longest of them was
            if name in like.widths and release.as_it_was(variable.name):
                widths[name] = like.widths[name]
        carried = replace(like, formats=formats, widths=widths, version=version)
        _save(target, columns, release.variables, carried, release.original.title)

    def losses(self, table: Dataset) -> Iterator[str]:
        """Say what SAS transport files cannot hold."""
        yield from texts_lost(table)


class Sas7bdatFormat(TableFormat):
    """SAS data sets, which nobody outside SAS writes."""

    name: ClassVar[str] = "sas7bdat"
    options: ClassVar[Mapping[str, str]] = {"encoding": "of its texts, where the file does not say it or is wrong"}

    def read(self, path: Path, options: Options) -> Dataset:
        """Read a file."""
        return _read(path, _DATA_SET, "read_sas7bdat", options)

    def read_again(self, path: Path, table: Dataset) -> SecondReading:
        """Read the file with pandas."""
        from pandas.io.sas.sas7bdat import SAS7BDATReader  # noqa: PLC0415 -- it alone leaves dates as they are

        typeless: Any = SAS7BDATReader  # its types leave parameters out
        try:
            with typeless(path, convert_dates=False, encoding=table.format_state.encoding) as reader:
                frame = reader.read()
                clocks = [sas_clock(column.format) for column in reader.columns]
        except (ValueError, LookupError, ArithmeticError, AttributeError, TypeError, struct.error) as problem:
            raise UnreadError(f"pandas ends with {type(problem).__name__}") from None
        columns = [_with_payload(frame.iloc[:, at].to_numpy()) for at in range(frame.shape[1])]
        return SecondReading(tuple(map(str, frame.columns)), rows_again(columns, clocks))


def _version(options: Options) -> int:
    said = options.get("version", "8")
    if said not in ("5", "8"):
        raise UsageError.of("bad-value", name="version", expected="5 or 8", given=said)
    return int(said)


def _names_of(version: int) -> NamesAllowed:
    said = f"letters, digits and '_', at most {_LONGEST[version]}{' (version 8: 32)' if version == 5 else ''}"
    return NamesAllowed(
        f"{_TRANSPORT} of version {version}",
        _NAME,
        _LONGEST[version],
        _LONGEST[version],
        f"{said}, beginning with no digit",
        any_case=True,
    )


def _clock(what: Any) -> Clock:
    return Clock(what, _ORIGIN, _UNITS["days" if what == "date" else "seconds"])


def _read(path: Path, what: str, how: str, options: Options) -> Dataset:
    """Read a file of either kind with pyreadstat."""
    asked = options.get("encoding")
    found, meta = read_file(path, what, how, user_missing=True, encoding=asked, output_format="dict")
    if not found:
        raise DocumentError.of("file-damaged", path, format=what, detail="it has no variables")
    formats = {name: shown or "" for name, shown in meta.original_variable_types.items()}
    columns, variables, cells = {}, [], {}
    for name, column in zip(xml_names(found, str(path)), found, strict=True):
        text = meta.readstat_variable_types[column] == "string"
        stored = columns[name] = _stored(column, found[column], formats[column], text=text)
        cells[name] = stored.lexemes(str(path))
        label = meta.column_names_to_labels.get(column) or ""
        codes = () if stored.tags is None else sorted({tag for tag in stored.tags if tag is not None})
        missing = dict.fromkeys(codes, "")
        variables.append(
            Variable(name, column, label=label, missing=missing, typed=stored.typed, stored=stored.arrow)
        )
    carried = SasCarried(
        columns,
        formats,
        {name: shown or "" for name, shown in meta.original_variable_informats.items()},
        meta.variable_storage_width,
        asked if asked and not is_utf8(meta) else meta.file_encoding or "UTF-8",
        member=meta.table_name,
    )
    rows = max((len(column.values) for column in columns.values()), default=0)
    dataset = Dataset.of_columns(path, map(column_of, variables, cells.values()), rows)
    return replace(dataset, title=meta.file_label or "", format_state=carried)


def _text(found: bytes) -> str:
    try:
        return found.decode("utf-8").rstrip(" \0")
    except UnicodeDecodeError:
        return found.decode("cp1252", "replace").rstrip(" \0")


def _is_cut(content: bytes, rows: int, width: int) -> bool:
    """Whether a transport file lacks rows that it counts, or the end of its last row."""
    head = content.find(_HEADER + b"OBS")
    counted = content[head + 48 : head + 63].strip()
    if content[20:25] == b"LIBV8" and counted.isdigit() and int(counted) > rows:
        return True
    rest = (len(content) - head - _RECORD) % width if width else 0
    return bool(rest and content[-rest:].strip())


def _stored(name: str, values: Sequence[Any], shown: str, *, text: bool) -> StoredColumn:
    """Return a column of objects: numbers, letters of missing values, None."""
    if text:
        texts = np.array([value or "" for value in values], dtype=np.object_)
        return StoredColumn(name, texts, np.array([not one.strip() for one in texts], dtype=np.bool_))
    try:
        numbers, held = np.array(values, np.float64), None  # None is NaN
    except ValueError:  # the letter of a special missing value
        held = np.array([f".{value}" if isinstance(value, str) else None for value in values], dtype=np.object_)
        numbers = np.array([0.0 if isinstance(value, str) else value for value in values], np.float64)
    absent = np.isnan(numbers)
    numbers[absent] = 0.0
    if words := sas_clock(shown):
        return StoredColumn(name, numbers, absent, held, Clock(words[0], _ORIGIN, _UNITS[words[2]]))
    found = _SHOWN.fullmatch(shown)
    if found is None or found[1].upper() not in _AS_SHOWN or not found[2]:
        return StoredColumn(name, numbers, absent, held)
    return StoredColumn(name, numbers, absent, held, None, int(found[3] or 0), int(found[2]))


def _save(
    target: Path, columns: Sequence[StoredColumn], variables: Sequence[Variable], carried: SasCarried, title: str
) -> None:
    """Write a transport file of columns, with what is said of them."""
    series: dict[str, pd.Series[Any]] = {}
    formats: dict[str, str] = {}
    informats: dict[str, str] = {}
    widths = []
    version, package = carried.version, f"{_TRANSPORT} of version {carried.version}"
    for column in columns:
        name, width = column.name, 8
        if column.text:
            series[name], width = as_series(column, min(carried.widths.get(name, 0), _LONGEST_TEXT[version]))
            if width > _LONGEST_TEXT[version]:
                raise unfit_field(package, name, f"a text has more than {_LONGEST_TEXT[version]:,} bytes")
        else:
            series[name] = pd.Series(_in_range(column, package))
        widths.append(width)
        for shown, found in ((carried.formats, formats), (carried.informats, informats)):
            if own := _shown(shown.get(name, ""), column, width if name not in carried.widths else None):
                found[name] = own
    with told_when_unfit(target, package):
        pyreadstat_library().write_xport(
            pd.DataFrame(series),
            str(target),
            file_label=cut(title, _LONGEST_TITLE),
            column_labels={v.column: cut(v.label, _LONGEST_LABEL[version]) for v in variables if v.label},
            table_name=carried.member and cut(carried.member, _LONGEST[version]),
            file_format_version=version,
            variable_format=formats,
            variable_informat=informats,
        )
    overwrite(target, dict.fromkeys(_TIMES, _NO_TIME))
    _tag(target, columns, widths)


def _in_range(column: StoredColumn, package: str) -> NDArray[np.float64]:
    """Return numbers, NaN where there is none, which SAS can hold."""
    gone = column.absent if column.tags is None else column.absent | (column.tags != None)  # noqa: E711 -- elementwise
    held = np.abs(column.values[~gone])
    if not ((held == 0) | ((held >= _SMALLEST) & (held < _LARGEST))).all():
        raise unfit_field(package, column.name, "a number is out of range")
    return np.where(gone, np.nan, column.values)


def _shown(shown: str, column: StoredColumn, width: int | None) -> str:
    """Return the format of a column; a plain one of texts whose width is made anew is as wide as these."""
    if shown.startswith("$") != column.text:
        return ""
    found = _SHOWN.fullmatch(shown)
    plain = found is not None and found[1].upper() in _PLAIN_TEXT and found[2]
    return f"{found[1]}{width}" if found is not None and plain and width is not None else shown


def _tag(target: Path, columns: Sequence[StoredColumn], widths: Sequence[int]) -> None:
    """Write special missing values over ordinary ones, which pyreadstat does not; only the first byte differs."""
    width = sum(widths)
    rows = len(columns[0].values)
    begin = target.stat().st_size - -(-rows * width // _RECORD) * _RECORD
    for at, column in enumerate(columns):
        if column.tags is None or not any(tag is not None for tag in column.tags):
            continue
        cells = np.memmap(target, np.uint8, "r+", begin, (rows, width))
        tagged = np.flatnonzero([tag is not None for tag in column.tags])
        cells[tagged, sum(widths[:at])] = [ord(column.tags[row][1]) for row in tagged]
        cells.flush()


def _with_payload(values: NDArray[Any]) -> list[object]:
    """Return numbers in which NaN is the missing value that it stands for, by the third byte of it.

    That is the letter, or in a second scheme its place from 2 for A; 0 stands for the underline then.
    """
    if values.dtype.kind != "f":
        return [value if isinstance(value, str) else None for value in values]
    codes = (~(values.astype("<f8").view(np.uint64) >> np.uint64(40)) & np.uint64(0xFF)).astype(np.uint8)
    letters = {ord(letter): f".{letter}" for letter in _LETTERS}
    letters |= {at: f".{letter}" for at, letter in enumerate(_LETTERS[:-1], start=2)} | {0: "._"}
    return [
        letters.get(code) if np.isnan(value) else value
        for value, code in zip(values.tolist(), codes.tolist(), strict=True)
    ]
