"""Integrality: the many ways to ask that a value is a whole number, or that it is not."""

from __future__ import annotations

from fractions import Fraction

from masktron.classify.conjunctions import Conjunction
from masktron.classify.forms import Formula, Leaf
from masktron.classify.kinds import kind_of
from masktron.constraints import Form, Lexical, Missing, Present, Range, Whole
from masktron.reading.nodes import (
    Arithmetic,
    Call,
    Cast,
    Castable,
    Comparison,
    ComparisonOperator,
    Expression,
    FieldRef,
    Negative,
    Number,
)
from masktron.rulebook.expressions.tree import MIRRORED
from masktron.sources.lexical import INTEGER_TYPES

# Which comparisons of V - f(V) with zero mean "V is whole", and which that it is not. floor(V) is never above V and
# ceiling(V) never below; the others may be either.
_EITHER: dict[ComparisonOperator, bool] = {"=": True, "!=": False}
_WHOLE_IF: dict[str, dict[ComparisonOperator, bool]] = {
    "floor": {**_EITHER, "<=": True, ">": False},
    "ceiling": {**_EITHER, ">=": True, "<": False},
    "round": _EITHER,
    "round-half-to-even": _EITHER,
    "idiv": _EITHER,
    "mod": _EITHER,
}


def field_of(expression: Expression) -> FieldRef | None:
    """Return the field whose value an expression is, converted or not; the text of a number is another text."""
    match expression:
        case FieldRef():
            return expression
        case Call(name="number", arguments=(inner,)) | Cast(target="decimal" | "double" | "float", operand=inner):
            return field_of(inner)
        case Call(name="string" | "data", arguments=(inner,)) | Cast(target="string", operand=inner):
            return None if kind_of(inner) == "number" else field_of(inner)
        case _:
            return None


def fractional(name: str, version: str) -> Form:
    """The value is a number, and not an integer."""
    return ((Range(name, None, None), Lexical(name, f"floor({name}) != {name}", version)),)


def integrality(comparison: Comparison, version: str) -> Formula | None:
    """Translate ``floor(V) = V``, ``V mod 1 != 0``, ``V - round(V) = 0``; None for any other comparison.

    Where the field is missing, a comparison with NaN is false but for ``!=``, and any comparison with a field that is
    not there (XPath 1.0) or with what is computed from it (XPath 2 and later) is false.
    """
    modern = version != "1.0"
    sides = (comparison.left, comparison.right)
    if modern and not comparison.general and any(isinstance(side, FieldRef) for side in sides):
        return None  # a value comparison of text with a number is an error
    difference: dict[Expression, int] = {}
    _collect(comparison.left, 1, difference)
    _collect(comparison.right, -1, difference)
    found = _remainder(list(difference.items()))
    if found is None:
        return None
    name, function, sign = found
    operator = comparison.operator if sign > 0 else MIRRORED[comparison.operator]
    whole = _WHOLE_IF[function].get(operator)
    if whole is None:
        return None
    empty = any(map(_may_be_empty, sides)) if modern else any(isinstance(side, FieldRef) for side in sides)
    return _leaf(name, version, whole=whole, unequal=operator == "!=", empty=empty)


def remainder(expression: Expression, version: str) -> Formula | None:
    """Translate the effective boolean value of ``V mod 1``; None for any other expression."""
    found = _remainder([(expression, 1)])
    if found is None:
        return None
    lacking = Present(found[0], negated=True) if version != "1.0" and _may_be_empty(expression) else Missing(found[0])
    return Leaf(fractional(found[0], version), ((Whole(found[0]),), (lacking,)))


