"""A rule that the data suggest: its XPath, read alike by libxml2 and Saxon, its words, and how likely it is chance.

A rule that was looked for among M others, and that holds in h of h + e records, would hold in each of them by chance
with a probability q, which is the share of records in which it holds when one of its fields is put beside the others
at random. The expected number of such rules is at most ``M * binomial(h + e, e) * q**h``: the union bound over the
rules and over the places of the exceptions. It is a bound for records that are independent of each other.

Chance is not all that makes a rule look true with exceptions. That an equality holds in 19 of 20 records has hardly
any other reason; that a number is above 0, or one field above another one, in most records, may be a matter of sizes.
There few records are exceptions (`MOST_ERRORS`), and only where they do not go on from the others (`errors`).
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from masktron.proposals.profiles import FieldProfile
from masktron.reading.plain_text import decimal_text
from masktron.sources.lexical import parse_number
from masktron.sources.record_layout import Layout

type KindName = Literal[
    "total", "multiple", "equal", "unique", "order", "if-then", "not-negative", "codes", "integer", "required",
    "range",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuleKind:
    """A kind of rule that data suggest.

    Attributes
    ----------
    name : str
        As results and ``schemas/suggest.schema.json`` have it; docs/suggesting.md says what it means.
    premise : bool
        Whether other rules may follow from it, by the algebra of the pre-flight.
    related : bool
        Whether it is asked if it follows from others.
    needs_value : bool
        Whether its fields have to have a value for it to hold.
    """

    name: KindName
    premise: bool = True
    related: bool = False
    needs_value: bool = True


KINDS = (
    TOTAL := RuleKind("total"),
    MULTIPLE := RuleKind("multiple", related=True),
    EQUAL := RuleKind("equal", related=True),
    UNIQUE := RuleKind("unique", premise=False, needs_value=False),
    ORDER := RuleKind("order", related=True),
    IF_THEN := RuleKind("if-then", related=True, needs_value=False),
    NOT_NEGATIVE := RuleKind("not-negative"),
    CODES := RuleKind("codes"),
    INTEGER := RuleKind("integer", premise=False),
    REQUIRED := RuleKind("required", premise=False, needs_value=False),
    RANGE := RuleKind("range", premise=False),
)
"""All kinds, in the order in which equally strong ones are listed."""
type Strength = typing.Literal["strong", "fair", "guess"]
LEVELS: tuple[Strength, ...] = ("strong", "fair", "guess")


type FieldState = tuple[str, str]
"""What may hold of a record: a field, and ``zero``, ``above-zero``, ``missing``, ``there``, or ``=`` with a code."""


@dataclass(frozen=True, slots=True)
class ShownValue:
    """An XPath expression the value of which a message shows."""

    path: str


@dataclass(frozen=True, slots=True, eq=False)
class SuggestedRule:
    """A rule that the records suggest.

    Attributes
    ----------
    kind : RuleKind
    fields : tuple of str
    name : str
        What its id is made of.
    guards : tuple of str
        Conditions on the record, beside its name, in XPath.
    test : str
        In XPath 1.0.
    message : tuple of (str or ShownValue)
        What a record that breaks it is told.
    applies, fails : ndarray of bool, shape (n,)
        Records that it is asked of, and those that break it.
    strength : str
    evidence : str
        How likely it is chance, in a sentence.
    expected : float
        Logarithm of the expected number of such rules by chance; 0 where nobody can tell.
    steps : tuple of (FieldState, FieldState)
        What it says as IF the one THEN the other, as far as that is all.
    """

    kind: RuleKind
    fields: tuple[str, ...]
    name: str
    guards: tuple[str, ...]
    test: str
    message: tuple[str | ShownValue, ...]
    applies: NDArray[np.bool_]
    fails: NDArray[np.bool_]
    strength: Strength
    evidence: str
    expected: float = 0.0
    steps: tuple[tuple[FieldState, FieldState], ...] = ()


PLAUSIBLE = -6.0
"""Common logarithm of the expected number of chance rules from which one is proposed."""
STRONG = -12.0
"""The same, from which a rule without exceptions is called strong."""
MOST_EXCEPTIONS = 0.05
"""Share of the records in which an equality may fail, of those in which not all is 0."""
MOST_ERRORS = 0.01
"""The same of an inequality and of a condition."""
_NEIGHBOURS = 10
"""Records near a bound for each exception, in which a distribution that crosses it would show."""
MOST_LOOKED_AT = 4000
"""Records that are put together at random."""
_ROUNDS = 4
_SEED = 20260
PAIRS, SUBSETS = range(2)
"""Purposes of random numbers."""


def expected(looked_for: float, holds: int, fails: int, share: float) -> float:
    """Return the common logarithm of the expected number of rules that hold by chance.

    Parameters
    ----------
    looked_for : float
        Number of rules among which this one was found.
    holds, fails : int
        Records.
    share : float
        Probability that a record agrees by chance, above 0.
    """
    places = math.lgamma(holds + fails + 1) - math.lgamma(fails + 1) - math.lgamma(holds + 1)
    return math.log10(max(looked_for, 1.0)) + places / math.log(10) + holds * math.log10(min(share, 1.0))


def strength(expected: float, fails: int) -> Literal["strong", "fair"]:
    """Say how strong a rule is: exceptions contradict it."""
    return "strong" if expected <= STRONG and not fails else "fair"


def errors(margins: NDArray[np.int64]) -> bool:
    """Tell whether the negative ones of some numbers, if any, are errors, and no tail of the others.

    They are few, and lie farther from the least of the others than many of these lie from it: the numbers of a
    distribution that crosses 0 thin out, and errors stand behind a gap or before a crowd.

    Parameters
    ----------
    margins : ndarray of int64, shape (n,)
        How far each record is from breaking a rule; without records that hold 0 for want of anything else.
    """
    below, held = margins[margins < 0], np.sort(margins[margins >= 0])
    if not len(below) or len(below) > MOST_ERRORS * len(margins):
        return not len(below)
    near = held[min(_NEIGHBOURS * len(below), len(held)) - 1]
    return bool(near - held[0] <= held[0] - np.median(below))


def agreeing(rows: NDArray[np.intp], agree: Callable[[NDArray[np.intp], NDArray[np.intp]], int]) -> float:
    """Return the share of records that agree when one side of a rule is put beside the other at random.

    Parameters
    ----------
    rows : ndarray of intp, shape (m,)
        Records that count, at least one.
    agree : callable
        Takes the records of one side and those of the other, and returns how many of the pairs agree.

    Returns
    -------
    float
        ``(agreements + 1) / (pairs + 1)``, so above 0.
    """
    draws = generator(PAIRS)
    if len(rows) > MOST_LOOKED_AT:
        rows = np.sort(draws.choice(rows, MOST_LOOKED_AT, replace=False))
    found = sum(agree(rows, draws.permutation(rows)) for _ in range(_ROUNDS))
    return (found + 1) / (_ROUNDS * len(rows) + 1)


def generator(purpose: int) -> np.random.Generator:
    """Return random numbers that only choose records to look at, the same in every run: they protect nothing."""
    return np.random.default_rng((_SEED, purpose))


class FieldPaths:
    """What rules call the record and its fields.

    Parameters
    ----------
    layout : Layout
    """

    def __init__(self, layout: Layout) -> None:
        spaces = dict.fromkeys(
            tag[1:].partition("}")[0]
            for tag in (layout.record_tag, *(field.tag for field in layout.fields))
            if tag.startswith("{")
        )
        self.namespaces: Mapping[str, str] = {
            f"d{number}" if number else "d": space for number, space in enumerate(spaces)
        }
        self._prefixes = {space: prefix for prefix, space in self.namespaces.items()}
        self._paths = {
            field.name: f"{'@' if field.attribute else ''}{self._name(field.tag)}" for field in layout.fields
        }
        self.record = self._name(layout.record_tag)

    def _name(self, tag: str) -> str:
        if not tag.startswith("{"):
            return tag
        space, _, local = tag[1:].partition("}")
        return f"{self._prefixes[space]}:{local}"

    def __getitem__(self, field: str) -> str:
        return self._paths[field]


def literal(text: str) -> str | None:
    """Write a text as XPath 1.0 does; None where it holds both kinds of quotes, for which that has no literal."""
    if "'" not in text:
        return f"'{text}'"
    return None if '"' in text else f'"{text}"'


def decimal(value: Fraction) -> str:
    """Write a number that has a finite decimal."""
    return decimal_text(value)


def known(path: str, field: FieldProfile) -> tuple[str, ...]:
    """Return the conditions under which a field holds a number that is no code; none where every record has one."""
    if field.complete:
        return ()
    return known_number(path, field.codes, gaps=_gaps(field))


def known_number(path: str, codes: Iterable[str], *, gaps: bool) -> tuple[str, ...]:
    """Return the conditions under which a field holds a number that is no code.

    Parameters
    ----------
    path : str
    codes : iterable of str
        Lexemes that mean 'missing'.
    gaps : bool
        Some record may lack the number.
    """
    numbers = sorted({Fraction(code.strip()) for code in codes if parse_number(code) == parse_number(code)})
    said = [f"number({path}) = number({path})"] if gaps else []
    return (*said, *(f"number({path}) != {decimal(number)}" for number in numbers))


def _gaps(field: FieldProfile) -> bool:
    """Whether a record lacks the number: an absent or empty element, or a code that is a text."""
    return field.absent or any(parse_number(code) != parse_number(code) for code in field.codes)


def held(path: str, field: FieldProfile) -> tuple[str, ...]:
    """Return the conditions under which a field holds a text that is no code; none where every record has one."""
    if field.complete:
        return ()
    said = [f"normalize-space({path}) != ''"] if field.absent else []
    codes = (literal(code) for code in field.codes)
    return (*said, *(f"{path} != {code}" for code in codes if code is not None))


def is_missing(path: str, field: FieldProfile) -> str:
    """Write that a field holds no value: it is not there, is empty, or holds a code."""
    codes = [code for code in map(literal, field.codes) if code is not None]
    said = [f"normalize-space({path}) = ''"] if field.absent or not codes else []
    return " or ".join([*said, *(f"{path} = {code}" for code in codes)])


def is_one_of(path: str, field: FieldProfile, values: Sequence[str]) -> str | None:
    """Write that a field has one of some values, as numbers where that is safe; None where XPath cannot write one."""
    if field.by_number and all(parse_number(value) == parse_number(value) for value in values):
        return " or ".join(f"number({path}) = {decimal(Fraction(v.strip()))}" for v in _once(values))
    written = [literal(value) for value in values]
    if None in written:
        return None
    return " or ".join(f"{path} = {value}" for value in written)


def _once(values: Iterable[str]) -> list[str]:
    """Leave out other spellings of the same number."""
    return list({Fraction(value.strip()): value for value in values}.values())


def and_said(parts: Sequence[str]) -> str:
    """Put words together: ``A, B and C``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
