"""SPSS system files (.sav, .zsav): labels, missing codes, measures, formats, the weight and dates are kept."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from masktron.config import Kind
from masktron.errors import DocumentError, UsageError
from masktron.sources.column_forms import ColumnForm
from masktron.sources.tables.arrow_values import unfit_field
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.created_columns import Created, created_columns, texts_lost
from masktron.sources.tables.new_names import NamesAllowed
from masktron.sources.tables.pyreadstat_files import pyreadstat_library, read_file, told_of
from masktron.sources.tables.read_statistical import SPSS_CLOCKS, rows_again
from masktron.sources.tables.spss_dictionary import SpssDictionary, amend, spss_dictionary
from masktron.sources.tables.spss_reshaped import require_plain, reshaped_meta, reshaped_stored
from masktron.sources.tables.stored_values import Clock, StoredColumn
from masktron.sources.tables.table_format import LexemeRow, Options, SecondReading, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease, losses_by_column
from masktron.sources.variables import Variable

_SPSS = "an SPSS file"
_ORIGIN = datetime.date(1582, 10, 14)
_ROWS = 1 << 14
_FORMAT = re.compile(r"([A-Z]+)([0-9]*)(?:\.([0-9]+))?")
_AS_SHOWN = frozenset({"F", "COMMA", "DOT", "DOLLAR", "PCT", "N", "CCA", "CCB", "CCC", "CCD", "CCE", "Z"})
"""Formats that show a number with so many fraction digits."""
_ELSEWHERE = frozenset({"A", "F", *SPSS_CLOCKS})
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


@dataclass(frozen=True, slots=True, eq=False)
class SpssCarried:
    """What a system file holds beside the lexemes.

    Attributes
    ----------
    columns : mapping of str to StoredColumn
        By the name of the field.
    meta : object
        As pyreadstat has it.
    dictionary : SpssDictionary
        What pyreadstat does not tell.
    """

    columns: Mapping[str, StoredColumn]
    meta: Any
    dictionary: SpssDictionary


class SpssFormat(TableFormat):
    """SPSS, compressed or not."""

    name: ClassVar[str] = "spss"
    exact_digits: ClassVar[int | None] = 15
    labels_numbers: ClassVar[bool] = True
    copies: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {"encoding": "of its texts, where the file does not say it or is wrong"}

    def read(self, path: Path, options: Options) -> Table:
        """Read a file."""
        frame, meta = read_file(path, _SPSS, "read_sav", user_missing=True, encoding=options.get("encoding"))
        try:
            dictionary = spss_dictionary(path)
        except ValueError as problem:
            raise DocumentError.of("file-damaged", path, format=_SPSS, detail=str(problem)) from None
        names = xml_names(frame.columns, str(path))
        cells, variables, columns = {}, [], {}
        for at, (name, column) in enumerate(zip(names, frame.columns, strict=True)):
            stored = _stored(column, frame.iloc[:, at], meta.original_variable_types[column])
            columns[name] = stored
            cells[name] = stored.lexemes(str(path))
            variables.append(_variable(name, stored, cells[name], meta, weight=dictionary.weight == at))
        notes = [f"not written again: {lost}" for lost in dictionary.lost]
        if (meta.file_encoding or "UTF-8").upper() not in ("UTF-8", "UTF8", "US-ASCII"):
            notes.append("texts will be written in UTF-8, and columns of texts are as wide as that needs")
        return Table(
            tuple(variables),
            pa.table(cells),
            title=meta.file_label or "",
            carried=SpssCarried(columns, meta, dictionary),
            notes=tuple(notes),
            of_release=tuple(_documents(list(meta.notes))),
        )

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the values in pieces, as objects of Python."""
        pyreadstat = pyreadstat_library()
        encoding = None if table.carried is None else table.carried.meta.file_encoding
        kinds = {
            name: _name_of(table.carried.meta.original_variable_types[name])
            for name in table.carried.meta.column_names
        }
        pieces = pyreadstat.read_file_in_chunks(
            pyreadstat.read_sav,
            str(path),
            chunksize=_ROWS,
            user_missing=True,
            disable_datetime_conversion=True,
            output_format="dict",
            encoding=encoding,
        )
        clocks = [SPSS_CLOCKS.get(kind) for kind in kinds.values()]

        def rows() -> Iterator[LexemeRow]:
            with told_of(path, _SPSS):
                for piece, _ in pieces:
                    yield from rows_again(piece.values(), clocks)

        return SecondReading(tuple(kinds), rows())

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table in which the values of some columns have other labels, and other formats show them."""
        carried: SpssCarried = table.carried
        columns, meta = dict(carried.columns), carried.meta
        for name, form in forms.items():
            require_plain(columns[name], meta, form)
            columns[name] = reshaped_stored(columns[name], form)
            meta = reshaped_meta(meta, columns[name], form)
        return replace(table, carried=replace(carried, columns=columns, meta=meta))

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a file with the dictionary of the original."""
        carried: SpssCarried = release.original.carried
        columns = [
            carried.columns[v.name].released(
                release.rows, release.changed(v.name), release.cells[v.name], frozenset()
            )
            for v in release.variables
        ]
        meta, dictionary = carried.meta, carried.dictionary
        at = {column: place for place, column in enumerate(meta.column_names)}
        released = [v.column for v in release.variables]
        anew = [v.column for v in release.variables if not release.as_it_was(v.name)]
        widths = {name: width for name, width in meta.variable_storage_width.items() if name not in anew}
        texts = {column.name for column in columns if column.text}
        shown = {
            name: width for name, width in meta.variable_display_width.items() if name in widths or name not in texts
        }
        weight = None if dictionary.weight is None else meta.column_names[dictionary.weight]
        _save(
            target,
            columns,
            _Described(
                title=meta.file_label or "",
                notes=list(meta.notes),
                labels={k: v for k, v in meta.column_names_to_labels.items() if v},
                values=meta.variable_value_labels,
                missing=meta.missing_ranges,
                widths=widths,
                shown=shown,
                measures=meta.variable_measure,
                formats=dict(meta.original_variable_types),
            ),
            dictionary.compression,
        )
        alignments = [dictionary.alignments[at[name]] for name in released] if dictionary.alignments else []
        amend(target, released.index(weight) if weight in released else None, alignments)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new file; a name that ends with .zsav makes it compressed."""
        del options
        _NAMES.require([variable.column for variable in table.variables])
        made = _created(table)
        described = _Described(title=table.title, labels={v.column: v.label for v in table.variables if v.label})
        for variable, one in zip(table.variables, made, strict=True):
            _describe(described, variable, one)
        _save(target, [one.column for one in made], described, 2 if target.name.lower().endswith(".zsav") else 1)
        weights = [at for at, variable in enumerate(table.variables) if variable.weight]
        amend(target, weights[0] if weights else None, [])

    def form(self, table: Table) -> Iterator[str]:
        """Say that its documents and formats that no other package has stay behind."""
        kinds = {name: shown or "" for name, shown in table.carried.meta.original_variable_types.items()}
        own = [name for name, shown in kinds.items() if _name_of(shown) not in _ELSEWHERE]
        if own:
            yield f"display formats: {', '.join(f'{name} ({kinds[name]})' for name in own)}"
        if lines := len(table.carried.meta.notes):
            yield f"the documents of the file: {lines:,} {'line' if lines == 1 else 'lines'}"

    def losses(self, table: Table) -> Iterator[str]:
        """Say what SPSS cannot hold."""
        many = f"which codes mean 'missing', as there are more than {_MOST_DISCRETE}"
        yield from losses_by_column(table, *texts_lost(table), (many, lambda v: len(v.missing) > _MOST_DISCRETE))
        some = tuple(v for v in table.variables if len(v.missing) <= _MOST_DISCRETE and _too_long(v.missing))
        part = Table(some, table.cells.select([variable.name for variable in some]))
        if long := [one.column.name for one in _created(part) if one.column.text]:
            yield f"which codes mean 'missing', as one is longer than {_LONGEST_CODE} bytes: {', '.join(long)}"


@dataclass(slots=True)
class _Described:
    """What is said of a file and its columns, by their names, in pyreadstat's terms."""

    title: str = ""
    notes: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[Any, str]] = field(default_factory=dict)
    missing: dict[str, list[Any]] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)


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
    if what := SPSS_CLOCKS.get(kind):
        return StoredColumn(name, numbers, absent, clock=Clock(what[0], _ORIGIN, Decimal(1)))
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


