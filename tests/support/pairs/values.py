"""Fields of a generated file: exact values, the lexemes that stand for them, and what engines read there."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from lxml import etree

type Kind = Literal["integer", "money", "ratio", "text"]
type Role = Literal["confidential", "record-id", "untouched", "weight", "quasi-identifier"]
type Value = Fraction | str
type Gap = Literal["absent", "empty", "code"]

NUMBERS: tuple[Kind, ...] = ("integer", "money", "ratio")
MAX_DIGITS = 15
STAYING: tuple[Role, ...] = ("untouched", "quasi-identifier")
"""Roles of fields that stay as they are and that conditions read."""

_SCRATCH = etree.Element("scratch")
_NUMBER: Any = etree.XPath("number($text)")


@dataclass(slots=True)
class Variable:
    """One field: a value for every record, and which of them are written as missing."""

    name: str
    kind: Kind
    values: list[Value]
    role: Role = "confidential"
    attribute: bool = False
    padded: bool = True
    gaps: dict[int, Gap] = field(default_factory=dict)
    code: str = ""
    filtered: bool = False
    """A filter rule decides where it is absent; no other value goes missing."""
    optional: bool = False
    """Rules let it be absent, whether or not it is in some record."""

    @property
    def reference(self) -> str:
        """Return what XPath and masktron call it."""
        return f"@{self.name}" if self.attribute else self.name

    @property
    def masked(self) -> bool:
        return self.role == "confidential"

    @property
    def lacks(self) -> set[Gap]:
        """Return the ways in which it may be missing."""
        return {*self.gaps.values(), *(("absent",) if self.optional else ())}

    @property
    def numbers(self) -> list[Fraction]:
        return [value for value in self.values if isinstance(value, Fraction)]

    def lexeme(self, record: int) -> str | None:
        """Return what the file holds for a record; None where nothing does."""
        match self.gaps.get(record):
            case "absent":
                return None
            case "empty":
                return ""
            case "code":
                return self.code
            case None:
                return written(self.values[record], 2 if self.kind == "money" and self.padded else 0)


def written(value: Value, decimals: int = 0) -> str:
    """Write a number in plain decimals, with at least so many of them."""
    if isinstance(value, str):
        return value
    places = decimals
    while (value * 10**places).denominator != 1:
        places += 1
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def readings(value: Fraction) -> tuple[float, float]:
    """Return the doubles that a correctly rounding engine and libxml2 read in a number as it is written."""
    text = written(value)
    return float(text), float(_NUMBER(_SCRATCH, text=text))


def adds_up(terms: Sequence[tuple[int, Fraction]], total: Fraction) -> bool:
    """Tell whether a sum, from the left, equals the total in the doubles of either engine."""
    for engine in (0, 1):
        result = 0.0
        for position, (coefficient, value) in enumerate(terms):
            term = coefficient * readings(value)[engine]
            result = result + term if position else term
        if result != readings(total)[engine]:
            return False
    return True


def multiplies_up(factors: Sequence[Fraction], product: Fraction) -> bool:
    """Tell whether a product, from the left, equals its value in the doubles of either engine."""
    return all(
        math.prod([readings(factor)[engine] for factor in factors]) == readings(product)[engine] for engine in (0, 1)
    )


def significant_digits(value: Fraction) -> int:
    return len(written(value).replace(".", "").lstrip("-0").rstrip("0"))


def draw_integers(rng: random.Random, size: Sequence[float], style: str) -> list[Fraction]:
    """Draw integers; `size` is a latent size of each record, so that fields go together."""

    shapes: dict[str, Callable[[float], int]] = {
        "count": lambda own: max(0, round(3 + 2 * own)),
        "wide": lambda own: 0 if rng.random() < 0.15 else round(math.exp(6 + 1.2 * own)),
        "positive": lambda own: 1 + round(math.exp(4 + own)),
        "signed": lambda own: round(400 * own) + rng.randint(-5, 5),
        "ties": lambda _: rng.choice((0, 0, 10, 20, 50, 100, 1000)),
        "codes": lambda _: rng.choice((1, 2, 2, 5, 10)),
        "two humps": lambda own: rng.choice((10, 900)) + round(20 * own),
    }
    return [Fraction(shapes[style](0.8 * latent + 0.6 * rng.gauss(0, 1))) for latent in size]


INTEGERS = ("count", "wide", "positive", "signed", "ties", "codes", "two humps")


def draw_money(rng: random.Random, size: Sequence[float], style: str) -> list[Fraction]:
    """Draw amounts with two decimals."""

    def one(latent: float) -> int:
        own = 0.8 * latent + 0.6 * rng.gauss(0, 1)
        match style:
            case "signed":
                return round(30000 * own)
            case "with zeros":
                return 0 if rng.random() < 0.2 else round(math.exp(8 + own))
            case _:
                return 1 + round(math.exp(9 + own))

    return [Fraction(one(latent), 100) for latent in size]


MONEY = ("signed", "with zeros", "positive")


def draw_ratios(rng: random.Random, size: Sequence[float]) -> list[Fraction]:
    """Draw positive numbers with nine decimals."""
    return [Fraction(max(1, round(math.exp(0.5 * latent + 0.3 * rng.gauss(0, 1)) * 10**9)), 10**9) for latent in size]
