"""Numbers that are no amounts: codes, serial numbers of records, numbers of households that repeat in runs, weights.

Their means say nothing, and look like data. Values tell most of them, names tell weights and known classifications.
Nothing is decided here: what is found is said, with the option that makes it what it seems to be.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from masktron.config import Role
from masktron.problems.problem import Field, Note
from masktron.sources.column import Column, Status

MOST_CODES = 15
"""Different integers up to which a field may be one of codes."""
RECORDS_A_CODE = 5
"""Records that each code stands in on average, at least; where they are fewer, few values come of few records."""
MOST_OF_A_GRID = 0.4
"""Share of the pairs of a whole and a fraction that occur, up to which decimals look like codes."""
_TAIL = 0.05
"""Share of the records at either end that say nothing about a grid: extreme amounts stand alone."""
LEAST_DISTINCT = 16
"""Different numbers that a field has at least to name records: amounts of few records may differ by chance."""
LEAST_DATES = 5
"""Different numbers that a field has at least to be one of dates: of fewer, amounts may look like some."""
LEAST_RUNNING = 0.1
"""Share of the records, at least, that repeat the value before them in a field whose values stand in runs."""
_WEIGHTS = frozenset({"weight", "weights", "wt", "wgt", "wght", "gewicht", "pweight", "hweight", "fweight"})
_IDS = frozenset({"id", "ids", "ident", "identifier", "pid", "hid", "hhid", "uuid", "serial"})
# fmt: off
_CLASSIFICATIONS = frozenset({
    "nace", "noga", "wz", "isic", "naics", "anzsic", "sic", "isco", "anzsco", "isced", "icd", "nuts",
    "lau", "fips", "plz", "postcode", "zip", "zipcode", "coicop", "cofog", "prodcom", "cpa", "cpc",
    "sitc", "code", "codes",
})
# fmt: on
_YEARS, _YEAR_FROM, _YEAR_TO = frozenset({"year", "yob"}), 1800, 2200
_PLAIN = re.compile(r"[+-]?(?P<zero>0(?=[0-9]))?[0-9]+(?:\.(?P<fraction>[0-9]+))?")
_WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")


_LEVELS = " (if each row is a person of one, say so by [levels], else households fall apart: docs/nested-files.md)"


@dataclass(frozen=True, slots=True)
class NumberTraits:
    """What is counted of a field of numbers.

    Attributes
    ----------
    records : int
        Of the file.
    distinct : int
        Different values.
    runs : int
        Stretches of consecutive records with the same value.
    whole : bool
        All records have a value, and all values are whole numbers.
    rising : bool
        Each number is larger than that of the record before.
    span : float
        Greatest less least number.
    """

    records: int
    distinct: int
    runs: int
    whole: bool
    rising: bool
    span: float


@dataclass(frozen=True, slots=True)
class LikelyRole:
    """What a field of numbers seems to be that would be masked as amounts, or as categories since its file says so.

    Attributes
    ----------
    name : str
    role : Role
    why : str
        Goes on a sentence that begins with the name.
    categories : bool
        It would be masked as categories.
    """

    name: str
    role: Role
    why: str
    categories: bool = False

    @property
    def taken_for(self) -> str:
        """What it would be masked as."""
        return "categories" if self.categories else "an amount"

    @property
    def says(self) -> Note:
        """Say it to whoever masks the file."""
        return Note(
            "{field} is masked as {taken_for}, and {why}",
            field=Field(self.name),
            taken_for=self.taken_for,
            why=self.why,
        )

    @property
    def hint(self) -> Note:
        """Name the options of which one says what it is."""
        kind = (
            "[[--nominal {field}]] if it has categories"
            if self.categories
            else "[[--numeric {field}]] if it is an amount"
        )
        return Note("[[--role {field}={role}]] if so; " + kind, field=Field(self.name), role=self.role)

    @property
    def note(self) -> Note:
        """Say both in one sentence."""
        return Note("{says}: {hint}", says=self.says, hint=self.hint)


def code_reason(name: str, counts: Mapping[str, int]) -> str:
    """Say why a field of numbers looks like one of codes; nothing where it does not.

    Its name is that of a classification; or its numbers have equally many digits after the point, and one of them
    begins with a zero that counts for nothing (``01``), or few different ones stand in `RECORDS_A_CODE` records each
    on average. Few are up to `MOST_CODES` integers (``1.0`` is one). Decimals are few where they lie as codes of two
    levels do: amounts combine wholes and fractions freely (rates in steps of 0.05, prices that end in .99), whereas
    few of all pairs of a division and a class (``46.90``) are codes.

    Parameters
    ----------
    name : str
    counts : mapping of str to int
        How many records have each number, by its lexeme without white space around it.
    """
    if not _CLASSIFICATIONS.isdisjoint(_words(name)):
        return "its name is that of a classification"
    written = [_PLAIN.fullmatch(text) for text in counts]
    fractions = [one["fraction"] or "" for one in written if one is not None]
    places = max(map(len, fractions), default=0)
    # floating-point numbers have lost the zeros at the end of a code; others have them all, or none
    mixed = any(len(one) != places and (not one or (one.endswith("0") and one != "0")) for one in fractions)
    if len(fractions) < len(counts) or mixed:
        return ""
    if any(map(has_zero_before, counts)):
        return "a number has a zero before it, as codes have"
    unit = 10**places
    many: Counter[int] = Counter()
    for text, fraction in zip(counts, fractions, strict=True):
        many[int(text.partition(".")[0] + fraction.ljust(places, "0"))] += counts[text]
    few = len(counts) > 1 and sum(many.values()) >= RECORDS_A_CODE * len(many)
    if all(number % unit == 0 for number in many):
        return _reason_of_integers(name, [number // unit for number in many], few=few)
    apart = (
        few and min(many) >= 0 and _WEIGHTS.isdisjoint(_words(name)) and _share_of_grid(many, unit) <= MOST_OF_A_GRID
    )
    return f"{len(many)} different decimals that many records share, as they share codes" if apart else ""


def _reason_of_integers(name: str, numbers: Sequence[int], *, few: bool) -> str:
    if _is_year(name) and all(_YEAR_FROM <= number <= _YEAR_TO for number in numbers):
        return "its name and values are those of years"
    if len(numbers) >= LEAST_DATES and all(map(_is_date, numbers)):
        return "its values are those of dates"
    return f"{len(numbers)} different integers, as few as codes are" if few and len(numbers) <= MOST_CODES else ""


def _is_year(name: str) -> bool:
    return any(word in _YEARS or word.endswith("year") for word in _words(name))


def _is_date(number: int) -> bool:
    """Tell whether an integer reads as year, month and day: 19590731."""
    year, month, day = number // 10_000, number // 100 % 100, number % 100
    return _YEAR_FROM <= year <= _YEAR_TO and 1 <= month <= 12 and 1 <= day <= 31


def called_like_codes(name: str, *, years: bool = True) -> bool:
    """Whether a field is called like a known classification or a code, or like a year."""
    return not _CLASSIFICATIONS.isdisjoint(_words(name)) or (years and _is_year(name))


def has_zero_before(text: str) -> bool:
    """Whether a number begins with a zero that counts for nothing."""
    written = _PLAIN.fullmatch(text)
    return written is not None and written["zero"] is not None


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name))


def _share_of_grid(many: Mapping[int, int], unit: int) -> float:
    """Return how many of the pairs of a whole and a fraction occur, of those that the usual values are made of."""
    numbers, records = sorted(many), sum(many.values())
    to_here = accumulate(many[number] for number in numbers)
    usual = [
        divmod(number, unit)
        for number, upto in zip(numbers, to_here, strict=True)
        if upto > _TAIL * records and upto - many[number] < (1 - _TAIL) * records
    ]
    wholes, fractions = map(set, zip(*usual, strict=True))
    return len(usual) / (len(wholes) * len(fractions))


def likely_role(
    name: str, traits: NumberTraits, *, categories: bool = False, nested: bool = False
) -> LikelyRole | None:
    """Say what a field seems to be that is masked as amounts or as categories; None for what may be such.

    Parameters
    ----------
    name : str
    traits : NumberTraits
    categories : bool
        It would be masked as categories: few different values are such, whatever the field is called.
    nested : bool
        Whether the file has levels: then nobody is told how to declare them.
    """
    if categories and traits.distinct < LEAST_DISTINCT:
        return None
    words = _words(name)
    if words & _WEIGHTS:
        return LikelyRole(name, Role.WEIGHT, "is called like a survey weight", categories)
    many = traits.whole and traits.distinct >= LEAST_DISTINCT
    if many and traits.distinct == traits.records and (traits.rising or traits.span < 2 * traits.records):
        why = "holds another whole number in every record, as serial numbers do"
        return LikelyRole(name, Role.IDENTIFIER, why, categories)
    repeated = traits.records - traits.distinct
    if many and traits.runs == traits.distinct and repeated >= LEAST_RUNNING * traits.records:
        levels = "" if nested else _LEVELS
        why = f"repeats in runs of records alone, as numbers of households do{levels}"
        return LikelyRole(name, Role.IDENTIFIER, why, categories)
    if words & _IDS:
        return LikelyRole(name, Role.IDENTIFIER, "is called like a number that names records", categories)
    return None


def traits_of(column: Column) -> NumberTraits:
    """Count what a column of numbers is like."""
    codes = column.numbered(held=True)
    numbers = column.numbers[column.used & (column.states == Status.PRESENT)]
    distinct = int(codes.max(initial=-1)) + 1
    whole = column.decimals == 0 and bool((codes >= 0).all())
    every = whole and distinct == len(codes)
    return NumberTraits(
        records=len(codes),
        distinct=distinct,
        runs=int((np.diff(codes) != 0).sum()) + 1 if len(codes) else 0,
        whole=whole,
        rising=every and bool((np.diff(column.values) > 0).all()),
        span=float(numbers.max() - numbers.min()) if len(numbers) else 0.0,
    )
