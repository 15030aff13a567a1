"""Conditions in XPath 2 and later."""

from __future__ import annotations

from differential.numbers_later import RARE, RARE_31
from differential.strings import set_operation
from differential.tree import Expr, expr
from differential.words import NUMERIC, SIX, VALUE, Maker, Words, call, either

PATTERNS = (
    "^[0-9]+$",
    "[a-c]",
    "^-?\\d+(\\.\\d+)?$",
    "^A",
    "b$",
    "\\s",
    "^.{1,3}$",
    "^$",
    "^(a|b|1)$",
    "[^0-9.]",
    "\\p{L}",
)
TYPES = (
    "xs:integer",
    "xs:decimal",
    "xs:double",
    "xs:date",
    "xs:string",
    *("xs:boolean", "xs:nonNegativeInteger") * 2,
)


def _quantified(w: Words) -> Expr:
    word = w.rng.choice(("some", "every"))
    inner = w.bind("x", "number")
    if w.rng.random() < 0.4:
        bounds = expr("items", "to", f"{w.rng.randint(0, 2)} to {w.rng.randint(2, 5)}")
    else:
        bounds = expr("items", ",", "(", w.guarded(), ", ", w.guarded(), ", ", w.constant(), ")")
    operator = w.rng.choice(SIX)
    test = expr("boolean", operator, f"$x {operator} ", inner.number())
    return expr("boolean", word, f"({word} $x in ", bounds, " satisfies ", test, ")")


def _quantified_fields(w: Words) -> Expr:
    word = w.rng.choice(("some", "every"))
    operator = w.rng.choice(SIX)
    paths = expr("items", ",", "(", w.field(*NUMERIC), ", ", w.field(*NUMERIC), ")")
    condition = expr("boolean", f"{operator} number", f"number($f) {operator} ", w.constant())
    return expr("boolean", word, f"({word} $f in ", paths, " satisfies ", condition, ")")


def _castable(w: Words) -> Expr:
    kind = w.rng.choice(TYPES)
    optional = "?" if w.rng.random() < 0.3 else ""
    return expr("boolean", f"castable {kind}", w.field(), f" castable as {kind}{optional}")


def _value_comparison(w: Words) -> Expr:
    operator = w.rng.choice(VALUE)
    if w.rng.random() < 0.6:
        return expr("boolean", operator, "(", w.number(), f") {operator} (", w.number(), ")")
    if w.rng.random() < 0.5:
        return expr("boolean", operator, "(", w.string(), f") {operator} (", w.string(), ")")
    return expr("boolean", operator, w.field(), f" {operator} ", w.literal())


def _matches(w: Words) -> Expr:
    flags = ", 'i'" if w.rng.random() < 0.15 else ""
    return expr("boolean", "matches", "matches(", w.string(), f", '{w.rng.choice(PATTERNS)}'{flags})")


def _instance(w: Words) -> Expr:
    kind = w.rng.choice(("xs:integer", "xs:decimal", "xs:double", "xs:string", "xs:anyAtomicType", "node()"))
    subject = w.rng.choice((w.number, w.field, w.string))()
    return expr("boolean", "instance-of", "(", subject, f") instance of {kind}{w.rng.choice(('', '?', '*', '+'))}")


def _node_order(w: Words) -> Expr:
    operator = w.rng.choice(("is", "<<", ">>"))
    return expr("boolean", operator, "(", w.field(), f")[1] {operator} (", w.field(), ")[1]")


def _sequence_comparison(w: Words) -> Expr:
    operator = w.rng.choice(SIX)
    return expr("boolean", f"{operator} {operator}sequence", w.items(), f" {operator} ", w.items())


def _dates(w: Words) -> Expr:
    operator = w.rng.choice((*SIX, *VALUE))
    field = w.field("date")
    guard = expr("boolean", "castable xs:date", field, " castable as xs:date")
    compared = expr("boolean", f"{operator} xs:date", "xs:date(", field, f") {operator} xs:date('2011-06-15')")
    return expr("boolean", "if", "(if (", guard, ") then ", compared, " else ", w.boolean(), ")")


def _let_31(w: Words) -> Expr:
    return expr("boolean", "3.1:let", "(let $y := ", w.number(), " return ", w.bind("y", "number").boolean(), ")")


def _rare(w: Words) -> Expr:
    operator = w.rng.choice((*SIX, *VALUE))
    latest = w.version == "3.1" and w.rng.random() < 0.85
    number = w.rng.choice(RARE_31 if latest else RARE)(w.deeper())
    return expr("boolean", operator, "(", number, f") {operator} ", w.constant())


BOOLEANS_2: tuple[Maker, ...] = (
    _value_comparison,
    _value_comparison,
    _value_comparison,
    _quantified,
    _quantified,
    _quantified_fields,
    _castable,
    _castable,
    either("boolean"),
    _matches,
    _matches,
    _instance,
    _node_order,
    _sequence_comparison,
    _sequence_comparison,
    _sequence_comparison,
    *(_rare,) * 5,
    _dates,
    call("boolean", "ends-with", "string", "literal"),
    call("boolean", "exists", "field"),
    call("boolean", "exists", "items"),
    call("boolean", "empty", "field"),
    call("boolean", "empty", "items"),
    call("boolean", "deep-equal", "items", "items"),
    lambda w: expr("boolean", "boolean", "boolean(", set_operation(w), ")"),
    _let_31,
    call("boolean", "contains-token", "field", "literal", label="3.1:contains-token"),
)
