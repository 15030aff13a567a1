"""Values of typed columns as lexemes, and lexemes as values of a type. Nothing exact passes through a double."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.sources.lexical import parse_number
from masktron.sources.records import Typed

_PLAIN_DIGITS = 40
"""Numbers that need more characters than this without an exponent are written with one."""
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


class UnfitError(Exception):
    """Why a type cannot hold a value, in words that show none."""


def lexemes_of(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return the values of a typed column as strings, null where one is missing.

    Integers and decimals are exact; a binary fraction is the shortest decimal that reads back equal in its own
    precision, and NaN is missing; zeros behind the decimal point that mean nothing are left out. Truths are ``true``
    and ``false``, dates and times in ISO 8601, with ``Z`` where a column has a time zone.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    name, where : str
        Of the column and the file, for messages.

    Raises
    ------
    DocumentError
        The type has no text form, or a value is infinite.
    """
    kind = column.type
    if pa.types.is_null(kind):
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    if not _has_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        raise DocumentError(
            f"column {name!r} is of type {kind}, which has no text form",
            where=where,
            hint="leave it out, or cut it into columns of single values",
        )
    encoded = column if pa.types.is_dictionary(kind) else pc.dictionary_encode(column)
    if encoded.num_chunks > 1:
        encoded = encoded.unify_dictionaries()
    chunks = []
    for chunk in encoded.chunks:
        try:
            chunks.append(_texts(chunk.dictionary).take(chunk.indices))
        except UnfitError as problem:
            raise DocumentError(f"column {name!r} holds {problem}", where=where) from None
    return pa.chunked_array(chunks, type=pa.string())


def typed_of(kind: pa.DataType) -> Typed:
    """Return what a type says of the values that it can hold."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_floating(kind):
        return Typed(bits={16: 11, 32: 24, 64: 53}[kind.bit_width])
    return Typed(text=is_text(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def values_of(lexemes: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return lexemes as values of a type, exactly.

    Raises
    ------
    UnfitError
        The type cannot hold one.
    """
    if is_text(kind):
        return lexemes.cast(kind)
    if pa.types.is_null(kind):
        if lexemes.null_count < len(lexemes):
            raise UnfitError("the column had no value")
        return pa.chunked_array([pa.nulls(len(lexemes))])
    encoded = pc.dictionary_encode(lexemes).combine_chunks()
    texts = encoded.dictionary.to_pylist()
    target = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        values = pa.array(_parsed(texts, target), type=target)
    except (pa.ArrowInvalid, OverflowError):
        raise UnfitError("it is out of range") from None
    except (ValueError, InvalidOperation, pa.ArrowException):
        raise UnfitError("it is not of that type") from None
    if pa.types.is_dictionary(kind):
        found = pa.DictionaryArray.from_arrays(encoded.indices.cast(kind.index_type), values, ordered=kind.ordered)
        return pa.chunked_array([found])
    return pa.chunked_array([values.take(encoded.indices)], type=kind)


def replaced(original: pa.ChunkedArray, changed: NDArray[np.bool_], lexemes: pa.ChunkedArray, name: str) -> Any:
    """Return a typed column in which cells that have changed have the values of their lexemes.

    Parameters
    ----------
    original : pyarrow.ChunkedArray
        Its values, in the order in which they are written.
    changed : ndarray of bool, shape (n,)
    lexemes : pyarrow.ChunkedArray
        Of strings.
    name : str
        Of the column, for messages.

    Raises
    ------
    UsageError
        The type of the column cannot hold a masked value.
    """
    if not changed.any():
        return original
    kind = original.type
    only = pa.array(changed)
    try:
        new = values_of(lexemes.filter(only), kind if not pa.types.is_dictionary(kind) else kind.value_type)
        if pa.types.is_dictionary(kind):
            return _recoded(original, only, new)
    except UnfitError as problem:
        raise UsageError(
            f"column {name!r} of type {kind} cannot hold a masked value: {problem}",
            hint="give the column a wider type before it is masked",
        ) from None
    mixed = pc.replace_with_mask(original.combine_chunks(), only, new.combine_chunks())
    return pa.chunked_array([mixed], type=kind)


