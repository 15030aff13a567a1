"""What is left of the rules once some fields of a record are known: conditions on its free numbers and categories.

A prototype replaces some fields of its records and leaves others alone. With the latter put into the forms of the
rules, every disjunct that they refute falls away, every atom that they satisfy does, and what remains is asked of
the prototype alone. It is a necessary condition, up to the rounding of doubles; the engine has the last word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from masktron.classify.forms import Value, holds, number_of, variables_of_atom
from masktron.constraints import (
    Atom,
    Form,
    InDomain,
    Lexical,
    Linear,
    Member,
    Missing,
    Monomial,
    Polynomial,
    Present,
    Product,
    Range,
    Relation,
    Untranslated,
    Whole,
)

SLACK = Fraction(1, 2**50)
"""Equalities of computed numbers may be off by this share of their largest term: the engine computes in doubles."""
SLACK_OF_COLUMNS = 2.0**-40
"""The same for columns of doubles, which only sort out what is far from true."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """``sum(terms) relation 0``."""

    terms: tuple[Monomial, ...]
    relation: Relation

    @property
    def linear(self) -> bool:
        """Whether no term has a product or a power."""
        return all(not term.powers or (len(term.powers) == 1 and term.powers[0][1] == 1) for term in self.terms)

    @property
    def variables(self) -> frozenset[str]:
        """All variables."""
        return frozenset(name for term in self.terms for name, _ in term.powers)


@dataclass(frozen=True, slots=True)
class Among:
    """The number is one of a set or, negated, none of it."""

    variable: str
    values: frozenset[Fraction]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """The category is one of a set."""

    variable: str
    texts: frozenset[str]


type Condition = Comparison | Among | Chosen | Whole | Lexical | Untranslated


@dataclass(frozen=True, slots=True)
class Disjunct:
    """What a disjunct of a rule still asks for; `position` is its place in the form."""

    position: int
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule still asks for: one of its disjuncts. `check` is its index in the rulebook."""

    check: int
    disjuncts: tuple[Disjunct, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Free:
    """What is not known of a record.

    Attributes
    ----------
    numbers : frozenset of str
        Fields that will hold some number.
    options : mapping of field name to sequence of str
        Fields that will hold one of these categories.
    domain : callable
        The texts that a rule on the domain of a field admits; None where that is not known.
    """

    numbers: frozenset[str]
    options: Mapping[str, Sequence[str]]
    domain: Callable[[InDomain], frozenset[str] | None]


def residual(check: int, form: Form, known: Mapping[str, Value], free: Free) -> Rule | None:
    """Put what is known into a rule; None where it holds whatever the free fields are.

    Parameters
    ----------
    check : int
    form : Form
    known : mapping of field name to str or None
        All other fields that the rule reads; one that is not here is absent.
    free : Free
    """
    left: list[Disjunct] = []
    for position, conjunction in enumerate(form):
        conditions = _conditions(conjunction, known, free)
        if conditions == ():
            return None
        if conditions is not None:
            left.append(Disjunct(position, conditions))
    return Rule(check, tuple(left))


def residuals(
    forms: Sequence[tuple[int, Form]], contexts: Sequence[Mapping[str, Value]], free: Free
) -> tuple[Rule, ...]:
    """Put several contexts into the rules: what is left has to hold in all of them.

    Of inequalities that differ in their constants, only the tightest is kept.
    """
    rules: list[Rule] = []
    for check, form in forms:
        alone: list[Disjunct] = []
        several: dict[tuple[Disjunct, ...], None] = {}
        for context in contexts:
            rule = residual(check, form, context, free)
            if rule is not None and len(rule.disjuncts) == 1:
                alone.append(rule.disjuncts[0])
            elif rule is not None:
                several[rule.disjuncts] = None
        if alone:
            conditions = tightest(condition for disjunct in alone for condition in disjunct.conditions)
            rules.append(Rule(check, (Disjunct(alone[0].position, conditions),)))
        rules += [Rule(check, disjuncts) for disjuncts in several]
    return tuple(rules)


def tightest(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Drop repeated conditions, and inequalities that another with the same terms implies."""
    kept: dict[object, Condition] = {}
    for condition in conditions:
        if not isinstance(condition, Comparison) or condition.relation == "=":
            kept.setdefault(condition, condition)
            continue
        terms = tuple(term for term in condition.terms if term.powers)
        known = kept.get((terms, condition.relation))
        if not isinstance(known, Comparison) or constant(condition) > constant(known):
            kept[terms, condition.relation] = condition
    return tuple(kept.values())


def constant(comparison: Comparison) -> Fraction:
    """Return what stands without variables in a comparison."""
    return sum((term.coefficient for term in comparison.terms if not term.powers), Fraction(0))


def _conditions(conjunction: Sequence[Atom], known: Mapping[str, Value], free: Free) -> tuple[Condition, ...] | None:
    """Return what a conjunction still asks for; None where it cannot hold any more."""
    left: dict[Condition, None] = {}
    for atom in conjunction:
        found = list(_remaining(atom, known, free))
        if None in found:
            return None
        left.update(dict.fromkeys(condition for condition in found if condition is not None))
    return tuple(left)


def _remaining(atom: Atom, known: Mapping[str, Value], free: Free) -> Iterator[Condition | None]:
    """Yield what an atom still asks for: nothing where it holds, None where it fails."""
    names = variables_of_atom(atom)
    open_ = [name for name in names if name in free.options]
    numbers = [name for name in names if name in free.numbers]
    if not open_ and not numbers:
        yield from _decided(atom, known, free)
    elif isinstance(atom, InDomain) and free.domain(atom) is None:
        yield Untranslated(names, "")
    elif open_ and len(names) == 1:
        fits = frozenset(text for text in free.options[names[0]] if _is_true(atom, {names[0]: text}, free))
        if len(fits) < len(free.options[names[0]]):
            yield Chosen(names[0], fits) if fits else None
    elif open_ or isinstance(atom, Untranslated):
        yield Untranslated(names, "")  # some of it is a text that is not chosen yet
    else:
        yield from _of_numbers(atom, known, free)


def _is_true(atom: Atom, known: Mapping[str, Value], free: Free) -> bool:
    domain = free.domain(atom) if isinstance(atom, InDomain) else None
    return holds(atom, known, domains={atom: domain} if isinstance(atom, InDomain) and domain is not None else None)


def _decided(atom: Atom, known: Mapping[str, Value], free: Free) -> Iterator[Condition | None]:
    unknowable = (isinstance(atom, Untranslated) and not atom.version) or (
        isinstance(atom, InDomain) and free.domain(atom) is None
    )
    if unknowable:
        yield Untranslated(variables_of_atom(atom), "")
    elif not _is_true(atom, known, free):
        yield None


def _of_numbers(atom: Atom, known: Mapping[str, Value], free: Free) -> Iterator[Condition | None]:
    """Yield what an atom asks of numbers, at least one of them free."""
    match atom:
        case Missing():
            yield None
        case Present(negated=negated):
            if negated:
                yield None
        case Range():
            yield from _interval(atom)
        case Linear(terms=terms, relation=relation, bound=bound):
            sides = [*(Monomial(c, ((name, 1),)) for name, c in terms), Monomial(-bound, ())]
            yield from _comparison(sides, relation, known, free)
        case Product(left=left, relation=relation, right=right):
            yield from _comparison([*left, Monomial(-right.coefficient, right.powers)], relation, known, free)
        case Polynomial(terms=monomials, relation=relation):
            yield from _comparison(monomials, relation, known, free)
        case Member(variable=name, values=members, negated=negated):
            yield from _member(name, members, negated=negated)
        case InDomain(variable=name):
            texts = free.domain(atom)
            yield Among(name, frozenset(n for text in texts or () if (n := number_of(text)) is not None))
        case Whole() | Lexical() | Untranslated():
            yield atom
        case _:
            assert_never(atom)


def _interval(atom: Range) -> Iterator[Condition]:
    variable = ((atom.variable, 1),)
    if atom.low is not None and atom.low == atom.high:
        yield Comparison((Monomial(Fraction(1), variable), Monomial(-atom.low, ())), "=")
        return
    if atom.low is not None:
        terms = (Monomial(Fraction(-1), variable), Monomial(atom.low, ()))
        yield Comparison(terms, "<" if atom.low_open else "<=")
    if atom.high is not None:
        terms = (Monomial(Fraction(1), variable), Monomial(-atom.high, ()))
        yield Comparison(terms, "<" if atom.high_open else "<=")


def _member(name: str, members: frozenset[Fraction] | frozenset[str], *, negated: bool) -> Iterator[Condition | None]:
    """A set of texts admits the numbers that it spells; how the number will be written is not known yet."""
    values = frozenset(value for member in members if (value := number_of(member)) is not None)
    if len(values) == 1 and not negated:
        terms = (Monomial(Fraction(1), ((name, 1),)), Monomial(-next(iter(values)), ()))
        yield Comparison(terms, "=")
    elif values and not (negated and any(isinstance(member, str) for member in members)):
        yield Among(name, values, negated)
    elif not negated:
        yield None


def _comparison(
    monomials: Sequence[Monomial], relation: Relation, known: Mapping[str, Value], free: Free
) -> Iterator[Condition | None]:
    """Put numbers in the place of known fields; a field that is no number makes every comparison false."""
    collected: dict[tuple[tuple[str, int], ...], Fraction] = {}
    for monomial in monomials:
        coefficient, powers = monomial.coefficient, []
        for name, power in monomial.powers:
            if name in free.numbers:
                powers.append((name, power))
                continue
            value = number_of(known.get(name))
            if value is None or (power < 0 and value == 0):
                yield None
                return
            coefficient *= value**power
        key = tuple(powers)
        collected[key] = collected.get(key, Fraction(0)) + coefficient
    terms = tuple(Monomial(c, powers) for powers, c in collected.items() if c)
    if any(term.powers for term in terms):
        yield Comparison(terms, relation)
    elif not related(sum((term.coefficient for term in terms), Fraction(0)), Fraction(0), relation):
        yield None


# --- deciding ---------------------------------------------------------------------------------------------------


def satisfies(rules: Iterable[Rule], values: Mapping[str, Fraction]) -> bool:
    """Decide the rules on one prototype, in exact arithmetic; what only an engine can decide counts as true.

    Equalities may miss by `SLACK`, since a quotient has no finite decimal form.
    """
    return all(any(all(met(c, values) for c in d.conditions) for d in rule.disjuncts) for rule in rules)


def met(condition: Condition, values: Mapping[str, Fraction]) -> bool:
    """Decide one condition as `satisfies` does."""
    match condition:
        case Comparison(terms=terms, relation=relation):
            parts = [_monomial(term, values) for term in terms]
            known = [part for part in parts if part is not None]
            largest = max((abs(part) for part in known), default=Fraction(0))
            return len(known) == len(parts) and related(sum(known, Fraction(0)), largest * SLACK, relation)
        case Among(variable=name, values=members, negated=negated):
            return (values[name] in members) is not negated
        case Whole(variable=name):
            return values[name].denominator == 1
        case Chosen() | Lexical() | Untranslated():
            return True
        case _:
            assert_never(condition)


def satisfied_columns(
    rules: Iterable[Rule], columns: Mapping[str, NDArray[np.float64]], count: int
) -> NDArray[np.bool_]:
    """Decide the rules on many prototypes in doubles, shape (count,); what is close counts as true."""
    fine = np.ones(count, dtype=np.bool_)
    for rule in rules:
        some = np.zeros(count, dtype=np.bool_)
        for disjunct in rule.disjuncts:
            every = np.ones(count, dtype=np.bool_)
            for condition in disjunct.conditions:
                every &= _met_columns(condition, columns, count)
            some |= every
        fine &= some
        if not fine.any():
            break
    return fine


def _met_columns(condition: Condition, columns: Mapping[str, NDArray[np.float64]], count: int) -> NDArray[np.bool_]:
    match condition:
        case Comparison(terms=terms, relation=relation):
            total, largest = np.zeros(count), np.zeros(count)
            for term in terms:
                part = np.full(count, float(term.coefficient))
                for name, power in term.powers:
                    part = part * columns[name] ** float(power)
                total, largest = total + part, np.maximum(largest, np.abs(part))
            near = np.abs(total) if relation == "=" else total
            return np.asarray(near <= largest * SLACK_OF_COLUMNS)
        case Among(variable=name, values=members, negated=negated):
            known = np.isin(columns[name], [float(member) for member in members])
            return np.asarray(known ^ negated)
        case Whole(variable=name):
            return np.asarray(columns[name] == np.floor(columns[name]))
        case Chosen() | Lexical() | Untranslated():
            return np.ones(count, dtype=np.bool_)
        case _:
            assert_never(condition)


def _monomial(term: Monomial, values: Mapping[str, Fraction]) -> Fraction | None:
    result = term.coefficient
    for name, power in term.powers:
        if power < 0 and not values[name]:
            return None
        result *= values[name] ** power
    return result


def related(total: Fraction, slack: Fraction, relation: Relation) -> bool:
    """Compare a sum with zero; an equality may miss by the slack."""
    if relation == "=":
        return abs(total) <= slack
    return total <= 0 if relation == "<=" else total < 0


def breakpoints(rules: Iterable[Rule], name: str) -> list[float]:
    """Return the numbers at which conditions on one field alone change, in ascending order."""
    found: set[float] = set()
    for condition in (c for rule in rules for d in rule.disjuncts for c in d.conditions):
        if isinstance(condition, Comparison) and condition.linear and condition.variables == {name}:
            slope = sum((t.coefficient for t in condition.terms if t.powers), Fraction(0))
            found.add(float(-constant(condition) / slope) if slope else math.nan)
        elif isinstance(condition, Among) and condition.variable == name and not condition.negated:
            found.update(map(float, condition.values))
    return sorted(value for value in found if math.isfinite(value))