def _variable(name: str, stored: StoredColumn, cells: pa.ChunkedArray, meta: Any, *, weight: bool) -> Variable:
    column = stored.name
    labelled = meta.variable_value_labels.get(column, {})
    labels = {_lexeme(stored, value): label for value, label in labelled.items()}
    codes: dict[str, None] = {}
    declared, ranges, spans = set(labels), [], []
    for bounds in meta.missing_ranges.get(column, ()):
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
    kind = None if weight else _KINDS.get(meta.variable_measure.get(column, ""))
    order: tuple[str, ...] = ()
    if kind is Kind.ORDINAL:
        known = {text for text in cells.unique().to_pylist() if text is not None} | labels.keys()
        order = tuple(sorted(known - codes.keys(), key=str if stored.text or stored.clock else Decimal))
    return Variable(
        name,
        column,
        label=meta.column_names_to_labels.get(column) or "",
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


def _describe(described: _Described, variable: Variable, one: Created) -> None:
    """Add what is said of a variable of another format."""
    name, column = variable.column, one.column
    labels = {
        one.value(code): label for code, label in (*variable.labels.items(), *variable.missing.items()) if label
    }
    if labels:
        described.values[name] = labels
    if 0 < len(variable.missing) <= _MOST_DISCRETE and not (column.text and _too_long(variable.missing)):
        described.missing[name] = [one.value(code) for code in variable.missing]
    measures = {kind: measure for measure, kind in _KINDS.items()}
    if variable.kind is not None:
        described.measures[name] = measures[variable.kind]
    if column.text:
        return
    if column.clock is not None:
        described.formats[name] = {"date": "DATE11", "datetime": "DATETIME23.3", "time": "TIME12.3"}[
            column.clock.what
        ]
    else:
        width, places = variable.typed.shown or (8, one.decimals)
        described.formats[name] = f"F{min(40, max(width, one.width))}.{min(max(places, one.decimals), 16)}"


def _too_long(codes: Collection[str]) -> bool:
    """Whether SPSS cannot have one of these among the missing values of a column of texts."""
    return any(len(code.encode()) > _LONGEST_CODE for code in codes)


def _created(table: Table) -> list[Created]:
    """Return the columns of a table as a new file stores them."""
    return created_columns(table, lambda what: Clock(what, _ORIGIN, Decimal(1)))


def _bytes_of_codes(described: _Described, name: str) -> Iterator[int]:
    """Yield the lengths of the texts of which something is said: labels, and what is missing."""
    yield from (len(str(code).encode()) for code in described.values.get(name, ()))
    for code in described.missing.get(name, ()):
        low = code["lo"] if isinstance(code, dict) else code
        yield len(str(low).encode())


def _save(target: Path, columns: list[StoredColumn], described: _Described, compression: int) -> None:
    pyreadstat = pyreadstat_library()
    series = {}
    for column in columns:
        if column.text:
            texts = ["" if gone else text for text, gone in zip(column.values, column.absent, strict=True)]
            widest = max((len(text.encode()) for text in texts), default=0)
            if widest > _LONGEST:
                detail = f"a text has more than {_LONGEST:,} bytes"
                raise unfit_field("SPSS", column.name, detail)
            width = max(1, widest, described.widths.get(column.name, 0), *_bytes_of_codes(described, column.name))
            if texts:
                # the writer makes a column as wide as its longest text; SPSS fills texts with blanks anyway
                texts[0] += " " * (width - len(texts[0].encode()))
            described.formats[column.name] = f"A{width}"
            series[column.name] = pd.Series(texts, dtype=object)
        else:
            series[column.name] = pd.Series(np.where(column.absent, np.nan, column.values.astype(np.float64)))
    names = set(series)

    def of_these(said: dict[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in said.items() if name in names}

    try:
        pyreadstat.write_sav(
            pd.DataFrame(series),
            str(target),
            file_label=described.title,
            column_labels=of_these(described.labels),
            compress=compression == 2,
            row_compress=compression == 1,
            note=described.notes or None,
            variable_value_labels=of_these(described.values),
            missing_ranges=of_these(described.missing),
            variable_display_width=of_these(described.shown),
            variable_measure=of_these(described.measures),
            variable_format=of_these(described.formats),
        )
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise UsageError.of("cannot-hold", target, format="SPSS", detail=f"this table: {error}") from error
