"""Value edits (EC-PV) and domain edits: ranges, sets, integrality, patterns, allowed combinations."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import isqrt, prod
from typing import cast

from masktron.classify.forms import FALSE, Formula, Leaf, Some, disjoin, variables_of, variables_of_atom
from masktron.classify.integrality import field_of
from masktron.classify.quantities import Amount, Quantity
from masktron.constraints import (
    Atom,
    DomainEdit,
    Form,
    InDomain,
    Lexical,
    Linear,
    Member,
    Missing,
    Polynomial,
    Present,
    Product,
    Range,
    Untranslated,
    ValueEdit,
    Whole,
)
from masktron.reading.nodes import (
    Arithmetic,
    Call,
    Comparison,
    Expression,
    FieldRef,
    Number,
    OtherField,
    OtherNodes,
    Sequence,
    Span,
    Text,
)

type Values = frozenset[Fraction] | frozenset[str]

_LONG_SPAN = 10
_SPLIT = 8
_MAX_COMBINATIONS = 1000


def is_string_call(expression: Expression) -> bool:
    """Whether an expression is ``string(V)``, which is empty text where the field is absent."""
    return isinstance(expression, Call) and expression.name == "string"


# --- presence and text ------------------------------------------------------------------------------------------


def present(field: FieldRef) -> Formula:
    """The field is there; for ``V/text()``, with content."""
    there: Form = ((Present(field.name),),)
    absent: Form = ((Present(field.name, negated=True),),)
    if not field.text:
        return Leaf(there, absent)
    empty = Member(field.name, frozenset({""}))
    return Leaf(((Present(field.name), replace(empty, negated=True)),), (*absent, (empty,)))


def equals_text(expression: Expression, text: str) -> Formula | None:
    """``V = 'text'``; None where the expression is not the text of one field."""
    match expression:
        case Call(name="string", arguments=(Call(name="number", arguments=(FieldRef(name=name),)),)) if text == "NaN":
            return Leaf(((Missing(name),),), ((Range(name, None, None),),))
    field = field_of(expression)
    if field is None:
        return None
    same: Form = ((Member(field.name, frozenset({text})),),)
    other: Form = ((Member(field.name, frozenset({text}), negated=True),),)
    if text:
        return Leaf(same, other)
    absent = Present(field.name, negated=True)
    if is_string_call(expression):
        return Leaf((*same, (absent,)), ((*other[0], Present(field.name)),))
    return FALSE if field.text else Leaf(same, other)


def emptiness(comparison: Comparison) -> Comparison:
    """Write ``string-length(V) > 0`` and its like as a comparison with the empty text."""
    left, right = comparison.left, comparison.right
    if not (isinstance(left, Call) and left.name == "string-length" and isinstance(right, Number)):
        return comparison
    text = Call("string", left.arguments)
    match comparison.operator, right.value:
        case (">", 0) | (">=", 1) | ("!=", 0):
            return Comparison("!=", text, Text(""))
        case ("=", 0) | ("<", 1) | ("<=", 0):
            return Comparison("=", text, Text(""))
        case _:
            return comparison


def joined_list(listed: str, inner: Expression) -> Formula | None:
    """``contains('|a|b|', concat('|', V, '|'))``; None where it is not that."""
    match inner:
        case Call(name="concat", arguments=(Text(value=before), field, Text(value=after))) if (
            before and before == after
        ):
            pass
        case _:
            return None
    if not (listed.startswith(before) and listed.endswith(before)) or len(listed) < 2 * len(before):
        return None
    if (name := field_of(field)) is None:
        return None
    items = frozenset(listed[len(before) : -len(before)].split(before))
    return Some(tuple(part for item in sorted(items) if (part := equals_text(Call("string", (name,)), item))))


# --- numbers ----------------------------------------------------------------------------------------------------


def spread(left: Expression, right: Expression) -> tuple[tuple[Expression, ...], tuple[Expression, ...]] | None:
    """Return the items on both sides of a general comparison; None where both sides are single."""
    if not any(isinstance(side, Sequence | Span) for side in (left, right)):
        return None
    return tuple(side.items if isinstance(side, Sequence) else (side,) for side in (left, right))  # type: ignore[return-value]


def member(left: tuple[Expression, ...], right: tuple[Expression, ...], *, modern: bool) -> Formula | None:
    """``V = (1, 2, 3)`` and ``V = 1 to 5``; None where it is not that, or short enough to be written out."""
    if len(left) != 1:
        left, right = right, left
    if len(left) != 1 or (field := field_of(left[0])) is None:
        return None
    if len(right) == 1 and isinstance(right[0], Span):
        return _in_span(field, right[0], modern and isinstance(left[0], FieldRef))
    numbers = frozenset(item.value for item in right if isinstance(item, Number))
    if len(numbers) != len(right) or len(numbers) <= _SPLIT:
        return None
    return _among(field.name, numbers, modern and isinstance(left[0], FieldRef))


def _among(name: str, numbers: frozenset[Fraction], empties: bool) -> Formula:
    lacking = Present(name, negated=True) if empties else Missing(name)
    return Leaf(((Member(name, numbers),),), ((Member(name, numbers, negated=True),), (lacking,)))


def _in_span(field: FieldRef, span: Span, empties: bool) -> Formula | None:
    if not (isinstance(span.low, Number) and isinstance(span.high, Number)):
        return None
    low, high, name = span.low.value, span.high.value, field.name
    if low > high:
        return FALSE
    if high - low < _LONG_SPAN:
        return _among(name, frozenset(low + step for step in range(int(high - low) + 1)), empties)
    lacking = Present(name, negated=True) if empties else Missing(name)
    outside: Form = (
        (Range(name, None, low, high_open=True),),
        (Range(name, high, None, low_open=True),),
        (Range(name, low, high), Lexical(name, f"floor({name}) != {name}")),
        (lacking,),
    )
    return Leaf(((Range(name, low, high), Whole(name)),), outside)


def root_of_square(expression: Expression, limit: Amount) -> tuple[Expression, Fraction] | None:
    """Return ``L`` and ``t`` for ``L * L`` beside ``t * t``, where t is rational: a tolerance without abs()."""
    match expression:
        case Arithmetic(operator="*", left=one, right=two) if one == two and isinstance(limit, Quantity):
            value = limit.numerator.value
        case _:
            return None
    if value is None or value < 0 or limit.denominator.value != 1 or limit.nan:
        return None
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    return (one, root) if root * root == value else None


# --- domain -----------------------------------------------------------------------------------------------------


def domain_of(value: Expression | None, nodes: OtherNodes) -> Formula | None:
    """The value of a field occurs among nodes of another document; None where that is not what is asked."""
    if nodes.document is None:
        return None
    path = nodes.path
    if value is None:
        if len(nodes.where) != 1 or (joined := _joined(nodes.where[0])) is None:
            return None
        field, path = joined[0], f"{path}/{joined[1]}"
    elif nodes.where or (found := field_of(value)) is None:
        return None
    else:
        field = found
    source = f"not({field.name} = document('{nodes.document}'){path})"
    return Leaf(((InDomain(field.name, nodes.document, path),),), ((Untranslated((field.name,), source),),))


def _joined(where: Expression) -> tuple[FieldRef, str] | None:
    """``[V1 = current()/V1]``."""
    match where:
        case (
            Comparison(operator="=", left=OtherField(name=name), right=FieldRef() as field)
            | Comparison(operator="=", left=FieldRef() as field, right=OtherField(name=name))
        ):
            return field, name
        case _:
            return None


# --- classes ----------------------------------------------------------------------------------------------------


def value_edit(core: Form, form: Form) -> ValueEdit | None:
    """Conditions on single variables: one alternative, one variable, or allowed combinations of categories."""
    atoms = [atom for conjunction in core for atom in conjunction]
    if any(isinstance(atom, Linear | Product | Polynomial | Untranslated | InDomain) for atom in atoms):
        return None
    if _combinations(core):
        return ValueEdit((*_canonical(core), *(conjunction for conjunction in form if conjunction not in core)))
    return ValueEdit(form) if len(core) <= 1 or len(variables_of(core)) <= 1 else None


def _combinations(core: Form) -> bool:
    """Whether several alternatives name the categories of the same variables, several too."""
    if len(core) < 2 or len(variables_of(core)) < 2:
        return False
    named = {frozenset(_category(atom) for atom in conjunction) for conjunction in core}
    return len(named) == 1 and "" not in next(iter(named))


def _category(atom: object) -> str:
    match atom:
        case Member(variable=name, negated=False):
            return name
        case Range(variable=name, low=low, high=high) if low is not None and low == high:
            return name
        case _:
            return ""


def _canonical(core: Form) -> Form:
    """Write allowed combinations in one way: spread out, then joined variable by variable from the last."""
    names = variables_of(core)
    kinds: set[tuple[str, type]] = set()
    rows: set[tuple[Values, ...]] = set()
    for conjunction in core:
        by_name = {variables_of_atom(atom)[0]: _values(atom) for atom in conjunction}
        if prod(len(values) for values in by_name.values()) > _MAX_COMBINATIONS:
            return core
        kinds.update((name, type(value)) for name, values in by_name.items() for value in values)
        rows.update(product(*(_points(by_name[name]) for name in names)))
    if len(kinds) > len(names):
        return core  # a variable that is compared as a number here and as text there
    for position in reversed(range(len(names))):
        joined: dict[object, tuple[Values, ...]] = {}
        for row in rows:
            key = row[:position] + row[position + 1 :]
            known = joined.get(key, row)
            union: Values = known[position] | row[position]  # type: ignore[operator]
            joined[key] = (*row[:position], union, *row[position + 1 :])
        rows = set(joined.values())
    ordered = sorted(rows, key=lambda row: [sorted(map(str, values)) for values in row])
    return disjoin(tuple(tuple(Member(n, v) for n, v in zip(names, row, strict=True)) for row in ordered))


def _points(values: Values) -> list[Values]:
    return [cast(Values, frozenset({value})) for value in values]


def _values(atom: Atom) -> Values:
    if isinstance(atom, Range):
        return frozenset({atom.low or Fraction(0)})
    return atom.values if isinstance(atom, Member) else frozenset()


def domain_edit(core: Form, form: Form) -> DomainEdit | None:
    """A value must exist in the original, in every alternative or as one of the ways to satisfy one variable."""
    held = [any(isinstance(atom, InDomain) for atom in conjunction) for conjunction in core]
    if not any(held) or any(isinstance(atom, Untranslated) for conjunction in core for atom in conjunction):
        return None
    return DomainEdit(form) if all(held) or len(variables_of(core)) == 1 else None
