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
from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_values import unfit_field
from masktron.sources.tables.column_names import NamesAllowed, xml_names
from masktron.sources.tables.column_strings import column_of
from masktron.sources.tables.created_columns import Created, created_column, texts_lost
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
from masktron.sources.tables.release import Release
from masktron.sources.tables.stored_values import Clock, StoredColumn
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.variables import NONE, Variable

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

    def read(self, path: Path, options: Options) -> Dataset:
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
        return replace(
            Dataset.of_columns(path, map(column_of, variables, cells.values()), len(frame)),
            title=meta.file_label or "",
            format_state=SpssCarried(columns, said, widths, tuple(meta.notes), compression, weight),
            notes=tuple(notes),
            of_release=tuple(_documents(list(meta.notes))),
        )

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a file with what the original says of its columns; a new one is compressed if it ends with .zsav."""
        del options
        like: SpssCarried | None = release.original.format_state
        if like is None:
            _NAMES.require([variable.column for variable in release.variables])
            weight = next((variable.column for variable in release.variables if variable.weight), None)
            compression = 2 if target.name.lower().endswith(".zsav") else 1
            like = SpssCarried({}, {}, {}, (), compression, weight)
        said = {argument: dict(one) for argument, one in like.said.items()}
        said["column_labels"] = {one.column: one.label for one in release.variables if one.label}
        columns: list[StoredColumn] = []
        widths = dict(like.widths)
        for variable in release.variables:
            name, cells, own = variable.column, release.cells(variable.name), like.columns.get(variable.name)
            if own is not None and variable.recoded is not None:
                _require_recoded(own, variable, said)
            if own is not None and (own.text or not variable.recoded):
                columns.append(own.released(release.rows, release.changed(variable.name), cells, frozenset()))
                if not release.as_it_was(variable.name):
                    # a width that was made for texts tells how long the longest of them was
                    widths.pop(name, None)
                    if own.text:
                        said["variable_display_width"].pop(name, None)
                if variable.recoded is not None:
                    _say(said, name, _labels(variable, Created(own)))
            else:
                made = created_column(variable, cells, lambda what: Clock(what, _ORIGIN, Decimal(1)))
                columns.append(made.column)
                _say(said, name, _labels(variable, made), _said_of(variable, made, said))
        _save(target, columns, replace(like, said=said, widths=widths), release.original.title)

    def form(self, table: Dataset) -> Iterator[str]:
        """Say that its documents and formats that no other package has stay behind."""
        kinds = table.format_state.said["variable_format"]
        own = [name for name, shown in kinds.items() if _name_of(shown) not in _ELSEWHERE]
        if own:
            yield f"display formats: {', '.join(f'{name} ({kinds[name]})' for name in own)}"
        if lines := len(table.format_state.notes):
            yield f"the documents of the file: {lines:,} {'line' if lines == 1 else 'lines'}"

    def losses(self, table: Dataset) -> Iterator[str]:
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
    moments = stored.clock is not None  # whatever their measure, which is scale as a rule, they are no amounts
    kind = None if weight or moments else _KINDS.get(said["variable_measure"].get(column, ""))
    order: tuple[str, ...] = ()
    if kind is Kind.ORDINAL:
        known = {text for text in cells.unique().to_pylist() if text is not None} | labels.keys()
        order = tuple(sorted(known - codes.keys(), key=str if stored.text else Decimal))
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


def _say(said: Said, name: str, labels: dict[Any, str], others: Iterable[tuple[str, Any]] = ()) -> None:
    """Say of a column what its labels are, and what else there is to say, in the place of what was said of it."""
    said.setdefault("variable_value_labels", {}).pop(name, None)
    for argument, what in (*([("variable_value_labels", labels)] if labels else []), *others):
        said.setdefault(argument, {})[name] = what


def _labels(variable: Variable, one: Created) -> dict[Any, str]:
    """Return labels of values as a column stores these."""
    return {
        one.value(code): cut(label, _LONGEST_LABEL)
        for code, label in (*variable.labels.items(), *variable.missing.items())
        if label
    }


def _said_of(variable: Variable, one: Created, said: Said) -> Iterator[tuple[str, Any]]:
    """Yield what is said of a new column beside its labels, by arguments of pyreadstat's writer."""
    column = one.column
    if (
        0 < len(variable.missing) <= _MOST_DISCRETE
        and not (column.text and _too_long(variable.missing))
        and column.name not in said.get("missing_ranges", {})
    ):
        yield "missing_ranges", [one.value(code) for code in variable.missing]
    if variable.recoded:
        nominal = not variable.order or said["variable_measure"].get(column.name) == "nominal"
        yield "variable_measure", "nominal" if nominal else "ordinal"
    elif variable.kind is not None:
        yield "variable_measure", next(measure for measure, kind in _KINDS.items() if kind is variable.kind)
    if column.text:
        return
    if column.clock is not None:
        shown = {"date": "DATE11", "datetime": "DATETIME23.3", "time": "TIME12.3"}
        yield "variable_format", shown[column.clock.what]
    else:
        width, places = variable.typed.shown or (8, one.decimals)
        yield "variable_format", f"F{min(40, max(width, one.width))}.{min(max(places, one.decimals), 16)}"


def _require_recoded(own: StoredColumn, variable: Variable, said: Said) -> None:
    """Refuse labels of classes that are too long, and numbers for moments of which some are declared as missing.

    Raises
    ------
    UsageError
    """
    require_short(variable, _LONGEST_LABEL, "SPSS")
    numbers = map(exact_number, variable.recoded or ())
    if variable.recoded and own.clock is not None and (said["missing_ranges"].get(own.name) or None in numbers):
        detail = "its dates or times that mean 'missing' would become numbers of classes; make them system-missing"
        raise unfit_field("SPSS", own.name, detail)


def _too_long(codes: Collection[str]) -> bool:
    """Whether SPSS cannot have one of these among the missing values of a column of texts."""
    return any(len(code.encode()) > _LONGEST_CODE for code in codes)


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
