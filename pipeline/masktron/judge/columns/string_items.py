"""Strings over a batch: every distinct value, or combination of values, is looked at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.judge.columns.items import (
    RECORD,
    YES,
    Bools,
    Doubt,
    Integers,
    Item,
    Items,
    Node,
    NotColumnar,
    Number,
    String,
    TruthValue,
    Untyped,
    some,
)
from masktron.judge.columns.state import FieldSource

_DENSE = 1 << 16
"""Up to so many possible combinations are marked in a table; more are sorted."""

type Dictionary = tuple[Integers, tuple[Any, ...]]
"""Codes of the records, and what each code means."""


def atomized(items: Items) -> Items:
    """Return the values of the nodes of a sequence, and its other items as they are."""
    if not any(isinstance(item, Node) for item in items.items):
        return items
    values = tuple(_value(item) for item in items.items)
    return Items(values, items.unsure, items.single, items.ordered)


def _value(item: Item) -> Item:
    if not isinstance(item, Node):
        return item
    if item.at == RECORD:
        raise NotColumnar("the text of a whole record")
    return Untyped(item.present, item.at)


def at_most_one(items: Items, doubt: Doubt) -> tuple[Item, ...]:
    """Return the values of a sequence of which one is asked for: alternatives of which no record has two."""
    doubt.add(items.unsure)
    values = atomized(items)
    if not values.single:
        doubt.add(some(values.count > 1))
    return values.items


def code_table(values: Iterable[Any], dtype: Any) -> NDArray[Any]:
    """Return what distinct values give, with one more entry for those that have no value."""
    found = list(values)
    table = np.zeros(len(found) + 1, dtype=dtype)
    table[: len(found)] = found
    return table


def as_text(item: Item, source: FieldSource, doubt: Doubt) -> String:
    """Return an item cast to ``xs:string``; numbers and nodes are none."""
    match item:
        case String():
            return item
        case Untyped():
            texts = source.texts(item.at)
            return String(item.present, texts.codes.astype(np.int64), texts.values)
        case TruthValue():
            return String(item.present, item.holds.astype(np.int64), ("false", "true"))
        case _:
            raise NotColumnar(f"a {'number' if isinstance(item, Number) else 'node'} as a text")


def one_text(items: Items, source: FieldSource, doubt: Doubt, *, cast: bool = False) -> String:
    """Return a sequence of at most one item as text, and the empty sequence as the empty text.

    Parameters
    ----------
    cast : bool
        Whether any atomic value is taken; else only untyped values and strings are, and the rest are type errors.
    """
    parts = at_most_one(items, doubt)
    if not cast and any(not isinstance(part, String | Untyped) for part in parts):
        raise NotColumnar("a type error: a string is asked for")
    texts = [as_text(part, source, doubt) for part in parts]
    return texts[0] if len(texts) == 1 and texts[0].present is YES else merged(texts)


def merged(texts: Iterable[String]) -> String:
    """Return alternatives, of which no record has two, as one text; it is empty where there is none."""
    values = [""]
    codes = np.zeros(1, dtype=np.int64)
    for text in texts:
        codes = np.where(text.present, text.codes + len(values), codes)
        values += text.values
        values.append("")
    return String(YES, codes, tuple(values))


def combined(function: Callable[..., Any], columns: Iterable[Dictionary]) -> tuple[Integers, list[Any]]:
    """Apply a function once to every distinct combination of values.

    Returns
    -------
    codes : ndarray of int64
    results : list
        The outcome for each code; None for a combination in which a column has no value.
    """
    rows: list[tuple[Any, ...]] = [()]
    codes = np.zeros(1, dtype=np.int64)
    for found, known in columns:
        column, values = found, known
        if (column < 0).any():
            column, values = np.where(column < 0, len(values), column), (*values, None)
        width = len(values)
        if width == 1:
            rows = [(*row, values[0]) for row in rows]
        elif len(rows) == 1:
            rows = [(*rows[0], value) for value in values]
            codes = column
        else:
            used, codes = _factorised(codes * width + column, len(rows) * width)
            rows = [(*rows[pair // width], values[pair % width]) for pair in used.tolist()]
    return codes, [None if None in row else function(*row) for row in rows]


def _factorised(codes: Integers, size: int) -> tuple[Integers, Integers]:
    """Return which of so many codes occur, and the place of each code among these."""
    if size > max(_DENSE, codes.size):
        used, found = np.unique(codes, return_inverse=True)
        return used, found
    occurs = np.zeros(size, dtype=np.bool_)
    occurs[codes] = True
    used = np.flatnonzero(occurs)
    places = np.zeros(size, dtype=np.int64)
    places[used] = np.arange(len(used))
    return used, places[codes]


def mapped(function: Callable[..., str | None], *texts: String, doubt: Doubt) -> String:
    """Return what a function of strings gives; None means that an engine has to say."""
    present, codes, results = _applied(function, texts, doubt)
    return String(present, codes, tuple("" if r is None else r for r in results))


def tested(function: Callable[..., bool | None], *texts: String, doubt: Doubt) -> TruthValue:
    """Return what a predicate of strings gives."""
    present, codes, results = _applied(function, texts, doubt)
    return TruthValue(present, np.array([bool(r) for r in results], dtype=np.bool_)[codes])


def measured(function: Callable[..., int], text: String, doubt: Doubt) -> Number:
    """Return what a function from strings to integers gives."""
    present, codes, results = _applied(function, (text,), doubt)
    return Number(present, np.array([r or 0 for r in results], dtype=np.float64)[codes], "integer")


def _applied(
    function: Callable[..., Any], texts: tuple[String, ...], doubt: Doubt
) -> tuple[Bools, Integers, list[Any]]:
    present = YES
    for text in texts:
        present = text.present if present is YES else present & text.present
    codes, results = combined(function, ((text.codes, text.values) for text in texts))
    unknown = np.array([r is None for r in results], dtype=np.bool_)
    if unknown.any():
        doubt.add(some(unknown[codes] & present))
    return present, codes, results
