"""SAS: transport files (.xpt), read and written, and data sets (.sas7bdat), which can only be read."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Field, Place, format_option
from masktron.sources.column_forms import ColumnForm, all_numbers
from masktron.sources.records import Typed
from masktron.sources.tables.arrow_values import unfit_field
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.created_columns import (
    created_columns,
    texts_lost,
)
from masktron.sources.tables.new_names import NamesAllowed
from masktron.sources.tables.pyreadstat_files import pyreadstat_library, read_file, told_of
from masktron.sources.tables.read_only import ReadOnlyFormat
from masktron.sources.tables.read_statistical import rows_again, sas_clock
from masktron.sources.tables.sas_transport import (
    SasFile,
    SasVariable,
    cells_of,
    new_sas_file,
    numbers_of,
    sas_bytes,
    sas_file,
)
from masktron.sources.tables.stored_values import Clock, StoredColumn
from masktron.sources.tables.table_format import Options, SecondReading, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease, losses_by_column
from masktron.sources.variables import Variable

_ORIGIN = datetime.date(1960, 1, 1)
_ROWS = 1 << 14
_TAGS = frozenset(f".{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_UNITS = {"days": Decimal(86_400), "seconds": Decimal(1)}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CP1252 = format_option("encoding", "CP1252")
_TRANSPORT, _DATA_SET = "a SAS transport file", "a SAS data set"
_LONGEST = {5: 8, 8: 32}
"""Characters of a name, by version."""
_LONGEST_LABEL = {5: 40, 8: 256}
_LONGEST_TEXT = {5: 200, 8: 32_767}
_SHOWN = re.compile(r"(\$?[A-Za-z][A-Za-z0-9_]*?|)(\d+)?(?:\.(\d+)?)?")
_AS_SHOWN = frozenset({"", "F", "BEST", "COMMA", "COMMAX", "DOLLAR", "NUMX", "Z"})


@dataclass(frozen=True, slots=True, eq=False)
class SasCarried:
    """What a SAS file holds beside the lexemes.

    Attributes
    ----------
    columns : mapping of str to StoredColumn
        By the name of the field.
    shown : mapping of str to (str, int, int)
        Formats: name, width, decimals.
    encoding : str
        Of texts.
    file : SasFile or None
        A transport file.
    """

    columns: Mapping[str, StoredColumn]
    shown: Mapping[str, tuple[str, int, int]]
    encoding: str = "UTF-8"
    file: SasFile | None = None


class XportFormat(TableFormat):
    """SAS transport files of version 5 and 8."""

    name: ClassVar[str] = "xpt"
    exact_digits: ClassVar[int | None] = 15
    options: ClassVar[Mapping[str, str]] = {
        "encoding": "of its texts; UTF-8 where none is given",
        "version": "of a new file: 5, whose names have at most 8 characters, or 8",
    }

    def read(self, path: Path, options: Options) -> Table:
        """Read a file."""
        _version(options)
        encoding = options.get("encoding", "UTF-8")
        try:
            file = sas_file(path.read_bytes())
        except (ValueError, IndexError, OSError) as problem:
            raise DocumentError.of("file-damaged", path, format=_TRANSPORT, detail=str(problem)) from None
        columns, variables, cells, shown = {}, [], {}, {}
        names = xml_names([one.name for one in file.variables], str(path))
        for name, one in zip(names, file.variables, strict=True):
            shown[name] = (one.shown, one.width, one.decimals)
            columns[name] = _transported(file, one, encoding, str(path))
            cells[name] = columns[name].lexemes(str(path))
            variables.append(_variable(name, columns[name], one.label))
        carried = SasCarried(columns, shown, encoding, file)
        return Table(tuple(variables), _table_of(cells, len(file.rows)), title=file.title, carried=carried)

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the file with pyreadstat."""
        pyreadstat_library()
        from pyreadstat._readstat_parser import parser_entry_point  # noqa: PLC0415

        # its function read_xport takes special missing values for ordinary ones
        with told_of(path, _TRANSPORT):
            found, meta = parser_entry_point(
                str(path),
                "xport",
                encoding=table.carried.encoding,
                user_missing=True,
                disable_datetime_conversion=True,
                output_format="dict",
            )
        clocks = [sas_clock(meta.original_variable_types[name]) for name in found]
        columns = [_tagged(found[name], meta.readstat_variable_types[name] == "string") for name in found]
        return SecondReading(tuple(found), rows_again(columns, clocks))

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table in which columns are texts that have to hold more than numbers."""
        return _with_texts(table, forms)

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a file with the headers of the original."""
        carried: SasCarried = release.original.carried
        file = carried.file
        if file is None:
            self.create(target, Table(release.variables, release.cells, carried=carried), {})
            return
        position = {variable.name: at for at, variable in enumerate(release.original.variables)}
        kept, columns, variables = [], [], list(file.variables)
        for variable in release.variables:
            at = position[variable.name]
            one, changed = file.variables[at], release.changed(variable.name)
            column = carried.columns[variable.name].released(
                release.rows, changed, release.cells[variable.name], _TAGS
            )
            if one.text and not release.as_it_was(variable.name):
                # a length may be that of the longest text of the original
                changed, one = np.ones_like(changed), one.of_length(_longest(column, file.version, carried.encoding))
                cells, variables[at] = _bytes(column, changed, one.length, carried.encoding), one
            else:
                cells = file.cells(one)[release.rows].copy()
                if changed.any():
                    cells[changed] = _bytes(column, changed, one.length, carried.encoding)
            kept.append(at)
            columns.append(cells)
        with target.open("wb") as stream:
            stream.writelines(sas_bytes(replace(file, variables=tuple(variables)), kept, columns))

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new file, of version 8 unless an option says 5."""
        version = _version(options)
        shown = table.carried.shown if isinstance(table.carried, SasCarried) else {}
        _names_of(version).require([variable.column for variable in table.variables])
        made = created_columns(table, _clock, _TAGS)
        variables, columns = [], []
        for variable, one in zip(table.variables, made, strict=True):
            column = one.column
            encoded = [text.encode() for text in column.values] if column.text else []
            length = max(1, max(map(len, encoded), default=1)) if column.text else 8
            if length > _LONGEST_TEXT[version]:
                detail = f"a text has more than {_LONGEST_TEXT[version]:,} bytes"
                raise unfit_field(f"{_TRANSPORT} of version {version}", variable.column, detail)
            label = variable.label.encode()[: _LONGEST_LABEL[version]].decode("utf-8", "ignore")
            name, width, decimals = shown.get(variable.name) or _new_format(column)
            variables.append(SasVariable(variable.column, label, column.text, length, name, width, decimals, 0, b""))
            every = np.ones(len(table), dtype=np.bool_)
            columns.append(_bytes(column, every, length, "UTF-8"))
        title = table.title.encode()[:40].decode("utf-8", "ignore")
        file = new_sas_file(version, title, variables)
        with target.open("wb") as stream:
            stream.writelines(sas_bytes(file, range(len(variables)), columns))

    def losses(self, table: Table) -> Iterator[str]:
        """Say what SAS transport files cannot hold."""
        yield from losses_by_column(
            table,
            *texts_lost(table),
            (
                "which codes mean 'missing', as they are no special missing values (.A to .Z, ._)",
                lambda v: v.missing and (v.typed.text or not _TAGS.issuperset(v.missing)),
            ),
            ("labels of values", lambda v: v.labels or any(v.missing.values())),
            ("labels beyond 256 characters", lambda v: len(v.label.encode()) > _LONGEST_LABEL[8]),
            ("which variable is the weight", lambda v: v.weight),
            ("kinds of variables", lambda v: v.kind is not None),
        )
        if len(table.title.encode()) > 40:
            yield "what the title of the file has beyond 40 characters"


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


class Sas7bdatFormat(ReadOnlyFormat):
    """SAS data sets, which nobody outside SAS writes."""

    name: ClassVar[str] = "sas7bdat"
    options: ClassVar[Mapping[str, str]] = {"encoding": "of its texts, where the file does not say it or is wrong"}

    def read(self, path: Path, options: Options) -> Table:
        """Read a file."""
        found, meta = read_file(
            path,
            _DATA_SET,
            "read_sas7bdat",
            user_missing=True,
            encoding=options.get("encoding"),
            output_format="dict",
        )
        columns, variables, cells, shown = {}, [], {}, {}
        for name, column in zip(xml_names(found, str(path)), found, strict=True):
            shown[name] = _format_of(meta.original_variable_types[column] or "")
            text = meta.readstat_variable_types[column] == "string"
            columns[name] = _stored(column, found[column], shown[name], text=text)
            cells[name] = columns[name].lexemes(str(path))
            variables.append(_variable(name, columns[name], meta.column_names_to_labels.get(column) or ""))
        size = len(next(iter(found.values()), ()))
        encoding = options.get("encoding") or meta.file_encoding or "UTF-8"
        return Table(
            tuple(variables),
            _table_of(cells, size),
            title=meta.file_label or "",
            carried=SasCarried(columns, shown, encoding),
        )

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the file with pandas."""
        from pandas.io.sas.sas7bdat import SAS7BDATReader  # noqa: PLC0415 -- it alone leaves dates as they are

        typeless: Any = SAS7BDATReader  # its types leave parameters out
        try:
            with typeless(path, convert_dates=False, encoding=table.carried.encoding) as reader:
                frame = reader.read()
                clocks = [sas_clock(column.format) for column in reader.columns]
        except (ValueError, LookupError, UnicodeDecodeError, AttributeError) as problem:  # pandas trusts its headers
            raise DocumentError.of("file-damaged", path, format=_DATA_SET, detail=str(problem)) from None
        columns = [_with_payload(frame.iloc[:, at].to_numpy()) for at in range(frame.shape[1])]
        return SecondReading(tuple(map(str, frame.columns)), rows_again(columns, clocks))

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table in which columns are texts that have to hold more than numbers."""
        return _with_texts(table, forms)


def _version(options: Options) -> int:
    said = options.get("version", "8")
    if said not in ("5", "8"):
        raise UsageError.of("bad-value", name="version", expected="5 or 8", given=said)
    return int(said)


def _table_of(cells: dict[str, pa.ChunkedArray], rows: int) -> pa.Table:
    return pa.table(cells) if cells else pa.table({"x": pa.nulls(rows)}).select([])


def _clock(what: Any) -> Clock:
    return Clock(what, _ORIGIN, _UNITS["days" if what == "date" else "seconds"])


def _format_of(shown: str) -> tuple[str, int, int]:
    found = _SHOWN.fullmatch(shown)
    return (shown, 0, 0) if found is None else (found[1], int(found[2] or 0), int(found[3] or 0))


def _new_format(column: StoredColumn) -> tuple[str, int, int]:
    if column.clock is None:
        return "", 0, 0
    return {"date": ("DATE", 9, 0), "datetime": ("DATETIME", 20, 0), "time": ("TIME", 8, 0)}[column.clock.what]


def _stored(name: str, values: Sequence[Any], shown: tuple[str, int, int], *, text: bool) -> StoredColumn:
    """Return a column of objects: numbers, letters of missing values, None."""
    if text:
        texts = np.array([value or "" for value in values], dtype=np.object_)
        return StoredColumn(name, texts, np.array([not one.strip() for one in texts], dtype=np.bool_))
    tags = np.array([f".{value}" if isinstance(value, str) else None for value in values], dtype=np.object_)
    absent = np.array([value is None for value in values], dtype=np.bool_)
    numbers = np.array([0.0 if value is None or isinstance(value, str) else value for value in values], np.float64)
    return _column(name, numbers, absent, tags, shown)


def _column(
    name: str,
    numbers: NDArray[np.float64],
    absent: NDArray[np.bool_],
    tags: NDArray[np.object_],
    shown: tuple[str, int, int],
) -> StoredColumn:
    held = tags if any(tag is not None for tag in tags) else None
    if words := sas_clock(shown[0]):
        return StoredColumn(name, numbers, absent, held, Clock(words[0], _ORIGIN, _UNITS[words[2]]))
    known = shown[0].upper() in _AS_SHOWN and shown[1] and (shown[0].upper() != "BEST")
    return StoredColumn(name, numbers, absent, held, None, *((shown[2], shown[1]) if known else (None, None)))


def _transported(file: SasFile, one: SasVariable, encoding: str, where: str) -> StoredColumn:
    cells = file.cells(one)
    if one.text:
        try:
            texts = [bytes(cell).rstrip(b" \0").decode(encoding) for cell in cells]
        except (UnicodeDecodeError, LookupError):
            raise DocumentError.of(
                "wrong-encoding",
                Place(where, field=Field(one.name)),
                codec=encoding,
                helps=(_CP1252,),
                detail="a text of this field is in another one",
            ) from None
        found = np.array(texts, dtype=np.object_) if texts else np.zeros(0, dtype=np.object_)
        return StoredColumn(one.name, found, np.array([not text.strip() for text in texts], dtype=np.bool_))
    numbers, codes = numbers_of(cells)
    absent = codes == "."
    tags = codes.copy()
    tags[absent] = None
    return _column(one.name, numbers, absent, tags, (one.shown, one.width, one.decimals))


def _variable(name: str, stored: StoredColumn, label: str) -> Variable:
    codes = () if stored.tags is None else sorted({tag for tag in stored.tags if tag is not None})
    return Variable(
        name, stored.name, label=label, missing=dict.fromkeys(codes, ""), typed=stored.typed, stored=stored.arrow
    )


def _bytes(column: StoredColumn, which: NDArray[np.bool_], length: int, encoding: str) -> NDArray[np.uint8]:
    """Return some cells as a file stores them."""
    values, absent = column.values[which], column.absent[which]
    try:
        if column.text:
            texts = [b"" if gone else text.encode(encoding) for text, gone in zip(values, absent, strict=True)]
            return _side_by_side(texts, length)
        codes = np.full(len(values), None, dtype=np.object_) if column.tags is None else column.tags[which].copy()
        codes[absent] = "."
        return cells_of(np.where(absent, 0.0, values), codes, length)
    except (OverflowError, UnicodeEncodeError) as problem:
        detail = str(problem) if isinstance(problem, OverflowError) else f"{encoding} lacks one of its letters"
        raise unfit_field(_TRANSPORT, column.name, detail) from None


def _with_texts(table: Table, forms: Mapping[str, ColumnForm]) -> Table:
    """Return a table in which columns are texts that have to hold more than numbers, as labels stand in none."""
    carried: SasCarried = table.carried
    columns, shown, variables = dict(carried.columns), dict(carried.shown), list(table.variables)
    entries = [] if carried.file is None else list(carried.file.variables)
    for at, variable in enumerate(table.variables):
        form, own = forms.get(variable.name), columns[variable.name]
        if form is None or own.text:
            continue
        plain = [value for value in form.values if value not in _TAGS]
        if not plain or (own.clock is None and all_numbers(plain)):
            continue
        empty = np.ones(len(table), dtype=np.bool_)
        texts = np.full(len(table), "", dtype=np.object_)
        columns[variable.name] = StoredColumn(own.name, texts, empty)
        shown.pop(variable.name, None)
        variables[at] = replace(variable, typed=Typed(text=True), stored=pa.string())
        if entries:
            entries[at] = entries[at].of_texts()
    file = None if carried.file is None else replace(carried.file, variables=tuple(entries))
    carried = replace(carried, columns=columns, shown=shown, file=file)
    return replace(table, variables=tuple(variables), carried=carried)


def _longest(column: StoredColumn, version: int, encoding: str) -> int:
    """Return the bytes of the longest text, but no more than a file of a version can hold."""
    texts = (text for text, gone in zip(column.values, column.absent, strict=True) if not gone)
    longest = max((len(text.encode(encoding, "replace")) for text in texts), default=0)
    return min(max(1, longest), _LONGEST_TEXT[version])


def _side_by_side(texts: Sequence[bytes], length: int) -> NDArray[np.uint8]:
    if max(map(len, texts), default=0) > length:
        raise OverflowError(f"a text has more than the {length} bytes of the column")
    whole = b"".join(text.ljust(length) for text in texts)
    return np.frombuffer(whole, np.uint8).reshape(len(texts), length)


def _tagged(values: Sequence[Any], text: bool) -> list[object]:
    """Put a point before the letters that stand for missing values."""
    return list(values) if text else [f".{value}" if isinstance(value, str) else value for value in values]


def _with_payload(values: NDArray[Any]) -> list[object]:
    """Return numbers in which NaN is the missing value that it stands for: SAS keeps its letter in the third byte."""
    if values.dtype.kind != "f":
        return [value if isinstance(value, str) else None for value in values]
    letters = (~(values.astype("<f8").view(np.uint64) >> np.uint64(40)) & np.uint64(0xFF)).astype(np.uint8)
    found: list[object] = []
    for value, letter in zip(values.tolist(), letters.tolist(), strict=True):
        if value == value:  # noqa: PLR0124 -- no NaN
            found.append(value)
        else:
            code = f".{chr(letter)}"
            found.append(code if code in _TAGS else None)
    return found
