"""Conjunctions of atoms: bounds on the same expression are intersected, what is implied is dropped.

Every step is an equivalence, on records with missing values too: an atom about numbers (`Linear`, `Product`,
`Polynomial`, `Range`, `Whole`, numeric `Member`) is false where one of its variables is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from masktron.classify.bounds import Terms, bounded, bounds_of, intersection, terms_of
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
            case Range() | Linear():
                self._bound(terms_of(atom), bounds_of(atom))
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
        return self.intervals.get(((name, Fraction(1)),))

    def settle(self) -> None:
        """Combine what is said of one variable in different kinds."""
        for name, texts in self.texts.items():
            kept = texts - self.not_texts.pop(name, frozenset())
            if (interval := self._interval(name)) is not None:
                del self.intervals[((name, Fraction(1)),)]
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
                del self.intervals[((name, Fraction(1)),)]
                kept_numbers = frozenset(n for n in kept_numbers if in_range(interval, n))
            if Whole(name) in self.rest:
                self.rest.discard(Whole(name))
                kept_numbers = frozenset(n for n in kept_numbers if n.denominator == 1)
            self.numbers[name] = kept_numbers
            self.contradiction |= not kept_numbers
        self._excluded_points()
        self._whole_points()
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
                self.intervals.setdefault(((name, Fraction(1)),), interval)

    def _whole_points(self) -> None:
        for atom in [a for a in self.rest if isinstance(a, Whole)]:
            interval = self._interval(atom.variable)
            if interval is not None and interval.low is not None and interval.low == interval.high:
                self.rest.discard(atom)
                self.contradiction |= interval.low.denominator != 1

    def _presence(self) -> None:
        firm = self._numeric(bare=False)
        for name in firm:
            if (interval := self._interval(name)) is not None and interval.low is None and interval.high is None:
                del self.intervals[((name, Fraction(1)),)]
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
            if bare or len(terms) > 1 or interval.low is not None or interval.high is not None:
                names |= {name for name, _ in terms}
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
    facts = _Facts()
    for atom in atoms:
        facts.add(atom)
    if not facts.contradiction:
        facts.settle()
    return None if facts.contradiction else facts.atoms()


def implies(conjunction: Conjunction, atom: Atom) -> bool:
    """Whether a normalised conjunction visibly implies an atom."""
    if atom in conjunction:
        return True
    match atom:
        case Range() | Linear():
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
            return Present(name, negated=True) in conjunction
        case Present(variable=name, negated=False):
            return _is_number(conjunction, Range(name, None, None)) or any(
                isinstance(a, Member) and a.variable == name and not a.negated for a in conjunction
            )
        case _:
            return False


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


def _within(known: Atom, atom: Range | Linear) -> bool:
    if (
        isinstance(known, Member)
        and isinstance(atom, Range)
        and known.variable == atom.variable
        and not known.negated
    ):
        return all(isinstance(value, Fraction) and in_range(atom, value) for value in known.values)
    if not isinstance(known, Range | Linear) or terms_of(known) != terms_of(atom):
        return False
    inner, outer = bounds_of(known), bounds_of(atom)
    return intersection(inner, outer) == inner


def opposites(atom: Atom) -> tuple[Atom, ...] | None:
    """Return atoms of which one holds wherever an atom does not; None where they are not known."""
    match atom:
        case Range() | Linear():
            return tuple(_beyond(terms_of(atom), bounds_of(atom)))
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
    yield from (Missing(name) for name, _ in terms)


def slots(conjunction: Conjunction) -> Mapping[tuple[str, object], frozenset[Atom]]:
    """Group the atoms by what they constrain, so that two conjunctions can be compared slot by slot."""
    found: dict[tuple[str, object], frozenset[Atom]] = {}
    for atom in conjunction:
        match atom:
            case Linear():
                key: tuple[str, object] = ("linear", terms_of(atom))
            case Range() | Member() | Missing() | Present():
                key = ("value", atom.variable)
            case _:
                key = ("other", atom)
        found[key] = found.get(key, frozenset()) | {atom}
    return found
