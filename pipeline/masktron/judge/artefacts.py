"""Findings that are rounding artefacts: the rule fails in doubles, and holds in exact decimals.

The test is brought to the formula that the classification makes of it, and decided on the fields of the finding in
exact arithmetic. Truth has three values, as not all is said; what is not known to hold exactly is no artefact. The
verdict stays the engine's: this only says what lies behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isnan, trunc
from typing import assert_never

from masktron.classify import record_names
from masktron.classify.conditions import Conditions
from masktron.classify.crossrecord import CrossRecordError
from masktron.classify.forms import All, Choice, Effort, Formula, Leaf, Negation, Some, TooManyDisjunctsError
from masktron.classify.situation import Situation
from masktron.classify.truth import holds, number_of, variables_of_atom
from masktron.constraints import Atom, Form, InDomain, Lexical, Untranslated
from masktron.errors import RulebookError
from masktron.judge.findings import Finding
from masktron.reading.nodes import Arithmetic, Call, walk
from masktron.reading.reader import ROOT, Scope
from masktron.rulebook.expressions import tree
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.schema import Rulebook
from masktron.sources.lexical import parse_number, xpath1_number
from masktron.sources.record_layout import Layout

type _Values = tuple[tuple[str, str | None], ...]

_REMEMBERED = 20_000
"""Verdicts on equal cells that are kept."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a test that computes something says, and whether the rule wants it to be true."""

    formula: Formula
    wanted: bool


class Artefacts:
    """Tells rounding artefacts among the findings of a rulebook.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
        Of the file, for the name of its records.
    """

    def __init__(self, rulebook: Rulebook, layout: Layout) -> None:
        self._rulebook = rulebook
        self._layout = layout
        self._start = Scope(
            ROOT, namespaces=rulebook.namespaces, record_names=record_names(rulebook, layout), base=ROOT
        )
        self._asked: dict[int, _Asked | None] = {}
        self._known: dict[tuple[int, _Values], bool] = {}

    def marked(self, finding: Finding) -> Finding:
        """Return the finding, with `Finding.artefact` where it is one."""
        return finding._replace(artefact=True) if self.is_artefact(finding) else finding

    def is_artefact(self, finding: Finding) -> bool:
        """Whether what failed holds in exact decimals; False where its formula cannot tell."""
        if finding.check not in self._asked:  # most rules never fail, and to read a test takes a millisecond
            self._asked[finding.check] = self._read(finding.check)
        asked = self._asked[finding.check]
        if asked is None or finding.kind == "error":
            return False
        if finding.member is not None or finding.among or any("/" in name for name, _ in finding.values):
            return False  # the formula is that of one record, and has no members
        cells = finding.check, finding.values
        known = self._known.get(cells)
        if known is None:
            known = _truth(asked.formula, _told(finding.values)) is asked.wanted
            if len(self._known) < _REMEMBERED:
                self._known[cells] = known
        return known

    def _read(self, index: int) -> _Asked | None:
        """Return the test of a check that computes something at records, or at one field of them."""
        pattern, position, check = next(each for each in self._rulebook.situated() if each[2].index == index)
        situation = Situation(self._rulebook, self._layout, pattern, self._start, Effort())
        try:
            places = situation.places(position)
            if len(places) != 1 or places[0].kind not in ("record", "field"):
                return None
            test = situation.test(position, check, places[0])
            if not any(
                isinstance(n, Arithmetic) or (isinstance(n, Call) and n.name in _ROUNDING) for n in walk(test)
            ):
                return None
            return _Asked(Conditions(pattern.version).truth(test), check.kind == "assert")
        except (RulebookError, CrossRecordError, TooManyDisjunctsError, RecursionError):
            return None  # what has no formula is no artefact


_ROUNDING = frozenset({"sum", "avg"})
"""Functions whose value in doubles may be another than in decimals."""


def _told(cells: _Values) -> dict[str, str | None]:
    """Return the fields that occur once, and do not hold what only some engines read as a number."""
    times = Counter(name for name, _ in cells)
    return {name: text for name, text in cells if times[name] == 1 and not (text and _is_odd(text))}


def _is_odd(text: str) -> bool:
    return isnan(xpath1_number(text)) != isnan(parse_number(text))


def _truth(formula: Formula, values: Mapping[str, str | None]) -> bool | None:
    """Decide a formula on some fields of a record; None where they do not tell."""
    match formula:
        case Leaf(positive=positive, negative=negative):
            found = _holds(positive, values)
            return _opposite(_holds(negative, values)) if found is None else found
        case All(parts=parts):
            return _all(_truth(part, values) for part in parts)
        case Some(parts=parts):
            return _some(_truth(part, values) for part in parts)
        case Negation(part=part):
            return _opposite(_truth(part, values))
        case Choice(condition=condition, then=then, otherwise=otherwise):
            chosen = _truth(condition, values)
            if chosen is not None:
                return _truth(then if chosen else otherwise, values)
            one, other = _truth(then, values), _truth(otherwise, values)
            return one if one is other else None
        case _:
            assert_never(formula)


def _holds(form: Form, values: Mapping[str, str | None]) -> bool | None:
    return _some(_all(_atom(atom, values) for atom in conjunction) for conjunction in form)


def _atom(atom: Atom, values: Mapping[str, str | None]) -> bool | None:
    if isinstance(atom, Lexical):
        return _remains(understood(atom.test), values)
    if isinstance(atom, Untranslated | InDomain) or not values.keys() >= {*variables_of_atom(atom)}:
        return None
    return holds(atom, values)


def _remains(test: tree.Expression | None, values: Mapping[str, str | None]) -> bool | None:
    """Decide a comparison of remainders, ``A mod 0.05 = 0``; None for any other condition on one field."""
    if not isinstance(test, tree.Comparison) or not any(
        isinstance(part, tree.Arithmetic) for part in tree.parts_of(test)
    ):
        return None
    left, right = _number(test.left, values), _number(test.right, values)
    compare = tree.RELATIONS.get(test.sign)
    return None if left is None or right is None or compare is None else bool(compare(left, right))


def _number(expression: tree.Expression, values: Mapping[str, str | None]) -> Fraction | None:
    match expression:
        case tree.Literal(value=int() | Decimal() as value):
            return Fraction(value)
        case tree.Step(axis="child", test=tree.NameTest(local=name), predicates=()):
            return number_of(values.get(name))
        case (
            tree.Call(name="number" | "decimal" | "double", arguments=(inner,))
            | tree.Typed(kind="cast", operand=inner, type=tree.TypeName(local="decimal" | "double"))
        ):
            return _number(inner, values)
        case tree.Arithmetic(sign="*" | "mod" as sign, operands=(one, other)):
            first, second = _number(one, values), _number(other, values)
            if first is None or not second:
                return None
            return first * second if sign == "*" else first - second * trunc(first / second)
        case _:
            return None


def _all(found: Iterable[bool | None]) -> bool | None:
    known = set(found)
    return False if False in known else None if None in known else True


def _some(found: Iterable[bool | None]) -> bool | None:
    known = set(found)
    return True if True in known else None if None in known else False


def _opposite(found: bool | None) -> bool | None:
    return None if found is None else not found
