"""PRAM and swapping in the form of the page Protect keys: settings as it shows them, and what it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from masktron.config import did_you_mean
from masktron.errors import UsageError
from masktron.perturbation_settings import SWAP_NAMES, pram_settings, together
from masktron.web.pages.form_values import number_from, whole_from
from masktron.web.web_page import FormFields

_SHARE = "change"
_LISTS = ("regions", "keys", "similar")
_LEAST: Mapping[str, int] = {"k": 2, "required": 0, "least_regions": 1}
"""Settings of swapping that are whole numbers, and what they are at least."""


def pram_shown(how: str) -> str:
    """Return how a field is drawn anew as the form has it: ``0.1,stay:0.5`` for ``change:0.1,stay:0.5``.

    Parameters
    ----------
    how : str
        As settings say it, without a matrix; empty where the field is not drawn.
    """
    if not how:
        return ""
    parts = [tuple(side.strip() for side in part.partition(":")[::2]) for part in how.split(",")]
    (_, share), *rest = sorted(parts, key=lambda part: part[0] != _SHARE)
    return ",".join([share, *(f"{word}:{said}" for word, said in rest)])


def pram_from(
    form: FormFields, former: Mapping[str, str], shown: Iterable[str], known: Mapping[str, str]
) -> dict[str, str]:
    """Return how fields are to be drawn anew, in the order in which settings had them.

    Parameters
    ----------
    form : FormFields
    former : mapping of str to str
        What settings say now; several fields that are drawn together have a ``+`` between them.
    shown : iterable of str
        Other fields that the form has.
    known : mapping of str to str
        The fields of the data, by what somebody may type.

    Raises
    ------
    UsageError
        What was typed is no way to draw; the field of the form is named.
    """
    found = {}
    for name in dict.fromkeys((*former, *shown)):
        setting, how = f"pram.{name}", former.get(name, "")
        if not (text := form.text(setting)):
            continue
        found[name] = how if text == pram_shown(how) else f"{_SHARE}:{text}"
        said = pram_settings(setting, found[name])
        _require_known(setting, (*said.within, *((said.household,) if said.household else ())), known.values())
    return found


def drawn_together(pram: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the fields of which settings have combinations drawn, and how, as the form has it."""
    return [(name, pram_shown(how)) for name, how in pram.items() if len(together(name)) > 1]


def swap_shown(swap: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """Return what the form has of each setting of swapping; empty where nothing is said.

    Parameters
    ----------
    swap : mapping
        What settings say.
    columns : mapping of str to str
        What pages call fields, by the names that rules and settings have for them.
    """
    told = {
        name: names_told(columns.get(one, one) for one in said)
        if name in _LISTS
        else str(columns.get(said, said) if name == "household" else said)
        for name, said in swap.items()
        if said is not None
    }
    return {name: told.get(name, "") for name in SWAP_NAMES}


def swap_from(
    form: FormFields, former: Mapping[str, Any], known: Mapping[str, str], columns: Mapping[str, str]
) -> dict[str, Any]:
    """Return how regions are to be swapped; nothing where they are not.

    Parameters
    ----------
    form : FormFields
    former : mapping
        What settings say now; what nobody has changed stays.
    known : mapping of str to str
        The fields of the data, by what somebody may type.
    columns : mapping of str to str
        What pages call fields.

    Raises
    ------
    UsageError
        What was typed is none; the field of the form is named.
    """
    shown = swap_shown(former, columns)
    found: dict[str, Any] = {}
    for name in SWAP_NAMES:
        setting = f"swap.{name}"
        if not (text := form.text(setting)):
            continue
        if name in _LISTS:
            same = text == shown[name]
            found[name] = list(former[name]) if same else _names(setting, names_typed(setting, text), known)
        elif name == "household":
            [found[name]] = _names(setting, [text], known)
        else:
            found[name] = whole_from(setting, text, _LEAST[name]) if name in _LEAST else _rate(setting, text)
    if found and "regions" not in found:
        raise UsageError(
            "swap.regions: no region is named, and the rest is about them",
            hint="name them from coarse to fine, or empty what stands below",
        )
    return found


def _rate(setting: str, text: str) -> float:
    if (rate := number_from(setting, text)) > 1:
        raise UsageError(f"{setting} must be from 0 to 1, not {text!r}", hint="0.02 is 2 in 100 records")
    return rate


def _names(setting: str, typed: Iterable[str], known: Mapping[str, str]) -> list[str]:
    names = list(typed)
    _require_known(setting, names, known)
    return [*dict.fromkeys(known[name] for name in names)]


def _require_known(setting: str, names: Iterable[str], known: Iterable[str]) -> None:
    there = list(known)
    for name in names:
        if name not in there:
            raise UsageError(f"{setting}: there is no field {name!r}", hint=did_you_mean(name, there))


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
