"""The texts of a column, each distinct one once, and what is known of them: whether they are numbers, or missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from masktron.large_arrays import new_array
from masktron.sources.lexical import XML_SPACE, fraction_digits, parse_number
from masktron.sources.lexicon import Lexicon
from masktron.sources.missing_codes import MissingCodes, codes_of_field

_MANY = 1 << 14
"""Texts from which on a kernel reads those that are plain numbers, for which whoever has fewer need not wait."""
_AT_ONCE = 1 << 16
"""Texts that are read together."""


class Status(IntEnum):
    """What stands in a cell."""

    PRESENT = 0
    ABSENT = 1
    """No element or attribute."""
    EMPTY = 2
    """There, without content other than white space."""
    CODE = 3
    """A lexeme that was declared to mean 'missing'."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadTexts:
    """What texts are.

    Attributes
    ----------
    states : ndarray of uint8, shape (m,)
        `Status` of each text.
    numbers : ndarray of float64, shape (m,)
        Correctly rounded; NaN where the status is not PRESENT or the text is not a number.
    decimals : ndarray of int32, shape (m,)
        Fraction digits of each number; 0 of what is none.
    """

    states: NDArray[np.uint8]
    numbers: NDArray[np.float64]
    decimals: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class KnownTexts:
    """Texts of a column; they are read when it is first asked what they are.

    Attributes
    ----------
    lexicon : Lexicon
        The m texts exactly as the parser gives them; None where absent. Not all of them need be distinct, or used.
    missing : frozenset of str
        Lexemes that mean 'missing'.
    """

    lexicon: Lexicon
    missing: frozenset[str] = frozenset()
    _read: dict[bool, ReadTexts] = field(default_factory=dict, init=False, repr=False)

    def read(self, *, text: bool) -> ReadTexts:
        """Return what the texts are.

        Parameters
        ----------
        text : bool
            The type of the column is text: codes are compared as texts, see `MissingCodes`.
        """
        if text not in self._read:
            self._read[text] = read_texts(self.lexicon, codes_of_field(self.missing, text=text))
        return self._read[text]

    def only(self, which: NDArray[np.integer]) -> KnownTexts:
        """Return the texts at some positions."""
        found = KnownTexts(self.lexicon.only(which), self.missing)
        found._read.update(
            (text, ReadTexts(own.states[which], own.numbers[which], own.decimals[which]))
            for text, own in self._read.items()
        )
        return found


def read_texts(lexicon: Lexicon, codes: MissingCodes) -> ReadTexts:
    """Find out what texts are, given the codes that mean 'missing'."""
    states, numbers = new_array(len(lexicon), np.uint8), new_array(len(lexicon), np.float64)
    decimals = new_array(len(lexicon), np.int32)
    for at in range(0, len(lexicon), _AT_ONCE):
        own = slice(at, min(at + _AT_ONCE, len(lexicon)))
        found = _read_some(lexicon.part(own), codes, compiled=len(lexicon) >= _MANY)
        states[own], numbers[own], decimals[own] = found.states, found.numbers, found.decimals
    return ReadTexts(states, numbers, decimals)


def _read_some(lexicon: Lexicon, codes: MissingCodes, *, compiled: bool) -> ReadTexts:
    states, numbers = np.full(len(lexicon), Status.PRESENT, dtype=np.uint8), np.full(len(lexicon), np.nan)
    left, decimals = np.arange(len(lexicon)), np.zeros(len(lexicon), dtype=np.int32)
    if compiled:
        from masktron.sources.columns import plain_numbers  # noqa: PLC0415 -- loads numba

        plain = plain_numbers(lexicon)
        known = (plain.scale >= 0) & ~np.isin(plain.double, codes.doubles)
        numbers[known] = plain.double[known]
        decimals[known], left = plain.scale[known], np.flatnonzero(~known)
    for at, text in zip(left.tolist(), lexicon.some(left).tolist(), strict=True):
        found = (Status.ABSENT, np.nan, 0) if text is None else read_text(text, codes)
        states[at], numbers[at], decimals[at] = found
    return ReadTexts(states, numbers, decimals)


def read_text(lexeme: str, codes: MissingCodes) -> tuple[Status, float, int]:
    """Return status, number and fraction digits of a lexeme."""
    text = lexeme.strip(XML_SPACE)
    if text in codes:
        return Status.CODE, np.nan, 0
    if not text:
        return Status.EMPTY, np.nan, 0
    value = parse_number(text)
    return Status.PRESENT, value, 0 if np.isnan(value) else fraction_digits(text)
