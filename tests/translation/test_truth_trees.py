"""Trees of conditions keep their truth while they are joined and shortened."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import assert_never

from masktron.reading.nodes import FieldRef, Not
from masktron.translation.truth_trees import (
    ALWAYS,
    NEVER,
    Both,
    Branch,
    Claim,
    Either,
    OneOf,
    TruthTree,
    both,
    either,
    tree_of,
)

CODE = FieldRef("code")
type Record = Mapping[str, str | bool]
BITS = (False, True)
RECORDS: list[Record] = [
    {"code": code, "a": a, "b": b, "c": c} for code in "xyz" for a in BITS for b in BITS for c in BITS
]


def true(tree: TruthTree, record: Record) -> bool:
    match tree:
        case Claim(expression=FieldRef(name=name), negated=negated):
            return bool(record[name]) is not negated
        case OneOf(labels=labels, negated=negated):
            return (record["code"] in labels) is not negated
        case Both(parts=parts):
            return all(true(part, record) for part in parts)
        case Either(parts=parts):
            return any(true(part, record) for part in parts)
        case Branch(condition=condition, then=then, otherwise=otherwise):
            return true(then if true(condition, record) else otherwise, record)
        case Claim():
            raise TypeError(tree)
        case _:
            assert_never(tree)


def leaf(draw: random.Random) -> TruthTree:
    if draw.random() < 0.4:
        return OneOf(CODE, frozenset(draw.sample("xyz", draw.randint(1, 2))), negated=draw.random() < 0.2)
    return Claim(FieldRef(draw.choice("abc")), negated=draw.random() < 0.3)


def grown(draw: random.Random, depth: int, join: Callable[[bool, list[TruthTree]], TruthTree]) -> TruthTree:
    if not depth:
        return leaf(draw)
    parts = [grown(draw, depth - draw.randint(1, depth), join) for _ in range(draw.randint(1, 4))]
    return join(draw.random() < 0.5, parts)


def test_joining_keeps_the_truth_of_every_record() -> None:
    shortened = 0
    for seed in range(300):
        plain = grown(random.Random(seed), 3, lambda all_, parts: (Both if all_ else Either)(tuple(parts)))
        joined = grown(random.Random(seed), 3, lambda all_, parts: (both if all_ else either)(parts))
        assert [true(plain, r) for r in RECORDS] == [true(joined, r) for r in RECORDS], seed
        shortened += len(repr(joined)) < len(repr(plain))
    assert shortened > 150


def test_what_alternatives_share_is_written_once() -> None:
    a, b, c = (Claim(FieldRef(name)) for name in "abc")
    assert either((both((a, b)), both((a, c)))) == Both((a, Either((b, c))))
    assert either((a, both((a, b)))) == a
    x, y = (OneOf(CODE, frozenset(label)) for label in "xy")
    assert either((both((x, a)), both((y, a)))) == Both((OneOf(CODE, frozenset("xy")), a))
    assert either((x, y)) == OneOf(CODE, frozenset("xy"))
    assert either((a, Claim(FieldRef("a"), negated=True))) == ALWAYS
    assert both((a, tree_of(Not(FieldRef("a"))))) == NEVER
