"""Atoms and their negations, and the kinds of cell that each of them allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction

from masktron.classify.conjunctions import opposites
from masktron.classify.truth import number_of, variables_of_atom
from masktron.constraints import (
    Atom,
    Form,
    InDomain,
    Linear,
    Member,
    Missing,
    Present,
    Product,
    Range,
    Whole,
)


@dataclass(frozen=True, slots=True)
class Refuted:
    """The atom does not hold; for atoms whose negation is no atom."""

    atom: Atom


type Literal = Atom | Refuted
type Clause = tuple[tuple[Literal, ...], ...]
"""A disjunction of conjunctions of literals."""


class CellKind(Enum):
    """What a cell holds, apart from the texts that rules name."""

    NUMBER = auto()
    """A number, written otherwise than any text that a rule names."""
    TEXT = auto()
    """Any other text that is no number, the empty one included."""
    ABSENT = auto()


type CellState = CellKind | str
"""What a cell holds: a text that some rule names, or a kind."""


def is_whole(literal: Literal) -> bool:
    """Whether a literal is looked at as a whole, as true or false: any kind of atom that is not known better."""
    return not isinstance(literal, Linear | Range | Member | Whole | Missing | Present)


def about_numbers(atom: Atom) -> bool:
    """Whether an atom holds only where all its variables are numbers."""
    if isinstance(atom, Member):
        return not about_texts(atom)
    return isinstance(atom, Linear | Product | Range | Whole)


def about_texts(atom: Member) -> bool:
    """Whether a set is one of texts, compared as they are written."""
    return not any(isinstance(value, Fraction) for value in atom.values)


def negation(form: Form) -> tuple[Clause, ...]:
    """Return clauses that hold together exactly where a form does not: one for each of its disjuncts."""
    return tuple(tuple(opposite for atom in conjunction for opposite in _opposites(atom)) for conjunction in form)


def _opposites(atom: Atom) -> Clause:
    match atom:
        case Member(variable=name, values=values) if not about_texts(atom):
            return ((Member(name, values, not atom.negated),), (Missing(name),))
        case _ if is_whole(atom):
            return ((Refuted(atom),),)
        case _:
            return tuple((opposite,) for opposite in opposites(atom) or (Refuted(atom),))


@dataclass(frozen=True, slots=True)
class Universe:
    """What cells can hold, as far as a set of rules can tell.

    Attributes
    ----------
    texts : mapping of every variable to the texts that rules compare it with
    numeric : frozenset of str
        Variables that some rule reads as numbers.
    complete : bool
        Only records are looked at in which all these variables are numbers.
    """

    texts: Mapping[str, frozenset[str]]
    numeric: frozenset[str]
    complete: bool

    def states(self, name: str) -> frozenset[CellState]:
        """All states of a variable."""
        named: frozenset[CellState] = self.texts[name]
        if self.complete and name in self.numeric:
            return self.numbers(name)
        return named | frozenset(CellKind)

    def numbers(self, name: str) -> frozenset[CellState]:
        """States in which a variable is a number."""
        named = frozenset(text for text in self.texts[name] if number_of(text) is not None)
        return named | {CellKind.NUMBER}

    def allowed(self, literal: Literal) -> Iterator[tuple[str, frozenset[CellState]]]:
        """Yield the states that a literal leaves to variables; every one of them satisfies it, unless on numbers."""
        atom = literal.atom if isinstance(literal, Refuted) else literal
        match atom:
            case Member(variable=name, values=values) if about_texts(atom):
                texts = frozenset(value for value in values if isinstance(value, str))
                yield name, self.states(name) - texts if atom.negated else self.states(name) & texts
            case Missing(variable=name):
                yield name, self.states(name) - self.numbers(name)
            case Present(variable=name, negated=negated):
                absent = frozenset({CellKind.ABSENT})
                yield name, self.states(name) & absent if negated else self.states(name) - absent
            case InDomain(variable=name) if not isinstance(literal, Refuted):
                yield name, self.states(name) - {CellKind.ABSENT}
            case _ if about_numbers(atom) and not isinstance(literal, Refuted):
                for name in variables_of_atom(atom):
                    yield name, self.states(name) & self.numbers(name)
            case _:
                pass


def universe_of(forms: Iterable[Form], *, complete: bool) -> Universe:
    """Collect what rules say about cells."""
    texts: dict[str, frozenset[str]] = {}
    numeric: set[str] = set()
    for atom in (atom for form in forms for conjunction in form for atom in conjunction):
        for name in variables_of_atom(atom):
            texts.setdefault(name, frozenset())
        if about_numbers(atom):
            numeric.update(variables_of_atom(atom))
        elif isinstance(atom, Member):
            named = frozenset(value for value in atom.values if isinstance(value, str))
            texts[atom.variable] |= named
    return Universe(texts, frozenset(numeric), complete)
