"""Plain rules as somebody would write them: sets, ranges, absolute values, and if ... then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, cast

from masktron.rulebook.plain.conditions import FLIPPED
from masktron.rulebook.plain.tree import (
    Arithmetic,
    Call,
    Compared,
    If,
    In,
    Joined,
    Negative,
    Node,
    Not,
    Number,
    Range,
    Text,
    Truth,
)


def join(operator: str, parts: Iterable[Node]) -> Node:
    """Join conditions, without brackets within brackets, and each once."""
    found: dict[Node, None] = {}
    for part in parts:
        found |= dict.fromkeys(part.parts if isinstance(part, Joined) and part.operator == operator else (part,))
    neutral = Truth(operator == "and")
    if Truth(operator != "and") in found:
        return Truth(operator != "and")
    each = [one for one in found if one != neutral]
    if not each:
        return neutral
    return each[0] if len(each) == 1 else Joined(cast(Literal["and", "or"], operator), tuple(each))


def folded(node: Node) -> Node:
    """Return a condition that says the same in fewer words.

    Parameters
    ----------
    node : Node
        With ``not`` at comparisons alone.
    """
    match node:
        case Joined(operator, parts):
            each = [*dict.fromkeys(folded(part) for part in parts)]
            return (_all_of if operator == "and" else _any_of)(each)
        case Not(Compared("==", left, right)):
            return Compared("!=", left, right)
        case Compared(operator, Number() | Negative(Number()) as left, right) if not isinstance(right, Number):
            return Compared(FLIPPED[operator], right, left)
        case Not(Compared(operator, left, right)):
            return Not(folded(node.of))
    return node


def _all_of(parts: list[Node]) -> Node:
    parts = _paired(parts, _range)
    parts = _paired(parts, _absolute)
    parts = _paired(parts, _otherwise)
    return join("and", _paired(parts, _in_neither))


def _any_of(parts: list[Node]) -> Node:
    parts = _paired(parts, _absolute_above)
    parts = _paired(parts, _in_either)
    conditions = [(part, _negated(part)) for part in parts]
    premises = [premise for _, premise in conditions if premise is not None]
    conclusions = [part for part, premise in conditions if premise is None]
    if not premises or len(parts) == 1:
        return join("or", parts)
    if not conclusions:
        premises.pop()
        conclusions.append(parts[-1])
    if not premises:
        return join("or", parts)
    return If(_all_of(premises), join("or", conclusions))


def _paired(parts: list[Node], fold: Callable[[Node, Node], Node | None]) -> list[Node]:
    """Put what two conditions say together in the place of the first, as often as there are two."""
    found: list[Node] = []
    for part in parts:
        for at, other in enumerate(found):
            both = fold(other, part)
            if both is not None:
                found[at] = both
                break
        else:
            found.append(part)
    return found


def _negated(node: Node) -> Node | None:
    """Return the premise of which a part of ``or`` is the opposite; None where it is none."""
    match node:
        case Not(of):
            return of
        case Compared("!=", left, right):
            return Compared("==", left, right)
        case Joined("and", parts):
            each = [_negated(part) for part in parts]
            return None if None in each else _any_of([one for one in each if one is not None])
    return None


def _range(one: Node, other: Node) -> Node | None:
    match one, other:
        case Compared(">=", value, low), Compared("<=", same, high):
            pass
        case Compared("<=", value, high), Compared(">=", same, low):
            pass
        case _:
            return None
    if value != same or isinstance(value, Number) or not all(map(_is_bound, (low, high))):
        return None
    return In(value, (Range(low, high),))


def _is_bound(node: Node) -> bool:
    return isinstance(node, Number) or (isinstance(node, Negative) and isinstance(node.of, Number))


def _absolute(one: Node, other: Node) -> Node | None:
    return _with_abs(one, other, ("<", "<="))


def _absolute_above(one: Node, other: Node) -> Node | None:
    return _with_abs(one, other, (">", ">="))


def _with_abs(one: Node, other: Node, signs: tuple[str, str]) -> Node | None:
    if not isinstance(one, Compared) or not isinstance(other, Compared):
        return None
    if one.operator != other.operator or one.operator not in signs or one.right != other.right:
        return None
    match one.left, other.left:
        case of, Negative(same) if same == of:
            return Compared(one.operator, Call("abs", (of,)), one.right)
        case Arithmetic("-", a, b), Arithmetic("-", c, d) if (a, b) == (d, c):
            return Compared(one.operator, Call("abs", (one.left,)), one.right)
    return None


def _otherwise(one: Node, other: Node) -> Node | None:
    match one, other:
        case If(condition, then, None), Joined("or", parts) if condition in parts:
            return If(condition, then, join("or", (part for part in parts if part != condition)))
    return None


def _in_neither(one: Node, other: Node) -> Node | None:
    either = None if (a := _negated(one)) is None or (b := _negated(other)) is None else _set(a, b)
    return None if either is None else Not(either)


def _in_either(one: Node, other: Node) -> Node | None:
    """Put two values of a field into a set, and the same questions before both once."""
    match one, other:
        case Joined("and", (*before, last)), Joined("and", (*same, final)) if before == same:
            both = _set(last, final)
            return None if both is None else join("and", (*before, both))
    return _set(one, other)


def _set(one: Node, other: Node) -> Node | None:
    sets = [*map(_as_set, (one, other))]
    if sets[0] is None or sets[1] is None or sets[0].value != sets[1].value:
        return None
    options = dict.fromkeys((*sets[0].options, *sets[1].options))
    if len({isinstance(option, Text) for option in options}) > 1:
        return None
    return In(sets[0].value, tuple(options))


def _as_set(node: Node) -> In | None:
    match node:
        case In(_, _, False):
            return node
        case Compared("==", value, Text() | Number() | Negative(Number()) as option) if not isinstance(value, Number):
            return In(value, (option,))
    return None
