"""What a method that draws did, and what keeping the rules made of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from masktron.serialised import Serialised


@dataclass(frozen=True, slots=True)
class MomentResult(Serialised):
    """Mean and variance of a drawn number: as the method drew it, and as it is written.

    Attributes
    ----------
    mean_drawn, mean_written : float
        Mean less that of the original, in standard deviations of the original.
    variance_drawn, variance_written : float
        Divided by that of the original.
    beyond : int
        Values that the first draw had beyond what the type or the format of the column can hold. They are written as
        values that fit, most of them at that bound. No value of a record follows from it: the bound is that of the
        column, which the release has too, and the draws are random. Whoever has the release can count the values at
        the bound anyway.
    """

    KEYS: ClassVar = "field=name mean_drawn mean_written variance_drawn variance_written beyond"

    name: str
    mean_drawn: float
    mean_written: float
    variance_drawn: float
    variance_written: float
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class CorrelationResult(Serialised):
    """The correlation of two drawn numbers: in the original, as drawn and as written; NaN where there is none."""

    fields: tuple[str, str]
    original: float
    drawn: float
    written: float


@dataclass(frozen=True, slots=True)
class UnmovedResult(Serialised):
    """Records that came out as they went in, in all masked fields.

    Attributes
    ----------
    untouched : int
        Nothing of theirs was to be replaced.
    drawn : int
        They drew the values that they had, or these are the values of their group.
    given_back : int
        They drew others, and got their own back when the rules were kept.
    rare : int
        Of those that were to be replaced, the ones that fewer than k records of the original are like.
    """

    untouched: int
    drawn: int
    given_back: int
    rare: int

    @property
    def records(self) -> int:
        """All of them."""
        return self.untouched + self.drawn + self.given_back


@dataclass(frozen=True, slots=True)
class DrawResult(Serialised):
    """What a method that draws did, and what keeping the rules made of it.

    Attributes
    ----------
    strata : int
        Parts of the file in which it drew: by alternatives of rules, and by what is missing.
    groups, smallest : int or None
        Groups of the method, and records of the smallest; None where it forms none.
    moments : tuple of MomentResult
        One for each drawn number.
    worst_drawn, worst_written : CorrelationResult or None
        The two of them whose correlation is farthest from that of the original, as drawn and as written; None where
        no two of them vary.
    unmoved_by : UnmovedResult
        Records that came out as they went in, in all masked fields, by the reason.
    """

    KEYS: ClassVar = (
        "strata groups smallest moments correlation_drawn correlation_written worst_drawn worst_written unmoved "
        "unmoved_by"
    )

    strata: int
    groups: int | None
    smallest: int | None
    moments: tuple[MomentResult, ...]
    worst_drawn: CorrelationResult | None
    worst_written: CorrelationResult | None
    unmoved_by: UnmovedResult

    @property
    def unmoved(self) -> int:
        """Records that came out as they went in, in all masked fields."""
        return self.unmoved_by.records

    @property
    def variance_drawn(self) -> MomentResult | None:
        """The number whose variance as drawn is farthest from that of the original; None where there is none."""
        return max(self.moments, key=lambda one: _off(one.variance_drawn), default=None)

    @property
    def variance_written(self) -> MomentResult | None:
        """The number whose variance as written is farthest from that of the original; None where there is none."""
        return max(self.moments, key=lambda one: _off(one.variance_written), default=None)

    @property
    def correlation_drawn(self) -> float:
        """Largest difference of a correlation as drawn to that of the original."""
        return abs(self.worst_drawn.drawn - self.worst_drawn.original) if self.worst_drawn else 0.0

    @property
    def correlation_written(self) -> float:
        """Largest difference of a correlation as written to that of the original."""
        return abs(self.worst_written.written - self.worst_written.original) if self.worst_written else 0.0


def _off(ratio: float) -> float:
    """How far a ratio of variances is from 1: a half is as far as two."""
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf
