"""JSON schemas of results, made from the types that these declare, and their words from the docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Literal, TypeAliasType, Union, get_args, get_origin

from masktron.problems.problem import Problem
from masktron.results import SCHEMA_VERSION, JobResult
from masktron.serialised import Known, Percent, Share, declared_type

_HOME = "https://masktron.example/schemas/"
_PLAIN: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    Problem: {"type": "string"},
    Fraction: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": ["number", "null"]},
    NoneType: {"type": "null"},
    Any: {},
    Known: {"type": "number"},
    Percent: {"type": ["number", "null"], "minimum": 0, "maximum": 100},
    Share: {"type": ["number", "null"], "minimum": 0, "maximum": 1},
}


def schema_of(job: type[JobResult]) -> dict[str, Any]:
    """Return the schema of what ``--json`` of a command writes."""
    defs: dict[str, Any] = {}
    made = _of_class(job, defs, job)
    own = {"schema_version": {"const": SCHEMA_VERSION}, "job": {"const": job.JOB}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{_HOME}{job.JOB}.schema.json",
        "title": f"Result of masktron {job.JOB}",
        **made,
        "properties": own | made["properties"],
        "required": [*own, *made["required"]],
        **({"$defs": dict(sorted(defs.items()))} if defs else {}),
    }


def _of_class(kind: type[Any], defs: dict[str, Any], job: type[JobResult]) -> dict[str, Any]:
    names = getattr(kind, "KEYS", "").split() or getattr(kind, "_fields", ()) or [one.name for one in fields(kind)]
    pairs = [(key, name or key) for key, _, name in (entry.partition("=") for entry in names)]
    words = _attributes(kind)
    properties = {}
    for key, name in pairs:
        text = words.get(name) or words.get(key) or _said(inspect.getattr_static(kind, name, None))
        properties[key] = {**({"description": text} if text else {}), **_of(declared_type(kind, name), defs, job)}
    return {
        "description": _said(kind),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _of(kind: Any, defs: dict[str, Any], job: type[JobResult]) -> dict[str, Any]:  # noqa: PLR0911 -- one for each kind
    whole, parts = get_origin(kind) or kind, get_args(kind)
    if whole in _PLAIN:
        return dict(_PLAIN[whole])
    if isinstance(kind, TypeAliasType):
        return _of(kind.__value__, defs, job)
    if whole is Literal:
        return {"enum": [*parts]}
    if whole in (UnionType, Union):
        return _any_of([_of(part, defs, job) for part in parts])
    if whole is tuple and parts[-1] is not Ellipsis:
        return {"type": "array", "items": _of(parts[0], defs, job), "minItems": len(parts), "maxItems": len(parts)}
    if whole in (tuple, list, Sequence):
        return {"type": "array", "items": _of(parts[0], defs, job)}
    if whole in (dict, Mapping):
        names = _of(parts[0], defs, job)
        keys = {"propertyNames": names} if "enum" in names else {}
        return {"type": "object", **keys, "additionalProperties": _of(parts[1], defs, job)}
    if issubclass(whole, Enum):
        return {"enum": [one.value for one in whole]}
    if issubclass(whole, JobResult):
        return {"$ref": "#" if whole is job else f"{whole.JOB}.schema.json"}
    assert is_dataclass(whole) or hasattr(whole, "_fields"), f"no schema is made of {kind}"
    if whole.__name__ not in defs:
        defs[whole.__name__] = {}  # it may hold others of its kind
        defs[whole.__name__] = _of_class(whole, defs, job)
    return {"$ref": f"#/$defs/{whole.__name__}"}


def _any_of(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Put alternatives into one where types, or words, say it."""
    if all(part.keys() == {"type"} or part == _PLAIN[int] for part in parts):
        kinds = [
            kind for part in parts for kind in ([part["type"]] if isinstance(part["type"], str) else part["type"])
        ]
        bound = {"minimum": 0} if _PLAIN[int] in parts and {*kinds} <= {"integer", "null"} else {}
        return {"type": list(dict.fromkeys(kinds)), **bound} if len({*kinds}) > 1 else {"type": kinds[0]}
    if all("enum" in part for part in parts):
        return {"enum": [one for part in parts for one in part["enum"]]}
    if len(parts) == 2 and parts[1] == {"type": "null"}:
        if "enum" in parts[0]:
            return {"enum": [*parts[0]["enum"], None]}
        if isinstance(parts[0].get("type"), str):
            return {**parts[0], "type": [parts[0]["type"], "null"]}
    return {"anyOf": parts}


def _said(thing: Any) -> str:
    """Return the first paragraph of a docstring."""
    return _plain((inspect.getdoc(thing) or "").partition("\n\n")[0]) if thing is not None else ""


def _plain(text: str) -> str:
    return " ".join(text.replace("`", "").split())


def _attributes(kind: type[Any]) -> dict[str, str]:
    """Return what the section on attributes of a docstring says of each of them."""
    section = (inspect.getdoc(kind) or "").partition("Attributes\n----------\n")[2]
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", re.split(r"\n\n(?=\S+\n-+\n)", section)[0]):
        head, _, text = entry.partition("\n")
        for name in head.partition(" : ")[0].split(","):
            found[name.strip()] = _plain(text)
    return found
