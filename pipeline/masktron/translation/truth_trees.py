"""Conditions on a record as trees of ``and`` and ``or``, with negation at the leaves alone.

XPath has two truth values, on missing values too, so that every step here is an equivalence. In XPath 2.0 and later
an operand may stop with an error; operands stay in their order: what decides whether another is asked stays first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import assert_never

from masktron.classify.kinds import kind_of
from masktron.reading.nodes import And, Boolean, Call, Comparison, Expression, FieldRef, If, Not, Or


@dataclass(frozen=True, slots=True)
class Claim:
    """The effective boolean value of an expression, or its negation."""

    expression: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """A field is written as one of some labels, or, negated, as none of them (nor is it there)."""

    field: FieldRef
    labels: frozenset[str]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Both:
    """All parts hold."""

    parts: tuple[TruthTree, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Some part holds."""

    parts: tuple[TruthTree, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """``if (condition) then ... else ...``: what is not taken is not asked."""

    condition: OneOf
    then: TruthTree
    otherwise: TruthTree


type TruthTree = Claim | OneOf | Both | Either | Branch

ALWAYS = Both(())
NEVER = Either(())


def tree_of(  # noqa: PLR0911 -- one branch per kind of node
    expression: Expression, *, negated: bool = False
) -> TruthTree:
    """Return the tree of an expression's effective boolean value, or of its negation."""
    match expression:
        case Boolean(value=value):
            return NEVER if value is negated else ALWAYS
        case And(parts=parts) | Or(parts=parts):
            found = tuple(tree_of(part, negated=negated) for part in parts)
            return either(found) if isinstance(expression, Or) is not negated else both(found)
        case Not(operand=operand):
            return tree_of(operand, negated=not negated)
        case Call(name="boolean", arguments=(operand,)):
            return tree_of(operand, negated=negated)
        case If(condition=condition, then=then, otherwise=otherwise):
            taken = both((tree_of(condition), tree_of(then, negated=negated)))
            return either((taken, both((tree_of(condition, negated=True), tree_of(otherwise, negated=negated)))))
        case Comparison(operator="=" | "!=" as operator, left=left, right=right) if _are_truths(left, right):
            same = (operator == "=") is not negated
            agreed = both((tree_of(left), tree_of(right, negated=not same)))
            return either((agreed, both((tree_of(left, negated=True), tree_of(right, negated=same)))))
        case _:
            return Claim(expression, negated)


def _are_truths(left: Expression, right: Expression) -> bool:
    return kind_of(left) == kind_of(right) == "boolean"


def both(parts: Iterable[TruthTree]) -> TruthTree:
    """All parts hold."""
    kept: dict[TruthTree, None] = {}
    for part in parts:
        kept |= dict.fromkeys(part.parts if isinstance(part, Both) else (part,))
    if NEVER in kept or any(_opposite(part) in kept for part in kept):
        return NEVER
    found = tuple(kept)
    return found[0] if len(found) == 1 else Both(found)


def either(parts: Iterable[TruthTree]) -> TruthTree:
    """Some part holds; what several parts ask together is written once."""
    kept: dict[TruthTree, None] = {}
    for part in parts:
        kept |= dict.fromkeys(part.parts if isinstance(part, Either) else (part,))
    if ALWAYS in kept or any(_opposite(part) in kept for part in kept):
        return ALWAYS
    found = _absorbed(_merged(list(kept)))
    return found[0] if len(found) == 1 else Either(tuple(found))


def branch(condition: OneOf, then: TruthTree, otherwise: TruthTree) -> TruthTree:
    """One tree where a field has one of some labels, another where it has not."""
    return then if then == otherwise else Branch(condition, then, otherwise)


def _opposite(leaf: TruthTree) -> TruthTree | None:
    match leaf:
        case Claim(expression=expression, negated=negated):
            return Claim(expression, not negated)
        case OneOf(field=field, labels=labels, negated=negated):
            return OneOf(field, labels, not negated)
        case _:
            return None


def _parts(tree: TruthTree) -> tuple[TruthTree, ...]:
    return tree.parts if isinstance(tree, Both) else (tree,)


def _merged(trees: list[TruthTree]) -> list[TruthTree]:
    """Write two alternatives as one where they differ in one part: ``(a and b) or (a and c)`` is ``a and (b or c)``.

    Each step takes one alternative away, so that it ends.
    """
    while (pair := _alike(trees)) is not None:
        first, own, second, other = pair
        joined = _united(own, other)
        trees[first] = both(joined if part is own else part for part in _parts(trees[first]))
        del trees[second]
    return trees


def _alike(trees: list[TruthTree]) -> tuple[int, TruthTree, int, TruthTree] | None:
    """Find two alternatives that differ in one part, and these parts."""
    seen: dict[tuple[frozenset[TruthTree], FieldRef | None], tuple[int, TruthTree]] = {}
    for at, tree in enumerate(trees):
        parts = _parts(tree)
        for part in parts:
            rest = frozenset(other for other in parts if other is not part)
            listed = isinstance(part, OneOf) and not part.negated
            if not rest and not listed:
                continue
            first, own = seen.setdefault((rest, None if rest else part.field), (at, part))  # type: ignore[union-attr]
            if first != at:
                return first, own, at, part
    return None


def _united(one: TruthTree, other: TruthTree) -> TruthTree:
    match one, other:
        case OneOf(field=field, negated=False), OneOf(negated=False) if field == other.field:
            return OneOf(field, one.labels | other.labels)
        case _:
            return either((one, other))


def _absorbed(trees: list[TruthTree]) -> list[TruthTree]:
    """Drop alternatives that ask all that another one asks, and more."""
    sets = [frozenset(_parts(tree)) for tree in trees]
    return [tree for tree, own in zip(trees, sets, strict=True) if not any(other < own for other in sets)]


def leaves(tree: TruthTree) -> Iterator[Claim | OneOf]:
    """Yield the leaves in order."""
    match tree:
        case Claim() | OneOf():
            yield tree
        case Both(parts=parts) | Either(parts=parts):
            for part in parts:
                yield from leaves(part)
        case Branch(condition=condition, then=then, otherwise=otherwise):
            for part in (condition, then, otherwise):
                yield from leaves(part)
        case _:
            assert_never(tree)


def replaced(tree: TruthTree, change: Callable[[Claim], TruthTree]) -> TruthTree:
    """Put a tree in the place of each condition; the same one in the place of conditions that are alike."""
    change = cache(change)

    def within(inner: TruthTree) -> TruthTree:
        match inner:
            case Claim():
                return change(inner)
            case OneOf():
                return inner
            case Both(parts=parts):
                return both(within(part) for part in parts)
            case Either(parts=parts):
                return either(within(part) for part in parts)
            case Branch(condition=condition, then=then, otherwise=otherwise):
                return branch(condition, within(then), within(otherwise))
            case _:
                assert_never(inner)

    return within(tree)
