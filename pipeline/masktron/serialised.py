"""Frozen values as plain data for JSON and back: the fields of a class by name, or the keys that it declares."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib import import_module
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeAliasType, Union, get_args, get_origin, get_type_hints

from masktron.declared import Taken
from masktron.problems.problem import Problem
from masktron.problems.wording import sentence

type Known = float
"""A number that every result has; others may be NaN, which is null in JSON."""
type Percent = float
"""From 0 to 100."""
type Share = float
"""From 0 to 1."""
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

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields, by name, that plain data tell in another way than `read_plain` takes them.

        Raises
        ------
        ValueError
            Something is of another type.
        """
        return {}


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


def read_plain(kind: Any, value: Any, place: str) -> Any:  # noqa: PLR0911 -- a kind of type each
    """Read a value of a declared type from plain data: the other way round of `plain_data`.

    Parameters
    ----------
    kind : type
        A frozen dataclass, a named tuple or an enumeration; text, integer, number, fraction, true or false, anything;
        one of several words; tuples, mappings by texts and alternatives of these. A number that is None is NaN. Keys
        that a class does not declare do not count.
    value : plain data
    place : str
        Where it stands, for messages: ``repeat.fields[2].gaps``; empty for the whole.

    Raises
    ------
    ValueError
        Something is missing, or of another type. It names the place, and no value.
    """
    if isinstance(kind, TypeAliasType):
        return read_plain(kind.__value__, value, place)
    if get_origin(kind) in (Annotated, Taken):
        return read_plain(get_args(kind)[0], value, place)  # what a declared setting holds
    whole: Any = get_origin(kind) or kind
    parts = get_args(kind)
    if value is None and (NoneType in parts or kind is float):
        return math.nan if kind is float else None
    if whole in (UnionType, Union):
        return _read_alternative([part for part in parts if part is not NoneType], value, place)
    if whole is Literal:
        if value not in parts:
            raise ValueError(f"{place} is none of {', '.join(map(str, parts))}")
        return value
    expected, called = _EXPECTED.get(whole, (dict, "a table"))
    if isinstance(whole, type) and issubclass(whole, Enum):
        if value not in [one.value for one in whole]:
            raise ValueError(f"{place} is none of {', '.join(str(one.value) for one in whole)}")
        return whole(value)
    if not isinstance(value, expected) or (isinstance(value, bool) and expected in (int, int | float)):
        raise ValueError(f"{place} is not {called}")
    if whole is tuple:
        return _read_tuple(parts, value, place)
    if whole in (Mapping, dict):
        return {key: read_plain(parts[1], one, f"{place}.{key}") for key, one in value.items()}
    return _read_one(whole, value, place)


def _read_alternative(kinds: Sequence[Any], value: Any, place: str) -> Any:
    for kind in kinds[:-1]:
        try:
            return read_plain(kind, value, place)
        except ValueError:
            continue
    return read_plain(kinds[-1], value, place)


def _read_tuple(parts: tuple[Any, ...], value: list[Any], place: str) -> tuple[Any, ...]:
    if parts[0] in _EXPECTED and all(one.__class__ is parts[0] for one in value) and parts[-1] is Ellipsis:
        return tuple(value)  # of which there may be millions
    kinds = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
    if len(kinds) != len(value):
        raise ValueError(f"{place} has not {len(kinds)} entries")
    each = enumerate(zip(kinds, value, strict=True))
    return tuple(read_plain(kind, one, f"{place}[{number}]") for number, (kind, one) in each)


def _read_one(whole: Any, value: Any, place: str) -> Any:
    if whole is Fraction:
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{place} is not an exact number") from None
    if whole in _EXPECTED:
        return float(value) if whole is float else value
    if is_dataclass(whole):
        lacking = [one.name for one in fields(whole) if one.default is one.default_factory is MISSING]
        stored = {one.name for one in fields(whole)}
    elif not hasattr(whole, "_fields"):
        raise ValueError(f"{place} is of no type that can be read")
    else:
        stored = {*whole._fields}
        lacking = [name for name in whole._fields if name not in whole._field_defaults]
    found = dict(whole.from_told(value)) if issubclass(whole, Serialised) else {}
    for key, told, _ in _plan(whole):
        name = told if told in stored else key
        if key in value and name in stored and name not in found:
            found[name] = read_plain(declared_type(whole, name), value[key], f"{place}.{key}".lstrip("."))
    if lost := [name for name in lacking if name not in found]:
        raise ValueError(f"{place}.{lost[0]} is missing".lstrip("."))
    return whole(**found)


@cache
def declared_type(kind: type[Any], name: str) -> Any:
    """Return the type of a field as it is annotated, or what a property returns.

    Of a module that is imported for annotations alone, the names that the annotation has are imported now.
    """
    owner = next(one for one in kind.__mro__ if name in vars(one) or name in vars(one).get("__annotations__", ()))
    annotation: str = (
        vars(owner).get("__annotations__", {}).get(name) or vars(owner)[name].fget.__annotations__["return"]
    )
    module = sys.modules[owner.__module__]
    wanted = {one.id for one in ast.walk(ast.parse(str(annotation))) if isinstance(one, ast.Name)}
    wanted -= {*vars(module), *vars(builtins)}
    names = {**vars(module), **(_imported_for_annotations(module, wanted) if wanted else {})}
    return get_type_hints(type("Told", (), {"__annotations__": {name: annotation}}), names)[name]


def _imported_for_annotations(module: ModuleType, wanted: set[str]) -> dict[str, Any]:
    """Import what a module names under ``if TYPE_CHECKING``."""
    statements = [one for one in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(one, ast.ImportFrom)]
    return {
        one.name: getattr(import_module(str(statement.module)), one.name)
        for statement in statements
        for one in statement.names
        if one.name in wanted
    }


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
    declared = getattr(kind, "KEYS", "").split() or getattr(kind, "_fields", ()) or [one.name for one in fields(kind)]
    exact: frozenset[str] = getattr(kind, "EXACT", frozenset())
    pairs = (entry.partition("=") for entry in declared)
    return tuple((key, name or key, (name or key) in exact) for key, _, name in pairs)
