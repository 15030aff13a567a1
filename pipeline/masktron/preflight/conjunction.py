"""Whether a conjunction of literals can hold: atoms and negations, kinds of cells, truths, intervals, linear rows.

Every conflict is proved. A record that is found satisfies all literals but those that are looked at as a whole
(products, patterns, domains, what is not understood), which are only kept from contradicting each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from fractions import Fraction

from masktron.classify.bounds import linear_bound
from masktron.classify.conjunctions import opposites
from masktron.classify.truth import holds, number_of, variables_of_atom
from masktron.constraints import Atom, Form, InDomain, Linear, Member, Missing, Present, Product, Range, Whole
from masktron.preflight.feasibility import Conflict, Point, Row, decide


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


type RuleIndices = frozenset[int]
type Sourced = tuple[Literal, int]
"""A literal and the rule that it comes from."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A record that satisfies a conjunction of literals.

    Attributes
    ----------
    states : mapping of str to CellState
    numbers : mapping of str to Fraction
        Of the variables whose state is a number.
    literals : tuple of (Literal, int)
        The conjunction.
    """

    states: Mapping[str, CellState]
    numbers: Mapping[str, Fraction]
    literals: tuple[Sourced, ...]

    def satisfies(self, literal: Literal) -> bool:
        """Whether a literal holds; one that is looked at as a whole only if it is part of the conjunction."""
        if isinstance(literal, Refuted) or is_whole(literal):
            return any(known == literal for known, _ in self.literals)
        match literal:
            case Member(variable=name) if about_texts(literal):
                return (self.states[name] in literal.values) is not literal.negated
            case Missing(variable=name):
                return name not in self.numbers
            case Present(variable=name, negated=negated):
                return (self.states[name] is CellKind.ABSENT) is negated
            case _:
                return holds(literal, self.numbers)


@dataclass(frozen=True, slots=True)
class Split:
    """A model satisfies all but this: the alternatives of which one has to hold, and the rules that ask for that."""

    alternatives: tuple[Range, ...]
    sources: RuleIndices


@dataclass(slots=True)
class _Facts:
    """What a conjunction says."""

    universe: Universe
    states: dict[str, frozenset[CellState]] = field(default_factory=dict)
    state_sources: dict[str, set[int]] = field(default_factory=dict)
    truths: dict[Atom, tuple[bool, int]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    wholes: dict[str, RuleIndices] = field(default_factory=dict)
    sets: list[tuple[Member, RuleIndices]] = field(default_factory=list)
    conflict: Conflict | None = None

    def add(self, literal: Literal, source: int) -> None:
        for name, allowed in self.universe.allowed(literal):
            known = self.states.get(name, self.universe.states(name))
            if not known <= allowed:
                self.state_sources.setdefault(name, set()).add(source)
            self.states[name] = known & allowed
            if not self.states[name]:
                self.conflict = Conflict(frozenset(self.state_sources.get(name, set())))
        if is_whole(literal):
            self._add_truth(literal, source)
        match literal:
            case Range() | Linear():
                self.rows += rows_of(literal, frozenset({source}))
            case Whole(variable=name):
                self.wholes.setdefault(name, frozenset({source}))
            case Member() if not about_texts(literal):
                self.sets.append((literal, frozenset({source})))
            case _:
                pass

    def _add_truth(self, literal: Literal, source: int) -> None:
        atom, truth = (literal.atom, False) if isinstance(literal, Refuted) else (literal, True)
        known = self.truths.setdefault(atom, (truth, source))
        if known[0] is not truth:
            self.conflict = Conflict(frozenset({known[1], source}))

    def close(self) -> None:
        """Read off what the kinds of cells and the sets say about numbers."""
        for name, states in self.states.items():
            texts = [number_of(state) for state in states if isinstance(state, str)]
            if len(texts) == len(states) and None not in texts:
                numbers = frozenset(number for number in texts if number is not None)
                self.sets.append((Member(name, numbers), frozenset(self.state_sources.get(name, set()))))
        for member, sources in self.sets:
            if not member.negated:
                self._bound_by_set(member, sources)
        self._tighten()

    def _bound_by_set(self, member: Member, sources: RuleIndices) -> None:
        """Bound a variable by those of its values that the intervals leave."""
        left = {value for value in member.values if isinstance(value, Fraction)}
        used = set(sources)
        for row in [r for r in self.rows if len(r.terms) == 1 and r.terms[0][0] == member.variable]:
            inside = {value for value in left if row.holds({member.variable: value})}
            if inside != left:
                left = inside
                used |= row.sources
        if not left:
            self.conflict = Conflict(frozenset(used))
            return
        one = Fraction(1)
        self.rows.append(Row(((member.variable, one),), "<=", max(left), frozenset(used)))
        self.rows.append(Row(((member.variable, -one),), "<=", -min(left), frozenset(used)))

    def _tighten(self) -> None:
        """Round the bounds of rows whose variables are all whole; an equality may prove itself impossible.

        Integers with integer coefficients of greatest common divisor g sum to multiples of g.
        """
        if not self.wholes:
            return
        for at, row in enumerate(self.rows):
            if not all(name in self.wholes and c.denominator == 1 for name, c in row.terms):
                continue
            divisor = math.gcd(*(c.numerator for _, c in row.terms))
            sources = row.sources.union(*(self.wholes[name] for name, _ in row.terms))
            steps = row.bound / divisor
            if row.relation == "=":
                if steps.denominator != 1:
                    self.conflict = Conflict(sources)
                continue
            most = math.ceil(steps) - 1 if row.relation == "<" else math.floor(steps)
            if most != steps or row.relation == "<":
                self.rows[at] = Row(row.terms, "<=", Fraction(most * divisor), sources)


def rows_of(atom: Range | Linear, sources: RuleIndices) -> Iterator[Row]:
    """Write bounds as rows."""
    terms, interval = linear_bound(atom)
    if interval.low is not None and interval.low == interval.high:
        yield Row(terms, "=", interval.low, sources)
        return
    if interval.low is not None:
        negative = tuple((name, -c) for name, c in terms)
        yield Row(negative, "<" if interval.low_open else "<=", -interval.low, sources)
    if interval.high is not None:
        yield Row(terms, "<" if interval.high_open else "<=", interval.high, sources)


def rows_in(literals: Sequence[Sourced], universe: Universe) -> list[Row]:
    """Return all linear rows that a conjunction without conflict asks for, those of sets and integers included."""
    facts = _facts(literals, universe)
    return facts.rows


def _facts(literals: Sequence[Sourced], universe: Universe) -> _Facts:
    facts = _Facts(universe)
    for literal, source in literals:
        facts.add(literal, source)
    if facts.conflict is None:
        facts.close()
    return facts


def examine(literals: tuple[Sourced, ...], universe: Universe) -> tuple[Witness, Split | None] | Conflict | None:
    """Find a record for a conjunction, or prove that there is none; None where neither succeeds.

    A record may still lie between the integers, or beside the values of a set; then what to split comes with it.
    """
    facts = _facts(literals, universe)
    if facts.conflict is not None:
        return facts.conflict
    found = decide(facts.rows)
    if not isinstance(found, Point):
        return found
    return _model(facts, found, literals), _split(facts, found)


def _model(facts: _Facts, point: Point, literals: tuple[Sourced, ...]) -> Witness:
    universe = facts.universe
    states: dict[str, CellState] = {}
    numbers: dict[str, Fraction] = {}
    for name in universe.texts:
        value = point.values.get(name, Fraction(0))
        states[name] = _chosen(facts.states.get(name, universe.states(name)), name in universe.numeric, value)
        if states[name] in universe.numbers(name):
            number = number_of(states[name]) if isinstance(states[name], str) else value  # type: ignore[arg-type]
            numbers[name] = value if number is None else number
    return Witness(states, numbers, literals)


def _chosen(states: frozenset[CellState], numeric: bool, value: Fraction) -> CellState:
    """Choose the plainest state: a number where rules read numbers, else another text, else a named one."""
    for plain in (CellKind.NUMBER, CellKind.TEXT) if numeric else (CellKind.TEXT, CellKind.NUMBER):
        if plain in states and not (plain is CellKind.TEXT and numeric):
            return plain
    named = sorted((state for state in states if isinstance(state, str)), key=lambda text: number_of(text) != value)
    return named[0] if named else next(kind for kind in CellKind if kind in states)


def _split(facts: _Facts, point: Point) -> Split | None:
    """Say what a point leaves open: a variable between two integers, or beside the values of its set."""
    for name, sources in facts.wholes.items():
        value = point.values.get(name, Fraction(0))
        if value.denominator != 1:
            below = Fraction(math.floor(value))
            return Split((Range(name, None, below), Range(name, below + 1, None)), sources)
    for member, sources in facts.sets:
        value = point.values.get(member.variable, Fraction(0))
        numbers = [number for number in member.values if isinstance(number, Fraction)]
        if (value in numbers) is not member.negated:
            continue
        name = member.variable
        if member.negated:
            return Split((Range(name, None, value, high_open=True), Range(name, value, None, low_open=True)), sources)
        lower = max((number for number in numbers if number < value), default=None)
        higher = min((number for number in numbers if number > value), default=None)
        sides = [] if lower is None else [Range(name, None, lower)]
        return Split((*sides, *([] if higher is None else [Range(name, higher, None)])), sources)
    return None
