"""Values of typed columns as lexemes, and lexemes as values of a type. Nothing exact passes through a double."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.config import Kind
from masktron.errors import DocumentError, UsageError
from masktron.sources.lexical import XML_SPACE, parse_number
from masktron.sources.records import Typed
from masktron.sources.tables.string_cells import octets_of
from masktron.sources.variables import Variable

_PLAIN_DIGITS = 40
"""Numbers that need more characters than this without an exponent are written with one, if that is shorter."""
_MOST_DIGITS = 80
"""Before the point: no integer or decimal type holds as many."""
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY = 86400
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d+))?", re.ASCII)
_ZONE = re.compile(r"(Z|[+-]\d\d:\d\d)$", re.ASCII)


class UnfitError(Exception):
    """Why a type cannot hold a value, in words that show none."""


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
        raise DocumentError(
            f"column {name!r} is of type {kind}, which has no text form",
            where=where,
            hint="leave it out, or cut it into columns of single values",
        )
    chunks = []
    for chunk in column.chunks:
        try:
            chunks.append(_written(chunk))
        except _NoTextError as problem:
            if problem.position >= 0:
                raise DocumentError(
                    f"column {name!r} of record {before + problem.position + 1} holds {problem}",
                    where=where,
                    hint="leave the record out, or make it missing",
                ) from None
            raise DocumentError(f"a category of column {name!r} is {problem}", where=where) from None
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
        raise DocumentError(
            f"column {label!r} holds what is not of its type {column.type}",
            where=where,
            hint="the file is damaged: write it anew",
        ) from None


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


def has_text(kind: pa.DataType) -> bool:
    """Whether values of a type have a text form."""
    kind = value_type(kind)
    return is_text(kind) or any(test(kind) for test in _TESTS)


def categories_of(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Return the lexemes of the categories of a column that `lexemes_of` has read, in their order."""
    found: dict[str, None] = {}
    for chunk in column.chunks:
        found.update((text, None) for text in _texts(chunk.dictionary).to_pylist() if text is not None)
    return tuple(found)


def values_of(lexemes: pa.ChunkedArray, kind: pa.DataType, order: Sequence[str] = ()) -> pa.ChunkedArray:
    """Return lexemes as values of a type, exactly.

    Parameters
    ----------
    lexemes : pyarrow.ChunkedArray
    kind : pyarrow.DataType
    order : sequence of str
        Lexemes of categories that come first, in their order.

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
    if not has_text(kind):
        raise UnfitError("its values have no text form")
    places: dict[str, int] = {text: at for at, text in enumerate(dict.fromkeys(order))}
    indices = [None if text is None else places.setdefault(text, len(places)) for text in lexemes.to_pylist()]
    values = _values(list(places), value_type(kind))
    if pa.types.is_dictionary(kind):
        return pa.chunked_array([_dictionary(indices, values, kind)])
    return pa.chunked_array([taken(values, pa.array(indices, pa.int64()))], type=kind)


def taken(values: Any, rows: pa.Array) -> Any:
    """Return some values of an array or a column of any type; the categories of a column are those of all chunks.

    Raises
    ------
    UnfitError
        The type cannot count the categories of all chunks.
    """
    if pa.types.is_string_view(values.type):
        return values.cast(pa.large_string()).take(rows).cast(pa.string_view())
    if isinstance(values, pa.ChunkedArray) and pa.types.is_dictionary(values.type):
        values = one_dictionary(values)
    return values.take(rows)


def one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of categories whose chunks have the same ones.

    Raises
    ------
    UnfitError
        The type cannot count them.
    """
    chunks = column.chunks
    if all(chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks[1:]):
        return column
    places: dict[str | None, int] = {}
    kind, dictionaries, pieces, size = column.type, [], [], 0
    for chunk in chunks:
        texts = _texts(chunk.dictionary).to_pylist()
        fresh: list[int] = []
        for at, text in enumerate(texts):
            if text not in places:
                places[text] = size + len(fresh)
                fresh.append(at)
        dictionaries.append(taken(chunk.dictionary, pa.array(fresh, pa.int64())))
        size += len(fresh)
        own = pa.array([places[text] for text in texts], pa.int64())
        pieces.append(own.take(chunk.indices))
    values = _joined(dictionaries)
    return pa.chunked_array([_dictionary(piece, values, kind) for piece in pieces], type=kind)


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
    try:
        if pa.types.is_dictionary(kind):
            return _recoded(original, changed, lexemes)
        new = values_of(lexemes.filter(pa.array(changed)), kind)
    except UnfitError as problem:
        raise UsageError(
            f"column {name!r} of type {kind} cannot hold a masked value: {problem}",
            hint="give the column a wider type before it is masked",
        ) from None
    rows = np.arange(len(original), dtype=np.int64)
    rows[changed] = len(original) + np.arange(int(changed.sum()))
    return taken(pa.chunked_array([*original.chunks, *new.chunks], type=kind), pa.array(rows))


