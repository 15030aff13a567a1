"""Values of typed columns as lexemes. Nothing exact passes through a double."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.config import Kind
from masktron.errors import DocumentError
from masktron.problems.problem import Field, Place
from masktron.sources.tables.column_strings import octets_of
from masktron.sources.variables import Typed, Variable

_PLAIN_DIGITS = 40
"""Numbers that need more characters than this without an exponent are written with one, if that is shorter."""


class _NoTextError(Exception):
    """Which of some values has no text, and what it is."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(what)
        self.position = position


def lexemes_of(column: pa.ChunkedArray, name: str, where: str, before: int = 0) -> pa.ChunkedArray:
    """Return the values of a typed column as strings, null where one is missing.

    Integers and decimals are exact; a binary fraction is the shortest decimal that reads back equal in its own
    precision, and NaN is missing; zeros behind the decimal point that mean nothing are left out. Truths are ``true``
    and ``false``, dates and times in ISO 8601. Times of a column with a time zone are those of UTC, with ``Z``: what
    the clocks of a zone show is another thing in each version of its rules.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    name, where : str
        Of the column and the file, for messages.
    before : int
        Records of the file that stand before these.

    Raises
    ------
    DocumentError
        The type has no text form, or a value is infinite, before the year 1 or after 9999; says in which record.
    """
    kind = column.type
    if not has_text(kind):
        detail, how = f"values of type {kind}, which have no text form", "table.drop_columns of pyarrow"
        raise DocumentError.of("column-not-readable", where, field=Field(name), detail=detail, how=how)
    chunks = []
    for chunk in column.chunks:
        try:
            chunks.append(_written(chunk))
        except _NoTextError as problem:
            # a category that no record has stands at -1
            place = Place(where, record=before + problem.position + 1 if problem.position >= 0 else 0)
            raise DocumentError.of("value-not-readable", place, field=Field(name), detail=str(problem)) from None
        before += len(chunk)
    return pa.chunked_array(chunks, type=pa.string())


def require_sound(column: pa.Array | pa.ChunkedArray, label: str, where: str) -> None:
    """Refuse a column whose bytes are not of its type.

    Raises
    ------
    DocumentError
    """
    try:
        column.validate(full=True)
    except pa.ArrowException:  # says values
        detail = f"bytes that are not of its type {column.type}"
        raise DocumentError.of("value-not-readable", where, field=Field(label), detail=detail) from None


def variable_of(name: str, label: str, kind: pa.DataType) -> Variable:
    """Return what a type without categories says of a variable."""
    level = Kind.NOMINAL if pa.types.is_boolean(kind) else None
    return Variable(name, label, kind=level, typed=typed_of(kind), stored=kind)


def typed_of(kind: pa.DataType) -> Typed:
    """Return what a type says of the values that it can hold."""
    kind = value_type(kind)
    if pa.types.is_floating(kind):
        bits, largest = {16: (11, 16), 32: (24, 128), 64: (53, 1024)}[kind.bit_width]
        upper = (2 - Fraction(1, 1 << (bits - 1))) * (1 << (largest - 1))
        return Typed(bits=bits, lower=-upper, upper=upper)
    if pa.types.is_integer(kind):
        return Typed.integer(kind.bit_width, signed=pa.types.is_signed_integer(kind))
    if pa.types.is_decimal(kind):
        return Typed.decimal(kind.precision, kind.scale)
    return Typed(text=is_text(kind))


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column, also of one of categories."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def has_nanoseconds(kind: pa.DataType) -> bool:
    """Whether a type counts moments or times in nanoseconds, which databases do not."""
    return bool((pa.types.is_timestamp(kind) or pa.types.is_time(kind)) and kind.unit == "ns")


def has_text(kind: pa.DataType) -> bool:
    """Whether values of a type have a text form."""
    kind = value_type(kind)
    return is_text(kind) or any(test(kind) for test in _TESTS)


_TESTS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_null,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
)


def _written(chunk: pa.Array) -> pa.Array:
    """Write values: numbers one by one, all else each distinct one once.

    Raises
    ------
    _NoTextError
        With the position of the value; -1 where it is a category that no value has.
    """
    kind = chunk.type
    if pa.types.is_integer(kind):
        return chunk.cast(pa.string())
    if not (pa.types.is_float32(kind) or pa.types.is_float64(kind)):
        return _each_once(chunk)
    texts = chunk.cast(pa.string())
    if not len(texts) or octets_of(texts).max(initial=0) <= ord("9"):
        return texts
    # exponents, infinite numbers, NaN
    odd = pc.fill_null(pc.match_substring_regex(texts, "[ein]"), False)
    if not pc.any(odd).as_py():
        return texts
    try:
        return pc.replace_with_mask(texts, odd, _each_once(chunk.filter(odd)))
    except _NoTextError as problem:
        problem.position = int(np.flatnonzero(odd.to_numpy(zero_copy_only=False))[problem.position])
        raise


