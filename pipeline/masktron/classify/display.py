"""Forms in plain mathematics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from masktron.classify.bounds import Terms, as_bound, bounded, bounds_of, terms_of
from masktron.classify.conjunctions import natural
from masktron.classify.forms import is_about_missing, variables_of
from masktron.classify.polynomial import MonomialSum
from masktron.constraints import (
    Atom,
    CrossRecordEdit,
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
    Tally,
    Untranslated,
    Whole,
)
from masktron.reading.plain_text import decimal_text
from masktron.rulebook.expressions.spacing import quoted

_MOST = 500
"""Conjunctions of a form up to which it is put together; the display of a longer one is no help."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """An expression has a value, and none of these."""

    terms: Terms
    values: frozenset[Fraction]


type Piece = Atom | Excluded


@dataclass(frozen=True, slots=True)
class _Found:
    """The interval that an atom wants, and its place: which conjunction, and where in it."""

    interval: Range
    conjunction: int
    position: int

    @property
    def begins(self) -> tuple[bool, Fraction, bool]:
        """What comes before in the order of the line."""
        return self.interval.low is not None, self.interval.low or Fraction(0), self.interval.low_open

    def touches(self, later: _Found) -> bool:
        """Whether the other interval begins, open, where this one ends, open."""
        end = self.interval.high
        return end is not None and end == later.interval.low and self.interval.high_open and later.interval.low_open


def with_exclusions(conjunctions: Sequence[tuple[Atom, ...]]) -> list[tuple[Piece, ...]]:
    """Put together conjunctions that differ in one atom, where these are intervals with one open end in common.

    ``(C and x < a) or (C and a < x < b) or (C and x > b)`` is ``C and x is a number, not a, not b``.
    """
    found: list[tuple[Piece, ...]] = [tuple(conjunction) for conjunction in conjunctions]
    if len(found) > _MOST:
        return found
    while (fewer := _fewer(found)) is not None:
        found = fewer
    return found


def _fewer(conjunctions: list[tuple[Piece, ...]]) -> list[tuple[Piece, ...]] | None:
    """Put together the first of them that can be."""
    alike: dict[tuple[frozenset[Piece], Terms], list[_Found]] = {}
    for i, conjunction in enumerate(conjunctions):
        for j, piece in enumerate(conjunction):
            bound = None if isinstance(piece, Excluded) else as_bound(piece)
            if bound is not None:
                others = frozenset((*conjunction[:j], *conjunction[j + 1 :]))
                alike.setdefault((others, terms_of(bound)), []).append(_Found(bounds_of(bound), i, j))
    runs = ((terms, run) for (_, terms), found in alike.items() for run in _touching(found))
    return next((_together(conjunctions, terms, run) for terms, run in runs), None)


def _touching(found: list[_Found]) -> Iterator[list[_Found]]:
    """Yield runs of two and more intervals, each of which touches the next."""
    run: list[_Found] = []
    for one in sorted(found, key=lambda one: one.begins):
        if run and not run[-1].touches(one):
            if len(run) > 1:
                yield run
            run = []
        run.append(one)
    if len(run) > 1:
        yield run


def _together(conjunctions: list[tuple[Piece, ...]], terms: Terms, run: list[_Found]) -> list[tuple[Piece, ...]]:
    first, last = run[0].interval, run[-1].interval
    values = frozenset(one.interval.high for one in run[:-1] if one.interval.high is not None)
    ends = first.low is not None or last.high is not None
    whole = Range("", first.low, last.high, first.low_open, last.high_open)
    place = min(run, key=lambda one: one.conjunction)
    i, j = place.conjunction, place.position
    pieces = (*(bounded(terms, whole) if ends else ()), Excluded(terms, values))
    joined = (*conjunctions[i][:j], *pieces, *conjunctions[i][j + 1 :])
    gone = {one.conjunction for one in run} - {i}
    return [joined if k == i else own for k, own in enumerate(conjunctions) if k not in gone]


__all__ = ["render_atom", "render_cross_record", "render_form", "variables_of"]

_SHOWN_MISSING = 6
_SHOWN_VALUES = 12


def render_form(form: Form) -> str:
    """Write a form as a person would: ``V9 + V10 = V14``, ``V8 >= 1115 or V13 <= V12 or V8 missing``.

    Where there are many alternatives about missing values, they are counted.
    """
    if not form:
        return "never"
    if form == ((),):
        return "always"
    plain = [conjunction for conjunction in form if not is_about_missing(conjunction)]
    about_missing = [conjunction for conjunction in form if is_about_missing(conjunction)]
    usual, rest = with_exclusions(plain), with_exclusions(about_missing)
    several = len(usual) + len(rest) > 1
    shown = [_conjunction(c, grouped=several) for c in usual]
    untranslated = any(isinstance(atom, Untranslated) for conjunction in rest for atom in conjunction)
    if len(rest) <= _SHOWN_MISSING and not (untranslated and usual):
        shown += [_conjunction(c, grouped=several) for c in rest]
        return " or ".join(shown)
    return f"{' or '.join(shown)}{', or ' if shown else ''}{len(rest)} alternatives with missing fields"


def render_cross_record(edit: CrossRecordEdit) -> str:
    """Write what a rule over several records asks; empty where that is not understood."""
    if edit.key:
        return f"{', '.join(edit.key)} occurs once"
    sides = [
        Linear(tuple((_tally(tally), c) for tally, c in bound.terms), bound.relation, bound.bound)
        for bound in edit.bounds
    ]
    return _conjunction(tuple(sides), grouped=False) if sides else ""


def _tally(tally: Tally) -> str:
    if tally.function == "outside":
        return tally.field
    what = {"sum": "sum of", "avg": "average of", "count": "count of"}[tally.function]
    where = "" if tally.where == ((),) else f" where {render_form(tally.where)}"
    return f"{what} {tally.field or 'records'}{where}" + (f" of the same {', '.join(tally.by)}" if tally.by else "")


def _excluded(piece: Excluded) -> str:
    """Write what an expression is not: that it is a number goes without saying, as in ``x < 2``."""
    if len(piece.values) == 1:
        (value,) = piece.values
        (equality,) = bounded(piece.terms, Range("", value, value))
        return render_atom(equality).replace(" = ", " != ", 1)
    shown = piece.terms if isinstance(piece.terms, str) else _expression(piece.terms)
    return f"{shown} not in {_set(piece.values)}"


def render_atom(atom: Atom) -> str:  # noqa: PLR0911 -- one branch per kind of atom
    """Write one atom."""
    match atom:
        case Linear():
            return _linear(atom)
        case Product(left=left, relation=relation, right=right):
            return f"{' + '.join(sorted(map(_monomial, left), key=natural))} {relation} {_monomial(right)}"
        case Polynomial():
            return _polynomial(atom)
        case Range():
            return _range(atom)
        case Member(variable=name, values=values, negated=negated) if len(values) == 1:
            return f"{name} {'!=' if negated else '='} {_single(values)}"
        case Member(variable=name, values=values, negated=negated):
            return f"{name} {'not in' if negated else 'in'} {_set(values)}"
        case Whole(variable=name, lexical=lexical):
            return f"{name} is written as an integer" if lexical else f"{name} is whole"
        case Lexical(test=test) | Untranslated(test=test):
            return test
        case Missing(variable=name):
            return f"{name} missing"
        case Present(variable=name, negated=negated):
            return f"{name} {'absent' if negated else 'present'}"
        case InDomain(variable=name, source=source, path=path):
            return f"{name} in the values of {path} in {source}"
        case _:
            assert_never(atom)


def _conjunction(pieces: tuple[Piece, ...], *, grouped: bool) -> str:
    conjunction = tuple(piece for piece in pieces if not isinstance(piece, Excluded))
    said = _two_sided(conjunction) | _two_sided_products(conjunction) | _not_a_number(conjunction)
    parts = [*said.values(), *(render_atom(atom) for atom in conjunction if atom not in said)]
    parts += [_excluded(piece) for piece in pieces if isinstance(piece, Excluded)]
    parts = [part for part in parts if part]
    text = " and ".join(parts)
    return f"({text})" if grouped and len(parts) > 1 else text or "always"


def _not_a_number(conjunction: tuple[Atom, ...]) -> dict[Atom, str]:
    """A field that is there and is missing as a number."""
    texts: dict[Atom, str] = {}
    for atom in conjunction:
        if isinstance(atom, Missing) and Present(atom.variable) in conjunction:
            texts |= {atom: f"{atom.variable} is not a number", Present(atom.variable): ""}
    return texts


def _two_sided(conjunction: tuple[Atom, ...]) -> dict[Atom, str]:
    """Write a lower and an upper bound of one expression together; the text stands with the first of the two."""
    texts: dict[Atom, str] = {}
    for upper in conjunction:
        if not isinstance(upper, Linear) or upper.relation == "=" or _leading(upper) < 0:
            continue
        opposite = tuple((name, -c) for name, c in upper.terms)
        for lower in conjunction:
            if isinstance(lower, Linear) and lower.relation != "=" and lower.terms == opposite:
                sides = _sides(upper.terms)
                low, high = decimal_text(-lower.bound), decimal_text(upper.bound)
                if -lower.bound == -upper.bound and lower.relation == upper.relation:
                    texts[upper] = f"|{sides}| {upper.relation} {high}"
                else:
                    texts[upper] = f"{low} {lower.relation} {sides} {upper.relation} {high}"
                texts[lower] = ""
    return texts


def _two_sided_products(conjunction: tuple[Atom, ...]) -> dict[Atom, str]:
    """The same for products and sums of them."""
    texts: dict[Atom, str] = {}
    sides: dict[Polynomial | Product, tuple[Terms, Range]] = {
        atom: (terms_of(bound), bounds_of(bound))
        for atom in conjunction
        if isinstance(atom, Product | Polynomial) and atom.relation != "=" and (bound := as_bound(atom)) is not None
    }
    for upper, (terms, below) in sides.items():
        for lower, (others, above) in sides.items():
            if terms != others or isinstance(terms, str) or below.high is None or above.low is None:
                continue
            shown = _expression(terms)
            left, right = "<" if above.low_open else "<=", "<" if below.high_open else "<="
            low, high = decimal_text(above.low), decimal_text(below.high)
            tolerance = above.low == -below.high and left == right
            texts[upper] = f"|{shown}| {right} {high}" if tolerance else f"{low} {left} {shown} {right} {high}"
            texts[lower] = ""
    return texts


def _expression(terms: MonomialSum) -> str:
    """Write a sum of products with its signs, a positive one first."""
    monomials = sorted((Monomial(abs(c), powers) for powers, c in terms.terms if c > 0), key=_by_name)
    text = " + ".join(map(_monomial, monomials))
    taken = sorted((Monomial(abs(c), powers) for powers, c in terms.terms if c < 0), key=_by_name)
    return "".join((text, *(f" - {_monomial(monomial)}" for monomial in taken)))


def _by_name(monomial: Monomial) -> tuple[object, ...]:
    return natural(_monomial(monomial))


def _leading(atom: Linear) -> Fraction:
    return min(atom.terms, key=lambda term: natural(term[0]))[1]


def _term(name: str, coefficient: Fraction) -> str:
    return name if coefficient == 1 else f"{decimal_text(coefficient)} * {name}"


def _sum(terms: list[tuple[str, Fraction]]) -> str:
    return " + ".join(_term(name, c) for name, c in sorted(terms, key=lambda term: natural(term[0])))


def _sides(terms: tuple[tuple[str, Fraction], ...]) -> str:
    """Write a linear expression with its signs, a positive term first."""
    ordered = sorted(terms, key=lambda term: natural(term[0]))
    ordered.sort(key=lambda term: term[1] < 0)
    text = _term(*ordered[0])
    for name, coefficient in ordered[1:]:
        text += f" {'-' if coefficient < 0 else '+'} {_term(name, abs(coefficient))}"
    return text


def _linear(atom: Linear) -> str:
    plus = [(name, c) for name, c in atom.terms if c > 0]
    minus = [(name, -c) for name, c in atom.terms if c < 0]
    if atom.relation == "=":
        return _equality(plus, minus, atom.bound)
    if not plus:
        return f"{_sum(minus)} {'>=' if atom.relation == '<=' else '>'} {decimal_text(-atom.bound)}"
    if not minus or atom.bound == 0:
        return f"{_sum(plus)} {atom.relation} {_sum(minus) if minus else decimal_text(atom.bound)}"
    if atom.bound < 0:
        flipped = tuple((name, -c) for name, c in atom.terms)
        return f"{_sides(flipped)} {'>=' if atom.relation == '<=' else '>'} {decimal_text(-atom.bound)}"
    return f"{_sides(atom.terms)} {atom.relation} {decimal_text(atom.bound)}"


def _equality(plus: list[tuple[str, Fraction]], minus: list[tuple[str, Fraction]], bound: Fraction) -> str:
    """Put the shorter side on the right, and the constant where it is positive."""
    if not plus or not minus:
        return f"{_sum(plus or minus)} = {decimal_text(bound if plus else -bound)}"
    if len(minus) > len(plus) or (len(minus) == len(plus) and natural(minus[0][0]) < natural(plus[0][0])):
        plus, minus, bound = minus, plus, -bound
    if bound == 0:
        return f"{_sum(plus)} = {_sum(minus)}"
    if bound > 0:
        return f"{_sum(plus)} = {_sum(minus)} + {decimal_text(bound)}"
    return f"{_sum(plus)} + {decimal_text(-bound)} = {_sum(minus)}"


def _monomial(monomial: Monomial) -> str:
    powers = sorted(monomial.powers, key=lambda factor: natural(factor[0]))
    factors = [name if power == 1 else f"{name}^{power}" for name, power in powers]
    if monomial.coefficient != 1 or not factors:
        factors.insert(0, decimal_text(monomial.coefficient))
    return " * ".join(factors)


def _polynomial(atom: Polynomial) -> str:
    """Put every monomial on the side where its coefficient is positive; an equality has its shorter side right."""
    plus = [m for m in atom.terms if m.coefficient > 0]
    minus = [Monomial(-m.coefficient, m.powers) for m in atom.terms if m.coefficient < 0]
    relation: str = atom.relation
    if not plus or (relation == "=" and len(minus) > len(plus)):
        plus, minus = minus, plus
        relation = {"=": "=", "<=": ">=", "<": ">"}[relation]
    return f"{_monomials(plus)} {relation} {_monomials(minus)}"


def _monomials(monomials: list[Monomial]) -> str:
    """Write a sum of monomials as they come, the constant last."""
    constant = [m for m in monomials if not m.powers]
    shown = sorted((_monomial(m) for m in monomials if m.powers), key=natural)
    return " + ".join((*shown, *map(_monomial, constant))) or "0"


def _range(atom: Range) -> str:
    name, low, high = atom.variable, atom.low, atom.high
    if low is None and high is None:
        return f"{name} is a number"
    if low is not None and low == high:
        return f"{name} = {decimal_text(low)}"
    if low is not None and high is not None:
        left, right = "<" if atom.low_open else "<=", "<" if atom.high_open else "<="
        return f"{decimal_text(low)} {left} {name} {right} {decimal_text(high)}"
    if low is not None:
        return f"{name} {'>' if atom.low_open else '>='} {decimal_text(low)}"
    return f"{name} {'<' if atom.high_open else '<='} {decimal_text(high or Fraction(0))}"


def _set(values: frozenset[Fraction] | frozenset[str]) -> str:
    numbers = sorted(value for value in values if isinstance(value, Fraction))
    texts = sorted((value for value in values if isinstance(value, str)), key=natural)
    shown = [*(decimal_text(number) for number in numbers), *(_word(text) for text in texts)]
    if len(shown) > _SHOWN_VALUES:
        shown = [*shown[: _SHOWN_VALUES - 1], f"... {len(shown) - _SHOWN_VALUES + 1} more"]
    return f"{{{', '.join(shown)}}}"


def _single(values: frozenset[Fraction] | frozenset[str]) -> str:
    (value,) = values
    return decimal_text(value) if isinstance(value, Fraction) else quoted(value)


def _word(text: str) -> str:
    return text if re.fullmatch(r"[\w.+-]+", text) else f"'{text}'"
