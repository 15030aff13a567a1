"""Names of fields in one line of a form, with commas between; a name that has commas stands in quotation marks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from masktron.errors import UsageError

_NAME = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^",\s][^,]*)?)\s*(?P<end>,|\Z)')


def names_told(names: Iterable[str]) -> str:
    """Return names as a form shows them, so that `names_typed` reads them again.

    >>> names_told(["COUNTY", "Town, code"])
    'COUNTY, "Town, code"'
    """
    return ", ".join(map(_told, names))


def names_typed(setting: str, text: str) -> list[str]:
    """Return the names that somebody has typed, in their order, without white space around them.

    Parameters
    ----------
    setting : str
        The name of the field of the form, for messages.
    text : str

    Raises
    ------
    UsageError
        A quotation mark is not closed, or more stands behind it than a comma.
    """
    names, at = list[str](), 0
    while True:
        found = _NAME.match(text, at)
        if found is None:
            raise UsageError(
                f"{setting}: a quotation mark is not closed, or more than a comma is behind it: {text[at:].strip()}",
                hint='write "Town, code", COUNTY; a quotation mark within a name twice',
            )
        quoted, plain = found["quoted"], found["plain"]
        names.append(quoted.replace('""', '"') if quoted is not None else (plain or "").strip())
        if not found["end"]:
            return [name for name in names if name]
        at = found.end()


def _told(name: str) -> str:
    if "," in name or name.startswith('"') or name != name.strip():
        return f'"{name.replace('"', '""')}"'
    return name
