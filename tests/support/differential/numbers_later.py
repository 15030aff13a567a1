"""Numbers in XPath 2 and later."""

from __future__ import annotations

from differential.tree import Expr, expr
from differential.words import NUMERIC, Maker, Words, binary, bracketed, call, either


def _plus(w: Words) -> Expr:
    return expr("number", "unary+", "+", bracketed(w.number(), w))


def aggregate(name: str) -> Maker:
    def make(w: Words) -> Expr:
        return expr("number", name, f"{name}((", w.guarded(), ", ", w.guarded(), ", ", w.number(), "))")

    return make


def _cast(w: Words) -> Expr:
    """A conversion, mostly guarded by a test that it succeeds."""
    kind = w.rng.choice(("xs:integer", "xs:decimal", "xs:double"))
    field = w.field(*NUMERIC)
    form = w.rng.choice(("function", "cast"))
    parts = (f"{kind}(", field, ")") if form == "function" else ("(", field, f" cast as {kind})")
    made = expr("number", f"{kind} {'cast' if form == 'cast' else 'constructor'}", *parts)
    if w.rng.random() < w.wild:
        return made
    guard = expr("boolean", f"castable {kind}", field, f" castable as {kind}")
    return expr("number", "if", "(if (", guard, ") then ", made, " else ", w.constant(), ")")


def _rounded(w: Words) -> Expr:
    name = w.rng.choice(("round", "round", "round-half-to-even"))
    if w.version != "3.1":
        name = "round-half-to-even"
    places = w.rng.choice((0, 1, 2, 2, -1))
    return expr("number", f"{name} {name}(,)", f"{name}(", w.number(), f", {places})")


def _sum_of_for(w: Words) -> Expr:
    inner = w.bind("x", "number")
    names = expr("items", ",", "(", w.field(*NUMERIC), ", ", w.field(*NUMERIC), ")")
    return expr("number", "for sum", "sum(for $z in ", names, " return number($z) + ", inner.constant(), ")")


def _math(w: Words) -> Expr:
    name = w.rng.choice(("math:sqrt", "math:exp", "math:log", "math:log10"))
    return expr("number", f"3.1:{name}", f"{name}(", w.guarded(), ")")


NUMBERS_2: tuple[Maker, ...] = (
    binary("number", ("idiv",), "guarded", "constant"),
    binary("number", ("idiv",), "number"),
    call("number", "abs", "number"),
    call("number", "abs", "number"),
    aggregate("min"),
    aggregate("max"),
    aggregate("avg"),
    _cast,
    _cast,
    _cast,
    _rounded,
    _sum_of_for,
    either("number"),
    _plus,
    call("number", "compare", "string", "string"),
    call("number", "count", "items"),
    lambda w: (
        expr("number", "[position]sequence", w.items(), f"[{w.rng.randint(1, 2)}] ! number(.)")
        if w.version == "3.1"
        else expr("number", "[position]sequence number", "number(", w.items(), f"[{w.rng.randint(1, 2)}])")
    ),
    _math,
    call("number", "math:pow", "guarded", "constant", label="3.1:math:pow"),
)
RARE: tuple[Maker, ...] = (
    _rounded,
    _rounded,
    aggregate("min"),
    aggregate("max"),
    aggregate("avg"),
    call("number", "compare", "string", "string"),
)
"""What is seldom chosen; a condition is made of it directly."""
RARE_31: tuple[Maker, ...] = (
    *(_math,) * 8,
    call("number", "math:pow", "guarded", "constant", label="3.1:math:pow"),
    _rounded,
)
"""The same of what only XPath 3.1 has."""
