"""Numbers in every version of XPath."""

from __future__ import annotations

from differential.tree import Expr, expr
from differential.words import NUMERIC, Maker, Words, binary, bracketed, call


def _minus(w: Words) -> Expr:
    return expr("number", "unary-", "-", bracketed(w.number(), w))


def _of_boolean(w: Words) -> Expr:
    return expr("number", "number boolean-to-number", "number(", w.boolean(), ")")


def _count(w: Words) -> Expr:
    paths = (
        ("*", "../*", "@*", "node()") if w.node != "record" else ("*", "@*", "*[. = '']", "*[not(text())]", "text()")
    )
    if w.rng.random() < 0.4:
        return expr("number", "count", f"count({w.rng.choice(paths)})")
    return expr("number", "count", "count(", w.field(), ")")


def union(w: Words) -> Expr:
    return expr("nodes", "|", w.field(*NUMERIC), " | ", w.field(*NUMERIC))


def _count_union(w: Words) -> Expr:
    return expr("number", "count", "count(", union(w), ")")


def _sum(w: Words) -> Expr:
    roll = w.rng.random()
    if roll < 0.3:
        return expr("number", "sum", "sum(", union(w), ")")
    if w.two:
        return expr("number", "sum", "sum((", w.guarded(), ", ", w.guarded(), ", ", w.number(), "))")
    return expr("number", "sum", "sum(", w.field(*NUMERIC), ")")


def siblings(w: Words) -> Expr:
    elements = [c for c in w.table.columns if not c.attribute]
    if w.node == "attribute" or not elements:
        return _count(w)
    axis = w.rng.choice(("following-sibling", "preceding-sibling"))
    start = "" if w.node == "field" else f"{w.name(w.rng.choice(elements))}/"
    return expr("number", f"{axis} count", f"count({start}{axis}::*)")


NUMBERS: tuple[Maker, ...] = (
    lambda w: w.guarded(),
    lambda w: w.guarded(),
    lambda w: w.guarded(),
    binary("number", ("+",), "number"),
    binary("number", ("-",), "number"),
    binary("number", ("+", "-", "*"), "guarded", "constant"),
    binary("number", ("*",), "number"),
    binary("number", ("div",), "number"),
    binary("number", ("div",), "guarded", "constant"),
    binary("number", ("mod",), "number"),
    binary("number", ("mod",), "guarded", "constant"),
    _minus,
    call("number", "floor", "number"),
    call("number", "ceiling", "number"),
    call("number", "round", "number"),
    call("number", "string-length", "string"),
    call("number", "number", "string", label="number number(string)"),
    _of_boolean,
    _count,
    _count_union,
    _sum,
    siblings,
    lambda w: w.variable("number") or w.guarded(),
    lambda w: w.variable("number") or w.constant(),
)


FLAT_NUMBERS: tuple[Maker, ...] = (
    lambda w: w.guarded(),
    lambda w: w.guarded(),
    lambda w: w.constant(),
    lambda w: w.variable("number") or w.guarded(),
)
