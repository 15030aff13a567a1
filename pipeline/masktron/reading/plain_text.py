"""Expressions as text: what is read of a record in terms of plain field names, and the tree on one line."""

from __future__ import annotations

import re
from fractions import Fraction

from masktron.reading.nodes import (
    And,
    Arithmetic,
    Boolean,
    Call,
    Cast,
    Castable,
    Comparison,
    ContextRecord,
    Expression,
    FieldRef,
    If,
    Negative,
    Not,
    Number,
    Or,
    OtherDocument,
    OtherField,
    OtherNodes,
    Quantified,
    Sequence,
    Span,
    Text,
    Unknown,
    VariableReference,
)
from masktron.rulebook.expressions.spacing import quoted
from masktron.rulebook.expressions.tree import GENERAL_OF_VALUE

_SIMPLE = re.compile(r"[\w:.-]+\([^()]*\)")
_VALUE_OPERATORS = {sign: name for name, sign in GENERAL_OF_VALUE.items()}
_ATOMIC = (
    Number,
    Text,
    Boolean,
    FieldRef,
    ContextRecord,
    OtherDocument,
    OtherField,
    OtherNodes,
    Call,
    Cast,
    VariableReference,
    Not,
)


def decimal_text(value: Fraction) -> str:
    """Write a rational as a decimal where that is exact, as ``a/b`` otherwise."""
    rest, digits = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest //= prime
            power += 1
        digits = max(digits, power)
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    scaled = abs(value.numerator) * 10**digits // value.denominator
    sign = "-" if value < 0 else ""
    if not digits:
        return f"{sign}{scaled}"
    text = f"{scaled:0{digits + 1}d}"
    return f"{sign}{text[:-digits]}.{text[-digits:]}"


def source_of(expression: Expression) -> str:  # noqa: PLR0911, PLR0912 -- one branch per kind of node
    """Write an expression as XPath.

    Field references lose their namespace: the text is for people, and for evaluation on a record of plain fields.
    """
    match expression:
        case Number(value=value):
            return decimal_text(value)
        case Text(value=text):
            return quoted(text)
        case Boolean(value=truth):
            return f"{str(truth).lower()}()"
        case FieldRef(name=name, text=only_text):
            return f"{name}/text()" if only_text else name
        case ContextRecord():
            return "."
        case OtherDocument(uri=uri):
            return f"document({quoted(uri)})"
        case OtherField(name=name):
            return name
        case OtherNodes(source=source) | Unknown(source=source):
            return source
        case VariableReference(name=name):
            return f"${name}"
        case Negative(operand=operand):
            return f"-{_grouped(operand)}"
        case Not(operand=operand):
            return f"not({source_of(operand)})"
        case Call(name=name, arguments=arguments):
            return f"{name}({', '.join(source_of(argument) for argument in arguments)})"
        case Cast(target=target, operand=operand):
            return f"({source_of(operand)} cast as xs:{target}?)"
        case Castable(target=target, operand=operand, optional=optional):
            return f"{_grouped(operand)} castable as xs:{target}{'?' if optional else ''}"
        case Arithmetic(operator=operator, left=left, right=right):
            return f"{_grouped(left)} {operator} {_grouped(right)}"
        case Comparison(operator=operator, left=left, right=right, general=general):
            return f"{_grouped(left)} {operator if general else _VALUE_OPERATORS[operator]} {_grouped(right)}"
        case And(parts=parts):
            return " and ".join(_grouped(part) for part in parts)
        case Or(parts=parts):
            return " or ".join(_grouped(part) for part in parts)
        case If(condition=condition, then=then, otherwise=otherwise):
            return f"if ({source_of(condition)}) then {_grouped(then)} else {_grouped(otherwise)}"
        case Span(low=low, high=high):
            return f"{_grouped(low)} to {_grouped(high)}"
        case Sequence(items=items, union=union):
            return f"({(' | ' if union else ', ').join(source_of(item) for item in items)})"
        case Quantified(every=every, cases=cases):
            return _quantified(every, cases)


def _quantified(every: bool, cases: tuple[tuple[Expression, Expression], ...]) -> str:
    """Write the cases out: an item that is not there does not count."""
    if every:
        return " and ".join(f"(not(boolean({_grouped(i)})) or {_grouped(c)})" for i, c in cases) or "true()"
    return " or ".join(f"(boolean({_grouped(i)}) and {_grouped(c)})" for i, c in cases) or "false()"


def _grouped(expression: Expression) -> str:
    source = source_of(expression)
    plain = isinstance(expression, _ATOMIC) or (isinstance(expression, Unknown) and _SIMPLE.fullmatch(source))
    return source if plain else f"({source})"
