"""Where engines depart from the standards or from each other: a table, every row of which a test runs.

The rows are in ``engines_table.toml``, and ``docs/engines.md`` is generated from them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from masktron.rulebook.schema import XPathVersion

type KnownEngine = Literal["pyschematron", "libxml2", "Saxon"]
type KnownAnswer = Literal["true", "false", "error", "not fired", "valid"]
"""The outcome of the check ``a``; ``valid`` answers the question whether the document is valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDeviation:
    """One way in which an engine departs from a standard.

    Attributes
    ----------
    id : str
    engine : str
        pyschematron stands for pyschematron and the elementpath below it.
    title : str
    versions : tuple of str
        The XPath versions in which it was measured.
    test : str
        The test of an assert whose context is ``Record``; empty where `rulebook` shows it.
    record : str
        The document.
    standard, measured : str
        The outcome that the standard asks for, and the engine's.
    confirmed : tuple of str
        The other engines that give the standard's outcome.
    says : str
        Why, in a sentence.
    paragraph : str
        Where the standard says so.
    remedy : str
        What masktron does about it.
    rulebook : str
        The inside of a ``schema`` element, or the whole document where that matters.
    files : tuple of (str, str)
        Files beside the rulebook.
    phase : str
    """

    id: str
    engine: KnownEngine
    title: str
    versions: tuple[XPathVersion, ...]
    test: str = ""
    record: str
    standard: KnownAnswer
    measured: KnownAnswer
    confirmed: tuple[KnownEngine, ...] = ()
    says: str
    paragraph: str
    remedy: str
    rulebook: str = ""
    files: tuple[tuple[str, str], ...] = ()
    phase: str | None = None


_TABLE = Path(__file__).with_suffix(".toml")
_WORDS: Mapping[str, Any] = MappingProxyType(
    {
        "engine": KnownEngine,
        "confirmed": KnownEngine,
        "versions": XPathVersion,
        "standard": KnownAnswer,
        "measured": KnownAnswer,
    }
)


def row_of(given: Mapping[str, Any], remedies: Mapping[str, str]) -> EngineDeviation:
    """Return a row from its keys.

    Parameters
    ----------
    given : mapping of str to value
    remedies : mapping of str to str
        Texts that a row names in `remedy`.

    Raises
    ------
    ValueError
        The row lacks a key, or has a wrong key or value.
    """
    required = {field.name for field in fields(EngineDeviation) if field.default is MISSING}
    wrong = (required - given.keys()) | (given.keys() - {field.name for field in fields(EngineDeviation)})
    wrong |= {key for key, words in _WORDS.items() if not _listed(given.get(key)) <= set(get_args(words.__value__))}
    if wrong:
        raise ValueError(f"the deviation {given.get('id')!r}: {', '.join(sorted(wrong))}")
    values = {
        **given,
        "versions": tuple(given["versions"]),
        "confirmed": tuple(given.get("confirmed", ())),
        "files": tuple((name, text) for name, text in given.get("files", ())),
        "remedy": remedies.get(given["remedy"], given["remedy"]),
    }
    return EngineDeviation(**values)


def _listed(value: str | list[str] | None) -> set[str]:
    return {value} if isinstance(value, str) else set(value or ())


def _rows() -> tuple[EngineDeviation, ...]:
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return tuple(row_of(given, table["remedies"]) for given in table["deviations"])


ROWS = _rows()
