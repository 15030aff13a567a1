"""Conversions between the types of XPath 1.0 (section 4) over columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from masktron.evaluation.columns.coded import Coded, distinct, mapped, texts_of, truth_of
from masktron.evaluation.columns.kleene import either, sure
from masktron.evaluation.columns.outcome import Truth
from masktron.evaluation.columns.xpath1_order import first
from masktron.evaluation.columns.xpath1_types import (
    Boolean,
    Figures,
    Nodes,
    Number,
    String,
    Value,
    field_of,
    numbers_of,
)
from masktron.sources.columns import Batch
from masktron.sources.lexical import xpath1_number, xpath1_text


def to_boolean(value: Value) -> Boolean:
    """Convert as ``boolean()`` does."""
    match value:
        case Boolean():
            return value
        case Number(fields, figures):
            return Boolean(fields, lambda batch: _nonzero(figures(batch)))
        case String(fields, text):
            return Boolean(fields, lambda batch: truth_of(mapped(bool, [text(batch)])))
        case Nodes(members):
            present = [member.present for member in members]
            return Boolean(
                value.fields, lambda batch: reduce(either, (there(batch) for there in present), sure(False))
            )


def _nonzero(figures: Figures) -> Truth:
    return Truth((figures.values != 0) & ~np.isnan(figures.values), figures.unsure)


def to_number(value: Value) -> Number:
    """Convert as ``number()`` does."""
    match value:
        case Number():
            return value
        case Boolean(fields, truth):
            return Number(fields, lambda batch: _as_figures(truth(batch)))
        case Nodes((), _):
            return Number(value.held, lambda batch: Figures(np.array(np.nan), np.zeros((), dtype=np.bool_)))
        case Nodes((member,), _):
            at = field_of(member)
            return Number(value.held, lambda batch: _number_where(member.present(batch), numbers_of(batch, at)))
        case String() | Nodes():
            text = to_string(value)
            return Number(text.fields, lambda batch: _parsed(text.of(batch)))


def _as_figures(truth: Truth) -> Figures:
    return Figures(truth.holds.astype(np.float64), truth.unsure)


def _number_where(present: Truth, figures: Figures) -> Figures:
    return Figures(np.where(present.holds, figures.values, np.nan), present.unsure | (present.holds & figures.unsure))


def _parsed(text: Coded[str]) -> Figures:
    values = np.array([xpath1_number(value) for value in text.values], dtype=np.float64)
    return Figures(values[text.codes], text.unsure)


def to_string(value: Value) -> String:
    """Convert as ``string()`` does: of a node-set, the first node in the order of the document."""
    match value:
        case String():
            return value
        case Boolean(fields, truth):
            return String(fields, lambda batch: _words(truth(batch)))
        case Number(fields, figures):
            return String(fields, lambda batch: _written(figures(batch)))
        case Nodes():
            return String(value.held, first(value, lambda member: _text_of(field_of(member))))


def _text_of(at: int) -> Callable[[Batch], Coded[str]]:
    return lambda batch: texts_of(batch, at)


def _words(truth: Truth) -> Coded[str]:
    return Coded(truth.holds.astype(np.int64), ("false", "true"), truth.unsure)


def _written(figures: Figures) -> Coded[str]:
    coded = distinct(figures.values, figures.unsure)
    return Coded(coded.codes, [xpath1_text(float(number)) for number in coded.values], coded.unsure)
