"""The kernel reads numbers bit by bit as plain Python does, and as libxml2 itself does."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from columns_twin import batch_of, real
from examples import FULL, examples
from masktron.sources.columns import NumberForm, Numbers
from masktron.sources.record_layout import Field, Layout

LAYOUT = Layout(("D", "R"), (Field("V", "V"), Field("@a", "a", True)))

PLAIN = st.from_regex(r"\A[ \t\n]{0,2}-?(0{0,3}[0-9]{0,24}(\.0{0,3}[0-9]{0,24})?)[ \t\n]{0,2}\Z")
NEAR = st.text(alphabet="0123456789+-.eEINFa _x\t\né\xa0", max_size=12)
FORMS = (
    "",
    " ",
    "INF",
    "-INF",
    "NaN",
    "1e3",
    "+5",
    "--1",
    "1.2.3",
    "-",
    ".",
    "-.",
    "1 2",
    "0x1",
    "1_0",
    "٣",
    "1f",
    "é",
)
HARD = (
    *("0", "-0", "-0.0", "00012", "5.", ".5", "-.5", "1.14", "1.36", "0.1", "9007199254740993", "9007199254740992.5"),
    *("999999999999999999", "1000000000000000000", "18014398509481985", "0.000000000000000000000001", "4.35"),
    *("1" + "0" * 400, "0." + "0" * 400 + "1", "9" * 310, "9" * 4000, "0." + "0" * 33000, "1." + "0" * 33000),
    *(
        "0.3333333333333333333333333333",
        "123456789012345678901234567890.12345",
        "0." + "9" * 25,
        "1." + "0" * 25 + "1",
    ),
)


def bits(numbers: Numbers) -> list[tuple[object, ...]]:
    return list(
        zip(
            numbers.form.tolist(),
            np.where(np.isnan(numbers.double), np.nan, numbers.double).view(np.int64).tolist(),
            np.where(np.isnan(numbers.libxml2), np.nan, numbers.libxml2).view(np.int64).tolist(),
            numbers.mantissa.tolist(),
            numbers.scale.tolist(),
            strict=True,
        )
    )


def assert_like_the_twin(lexemes: list[str | None]) -> None:
    twin = batch_of(LAYOUT, [{"V": lexeme, "@a": lexeme} for lexeme in lexemes])
    for at in (0, 1):
        for lexeme, found, expected in zip(
            lexemes, bits(real(twin).numbers(at)), bits(twin.numbers(at)), strict=True
        ):
            assert found == expected, lexeme


@examples(60, full=300)
@given(st.lists(st.one_of(PLAIN, NEAR, st.none(), st.sampled_from(FORMS)), max_size=12))
@example([*FORMS, None, "&", "1\r"])
def test_cells_are_read_as_the_twin_reads_them(lexemes):
    assert_like_the_twin(lexemes)


@pytest.mark.parametrize("lexeme", HARD, ids=lambda text: text[:24])
def test_hard_numbers(lexeme):
    if lexeme.endswith("0" * 33000):  # beyond what a scale can be; the twin has no place for it
        numbers = real(batch_of(LAYOUT, [{"V": lexeme}])).numbers(0)
        assert (numbers.scale[0], numbers.mantissa[0]) == (-1, 0)
        assert numbers.double[0] == numbers.libxml2[0] == float(lexeme)
        return
    assert_like_the_twin([lexeme, "-" + lexeme.lstrip("-")])


def test_many_random_decimals():
    chance = random.Random(4)
    lexemes = []
    for _ in range(20_000 if FULL else 5_000):
        digits = "".join(chance.choices("0123456789", k=chance.randint(1, 21)))
        point = chance.randint(0, len(digits))
        lexemes.append(f"{digits[:point]}.{digits[point:]}" if chance.random() < 0.8 else digits)
        lexemes.append(repr(chance.lognormvariate(0, 8)))
    assert_like_the_twin([text for text in lexemes if "e" not in text])


def halfway(chance: random.Random) -> str:
    """A decimal of up to 18 digits that is half-way between two doubles, or next to it."""
    while True:
        scale = chance.randint(0, 8)
        middle = Fraction(chance.randrange(1 << 53, 1 << 54) | 1, 1 << chance.randint(0, scale))
        mantissa = middle * 10**scale
        if mantissa.denominator == 1 and mantissa < 10**18:
            digits = str(mantissa.numerator + chance.choice((-1, 0, 0, 1))).rjust(scale + 1, "0")
            return f"{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}"


def test_numbers_half_way_between_doubles_go_to_the_even_one():
    chance = random.Random(5)
    lexemes = [halfway(chance) for _ in range(3000)]
    numbers = real(batch_of(LAYOUT, [{"V": text} for text in lexemes])).numbers(0)
    assert [value.hex() for value in numbers.double.tolist()] == [float(text).hex() for text in lexemes]


def test_libxml2_itself_reads_the_same():
    chance = random.Random(6)
    lexemes = [text for text in HARD if len(text) < 1000]
    for _ in range(5000):
        whole, fraction = (chance.choice(("", "0", "00", "1", "7")) + str(chance.getrandbits(b)) for b in (40, 70))
        lexemes.append(
            f"{chance.choice(('', '-', ' '))}{whole[: chance.randint(0, 20)]}.{fraction[: chance.randint(1, 24)]}"
        )
    numbers = real(batch_of(LAYOUT, [{"V": text} for text in lexemes])).numbers(0)
    number = etree.XPath("number($text)")
    root = etree.Element("x")
    for text, found in zip(lexemes, numbers.libxml2.tolist(), strict=True):
        expected = number(root, text=text)
        assert found.hex() == float(expected).hex(), text


@pytest.mark.parametrize("word", ["INF", "NaN", "1e3", "+5", "-", "1 2"])
def test_what_an_engine_has_to_read_is_left_to_it(word):
    numbers = real(batch_of(LAYOUT, [{"V": word}])).numbers(0)
    assert numbers.form[0] == NumberForm.OTHER
    assert math.isnan(numbers.double[0])
    assert math.isnan(numbers.libxml2[0])
    assert numbers.scale[0] == -1