def _leaf(name: str, version: str, *, whole: bool, unequal: bool, empty: bool) -> Leaf:
    """``whole``: the comparison asks for an integer; ``empty``: it is false where the field is absent."""
    absent = Present(name, negated=True)
    integer: Form = ((Whole(name),),)
    other = fractional(name, version)
    if not unequal:
        lacking: Form = ((absent,),) if empty and version != "1.0" else ((Missing(name),),)
        return Leaf(integer, (*other, *lacking)) if whole else Leaf(other, (*integer, *lacking))
    if not empty:
        return Leaf((*other, (Missing(name),)), integer)
    # What is there and is no number differs from everything in XPath 1.0; later versions stop with an error.
    text: Form = () if version != "1.0" else ((Missing(name), Present(name)),)
    return Leaf((*other, *text), (*integer, (absent,)))


def _collect(expression: Expression, sign: int, terms: dict[Expression, int]) -> None:
    """Add up what is added and subtracted; the values of one field count as one term."""
    match expression:
        case Arithmetic(operator="+" | "-" as operator, left=left, right=right):
            _collect(left, sign, terms)
            _collect(right, sign if operator == "+" else -sign, terms)
        case Negative(operand=operand):
            _collect(operand, -sign, terms)
        case Number(value=value) if value == 0:
            pass
        case _:
            key = field_of(expression) or expression
            terms[key] = terms.get(key, 0) + sign


def _remainder(terms: list[tuple[Expression, int]]) -> tuple[str, str, int] | None:
    """Return field, function and sign of ``V - f(V)`` or ``V mod 1``, whatever the order of its terms."""
    match terms:
        case [(Arithmetic(operator="mod", left=inner, right=Number(value=value)), sign)] if (
            abs(value) == abs(sign) == 1
        ):
            field = field_of(inner)
            return None if field is None else (field.name, "mod", sign)
        case [(first, one), (second, two)] if one == -two and abs(one) == 1:
            if not isinstance(first, FieldRef):
                first, second, one = second, first, two
            function = _function_of(second, first)
            return None if function is None or not isinstance(first, FieldRef) else (first.name, function, one)
        case _:
            return None


def _function_of(expression: Expression, field: Expression) -> str | None:
    match expression:
        case Call(name=name, arguments=(inner,)) if name in _WHOLE_IF and field_of(inner) == field:
            return name
        case Arithmetic(operator="idiv", left=inner, right=Number(value=value)) if value == 1:
            return "idiv" if field_of(inner) == field else None
        case _:
            return None


def _may_be_empty(expression: Expression) -> bool:
    """Whether an expression on a field that is not there is the empty sequence, not NaN."""
    match expression:
        case FieldRef():
            return True
        case Call(name=name, arguments=(inner,)) if name in _WHOLE_IF or name == "data":
            return _may_be_empty(inner)
        case Cast(operand=inner) | Negative(operand=inner):
            return _may_be_empty(inner)
        case Arithmetic(left=left, right=right):
            return _may_be_empty(left) or _may_be_empty(right)
        case _:
            return False


def castable(test: Castable, source: str, version: str) -> Formula | None:
    """``V castable as xs:integer`` and the other numeric types; None for any other type or operand."""
    field = field_of(test.operand)
    if field is None or not isinstance(test.operand, FieldRef | Call):
        return None
    name = field.name
    number: Conjunction = (Range(name, None, None),)
    if isinstance(test.operand, Call):
        converts = test.operand.name == "number" and test.target in ("decimal", "integer")
        return Leaf((number,), ((Missing(name),),)) if converts else None
    absent = Present(name, negated=True)
    optional: Form = ((absent,),) if test.optional else ()
    if test.target in ("decimal", "double", "float"):
        lacking: Conjunction = (Missing(name), Present(name)) if test.optional else (Missing(name),)
        return Leaf((number, *optional), (lacking,))
    if test.target not in INTEGER_TYPES:
        return None
    low, high = (None if limit is None else Fraction(limit) for limit in INTEGER_TYPES[test.target])
    whole = Whole(name, lexical=True)
    return Leaf(((whole, Range(name, low, high)), *optional), ((Lexical(name, f"not({source})", version),),))
