"""Variables that follow record by record: equalities with unmasked fields, solved for one masked variable each.

An equality such as ``A + B = U`` with an unmasked U that differs between the records of a group cannot hold for one
prototype of A and B. It can hold record by record if A is *grouped* (one value for all records of a group) and B is
*solved*: recomputed in each record from the published A and the record's own U.

Theorem: of a record, the solved variables tell nothing that its grouped and its unmasked fields do not tell already.
Proof: each is a function of these, by the steps below, and the rules that define the function are public. So who
knows the unmasked fields learns as much as from the grouped variables alone, which at least k records share.

What it costs: where the equality is linear, a solved variable differs from its original by what grouping changed in
the others, and by nothing else (``B' - B = A - A'``). A variable whose solution holds no grouped variable would be
published as it is; such assignments are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeGuard

from masktron.classify.polynomial import (
    MonomialSum,
    Powers,
    as_polynomial,
    as_product,
    polynomial_of,
    relation_of,
    solved_value,
)
from masktron.classify.truth import variables_of_atom
from masktron.constraints import Atom, Form, Linear, Polynomial, Product, Range, Relation

MAX_ASSIGNMENTS = 3
"""Assignments that are offered."""
MAX_LOOKED = 64
"""Assignments that are looked at."""


@dataclass(frozen=True, slots=True, order=True)
class Solved:
    """A variable that one equality gives in each record.

    Attributes
    ----------
    variable : str
    check, disjunct, atom : int
        Where the equality stands: index of the rule, position of the disjunct in its form, of the atom in that.
    """

    variable: str
    check: int
    disjunct: int
    atom: int


@dataclass(frozen=True, slots=True)
class SolvedEquality:
    """An equality ``polynomial = 0`` that is solved for a variable."""

    variable: str
    polynomial: MonomialSum

    @property
    def linear(self) -> bool:
        """Whether the equality has no product and no power."""
        return is_linear(self.polynomial)

    def solve(self, values: Mapping[str, Fraction]) -> Fraction | None:
        """Return the value of the variable that makes the equality true; None where it takes a division by zero."""
        return solved_value(self.polynomial.terms, self.variable, values)


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """Solved variables out of the way.

    Attributes
    ----------
    steps : tuple of SolvedEquality
        In the order in which a record is completed; each reads grouped and unmasked fields and earlier steps.
    solutions : mapping of str to MonomialSum
        Each solved variable in terms of grouped and unmasked fields; powers may be negative.
    """

    steps: tuple[SolvedEquality, ...]
    solutions: Mapping[str, MonomialSum]

    def form(self, form: Form, solved: Collection[tuple[int, int]] = ()) -> Form:
        """Put the solutions into a form, disjunct by disjunct.

        Where the equalities of the steps hold, each disjunct holds in the result if it does in the form. Atoms that
        no substitution reaches (patterns, sets, integrality of a solved variable) stay as they are.

        Parameters
        ----------
        form : Form
        solved : collection of (int, int)
            Disjunct and atom of the equalities that the steps make true: they are left out.
        """
        return tuple(
            tuple(
                new
                for at, atom in enumerate(conjunction)
                if (position, at) not in solved
                for new in self._replaced(atom)
            )
            for position, conjunction in enumerate(form)
        )

    def _replaced(self, atom: Atom) -> tuple[Atom, ...]:
        if self.solutions.keys().isdisjoint(variables_of_atom(atom)):
            return (atom,)
        match atom:
            case Range(variable=name, low=low, high=high) if low is not None and low == high:
                return self._relation(MonomialSum.of([(((name, 1),), Fraction(1)), ((), -low)]), "=", atom)
            case Range(variable=name, low=low, high=high):
                found: tuple[Atom, ...] = ()
                if low is not None:
                    below = MonomialSum.of([(((name, 1),), Fraction(-1)), ((), low)])
                    found += self._relation(below, "<" if atom.low_open else "<=", atom)
                if high is not None:
                    above = MonomialSum.of([(((name, 1),), Fraction(1)), ((), -high)])
                    found += self._relation(above, "<" if atom.high_open else "<=", atom)
                return found
            case Linear() | Product() | Polynomial():
                return self._relation(polynomial_of(atom), atom.relation, atom)
            case _:
                return (atom,)

    def _relation(self, polynomial: MonomialSum, relation: Relation, atom: Atom) -> tuple[Atom, ...]:
        """Return the relation after substitution; the atom itself where that cannot be written or has no variable."""
        for name, solution in self.solutions.items():
            replaced = substitute(polynomial, name, solution)
            if replaced is None:
                return (atom,)
            polynomial = replaced
        if (value := polynomial.value) is not None:
            fine = value == 0 if relation == "=" else value <= 0 if relation == "<=" else value < 0
            return () if fine else (atom,)
        if any(power < 0 for powers, _ in polynomial.terms for _, power in powers):
            return (as_product(polynomial, relation) or as_polynomial(polynomial, relation),)
        return (relation_of(polynomial, relation),)


def substitute(polynomial: MonomialSum, name: str, solution: MonomialSum) -> MonomialSum | None:
    """Put a polynomial in the place of a variable; None where that is no sum of monomials."""
    terms: list[tuple[Powers, Fraction]] = []
    for powers, coefficient in polynomial.terms:
        power = dict(powers).get(name, 0)
        rest = tuple((other, p) for other, p in powers if other != name)
        factor = _raised(solution, power)
        if factor is None:
            return None
        terms += [(_product(rest, own), coefficient * c) for own, c in factor.terms]
    return MonomialSum.of(terms)


def _raised(polynomial: MonomialSum, power: int) -> MonomialSum | None:
    if power < 0:
        if len(polynomial.terms) != 1:
            return None
        ((powers, coefficient),) = polynomial.terms
        polynomial = MonomialSum(((tuple((n, -p) for n, p in powers), 1 / coefficient),))
    result = MonomialSum.constant(Fraction(1))
    for _ in range(abs(power)):
        result = MonomialSum.of((_product(p, q), c * d) for p, c in result.terms for q, d in polynomial.terms)
    return result


def _product(left: Powers, right: Powers) -> Powers:
    total = dict(left)
    for name, power in right:
        total[name] = total.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in total.items() if power))


def is_linear(polynomial: MonomialSum) -> bool:
    """Whether no term has a product, a quotient or a power."""
    return all(sum(abs(power) for _, power in powers) <= 1 for powers, _ in polynomial.terms) and all(
        power > 0 for powers, _ in polynomial.terms for _, power in powers
    )


def is_equality(atom: Atom) -> TypeGuard[Linear | Product | Polynomial]:
    """Whether an atom is an equality between several variables."""
    return isinstance(atom, Linear | Product | Polynomial) and atom.relation == "="


def pivots(polynomial: MonomialSum) -> list[str]:
    """Variables that stand in one term only, to the first power; those without cofactors first."""
    options: list[tuple[int, int, str]] = []
    for at, (powers, _) in enumerate(polynomial.terms):
        for name, power in powers:
            if power == 1 and sum(name in dict(other) for other, _ in polynomial.terms) == 1:
                options.append((len(powers), -at, name))
    return [name for *_, name in sorted(options)]


def _solution(polynomial: MonomialSum, pivot: str) -> MonomialSum | None:
    """Solve ``polynomial = 0`` for a pivot."""
    factor = next((powers, c) for powers, c in polynomial.terms if pivot in dict(powers))
    cofactor = tuple((name, -power) for name, power in factor[0] if name != pivot)
    return MonomialSum.of(
        (_product(powers, cofactor), -c / factor[1]) for powers, c in polynomial.terms if pivot not in dict(powers)
    )


def equality(form: Form, solved: Solved) -> MonomialSum:
    """Return the equality that gives a solved variable, as a polynomial that is zero."""
    atom = form[solved.disjunct][solved.atom]
    if not is_equality(atom):
        raise TypeError(f"{atom} is no equality")
    return polynomial_of(atom)


def eliminate(equalities: Sequence[tuple[str, MonomialSum]], masked: Collection[str]) -> Elimination | None:
    """Solve equalities that hold together, each for its pivot.

    Parameters
    ----------
    equalities : sequence of (str, MonomialSum)
        Pivots with what is zero.
    masked : collection of str
        The variables of the block: those that are no pivots are grouped.

    Returns
    -------
    Elimination or None
        None where the pivots cannot be solved for, or the solution of one holds no grouped variable.
    """
    solutions: dict[str, MonomialSum] = {}
    reduced: list[SolvedEquality] = []
    for pivot, polynomial in equalities:
        current: MonomialSum | None = polynomial
        for name, solution in solutions.items():
            current = None if current is None else substitute(current, name, solution)
        if current is None or pivot not in pivots(current) or (own := _solution(current, pivot)) is None:
            return None
        for name, solution in solutions.items():
            replaced = substitute(solution, pivot, own)
            if replaced is None:
                return None
            solutions[name] = replaced
        solutions[pivot] = own
        reduced.insert(0, SolvedEquality(pivot, current))
    grouped = frozenset(masked) - solutions.keys()
    if any(grouped.isdisjoint(solution.variables) for solution in solutions.values()):
        return None
    return Elimination(_ordered(equalities) or tuple(reduced), solutions)


def _ordered(equalities: Sequence[tuple[str, MonomialSum]]) -> tuple[SolvedEquality, ...] | None:
    """Put the equalities, as they are, in an order in which each finds the other pivots known; None without one.

    A value that had to be rounded to be written then enters the next equality as written.
    """
    open_, steps = dict(equalities), list[SolvedEquality]()
    while open_:
        ready = [p for p, polynomial in open_.items() if not (polynomial.variables & open_.keys()) - {p}]
        if not ready:
            return None
        steps.append(SolvedEquality(ready[0], open_.pop(ready[0])))
    return tuple(steps) if all(step.variable in pivots(step.polynomial) for step in steps) else None


def assignments(
    forms: Sequence[tuple[int, Form]], masked: Collection[str], numeric: Collection[str]
) -> list[tuple[Solved, ...]]:
    """List the ways to choose a pivot for every equality that reads unmasked fields, or solved variables.

    Empty where no equality does, or where one leaves nothing to group: with all its other variables unmasked or
    solved, its last one is fixed.

    Parameters
    ----------
    forms : sequence of (int, Form)
        The rules of a block, each with the index of its check.
    masked : collection of str
        The variables of the block.
    numeric : collection of str
        Those of them that are numbers.

    Returns
    -------
    list of tuple of Solved
        Those that solve fewest variables first; at most `MAX_ASSIGNMENTS`.
    """
    own, numbers = frozenset(masked), frozenset(numeric)
    pending = [
        _Pending(check, position, at, polynomial, polynomial)
        for check, form in forms
        for position, conjunction in enumerate(form)
        for at, atom in enumerate(conjunction)
        if is_equality(atom)
        for polynomial in (polynomial_of(atom),)
        if polynomial.variables & own and polynomial.variables & own <= numbers
    ]
    found: dict[frozenset[str], tuple[Solved, ...]] = {}
    for looked, chosen in enumerate(_chosen(pending, own, ())):
        if chosen and _solvable(dict(forms), chosen, own):
            found.setdefault(frozenset(solved.variable for solved in chosen), chosen)
        if looked + 1 >= MAX_LOOKED:
            break
    return sorted(found.values(), key=len)[:MAX_ASSIGNMENTS]


def _solvable(forms: Mapping[int, Form], chosen: Sequence[Solved], masked: frozenset[str]) -> bool:
    """Whether the equalities can be solved together; alternatives of one rule never have to be."""
    if len({(solved.check, solved.disjunct) for solved in chosen}) > len({solved.check for solved in chosen}):
        return True
    equalities = [(solved.variable, equality(forms[solved.check], solved)) for solved in chosen]
    return eliminate(equalities, masked) is not None


@dataclass(frozen=True, slots=True)
class _Pending:
    """An equality that is not solved yet: as it is, and after what is solved was put into it."""

    check: int
    disjunct: int
    atom: int
    polynomial: MonomialSum
    current: MonomialSum


def _chosen(
    pending: Sequence[_Pending], masked: frozenset[str], done: tuple[Solved, ...]
) -> Iterator[tuple[Solved, ...]]:
    """Solve the first equality with an unmasked field for each of its pivots, then the others."""
    at = next((at for at, one in enumerate(pending) if one.current.variables - masked), None)
    if at is None:
        yield done
        return
    first, others = pending[at], [*pending[:at], *pending[at + 1 :]]
    moving = first.current.variables & masked
    usable = set(pivots(first.polynomial)) & moving if len(moving) > 1 else set()
    for pivot in pivots(first.current):
        if pivot in usable and (solution := _solution(first.current, pivot)) is not None:
            left = [_without(other, first, pivot, solution) for other in others]
            rest = [one for one in left if one is not None]
            if len(rest) == len(left):
                chosen = Solved(pivot, first.check, first.disjunct, first.atom)
                yield from _chosen([one for one in rest if one.current.variables & masked], masked, (*done, chosen))


def _without(one: _Pending, first: _Pending, pivot: str, solution: MonomialSum) -> _Pending | None:
    """Put a solution into an equality, unless both stand in alternatives of one rule; None where that fails."""
    if one.check == first.check and one.disjunct != first.disjunct:
        return one
    current = substitute(one.current, pivot, solution)
    return None if current is None else _Pending(one.check, one.disjunct, one.atom, one.polynomial, current)
