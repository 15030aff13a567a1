"""Options of the command line as keyword arguments of Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")

_FROM_THE_RIGHT = frozenset({"role", "missing"})
"""Options in whose values the last sign of equality parts the name of a field from the rest."""


def keyword_argument(option: str, values: Sequence[str]) -> str:
    """Return an option that is given values as a keyword argument of `masktron.mask` and the others.

    Parameters
    ----------
    option : str
    values : sequence of str
        Each as the command line takes it; none where only the keyword is meant.

    Examples
    --------
    >>> keyword_argument("--role", ["NAME=identifier", "ID=identifier"])
    'roles={"NAME": "identifier", "ID": "identifier"}'
    """
    name = option.lstrip("-")
    if name not in keywords():
        return " ".join([option, *values])
    keyword, form = keywords()[name]
    if form.name == "SWITCH" or not values:
        return keyword if form.name == "SWITCH" else f"{keyword}="
    pairs = [value.rpartition("=") if name in _FROM_THE_RIGHT else value.partition("=") for value in values]
    mapping = form.name in ("TABLE", "LISTS") and all(equals for _, equals, _ in pairs)
    if mapping and form.name == "TABLE":
        return f"{keyword}={{{', '.join(f'{_text(key)}: {_value(value)}' for key, _, value in pairs)}}}"
    if mapping:
        return f"{keyword}={{{', '.join(f'{_text(key)}: {_list(value.split(","))}' for key, _, value in pairs)}}}"
    return f"{keyword}={_value(values[-1]) if form.name == 'VALUE' else _list(values)}"


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _value(text: str) -> str:
    if _NUMBER.fullmatch(text) or text in ("SECONDS", "NUMBER"):
        return text
    return text.capitalize() if text in ("true", "false") else _text(text)


def _text(text: str) -> str:
    plain = text.isprintable() and not {'"', "\\"} & {*text}
    return f'"{text}"' if plain else repr(text)


@cache
def keywords() -> Mapping[str, tuple[str, Enum]]:
    """Return the keyword of each option, without its dashes, and the form in which it takes values."""
    # commands stand above whoever words a problem, and say what they take
    found: Mapping[str, tuple[str, Enum]] = import_module("masktron.commands.offered").keywords()
    return found
