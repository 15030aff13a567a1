"""Plain data as TOML: what Python reads of it, and cannot write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(table: Mapping[str, Any]) -> str:
    """Return a table as a file of TOML: its values first, then each table in it under its own head.

    Parameters
    ----------
    table : mapping of str to value
        Texts, numbers, true or false, None (``"auto"``), lists, and mappings of these.
    """
    lines = [f"{toml_key(name)} = {toml_value(value)}" for name, value in table.items() if not _is_table(value)]
    for name, inner in table.items():
        if _is_table(inner):
            lines += ["", f"[{toml_key(name)}]"]
            lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in inner.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def toml_key(key: str) -> str:
    """Return a key, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else _text(key)


def toml_value(value: Any) -> str:
    """Return a value; None is ``"auto"``, as parameters of methods have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(one)}" for key, one in value.items()) + " }"
    return '"auto"' if value is None else repr(value)


def _text(text: str) -> str:
    r"""Return a basic string of TOML: that of JSON, without surrogates and with DEL as an escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
