"""Comparisons of XPath 1.0 (section 3.4): between all pairs of types."""

from __future__ import annotations

from dataclasses import replace

from masktron.evaluation.columns.comparisons import effective, some_pair
from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.items import NO, Double, Doubt, Items, TruthValue, boolean
from masktron.evaluation.columns.xpath1_values import is_set, nodes_of, number_in, text_in, to_number, to_text


def compare(sign: str, left: Items, right: Items, source: FieldSource) -> Items:
    """Return the comparison of two expressions: of node-sets, whether it is true for some pair of nodes.

    For equality both are booleans if one is a boolean, else numbers if one is a number, else texts; for order they
    are numbers.
    """
    if is_set(left) and is_set(right) and not (left.items and right.items):
        return boolean(NO, Doubt(left.unsure, right.unsure).mask)
    equality = sign in ("=", "!=")
    values = (*left.items, *right.items)
    if any(isinstance(item, TruthValue) for item in values):
        left, right = (effective(items, source) if equality or is_set(items) else items for items in (left, right))
    if equality and any(isinstance(item, TruthValue) for item in left.items):
        ones, others = left, right
    elif equality and not any(isinstance(item, Double) for item in values):
        ones, others = _texts(left, source), _texts(right, source)
    else:
        ones, others = _numbers(left, source), _numbers(right, source)
    doubt = Doubt(ones.unsure, others.unsure)
    return boolean(some_pair(sign, ones.items, others.items, source, doubt, general=False), doubt.mask)


def _texts(items: Items, source: FieldSource) -> Items:
    if is_set(items):
        return replace(items, items=tuple(text_in(node) for node in nodes_of(items)))
    return to_text(items, source)


def _numbers(items: Items, source: FieldSource) -> Items:
    if is_set(items):
        return replace(items, items=tuple(number_in(node, source) for node in nodes_of(items)))
    return to_number(items, source)
