"""What a manifest says that rules became."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from masktron.results.treatment import RuleFate

_TEXTS = ("rule", "fate", "before", "after", "reason")


def fates_from(entries: Iterable[Mapping[str, Any]]) -> tuple[RuleFate, ...]:
    """Read what rules became from plain data, as a result has it.

    Parameters
    ----------
    entries : iterable of mapping

    Returns
    -------
    tuple of RuleFate

    Raises
    ------
    KeyError, TypeError, ValueError
        Something is missing, of a wrong type, or no fate that a manifest can name.
    """
    return tuple(map(_fate, entries))


def _fate(entry: Mapping[str, Any]) -> RuleFate:
    from masktron.translation.translated_rules import Fate  # noqa: PLC0415 -- loads lxml, which few commands need

    fields = entry["fields"]
    if not all(isinstance(entry[key], str) for key in _TEXTS):
        raise TypeError("what a rule became is not told in texts")
    if not isinstance(fields, list) or not all(isinstance(name, str) for name in fields):
        raise TypeError("the fields of a rule that became another are no list of names")
    if entry["fate"] not in {*get_args(Fate.__value__)} - {"kept"}:
        raise ValueError(f"{entry['fate']!r} is nothing that a rule becomes")
    return RuleFate(fields=tuple(fields), **{key: entry[key] for key in _TEXTS})
