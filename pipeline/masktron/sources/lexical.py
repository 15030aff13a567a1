"""Which texts are numbers, how exact they are, and how XPath 1.0 and libxml2 read and write them."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

XML_SPACE = " \t\r\n"
"""White space in XML; Python's ``str.strip()`` without it removes more."""
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document can hold."""

_SPACES = re.compile(f"[{XML_SPACE}]+")

INTEGER_TYPES: Mapping[str, tuple[int | None, int | None]] = MappingProxyType(
    {
        "integer": (None, None),
        "nonNegativeInteger": (0, None),
        "positiveInteger": (1, None),
        "nonPositiveInteger": (None, 0),
        "negativeInteger": (None, -1),
        "long": (-(2**63), 2**63 - 1),
        "int": (-(2**31), 2**31 - 1),
        "short": (-(2**15), 2**15 - 1),
        "byte": (-(2**7), 2**7 - 1),
        "unsignedLong": (0, 2**64 - 1),
        "unsignedInt": (0, 2**32 - 1),
        "unsignedShort": (0, 2**16 - 1),
        "unsignedByte": (0, 2**8 - 1),
    }
)
"""Least and greatest value of the integer types of XML Schema, by local name."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.(?P<tail>[0-9]*))?|\.(?P<only>[0-9]+))(?:[eE](?P<exponent>[+-]?[0-9]+))?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_XPATH1_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_XPATH_NUMBER = re.compile(r"-?(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]*))?")
_MAX_DIGITS = 20
_MAX_EXPONENT = 1_000_000


def normalize_space(text: str) -> str:
    """Return what ``normalize-space()`` makes of a text."""
    return _SPACES.sub(" ", text.strip(XML_SPACE))


def parse_number(lexeme: str) -> float:
    """Return the number that a text denotes, correctly rounded to a double, or NaN.

    The lexical forms of ``xs:decimal`` and ``xs:double`` count, with XML white space around them: ``5``, ``-.5``,
    ``+5.``, ``1e3``. ``INF``, ``NaN``, digits of other scripts, ``1_000`` and what overflows do not.
    """
    text = lexeme.strip(XML_SPACE)
    if _NUMBER.fullmatch(text) is None:
        return math.nan
    value = float(text)
    return value if math.isfinite(value) else math.nan


def is_integer(lexeme: str) -> bool:
    """Tell whether a text is an ``xs:integer``, XML white space around it apart: no point and no exponent."""
    return _INTEGER.fullmatch(lexeme.strip(XML_SPACE)) is not None


def fraction_digits(lexeme: str) -> int:
    """Return how many digits a number has after the decimal point, as written: 2 for ``1.50``, 4 for ``1.5e-3``.

    Raises
    ------
    ValueError
        The text is not a number.
    """
    match = _NUMBER.fullmatch(lexeme.strip(XML_SPACE))
    if match is None:
        raise ValueError(f"not a number: {lexeme!r}")
    digits = len(match["tail"] or match["only"] or "")
    return max(0, digits - _clamped(match["exponent"]))


def _clamped(exponent: str | None) -> int:
    """Read an exponent; beyond a million, no double knows the difference and int() may refuse."""
    digits = (exponent or "").lstrip("+-").lstrip("0")
    size = _MAX_EXPONENT if len(digits) > 6 else int(digits or "0")
    return -size if exponent and exponent.startswith("-") else size


def xpath1_number(lexeme: str) -> float:
    """Return what ``number()`` makes of a text by the Recommendation of XPath 1.0 (section 4.4).

    That is the nearest double, ties to even; NaN where the text is no optional minus sign before a *Number*, so for
    a plus sign, an exponent, ``INF`` and white space other than that of XML around it. What overflows is infinite.
    """
    text = lexeme.strip(XML_SPACE)
    return float(text) if _XPATH1_NUMBER.fullmatch(text) else math.nan


def xpath2_number(lexeme: str) -> float | None:
    """Return what ``number()`` makes of a text from XPath 2.0 on; None for ``+INF``, on which versions differ.

    That is the value as ``xs:double``: exponents and plus signs count, ``INF`` and ``-INF`` too, and what overflows
    is infinite. Another text is NaN.
    """
    text = lexeme.strip(XML_SPACE)
    if text == "+INF":
        return None
    return float(text) if _NUMBER.fullmatch(text) or text in ("INF", "-INF") else math.nan


def xpath1_text(number: float) -> str:
    """Return what ``string()`` makes of a number by the Recommendation of XPath 1.0 (section 4.2).

    An integer has no point and both zeros are ``0``; another number has the fewest digits behind the point that tell
    it from all other doubles, the nearest of these, and never an exponent.
    """
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return str(int(number)) if number.is_integer() else f"{Decimal(repr(number)):f}"


_EXACT_DIGITS = 15
"""Digits of an integer that doubles sum without rounding."""


def is_misread(lexeme: str) -> bool:
    """Tell whether libxml2's ``number()`` makes of a text something else than `xpath1_number`."""
    if len(lexeme) <= _EXACT_DIGITS and lexeme.isascii() and lexeme.isdigit():
        return False
    return not _is_same(xpath1_number(lexeme), libxml2_number(lexeme))


def _is_same(one: float, other: float) -> bool:
    """Tell whether two numbers are the same, bit by bit; NaN is one value."""
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return struct.pack("d", one) == struct.pack("d", other)


def libxml2_number(lexeme: str) -> float:
    """Return what libxml2's XPath ``number()`` makes of a text, bit by bit.

    It sums the digits before the point and those behind it in doubles, divides the latter by a power of ten and
    adds: two roundings or more, so ``1.14`` and ``1.36`` come out one unit in the last place off. It stops at 20
    digits behind the leading zeros of the fraction, and reads exponents, which XPath 1.0 does not have, but no
    leading ``+``.
    """
    match = _XPATH_NUMBER.fullmatch(lexeme.strip(XML_SPACE))
    if match is None:
        return math.nan
    whole, tail, only, exponent = match.groups()
    value = 0.0
    for digit in whole or "":
        value = value * 10.0 + float(digit)
    fraction = only or tail or ""
    if fraction:
        zeros = len(fraction) - len(fraction.lstrip("0"))
        kept = fraction[zeros : zeros + _MAX_DIGITS]
        part = 0.0
        for digit in kept:
            part = part * 10.0 + float(digit)
        value += part / _power_of_ten(zeros + len(kept))
    if lexeme.lstrip(XML_SPACE).startswith("-"):
        value = -value
    return value if exponent is None else value * _power_of_ten(_clamped(exponent))


def _power_of_ten(exponent: int) -> float:
    try:
        return math.pow(10.0, exponent)
    except OverflowError:
        return math.inf


def reads_alike(lexeme: str) -> bool:
    """Tell whether libxml2 and a correctly rounding engine read the same number from a text."""
    return _is_same(parse_number(lexeme), libxml2_number(lexeme))
