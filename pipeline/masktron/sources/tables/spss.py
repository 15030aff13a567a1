"""SPSS system files (.sav, .zsav): labels, missing codes, measures, formats, the weight and dates are kept."""

from __future__ import annotations

import datetime
import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from masktron.config import Kind
from masktron.recodings import exact_number
from masktron.sources.column_forms import ColumnForm
from masktron.sources.lexical import fraction_digits
from masktron.sources.tables.arrow_values import unfit_field
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.created_columns import Created, created_columns, texts_lost
from masktron.sources.tables.new_names import NamesAllowed
from masktron.sources.tables.pyreadstat_files import (
    as_series,
    cut,
    is_utf8,
    overwrite,
    pyreadstat_library,
    read_file,
    require_short,
    told_when_unfit,
)
from masktron.sources.tables.stored_values import Clock, StoredColumn
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import Variable

_SPSS = "an SPSS file"
_ORIGIN = datetime.date(1582, 10, 14)
_FORMAT = re.compile(r"([A-Z]+)([0-9]*)(?:\.([0-9]+))?")
_AS_SHOWN = frozenset({"F", "COMMA", "DOT", "DOLLAR", "PCT", "N", "CCA", "CCB", "CCC", "CCD", "CCE", "Z"})
"""Formats that show a number with so many fraction digits."""
_CLOCKS: Mapping[str, Clock] = {
    **dict.fromkeys(
        ["DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR"], Clock("date", _ORIGIN, Decimal(1))
    ),
    **dict.fromkeys(["DATETIME", "YMDHMS"], Clock("datetime", _ORIGIN, Decimal(1))),
    **dict.fromkeys(["TIME", "DTIME", "MTIME"], Clock("time", _ORIGIN, Decimal(1))),
}
"""Formats that show a number as a moment, in seconds."""
_ELSEWHERE = frozenset({"A", "F", *_CLOCKS})
"""Formats for which other packages have one."""
_KINDS = {"nominal": Kind.NOMINAL, "ordinal": Kind.ORDINAL, "scale": Kind.NUMBER}
_NAMES = NamesAllowed(
    "SPSS",
    re.compile(r"[^\W\d_][\w.$#@]*|[@#$][\w.$#@]*"),
    64,
    64,
    "letters, digits, '_', '.', '$', '#' and '@', at most 64 bytes, beginning with a letter",
    frozenset(["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"]),
    any_case=True,
)
_LONGEST = 32_767
_MOST_DISCRETE = 3
_LONGEST_CODE = 8
"""Bytes of a text that may be declared to mean 'missing'."""
_LONGEST_LABEL = 120
"""Bytes of the label of a value."""
_ORDER, _COMPRESSION, _WEIGHT, _TIME = 64, 72, 76, 92
"""Offsets in the header; the last one is that of the day and the time of writing."""
_NO_TIME = b"01 Jan 7000:00:00"
_SEGMENT, _ENTRY = 252, 8
"""Bytes of a very long text in one of its segments, and of any text in an entry of the dictionary."""

type Said = dict[str, dict[str, Any]]
"""What is said of columns, by their names: by the argument of pyreadstat's writer."""


@dataclass(frozen=True, slots=True, eq=False)
class SpssCarried:
    """What a system file holds beside the lexemes.

    Attributes
    ----------
    columns : mapping of str to StoredColumn
        By the name of the field.
    said : Said
    widths : mapping of str to int
        Bytes of the texts of columns.
    notes : tuple of str
        Lines of documents.
    compression : int
        0 for none, 1 for bytecodes, 2 for zlib (.zsav).
    weight : str or None
        Name of the column that is the weight.
    """

    columns: Mapping[str, StoredColumn]
    said: Said
    widths: Mapping[str, int]
    notes: tuple[str, ...]
    compression: int
    weight: str | None


