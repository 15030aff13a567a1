"""The second reading of typed columns: every value is made a text anew, from bits, counts and tuples.

Nothing here is used by `arrow_lexemes`, and nothing of that here: what both say of a file is compared. Where there
are many records, kernels write the numbers; `_integers` and `_doubles` are their plain forms.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.kernels.written_numbers import LONGEST, NOTHING, OTHER, scale_doubles, write_decimals
from masktron.sources.tables.arrow_scalars import positions, text_scalar, truths_of

_LONGEST = 40
_SURE = 15
"""Digits of a decimal that a double surely keeps."""
_FOURS = np.frombuffer("".join(f"{number:04d}" for number in range(10_000)).encode(), dtype=np.uint32)
"""Four digits as bytes, of each number below 10,000."""
_FORMATS = {16: ("e", 5), 32: ("f", 9)}
"""How `struct` packs a binary fraction, and the most digits that tell it from any other, by its bits."""


def object_columns(batch: pa.RecordBatch, *, compiled: bool = False) -> list[pa.Array]:
    """Write the values of a batch as columns of strings; null where one is missing.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
    compiled : bool
        Whether integers and doubles are written by kernels, for which whoever has many records waits once.
    """
    return [_strings(column, compiled=compiled) for column in batch.columns]


def _strings(column: pa.Array, *, compiled: bool) -> pa.Array:
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if compiled and (pa.types.is_integer(kind) or pa.types.is_float64(kind)) and len(column):
        return _by_kernels(column)
    if pa.types.is_integer(kind) and len(column):
        return _integers(*_values(column))
    if pa.types.is_float64(kind) and len(column):
        return _doubles(column)
    return pa.array(column_texts(column), type=pa.string())


def _values(column: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the numbers of a column, 0 where there is none; and where there is one, unless that is everywhere."""
    kind = column.type
    letter = "f" if pa.types.is_floating(kind) else "i" if pa.types.is_signed_integer(kind) else "u"
    own = np.frombuffer(column.buffers()[1], dtype=f"{letter}{kind.bit_width // 8}")
    values = own[column.offset : column.offset + len(column)]
    if not column.null_count:
        return values, None
    there = truths_of(column.is_valid())
    return np.where(there, values, values.dtype.type(0)), there


def _by_kernels(column: pa.Array) -> pa.Array:
    """Write integers or doubles as `_integers` and `_doubles` do, which say why that is right."""
    values, there = _values(column)
    size, signed = len(values), values.dtype.kind != "u"
    scales, numbers = np.zeros(size, dtype=np.int8), _room(size, np.int64)
    if there is not None:
        scales[~there] = NOTHING
    given: list[str] = []
    if values.dtype.kind != "f":
        numbers.view(np.int64 if signed else np.uint64)[:] = values
    elif scale_doubles(values.copy(), scales, numbers):
        alone = np.flatnonzero(scales == OTHER)
        texts = list(map(double_text, values[alone].tolist()))
        scales[alone[[text is None for text in texts]]] = NOTHING
        given = [text for text in texts if text is not None]
        there = scales != NOTHING
    octets, stops = _room(size * LONGEST + sum(map(len, given)), np.uint8), _room(size + 1, np.int32)
    own = np.array(bytearray("".join(given).encode()), dtype=np.uint8)
    ends = np.cumsum(list(map(len, given)), dtype=np.int32)
    write_decimals(scales, numbers, signed, own, ends, octets, stops)
    return _strings_at(octets, stops, there)


