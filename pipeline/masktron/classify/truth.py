"""Whether atoms and tests hold: exactly on one record, and over columns of doubles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from typing import assert_never

import numpy as np
from lxml import etree
from numpy.typing import NDArray

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
    Untranslated,
    Whole,
)
from masktron.engines import saxon
from masktron.engines.engine_process import EngineError, EngineTimeError
from masktron.errors import ResourceError, RulebookError
from masktron.processes import rule_seconds
from masktron.rulebook.expressions.forbidden import shortened
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import free_variables
from masktron.rulebook.expressions.words import STANDARD_NAMESPACES
from masktron.sources.column import OnDemand
from masktron.sources.lexical import XML_SPACE, is_integer, parse_number


def undecidable(test: str, version: str) -> str:
    """Say why the engine cannot evaluate a test on a record of plain fields; empty where it can.

    A record has no variables, and none of the functions that only XSLT has; and some of what a rule reads at a field
    has no spelling at the record in XPath 1.0.
    """
    if version != "1.0":
        return _misspelled(test)
    try:
        _compiled(test)(etree.Element("Record"))
    except etree.XPathError as error:
        return f"libxml2 cannot evaluate it on one record: {error}"
    return ""


def decide(test: str, version: str, values: Mapping[str, str | None]) -> bool:
    """Evaluate an XPath test on a record of plain fields.

    Parameters
    ----------
    test : str
        XPath in terms of field names without prefixes.
    version : str
        ``1.0``: libxml2 decides; later: Saxon.
    values : mapping of str to str or None
        Lexemes by field name; None where absent.

    Returns
    -------
    bool
        The effective boolean value; False for a dynamic error of XPath 2 and later, which no record of a value
        satisfies, and for a text that XML cannot hold.

    Raises
    ------
    RulebookError
        The engine cannot evaluate the test, whatever the values: it is no XPath of this version, or asks for what a
        record does not have.
    """
    record = etree.Element("Record")
    try:
        for name, text in values.items():
            if text is not None and name.startswith("@"):
                record.set(name[1:], text)
            elif text is not None:
                etree.SubElement(record, name).text = text or None  # "" would make an empty text node
    except ValueError:
        return False
    return _libxml2(test, record) if version == "1.0" else _saxon(test, record)


@lru_cache(maxsize=256)
def _compiled(test: str) -> etree.XPath:
    return etree.XPath(f"boolean({test})")


def _libxml2(test: str, record: etree._Element) -> bool:
    try:
        return bool(_compiled(test)(record))
    except etree.XPathError as error:  # XPath 1.0 has no dynamic errors: the test itself is wrong
        raise _not_evaluated("libxml2", test, str(error)) from None


def _not_evaluated(engine: str, test: str, reason: str) -> RulebookError:
    return RulebookError.of("cannot-evaluate", engine=engine, expression=shortened(test), reason=reason)


def _saxon(test: str, record: etree._Element) -> bool:
    try:
        return _evaluated(test, record)
    except EngineError:
        if problem := _misspelled(test):
            raise _not_evaluated("Saxon", test, problem) from None
        return False


def _evaluated(test: str, record: etree._Element) -> bool:
    try:
        return saxon.decide(etree.tostring(record, encoding="unicode"), STANDARD_NAMESPACES, test)
    except EngineTimeError:
        seconds, expression = rule_seconds(), shortened(test)
        raise ResourceError.of(
            "rule-too-slow", engine="Saxon", seconds=seconds, expression=expression, on="on one value"
        ) from None


@lru_cache(maxsize=256)
def _misspelled(test: str) -> str:
    """Say what Saxon has against a test before any value: it parses a branch that it never takes.

    It takes a variable without a value for one that will be given later, so those are looked for here.
    """
    tree = understood(test) if "$" in test else None
    if free := sorted(free_variables(tree)) if tree is not None else []:
        return f"${free[0]} has no value there"
    try:
        _evaluated(f"if (self::Nothing) then boolean({test}) else true()", etree.Element("Record"))
    except EngineError as error:
        return str(error)
    return ""


type CellValue = Fraction | str | None
"""A cell: a number, any text, or None where the field is absent."""

_DECIDED = 1 << 14
"""Verdicts of engines on records of plain fields that are remembered."""
ULPS = 8
"""Slack of equalities and of ``<=`` in `satisfied`, in units in the last place of the largest term."""


def variables_of_atom(atom: Atom) -> tuple[str, ...]:
    """Return the variables that an atom reads, sorted."""
    match atom:
        case Linear(terms=terms):
            return tuple(name for name, _ in terms)
        case Product(left=left, right=right):
            return tuple(sorted({name for monomial in (*left, right) for name, _ in monomial.powers}))
        case Polynomial(terms=monomials):
            return tuple(sorted({name for monomial in monomials for name, _ in monomial.powers}))
        case Untranslated(variables=variables):
            return variables
        case Range() | Member() | Whole() | Lexical() | Missing() | Present() | InDomain():
            return (atom.variable,)
        case _:
            assert_never(atom)


def number_of(value: CellValue) -> Fraction | None:
    """Return the number that a cell denotes, exactly, or None."""
    if not isinstance(value, str):
        return value
    text = value.strip(XML_SPACE)
    return None if np.isnan(parse_number(text)) else Fraction(text)


def holds(  # noqa: PLR0911 -- one branch per kind of atom
    form: Form | Atom,
    values: Mapping[str, CellValue],
    *,
    domains: Mapping[InDomain, frozenset[str]] | None = None,
) -> bool:
    """Decide a form, a conjunction's atom included, on one record, in exact arithmetic.

    Parameters
    ----------
    form : Form or Atom
    values : mapping of str to Fraction, str or None
        The record; a field that is not in it is absent. A text that denotes a number counts as this number.
    domains : mapping of InDomain to frozenset of str, optional
        The values that the original holds, per atom.

    Returns
    -------
    bool
        False where the record alone cannot tell (`InDomain` without its domain, `Untranslated` without a version):
        what is not known to hold is not vouched for.
    """
    if isinstance(form, tuple):
        return any(all(holds(atom, values, domains=domains) for atom in conjunction) for conjunction in form)
    match form:
        case Missing(variable=name):
            return number_of(values.get(name)) is None
        case Present(variable=name, negated=negated):
            return (values.get(name) is None) is negated
        case InDomain(variable=name):
            cell = values.get(name)
            return cell is not None and _text(cell) in (domains or {}).get(form, frozenset())
        case Lexical(variable=name, test=test, version=version):
            return decide(test, version, {name: _maybe_text(values.get(name))})
        case Untranslated(variables=names, test=test, version=version):
            return bool(version) and decide(test, version, {n: _maybe_text(values.get(n)) for n in names})
        case Member(values=members) if not _numeric(members):
            return (_maybe_text(values.get(form.variable)) in members) is not form.negated
        case _:
            return _number_holds(form, values)


def _number_holds(  # noqa: PLR0911 -- as above
    atom: Linear | Product | Polynomial | Range | Member | Whole, values: Mapping[str, CellValue]
) -> bool:
    numbers: dict[str, Fraction] = {}
    for name in variables_of_atom(atom):
        number = number_of(values.get(name))
        if number is None:
            return False
        numbers[name] = number
    match atom:
        case Linear(terms=terms, relation=relation, bound=bound):
            return _related(sum((c * numbers[name] for name, c in terms), Fraction(0)), relation, bound)
        case Product(left=left, relation=relation, right=right):
            sides = [m.at(numbers) for m in (*left, right)]
            return None not in sides and _related(sum(s for s in sides[:-1] if s), relation, sides[-1] or Fraction(0))
        case Polynomial(terms=monomials, relation=relation):
            parts = [m.at(numbers) for m in monomials]
            return None not in parts and _related(sum(part for part in parts if part), relation, Fraction(0))
        case Range(variable=name):
            return in_range(atom, numbers[name])
        case Member(variable=name, values=members, negated=negated):
            return (numbers[name] in members) is not negated
        case Whole(variable=name, lexical=lexical):
            cell = values.get(name)
            return numbers[name].denominator == 1 and not (lexical and isinstance(cell, str) and not is_integer(cell))
        case _:
            assert_never(atom)


def _numeric(members: frozenset[Fraction] | frozenset[str]) -> bool:
    return any(isinstance(member, Fraction) for member in members)


def _related(left: Fraction | int, relation: str, right: Fraction) -> bool:
    return left == right if relation == "=" else left <= right if relation == "<=" else left < right


def in_range(interval: Range, value: Fraction) -> bool:
    """Whether a number lies in an interval."""
    low, high = interval.low, interval.high
    above = low is None or value > low or (value == low and not interval.low_open)
    below = high is None or value < high or (value == high and not interval.high_open)
    return above and below


def _text(value: Fraction | str) -> str:
    if isinstance(value, str):
        return value
    whole = value.denominator == 1
    return str(value.numerator) if whole else np.format_float_positional(float(value), trim="-")


def _maybe_text(value: CellValue) -> str | None:
    return None if value is None else _text(value)


# --- columns ----------------------------------------------------------------------------------------------------


def satisfied(  # noqa: PLR0911 -- one branch per kind of atom
    atom: Atom,
    columns: Mapping[str, NDArray[np.float64]],
    texts: Mapping[str, NDArray[np.object_]],
    *,
    domains: Mapping[InDomain, frozenset[str]] | None = None,
) -> NDArray[np.bool_]:
    """Decide an atom on every record, in doubles.

    Equalities and ``<=`` between computed numbers are given a slack of `ULPS` units in the last place of their
    largest term, because sums of decimals are not exact in doubles; comparisons of one variable with a constant have
    none.

    Parameters
    ----------
    atom : Atom
    columns : mapping of str to ndarray of float64, shape (n,)
        NaN where a cell is not a number.
    texts : mapping of str to ndarray of object, shape (n,)
        Lexemes; None where absent.
    domains : mapping of InDomain to frozenset of str, optional

    Returns
    -------
    ndarray of bool, shape (n,)
        False where the columns cannot tell, as in `holds`.
    """
    match atom:
        case Linear(terms=terms, relation=relation, bound=bound):
            parts = [float(coefficient) * columns[name] for name, coefficient in terms]
            return _compare(parts, relation, [np.full_like(parts[0], float(bound))])
        case Product(left=left, relation=relation, right=right):
            return _compare([_column(m, columns) for m in left], relation, [_column(right, columns)])
        case Polynomial(terms=monomials, relation=relation):
            parts = [_column(m, columns) for m in monomials]
            return _compare(parts, relation, [np.zeros_like(parts[0])])
        case Range(variable=name):
            return _in_range(atom, columns[name])
        case Whole(variable=name, lexical=lexical):
            whole = np.asarray(np.isfinite(columns[name]) & (columns[name] == np.floor(columns[name])))
            return (
                whole & _each(texts, name, lambda text: text is not None and is_integer(text)) if lexical else whole
            )
        case Missing(variable=name):
            return np.isnan(columns[name])
        case Member(variable=name, values=members, negated=negated) if _numeric(members):
            known = np.isin(columns[name], [float(member) for member in members if isinstance(member, Fraction)])
            return np.asarray((known ^ negated) & ~np.isnan(columns[name]))
        case Member(variable=name, values=members, negated=negated):
            return _each(texts, name, lambda text: (text in members) is not negated)
        case Present(variable=name, negated=negated):
            return _each(texts, name, lambda text: (text is None) is negated)
        case InDomain(variable=name):
            domain = (domains or {}).get(atom, frozenset())
            return _each(texts, name, lambda text: text in domain)
        case Lexical() | Untranslated():
            return _tested(atom, texts)
        case _:
            assert_never(atom)


def _column(monomial: Monomial, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    n = len(next(iter(columns.values())))
    result = np.full(n, float(monomial.coefficient))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for name, power in monomial.powers:
            result = result * columns[name] ** float(power)
    return result


def _compare(left: list[NDArray[np.float64]], relation: str, right: list[NDArray[np.float64]]) -> NDArray[np.bool_]:
    zero = np.zeros_like(right[0])
    largest = reduce(np.maximum, (np.abs(part) for part in (*left, *right)), zero)
    with np.errstate(over="ignore", invalid="ignore"):
        difference = reduce(np.add, left, zero) - reduce(np.add, right, zero)
        slack = ULPS * np.spacing(largest)
    known = np.isfinite(difference)  # not where a number is missing, too large, or divided by zero
    if relation == "<":
        return np.asarray(known & (difference < 0))
    return np.asarray(known & (np.abs(difference) <= slack if relation == "=" else difference <= slack))


def _in_range(atom: Range, column: NDArray[np.float64]) -> NDArray[np.bool_]:
    inside = ~np.isnan(column)
    if atom.low is not None:
        inside &= column > float(atom.low) if atom.low_open else column >= float(atom.low)
    if atom.high is not None:
        inside &= column < float(atom.high) if atom.high_open else column <= float(atom.high)
    return inside


def _each(
    texts: Mapping[str, NDArray[np.object_]], name: str, test: Callable[[str | None], bool]
) -> NDArray[np.bool_]:
    """Apply a test once per distinct text of a field."""
    if isinstance(texts, OnDemand):
        return texts.columns[name].passing(test)
    column = texts[name]
    known = {text: test(text) for text in set(column)}
    return np.fromiter((known[text] for text in column), dtype=np.bool_, count=len(column))


def _tested(atom: Lexical | Untranslated, texts: Mapping[str, NDArray[np.object_]]) -> NDArray[np.bool_]:
    names = variables_of_atom(atom)
    if not names or not atom.version:
        n = len(next(iter(texts.values())))
        return np.zeros(n, dtype=np.bool_)
    rows = list(zip(*(texts[name] for name in names), strict=True))
    known = {row: _decided(atom.test, atom.version, names, row) for row in set(rows)}
    return np.fromiter((known[row] for row in rows), dtype=np.bool_, count=len(rows))


@lru_cache(maxsize=_DECIDED)
def _decided(test: str, version: str, names: tuple[str, ...], row: tuple[str | None, ...]) -> bool:
    """Ask an engine once: groups, candidates and what is measured of them ask again for the same records."""
    return decide(test, version, dict(zip(names, row, strict=True)))
