"""The functions of XPath 1.0 (section 4) over columns, as libxml2 has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.coded import Coded, constant, distinct, mapped, truth_of
from masktron.evaluation.columns.kleene import negated, sure
from masktron.evaluation.columns.outcome import NotColumnar, Truth
from masktron.evaluation.columns.xpath1_order import first, places
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
from masktron.sources.lexical import XML_SPACE
from masktron.sources.records import Layout

_INT_MAX = 2**31 - 1
_SPACES = re.compile(f"[{XML_SPACE}]+")


def call(name: str, arguments: Sequence[Value], here: Callable[[], Nodes], layout: Layout) -> Value:
    """Return a function call.

    Parameters
    ----------
    name : str
    arguments : sequence of Value
    here : callable
        The context node, where the function takes it for a missing argument.
    layout : Layout

    Raises
    ------
    NotColumnar
        The function, or its number or types of arguments, have no evaluation over columns.
    """
    given = len(arguments)
    if name in _ON_CONTEXT and not given:
        arguments = (here(),)
    if name in _NAMES and len(arguments) == 1:
        return _named(name, _node_set(name, arguments[0]), layout)
    if name in ("sum", "count") and given == 1:
        nodes = _node_set(name, arguments[0])
        return _sum(nodes) if name == "sum" else _count(nodes)
    if name in ("true", "false") and not given:
        return Boolean(frozenset(), lambda batch: sure(name == "true"))
    if len(arguments) == 1 and name in _OF_ONE:
        return _OF_ONE[name](arguments[0])
    least, most, make = _OF_TEXTS.get(name, (1, 0, None))
    if make is None or not least <= given <= most:
        raise NotColumnar(f"{name}() with {given} arguments")
    return make(arguments)


def _node_set(name: str, value: Value) -> Nodes:
    if not isinstance(value, Nodes):
        raise NotColumnar(f"{name}() of what is no node-set")
    return value


def _not(value: Value) -> Boolean:
    truth = to_boolean(value)
    return Boolean(truth.fields, lambda batch: negated(truth.of(batch)))


def _rounded(value: Value, function: Callable[[NDArray[np.float64]], Any]) -> Number:
    number = to_number(value)

    def of(batch: Batch) -> Figures:
        figures = number.of(batch)
        return Figures(np.asarray(function(figures.values)), figures.unsure)

    return Number(number.fields, of)


def _half_up(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to the nearest integer, halves upwards; what is rounded to 0 keeps its sign."""
    with np.errstate(invalid="ignore"):
        below = np.floor(values)
        up = np.where(values - below >= 0.5, below + 1.0, below)
        return np.where((values >= -0.5) & (values < 0.5), values * 0.0, up)


def _string_length(value: Value) -> Number:
    return _number_of(to_string(value), len)


def _number_of(text: String, function: Callable[[str], int]) -> Number:
    def of(batch: Batch) -> Figures:
        coded = mapped(function, [text.of(batch)])
        return Figures(np.array(coded.values, dtype=np.float64)[coded.codes], coded.unsure)

    return Number(text.fields, of)


def _normalized(value: Value) -> String:
    return _text_from(_normal, [to_string(value)])


def _normal(text: str) -> str:
    return _SPACES.sub(" ", text.strip(XML_SPACE))


def _text_from(function: Callable[..., str], parts: Sequence[String | Number]) -> String:
    return String(_fields(parts), lambda batch: mapped(function, [_coded(part, batch) for part in parts]))


def _coded(part: String | Number, batch: Batch) -> Coded[Any]:
    if isinstance(part, String):
        return part.of(batch)
    figures = part.of(batch)
    return distinct(figures.values, figures.unsure)


def _fields(parts: Sequence[Value]) -> frozenset[int]:
    return frozenset().union(*(part.fields for part in parts))


def _truth_from(function: Callable[..., bool], arguments: Sequence[Value]) -> Boolean:
    parts = [to_string(argument) for argument in arguments]
    return Boolean(_fields(parts), lambda batch: truth_of(mapped(function, [part.of(batch) for part in parts])))


def _texts_from(function: Callable[..., str], arguments: Sequence[Value]) -> String:
    return _text_from(function, [to_string(argument) for argument in arguments])


def _concatenated(*texts: str) -> str:
    return "".join(texts)


def _contains(text: str, part: str) -> bool:
    return part in text


def _before(text: str, mark: str) -> str:
    head, found, _ = text.partition(mark) if mark else ("", "", "")
    return head if found else ""


