"""Doubts about a rule that its author may want to hear of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches

from masktron.classify.conjunctions import Conjunction
from masktron.classify.forms import ALWAYS, NEVER, variables_of_atom
from masktron.constraints import Form, Linear, Monomial, Polynomial, Product
from masktron.problems.problem import Field, Note
from masktron.reading.nodes import Expression, FieldRef, Text, fields_of, walk
from masktron.sources.record_layout import Layout

_CENTS = 2
"""Fraction digits that amounts have as a rule."""


def name_lints(expressions: Iterable[Expression], layout: Layout | None, known: frozenset[str]) -> list[Note]:
    """Doubts about field names: minus signs inside, unknown names, a namespace that was forgotten.

    Parameters
    ----------
    expressions : iterable of Expression
        All that the rule reads.
    layout : Layout or None
        Of the file, where one is at hand.
    known : frozenset of str
        Names that rules of the rulebook use elsewhere.
    """
    found: list[Note] = []
    references = {n for expression in expressions for n in walk(expression) if isinstance(n, FieldRef)}
    names = frozenset(field.name for field in layout.fields) if layout else known
    for reference in sorted(references, key=lambda r: r.name):
        lint = _minus(reference.name, names - {reference.name} if layout is None else names) or (
            _in_layout(reference, layout) if layout else None
        )
        if lint:
            found.append(lint)
    return found


def _minus(name: str, known: frozenset[str]) -> Note | None:
    parts = name.split("-")
    if len(parts) > 1 and name not in known and all(part in known for part in parts):
        template = "{field} is one name in XPath, not a difference: write {instead} with blanks"
        return Note(template, field=Field(name), instead=" - ".join(parts))
    return None


def _in_layout(reference: FieldRef, layout: Layout) -> Note | None:
    own = Field(reference.name)
    field = layout.field(reference.name)
    if field is None:
        names = [f.name for f in layout.fields]
        same = [name for name in names if name.casefold() == reference.name.casefold()]
        near = same or get_close_matches(reference.name, names, n=1)
        hint = f": did you mean {near[0]}?" if near else ""
        return Note("the file has no field {field}{hint}", field=own, hint=hint)
    uri = field.tag[1:].partition("}")[0] if field.tag.startswith("{") else ""
    if reference.namespace in ("*", uri):
        return None
    if not reference.namespace:
        template = "{field} has no prefix, but the file's {field} is in the namespace {uri}: no match"
        return Note(template, field=own, uri=uri)
    template = "{field} is asked for in the namespace {uri}, where the file has none: no match"
    return Note(template, field=own, uri=reference.namespace)


def truth_lints(test: Expression, form: Form | None, kind: str) -> list[str]:
    """Doubts about tests that do not depend on the record."""
    said = "report never fires" if kind == "report" else "assert cannot fail"
    if isinstance(test, Text):
        return [f"the test is the text '{test.value}', which is always true: take out the quotes"]
    if form == NEVER:
        return ["no record can satisfy this rule"]
    if form == ALWAYS:
        return [f"this {said}: it does not depend on the record" if not fields_of(test) else f"this {said}"]
    return []


def shadow_lint(context: str, earlier: str, line: int) -> str:
    """A rule that never fires."""
    return (
        f"this rule never fires: every node of {context} is taken by the rule with context {earlier} in line {line}"
    )


def equality_lints(form: Form, decimals: Mapping[str, int] | None = None) -> list[str]:
    """Doubts about equalities that can fail in doubles although they hold in decimals.

    Parameters
    ----------
    form : Form
    decimals : mapping of str to int, optional
        Fraction digits of the fields, where data are at hand; without them, only what the rule itself shows counts.
    """
    fragile = {_in_decimals(conjunction, decimals) for conjunction in form} - {()}
    return [_rounding_doubt(names, decimals or {}) for names in sorted(fragile, key=", ".join)]


def _rounding_doubt(names: Sequence[str], decimals: Mapping[str, int]) -> str:
    half = _half_a_unit(names, decimals)
    return (
        f"equality on decimals ({', '.join(names)}) without tolerance may fail by rounding: write a tolerance of "
        f"half a unit of the last digit, as in A - B <= {half} and B - A <= {half}"
    )


def _half_a_unit(names: Iterable[str], decimals: Mapping[str, int]) -> str:
    """Return half a unit of the last digit of some fields; of cents where nobody knows their digits."""
    digits = max((decimals.get(name, 0) for name in names), default=0) or _CENTS
    return f"{Decimal(5).scaleb(-digits - 1):f}"


def _in_decimals(conjunction: Conjunction, decimals: Mapping[str, int] | None) -> tuple[str, ...]:
    """Return the fields of the first equality on decimals; none where there is no such equality."""
    for atom in conjunction:
        if not isinstance(atom, Linear | Product | Polynomial) or atom.relation != "=":
            continue
        variables = variables_of_atom(atom)
        if any((decimals or {}).get(name) for name in variables) or _has_fractions(atom):
            return tuple(variables)
    return ()


def _has_fractions(atom: Linear | Product | Polynomial) -> bool:
    if isinstance(atom, Linear):
        return atom.bound.denominator != 1 or (max(abs(c) for _, c in atom.terms) > 1 and _is_decimal_scale(atom))
    monomials: tuple[Monomial, ...] = (*atom.left, atom.right) if isinstance(atom, Product) else atom.terms
    return any(_power_of_ten(abs(monomial.coefficient.numerator)) for monomial in monomials)


def _is_decimal_scale(atom: Linear) -> bool:
    """Integer coefficients such as 3 and 100 come from decimals such as 0.03."""
    return any(_power_of_ten(abs(coefficient.numerator)) for _, coefficient in atom.terms)


def _power_of_ten(value: int) -> bool:
    return value >= 10 and str(value).rstrip("0") == "1"