class SpssFormat(TableFormat):
    """SPSS, compressed or not."""

    name: ClassVar[str] = "spss"
    exact_digits: ClassVar[int | None] = 15
    labels_numbers: ClassVar[bool] = True
    copies: ClassVar[bool] = True
    compared: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {"encoding": "of its texts, where the file does not say it or is wrong"}

    def read(self, path: Path, options: Options) -> Table:
        """Read a file."""
        frame, meta = read_file(path, _SPSS, "read_sav", user_missing=True, encoding=options.get("encoding"))
        said: Said = {
            "column_labels": {name: label for name, label in meta.column_names_to_labels.items() if label},
            "variable_value_labels": meta.variable_value_labels,
            "missing_ranges": meta.missing_ranges,
            "variable_display_width": meta.variable_display_width,
            "variable_measure": meta.variable_measure,
            "variable_format": {name: shown or "" for name, shown in meta.original_variable_types.items()},
            "variable_alignment": meta.variable_alignment,
        }
        widths = meta.variable_storage_width
        compression, weight = _header(path, widths)
        cells, variables, columns = {}, [], {}
        for at, (name, column) in enumerate(zip(xml_names(frame.columns, str(path)), frame.columns, strict=True)):
            stored = _stored(column, frame.iloc[:, at], said["variable_format"][column])
            columns[name] = stored
            cells[name] = stored.lexemes(str(path))
            variables.append(_variable(name, stored, cells[name], said, weight=weight == column))
        notes = ["not written again: sets of multiple responses"] if meta.mr_sets else []
        if not is_utf8(meta):
            notes.append("texts will be written in UTF-8, and columns of texts are as wide as that needs")
        return Table(
            tuple(variables),
            pa.table(cells),
            title=meta.file_label or "",
            carried=SpssCarried(columns, said, widths, tuple(meta.notes), compression, weight),
            notes=tuple(notes),
            of_release=tuple(_documents(list(meta.notes))),
        )

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table in which the values of some columns have other labels, and other formats show them."""
        carried: SpssCarried = table.carried
        columns = dict(carried.columns)
        said = {argument: dict(one) for argument, one in carried.said.items()}
        for name, form in forms.items():
            columns[name] = _reshaped(columns[name], form, said)
        variables = tuple(
            replace(one, labels=forms[one.name].labels, kind=None) if one.name in forms else one
            for one in table.variables
        )
        return replace(table, variables=variables, carried=replace(carried, columns=columns, said=said))

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a file with what the original says of its columns."""
        carried: SpssCarried = release.original.carried
        columns = [
            carried.columns[v.name].released(
                release.rows, release.changed(v.name), release.cells[v.name], frozenset()
            )
            for v in release.variables
        ]
        # a width that was made for texts tells how long the longest of them was
        anew = {v.column for v in release.variables if not release.as_it_was(v.name)}
        texts = {column.name for column in columns if column.text}
        shown = carried.said["variable_display_width"]
        said = {
            **carried.said,
            "variable_display_width": {name: width for name, width in shown.items() if name not in anew & texts},
        }
        widths = {name: width for name, width in carried.widths.items() if name not in anew}
        title = release.original.title
        _save(target, columns, replace(carried, said=said, widths=widths), title)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new file; a name that ends with .zsav makes it compressed."""
        del options
        _NAMES.require([variable.column for variable in table.variables])
        made = _created(table)
        said: Said = {"column_labels": {v.column: v.label for v in table.variables if v.label}}
        for variable, one in zip(table.variables, made, strict=True):
            for argument, what in _said_of(variable, one):
                said.setdefault(argument, {})[variable.column] = what
        weight = next((variable.column for variable in table.variables if variable.weight), None)
        compression = 2 if target.name.lower().endswith(".zsav") else 1
        _save(target, [one.column for one in made], SpssCarried({}, said, {}, (), compression, weight), table.title)

    def form(self, table: Table) -> Iterator[str]:
        """Say that its documents and formats that no other package has stay behind."""
        kinds = table.carried.said["variable_format"]
        own = [name for name, shown in kinds.items() if _name_of(shown) not in _ELSEWHERE]
        if own:
            yield f"display formats: {', '.join(f'{name} ({kinds[name]})' for name in own)}"
        if lines := len(table.carried.notes):
            yield f"the documents of the file: {lines:,} {'line' if lines == 1 else 'lines'}"

    def losses(self, table: Table) -> Iterator[str]:
        """Say what SPSS cannot hold."""
        yield from texts_lost(table)


def _header(path: Path, widths: Mapping[str, int]) -> tuple[int, str | None]:
    """Return how a file is compressed and which column is its weight: pyreadstat does not tell."""
    with path.open("rb") as stream:
        head = stream.read(_TIME)
    order = "<" if head[_ORDER] in (2, 3) else ">"
    compression, number = struct.unpack_from(f"{order}2i", head, _COMPRESSION)
    entries = dict(zip(_entries(widths.values()), widths, strict=True))
    return compression, entries.get(number)


def _entries(widths: Iterable[int]) -> Iterator[int]:
    """Yield the number, from 1, of the first entry of each column in the dictionary."""
    number = 1
    for width in widths:
        yield number
        before = (width - 1) // _SEGMENT if width > 255 else 0
        number += before * -(-255 // _ENTRY) + -(-max(width - before * _SEGMENT, 1) // _ENTRY)


def _name_of(shown: str | None) -> str:
    found = _FORMAT.match(shown or "")
    return found[1] if found else ""


def _stored(name: str, values: pd.Series[Any], shown: str) -> StoredColumn:
    if values.dtype.kind != "f":
        texts = np.array([text if isinstance(text, str) else "" for text in values], dtype=np.object_)
        return StoredColumn(name, texts, np.array([not text.strip() for text in texts], dtype=np.bool_))
    numbers = values.to_numpy(dtype=np.float64, copy=True)
    absent = np.isnan(numbers)
    found = _FORMAT.fullmatch(shown)
    kind = _name_of(shown)
    if clock := _CLOCKS.get(kind):
        return StoredColumn(name, numbers, absent, clock=clock)
    if found is None or kind not in _AS_SHOWN or not found[2]:
        return StoredColumn(name, numbers, absent)
    return StoredColumn(name, numbers, absent, decimals=int(found[3] or 0), width=int(found[2]))


def _documents(lines: list[str]) -> Iterator[str]:
    """Say how many lines of documents a file has: they are whatever somebody wrote there."""
    if lines:
        several = "line" if len(lines) == 1 else "lines"
        yield f"the documents of the file are copied as they are: {len(lines):,} {several}, look at them"


def _lexeme(stored: StoredColumn, value: Any) -> str:
    """Write one value of a column as its lexemes are."""
    if stored.text:
        return str(value).rstrip(" ")
    one = StoredColumn(stored.name, np.array([float(value)]), np.array([False]), clock=stored.clock)
    return str(one.lexemes("")[0].as_py())


def _bound(stored: StoredColumn, value: float) -> str:
    """Write an end of a range of missing values, which may be open."""
    return _lexeme(stored, value) if np.isfinite(value) else "highest" if value > 0 else "lowest"


def _variable(name: str, stored: StoredColumn, cells: pa.ChunkedArray, said: Said, *, weight: bool) -> Variable:
    column = stored.name
    labelled = said["variable_value_labels"].get(column, {})
    labels = {_lexeme(stored, value): label for value, label in labelled.items()}
    codes: dict[str, None] = {}
    declared, ranges, spans = set(labels), [], []
    for bounds in said["missing_ranges"].get(column, ()):
        low, high = (bounds["lo"], bounds["hi"]) if isinstance(bounds, dict) else (bounds, bounds)
        if low == high:
            codes[_lexeme(stored, low)] = None
            declared.add(_lexeme(stored, low))
        elif not stored.text:
            ranges.append(f"{_bound(stored, low)} to {_bound(stored, high)}")
            spans.append((float(low), float(high)))
            held = ~stored.absent
            inside = np.unique(stored.values[held & (stored.values >= low) & (stored.values <= high)])
            # those with labels in any case, or it would tell whether a record has one
            inside = np.union1d(inside, [float(value) for value in labelled if low <= value <= high])
            codes.update(dict.fromkeys(_lexeme(stored, value) for value in inside))
    kind = None if weight else _KINDS.get(said["variable_measure"].get(column, ""))
    order: tuple[str, ...] = ()
    if kind is Kind.ORDINAL:
        known = {text for text in cells.unique().to_pylist() if text is not None} | labels.keys()
        order = tuple(sorted(known - codes.keys(), key=str if stored.text or stored.clock else Decimal))
    return Variable(
        name,
        column,
        label=said["column_labels"].get(column, ""),
        labels={code: label for code, label in labels.items() if code not in codes},
        missing={code: labels.get(code, "") for code in codes},
        kind=kind,
        order=order,
        weight=weight,
        typed=stored.typed,
        stored=stored.arrow,
        observed=frozenset({*order, *codes} - declared),
        ranges=tuple(ranges),
        spans=tuple(spans),
    )


def _said_of(variable: Variable, one: Created) -> Iterator[tuple[str, Any]]:
    """Yield what is said of a variable of another format, by arguments of pyreadstat's writer."""
    column = one.column
    labels = {
        one.value(code): cut(label, _LONGEST_LABEL)
        for code, label in (*variable.labels.items(), *variable.missing.items())
        if label
    }
    if labels:
        yield "variable_value_labels", labels
    if 0 < len(variable.missing) <= _MOST_DISCRETE and not (column.text and _too_long(variable.missing)):
        yield "missing_ranges", [one.value(code) for code in variable.missing]
    if variable.kind is not None:
        yield "variable_measure", next(measure for measure, kind in _KINDS.items() if kind is variable.kind)
    if column.text:
        return
    if column.clock is not None:
        shown = {"date": "DATE11", "datetime": "DATETIME23.3", "time": "TIME12.3"}
        yield "variable_format", shown[column.clock.what]
    else:
        width, places = variable.typed.shown or (8, one.decimals)
        yield "variable_format", f"F{min(40, max(width, one.width))}.{min(max(places, one.decimals), 16)}"