def _recoded(original: pa.ChunkedArray, only: pa.Array, new: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put values into a column of categories, which may not get new ones."""
    kind = original.type
    one = original.unify_dictionaries().combine_chunks()
    codes = pc.index_in(new, value_set=one.dictionary)
    if codes.null_count > new.null_count:
        raise UnfitError("it is none of the categories")
    indices = pc.replace_with_mask(one.indices, only, codes.combine_chunks().cast(kind.index_type))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, one.dictionary, ordered=kind.ordered)])


def _has_text(kind: pa.DataType) -> bool:
    return is_text(kind) or any(test(kind) for test in _TESTS)


_TESTS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
)


def _texts(values: pa.Array) -> pa.Array:
    """Write distinct values."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return pc.if_else(values, "true", "false")
    if pa.types.is_floating(kind):
        return pa.array(_of_floats(values), type=pa.string())
    if pa.types.is_decimal(kind):
        return pa.array([None if v is None else plain(v) for v in values.to_pylist()], type=pa.string())
    if pa.types.is_date64(kind):
        values = values.cast(pa.date32())
    texts = values.cast(pa.string())
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        texts = pc.replace_substring(texts, " ", "T", max_replacements=1)
        # zeros at the end of a fraction of a second say nothing
        texts = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]*[1-9])0+(Z?)$", r"\1\2")
    return texts


def _of_floats(values: pa.Array) -> list[str | None]:
    numbers = values.to_numpy(zero_copy_only=False)
    if np.isinf(numbers).any():
        raise UnfitError("an infinite number")
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
    return text if len(text) <= _PLAIN_DIGITS else str(exact)


def _parsed(texts: list[str], kind: pa.DataType) -> list[object]:
    if pa.types.is_boolean(kind):
        if not {text.strip() for text in texts} <= _TRUTHS.keys():
            raise UnfitError("it is neither true nor false")
        return [_TRUTHS[text.strip()] for text in texts]
    if pa.types.is_integer(kind):
        return [_whole(text) for text in texts]
    if pa.types.is_floating(kind):
        return [_fraction(text, kind) for text in texts]
    if pa.types.is_decimal(kind):
        return [_scaled(text, kind.scale) for text in texts]
    if pa.types.is_date(kind):
        return [datetime.date.fromisoformat(text.strip()) for text in texts]
    strings = pa.array([text.strip() for text in texts], type=pa.string())
    return list(strings.cast(kind))


def _number(text: str) -> Decimal:
    if np.isnan(parse_number(text)):
        raise UnfitError("it is no number")
    return Decimal(text.strip())


def _whole(text: str) -> int:
    number = _number(text)
    if number != number.to_integral_value():
        raise UnfitError("it has a fraction")
    return int(number)


def _fraction(text: str, kind: pa.DataType) -> float:
    number = _number(text)
    with np.errstate(over="ignore"):
        value: np.floating[Any] = np.dtype(f"f{kind.bit_width // 8}").type(text.strip())
    if not np.isfinite(value):
        raise UnfitError("it is out of range")
    if Decimal(str(value)) != number:
        raise UnfitError("it would be another number")
    return float(value)


def _scaled(text: str, scale: int) -> Decimal:
    number = _number(text)
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or not number.is_finite():
        raise UnfitError("it is no number")
    if exponent < -scale and any(digits[len(digits) + exponent + scale :]):
        raise UnfitError("it has more fraction digits")
    shift = exponent + scale
    whole = int("".join(map(str, digits)) or "0")
    whole = whole * 10**shift if shift >= 0 else whole // 10**-shift
    return Decimal((sign, tuple(map(int, str(whole))), -scale))
