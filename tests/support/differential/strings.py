"""Strings, and sequences of XPath 2 and later."""

from __future__ import annotations

from dataclasses import replace

from differential.tree import Expr, expr
from differential.words import Maker, Words, call, either


def _field_string(w: Words) -> Expr:
    field = w.field()
    if w.rng.random() < 0.3:
        return replace(field, kind="string")
    return expr("string", "string", "string(", field, ")")


def _substring(w: Words) -> Expr:
    start = w.rng.choice(("1", "2", "0", "-1", "1.5", "3"))
    length = w.rng.choice(("", ", 1", ", 2", ", 2.5"))
    return expr("string", "substring", "substring(", w.string(), f", {start}{length})")


def _translate(w: Words) -> Expr:
    pair = w.rng.choice((("abc", "ABC"), ("0123456789", ""), (" ", "_"), ("aé", "e"), (".,-", "")))
    return expr("string", "translate", "translate(", w.string(), f", '{pair[0]}', '{pair[1]}')")


def _concat(w: Words) -> Expr:
    return expr("string", "concat", "concat(", w.string(), ", ", w.string(), ")")


def _named(w: Words) -> Expr:
    name = w.rng.choice(("name", "local-name", "namespace-uri"))
    return expr("string", name, f"{name}(", w.field(), ")" if not w.two else "[1])")


def _number_text(w: Words) -> Expr:
    return expr("string", "string string(number)", "string(", w.number(), ")")


def _boolean_text(w: Words) -> Expr:
    return expr("string", "string string(boolean)", "string(", w.boolean(), ")")


STRINGS: tuple[Maker, ...] = (
    _field_string,
    _field_string,
    _field_string,
    lambda w: w.literal(),
    call("string", "normalize-space", "string"),
    call("string", "substring-before", "string", "literal"),
    call("string", "substring-after", "string", "literal"),
    _substring,
    _substring,
    _translate,
    _concat,
    _named,
    _number_text,
    _boolean_text,
    lambda w: w.variable("string") or w.literal(),
)
STRINGS_2: tuple[Maker, ...] = (
    call("string", "upper-case", "string"),
    call("string", "lower-case", "string"),
    lambda w: expr(
        "string", "replace", "replace(", w.string(), f", '{w.rng.choice(('a', '[0-9]', ' +', 'b$'))}', 'z')"
    ),
    lambda w: expr("string", "string-join", "string-join((", w.string(), ", ", w.string(), "), '-')"),
    lambda w: expr("string", "tokenize", "(tokenize(", w.string(), ", '[ .]'), '')[1]"),
    either("string"),
    lambda w: expr("string", "cast xs:string", "xs:string(", w.number(), ")"),
    lambda w: expr("string", "3.1:||", "(", w.string(), " || ", w.string(), ")"),
    lambda w: expr("string", "3.1:||", "(", w.string(), " || ", w.string(), ")"),
    lambda w: expr("string", "3.1:=>", "(", w.string(), " => normalize-space())"),
    lambda w: expr("string", "3.1:=>", "(", w.string(), " => normalize-space())"),
)
FLAT_STRINGS: tuple[Maker, ...] = (
    _field_string,
    _field_string,
    lambda w: w.literal(),
    lambda w: w.variable("string") or w.literal(),
)


def set_operation(w: Words) -> Expr:
    operator = w.rng.choice(("union", "intersect", "except", "|"))
    return expr("items", operator, "(", w.field(), f" {operator} ", w.field(), ")")


ITEMS: tuple[Maker, ...] = (
    lambda w: expr("items", ",", "(", w.field(), ", ", w.field(), ")"),
    lambda w: expr("items", ",", "(", w.guarded(), ", ", w.guarded(), ")"),
    lambda w: expr("items", ",", "(", w.string(), ", ", w.literal(), ")"),
    lambda w: expr("items", ",", "(", w.constant(), ", ", w.constant(), ", ", w.number(), ")"),
    lambda w: expr("items", "to", f"({w.rng.randint(0, 2)} to {w.rng.randint(1, 4)})"),
    set_operation,
    set_operation,
    lambda w: expr("items", "distinct-values", "distinct-values((", w.string(), ", ", w.string(), "))"),
    lambda w: expr("items", "index-of", "index-of((", w.string(), ", ", w.literal(), "), ", w.literal(), ")"),
    lambda w: expr("items", "for", "(for $q in (", w.field(), ", ", w.field(), ") return string($q))"),
    lambda w: expr("items", "subsequence", "subsequence((", w.field(), ", ", w.field(), "), 2)"),
    lambda w: expr("items", "reverse", "reverse((", w.guarded(), ", ", w.constant(), "))"),
    lambda w: expr("items", "insert-before", "insert-before((", w.guarded(), "), 1, ", w.constant(), ")"),
    lambda w: expr("items", "remove", "remove((", w.string(), ", ", w.string(), "), 1)"),
    lambda w: expr("items", "[predicate]sequence", "(", w.field(), ", ", w.field(), ")[. != '']"),
    lambda w: expr("items", "data", "data(", w.field(), ")"),
    lambda w: expr("items", "()", "()"),
)
