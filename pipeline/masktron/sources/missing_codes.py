"""Codes for missing values: which lexemes of a field they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from masktron.problems.problem import Note, Sentence
from masktron.sources.lexical import XML_SPACE, parse_number
from masktron.sources.record_layout import column_name

_BESIDE_NUMBERS = (
    "column {column!r} has {found:and} beside numbers: a text like any other; if it means that "
    "there is no value, give [[--format-option null={listed}]]"
)


def texts_beside_numbers(column: str, found: Sequence[str]) -> Note:
    """Say that a column has texts that often mean 'missing'."""
    return Note(_BESIDE_NUMBERS, column=column, found=[*map(repr, found)], listed=",".join(found))


def without_declared(note: Sentence, missing: Mapping[str, frozenset[str]]) -> Sentence | None:
    """Return a note; one of `texts_beside_numbers` without what settings declare, or None where that leaves no text.

    Parameters
    ----------
    note : Problem or str
    missing : mapping of str to frozenset of str
        Codes by field, as `masktron.config.Config` has them.
    """
    if not isinstance(note, Note) or note.code != _BESIDE_NUMBERS:
        return note
    column = note.references["column"]
    codes = frozenset[str]().union(*(own for name, own in missing.items() if column_name(name) in ("*", column)))
    left = [text for text in note.references["listed"].split(",") if text not in codes]
    return texts_beside_numbers(column, left) if left else None


class MissingCodes:
    """The codes of a field: ``lexeme in codes`` says whether a lexeme is one.

    A code that is a number is every lexeme of that number: ``9998`` stands for ``9998.0`` and ``09998`` as well. They
    are compared exactly, as decimals. All other codes, and those of fields whose type is text, are compared as texts.
    White space of XML around a lexeme does not count.

    Parameters
    ----------
    codes : iterable of str
    text : bool
        The type of the field is text: its values are no numbers, also where they look like some.

    Attributes
    ----------
    doubles : ndarray of float64
        The doubles nearest to the codes that are numbers: a lexeme with another one is none of them.
    """

    def __init__(self, codes: Iterable[str], *, text: bool = False) -> None:
        self._texts = frozenset(code.strip(XML_SPACE) for code in codes)
        numbers = {code: found for code in self._texts if (found := _exact(code)) is not None}
        self._number_of = {} if text else numbers
        self._by_number = {number: code for code, number in sorted(self._number_of.items(), reverse=True)}
        self._nearest = frozenset(map(parse_number, self._number_of))
        self.doubles: NDArray[np.float64] = np.array(sorted(map(parse_number, numbers)), dtype=np.float64)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def __contains__(self, lexeme: str) -> bool:
        return self.declared(lexeme) is not None

    def declared(self, lexeme: str) -> str | None:
        """Return the code that a lexeme is, as it was declared; None where it is none."""
        text = lexeme.strip(XML_SPACE)
        if text in self._texts:
            return text
        if not self._nearest or parse_number(text) not in self._nearest:
            return None
        number = _exact(text)
        return None if number is None else self._by_number.get(number)

    def unmet(self, lexemes: Iterable[str]) -> tuple[str, ...]:
        """Return the codes that none of some lexemes is, in order; those of one number are met together."""
        met = {code for lexeme in lexemes if (code := self.declared(lexeme)) is not None}
        numbers = {self._number_of[code] for code in met if code in self._number_of}
        return tuple(
            sorted(self._texts - met - {one for one, number in self._number_of.items() if number in numbers})
        )


@lru_cache(maxsize=1024)
def codes_of_field(codes: frozenset[str], *, text: bool = False) -> MissingCodes:
    """Return the codes of a field, made once for each set of them."""
    return MissingCodes(codes, text=text)


def _exact(text: str) -> Decimal | None:
    """Return the number that a text is; None where it is none that a double holds."""
    if np.isnan(parse_number(text)):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent with which no two such numbers are told apart
        return None
