"""Dates of XPath 2 and later over a batch: those without a time zone, in years of four digits."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

import numpy as np

from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.items import (
    Date,
    Days,
    Doubt,
    Exact,
    Integers,
    Item,
    Items,
    String,
    Untyped,
    some,
)
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.string_items import EPOCH, as_text, at_most_one, code_table
from masktron.sources.lexical import XML_SPACE

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_DAYS = re.compile(r"(-?)P([0-9]{1,6})D")
_MAYBE_DATE = re.compile(r"[-+0-9TZ:.]*")


def day_of(text: str) -> int | None:
    """Return the day, from 1970-01-01, of a plain date; None where it is none, or an engine should read it."""
    match = _DATE.fullmatch(text.strip(XML_SPACE))
    if match is None:
        return None
    try:
        return date(*map(int, match.groups())).toordinal() - EPOCH
    except ValueError:
        return None


def is_date(text: str) -> bool | None:
    """Tell whether a text is an ``xs:date``; None where an engine should say."""
    if day_of(text) is not None:
        return True
    match = _DATE.fullmatch(text)
    if match is not None:
        return None if int(match[1]) == 0 else False
    # zones, years of more digits and years before our era are read by an engine
    return None if _MAYBE_DATE.fullmatch(text) and text.count("-") >= 2 else False


def as_date(item: Item, source: FieldSource, doubt: Doubt) -> Date:
    """Return an item cast to ``xs:date``."""
    match item:
        case Date():
            return item
        case Untyped() | String():
            text = as_text(item, source, doubt)
            days = [day_of(value) for value in text.values]
            known = code_table((day is not None for day in days), np.bool_)[text.codes]
            doubt.add(some(~known & item.present))
            return Date(item.present, code_table((day or 0 for day in days), np.int64)[text.codes])
        case _:
            raise NotColumnar("a type error: a date is asked for")


def as_days(item: Item, doubt: Doubt) -> Days:
    """Return an item cast to ``xs:dayTimeDuration``: plain texts of whole days."""
    match item:
        case Days():
            return item
        case String():
            found = [_DAYS.fullmatch(value.strip(XML_SPACE)) for value in item.values]
            known = code_table((match is not None for match in found), np.bool_)[item.codes]
            doubt.add(some(~known & item.present))
            days = code_table((0 if m is None else int(f"{m[1]}{m[2]}") for m in found), np.int64)
            return Days(item.present, days[item.codes])
        case _:
            raise NotColumnar("a type error: a duration is asked for")


def moved(operator: str, a: Item, b: Item, doubt: Doubt) -> Item:
    """Return the difference of two dates, or a date so many days later or earlier."""
    match operator, a, b:
        case "-", Date(), Date():
            return Days(a.present & b.present, a.day - b.day)
        case "+" | "-", Date(), Days():
            day = a.day + b.day if operator == "+" else a.day - b.day
            present = a.present & b.present
            # years of four digits
            outside = (day < 1 - EPOCH) | (day > date.max.toordinal() - EPOCH)
            doubt.add(some(outside & present))
            return Date(present, np.where(outside, 0, day))
        case _:
            raise NotColumnar("arithmetic of dates")


def days_of(items: Items, source: FieldSource) -> Items:
    """``days-from-duration()``"""
    doubt = Doubt()
    parts = at_most_one(items, doubt)
    if any(not isinstance(part, Days) for part in parts):
        raise NotColumnar("a type error: a duration is asked for")
    days = [as_days(part, doubt) for part in parts]
    return Items(tuple(Exact(d.present, d.day, 0, integer=True) for d in days), doubt.mask)


def part_of(unit: Callable[[Date], Integers]) -> Callable[[Items, FieldSource], Items]:
    """Return a function of dates such as ``year-from-date()``."""

    def applied(items: Items, source: FieldSource) -> Items:
        doubt = Doubt()
        parts = at_most_one(items, doubt)
        if any(isinstance(part, String) for part in parts):
            raise NotColumnar("a type error: a date is asked for")
        dates = [as_date(part, source, doubt) for part in parts]
        return Items(tuple(Exact(d.present, unit(d), 0, integer=True) for d in dates), doubt.mask)

    return applied


def _days(item: Date, unit: str) -> Integers:
    return item.day.astype("datetime64[D]").astype(f"datetime64[{unit}]").astype(np.int64)


def year(item: Date) -> Integers:
    """Return the year."""
    return _days(item, "Y") + 1970


def month(item: Date) -> Integers:
    """Return the month, from 1."""
    return _days(item, "M") % 12 + 1


def day(item: Date) -> Integers:
    """Return the day of the month."""
    first = item.day.astype("datetime64[D]").astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return np.asarray(item.day - first + 1)
