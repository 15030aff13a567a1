"""Comparisons of XPath 1.0 (section 3.4) over columns: between all pairs of types, as libxml2 has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.bytewise import same
from masktron.evaluation.columns.coded import equal, texts_of
from masktron.evaluation.columns.kleene import both, either, negated, sure
from masktron.evaluation.columns.outcome import Truth
from masktron.evaluation.columns.xpath1_types import (
    Boolean,
    Figures,
    Member,
    Nodes,
    Number,
    String,
    Value,
    field_of,
    numbers_of,
)
from masktron.evaluation.columns.xpath1_values import to_boolean, to_number, to_string
from masktron.sources.columns import Batch

type Relation = Callable[[NDArray[np.float64], NDArray[np.float64]], Any]

RELATIONS: Mapping[str, Relation] = MappingProxyType(
    {
        "=": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }
)
_SWAPPED = MappingProxyType({"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="})


def compare(symbol: str, left: Value, right: Value) -> Boolean:
    """Return the comparison of two expressions."""
    if isinstance(left, Nodes) and isinstance(right, Nodes):
        return _sets(symbol, left, right)
    if isinstance(right, Nodes):
        left, right, symbol = right, left, _SWAPPED[symbol]
    if isinstance(left, Nodes) and not isinstance(right, Boolean):
        return _set_and_value(symbol, left, right)
    if symbol in ("=", "!="):
        return _values(symbol, left, right)
    return _numbers(symbol, to_number(_unset(left)), to_number(_unset(right)))


def _unset(value: Value) -> Value:
    return to_boolean(value) if isinstance(value, Nodes) else value


def _values(symbol: str, left: Value, right: Value) -> Boolean:
    """Compare for equality: as booleans if one is a boolean, else as numbers if one is, else as texts."""
    if isinstance(left, Boolean) or isinstance(right, Boolean):
        return _booleans(symbol, to_boolean(left), to_boolean(right))
    if isinstance(left, Number) or isinstance(right, Number):
        return _numbers(symbol, to_number(left), to_number(right))
    one, other = to_string(left), to_string(right)
    return Boolean(one.fields | other.fields, lambda batch: _signed(symbol, equal(one.of(batch), other.of(batch))))


def _booleans(symbol: str, left: Boolean, right: Boolean) -> Boolean:
    def of(batch: Batch) -> Truth:
        one, other = left.of(batch), right.of(batch)
        return _signed(symbol, Truth(np.asarray(one.holds == other.holds), one.unsure | other.unsure))

    return Boolean(left.fields | right.fields, of)


def _signed(symbol: str, same: Truth) -> Truth:
    return same if symbol == "=" else negated(same)


def _numbers(symbol: str, left: Number, right: Number) -> Boolean:
    relation = RELATIONS[symbol]
    return Boolean(left.fields | right.fields, lambda batch: _related(relation, left.of(batch), right.of(batch)))


def _related(relation: Relation, one: Figures, other: Figures) -> Truth:
    """Compare numbers; numpy's comparisons with NaN are those of XPath: false, apart from ``!=``."""
    return Truth(np.asarray(relation(one.values, other.values)), one.unsure | other.unsure)


def _set_and_value(symbol: str, nodes: Nodes, value: Value) -> Boolean:
    """Compare a node-set with a number or text: true if it is for one of the nodes."""
    if isinstance(value, Number) or symbol not in ("=", "!="):
        number = to_number(value)
        return _exists(nodes, number.fields, _each_number(RELATIONS[symbol], number))
    text = to_string(value)
    return _exists(nodes, text.fields, _each_text(symbol, text))


def _each_number(relation: Relation, number: Number) -> Callable[[int, Batch], Truth]:
    return lambda at, batch: _related(relation, numbers_of(batch, at), number.of(batch))


def _each_text(symbol: str, text: String) -> Callable[[int, Batch], Truth]:
    def holds(at: int, batch: Batch) -> Truth:
        alike = None if text.literal is None else same(batch, at, text.literal)
        known = equal(texts_of(batch, at), text.of(batch)) if alike is None else sure(alike)
        return _signed(symbol, known)

    return holds


def _exists(nodes: Nodes, fields: frozenset[int], holds: Callable[[int, Batch], Truth]) -> Boolean:
    """Return whether a field that is there satisfies a condition."""
    tests = [_at_member(member, holds) for member in nodes.members]
    return Boolean(nodes.held | fields, lambda batch: reduce(either, (test(batch) for test in tests), sure(False)))


def _at_member(member: Member, holds: Callable[[int, Batch], Truth]) -> Callable[[Batch], Truth]:
    at = field_of(member)
    return lambda batch: both(member.present(batch), holds(at, batch))


def _sets(symbol: str, left: Nodes, right: Nodes) -> Boolean:
    """Compare two node-sets: true if it is for one pair of nodes, as texts for equality and as numbers for order."""
    pairs = [_pair(symbol, one, other) for one in left.members for other in right.members]
    return Boolean(left.held | right.held, lambda batch: reduce(either, (pair(batch) for pair in pairs), sure(False)))


def _pair(symbol: str, one: Member, other: Member) -> Callable[[Batch], Truth]:
    left, right = field_of(one), field_of(other)

    def holds(batch: Batch) -> Truth:
        if symbol in ("=", "!="):
            alike = same(batch, left, right)
            known = equal(texts_of(batch, left), texts_of(batch, right)) if alike is None else sure(alike)
            related = _signed(symbol, known)
        else:
            related = _related(RELATIONS[symbol], numbers_of(batch, left), numbers_of(batch, right))
        return both(both(one.present(batch), other.present(batch)), related)

    return holds
