"""Rules with aggregates in the place of what reads other records: then they look at one record only."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from masktron.evaluation.across.paths import NotAcross
from masktron.evaluation.across.recognise import Hole
from masktron.rulebook.schema import Let, Rule, Rulebook, ValueOf

type TextPlace = tuple[int, ...]
"""Of an expression in a rulebook: pattern, rule, check and part, or those of a ``let``."""
type Editor = Callable[[str, TextPlace], str]
_LARGEST = 2**53
_UNNAMED = re.compile(r"(?:@|\battribute\s*::)\s*(?:\*|\w+\s*\()|\b(?:attribute|deep-equal|serialize)\s*\(")
PREFIX = "m.across."
"""Of the attributes that records seem to have."""


@dataclass(frozen=True, slots=True)
class AttributeNames:
    """The attributes in which a record carries the value of an aggregate; a double needs two divisors."""

    value: str
    divisors: tuple[str, str]

    @classmethod
    def of(cls, number: int) -> AttributeNames:
        """Return the names for the aggregate with a number."""
        return cls(f"{PREFIX}a{number}", (f"{PREFIX}b{number}", f"{PREFIX}c{number}"))


def transform(rulebook: Rulebook, edit: Editor) -> Rulebook:
    """Return a rulebook whose expressions, contexts apart, are replaced by what a function makes of them."""
    patterns = []
    for p, pattern in enumerate(rulebook.patterns):
        rules = tuple(_rule(rule, (p, r), edit) for r, rule in enumerate(pattern.rules))
        patterns.append(replace(pattern, lets=_lets(pattern.lets, (p,), edit), rules=rules))
    return replace(rulebook, lets=_lets(rulebook.lets, (), edit), patterns=tuple(patterns))


def _lets(lets: Sequence[Let], place: TextPlace, edit: Editor) -> tuple[Let, ...]:
    return tuple(replace(let, value=edit(let.value, (*place, -1 - k))) for k, let in enumerate(lets))


def _rule(rule: Rule, place: TextPlace, edit: Editor) -> Rule:
    checks = []
    for c, check in enumerate(rule.checks):
        parts = tuple(
            replace(part, select=edit(part.select, (*place, c, k + 1))) if isinstance(part, ValueOf) else part
            for k, part in enumerate(check.message)
        )
        checks.append(replace(check, test=edit(check.test, (*place, c, 0)), message=parts))
    return replace(rule, lets=_lets(rule.lets, place, edit), checks=tuple(checks))


def reads_all_attributes(rulebook: Rulebook) -> str:
    """Return an expression that may see an attribute without naming it; the empty text where there is none."""
    found: list[str] = []

    def look(expression: str, _place: TextPlace) -> str:
        found.append(expression)
        return expression

    transform(rulebook, look)
    found += [rule.context for pattern in rulebook.patterns for rule in pattern.rules]
    return next((" ".join(e.split()) for e in found if _UNNAMED.search(e)), "")


def filled(expression: str, holes: Sequence[Hole], text_of: Callable[[Hole], str]) -> str:
    """Return an expression with texts in its holes."""
    parts: list[str] = []
    at = 0
    for hole in holes:
        text = f"not({text_of(hole)})" if hole.negated else text_of(hole)
        # brackets of the part are those that its neighbours need: 5or is no XPath 2
        parts += expression[at : hole.start], f"({text})" if expression[hole.start] == "(" else text
        at = hole.end
    return "".join((*parts, expression[at:]))


def constant_text(hole: Hole, value: float | bool | None) -> str:
    """Write a value as an expression that an engine reads bit by bit as it is.

    Raises
    ------
    NotAcross
        There is no such expression.
    """
    if value is None:
        return "()"
    if hole.type == "boolean":
        return "true()" if value else "false()"
    if isinstance(value, int):
        return str(value)
    if hole.version != "1.0":
        text = repr(value)
        return f"({text if 'e' in text else f'{text}e0'})"
    return _dyadic(value)


def _dyadic(value: float) -> str:
    """libxml2 rounds decimal fractions wrongly, integers below 2 ** 53 and powers of two never."""
    if math.isnan(value):
        return "(0 div 0)"
    top, *divisors = fraction_of(value)
    return f"({top}{''.join(f' div {divisor}' for divisor in divisors)})"


def fraction_of(value: float) -> tuple[int, int, int]:
    """Return integers of at most 53 bits; the first divided by the others is a double, without any rounding.

    Raises
    ------
    NotAcross
        There are none.
    """
    if math.isnan(value):
        return 0, 0, 1
    if not math.isfinite(value) or (value == 0 and math.copysign(1.0, value) < 0):
        raise NotAcross("a sum that is no plain number")
    top, bottom = value.as_integer_ratio()
    if abs(top) > _LARGEST or bottom > _LARGEST**2:
        raise NotAcross("a sum of more digits than can be written exactly")
    return top, min(bottom, _LARGEST), max(bottom // _LARGEST, 1)


def record_text(hole: Hole, names: AttributeNames, *, in_field: bool) -> str:
    """Return the expression that reads an aggregate from the record."""
    above = "../" if in_field else ""
    value = f"{above}@{names.value}"
    match hole.type:
        case "boolean":
            return f"({value} = '1')"
        case "integer":
            return f"number({value})" if hole.version == "1.0" else f"xs:integer({value})"
        case _:
            divided = "".join(f" div number({above}@{name})" for name in names.divisors)
            return f"(number({value}){divided})"
