"""Types of PostgreSQL: what their values are as columns of Arrow and as lexemes, and which type holds a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from masktron.addresses import Address
from masktron.errors import DocumentError
from masktron.problems.problem import Field
from masktron.sources.tables.arrow_objects import decimal_text
from masktron.sources.tables.arrow_values import unfit_field

DRIVER_TYPES = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.string(),
    "varchar": pa.string(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}
"""Types that the driver reads as Arrow has them; ``numeric``, ``bpchar`` and enumerations are read as texts."""
_MOST_DIGITS = 76


@dataclass(frozen=True, slots=True)
class PostgresColumn:
    """How a column was declared.

    Attributes
    ----------
    declared : str
        Its type, as SQL has it.
    required : bool
        It is NOT NULL.
    comment : str
    """

    declared: str
    required: bool = False
    comment: str = ""


def server_type(field: pa.Field) -> str:
    """Return the type that a column has on the server, as the driver says it; ``?`` where it does not."""
    return str((field.metadata or {}).get(b"POSTGRESQL:type", b"?").decode())


def categorical(texts: pa.ChunkedArray, labels: Sequence[str]) -> pa.ChunkedArray:
    """Return values of an enumeration as categories, in its order."""
    places = {label: place for place, label in enumerate(labels)}
    codes = pa.array([None if text is None else places[text] for text in texts.to_pylist()], pa.int32())
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(labels, pa.string()))])


def type_again(field: pa.Field, values: pa.ChunkedArray) -> str:
    """Return the type of a column of a query in the table that is made of it."""
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
    if server_type(field) == "numeric" and modifier < 4:
        return "numeric"
    return declared_type(pa.field(field.name, values.type))


def exact_numbers(texts: pa.ChunkedArray, field: pa.Field, address: Address) -> pa.ChunkedArray:
    """Return exact numbers, in the precision of the column.

    Without one, the column holds as many digits as the type of Arrow does that holds its values: the digits of its
    largest value must not bound what is drawn for it, as draws that are moved to such a bound would show them.

    Raises
    ------
    DocumentError
        One is not finite, or has more digits than any type of Arrow.
    """
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
    numbers = []
    for text in texts.to_pylist():
        number = None if text is None else Decimal(text)
        if number is not None and not number.is_finite():
            raise unread_column(field, "NaN or an infinite number", address)
        numbers.append(number)
    there = [number for number in numbers if number is not None]
    if modifier >= 4:
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
    else:
        scale = max((-int(number.as_tuple().exponent) for number in there), default=0)
        needed = scale + max((max(0, number.adjusted() + 1) for number in there), default=1)
        precision = needed if needed > _MOST_DIGITS else 38 if needed <= 38 else _MOST_DIGITS
    if not 0 <= scale <= precision <= _MOST_DIGITS:
        detail = f"numbers of more than {_MOST_DIGITS} digits, or with more digits after the point than in all"
        raise unread_column(field, detail, address)
    kind = (pa.decimal128 if precision <= 38 else pa.decimal256)(max(1, precision), scale)
    return pa.chunked_array([pa.array(numbers, type=kind)])


def text_of_server(text: str | None, kind: str) -> str | None:
    """Write what the server says by the rules of second readings: what the columns are is compared with this."""
    if text is None or (kind in {"float4", "float8"} and text == "NaN"):
        return None
    if kind == "bool":
        return {"t": "true", "f": "false"}.get(text, text)
    if kind in {"numeric", "float4", "float8"}:
        try:
            number = Decimal(text)
        except InvalidOperation:
            return text
        return decimal_text(number) if number.is_finite() else text
    if kind in {"timestamp", "timestamptz", "time"}:
        return text.replace(" ", "T", 1).replace("+00", "Z", 1)
    return text


def declared_type(field: pa.Field) -> str:
    """Return the type of PostgreSQL that holds a column.

    Raises
    ------
    UsageError
        There is none.
    """
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    names: Mapping[pa.DataType, str] = {
        pa.int8(): "smallint",
        pa.uint8(): "smallint",
        pa.int16(): "smallint",
        pa.uint16(): "integer",
        pa.int32(): "integer",
        pa.uint32(): "bigint",
        pa.int64(): "bigint",
        pa.float32(): "real",
        pa.float64(): "double precision",
        pa.bool_(): "boolean",
        pa.date32(): "date",
        pa.string(): "text",
        pa.large_string(): "text",
    }
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return "timestamptz" if kind.tz else "timestamp"
    if pa.types.is_time(kind) and kind.unit != "ns":
        return "time"
    if kind not in names:
        detail = f"it has no type for values of type {kind}"
        raise unfit_field("PostgreSQL", field.name, detail)
    return names[kind]


def unread_column(field: pa.Field, detail: str, address: Address) -> DocumentError:
    """Return the error of a column that is not read, for what it holds."""
    return DocumentError.of(
        "column-not-readable", address.shown, field=Field(field.name), detail=detail, how="?query=SELECT ..."
    )


def for_ingest(values: pa.Table) -> pa.Table:
    """Return columns in the types that the driver copies into those of `declared_type`."""
    columns = []
    for field, column in zip(values.schema, values.columns, strict=True):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_unsigned_integer(kind) or kind == pa.int8():
            kind = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}[kind.bit_width]
        elif pa.types.is_timestamp(kind):
            kind = pa.timestamp("us", tz="UTC" if kind.tz else None)
        elif pa.types.is_time(kind):
            kind = pa.time64("us")
        columns.append(column.cast(kind))
    return pa.Table.from_arrays(columns, names=values.column_names)