def _after(text: str, mark: str) -> str:
    return text.partition(mark)[2] if mark else text


def _translated(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for k, character in enumerate(old):
        table.setdefault(ord(character), new[k] if k < len(new) else None)
    return text.translate(table)


def _substring(arguments: Sequence[Value]) -> String:
    return _text_from(_part, [to_string(arguments[0]), *(to_number(argument) for argument in arguments[1:])])


def _part(text: str, start: float, length: float | None = None) -> str:
    """Return the characters whose position p, from 1, has ``round(start) <= p < round(start) + round(length)``."""
    begin = _nearest(start)
    end = np.inf if length is None else begin + _nearest(length)
    if np.isnan(begin) or np.isnan(end):
        return ""
    low = int(min(max(begin, 1.0), _INT_MAX))
    high = int(min(max(end, 1.0), _INT_MAX))
    return text[low - 1 : high - 1] if low < high else ""


def _nearest(number: float) -> float:
    below = np.floor(number)
    return float(below + 1.0) if number - below >= 0.5 else float(below)


def _count(nodes: Nodes) -> Number:
    def of(batch: Batch) -> Figures:
        values = np.zeros((), dtype=np.float64)
        unsure = np.zeros((), dtype=np.bool_)
        for member in nodes.members:
            present = member.present(batch)
            values = values + present.holds
            unsure = unsure | present.unsure
        return Figures(values, unsure)

    return Number(nodes.fields, of)


def _sum(nodes: Nodes) -> Number:
    """Sum in the order of the document, as libxml2 does: that of the records, not of the layout."""
    for member in nodes.members:
        field_of(member)

    def of(batch: Batch) -> Figures:
        present = [member.present(batch) for member in nodes.members]
        parts = [numbers_of(batch, field_of(member)) for member in nodes.members]
        unsure = reduce(np.logical_or, (_open(p, n) for p, n in zip(present, parts, strict=True)), np.zeros((), bool))
        values = [np.where(p.holds, n.values, 0.0) for p, n in zip(present, parts, strict=True)]
        if len(values) > 2:  # two numbers have the same sum in both orders
            order = np.argsort(places(nodes, batch, present)[0], axis=0, kind="stable")
            values = list(np.take_along_axis(np.array(values), order, axis=0))
        return Figures(np.asarray(sum(values, start=np.zeros((), dtype=np.float64))), unsure)

    return Number(nodes.held, of)


def _open(present: Truth, figures: Figures) -> NDArray[np.bool_]:
    return present.unsure | (present.holds & figures.unsure)


def _named(name: str, nodes: Nodes, layout: Layout) -> String:
    return String(nodes.fields, first(nodes, lambda member: _name_of(member, name, layout)))


def _name_of(member: Member, name: str, layout: Layout) -> Callable[[Batch], Coded[str]]:
    tag = layout.record_tag if member.node is None else layout.fields[member.node].tag
    uri, _, local = tag.rpartition("}")
    if name == "name" and uri and not member.text:
        raise NotColumnar("name() in a namespace: records may have different prefixes")
    text = "" if member.text else uri.removeprefix("{") if name == "namespace-uri" else local
    return lambda batch: constant(text)


_NAMES = frozenset({"name", "local-name", "namespace-uri"})
_ON_CONTEXT = _NAMES | {"string", "number", "string-length", "normalize-space"}
_OF_ONE: Mapping[str, Callable[[Value], Value]] = MappingProxyType(
    {
        "not": _not,
        "boolean": to_boolean,
        "number": to_number,
        "string": to_string,
        "string-length": _string_length,
        "normalize-space": _normalized,
        "floor": lambda value: _rounded(value, np.floor),
        "ceiling": lambda value: _rounded(value, np.ceil),
        "round": lambda value: _rounded(value, _half_up),
    }
)
_OF_TEXTS: Mapping[str, tuple[int, int, Callable[[Sequence[Value]], Value]]] = MappingProxyType(
    {
        "concat": (2, 100, lambda arguments: _texts_from(_concatenated, arguments)),
        "contains": (2, 2, lambda arguments: _truth_from(_contains, arguments)),
        "starts-with": (2, 2, lambda arguments: _truth_from(str.startswith, arguments)),
        "substring-before": (2, 2, lambda arguments: _texts_from(_before, arguments)),
        "substring-after": (2, 2, lambda arguments: _texts_from(_after, arguments)),
        "translate": (3, 3, lambda arguments: _texts_from(_translated, arguments)),
        "substring": (2, 3, _substring),
    }
)
"""Fewest and most arguments, and what makes the expression."""
