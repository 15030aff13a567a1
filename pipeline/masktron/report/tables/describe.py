"""What a file holds, for the eye."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from masktron.counts import counted
from masktron.report.shared_tables import levels_table
from masktron.report.tables.cells import drawn, headed, noted, unbroken
from masktron.report.text import number, plain
from masktron.results import CONFIDENTIAL, DescribeResult, FieldDescription

_SHOWN = 3
_LONGEST = 40
_ABREAST = 5


def tables(result: DescribeResult) -> list[RenderableType]:
    """Fields with what they hold, the records that were asked for, and what is wrong."""
    return [
        *([] if result.release_safe else [f"[yellow]{CONFIDENTIAL}[/]"]),
        plain(
            f"{result.data}: {counted(result.records, 'record')} ({result.record}) of "
            f"{_held(result)}, {result.format}"
        ),
        *drawn(levels_table(result.levels)),
        *([_fields(result)] if result.fields else []),
        *_labelled(result),
        *([] if result.levels else _rows(result)),
        *noted("problem", [f"{one.what}; {one.hint}" for one in result.problems]),
        *noted("note", result.notes),
    ]


def _held(result: DescribeResult) -> str:
    return counted(len(result.levels), "level") if result.levels else counted(len(result.fields), "field")


def _fields(result: DescribeResult) -> Table:
    leveled = ("level",) if result.levels else ()
    table = headed("field", *leveled, "type", "role", "kind", "why", "missing", "different", "values")
    for field in result.fields:
        own = field.name.rpartition("/")[2] if leveled else field.name
        name = field.name if field.column in (own, own.removeprefix("@")) else _named(field)
        level = [field.level.rpartition("/")[2]] if leveled else []
        row = (name, *level, field.type, field.role or "-", field.kind or "-", field.why)
        many = f"over {number(field.distinct)}" if field.many else number(field.distinct)
        table.add_row(*map(plain, row), number(field.missing), many, plain(_values(field)) or "-")
    return unbroken(table, [field.name for field in result.fields])


def _named(field: FieldDescription) -> str:
    return f"{field.name} ({field.column})"


def _values(field: FieldDescription) -> str:
    if field.frequent:
        several = ", ".join(f"{_short(one.value)}: {number(one.records)}" for one in field.frequent[:_SHOWN])
        return several + (", ..." if field.distinct > _SHOWN else "")
    return "" if field.least is None else f"{field.least} to {field.greatest}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _labelled(result: DescribeResult) -> Iterator[str]:
    """Name labels and codes for missing values, of the fields that have some."""
    for field in result.fields:
        labels = ", ".join(f"{code} {label}" for code, label in list(field.labels.items())[:_SHOWN])
        codes = ", ".join(f"{code} {label}".strip() for code, label in field.missing_codes.items())
        more = ", ..." if len(field.labels) > _SHOWN else ""
        said = [field.label, f"labels {labels}{more}" if labels else "", f"missing {codes}" if codes else ""]
        if any(said):
            yield plain(f"{field.name}: {'; '.join(filter(None, said))}")


def _rows(result: DescribeResult) -> Iterator[Table]:
    """Records side by side, some at a time, with their fields below each other."""
    for start in range(0, len(result.rows), _ABREAST):
        rows = result.rows[start : start + _ABREAST]
        table = headed("record", *(number(row.record) for row in rows))
        for at, field in enumerate(result.fields):
            table.add_row(plain(field.name), *(plain(_short(row.values[at] or "-")) for row in rows))
        yield unbroken(table, [field.name for field in result.fields])
