"""Options of the command line as keyword arguments, in what errors and notes tell a caller in Python.

Messages name settings as the command line does, ``--role NAME=identifier``. Where Python called, `in_python` makes
``roles={"NAME": "identifier"}`` of that, once, at the border: whoever writes a message need not know who reads it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import wraps
from itertools import groupby
from types import MappingProxyType
from typing import Any

from masktron.errors import MasktronError

_TOLD = ("notes", "losses", "problems", "not_checked", "obstacle")
"""Attributes of results that are sentences, or one."""


class _Form(Enum):
    """How Python takes what an option says."""

    VALUE = "value"
    LIST = "list"
    MAPPING = "mapping"
    MAPPING_TO_LISTS = "mapping to lists"


KEYWORDS: Mapping[str, tuple[str, _Form]] = MappingProxyType(
    {
        **{name: (name.replace("-", "_"), _Form.VALUE) for name in (
            "record", "format", "phase", "record-id", "secret", "metadata", "original", "manifest", "method",
            "aggregator", "to", "seed", "grouping", "group-size-vars", "invalid", "max-observed-share",
            "max-block-records", "workers",
            "rare-units", "protect", "unit-records", "memory", "executor", "scheduler", "on-refusal",
            "rule-timeout", "max-findings", "measures", "data", "out", "again", "against",
            "rows", "against-manifest", "against-original", "register", "rules", "html", "html-public", "masked",
            "rules-out", "key-k", "suppressed", "loss", "write",
        )},
        "class": ("class_field", _Form.VALUE),
        "from": ("start", _Form.VALUE),
        **{name: (f'ask["{name}"]', _Form.VALUE) for name in ("budget", "methods", "seeds")},
        **{name: (name.replace("-", "_"), _Form.LIST) for name in (
            "nominal", "numeric", "allow", "allow-unfired", "allow-lost", "accept", "beside", "member-order",
            "reweight",
        )},
        "swap": ('swap["regions"]', _Form.LIST),
        "quasi-identifier": ("quasi_identifiers", _Form.LIST),
        "role": ("roles", _Form.MAPPING),
        "document": ("documents", _Form.MAPPING),
        "table": ("tables", _Form.MAPPING),
        "original-table": ("original_tables", _Form.MAPPING),
        "format-option": ("format_options", _Form.MAPPING),
        "to-option": ("to_options", _Form.MAPPING),
        "limit": ("limits", _Form.MAPPING),
        "param": ("params", _Form.MAPPING),
        "rename": ("rename", _Form.MAPPING),
        "recode": ("recode", _Form.MAPPING),
        "hierarchy": ("hierarchies", _Form.MAPPING),
        "importance": ("importance", _Form.MAPPING),
        "diversity": ("diversity", _Form.MAPPING),
        "pram": ("pram", _Form.MAPPING),
        "max-failures": ("max_failures", _Form.MAPPING),
        "missing": ("missing", _Form.MAPPING_TO_LISTS),
        "ordinal": ("ordinal", _Form.MAPPING_TO_LISTS),
    }
)  # fmt: skip
"""Options with a value."""
SWITCHES: Mapping[str, str] = MappingProxyType(
    {
        "shuffle": 'order="random"',
        "keep-order": 'order="keep"',
        **{
            name: f"{name.replace('-', '_')}=True"
            for name in (
                "keep-missing",
                "same-order",
                "allow-empty",
                "release-safe",
                "replace",
                "dry-run",
                "header",
                "resume",
            )
        },
    }
)
"""Options without one."""
_PROSE = (
    "and|are|as|below|for|gives?|has|if|in|is|it|means|(?<!aggregator )mean|names?|of|or|says?|shows?|tells?|that|to|"
    "with|would|writes?"
)
_END = r"(?=[.,;:`]*(?:[\s()]|$))"
_QUOTED = r"[^\s()'\"]*(?:'[^']*'|\"[^\"]*\")(?:'[^']*'|\"[^\"]*\")*"
_OPTION = re.compile(
    rf"--(?P<name>[a-z][a-z-]*[a-z])(?:[ =](?!--)(?!(?:{_PROSE})\b(?!=))(?P<value>{_QUOTED}|[^\s()]+?{_END}))?"
)
_SWITCH = re.compile(r"--(?P<name>[a-z][a-z-]*[a-z])")
_SIZES = re.compile(r"(?<![\w-])-k (?P<sizes>[0-9]+(?:,[0-9]+)*)(?![\w.,]*[0-9])")
"""Sizes of groups: one for a run, several for `tune`."""
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


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
        value = one["value"] if name in KEYWORDS else None
        at = one.end() if value is not None else one.end("name")
        if name in KEYWORDS or name in SWITCHES:
            found.append((name, value, one.start(), at))
    pieces, at = [], 0
    for several in _runs(text, found):
        name, _, start, _ = several[0]
        pieces += [text[at:start], SWITCHES.get(name) or _argument(name, [value for _, value, _, _ in several])]
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


def _argument(name: str, given: list[str | None]) -> str:
    keyword, form = KEYWORDS[name]
    values = [_unquoted(value) for value in given if value is not None]
    if not values:
        return f"{keyword}="
    pairs = [value.partition("=") for value in values]
    mapping = form in (_Form.MAPPING, _Form.MAPPING_TO_LISTS) and all(equals for _, equals, _ in pairs)
    if mapping and form is _Form.MAPPING:
        return f"{keyword}={{{', '.join(f'{_text(key)}: {_value(value)}' for key, _, value in pairs)}}}"
    if mapping:
        return f"{keyword}={{{', '.join(f'{_text(key)}: {_list(value.split(","))}' for key, _, value in pairs)}}}"
    return f"{keyword}={_value(values[-1]) if form is _Form.VALUE else _list(values)}"


def _unquoted(value: str) -> str:
    try:
        return "".join(shlex.split(value))
    except ValueError:  # a quote that is part of a name
        return value


def _list(values: list[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _value(text: str) -> str:
    if _NUMBER.fullmatch(text) or text in ("SECONDS", "NUMBER"):
        return text
    return text.capitalize() if text in ("true", "false") else _text(text)


def _text(text: str) -> str:
    return f'"{text}"' if '"' not in text else repr(text)


def told_in_python[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Let a function speak of keyword arguments, in its errors and in the sentences of its result.

    Parameters
    ----------
    function : callable
        Of the interface; it returns a dataclass, such as `masktron.results.MaskResult`.
    """

    @wraps(function)
    def telling(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result = function(*args, **kwargs)
        except MasktronError as error:
            error.what, error.hint = in_python(error.what), in_python(error.hint)
            error.args = (error.what,)
            raise
        return _told(result)

    return telling


def _sentence(said: Any) -> Any:
    """Return a sentence, or what holds some, in the words of Python."""
    if isinstance(said, str):
        return in_python(said)
    texts = {one.name: getattr(said, one.name) for one in fields(said) if one.name in ("what", "hint")}
    return replace(said, **{name: in_python(text) for name, text in texts.items()})


def _told[R](result: R) -> R:
    if not is_dataclass(result) or isinstance(result, type):
        return result
    known: dict[str, Any] = {one.name: getattr(result, one.name) for one in fields(result) if one.name in _TOLD}
    changed = {
        name: in_python(said) if isinstance(said, str) else said and tuple(map(_sentence, said))
        for name, said in known.items()
    }
    return replace(result, **changed) if changed != known else result
