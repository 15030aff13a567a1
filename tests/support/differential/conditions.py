"""Conditions in every version of XPath."""

from __future__ import annotations

from dataclasses import replace

from differential.numbers import siblings
from differential.tree import Expr, Kind, expr, leaf
from differential.words import NUMERIC, SIX, Maker, Words, binary, call


def with_field(w: Words) -> Expr:
    """A general comparison of a field as it stands."""
    operator = w.rng.choice(SIX)
    field = w.field(*NUMERIC) if w.rng.random() < 0.7 else w.field()
    roll = w.rng.random()
    other = w.field(*NUMERIC) if roll < 0.3 else w.constant() if roll < 0.7 else w.literal()
    pair = [field, other] if w.rng.random() < 0.8 else [other, field]
    return expr("boolean", f"{operator} {operator}field", pair[0], f" {operator} ", pair[1])


def _with_boolean(w: Words) -> Expr:
    operator = w.rng.choice(("=", "!="))
    other = w.field() if w.rng.random() < 0.4 and not w.two else w.boolean()
    return expr("boolean", f"{operator} {operator}boolean", "(", w.boolean(), f") {operator} (", other, ")")


def _set_of_values(w: Words) -> Expr:
    column = w.column("category", "integer")
    values = sorted({v for v in w.table.lexemes(column.name) if v and v.isascii() and "'" not in v})[:4] or ["1"]
    field = w.field(column.kind)
    if w.two:
        quoted = ", ".join(f"'{v}'" for v in values)
        if w.rng.random() < 0.3 and all(v.isdigit() for v in values):
            quoted = ", ".join(values)
            field = expr("number", "number", "number(", field, ")")
        return expr("boolean", "= ,", field, f" = ({quoted})")
    tests = " or ".join(f"{field.text} = '{v}'" for v in values)
    return expr("boolean", "= or", tests)


def _not(w: Words) -> Expr:
    return expr("boolean", "not", "not(", w.boolean(), ")")


def _truth_of_number(w: Words) -> Expr:
    return expr("boolean", "boolean", "boolean(", w.number(), ")")


def _let_or(kind: Kind, other: str) -> Maker:
    return lambda w: w.variable(kind) or getattr(w, other)()


def nodes_truth(w: Words) -> Expr:
    field = w.field()
    return (
        expr("boolean", "boolean", "boolean(", field, ")") if w.rng.random() < 0.5 else replace(field, kind="boolean")
    )


def _parent(w: Words) -> Expr:
    if w.node in ("record", "document"):
        return nodes_truth(w)
    return expr("boolean", "../*", w.rng.choice(("../*", "count(../*) > 3", "name(..) != 'Data'", "../@*")))


def _blank(w: Words) -> Expr:
    return expr("boolean", "normalize-space = string-literal", "normalize-space(", w.field(), ") = ''")


def _siblings(w: Words) -> Expr:
    return expr("boolean", "=", siblings(w), f" = {w.rng.randint(0, 4)}")


BOOLEANS: tuple[Maker, ...] = (
    with_field,
    with_field,
    with_field,
    binary("boolean", SIX, "guarded", "constant"),
    binary("boolean", SIX, "guarded", "constant"),
    binary("boolean", SIX, "guarded"),
    binary("boolean", SIX, "number"),
    binary("boolean", SIX, "number", "constant"),
    binary("boolean", ("=", "!="), "string"),
    _with_boolean,
    binary("boolean", ("and",), "boolean"),
    binary("boolean", ("or",), "boolean"),
    binary("boolean", ("and", "or"), "boolean"),
    _not,
    _not,
    nodes_truth,
    _truth_of_number,
    call("boolean", "boolean", "string"),
    call("boolean", "contains", "string", "literal"),
    call("boolean", "starts-with", "string", "literal"),
    _set_of_values,
    _parent,
    _blank,
    _siblings,
    _let_or("boolean", "boolean"),
    _let_or("boolean", "boolean"),
)


def _bare_field(w: Words) -> Expr:
    return nodes_truth(w) if w.rng.random() < 0.4 else with_field(w)


FLAT_BOOLEANS: tuple[Maker, ...] = (
    _bare_field,
    _bare_field,
    _bare_field,
    binary("boolean", SIX, "guarded", "constant"),
    lambda w: w.variable("boolean") or with_field(w),
    lambda w: leaf("boolean", *((t := w.rng.choice(("true", "false"))) + "()", t)),
)
