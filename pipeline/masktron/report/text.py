"""Texts from rulebooks, files and command lines made harmless for a terminal."""

from __future__ import annotations

import re
import sys

from rich.markup import escape

_ESCAPE = re.compile("_x([0-9A-Fa-f]{4}|[0-9A-Fa-f]{6})_")
_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Show control characters, changes of direction and lone surrogates as escapes such as ``\x9b``.

    Line ends and tabs stay; what a rulebook calls its rules could otherwise move the cursor, or hide a verdict.
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def as_written(text: str) -> str:
    """Return a text in which fields have the names that a table gives its columns, not those that rules use.

    ``annual_x0020_income`` becomes ``annual income``; see `masktron.sources.tables.column_names.xml_name`.
    """
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code <= sys.maxunicode else found[0]


def plain(text: str) -> str:
    """Return a text on one line, without control characters and without meaning as markup of rich."""
    return escape(printable(text.replace("\n", " ")))


_SEPARATED = 10_000
"""From here on digits are read in groups of three; four stand without, as is usual."""


def number(value: float, spec: str = "") -> str:
    """Write a number for the eye, from five digits on with separators: ``2000``, ``1,030,037.333``.

    Parameters
    ----------
    value : int or float
    spec : str
        A format such as ``.3f``.
    """
    return f"{value:{',' if abs(value) >= _SEPARATED else ''}{spec}}"
