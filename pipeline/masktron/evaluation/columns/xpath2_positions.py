"""Items of a sequence of XPath 2 and later by their position, over a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from masktron.evaluation.columns.items import Bools, Exact, Integers, Items, constant_of, joined, where
from masktron.evaluation.columns.outcome import NotColumnar


def at_position(items: Items, position: int) -> Items:
    """Return the item at a position, from 1."""
    return replace(_chosen(items, lambda place: place == position), single=True, ordered=True)


def at_the_end(items: Items) -> Items:
    """Return the last item."""
    if items.single:
        return items
    count = items.count
    return replace(_chosen(items, lambda place: place == count), single=True, ordered=True)


def _chosen(items: Items, wanted: Callable[[Integers], Bools]) -> Items:
    if not items.ordered and not items.single:
        raise NotColumnar("the order of fields in a record")
    chosen = []
    before = np.zeros(1, dtype=np.int64)
    for item in items.items:
        chosen.append(where(item, wanted(before + 1)))
        before = before + item.present
    return Items(tuple(chosen), items.unsure, items.single, items.ordered or items.single)


def from_position(items: Items, start: Items, length: Items | None = None) -> Items:
    """``subsequence()`` with integer literals."""
    first = _integer(start)
    end = None if length is None else first + _integer(length)
    return _chosen(items, lambda place: (place >= first) & (True if end is None else place < end))


def without(items: Items, position: Items) -> Items:
    """``remove()`` with an integer literal."""
    gone = _integer(position)
    return _chosen(items, lambda place: place != gone)


def inserted(items: Items, position: Items, others: Items) -> Items:
    """``insert-before()`` with an integer literal."""
    at = _integer(position)
    head = _chosen(items, lambda place: place < at)
    rest = _chosen(items, lambda place: place >= at)
    return joined([head, others, rest])


def backwards(items: Items) -> Items:
    """``reverse()``"""
    return replace(items, items=items.items[::-1])


def _integer(items: Items) -> int:
    item = items.items[0] if len(items.items) == 1 else None
    value = constant_of(item) if isinstance(item, Exact) and item.integer else None
    if value is None:
        raise NotColumnar("a position that is not an integer literal")
    return int(value)
