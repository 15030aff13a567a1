"""Numbers as text: what counts as one, how exact it is, and libxml2's reading of it bit by bit."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from lxml import etree

from examples import FULL
from masktron.sources.lexical import fraction_digits, is_integer, libxml2_number, parse_number, reads_alike

DIGITS = "0123456789"


def _same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or struct.pack("d", a) == struct.pack("d", b)


def _random_lexeme(rng: random.Random) -> str:
    def digits(counts):
        return "".join(rng.choice(DIGITS) for _ in range(rng.choice(counts)))

    text = rng.choice(["", "", "", "-", "+", " ", "\t-", "--", "\r\n+ "])
    text += digits([0, 1, 1, 2, 3, 5, 9, 17, 25, 40, 330])
    if rng.random() < 0.8:
        text += "." + "0" * rng.choice([0, 0, 0, 3, 10, 30, 330])
        text += digits([0, 1, 2, 2, 3, 9, 15, 17, 19, 20, 21, 22, 40])
    if rng.random() < 0.25:
        text += rng.choice("eE") + rng.choice(["", "-", "+"]) + digits([0, 1, 2, 3, 7, 20])
    return text + rng.choice(["", "", "", "", " ", "\n ", "x", " 1", "\u00a0"])


@pytest.mark.full
def test_libxml2_number_is_libxml2_on_many_lexemes():
    number, element, rng = etree.XPath("number(.)"), etree.Element("a"), random.Random(20)
    for _ in range(100_000 if FULL else 20_000):
        element.text = text = _random_lexeme(rng)
        assert _same(number(element), libxml2_number(text)), repr(text)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=2) | st.floats(allow_nan=False, allow_infinity=False)
)
@example(Decimal("1.14"))
@example(5e-324)
def test_libxml2_number_is_libxml2_on_values(value):
    element = etree.Element("a")
    for text in (format(Decimal(str(value)), "f"), str(value)):
        element.text = text
        assert _same(etree.XPath("number(.)")(element), libxml2_number(text))


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**15), max_value=10**15))
def test_parse_number_is_correctly_rounded(value):
    text = format(value, "f")
    parsed = parse_number(f" \t{text}\r\n")
    error = abs(Fraction(parsed) - Fraction(value))
    for neighbour in (math.nextafter(parsed, math.inf), math.nextafter(parsed, -math.inf)):
        assert error <= abs(Fraction(neighbour) - Fraction(value))


@given(st.text(max_size=6))
def test_parse_number_never_raises(text):
    value = parse_number(text)
    assert math.isnan(value) or value == float(text)


@given(st.from_regex(r"\A[ \t]?[-+]?[0-9_]{0,3}\.?[0-9_]{0,3}([eE]-?[0-9]{1,2})?\Z"))
def test_parse_number_is_stricter_than_float(text):
    value = parse_number(text)
    assume(not math.isnan(value))
    assert value == float(text)


NUMBERS = {"5": 5, "-.5": -0.5, "+5.": 5, "1e3": 1000, " 1E-3\n": 0.001, "007": 7, "-0": 0, "1.14": 1.14}
NOT_NUMBERS = ["", " ", ".", "-", "+-1", "- 5", "1_000", "1,5", "\u0661", "\uff15", "\u00a05", "INF", "-INF", "NaN"]
NOT_NUMBERS += ["inf", "nan", "0x10", "1e", "1e+", "e3", "1.2.3", "1e400", "-1e400", "5 6", "true", "5\x0b"]


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers(text):
    assert parse_number(text) == NUMBERS[text]


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_not_numbers(text):
    assert math.isnan(parse_number(text))


@pytest.mark.parametrize(
    ("text", "digits"),
    [("5", 0), ("5.", 0), ("1.50", 2), (".5", 1), ("1.5e-3", 4), ("1.5e3", 0), ("1.2345e2", 2), (" -0.10 ", 2)],
)
def test_fraction_digits(text, digits):
    assert fraction_digits(text) == digits


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9))
def test_fraction_digits_are_those_of_decimal(value):
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    assert fraction_digits(str(value)) == max(0, -exponent)


def test_fraction_digits_of_a_huge_exponent_are_bounded():
    assert fraction_digits("1e-" + "9" * 5000) == 1_000_000
    assert parse_number("1e-" + "9" * 5000) == 0.0


def test_fraction_digits_of_text_are_refused():
    with pytest.raises(ValueError, match="not a number: 'abc'"):
        fraction_digits("abc")


@pytest.mark.parametrize("text", ["1.14", "1.36", "+5", "1e"])
def test_known_to_be_read_in_two_ways(text):
    assert not reads_alike(text)


@pytest.mark.parametrize("text", ["1.15", "-3.5", "0", "123456789", "abc", "", "0.1", "1e3"])
def test_known_to_be_read_alike(text):
    assert reads_alike(text)


def test_six_per_cent_of_values_with_nine_digits_are_read_in_two_ways():
    rng = random.Random(9)
    short = [f"{rng.uniform(1, 10):.9f}" for _ in range(20_000)]
    assert sum(not reads_alike(t) for t in short) / 20_000 == pytest.approx(0.06, abs=0.01)


@pytest.mark.parametrize(
    ("lexeme", "expected"),
    [
        ("5", True),
        ("+05", True),
        (" -0\n", True),
        ("5.", False),
        ("5.0", False),
        ("5e0", False),
        ("", False),
        ("\u0665", False),
    ],
)
def test_what_is_written_as_an_integer(lexeme: str, expected: bool) -> None:
    assert is_integer(lexeme) is expected
