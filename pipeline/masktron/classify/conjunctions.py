"""Conjunctions of atoms: bounds on the same expression are intersected, what is implied is dropped.

Every step is an equivalence, on records with missing values too: an atom about numbers (`Linear`, `Product`,
`Polynomial`, `Range`, `Whole`, numeric `Member`) is false where one of its variables is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import inf

from masktron.classify.bounds import Bound, Terms, as_bound, bounded, bounds_of, intersection, terms_of, variables_in
from masktron.classify.polynomial import MonomialSum
from masktron.classify.truth import in_range, number_of, variables_of_atom
from masktron.constraints import (
    Atom,
    InDomain,
    Lexical,
    Linear,
    Member,
    Missing,
    Polynomial,
    Present,
    Product,
    Range,
    Untranslated,
    Whole,
)

type _End = tuple[Fraction | float, bool]
"""A number or an infinity, and whether it is attained."""


def reach(expression: MonomialSum, known: Mapping[str, Range]) -> Range:
    """Return an interval that holds every value of an expression.

    Parameters
    ----------
    expression : MonomialSum
    known : mapping of str to Range
        Where variables lie; one that is not in it may be any number.

    Returns
    -------
    Range
        Exact where each variable stands in one term, to the first power; else it may be too wide, because the
        occurrences of a variable are taken for independent.
    """
    low: _End = (Fraction(0), True)
    high: _End = (Fraction(0), True)
    everything: tuple[_End, _End] = ((-inf, False), (inf, False))
    for powers, coefficient in expression.terms:
        ends: tuple[_End, _End] = ((coefficient, True), (coefficient, True))
        for name, power in powers:
            factor = _ends(known[name]) if name in known else everything
            ends = reduce(_times, [factor] * power, ends)
        low = (low[0] + ends[0][0], low[1] and ends[0][1])
        high = (high[0] + ends[1][0], high[1] and ends[1][1])
    return Range("", _finite(low), _finite(high), _is_open(low), _is_open(high))


def _ends(interval: Range) -> tuple[_End, _End]:
    low: _End = (-inf, False) if interval.low is None else (interval.low, not interval.low_open)
    high: _End = (inf, False) if interval.high is None else (interval.high, not interval.high_open)
    return low, high


def _times(one: tuple[_End, _End], two: tuple[_End, _End]) -> tuple[_End, _End]:
    """Multiply intervals: the extremes lie in corners, and only zero is attained along a whole edge."""
    corners = [_corner(first, second) for first in one for second in two]
    return _best(min, corners), _best(max, corners)


def _corner(one: _End, two: _End) -> _End:
    zeros = [attained for value, attained in (one, two) if value == 0]
    return (Fraction(0), any(zeros)) if zeros else (one[0] * two[0], one[1] and two[1])


def _best(choose: Callable[..., Fraction | float], corners: list[_End]) -> _End:
    value = choose(value for value, _ in corners)
    return value, any(attained for other, attained in corners if other == value)


def _finite(end: _End) -> Fraction | None:
    return end[0] if isinstance(end[0], Fraction) else None


def _is_open(end: _End) -> bool:
    return isinstance(end[0], Fraction) and not end[1]


type Conjunction = tuple[Atom, ...]

_ORDER = (Product, Polynomial, Linear, Range, Member, Whole, Lexical, InDomain, Untranslated, Present, Missing)


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key of a name: V9 comes before V10."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part)


def sort_key(atom: Atom) -> tuple[object, ...]:
    """Order atoms: conditions on several variables first, then by variable, then by value."""
    rank = _ORDER.index(type(atom))
    low = atom.low if isinstance(atom, Range) else None
    names = tuple(natural(name) for name in variables_of_atom(atom))
    return (rank, names, low is not None, low or Fraction(0), _stable_text(atom))


def _stable_text(atom: Atom) -> str:
    if isinstance(atom, Member):
        return f"{sorted(map(str, atom.values))}{atom.negated}"
    return repr(atom)


@dataclass(slots=True)
class _Facts:
    """What a conjunction says, sorted by kind."""

    intervals: dict[Terms, Range] = field(default_factory=dict)
    numbers: dict[str, frozenset[Fraction]] = field(default_factory=dict)
    not_numbers: dict[str, frozenset[Fraction]] = field(default_factory=dict)
    texts: dict[str, frozenset[str]] = field(default_factory=dict)
    not_texts: dict[str, frozenset[str]] = field(default_factory=dict)
    rest: set[Atom] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)
    contradiction: bool = False

    def add(self, atom: Atom) -> None:
        match atom:
            case Range() | Linear() | Product() | Polynomial() if (bound := as_bound(atom)) is not None:
                self._bound(terms_of(bound), bounds_of(bound))
            case Member():
                self._member(atom)
            case Missing(variable=name):
                self.missing.add(name)
            case Present(variable=name, negated=negated):
                (self.absent if negated else self.present).add(name)
            case _:
                self.rest.add(atom)

    def _bound(self, terms: Terms, interval: Range) -> None:
        known = self.intervals.get(terms)
        narrowed = interval if known is None else intersection(known, interval)
        if narrowed is None:
            self.contradiction = True
        else:
            self.intervals[terms] = narrowed

    def _member(self, atom: Member) -> None:
        name = atom.variable
        numbers = frozenset(v for v in atom.values if isinstance(v, Fraction))
        texts = frozenset(v for v in atom.values if isinstance(v, str))
        if numbers and atom.negated:
            self.not_numbers[name] = self.not_numbers.get(name, frozenset()) | numbers
        elif numbers:
            self.numbers[name] = self.numbers.get(name, numbers) & numbers
        elif atom.negated:
            self.not_texts[name] = self.not_texts.get(name, frozenset()) | texts
        else:
            self.texts[name] = self.texts.get(name, texts) & texts

    def _interval(self, name: str) -> Range | None:
        return self.intervals.get(name)

    def settle(self) -> None:
        """Combine what is said of one variable in different kinds."""
        for name, texts in self.texts.items():
            kept = texts - self.not_texts.pop(name, frozenset())
            if (interval := self._interval(name)) is not None:
                del self.intervals[name]
                kept = frozenset(t for t in kept if (n := number_of(t)) is not None and in_range(interval, n))
            if name in self.missing:
                self.missing.discard(name)
                kept = frozenset(t for t in kept if number_of(t) is None)
            self.texts[name] = kept
            self.present.discard(name)
            self.contradiction |= not kept or name in self.absent
        for name, numbers in self.numbers.items():
            kept_numbers = numbers - self.not_numbers.pop(name, frozenset())
            if (interval := self._interval(name)) is not None:
                del self.intervals[name]
                kept_numbers = frozenset(n for n in kept_numbers if in_range(interval, n))
            if not self.rest.isdisjoint((Whole(name), Whole(name, lexical=True))):
                self.rest.discard(Whole(name))
                kept_numbers = frozenset(n for n in kept_numbers if n.denominator == 1)
            self.numbers[name] = kept_numbers
            self.contradiction |= not kept_numbers
        self._excluded_points()
        self._whole_points()
        self._out_of_reach()
        self._presence()

    def _excluded_points(self) -> None:
        for name, numbers in list(self.not_numbers.items()):
            interval = self._interval(name) or Range(name, None, None)
            inside = frozenset(n for n in numbers if in_range(interval, n))
            point = interval.low is not None and interval.low == interval.high
            self.contradiction |= point and bool(inside)
            if inside:
                self.not_numbers[name] = inside
            else:
                del self.not_numbers[name]
                self.intervals.setdefault(name, interval)

    def _whole_points(self) -> None:
        for atom in [a for a in self.rest if isinstance(a, Whole)]:
            interval = self._interval(atom.variable)
            if atom.lexical:
                self.rest.discard(Whole(atom.variable))
            if interval is not None and interval.low is not None and interval.low == interval.high:
                self.rest.discard(Whole(atom.variable))
                self.contradiction |= interval.low.denominator != 1

    def _out_of_reach(self) -> None:
        """Find expressions that cannot lie in their interval, because of the intervals of their variables."""
        known = {terms: interval for terms, interval in self.intervals.items() if isinstance(terms, str)}
        known |= {name: Range(name, min(values), max(values)) for name, values in self.numbers.items() if values}
        for terms, interval in self.intervals.items() if known else ():
            if not isinstance(terms, str) and not terms.variables.isdisjoint(known):
                self.contradiction |= intersection(reach(terms, known), interval) is None

    def _presence(self) -> None:
        firm = self._numeric(bare=False)
        for name in firm:
            if (interval := self._interval(name)) is not None and interval.low is None and interval.high is None:
                del self.intervals[name]
        numeric = firm | self._numeric(bare=True)
        there = numeric | self.texts.keys() | {a.variable for a in self.rest if isinstance(a, InDomain)}
        self.contradiction |= not self.missing.isdisjoint(numeric) or not self.absent.isdisjoint(there | self.present)
        self.present -= there
        self.missing -= self.absent
        for name in self.absent:
            self.not_texts.pop(name, None)

    def _numeric(self, *, bare: bool) -> set[str]:
        """Variables that must be numbers; ``bare``: also those of which only this is said."""
        names = set(self.numbers) | set(self.not_numbers)
        names |= {n for a in self.rest if isinstance(a, Whole | Product | Polynomial) for n in variables_of_atom(a)}
        for terms, interval in self.intervals.items():
            several = not isinstance(terms, str)
            if bare or several or interval.low is not None or interval.high is not None:
                names |= variables_in(terms)
        return names

    def atoms(self) -> Conjunction:
        found: set[Atom] = set(self.rest)
        for terms, interval in self.intervals.items():
            found.update(bounded(terms, interval))
        for name, numbers in self.numbers.items():
            found.add(among(name, numbers))
        found.update(Member(name, numbers, negated=True) for name, numbers in self.not_numbers.items())
        found.update(Member(name, texts) for name, texts in self.texts.items())
        found.update(Member(name, texts, negated=True) for name, texts in self.not_texts.items() if texts)
        found.update(Missing(name) for name in self.missing)
        found.update(Present(name, negated=True) for name in self.absent)
        found.update(Present(name) for name in self.present)
        return tuple(sorted(found, key=sort_key))


def among(name: str, numbers: frozenset[Fraction]) -> Range | Member:
    """Write membership in a set of numbers: a point for one, a set for more."""
    if len(numbers) == 1:
        (number,) = numbers
        return Range(name, number, number)
    return Member(name, numbers)


def normalise(atoms: Iterable[Atom]) -> Conjunction | None:
    """Bring a conjunction to its canonical atoms, sorted; None where it can never hold."""
    atoms = tuple(atoms)
    if len(atoms) == 1 and isinstance(atoms[0], Missing | Present | Range):
        return atoms  # as it is, and there are very many
    facts = _Facts()
    for atom in atoms:
        facts.add(atom)
    if not facts.contradiction:
        facts.settle()
    return None if facts.contradiction else facts.atoms()


def implies(conjunction: Conjunction, atom: Atom) -> bool:
    """Whether a normalised conjunction visibly implies an atom."""
    if atom in conjunction or (isinstance(atom, Whole) and Whole(atom.variable, lexical=True) in conjunction):
        return True
    match atom:
        case Range() | Linear() | Product() | Polynomial():
            return any(_within(known, atom) for known in conjunction) or (
                isinstance(atom, Range) and atom.low is None and atom.high is None and _is_number(conjunction, atom)
            )
        case Member(variable=name, values=values, negated=False):
            return any(
                (
                    isinstance(known, Member)
                    and known.variable == name
                    and not known.negated
                    and known.values <= values
                )
                or (isinstance(known, Range) and known.variable == name and _point(known) in values)
                for known in conjunction
            )
        case Missing(variable=name):
            return Present(name, negated=True) in conjunction or any(
                isinstance(known, Member) and known.variable == name and _no_number(known) for known in conjunction
            )
        case Present(variable=name, negated=False):
            return _is_number(conjunction, Range(name, None, None)) or any(
                isinstance(a, Member) and a.variable == name and not a.negated for a in conjunction
            )
        case _:
            return False


def _no_number(atom: Member) -> bool:
    """Whether an atom asks for a text that is no number."""
    return not atom.negated and all(isinstance(v, str) and number_of(v) is None for v in atom.values)


def _point(interval: Range) -> Fraction | None:
    return interval.low if interval.low == interval.high else None


def _is_number(conjunction: Conjunction, atom: Range) -> bool:
    for known in conjunction:
        if atom.variable not in variables_of_atom(known):
            continue
        if isinstance(known, Linear | Product | Polynomial | Range | Whole):
            return True
        if isinstance(known, Member) and all(isinstance(value, Fraction) for value in known.values):
            return True
    return False


def _within(known: Atom, atom: Bound) -> bool:
    if (
        isinstance(known, Member)
        and isinstance(atom, Range)
        and known.variable == atom.variable
        and not known.negated
    ):
        return all(isinstance(value, Fraction) and in_range(atom, value) for value in known.values)
    if isinstance(known, Range) and isinstance(atom, Range):
        return known.variable == atom.variable and intersection(known, atom) == known
    if isinstance(known, Range) or isinstance(atom, Range):
        return False  # nothing is looked up for most pairs, of which there are very many
    one, two = as_bound(known), as_bound(atom)
    if one is None or two is None or terms_of(one) != terms_of(two):
        return False
    inner, outer = bounds_of(one), bounds_of(two)
    return intersection(inner, outer) == inner


def opposites(atom: Atom) -> tuple[Atom, ...] | None:
    """Return atoms of which one holds wherever an atom does not; None where they are not known."""
    match atom:
        case Range() | Linear() | Product() | Polynomial():
            bound = as_bound(atom)
            return None if bound is None else tuple(_beyond(terms_of(bound), bounds_of(bound)))
        case Member(variable=name, values=values) if not any(isinstance(value, Fraction) for value in values):
            return (Member(name, values, not atom.negated),)
        case Missing(variable=name):
            return (Range(name, None, None),)
        case Present(variable=name, negated=negated):
            return (Present(name, not negated),)
        case _:
            return None


def _beyond(terms: Terms, interval: Range) -> Iterator[Atom]:
    if interval.low is not None:
        yield from bounded(terms, Range("", None, interval.low, high_open=not interval.low_open))
    if interval.high is not None:
        yield from bounded(terms, Range("", interval.high, None, low_open=not interval.high_open))
    yield from (Missing(name) for name in sorted(variables_in(terms)))


def slots(conjunction: Conjunction) -> Mapping[tuple[str, object], frozenset[Atom]]:
    """Group the atoms by what they constrain, so that two conjunctions can be compared slot by slot."""
    found: dict[tuple[str, object], frozenset[Atom]] = {}
    for atom in conjunction:
        match atom:
            case Linear() | Product() | Polynomial() if (bound := as_bound(atom)) is not None:
                key: tuple[str, object] = ("bound", terms_of(bound))
            case Range() | Member() | Missing() | Present():
                key = ("value", atom.variable)
            case _:
                key = ("other", atom)
        found[key] = found.get(key, frozenset()) | {atom}
    return found
