"""Numbers that are no amounts: serial numbers of records, numbers of households that repeat in runs, weights.

Their means say nothing, and look like data. Values tell the first two, names the third. Nothing is decided here: what
is found is said, with the option that makes it what it seems to be.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

import numpy as np

from masktron.config import Role
from masktron.sources.records import Column, Status

LEAST_DISTINCT = 16
"""Different numbers that a field has at least to name records: amounts of few records may differ by chance."""
LEAST_RUNNING = 0.1
"""Share of the records, at least, that repeat the value before them in a field whose values stand in runs."""
_WEIGHTS = frozenset({"weight", "weights", "wt", "wgt", "wght", "gewicht", "pweight", "hweight", "fweight"})
_IDS = frozenset({"id", "ids", "ident", "identifier", "pid", "hid", "hhid", "uuid", "serial"})
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
    """What a field of numbers seems to be that would be masked as amounts.

    Attributes
    ----------
    name : str
    role : Role
    why : str
        Goes on a sentence that begins with the name.
    """

    name: str
    role: Role
    why: str

    @property
    def option(self) -> str:
        """The option that says so."""
        return f"--role {shlex.quote(f'{self.name}={self.role}')}"

    @property
    def note(self) -> str:
        """Say it to whoever masks the file."""
        return (
            f"{self.name} is masked as an amount, and {self.why}: {self.option} says so; if it is an amount, "
            f"--numeric {shlex.quote(self.name)}"
        )


def likely_role(name: str, traits: NumberTraits, *, nested: bool = False) -> LikelyRole | None:
    """Say what a field seems to be that is masked as amounts; None for what may be one.

    Parameters
    ----------
    name : str
    traits : NumberTraits
    nested : bool
        Whether the file has levels: then nobody is told how to declare them.
    """
    words = {word.lower() for word in _WORD.findall(name)}
    if words & _WEIGHTS:
        return LikelyRole(name, Role.WEIGHT, "is called like a survey weight")
    many = traits.whole and traits.distinct >= LEAST_DISTINCT
    if many and traits.distinct == traits.records and (traits.rising or traits.span < 2 * traits.records):
        return LikelyRole(name, Role.IDENTIFIER, "holds another whole number in every record, as serial numbers do")
    repeated = traits.records - traits.distinct
    if many and traits.runs == traits.distinct and repeated >= LEAST_RUNNING * traits.records:
        levels = "" if nested else _LEVELS
        return LikelyRole(
            name, Role.IDENTIFIER, f"repeats in runs of records alone, as numbers of households do{levels}"
        )
    if words & _IDS:
        return LikelyRole(name, Role.IDENTIFIER, "is called like a number that names records")
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
