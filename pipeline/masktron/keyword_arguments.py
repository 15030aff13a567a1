"""Options of the command line as keyword arguments, in what errors and notes tell a caller in Python.

Messages name settings as the command line does, ``--role NAME=identifier``. Where Python called, `in_python` makes
``roles={"NAME": "identifier"}`` of that, once, at the border: whoever writes a message need not know who reads it.
"""

from __future__ import annotations

import re
import shlex
from itertools import groupby

from masktron.declared import Shape
from masktron.problems.spelling import keyword_argument, keywords

_PROSE = (
    "and|are|as|below|for|gives?|has|if|in|is|it|means|(?<!aggregator )mean|names?|of|or|says?|shows?|tells?|that|to|"
    "with|would|writes?"
)
_END = r"(?=[.,;:`]*(?:[\s()]|$))"
_QUOTED = r"[^\s()'\"]*(?:'[^']*'|\"[^\"]*\")(?:'[^']*'|\"[^\"]*\")*"
_OPTION = re.compile(
    rf"--(?P<name>[a-z][a-z-]*[a-z])(?:[ =](?!--)(?!(?:{_PROSE})\b(?!=))(?P<value>{_QUOTED}|[^\s()]+?{_END}))?"
)
_SIZES = re.compile(r"(?<![\w-])-k (?P<sizes>[0-9]+(?:,[0-9]+)*)(?![\w.,]*[0-9])")
"""Sizes of groups: one for a run, several for `tune`."""


def in_python(text: str) -> str:
    """Return a sentence in which options of the command line are keyword arguments of `masktron.mask` and the others.

    Repeated options become one argument. What is no option of masktron stays as it is.

    >>> in_python("leave it out with --role NAME=identifier --role ID=identifier; or --keep-order")
    'leave it out with roles={"NAME": "identifier", "ID": "identifier"}; or order="keep"'
    """
    said = "".join(_pieces(text)) if "--" in text else text
    return _SIZES.sub(lambda found: _group_sizes(found["sizes"].split(",")), said) if "-k " in said else said


def _group_sizes(sizes: list[str]) -> str:
    return f"k={sizes[0]}" if len(sizes) == 1 else f'ask["k"]=[{", ".join(sizes)}]'


def _pieces(text: str) -> list[str]:
    found: list[tuple[str, str | None, int, int]] = []
    at = 0
    while (one := _OPTION.search(text, at)) is not None:
        name = one["name"]
        keyword = keywords().get(name)
        value = one["value"] if keyword is not None and keyword[1] is not Shape.SWITCH else None
        at = one.end() if value is not None else one.end("name")
        if keyword is not None:
            found.append((name, value, one.start(), at))
    pieces, at = [], 0
    for several in _runs(text, found):
        name, _, start, _ = several[0]
        given = [_unquoted(value) for _, value, _, _ in several if value is not None]
        pieces += [text[at:start], keyword_argument(f"--{name}", given)]
        at = several[-1][3]
    return [*pieces, text[at:]]


def _runs(text: str, found: list[tuple[str, str | None, int, int]]) -> list[list[tuple[str, str | None, int, int]]]:
    """Put options together that are the same one given again, with a blank between."""
    numbers, before = [], -1
    for at, (name, _, start, _) in enumerate(found):
        again = at > 0 and found[at - 1][0] == name and text[found[at - 1][3] : start] == " "
        before = before if again else at
        numbers.append(before)
    return [[found[at] for at in run] for _, run in groupby(range(len(found)), key=numbers.__getitem__)]


def _unquoted(value: str) -> str:
    try:
        return "".join(shlex.split(value))
    except ValueError:  # a quote that is part of a name
        return value