def _recoded(original: pa.ChunkedArray, changed: NDArray[np.bool_], lexemes: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put values into a column of categories, which may not get new ones."""
    one = one_dictionary(original).combine_chunks()
    one = one.chunk(0) if isinstance(one, pa.ChunkedArray) else one
    places: dict[str, int] = {}
    for at, text in enumerate(_texts(one.dictionary).to_pylist()):
        places.setdefault(text, at)
    codes: list[int | None] = one.indices.to_pylist()
    new = lexemes.to_pylist()
    for at in np.flatnonzero(changed).tolist():
        if new[at] is not None and new[at] not in places:
            raise UnfitError("it is none of the categories")
        codes[at] = None if new[at] is None else places[new[at]]
    return pa.chunked_array([_dictionary(codes, one.dictionary, original.type)])


def without_categories(column: pa.ChunkedArray, lost: Collection[str]) -> pa.ChunkedArray:
    """Return a column without some categories, which no value of it has.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Of categories.
    lost : collection of str
        Lexemes.
    """
    one = one_dictionary(column).combine_chunks()
    texts = _texts(one.dictionary).to_pylist()
    kept = [at for at, text in enumerate(texts) if text not in lost]
    if len(kept) == len(texts):
        return column
    places = {at: new for new, at in enumerate(kept)}
    codes = pa.array([None if at is None else places[at] for at in one.indices.to_pylist()], column.type.index_type)
    return pa.chunked_array([_dictionary(codes, taken(one.dictionary, pa.array(kept, pa.int64())), column.type)])


def _dictionary(codes: Any, values: pa.Array, kind: pa.DataType) -> pa.DictionaryArray:
    try:
        indices = pa.array(codes, pa.int64()).cast(kind.index_type)
    except pa.ArrowInvalid:
        raise UnfitError("there are more categories than the type can count") from None
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)


def _joined(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


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
        return _texts(encoded.dictionary).take(encoded.indices)
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


def _texts(values: pa.Array) -> pa.Array:
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
    return _short_seconds(_required(texts, "no time of a day")) if pa.types.is_time(kind) else texts


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


def _values(texts: list[str], kind: pa.DataType) -> pa.Array:
    """Return an array of a type with the values of some lexemes."""
    try:
        if pa.types.is_temporal(kind):
            return _array_of_counts([_count(text.strip(XML_SPACE), kind) for text in texts], kind)
        return pa.array(_parsed([text.strip(XML_SPACE) for text in texts], kind, texts), type=kind)
    except (pa.ArrowInvalid, OverflowError):
        raise UnfitError("it is out of range") from None


def _array_of_counts(counts: list[int], kind: pa.DataType) -> pa.Array:
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array(counts, width).view(kind)


def _parsed(stripped: list[str], kind: pa.DataType, texts: list[str]) -> list[Any]:
    if is_text(kind):
        return list(texts)
    if pa.types.is_boolean(kind):
        if not set(stripped) <= _TRUTHS.keys():
            raise UnfitError("it is neither true nor false")
        return [_TRUTHS[text] for text in stripped]
    if pa.types.is_integer(kind):
        return [_whole(text) for text in stripped]
    if pa.types.is_floating(kind):
        return [_fraction(text, kind) for text in stripped]
    if pa.types.is_decimal(kind):
        return [_scaled(text, kind.scale) for text in stripped]
    if texts:
        raise UnfitError("the column had no value")
    return []


def _number(text: str) -> Decimal:
    if np.isnan(parse_number(text)):
        raise UnfitError("it is no number")
    return Decimal(text)


def _whole(text: str) -> int:
    number = _number(text)
    if number.adjusted() > _MOST_DIGITS:
        raise UnfitError("it is out of range")
    if number != number.to_integral_value():
        raise UnfitError("it has a fraction")
    return int(number)


def _fraction(text: str, kind: pa.DataType) -> Any:
    number = _number(text)
    with np.errstate(over="ignore"):
        value: np.floating[Any] = np.dtype(f"f{kind.bit_width // 8}").type(text)
    if not np.isfinite(value):
        raise UnfitError("it is out of range")
    if Decimal(str(value)) != number:
        raise UnfitError("it would be another number")
    return value


def _scaled(text: str, scale: int) -> Decimal:
    number = _number(text)
    sign, digits, exponent = number.as_tuple()
    shift = int(exponent) + scale
    if not any(digits):
        return Decimal((sign, (0,), -scale))
    if number.adjusted() > _MOST_DIGITS:
        raise UnfitError("it is out of range")
    whole = int("".join(map(str, digits)))
    if shift < 0:
        kept, cut = ("".join(map(str, digits[:shift])) or "0"), digits[shift:]
        if any(cut) or -shift > len(digits):
            raise UnfitError("it has more fraction digits than the type")
        whole = int(kept)
    else:
        whole *= 10**shift
    return Decimal((sign, tuple(map(int, str(whole))), -scale))


def _count(text: str, kind: pa.DataType) -> int:
    """Return a date or a time as its type counts it: in days, or in units since the start of 1970 or of the day."""
    if pa.types.is_date(kind):
        return _days(text) * (1 if pa.types.is_date32(kind) else _DAY * 1000)
    scale = _PER_SECOND[kind.unit]
    if pa.types.is_time(kind):
        return _units(text, scale)
    zone = _ZONE.search(text)
    if (zone is None) == bool(kind.tz):
        raise UnfitError("it has no time zone" if zone is None else "it has a time zone")
    text, offset = (text, 0) if zone is None else (text[: zone.start()], _seconds(zone[1]))
    date, _, time = text.partition("T")
    return (_days(date) * _DAY - offset) * scale + _units(time, scale)


def _days(text: str) -> int:
    try:
        if _DATE.fullmatch(text):
            return datetime.date.fromisoformat(text).toordinal() - _EPOCH
    except ValueError:
        pass  # no day of the calendar
    raise UnfitError("it is no date")


def _units(text: str, scale: int) -> int:
    found = _TIME.fullmatch(text)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59 or int(found[3]) > 59:
        raise UnfitError("it is no time of a day")
    fraction, places = found[4] or "", len(str(scale)) - 1
    if fraction[places:].strip("0"):
        raise UnfitError("it has more fraction digits than the type")
    seconds = (int(found[1]) * 60 + int(found[2])) * 60 + int(found[3])
    return seconds * scale + int(fraction[:places].ljust(places, "0") or "0")


def _seconds(offset: str) -> int:
    if offset == "Z":
        return 0
    seconds = (int(offset[1:3]) * 60 + int(offset[4:6])) * 60
    return -seconds if offset[0] == "-" else seconds
