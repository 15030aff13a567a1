"""The numbers of a class, cut where conditions on them change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from masktron.classify.conditions import Conditions
from masktron.classify.crossrecord import CrossRecordError
from masktron.classify.forms import TooManyDisjunctsError, dnf
from masktron.classify.truth import in_range, number_of
from masktron.constraints import Atom, Member, Missing, Present, Range
from masktron.reading.nodes import Expression
from masktron.rulebook.schema import XPathVersion


@dataclass(frozen=True, slots=True)
class Changes:
    """Where a condition on one number changes.

    Attributes
    ----------
    at : frozenset of Fraction
        Between two neighbours of these it is the same for all numbers.
    unsure : frozenset of Fraction
        Those of them at which it depends on how the number is written.
    """

    at: frozenset[Fraction]
    unsure: frozenset[Fraction] = frozenset()


def changes_of(expression: Expression, version: XPathVersion) -> Changes | None:
    """Say where a condition that reads one field changes; None where that is not known.

    The form decides nothing here but where to look: whether the condition holds in between, an engine says.
    """
    try:
        formula = Conditions(version).truth(expression)
        forms = dnf(formula), dnf(formula, negated=True)
    except (CrossRecordError, TooManyDisjunctsError, RecursionError):
        return None
    at: set[Fraction] = set()
    unsure: set[Fraction] = set()
    for atom in {atom for form in forms for conjunction in form for atom in conjunction}:
        if not _gather(atom, at, unsure):
            return None
    return Changes(frozenset(at | unsure), frozenset(unsure))


def _gather(atom: Atom, at: set[Fraction], unsure: set[Fraction]) -> bool:
    match atom:
        case Range(low=low, high=high):
            at |= {end for end in (low, high) if end is not None}
        case Member(values=values):
            at |= {value for value in values if isinstance(value, Fraction)}
            numbers = (number_of(value) for value in values if isinstance(value, str))
            unsure |= {number for number in numbers if number is not None}
        case Missing() | Present():
            pass
        case _:
            return False
    return True


def cells(numbers: Range, at: Iterable[Fraction]) -> list[Range]:
    """Cut an interval at points: the points and what lies between them, from the lowest to the highest."""
    found: list[Range] = []
    low, open_ = numbers.low, numbers.low_open
    inner = sorted(point for point in set(at) if in_range(numbers, point))
    for point in inner:
        if low is None or low < point:
            found.append(Range(numbers.variable, low, point, low_open=open_, high_open=True))
        found.append(Range(numbers.variable, point, point))
        low, open_ = point, True
    last = Range(numbers.variable, low, numbers.high, low_open=open_, high_open=numbers.high_open)
    return [*found, last] if low is None or numbers.high is None or low < numbers.high else found or [last]


def one_of(cell: Range) -> Fraction:
    """Return a number in a cell, a whole one where that is easy."""
    if cell.low is not None and cell.high is not None:
        middle = (cell.low + cell.high) / 2
        whole = Fraction(round(middle))
        return whole if in_range(cell, whole) else middle
    if cell.low is not None:
        return cell.low + 1
    return Fraction(0) if cell.high is None else cell.high - 1
