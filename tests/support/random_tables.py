"""Tables drawn at random, and what a conversion of them from one format into another must be."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from made_columns import cells_of, dataset_of
from masktron.config import Kind
from masktron.errors import UsageError
from masktron.jobs.convert import run_convert
from masktron.problems.wording import sentence
from masktron.sources.dataset import Dataset
from masktron.sources.frame_path import FramePath
from masktron.sources.known_formats import format_of_name, table_format
from masktron.sources.opening import open_source
from masktron.sources.tables.arrow_lexemes import is_text
from masktron.sources.tables.column_names import xml_name
from masktron.sources.tables.conversion import create_xml, table_of_source, with_types
from masktron.sources.tables.frames import ArrowFrameFormat, FrameFormat, PandasFormat
from masktron.sources.tables.release import Release
from masktron.sources.variables import Variable

SUFFIXES = ("xml", "csv", "tsv", "parquet", "arrow", "sav", "dta", "xpt", "xlsx", "sqlite", "duckdb")
FRAMES = ("pandas", "pyarrow")
"""Data frames, by the library that holds them."""
FORMATS = (*SUFFIXES, *FRAMES)
_PLAIN = ("age", "Income", "V_1", "status", "kind2", "weight", "x", "region")
_ODD = ("annual income", "Größe", "x.y", "_x0041_", "2024", "a:b", 'say "so"', "naïve-é", "a,b;c", "@id", " lead")
_ODD += ("a_name_that_is_longer_than_thirty_two_characters", "AGE")
_TEXTS = ("yes", "no", "Zoë", "a,b", "a;b", 'say "so"', "two\nlines", "tab\there", " lead", "trail ", "<&>", "0x1F")
_TEXTS += ("😀", "NA", "null", ".", "-", "true", "1,5", "007", "", " ", "a\r\nb", "'", "=1+1", "x" * 300)
_DATES = ("2020-02-29", "1999-12-31", "1582-10-15", "0001-01-01", "9999-12-31", "1900-01-01")
_TIMES = ("2020-02-29T08:30:00", "1999-12-31T23:59:59.5", "2024-01-01T00:00:00", "1960-01-01T00:00:00.001")
_CLOCKS = ("08:30:00", "23:59:59.25", "00:00:00", "12:00:00")
_STORED: tuple[tuple[pa.DataType, tuple[str, ...]], ...] = (
    (pa.int8(), ("0", "-128", "127", "5")),
    (pa.int64(), ("1", "-9223372036854775808", "9007199254740993", "12")),
    (pa.uint64(), ("18446744073709551615", "0")),
    (pa.decimal128(9, 2), ("1.5", "-0.25", "1234567.89", "3")),
    (pa.decimal128(30, 10), ("12345678901234567890.0123456789", "-1")),
    (pa.float64(), ("0.1", "-0", "1E+300", "123456789.125", "7")),
    (pa.float32(), ("0.1", "16777216", "-2.5")),
    (pa.bool_(), ("true", "false")),
    (pa.date32(), _DATES),
    (pa.timestamp("us"), _TIMES),
    (pa.timestamp("us", tz="UTC"), ("2020-02-29T08:30:00Z", "1970-01-01T00:00:00.5Z")),
    (pa.time64("us"), _CLOCKS),
    (pa.string(), _TEXTS),
    (pa.dictionary(pa.int8(), pa.string()), ("a", "b", "")),
    (pa.dictionary(pa.int8(), pa.string(), ordered=True), ("low", "mid", "high")),
    (pa.dictionary(pa.int32(), pa.int64()), ("1", "2", "30")),
    (pa.null(), ()),
)
_UNTYPED: tuple[tuple[str, ...], ...] = (
    ("1", "2", "-3", "999999999999999999"),
    ("1.5", "2.25", "-0.5"),
    ("1.50", "2.00", "-0.50"),
    ("007", "012", "1"),
    ("1e3", "2E-4", "5"),
    ("+5", "-0", ".5", "5."),
    ("1234567890123456789012", "1"),
    _DATES,
    _TIMES,
    _CLOCKS,
    _TEXTS,
    (),
)


def random_table(draw: random.Random) -> Dataset:
    """Return a table of some columns, with names, types, gaps and descriptions as files of offices have them."""
    pool = _PLAIN if draw.random() < 0.6 else _PLAIN + _ODD
    columns = draw.sample(pool, draw.randint(1, 5))
    size = draw.choice([1, 2, 3, 5, 8])
    gaps = draw.choice([0.0, 0.3])
    cells, variables = {}, []
    for column in columns:
        name = xml_name(column)
        kind, texts = draw.choice(_STORED) if draw.random() < 0.5 else (None, draw.choice(_UNTYPED))
        drawn = [draw.choice(texts) if texts and draw.random() >= gaps else None for _ in range(size)]
        said = Variable(name, column, stored=kind)
        if kind is not None and pa.types.is_boolean(kind):
            said = replace(said, kind=Kind.NOMINAL)
        elif kind is not None and pa.types.is_dictionary(kind):
            level = Kind.ORDINAL if kind.ordered else Kind.NOMINAL
            said = replace(said, kind=level, order=texts if kind.ordered else ())
        if draw.random() < 0.3:
            said, drawn = _coded(draw, replace(said, stored=None, kind=None, order=()), size)
        if draw.random() < 0.4:
            said = replace(said, label=draw.choice(["A label", "Ein Maß, in €", 'of "all"']))
        cells[name] = pa.array(drawn, pa.string())
        variables.append(said)
    title = draw.choice(["", "", "Survey of 2024"])
    return dataset_of(tuple(variables), pa.table(cells), title=title)


def _coded(draw: random.Random, variable: Variable, size: int) -> tuple[Variable, list[str | None]]:
    """Return a variable of codes with labels, some of which mean 'missing', and values."""
    codes = {"1": "yes", "2": "no", "3": "don't know, or won't say"}
    absent = draw.choice([{}, {"-9": "refused"}, {".a": "refused"}, {"-8": "", "-9": "refused"}])
    values = [draw.choice([*codes, *absent, None]) for _ in range(size)]
    kind = draw.choice([None, Kind.NOMINAL, Kind.ORDINAL, Kind.NUMBER])
    order = tuple(codes) if kind is Kind.ORDINAL else ()
    labels = draw.choice([codes, {}])
    return replace(variable, labels=labels, missing=absent, kind=kind, order=order), values


def write_table(table: Dataset, kind: str, folder: Path) -> Path:
    """Write a table in a format, or hold it as a frame.

    Raises
    ------
    UsageError
        The format cannot hold it.
    """
    path = folder / f"data.{kind}"
    if kind == "xml":
        create_xml(path, table, None)
        return path
    if kind in FRAMES:
        place = FramePath.of(None)
        maker: FrameFormat = PandasFormat() if kind == "pandas" else ArrowFrameFormat()
        maker.write(place, Release.new(with_types(table)))
        return place
    name = format_of_name(path)
    assert name is not None
    table_format(name).write(path, Release.new(with_types(table)))
    return path


def trouble(source: Path, target: str, folder: Path, seen: Counter[str]) -> Iterator[str]:
    """Convert a file, and yield what is neither the same, nor refused, nor named as lost."""
    out = folder / f"out.{target}"
    before = table_of_source(open_source(source))
    if not before.columns:  # an XML file of which no record has a field, which `convert` refuses
        seen["refused"] += 1
        return
    try:
        if target in FRAMES:
            found, losses = open_source(write_table(before, target, folder)), None
        else:
            losses = " | ".join(map(sentence, run_convert(source, out).losses))
            found = open_source(out)
    except UsageError as refusal:
        seen["refused"] += 1
        if out.exists():
            yield f"refused and written: {refusal.what}"
        return
    seen["converted"] += 1
    after = table_of_source(found)
    if len(found.records() if len(before) else ()) != len(before):
        yield "another number of records"
        return
    fields = found.records().columns
    for variable in before.variables:
        own = cells_of(before)[variable.name].to_pylist()
        column = fields.get(variable.name)
        other = [None] * len(own) if column is None else column.lexemes.tolist()
        told = losses is not None and variable.column in losses
        if own != other and not (told and _blank_alike(own, other)) and not (told and _equal_numbers(own, other)):
            yield f"values of {variable.column!r} ({variable.stored}): {own} became {other}; said: {losses}"
        if losses is not None:
            yield from _descriptions(variable, after, losses)
    if losses is not None and before.title and after.title != before.title and "title" not in losses:
        yield f"the title is lost; said: {losses}"


def _blank_alike(own: list[str | None], other: list[str | None]) -> bool:
    """Whether values are the same but for blanks at their ends: what a format may lose, if it is said."""
    return [(text or "").rstrip() for text in own] == [(text or "").rstrip() for text in other]


def _equal_numbers(own: list[str | None], other: list[str | None]) -> bool:
    """Whether values are the same numbers but for zeros at their end."""
    try:
        return [text and Decimal(text) for text in own] == [text and Decimal(text) for text in other]
    except ArithmeticError:
        return False


def _descriptions(variable: Variable, after: Dataset, losses: str) -> Iterator[str]:
    found = next((one for one in after.variables if one.name == variable.name), None)
    if found is None:
        if variable.column not in losses:
            yield f"{variable.column!r} is gone; said: {losses}"
        return
    for what, own, other, word in (
        ("label", variable.label, found.label, "labels of variables"),
        ("labels", dict(variable.labels), dict(found.labels), "labels"),
        ("missing", set(variable.missing), set(found.missing), "missing"),
        ("kind", variable.kind, found.kind, "kind"),
        ("weight", variable.weight, found.weight, "weight"),
    ):
        if what == "labels" and own.items() <= other.items():
            continue  # a code for 'missing' may have become one with a label
        if own and own != other and not (word in losses and variable.column in losses):
            yield f"{what} of {variable.column!r}: {own!r} became {other!r}; said: {losses}"
    kind = variable.stored
    if kind is not None and found.stored is not None and is_text(found.stored) and not is_text(kind):
        there = [text for text in cells_of(after)[variable.name].to_pylist() if text is not None]
        if there and not pa.types.is_dictionary(kind) and variable.column not in losses:
            yield f"{variable.column!r} of type {kind} became text, and nothing says so; said: {losses}"