def _reshaped(stored: StoredColumn, form: ColumnForm, said: Said) -> StoredColumn:
    """Return a column for what is to be written, and say of it in `said` what is true of that.

    It is one of plain numbers that shows as many digits as what is to be written has.

    Raises
    ------
    UsageError
        A label is too long; or moments become numbers, and some are declared as missing.
    """
    name = stored.name
    numbers = [exact_number(value) for value in form.values]
    if form.values and not stored.text:
        if stored.clock is not None and (said["missing_ranges"].get(name) or None in numbers):
            detail = (
                "its dates or times that mean 'missing' would become numbers of classes; make them system-missing"
            )
            raise unfit_field("SPSS", name, detail)
        decimals = max(map(fraction_digits, form.values))
        width = max(*map(len, form.values), stored.width or 0)
        empty = np.ones(len(stored.values), dtype=np.bool_)
        stored = StoredColumn(name, np.zeros(len(empty)), empty, decimals=decimals, width=width)
        said["variable_format"][name] = f"F{width}.{decimals}"
        nominal = said["variable_measure"].get(name) == "nominal" or not form.ordered
        said["variable_measure"][name] = "nominal" if nominal else "ordinal"
    require_short(form, _LONGEST_LABEL, name, "SPSS")
    said["variable_value_labels"].pop(name, None)
    if form.labels:
        coded = {code: None if stored.text else exact_number(code) for code in form.labels}
        said["variable_value_labels"][name] = {
            code if number is None else float(number): form.labels[code] for code, number in coded.items()
        }
    return stored


