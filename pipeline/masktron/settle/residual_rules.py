"""Conditions on the free fields of a record: what they are, and whether they hold, for one point or for columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import FloatColumns
from masktron.constraints import Lexical, Monomial, Relation, Untranslated, Whole

SLACK = Fraction(1, 2**50)
"""Equalities of computed numbers may be off by this share of their largest term: the engine computes in doubles."""
SLACK_OF_COLUMNS = 2.0**-40
"""The same for columns of doubles, which only sort out what is far from true."""


@dataclass(frozen=True, slots=True)
class NumberComparison:
    """``sum(terms) relation 0``."""

    terms: tuple[Monomial, ...]
    relation: Relation

    @property
    def linear(self) -> bool:
        """Whether no term has a product or a power."""
        return all(term.linear for term in self.terms)

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
class CategoryAmong:
    """The category is one of a set."""

    variable: str
    texts: frozenset[str]


type Condition = NumberComparison | Among | CategoryAmong | Whole | Lexical | Untranslated


@dataclass(frozen=True, slots=True)
class Disjunct:
    """What a disjunct of a rule still asks for; `position` is its place in the form."""

    position: int
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class ResidualRule:
    """What a rule still asks for: one of its disjuncts. `check` is its index in the rulebook."""

    check: int
    disjuncts: tuple[Disjunct, ...]


def tightest(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Drop repeated conditions, and inequalities that another with the same terms implies."""
    kept: dict[object, Condition] = {}
    for condition in conditions:
        if not isinstance(condition, NumberComparison) or condition.relation == "=":
            kept.setdefault(condition, condition)
            continue
        terms = tuple(term for term in condition.terms if term.powers)
        known = kept.get((terms, condition.relation))
        if not isinstance(known, NumberComparison) or constant(condition) > constant(known):
            kept[terms, condition.relation] = condition
    return tuple(kept.values())


def constant(comparison: NumberComparison) -> Fraction:
    """Return what stands without variables in a comparison."""
    return sum((term.coefficient for term in comparison.terms if not term.powers), Fraction(0))


def without(rules: Sequence[ResidualRule], variables: Collection[str]) -> tuple[ResidualRule, ...]:
    """Leave out what reads some variables, as if it were true: the engine judges it."""
    if not variables:
        return tuple(rules)
    left = [
        ResidualRule(
            rule.check,
            tuple(
                Disjunct(d.position, tuple(c for c in d.conditions if _variables(c).isdisjoint(variables)))
                for d in rule.disjuncts
            ),
        )
        for rule in rules
    ]
    return tuple(rule for rule in left if all(disjunct.conditions for disjunct in rule.disjuncts))


def _variables(condition: Condition) -> frozenset[str]:
    match condition:
        case NumberComparison():
            return condition.variables
        case Untranslated(variables=names):
            return frozenset(names)
        case Among() | CategoryAmong() | Whole() | Lexical():
            return frozenset({condition.variable})
        case _:
            assert_never(condition)


def satisfies(rules: Iterable[ResidualRule], values: Mapping[str, Fraction]) -> bool:
    """Decide the rules on one prototype, in exact arithmetic; what only an engine can decide counts as true.

    Equalities may miss by `SLACK`, since a quotient has no finite decimal form.
    """
    return all(any(all(met(c, values) for c in d.conditions) for d in rule.disjuncts) for rule in rules)


def met(condition: Condition, values: Mapping[str, Fraction]) -> bool:
    """Decide one condition as `satisfies` does."""
    match condition:
        case NumberComparison(terms=terms, relation=relation):
            parts = [part for term in terms if (part := term.at(values)) is not None]
            total = sum(parts, Fraction(0))
            if len(parts) < len(terms):
                return False
            slack = max(map(abs, parts)) * SLACK if relation == "=" and total else Fraction(0)
            return related(total, slack, relation)
        case Among(variable=name, values=members, negated=negated):
            return (values[name] in members) is not negated
        case Whole(variable=name):
            return values[name].denominator == 1
        case CategoryAmong() | Lexical() | Untranslated():
            return True
        case _:
            assert_never(condition)


def satisfied_columns(rules: Iterable[ResidualRule], columns: FloatColumns, count: int) -> NDArray[np.bool_]:
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


def _met_columns(condition: Condition, columns: FloatColumns, count: int) -> NDArray[np.bool_]:
    match condition:
        case NumberComparison(terms=terms, relation=relation):
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
        case CategoryAmong() | Lexical() | Untranslated():
            return np.ones(count, dtype=np.bool_)
        case _:
            assert_never(condition)


def related(total: Fraction, slack: Fraction, relation: Relation) -> bool:
    """Compare a sum with zero; an equality may miss by the slack."""
    if relation == "=":
        return abs(total) <= slack
    return total <= 0 if relation == "<=" else total < 0


def breakpoints(rules: Iterable[ResidualRule], name: str) -> list[float]:
    """Return the numbers at which conditions on one field alone change, in ascending order."""
    found: set[float] = set()
    for condition in (c for rule in rules for d in rule.disjuncts for c in d.conditions):
        if isinstance(condition, NumberComparison) and condition.linear and condition.variables == {name}:
            slope = sum((t.coefficient for t in condition.terms if t.powers), Fraction(0))
            found.add(float(-constant(condition) / slope) if slope else math.nan)
        elif isinstance(condition, Among) and condition.variable == name and not condition.negated:
            found.update(map(float, condition.values))
    return sorted(value for value in found if math.isfinite(value))
