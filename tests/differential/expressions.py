"""Random expressions: typed so that most mean something, over the operators and functions that data edits use."""

from __future__ import annotations

from random import Random

from differential.conditions import BOOLEANS, FLAT_BOOLEANS
from differential.conditions_later import BOOLEANS_2
from differential.numbers import FLAT_NUMBERS, NUMBERS
from differential.numbers_later import NUMBERS_2
from differential.strings import FLAT_STRINGS, ITEMS, STRINGS, STRINGS_2
from differential.words import Grammar, Maker, Makers

GRAMMAR = Grammar(
    Makers(BOOLEANS, BOOLEANS_2, FLAT_BOOLEANS),
    Makers(NUMBERS, NUMBERS_2, FLAT_NUMBERS),
    Makers(STRINGS, STRINGS_2, FLAT_STRINGS),
    ITEMS,
)


def feature(rng: Random) -> tuple[Maker, ...]:
    """Choose some makers that a file shall have more of."""
    makers = (
        *BOOLEANS,
        *BOOLEANS_2,
        *BOOLEANS_2,
        *NUMBERS,
        *NUMBERS_2,
        *NUMBERS_2,
        *STRINGS,
        *STRINGS_2,
        *ITEMS,
    )
    return tuple(rng.sample(makers, 6))
