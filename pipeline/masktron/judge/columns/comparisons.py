"""Comparisons and truth values over a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.judge.columns.items import (
    NO,
    YES,
    Bools,
    Doubles,
    Doubt,
    Item,
    Items,
    Node,
    NotColumnar,
    Number,
    String,
    TruthValue,
    Untyped,
    boolean,
    constant_of,
    literal,
    some,
)
from masktron.judge.columns.number_items import as_double, together
from masktron.judge.columns.state import FieldSource
from masktron.judge.columns.string_items import as_text, at_most_one, atomized, code_table
from masktron.rulebook.expressions.tree import MIRRORED, RELATIONS

MAX_PAIRS = 2048


def general(sign: str, left: Items, right: Items, source: FieldSource) -> Items:
    """Return whether some item on the left stands in a relation to some item on the right."""
    doubt = Doubt(left.unsure, right.unsure)
    ones, others = atomized(left).items, atomized(right).items
    if len(ones) == 1 == len(others):
        values = constant_of(ones[0]), constant_of(others[0])
        if all(isinstance(value, str) for value in values):
            return Items((literal(bool(RELATIONS[sign](*values))),), doubt.mask)
    if sign == "=" and len(others) > 1 and all(constant_of(item) is not None for item in others):
        found = _among(ones, others, source, doubt)
        if found is not None:
            return boolean(found, doubt.mask)
    if len(ones) * len(others) > MAX_PAIRS:
        raise NotColumnar("a comparison of two long sequences")
    return boolean(some_pair(sign, ones, others, source, doubt, general=True), doubt.mask)


def some_pair(
    sign: str, ones: Iterable[Item], others: Sequence[Item], source: FieldSource, doubt: Doubt, *, general: bool
) -> Bools:
    """Return where some value of the first stands in a relation to some of the others."""
    holds = NO
    for a in ones:
        for b in others:
            there, alike = together(a, b), related(sign, a, b, source, doubt, general=general)
            found = alike if there is YES else there & alike
            holds = found if holds is NO else holds | found
    return holds


def by_value(sign: str, left: Items, right: Items, source: FieldSource) -> Items:
    """Return the value of ``eq`` and its like: empty where an operand is empty."""
    doubt = Doubt()
    ones = at_most_one(left, doubt)
    others = at_most_one(right, doubt)
    results: list[Item] = [
        TruthValue(together(a, b), related(sign, a, b, source, doubt, general=False)) for a in ones for b in others
    ]
    return Items(tuple(results), doubt.mask)


def related(sign: str, a: Item, b: Item, source: FieldSource, doubt: Doubt, *, general: bool) -> Bools:
    """Return where two values stand in a relation; what it says where one of them is absent means nothing."""
    match a, b:
        case (Number(), Number()):
            return np.asarray(RELATIONS[sign](a.value, b.value))
        case (Untyped(), String() | Untyped()) if (order := _order(sign, a, b, source)) is not None:
            return np.asarray(RELATIONS[sign](order, 0))
        case (String(), Untyped()):
            return related(MIRRORED[sign], b, a, source, doubt, general=general)
        case (String() | Untyped(), String() | Untyped()):
            return texts_related(sign, as_text(a, source, doubt), as_text(b, source, doubt))
        case (TruthValue(), TruthValue()):
            return np.asarray(RELATIONS[sign](a.holds, b.holds))
        case (Untyped(), _) | (_, Untyped()) if general:
            return _untyped(sign, a, b, source, doubt)
        case _:
            raise NotColumnar("a type error: values of different types are compared")


def _order(sign: str, a: Untyped, b: String | Untyped, source: FieldSource) -> NDArray[np.int8] | None:
    """Return how a field and another, or a constant, follow each other, without a text for each distinct value."""
    other = b.at if isinstance(b, Untyped) else constant_of(b)
    return source.order(a.at, other, alike=sign in ("=", "!=")) if isinstance(other, int | str) else None


def _untyped(sign: str, a: Item, b: Item, source: FieldSource, doubt: Doubt) -> Bools:
    if isinstance(b, Untyped):
        return _untyped(MIRRORED[sign], b, a, source, doubt)
    if not isinstance(b, Number):
        raise NotColumnar("a field is compared with a truth value")
    mine = Doubt()
    number = as_double(a, source, mine)
    mine.add(_signed_zeros(number.value, b.value))
    doubt.add(mine.mask if mine.mask is NO else some(mine.mask & a.present))
    return np.asarray(RELATIONS[sign](number.value, b.value))


def _signed_zeros(a: Doubles, b: Doubles) -> Bools:
    """Return where a negative zero meets a zero.

    To Saxon they differ where one of them comes from an untyped value, unless the other is an integer literal.
    """
    zeros = some((a == 0) & (b == 0))
    return NO if zeros is NO else some(zeros & (np.signbit(a) | np.signbit(b)))


def texts_related(sign: str, a: String, b: String) -> Bools:
    """Compare strings by code points."""
    relation = RELATIONS[sign]
    if len(b.values) == 1:
        return np.asarray(code_table((relation(v, b.values[0]) for v in a.values), np.bool_)[a.codes])
    if len(a.values) == 1:
        return np.asarray(code_table((relation(a.values[0], v) for v in b.values), np.bool_)[b.codes])
    known = {*a.values, *b.values}
    ordered = sorted(known) if sign not in ("=", "!=") else known
    rank = {value: k for k, value in enumerate(ordered)}
    mine = code_table((rank[v] for v in a.values), np.int64)[a.codes]
    other = code_table((rank[v] for v in b.values), np.int64)[b.codes]
    return np.asarray(relation(mine, other))


def _among(ones: tuple[Item, ...], others: tuple[Item, ...], source: FieldSource, doubt: Doubt) -> Bools | None:
    """Return whether an item is one of many constants; None where they are not all strings or all numbers."""
    strings = frozenset(str(c) for item in others if isinstance(c := constant_of(item), str))
    numeric = all(isinstance(item, Number) for item in others)
    if not numeric and not all(isinstance(item, String) for item in others):
        return None
    if not all(isinstance(one, Untyped if numeric else (Untyped, String)) for one in ones):
        return None
    holds = NO
    values = np.concatenate([as_double(item, source, doubt).value for item in others]) if numeric else None
    for one in ones:
        if values is None:
            text = as_text(one, source, doubt)
            found = code_table((v in strings for v in text.values), np.bool_)[text.codes]
        else:
            number = as_double(one, source, doubt).value
            found = np.isin(number, values)
            doubt.add(some((number == 0) & np.signbit(number) & one.present) if 0 in values else NO)
        holds = holds | (one.present & found)
    return holds


def effective(items: Items, source: FieldSource) -> Items:
    """Return the effective boolean value of a sequence, as a sequence."""
    return boolean(*holding(items, source))


def holding(items: Items, source: FieldSource) -> tuple[Bools, Bools]:
    """Return where a sequence is effectively true, and where an engine has to say."""
    doubt = Doubt(items.unsure)
    if not items.single and not all(isinstance(item, Node) for item in items.items):
        doubt.add(some(items.count > 1))
    holds = NO
    for item in items.items:
        true = _effective(item, source)
        found = true if item.present is YES else item.present & true
        holds = found if holds is NO else holds | found
    return holds, doubt.mask


def _effective(item: Item, source: FieldSource) -> Bools:
    match item:
        case Node():
            return YES
        case Untyped():
            return source.filled(item.at)
        case String():
            return np.asarray(code_table((bool(v) for v in item.values), np.bool_)[item.codes])
        case TruthValue():
            return item.holds
        case Number():
            return np.asarray((item.value != 0) & ~np.isnan(item.value))


def conjunction(left: Items, right: Items, source: FieldSource) -> Items:
    """``and``: an operand that is false decides, whatever the other is; Saxon lets no error stand against it."""
    holds, unsure = holding(left, source)
    other, unknown = holding(right, source)
    if unsure is NO and unknown is NO:
        return boolean(holds & other)
    false = (~holds & ~unsure) | (~other & ~unknown)
    return boolean(holds & other & ~false, some((unsure | unknown) & ~false))


def disjunction(left: Items, right: Items, source: FieldSource) -> Items:
    """``or``: an operand that is true decides, whatever the other is; Saxon lets no error stand against it."""
    holds, unsure = holding(left, source)
    other, unknown = holding(right, source)
    if unsure is NO and unknown is NO:
        return boolean(holds | other)
    true = (holds & ~unsure) | (other & ~unknown)
    return boolean(true, some((unsure | unknown) & ~true))
