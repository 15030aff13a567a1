"""Names in the manifests of earlier versions, and what they are called now: the only place that knows both."""

from __future__ import annotations

import json
from typing import Any


def manifest_from(text: str) -> Any:
    """Return the plain data of a manifest with current names, whichever version wrote it.

    Raises
    ------
    ValueError, RecursionError
        The text is not JSON, or is nested too deeply.
    """
    content = json.loads(text, object_hook=_with_current_roles)
    if isinstance(content, dict) and "key" in content:
        content["secret"] = content.pop("key")
    return content


def _with_current_roles(table: dict[str, Any]) -> dict[str, Any]:
    """Rename the role ``key`` in what a manifest says of a field, and in the settings of a run."""
    if table.get("role") == "key":
        table["role"] = "record-id"
    if isinstance(roles := table.get("roles"), dict):
        table["roles"] = {name: "record-id" if role == "key" else role for name, role in roles.items()}
    return table
