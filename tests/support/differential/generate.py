"""A seed's case: a random flat file and a random rulebook on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from differential.case import Case, Check, Let, Pattern, Rule, Step, Version
from differential.data import Column, make_table
from differential.expressions import GRAMMAR, feature
from differential.tree import Expr, Kind, expr, leaf
from differential.words import Words

VERSIONS: tuple[Version, ...] = ("1.0", "2.0", "3.1")
_LET_KINDS: tuple[Kind, ...] = ("number", "string", "boolean", "number")


_PATHS = frozenset(
    {".", "@", "child", "../", "child::", "./", "*[name()]", "*[local-name()]", "[position]", "text()", "[predicate]"}
)


def generate(seed: int) -> Case:
    """Return the case of a seed, always the same one; versions take turns."""
    rng = Random(f"masktron differential {seed}")
    version = VERSIONS[seed % 3]
    table = make_table(rng)
    words = Words(rng, GRAMMAR, table, version, wild=rng.choice((0.03, 0.1, 0.1, 0.4)), featured=feature(rng))
    outer = _lets(replace(words, node="document", depth=1), "s", rng.choice((0, 0, 1, 2)))
    words = _bound(words, outer)
    numbers = iter(range(1, 10_000))
    patterns = tuple(_pattern(words, i, numbers) for i in range(rng.randint(1, 4)))
    return Case(seed, version, table, outer, patterns)


def _bound(words: Words, lets: tuple[Let, ...]) -> Words:
    for let in lets:
        words = words.bind(let.name, let.value.kind)
    return words


def _lets(words: Words, prefix: str, count: int) -> tuple[Let, ...]:
    made: list[Let] = []
    for i in range(count):
        kind = words.rng.choice(_LET_KINDS)
        value = _constant(words, kind) if words.node == "document" else getattr(words, kind)()
        attributes = words.version == "1.0" and value.text == "../@*"
        if attributes or (value.labels and value.labels[0] in _PATHS):
            # lxml takes no attributes and text nodes as values of variables
            value = expr(kind, kind, f"{kind}(", value, ")")
        made.append(Let(f"{prefix}{i}", value))
        words = words.bind(made[-1].name, kind)
    return tuple(made)


def _constant(words: Words, kind: Kind) -> Expr:
    """Return a value for a variable of the schema or a pattern; seldom it reads the document."""
    match kind:
        case "string":
            return words.literal()
        case "boolean":
            return leaf("boolean", *words.rng.choice((("true()", "true"), ("false()", "false"), ("1 = 2", "="))))
        case _ if words.rng.random() < 0.1:
            return expr("number", "count //", "count(", words.field(), ")")
        case _ if words.rng.random() < 0.4:
            return expr("number", "+", words.constant(), " + ", words.constant())
        case _:
            return words.constant()


def _pattern(words: Words, i: int, numbers: Iterator[int]) -> Pattern:
    rng = words.rng
    lets = _lets(replace(words, node="document", depth=1), f"p{i}", rng.choice((0, 0, 0, 1)))
    words = _bound(words, lets)
    # mostly records; else one field in all rules, so that they overlap
    column = rng.choice(words.table.columns)
    kind = rng.choices(("record", "field", "mixed"), (60, 25, 15))[0]
    rules = tuple(
        _rule(words, i, j, column if kind != "mixed" else rng.choice(words.table.columns), kind, numbers)
        for j in range(rng.randint(1, 4))
    )
    return Pattern(lets, rules)


def _rule(words: Words, i: int, j: int, column: Column, kind: str, numbers: Iterator[int]) -> Rule:
    rng = words.rng
    on_field = kind == "field" or (kind == "mixed" and rng.random() < 0.5)
    context, label, inner = _field_context(words, column) if on_field else _record_context(words)
    # XPath 1.0 cannot be asked from Python at an attribute, with variables that were evaluated there
    plain = inner.node != "attribute"
    lets = _lets(inner, f"r{i}{j}", rng.choice((0, 0, 1, 2)) if plain else 0)
    inner = _bound(inner, lets)
    checks = tuple(_check(inner, f"c{next(numbers)}") for _ in range(rng.randint(3, 10)))
    return Rule(context, label, lets, checks)


def _check(words: Words, name: str) -> Check:
    rng = words.rng
    words = replace(words, depth=rng.choice((1, 2, 2, 3, 3, 4)))
    test = words.boolean()
    if rng.random() < 0.4:
        test = expr("boolean", "not", "not(", test, ")")
    shown = None
    if rng.random() < 0.2:
        small = replace(words, depth=1)
        shown = rng.choice((small.field, small.number, small.string))()
    return Check(name, rng.choice(("assert", "assert", "report")), test, shown)


def _record_context(words: Words) -> tuple[tuple[Step, ...], str, Words]:
    rng = words.rng
    record, data = ("Record", "Data") if words.table.naming == "none" else ("d:Record", "d:Data")
    path, label = rng.choices(
        (
            (record, "Record"),
            (f"/{data}/{record}", "/Data/Record"),
            (f"//{record}", "//Record"),
            (f"{data}/{record}", "Data/Record"),
            (f"/{data}/*", "/Data/*"),
            ("*", "*"),
        ),
        (60, 10, 8, 8, 3, 3),
    )[0]
    predicate = None
    if rng.random() < 0.6 and label != "*":
        predicate = _predicate(replace(words, depth=rng.choice((0, 1, 1, 2))))
        label += "[predicate]"
    elif rng.random() < 0.15 and label != "*":
        place = rng.choice(("1", "position() mod 2 = 1", "last()", "position() > 3"))
        predicate = leaf("boolean", place, "context [position]")
        label += "[position]"
    return (Step(path, predicate),), label, words


def _predicate(words: Words) -> Expr:
    test = replace(words, context=True).boolean()
    return test if words.rng.random() < 0.6 else expr("boolean", "not", "not(", test, ")")


def _field_context(words: Words, column: Column) -> tuple[tuple[Step, ...], str, Words]:
    rng = words.rng
    name = words.name(column)
    record = "Record" if words.table.naming == "none" else "d:Record"
    inner = replace(words, node="attribute" if column.attribute else "field", own=column)
    small = replace(inner, depth=1)
    form = rng.choices(("field", "path", "predicate", "above", "union", "parent"), (40, 15, 25, 8, 8, 4))[0]
    kind = "@field" if column.attribute else "field"
    match form:
        case "path":
            return (Step(f"{record}/{name}"),), f"Record/{kind}", inner
        case "predicate":
            return (Step(name, _predicate(small)),), f"{kind}[predicate]", inner
        case "above":
            above = _predicate(replace(words, depth=1))
            return (Step(f"{record}/{name}", above=above),), f"Record[predicate]/{kind}", inner
        case "union":
            other = rng.choice(words.table.columns)
            if other.attribute == column.attribute and other != column:
                # the other field is the context node as well: only paths that hold for both
                return (Step(name), Step(words.name(other))), f"{kind} | {kind}", inner
        case "parent":
            return (Step(f"../{name}"),), f"../{kind}", inner
        case _:
            pass
    return (Step(name),), kind, inner
