"""Names in the manifests of earlier versions, and what they are called now: the only place that knows both."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from masktron.files import parse_json

_FIELDS = (("plan", "fields"), ("repeat", "fields"))
"""Tables of a manifest that say the role of each field."""
_ROLES = (("config", "roles"), ("repeat", "settings", "roles"))
"""Tables of a manifest that have a role by the name of each field."""


def manifest_from(text: str) -> Any:
    """Return the plain data of a manifest with current names, whichever version wrote it.

    Raises
    ------
    ValueError, RecursionError
        The text is not JSON, is nested too deeply, or says a name twice.
    """
    content = parse_json(text)
    if not isinstance(content, dict):
        return content
    if "key" in content:
        if "secret" in content:
            raise ValueError("it has a 'key' and a 'secret', which are the same")
        content["secret"] = content.pop("key")
    for table, name in _places_of_roles(content):
        if table.get(name) == "key":
            table[name] = "record-id"
    return content


def _places_of_roles(content: dict[str, Any]) -> Iterator[tuple[MutableMapping[str, Any], str]]:
    for way in _ROLES:
        roles = _at(content, way)
        if isinstance(roles, dict):
            yield from ((roles, name) for name in roles)
    for way in _FIELDS:
        fields = _at(content, way)
        yield from ((one, "role") for one in (fields if isinstance(fields, list) else ()) if isinstance(one, dict))


def _at(content: Any, way: tuple[str, ...]) -> Any:
    for name in way:
        content = content.get(name) if isinstance(content, dict) else None
    return content
