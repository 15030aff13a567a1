"""Lexemes as values of a type. Nothing exact passes through a double."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.errors import UsageError
from masktron.problems.problem import Field, Note
from masktron.sources.lexical import XML_SPACE, parse_number
from masktron.sources.tables.arrow_lexemes import is_text

_MOST_DIGITS = 80
"""Before the point: no integer or decimal type holds as many."""
_DIGITS = 15
"""Significant digits that every double keeps."""
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY = 86400
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d+))?", re.ASCII)
_ZONE = re.compile(r"(Z|[+-]\d\d:\d\d)$", re.ASCII)


class UnfitError(Exception):
    """Why a type cannot hold a value, in words that show none."""


def no_room(name: str, detail: object, wider: str = "a wider type") -> UsageError:
    """Return the error of a column that cannot hold a masked value.

    Parameters
    ----------
    name : str
        Of the column.
    detail : object
        What of the value its type cannot hold.
    wider : str
        What the column needs.
    """
    return UsageError.of("new-value-does-not-fit", field=Field(name), detail=str(detail), wider=wider)


def unfit_field(holder: str, name: str, detail: object) -> UsageError:
    """Return the error of a column that a new file cannot hold.

    Parameters
    ----------
    holder : str
        The format or the type, as a sentence begins with it.
    name : str
        Of the column.
    detail : object
        Why, or the error that says so.
    """
    return UsageError.of(
        "cannot-hold", format=holder, detail=Note("{field}: {detail}", field=Field(name), detail=str(detail))
    )


def array_of(texts: list[str], kind: pa.DataType) -> pa.Array:
    """Return an array of a type with the values of some lexemes.

    Raises
    ------
    UnfitError
        The type cannot hold one.
    """
    try:
        if pa.types.is_float64(kind) and all_short_decimals(found := pa.array(texts, pa.string())):
            return found.cast(kind)
        if pa.types.is_temporal(kind):
            return _array_of_counts([_count(text.strip(XML_SPACE), kind) for text in texts], kind)
        return pa.array(_parsed([text.strip(XML_SPACE) for text in texts], kind, texts), type=kind)
    except (pa.ArrowInvalid, OverflowError):
        raise UnfitError("it is out of range") from None


def all_short_decimals(texts: pa.Array) -> bool:
    """Whether texts are numbers that every double keeps, written without exponent, plus sign or leading zeros.

    Theorem: a decimal of at most 15 digits is the shortest decimal of the nearest double (Matula 1968).
    """
    plain = pc.match_substring_regex(texts, r"^(-?[1-9][0-9]*|0|-?0\.[0-9]*[1-9][0-9]*|-?[1-9][0-9]*\.[0-9]+|0\.0+)$")
    short = pc.less_equal(pc.utf8_length(pc.replace_substring_regex(texts, r"[-.]", "")), _DIGITS)
    return bool(pc.all(pc.and_(plain, short)).as_py() is not False)


def _array_of_counts(counts: list[int], kind: pa.DataType) -> pa.Array:
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array(counts, width).view(kind)


def _parsed(stripped: list[str], kind: pa.DataType, texts: list[str]) -> list[Any]:
    if is_text(kind):
        return list(texts)
    if pa.types.is_boolean(kind):
        if not set(stripped) <= _TRUTHS.keys():
            raise UnfitError("it is not true or false")
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
        raise UnfitError("it is not a number")
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
    raise UnfitError("it is not a date")


def _units(text: str, scale: int) -> int:
    found = _TIME.fullmatch(text)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59 or int(found[3]) > 59:
        raise UnfitError("it is not a time of day")
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
