"""Values of typed columns as texts, made anew from values of Python, counts and tuples: the other way of the tests.

Nothing here is used by `masktron.sources.tables.arrow_lexemes`, and nothing of that here.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

_LONGEST = 40
_FORMATS = {16: ("e", 5), 32: ("f", 9)}
"""How `struct` packs a binary fraction, and the most digits that tell it from any other, by its bits."""


def column_texts(column: pa.Array) -> list[str | None]:
    """Write the values of an array, None where one is missing."""
    if pa.types.is_dictionary(column.type):
        categories = column_texts(column.dictionary)
        return [None if code is None else categories[code] for code in column.indices.to_pylist()]
    if pa.types.is_null(column.type):
        return [None] * len(column)
    if pa.types.is_integer(column.type):
        return [None if value is None else str(value) for value in column.to_pylist()]
    if pa.types.is_float64(column.type):
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
