"""Rules in mathematics, with the signs of mathematics."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"('[^']*'|\"[^\"]*\")")
_SIGNS = ((" <= ", " ≤ "), (" >= ", " ≥ "), (" != ", " ≠ "), (" * ", " · "), (" - ", " \N{MINUS SIGN} "))


def mathematical(form: str) -> str:
    """Return a form of `masktron explain` as a page can show it: ``A <= B`` as ``A ≤ B``, but for texts in quotes."""
    parts = _QUOTED.split(form)
    return "".join(part if at % 2 else _signs(part) for at, part in enumerate(parts))


def _signs(part: str) -> str:
    for plain, sign in _SIGNS:
        part = part.replace(plain, sign)
    return part
