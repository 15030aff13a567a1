"""What is left of the rules once some fields of a record are known: conditions on its free numbers and categories.

A prototype replaces some fields of its records and leaves others alone. With the latter put into the forms of the
rules, every disjunct that they refute falls away, every atom that they satisfy does, and what remains is asked of
the prototype alone. It is a necessary condition, up to the rounding of doubles; the engine has the last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from masktron.classify.forms import CellValue, holds, number_of, variables_of_atom
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
from masktron.settle.residual_rules import (
    Among,
    CategoryAmong,
    Condition,
    Disjunct,
    NumberComparison,
    ResidualRule,
    related,
    tightest,
)


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


def residual(check: int, form: Form, known: Mapping[str, CellValue], free: Free) -> ResidualRule | None:
    """Put what is known into a rule; None where it holds whatever the free fields are.

    Parameters
    ----------
    check : int
    form : Form
    known : mapping of field name to str or None
        All other fields that the rule reads; one that is not here is absent.
    free : Free
    """
    left = (conditions_of(left_of_atom(atom, known, free) for atom in conjunction) for conjunction in form)
    return rule_of(check, left)


def rule_of(check: int, conjunctions: Iterable[tuple[Condition, ...] | None]) -> ResidualRule | None:
    """Put together what each disjunct still asks for; None where one asks for nothing, so that the rule holds.

    Parameters
    ----------
    check : int
    conjunctions : iterable of tuple of Condition, or None
        None stands for a disjunct that cannot hold any more.
    """
    left: list[Disjunct] = []
    for position, conditions in enumerate(conjunctions):
        if conditions == ():
            return None
        if conditions is not None:
            left.append(Disjunct(position, conditions))
    return ResidualRule(check, tuple(left))


def residuals(
    forms: Sequence[tuple[int, Form]], contexts: Sequence[Mapping[str, CellValue]], free: Free
) -> tuple[ResidualRule, ...]:
    """Put several contexts into the rules: what is left has to hold in all of them.

    Of inequalities that differ in their constants, only the tightest is kept.
    """
    return tuple(
        rule
        for check, form in forms
        for rule in joined(check, [residual(check, form, context, free) for context in contexts])
    )


def joined(check: int, left: Iterable[ResidualRule | None]) -> list[ResidualRule]:
    """Return what has to hold where a rule has to in all of some contexts, given what is left of it in each."""
    alone: list[Disjunct] = []
    several: dict[tuple[Disjunct, ...], None] = {}
    for rule in left:
        if rule is not None and len(rule.disjuncts) == 1:
            alone.append(rule.disjuncts[0])
        elif rule is not None:
            several[rule.disjuncts] = None
    rules: list[ResidualRule] = []
    if alone:
        conditions = tightest(condition for disjunct in alone for condition in disjunct.conditions)
        rules.append(ResidualRule(check, (Disjunct(alone[0].position, conditions),)))
    return rules + [ResidualRule(check, disjuncts) for disjuncts in several]


def conditions_of(atoms: Iterable[tuple[Condition, ...] | None]) -> tuple[Condition, ...] | None:
    """Return what a conjunction still asks for, given what each of its atoms does; None where one of these fails."""
    left: dict[Condition, None] = {}
    for found in atoms:
        if found is None:
            return None
        if found:
            left.update(dict.fromkeys(found))
    return tuple(left)


def left_of_atom(atom: Atom, known: Mapping[str, CellValue], free: Free) -> tuple[Condition, ...] | None:
    """Return what an atom still asks for: nothing where it holds, None where it fails."""
    found = list(_remaining(atom, known, free))
    return None if None in found else tuple(condition for condition in found if condition is not None)


def _remaining(atom: Atom, known: Mapping[str, CellValue], free: Free) -> Iterator[Condition | None]:
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
            yield CategoryAmong(names[0], fits) if fits else None
    elif open_ or isinstance(atom, Untranslated):
        yield Untranslated(names, "")  # some of it is a text that is not chosen yet
    else:
        yield from _of_numbers(atom, known, free)


def _is_true(atom: Atom, known: Mapping[str, CellValue], free: Free) -> bool:
    domain = free.domain(atom) if isinstance(atom, InDomain) else None
    return holds(atom, known, domains={atom: domain} if isinstance(atom, InDomain) and domain is not None else None)


def _decided(atom: Atom, known: Mapping[str, CellValue], free: Free) -> Iterator[Condition | None]:
    unknowable = (isinstance(atom, Untranslated) and not atom.version) or (
        isinstance(atom, InDomain) and free.domain(atom) is None
    )
    if unknowable:
        yield Untranslated(variables_of_atom(atom), "")
    elif not _is_true(atom, known, free):
        yield None


def _of_numbers(atom: Atom, known: Mapping[str, CellValue], free: Free) -> Iterator[Condition | None]:
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
        yield NumberComparison((Monomial(Fraction(1), variable), Monomial(-atom.low, ())), "=")
        return
    if atom.low is not None:
        terms = (Monomial(Fraction(-1), variable), Monomial(atom.low, ()))
        yield NumberComparison(terms, "<" if atom.low_open else "<=")
    if atom.high is not None:
        terms = (Monomial(Fraction(1), variable), Monomial(-atom.high, ()))
        yield NumberComparison(terms, "<" if atom.high_open else "<=")


def _member(name: str, members: frozenset[Fraction] | frozenset[str], *, negated: bool) -> Iterator[Condition | None]:
    """A set of texts admits the numbers that it spells; how the number will be written is not known yet."""
    values = frozenset(value for member in members if (value := number_of(member)) is not None)
    if len(values) == 1 and not negated:
        terms = (Monomial(Fraction(1), ((name, 1),)), Monomial(-next(iter(values)), ()))
        yield NumberComparison(terms, "=")
    elif values and not (negated and any(isinstance(member, str) for member in members)):
        yield Among(name, values, negated)
    elif not negated:
        yield None


def _comparison(
    monomials: Sequence[Monomial], relation: Relation, known: Mapping[str, CellValue], free: Free
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
        yield NumberComparison(terms, relation)
    elif not related(sum((term.coefficient for term in terms), Fraction(0)), Fraction(0), relation):
        yield None