def _too_long(codes: Collection[str]) -> bool:
    """Whether SPSS cannot have one of these among the missing values of a column of texts."""
    return any(len(code.encode()) > _LONGEST_CODE for code in codes)


def _created(table: Table) -> list[Created]:
    """Return the columns of a table as a new file stores them."""
    return created_columns(table, lambda what: Clock(what, _ORIGIN, Decimal(1)))


def _bytes_of_codes(said: Said, name: str) -> Iterator[int]:
    """Yield the lengths of the texts of which something is said: labels, and what is missing."""
    yield from (len(str(code).encode()) for code in said.get("variable_value_labels", {}).get(name, ()))
    for code in said.get("missing_ranges", {}).get(name, ()):
        yield len(str(code["lo"] if isinstance(code, dict) else code).encode())


def _save(target: Path, columns: list[StoredColumn], carried: SpssCarried, title: str) -> None:
    """Write a file of columns, with what is said of them."""
    pyreadstat_library()
    from pyreadstat._readstat_writer import writer_entry_point  # noqa: PLC0415 -- write_sav takes no alignments

    said = {argument: dict(one) for argument, one in carried.said.items()}
    series, widths = {}, []
    for column in columns:
        name, width = column.name, _ENTRY
        if column.text:
            least = max(carried.widths.get(name, 0), *_bytes_of_codes(carried.said, name), 0)
            series[name], width = as_series(column, least)
            if width > _LONGEST:
                raise unfit_field("SPSS", name, f"a text has more than {_LONGEST:,} bytes")
            said.setdefault("variable_format", {})[name] = f"A{width}"
        else:
            series[name] = pd.Series(np.where(column.absent, np.nan, column.values.astype(np.float64)))
        widths.append(width)
    with told_when_unfit(target, "SPSS"):
        writer_entry_point(
            pd.DataFrame(series),
            str(target),
            "sav",
            file_label=title,
            compress=carried.compression == 2,
            row_compress=carried.compression == 1,
            note=list(carried.notes) or None,
            **{argument: {n: what for n, what in one.items() if n in series} for argument, one in said.items()},
        )
    numbers = dict(zip(series, _entries(widths), strict=True))
    weight = 0 if carried.weight is None else numbers.get(carried.weight, 0)
    overwrite(target, {_WEIGHT: struct.pack("<i", weight), _TIME: _NO_TIME})
