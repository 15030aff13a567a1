"""Conversions between numbers and texts as the Recommendation of XPath 1.0 has them, called by libxml2.

They stand in stylesheets where `masktron.evaluation.conversions` puts them. A set of nodes comes as a list of
elements and texts in the order of the document; libxml2's Python interface leaves document nodes out of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from lxml import etree

from masktron.evaluation.conversions import URI
from masktron.sources.lexical import is_misread, xpath1_number, xpath1_text

_REMEMBERED = 1 << 16
"""Texts whose numbers are kept."""

read_number = lru_cache(maxsize=_REMEMBERED)(xpath1_number)
"""`masktron.sources.lexical.xpath1_number`, which is asked for the same codes and amounts again and again."""
misread = lru_cache(maxsize=_REMEMBERED)(is_misread)
"""`masktron.sources.lexical.is_misread`, likewise."""

_string_of = etree.XPath("string()")
_is_plain = etree.XPath(
    "not(descendant-or-self::*/@* or */* or */node()[2] or .//comment() or .//processing-instruction())"
)
RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "=": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)


def string_value(node: Any) -> str:
    """Return the string-value of a node, as libxml2's Python interface hands it over."""
    if isinstance(node, str):
        return node
    if isinstance(node, tuple):  # a namespace: its prefix and URI
        return str(node[1])
    if len(node) or not isinstance(node.tag, str):
        return (node.text or "") if not isinstance(node.tag, str) else str(_string_of(node))
    return node.text or ""


def _number(_context: Any, value: Any) -> float:
    if isinstance(value, list):
        return read_number(string_value(value[0])) if value else float("nan")
    return read_number(value) if isinstance(value, str) else float(value)


def _string(_context: Any, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return xpath1_text(value)
    return value if isinstance(value, str) else string_value(value[0]) if value else ""


def _sum(_context: Any, nodes: Any) -> float:
    total = 0.0
    for node in nodes:
        total += read_number(string_value(node))
    return total


def _compare(_context: Any, symbol: str, left: Any, right: Any) -> bool:
    """Compare as section 3.4 says."""
    relation = RELATIONS[symbol]
    equality = symbol in ("=", "!=")
    if isinstance(left, bool) or isinstance(right, bool):
        one, other = _truth(left), _truth(right)
        if equality:
            return relation(one, other)
        # in an order both are numbers, but a set of nodes meets a boolean as one
        return relation(_ordered(left), _ordered(right))
    if isinstance(left, list) or isinstance(right, list):
        as_texts = equality and not (isinstance(left, float) or isinstance(right, float))
        read = (lambda item: item) if as_texts else _item_number
        others = [read(item) for item in _items(right)]
        return any(relation(one, other) for one in map(read, _items(left)) for other in others)
    if equality and isinstance(left, str) and isinstance(right, str):
        return relation(left, right)
    return relation(_item_number(left), _item_number(right))


def _truth(value: Any) -> bool:
    if isinstance(value, float):
        return value != 0 and value == value  # noqa: PLR0124 -- NaN
    return bool(value)


def _ordered(value: Any) -> float:
    return float(bool(value)) if isinstance(value, list | bool) else _item_number(value)


def _items(value: Any) -> Iterator[Any]:
    return map(string_value, value) if isinstance(value, list) else iter((value,))


def _item_number(item: Any) -> float:
    return read_number(item) if isinstance(item, str) else float(item)


FUNCTIONS: Mapping[tuple[str, str], Callable[..., Any]] = MappingProxyType(
    {(URI, "number"): _number, (URI, "string"): _string, (URI, "sum"): _sum, (URI, "compare"): _compare}
)
"""Extension functions for libxslt, by namespace and name."""


def misreads(element: etree._Element) -> bool:
    """Tell whether libxml2 misreads a value in an element: that of a node in it, or its own."""
    texts = [str(text) for text in element.itertext()]
    if any(map(misread, texts)) or is_misread("".join(texts)):
        return True
    # of an element with plain fields only these texts and their sequence are values
    return not _is_plain(element) and _misreads_below(element)


def _misreads_below(element: etree._Element) -> bool:
    for node in element.iter():
        text = node.text
        if text and misread(text):
            return True
        if len(node):
            if any(child.tail and misread(child.tail) for child in node):
                return True
            if node.tag is not etree.Entity and is_misread(str(_string_of(node))):
                return True
        if any(map(misread, node.values())):
            return True
    return False
