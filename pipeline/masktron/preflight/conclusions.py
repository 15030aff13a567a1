"""What the pre-flight of a rulebook finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from masktron.serialised import Serialised

MISSING = "a field is missing"
"""What all alternatives about missing values are called together."""


@dataclass(frozen=True, slots=True)
class Contradiction(Serialised):
    """Rules that no record satisfies together, none of which could be left out.

    Attributes
    ----------
    rules : tuple of str
    numbers_only : bool
        Only records in which a field is missing, or holds text where rules read a number, satisfy them.
    """

    rules: tuple[str, ...]
    numbers_only: bool = False


@dataclass(frozen=True, slots=True)
class Redundancy(Serialised):
    """A rule that follows from others.

    Attributes
    ----------
    rule : str
    by : tuple of str
        Rules that imply it, none of which could be left out; empty where every record satisfies it.
    through : str or None
        The alternative of the rule that always holds then; what the other alternatives ask is asked of no record.
    numbers_only : bool
        It follows where all fields that rules read as numbers are numbers; beyond that, it asks for a value.
    """

    rule: str
    by: tuple[str, ...]
    through: str | None = None
    numbers_only: bool = False


@dataclass(frozen=True, slots=True)
class RulePart(Serialised):
    """A part of a rule, in plain mathematics, and the rules that decide about it."""

    rule: str
    part: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllowedValues(Serialised):
    """What the rules together leave to a field: bounds of its number, or its texts.

    Attributes
    ----------
    field : str
    low, high : str or None
        Least and greatest number, exact; None where there is no bound, or none was found.
    low_open, high_open : bool
        The bound itself is not reached.
    values : tuple of str, or None
        The texts that remain, where the rules list them.
    """

    KEYS: ClassVar = "field low high low_open high_open values fixed"

    field: str
    low: str | None = None
    high: str | None = None
    low_open: bool = False
    high_open: bool = False
    values: tuple[str, ...] | None = None

    @property
    def fixed(self) -> str | None:
        """The only value that remains, if there is only one."""
        if self.values is not None:
            return self.values[0] if len(self.values) == 1 else None
        return self.low if self.low is not None and self.low == self.high else None


class Skipped(NamedTuple):
    """A rule that was not looked at, and why."""

    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Preflight(Serialised):
    """What the rules of a rulebook say about each other. Every finding is proved in exact arithmetic.

    Attributes
    ----------
    solver : str
        Name and version.
    contradictions : tuple of Contradiction
        Fields that these rules share with others are not looked at further.
    redundant : tuple of Redundancy
        All of them could go together.
    duplicates : tuple of tuple of str
        Rules that say the same.
    impossible : tuple of RulePart
        Alternatives that no record satisfies beside the other rules.
    allowed : tuple of AllowedValues
        For each field of the rules of which something is known.
    always, never : tuple of str
        Rules that every record satisfies, or none, by their form alone.
    skipped : tuple of Skipped
        Rules that were not looked at, and why.
    in_part : tuple of str
        Rules with conditions that are looked at as a whole (patterns, domains, sums of products), so that less may be
        found than there is.
    undecided : tuple of str
        Questions given up, so that less may be found than there is.
    """

    solver: str
    contradictions: tuple[Contradiction, ...] = ()
    redundant: tuple[Redundancy, ...] = ()
    duplicates: tuple[tuple[str, ...], ...] = ()
    impossible: tuple[RulePart, ...] = ()
    allowed: tuple[AllowedValues, ...] = ()
    always: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    in_part: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tie(Serialised):
    """A rule that reads masked and unmasked fields.

    Attributes
    ----------
    meaning : str
        What that means for masking.
    """

    rule: str
    masked: tuple[str, ...]
    unmasked: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class Alternative(Serialised):
    """One alternative of a rule on the records of a file.

    Attributes
    ----------
    part : str
        In plain mathematics.
    holds : int
        Records on which the rule fires that satisfy it.
    alone : int
        Records among them that satisfy no other alternative: of these the rule asks it.
    """

    part: str
    holds: int
    alone: int


@dataclass(frozen=True, slots=True)
class Coverage(Serialised):
    """What the records of a file test of a rule.

    Attributes
    ----------
    records : int
        Records on which the rule fires.
    asked : int or None
        Those of them for which its IF holds, so that they are asked for its THEN; None where it is not written so, or
        the IF is not understood.
    alternatives : tuple of Alternative
        Those about missing values counted as one; empty where there is only one or the columns do not decide.
    """

    KEYS: ClassVar = "rule records asked alternatives untested"

    rule: str
    records: int
    asked: int | None
    alternatives: tuple[Alternative, ...]

    @property
    def untested(self) -> str | None:
        """Why no record tests the rule, or a part of it."""
        if not self.records:
            return "it fires on no record"
        if self.asked == 0:
            return "its IF holds in no record"
        always = next((each for each in self.alternatives if each.holds == self.records), None)
        if always is None:
            return None
        if always.part == MISSING:
            return f"{MISSING} in every record"
        others = [each.part for each in self.alternatives if 0 < each.holds < self.records and each.part != MISSING]
        if self.asked is not None or not others:
            return None
        return f"every record satisfies {always.part}, so none is asked for {' or '.join(others)}"