def _each_once(chunk: pa.Array) -> pa.Array:
    encoded = _encoded(chunk)
    try:
        return texts_of(encoded.dictionary).take(encoded.indices)
    except _NoTextError as problem:
        problem.position = pc.index(encoded.indices, problem.position).as_py()
        raise


def _encoded(chunk: pa.Array) -> pa.DictionaryArray:
    """Return a chunk with every distinct value once, where it can be had so."""
    kind = chunk.type
    if pa.types.is_dictionary(kind):
        return chunk
    if pa.types.is_null(kind):
        return pa.DictionaryArray.from_arrays(pa.nulls(len(chunk), pa.int32()), pa.nulls(0))
    if pa.types.is_string_view(kind):
        chunk = chunk.cast(pa.large_string())
    elif pa.types.is_decimal(kind) and kind.bit_width < 128:
        chunk = chunk.cast(pa.decimal128(kind.precision, kind.scale))
    return chunk.dictionary_encode()


def texts_of(values: pa.Array) -> pa.Array:
    """Write distinct values.

    Raises
    ------
    _NoTextError
    """
    kind = values.type
    if pa.types.is_boolean(kind):
        return pc.if_else(values, "true", "false")
    if pa.types.is_floating(kind):
        return pa.array(_of_floats(values), type=pa.string())
    if pa.types.is_decimal(kind):
        return pa.array([None if v is None else plain(v) for v in values.to_pylist()], type=pa.string())
    if pa.types.is_timestamp(kind):
        return _of_timestamps(values)
    if pa.types.is_date(kind):
        days = values.cast(pa.timestamp("s" if pa.types.is_date32(kind) else "ms"))
        return pc.utf8_slice_codeunits(_of_timestamps(days), 0, 10)
    texts = values.cast(pa.string())
    return _short_seconds(_required(texts, "a time beyond 24 hours")) if pa.types.is_time(kind) else texts


def _of_timestamps(values: pa.Array) -> pa.Array:
    naive = values.cast(pa.timestamp(values.type.unit))
    texts = _short_seconds(_required(pc.replace_substring(naive.cast(pa.string()), " ", "T")))
    return pc.binary_join_element_wise(texts, "Z", "") if values.type.tz else texts


def _required(texts: pa.Array, what: str = "a date before the year 1 or after 9999") -> pa.Array:
    """Refuse dates and times that have not four digits for the year, or two for the hour."""
    odd = pc.invert(pc.match_substring_regex(texts, r"^(\d{4}-\d\d-\d\d|\d\d:)"))
    early = pc.starts_with(texts, "0000-")
    at = pc.index(pc.fill_null(pc.or_(odd, early), False), True).as_py()
    if at >= 0:
        raise _NoTextError(what, at)
    return texts


def _short_seconds(texts: pa.Array) -> pa.Array:
    """Leave out zeros at the end of a fraction of a second."""
    texts = pc.replace_substring_regex(texts, r"\.0+$", "")
    return pc.replace_substring_regex(texts, r"(\.[0-9]*[1-9])0+$", r"\1")


def _of_floats(values: pa.Array) -> list[str | None]:
    numbers = values.to_numpy(zero_copy_only=False)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise _NoTextError("an infinite number", int(infinite[0]))
    texts: list[str | None] = []
    valid = values.is_valid().to_pylist()
    for text, there in zip(numbers.astype(str).tolist(), valid, strict=True):
        if not there or text == "nan":
            texts.append(None)
        elif text.endswith(".0"):
            texts.append(text[:-2])
        else:
            texts.append(plain(Decimal(text)) if "e" in text else text)
    return texts


def plain(exact: Decimal) -> str:
    """Write a decimal with the fewest digits, without exponent unless that is very long."""
    text = format(exact, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    if len(text) <= _PLAIN_DIGITS:
        return text
    sign, digits, _ = exact.as_tuple()
    kept = "".join(map(str, digits)).rstrip("0") or "0"
    point = "." if kept[1:] else ""
    short = f"{'-' if sign else ''}{kept[:1]}{point}{kept[1:]}E{exact.adjusted():+}"
    return min(text, short, key=len)
