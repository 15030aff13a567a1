"""Texts from rulebooks, files and command lines made harmless for a terminal."""

from __future__ import annotations

import re

from rich.markup import escape

from masktron.problems.problem import Sentence
from masktron.problems.wording import sentence

_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Show control characters, changes of direction and lone surrogates as escapes such as ``\x9b``.

    Line ends and tabs stay; what a rulebook calls its rules could otherwise move the cursor, or hide a verdict.
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def plain(text: Sentence) -> str:
    """Return a text on one line, without control characters and without meaning as markup of rich."""
    return escape(printable(sentence(text).replace("\n", " ")))


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
