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
    """Choose some makers that a file shall have more of; those that come up least are chosen most."""
    later = dict.fromkeys((*BOOLEANS_2, *NUMBERS_2, *STRINGS_2, *ITEMS))
    makers = (*dict.fromkeys((*BOOLEANS, *NUMBERS, *STRINGS)), *later, *later, *NUMBERS_2, *NUMBERS_2)
    return tuple(rng.sample(makers, 8))
