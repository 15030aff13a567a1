"""Two conditions on one variable or one expression, written as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from masktron.classify.bounds import Bound, as_bound, bounded, bounds_of, hull, terms_of
from masktron.classify.conjunctions import among
from masktron.constraints import Atom, Form, Linear, Member, Missing, Polynomial, Present, Product, Range


def pooled(forms: Iterable[Form]) -> Iterator[Form]:
    """Yield forms that say the same together, with one in the place of all that ask a variable for certain values.

    ``A = 1 or A = 2 or ...`` would take quadratic time if these were united two by two.
    """
    values: dict[tuple[str, bool], set[Fraction | str]] = {}
    for form in forms:
        atom = form[0][0] if len(form) == 1 and len(form[0]) == 1 else None
        if isinstance(atom, Range | Member) and (numbers := listed_numbers(atom)):
            values.setdefault((atom.variable, True), set()).update(numbers)
        elif isinstance(atom, Member) and _is_text(atom) and not atom.negated:
            values.setdefault((atom.variable, False), set()).update(atom.values)
        else:
            yield form
    for (name, numeric), found in values.items():
        if numeric:
            yield ((among(name, frozenset(v for v in found if isinstance(v, Fraction))),),)
        else:
            yield ((Member(name, frozenset(v for v in found if isinstance(v, str))),),)


def union(  # noqa: PLR0911 -- one branch per pair of kinds
    one: tuple[Atom, ...], two: tuple[Atom, ...]
) -> tuple[Atom, ...] | None:
    """Unite two conditions of one slot; None where the union is not a single condition."""
    for first, second in ((one, two), (two, one)):
        if (found := _with_text(first, second)) is not None:
            return found
    if len(one) > 1 or len(two) > 1:
        return _union_of_bounds(one, two)
    match one[0], two[0]:
        case (Range() | Member(), Range() | Member()):
            return _union_of_values(one[0], two[0])
        case (Linear() | Product() | Polynomial(), Linear() | Product() | Polynomial()):
            return _union_of_bounds(one, two)
        case (Range(low=None, high=None), Missing()) | (Missing(), Range(low=None, high=None)):
            return ()
        case (Present(), Present()):
            return ()
        case _:
            return None


def _with_text(one: tuple[Atom, ...], two: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
    """A text that is no number, or nothing at all: missing. The text or a number: present."""
    if len(one) != 2 or len(two) != 1 or not any(isinstance(atom, Missing) for atom in one):
        return None
    name = next(atom.variable for atom in one if isinstance(atom, Missing))
    if Present(name) not in one:
        return None
    if two[0] == Present(name, negated=True):
        return (Missing(name),)
    return (Present(name),) if two[0] == Range(name, None, None) else None


def _union_of_values(one: Atom, two: Atom) -> tuple[Atom, ...] | None:
    if isinstance(one, Range) and isinstance(two, Range):
        points = listed_numbers(one), listed_numbers(two)
        if points[0] and points[1]:
            return (among(one.variable, points[0] | points[1]),)
        return _union_of_bounds((one,), (two,))
    if isinstance(one, Member) and isinstance(two, Member) and _is_text(one) and _is_text(two):
        return _union_of_texts(one, two)
    numbers = listed_numbers(one), listed_numbers(two)
    if numbers[0] and numbers[1] and isinstance(one, Range | Member):
        return (among(one.variable, numbers[0] | numbers[1]),)
    return None


def listed_numbers(atom: Atom) -> frozenset[Fraction]:
    """Return the numbers that a point or a set of numbers admits; empty for anything else."""
    match atom:
        case Range(low=low, high=high) if low is not None and low == high:
            return frozenset({low})
        case Member(values=values, negated=False):
            return frozenset(value for value in values if isinstance(value, Fraction))
        case _:
            return frozenset()


def _is_text(atom: Member) -> bool:
    return all(isinstance(value, str) for value in atom.values)


def _union_of_texts(one: Member, two: Member) -> tuple[Atom, ...]:
    name = one.variable
    ours, theirs = ({str(value) for value in atom.values} for atom in (one, two))
    match one.negated, two.negated:
        case False, False:
            return (Member(name, frozenset(ours | theirs)),)
        case True, True:
            left = ours & theirs
        case True, False:
            left = ours - theirs
        case _:
            left = theirs - ours
    return (Member(name, frozenset(left), negated=True),) if left else ()


def _union_of_bounds(one: tuple[Atom, ...], two: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
    """Unite two intervals of one expression that overlap or touch."""
    ours = [bound for atom in one if (bound := as_bound(atom)) is not None]
    theirs = [bound for atom in two if (bound := as_bound(atom)) is not None]
    if len(ours) != len(one) or len(theirs) != len(two):
        return None
    terms = terms_of(ours[0])
    covering = hull(_interval(ours), _interval(theirs))
    return None if covering is None else tuple(bounded(terms, covering))


def _interval(atoms: list[Bound]) -> Range:
    low, high = Range("", None, None), Range("", None, None)
    for atom in atoms:
        bounds = bounds_of(atom)
        low = bounds if bounds.low is not None else low
        high = bounds if bounds.high is not None else high
    return Range("", low.low, high.high, low.low_open, high.high_open)
