"""``cast as``, ``castable as`` and constructor functions of XPath 2 and later over a batch."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from masktron.evaluation.columns.decimal_bounds import settled
from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.items import (
    NO,
    YES,
    Bools,
    Double,
    Doubt,
    Exact,
    Item,
    Items,
    Node,
    String,
    TruthValue,
    Untyped,
    boolean,
    some,
)
from masktron.evaluation.columns.number_items import LIMIT, as_double, exact_of_text, is_numeric_form, untyped_exact
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.string_items import as_text, at_most_one, atomized, tested
from masktron.sources.columns import NumberForm
from masktron.sources.lexical import XML_SPACE

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-?INF|NaN")


def cast(items: Items, target: str, source: FieldSource, *, optional: bool) -> Items:
    """Return a sequence of at most one item as another type.

    Parameters
    ----------
    target : str
        Local name of a type of XML Schema.
    optional : bool
        Whether the empty sequence is taken; else it is an error.
    """
    doubt = Doubt()
    parts = at_most_one(items, doubt)
    if not optional:
        doubt.add(some(items.count == 0))
    return Items(tuple(_cast(item, target, source, doubt) for item in parts), doubt.mask)


def _cast(item: Item, target: str, source: FieldSource, doubt: Doubt) -> Item:
    match target:
        case "string":
            return as_text(item, source, doubt)
        case "double":
            return as_double(item, source, doubt)
        case "decimal":
            return _decimal(item, source, doubt)
        case "integer":
            return _integer(item, source, doubt)
        case _:
            raise NotColumnar(f"the type xs:{target}")


def _decimal(item: Item, source: FieldSource, doubt: Doubt) -> Exact:
    match item:
        case Exact():
            return replace(item, integer=False)
        case Untyped():
            return untyped_exact(item, source, doubt, integer=False)
        case String():
            return exact_of_text(item, doubt, integer=False)
        case Double():
            whole = _truncated(item, doubt)
            doubt.add(some((whole.mantissa != item.value) & item.present))
            return Exact(item.present, whole.mantissa, 0, integer=False)
        case TruthValue():
            return Exact(item.present, item.holds.astype(np.int64), 0, integer=False)
        case _:
            raise NotColumnar("a node as a decimal")


def _integer(item: Item, source: FieldSource, doubt: Doubt) -> Exact:
    match item:
        case Exact():
            return _whole(item, doubt)
        case Untyped():
            return untyped_exact(item, source, doubt, integer=True)
        case String():
            return exact_of_text(item, doubt, integer=True)
        case Double():
            return _truncated(item, doubt)
        case TruthValue():
            return Exact(item.present, item.holds.astype(np.int64), 0, integer=True)
        case _:
            raise NotColumnar("a node as an integer")


def _whole(item: Exact, doubt: Doubt) -> Exact:
    if item.integer:
        return item
    settled(item, doubt)
    if item.scale == 0:
        return replace(item, integer=True)
    if item.scale > 18:
        doubt.add(item.present)
    sizes = np.abs(item.mantissa) // np.int64(10 ** min(item.scale, 18))
    return Exact(item.present, sizes * np.sign(item.mantissa), 0, integer=True)


def _truncated(item: Double, doubt: Doubt) -> Exact:
    lost = ~(np.abs(item.value) < float(LIMIT))
    doubt.add(some(lost & item.present))
    return Exact(item.present, np.where(lost, 0, np.trunc(item.value)).astype(np.int64), 0, integer=True)


def castable(items: Items, target: str, source: FieldSource, *, optional: bool) -> Items:
    """Return whether a sequence is one item (or none, if that is allowed) that can be cast to a type of numbers."""
    if target not in ("double", "decimal", "integer"):
        raise NotColumnar(f"castable as xs:{target}")
    doubt = Doubt(items.unsure)
    values = atomized(items)
    count = values.count
    holds = some(count == 0) if optional else NO
    for item in values.items:
        holds = holds | (item.present & (count == 1) & _castable(item, target, source, doubt))
    return boolean(holds, doubt.mask)


def _castable(item: Item, target: str, source: FieldSource, doubt: Doubt) -> Bools:
    match item:
        case Untyped():
            return _number_castable(item, target, source, doubt)
        case String():
            return _value_castable(item, target, source, doubt)
        case Double() if target != "double":
            return np.asarray(np.isfinite(item.value))
        case Node():
            raise NotColumnar("a node as a value")
        case _:
            return YES


def _number_castable(item: Untyped, target: str, source: FieldSource, doubt: Doubt) -> Bools:
    form = source.numbers(item.at).form
    plain = form == NumberForm.INTEGER if target == "integer" else is_numeric_form(form)
    other = some((form == NumberForm.OTHER) & item.present)
    if other is NO:
        return plain
    mine = Doubt()
    found = _value_castable(item, target, source, mine)
    doubt.add(some(mine.mask & other))
    return np.where(other, found, plain)


def _value_castable(item: Untyped | String, target: str, source: FieldSource, doubt: Doubt) -> Bools:
    text = as_text(item, source, doubt)
    return tested(lambda value: _reads_as(value.strip(XML_SPACE), target), text, doubt=doubt).holds


def _reads_as(text: str, target: str) -> bool | None:
    match target:
        case "double":
            return None if text == "+INF" else _DOUBLE.fullmatch(text) is not None
        case "decimal":
            return _DECIMAL.fullmatch(text) is not None
        case _:
            return _INTEGER.fullmatch(text) is not None