def _room(size: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return an array in memory that pyarrow keeps for the next one: new pages take as long as what is done here."""
    return np.frombuffer(pa.allocate_buffer(size * np.dtype(kind).itemsize), dtype=kind)


def _integers(values: NDArray[Any], there: NDArray[np.bool_] | None = None) -> pa.Array:
    """Write integers, four digits at a time."""
    negative = values < 0
    amount = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64).view(np.uint64)
    amount = np.where(negative, ~amount + np.uint64(1), amount)
    most = int(amount.max())
    groups = (len(str(most)) + 3) // 4
    width = 4 * groups
    # the place of the first digit, with a place for the sign before all
    begin = np.full(len(values), width, dtype=np.int32)
    for power in range(1, len(str(most))):
        begin -= amount >= np.uint64(10**power)
    if most < 1 << 32:
        amount = amount.astype(np.uint32)
    octets = np.empty((len(values), 4 + width), dtype=np.uint8)
    fours = octets.view(np.uint32)
    for group in range(groups, 0, -1):
        rest = amount // 10_000
        fours[:, group] = _FOURS[amount - rest * 10_000]
        amount = rest
    begin += 3
    signed = np.flatnonzero(negative)
    begin[signed] -= 1
    octets[signed, begin[signed]] = ord("-")
    if there is not None:
        begin[~there] = 4 + width
    ends = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum(4 + width - begin, out=ends[1:])
    data = octets[np.arange(4 + width, dtype=np.int32) >= begin[:, None]]
    return _strings_at(data, ends, there)


def _doubles(column: pa.Array) -> pa.Array:
    """Write doubles: those of at most 15 digits together, others one by one.

    Theorem: where n < 10**15 and s <= 15 are whole and n / 10**s is a double v, the decimal n * 10**-s is the
    shortest one that reads back as v, if s is the least such number. Proof: n and 10**s are doubles, so that the
    quotient is the double nearest to the decimal. No other decimal of at most 15 digits has that double (Matula
    1968), so that a shorter one would be the same number, with a zero less at its end, and s would not be the least.
    """
    values, there = _values(column)
    left = np.flatnonzero((np.abs(values) < 10.0**_SURE) & ~((values == 0) & np.signbit(values)))
    rows, parts = [], []
    for scale in range(_SURE + 1):
        if not len(left):
            break
        own = values[left]
        whole = np.rint(own * 10.0**scale)
        fits = (np.abs(whole) < 10.0**_SURE) & (whole / 10.0**scale == own)
        if fits.any():
            rows.append(left[fits])
            parts.append(_scaled(whole[fits].astype(np.int64), scale))
            left = left[~fits]
    done = np.zeros(len(values), dtype=np.bool_)
    for some in rows:
        done[some] = True
    alone = np.flatnonzero(~done)
    if len(alone):
        rows.append(alone)
        parts.append(pa.array(list(map(double_text, values[alone].tolist())), type=pa.string()))
    texts = pa.concat_arrays(parts).take(positions(np.argsort(np.concatenate(rows))))
    return texts if there is None else pc.if_else(column.is_valid(), texts, None)


def _scaled(whole: NDArray[np.int64], scale: int) -> pa.Array:
    """Write whole numbers divided by a power of ten, of which the last digit is not 0."""
    if scale == 0:
        return _integers(whole)
    amount, unit = np.abs(whole), 10**scale
    before = amount // unit
    tail = pc.utf8_slice_codeunits(_integers(amount - before * unit + unit), 1)
    texts = pc.binary_join_element_wise(_integers(before), tail, text_scalar(".").cast(pa.string()))
    if not (whole < 0).any():
        return texts
    return pc.binary_join_element_wise(pc.if_else(pa.array(whole < 0), "-", ""), texts, "")


def _strings_at(data: NDArray[np.uint8], ends: NDArray[np.int32], there: NDArray[np.bool_] | None) -> pa.Array:
    """Return the texts between some places; null where there is none."""
    bits = None if there is None else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(ends) - 1, [bits, pa.py_buffer(ends), pa.py_buffer(data)])


def column_texts(column: pa.Array) -> list[str | None]:
    """Write the values of an array, None where one is missing."""
    if pa.types.is_dictionary(column.type):
        categories = column_texts(column.dictionary)
        return [None if code is None else categories[code] for code in column.indices.to_pylist()]
    if pa.types.is_null(column.type):
        return [None] * len(column)
    if pa.types.is_integer(column.type):
        return [None if value is None else str(value) for value in column.to_pylist()]
    if pa.types.is_float64(column.type):  # categories, or no rows
        return [None if value is None else double_text(value) for value in column.to_pylist()]
    if not (pa.types.is_primitive(column.type) or pa.types.is_decimal(column.type)):
        found: list[str | None] = column.to_pylist()
        return found
    write, objects = _writer(column)
    known: dict[object, str | None] = {}
    texts: list[str | None] = []
    for value in objects:
        if value is None:
            texts.append(None)
            continue
        key = (value, str(value)) if isinstance(value, float) else value  # 0 and -0 are equal, and not the same
        if key not in known:
            known[key] = write(value)
        texts.append(known[key])
    return texts


def _writer(column: pa.Array) -> tuple[Callable[[Any], str | None], list[Any]]:
    kind = column.type
    if pa.types.is_boolean(kind):
        return truth_text, column.to_pylist()
    if pa.types.is_decimal(kind):
        return decimal_text, column.to_pylist()
    if pa.types.is_floating(kind):
        return partial(narrow_text, bits=kind.bit_width), column.to_pylist()
    counts = column.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    if pa.types.is_date(kind):
        return partial(date_text, per_day=1 if pa.types.is_date32(kind) else 86_400_000), counts
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    if pa.types.is_time(kind):
        return partial(time_text, scale=scale), counts
    return partial(moment_text, scale=scale, end="Z" if kind.tz else ""), counts


def truth_text(value: object) -> str:
    """Write a truth."""
    return "true" if value else "false"


def decimal_text(value: Decimal) -> str:
    """Write a finite decimal with the fewest digits."""
    return _digits(*value.as_tuple())


def double_text(value: float) -> str | None:
    """Write a number of double precision; None for NaN."""
    text = repr(value)
    if "e" not in text and "n" not in text:
        return text.removesuffix(".0")
    return None if value != value else _digits(*Decimal(text).as_tuple())  # noqa: PLR0124 -- NaN


def narrow_text(value: float, bits: int) -> str | None:
    """Write a number of a precision of so many bits; None for NaN."""
    if value != value:  # noqa: PLR0124 -- NaN
        return None
    return _digits(*_shortest(value, *_FORMATS[bits]).as_tuple())


def _shortest(value: float, form: str, most: int) -> Decimal:
    """Return the shortest decimal that is nearest to this fraction of low precision and to no other."""
    exact = Decimal(value)
    if not exact:
        return exact
    with decimal.localcontext(prec=200):
        for places in range(most):
            step = Decimal(f"1e{exact.adjusted() - places}")
            # toward zero, and the next one
            low = step * (exact // step)
            found = [near for near in (low, low + step.copy_sign(exact)) if _packs(near, value, form)]
            if found:
                # of two that are equally near, the one with an even digit
                return min(found, key=lambda near: (abs(near - exact), int(near / step) % 2))
    return exact


def _packs(near: Decimal, value: float, form: str) -> bool:
    try:
        return bool(struct.unpack(form, struct.pack(form, float(near)))[0] == value)
    except OverflowError:
        return False


def _digits(sign: int, digits: tuple[int, ...], exponent: int | str) -> str:
    """Write digits and a power of ten with nothing that could be left out."""
    number, power = "".join(map(str, digits)).lstrip("0"), int(exponent)
    stripped = number.rstrip("0")
    power += len(number) - len(stripped)
    minus = "-" if sign else ""
    if not stripped:
        return f"{minus}0"
    if power >= 0:
        text = stripped + "0" * power
    elif -power < len(stripped):
        text = f"{stripped[:power]}.{stripped[power:]}"
    else:
        text = "0." + stripped.rjust(-power, "0")
    if len(minus + text) > _LONGEST:
        scaled = stripped[0] + ("." + stripped[1:] if stripped[1:] else "") + f"E{power + len(stripped) - 1:+d}"
        text = scaled if len(scaled) < len(text) else text
    return minus + text


def date_text(count: int, per_day: int = 1) -> str:
    """Write a date that is counted from the start of 1970, in units of which a day has so many."""
    return datetime.date.fromordinal(719163 + count // per_day).isoformat()


def time_text(count: int, scale: int) -> str:
    """Write a time of the day that is counted in units, of which a second has so many."""
    seconds, fraction = divmod(count, scale)
    tail = f".{fraction:0{len(str(scale)) - 1}d}".rstrip("0") if fraction else ""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{tail}"


def moment_text(count: int, scale: int, end: str) -> str:
    """Write a date with a time, counted from the start of 1970 in units, with what stands for its zone."""
    day = 86_400 * scale
    return f"{date_text(count, day)}T{time_text(count % day, scale)}{end}"
