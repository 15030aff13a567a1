"""What a field holds, counted a batch at a time, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice

from masktron.likely_roles import NumberTraits, called_like_codes, code_reason, has_zero_before
from masktron.sources.lexical import XML_SPACE, is_integer, parse_number
from masktron.sources.missing_codes import MissingCodes

MOST_DISTINCT = 100_000
"""Different values of a field that are kept."""


class FieldSummary:
    """Counts of the values of a field.

    Parameters
    ----------
    codes : MissingCodes
    text : bool
        The values are texts, also where they look like numbers.

    Attributes
    ----------
    missing, texts, numbers : int
        Records without a value, with a text, and with a number.
    integers, zeros_before : bool
        All values are written as integers; a number has a zero before it that counts for nothing.
    low, high : float
        Least and greatest number; NaN where there is none.
    counts : dict of str to int
        How often each value stands there, without white space around; of the first `MOST_DISTINCT` alone.
    many : bool
        There were more.
    codes_met : set of str
        Lexemes that are codes, as they are written.
    first_text : int
        Position of the first record with a text, from 0; -1 where there is none.
    runs : int
        Stretches of consecutive records with the same value, as `follow` was told.
    rising : bool
        So far each number is larger than that of the record before.
    """

    def __init__(self, codes: MissingCodes, *, text: bool = False) -> None:
        self._codes, self._text = codes, text
        self.missing = self.texts = self.numbers = 0
        self.integers, self.zeros_before = True, False
        self.low = self.high = math.nan
        self.counts: dict[str, int] = {}
        self.many = False
        self.codes_met: set[str] = set()
        self.first_text = -1
        self.runs, self.rising = 0, True
        self._last: tuple[int, float] = (-1, -math.inf)
        self._end: str | None = None

    def add(self, values: Iterable[tuple[str | None, int, int]]) -> None:
        """Count some records.

        Parameters
        ----------
        values : iterable of (str or None, int, int)
            Lexeme, None where there is no element; how many records have it; and the position of the first of them.
        """
        for lexeme, records, first in values:
            text = None if lexeme is None else lexeme.strip(XML_SPACE)
            if not text or text in self._codes:
                self.missing += records
                self.codes_met |= {text} if text else set()
                continue
            self._keep(text, records)
            value = math.nan if self._text else parse_number(text)
            if math.isnan(value):
                self.texts += records
                self.integers = False
                self.first_text = first if self.first_text < 0 else min(self.first_text, first)
                continue
            self.rising = self.rising and records == 1 and first > self._last[0] and value > self._last[1]
            self._last = first, value
            self.numbers += records
            self.low = value if math.isnan(self.low) else min(self.low, value)
            self.high = value if math.isnan(self.high) else max(self.high, value)
            self.integers = self.integers and is_integer(text)
            self.zeros_before = self.zeros_before or has_zero_before(text)

    def follow(self, runs: int, first: str | None, last: str | None) -> None:
        """Count the runs of the next records; one that goes on from those before counts once.

        Parameters
        ----------
        runs : int
        first, last : str or None
            Lexemes of the first and of the last of these records.
        """
        self.runs += runs - (self.runs > 0 and first == self._end)
        self._end = last

    @property
    def traits(self) -> NumberTraits:
        """What the field is like, for `likely_role`; of too many values to be kept, only whether they rise."""
        records = self.missing + self.texts + self.numbers
        rising = self.rising and self.numbers == records
        return NumberTraits(
            records=records,
            distinct=records if rising else 0 if self.many else len(self.counts),
            runs=self.runs,
            whole=self.integers and self.numbers == records,
            rising=rising,
            span=self.high - self.low,
        )

    @property
    def unmet_codes(self) -> tuple[str, ...]:
        """The codes that no record has."""
        return self._codes.unmet(self.codes_met)

    def _keep(self, text: str, records: int) -> None:
        if text in self.counts:
            self.counts[text] += records
        elif len(self.counts) < MOST_DISTINCT:
            self.counts[text] = records
        else:
            self.many = True

    @property
    def type(self) -> str:
        """What the values are written as."""
        if not self.texts and not self.numbers:
            return "empty"
        if self.texts:
            return "mixed" if self.numbers else "text"
        return "integer" if self.integers else "decimal"

    def code_reason(self, name: str) -> str:
        """Say why the numbers look like codes, as `masktron.codes.suspects` has it; nothing where they do not."""
        if self.texts or not self.numbers:
            return ""
        judged = not self.many or self.zeros_before or called_like_codes(name)
        return code_reason(name, self.counts) if judged else ""

    def frequent(self, most: int) -> list[tuple[str, int]]:
        """Return the most frequent values, and of equally frequent ones the first in order; none where many."""
        if self.many:
            return []
        return list(islice(sorted(self.counts.items(), key=lambda one: (-one[1], one[0])), most))
