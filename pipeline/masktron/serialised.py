"""Frozen values as plain data for JSON and back: the fields of a class by name, or the keys that it declares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import NoneType
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from masktron.problems.problem import Problem
from masktron.problems.wording import sentence

DIGITS = 6
"""Decimals of a number in a result."""
_AS_IS = frozenset({str, int, bool, NoneType})
"""What JSON holds as it is: most values of findings, of which there can be millions."""


class Serialised:
    """A dataclass that tells itself as plain data with stable keys.

    The keys are the names of its fields, in their order, unless the class declares them.

    Attributes
    ----------
    KEYS : str
        The keys in their order, with spaces between: names of fields or properties; ``key=name`` where both differ.
    EXACT : frozenset of str
        Names of those whose numbers are not rounded to `DIGITS` decimals.
    """

    __slots__ = ()
    KEYS: ClassVar[str] = ""
    EXACT: ClassVar[frozenset[str]] = frozenset()

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return told_by_key(self)


def told_by_key(result: Any, *, exact: bool = False) -> dict[str, Any]:
    """Return what a dataclass declares, key by key.

    Parameters
    ----------
    result : dataclass
        With ``KEYS`` and ``EXACT`` as `Serialised` has them, or without.
    exact : bool
        Round no number.
    """
    told = {}
    for key, name, as_is in _plan(result.__class__):
        value = getattr(result, name)
        told[key] = value if value.__class__ in _AS_IS else plain_data(value, exact=exact or as_is)
    return told


def plain_data(value: Any, *, exact: bool = False) -> Any:
    """Return a value as JSON can hold it: rounded, without NaN and infinity, results by key, sequences as lists.

    Parameters
    ----------
    value : object
        A named tuple becomes a table of its fields.
    exact : bool
        Round no number.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return (value if exact else round(value, DIGITS)) if math.isfinite(value) else None
    if isinstance(value, Serialised | Problem):
        return sentence(value) if isinstance(value, Problem) else value.as_dict()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict | Mapping):
        return {key: one if one.__class__ in _AS_IS else plain_data(one, exact=exact) for key, one in value.items()}
    if is_dataclass(value):
        return told_by_key(value, exact=exact)
    return [plain_data(one, exact=exact) for one in value]


def read_plain(kind: Any, value: Any, place: str) -> Any:
    """Read a value of a declared type from plain data: the other way round of `plain_data`.

    Parameters
    ----------
    kind : type
        A frozen dataclass, text, integer, number, fraction, true or false, anything; tuples, mappings by texts and
        alternatives to None of these. A number that is None is NaN. Keys that a class does not declare do not count.
    value : plain data
    place : str
        Where it stands, for messages: ``repeat.fields[2].gaps``; empty for the whole.

    Raises
    ------
    ValueError
        Something is missing, or of another type. It names the place, and no value.
    """
    whole: Any = get_origin(kind) or kind
    parts = get_args(kind)
    if value is None and (NoneType in parts or kind is float):
        return math.nan if kind is float else None
    if NoneType in parts:
        return read_plain(parts[0], value, place)
    expected, called = _EXPECTED.get(whole, (dict, "a table"))
    if not isinstance(value, expected) or (isinstance(value, bool) and whole in (int, float)):
        raise ValueError(f"{place} is not {called}")
    if whole is tuple:
        if parts[0] in _EXPECTED and all(one.__class__ is parts[0] for one in value):
            return tuple(value)  # of which there may be millions
        return tuple(read_plain(parts[0], one, f"{place}[{number}]") for number, one in enumerate(value))
    if whole is Mapping:
        return {key: read_plain(parts[1], one, f"{place}.{key}") for key, one in value.items()}
    return _read_one(whole, value, place)


def _read_one(whole: Any, value: Any, place: str) -> Any:
    if whole is Fraction:
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{place} is not an exact number") from None
    if whole in _EXPECTED:
        return float(value) if whole is float else value
    types, found = get_type_hints(whole), {}
    for key, name, _ in _plan(whole):
        if key in value:
            found[name] = read_plain(types[name], value[key], f"{place}.{key}".lstrip("."))
    lacking = [one.name for one in fields(whole) if one.default is one.default_factory is MISSING]
    if lost := [name for name in lacking if name not in found]:
        raise ValueError(f"{place}.{lost[0]} is missing".lstrip("."))
    return whole(**found)


_EXPECTED: Mapping[Any, tuple[Any, str]] = {
    Any: (object, "anything"),
    str: (str, "a text"),
    bool: (bool, "true or false"),
    int: (int, "an integer"),
    float: (int | float, "a number"),
    Fraction: (str, "an exact number"),
    tuple: (list, "a list"),
}
"""What plain data have for a type, and what messages call that."""


@cache
def _plan(kind: type[Any]) -> tuple[tuple[str, str, bool], ...]:
    """Return the keys of a class, each with the name of what it tells and whether its numbers are exact."""
    declared = getattr(kind, "KEYS", "").split() or [slot.name for slot in fields(kind)]
    exact: frozenset[str] = getattr(kind, "EXACT", frozenset())
    pairs = (entry.partition("=") for entry in declared)
    return tuple((key, name or key, (name or key) in exact) for key, _, name in pairs)
