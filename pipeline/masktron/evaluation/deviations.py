"""Where engines depart from the standards or from each other: a table, every row of which a test runs.

The rows are in ``deviations.toml``, and ``docs/engines.md`` is generated from them. A row with a predicate also
explains disagreements: when the engine that decides for us and pyschematron differ on a check that the predicate
recognises, on a record that holds the kind of value the row needs, the disagreement is reported and does not block.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from masktron.evaluation.traits import (
    EQUALITIES,
    ORDERS,
    Oddity,
    ParsedCheck,
    StaticType,
    chained,
    compares,
    converts,
    kind,
    prints_numbers,
    uses,
)
from masktron.rulebook.schema import XPathVersion

type KnownEngine = Literal["pyschematron", "libxml2", "Saxon"]
type KnownAnswer = Literal["true", "false", "error", "not fired", "valid"]
"""What became of the check ``a``; ``valid`` is the answer to the question whether the document is valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
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
    explains : callable, optional
        Recognises a check to which this applies.
    needs : Oddity
        What a record must hold for it to matter.
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
    explains: Callable[[ParsedCheck], bool] | None = None
    needs: Oddity = Oddity.NONE


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
_OPERATORS: Mapping[str, frozenset[str]] = MappingProxyType({"orders": ORDERS, "equalities": EQUALITIES})
_RECOGNISERS: Mapping[str, Callable[[ParsedCheck], bool]] = MappingProxyType(
    {
        "converts": converts,
        "prints numbers": prints_numbers,
        "chained comparison": lambda r: any(chained(source) for source in r.sources),
        "float": lambda r: any("float" in source for source in r.sources),
        "large integer": lambda r: any(t.symbol == "(integer)" and abs(t.value) >= 2**53 for t in r.tokens),
        "attribute context": lambda r: any(context.symbol in ("@", "attribute") for context in r.contexts),
        "text context": lambda r: any(token.symbol == "text" for context in r.contexts for token in context.iter()),
    }
)


@cache
def deviations() -> tuple[Deviation, ...]:
    """Return the rows of the table.

    Raises
    ------
    ValueError
        A row lacks a key, or has a key or a value that is none.
    """
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return tuple(row_of(given, table["remedies"]) for given in table["deviations"])


def row_of(given: Mapping[str, Any], remedies: Mapping[str, str]) -> Deviation:
    """Return a row from its keys.

    Parameters
    ----------
    given : mapping of str to value
    remedies : mapping of str to str
        Texts that a row names in `remedy`.

    Raises
    ------
    ValueError
        As `deviations`.
    """
    required = {field.name for field in fields(Deviation) if field.default is MISSING}
    wrong = (required - given.keys()) | (given.keys() - {field.name for field in fields(Deviation)})
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
    try:
        values["needs"] = Oddity[given.get("needs", "none").replace(" ", "_").upper()]
        values["explains"] = _recogniser(given["explains"]) if "explains" in given else None
    except KeyError as problem:
        raise ValueError(f"the deviation {given['id']!r}: {problem} is not known") from None
    return Deviation(**values)


def _listed(value: str | list[str] | None) -> set[str]:
    return {value} if isinstance(value, str) else set(value or ())


def _recogniser(given: Mapping[str, Any]) -> Callable[[ParsedCheck], bool]:
    """Return what recognises the checks to which a row applies, by any of what it asks for."""
    match given:
        case {"compares": operators, "kinds": pairs, **more} if not more:
            chosen = _OPERATORS[operators]
            kinds = [(StaticType[one.upper()], StaticType[other.upper()]) for one, other in pairs]
            return lambda r: compares(r, chosen, *kinds)
        case {"uses": symbols, **more} if not more:
            return lambda r: uses(r, *symbols)
        case {"test": names, **more} if not more:
            wanted = frozenset(StaticType[name.upper()] for name in names)
            return lambda r: r.test is not None and kind(r.test) in wanted
        case {"recognised": names, **more} if not more:
            found = [_RECOGNISERS[name] for name in names]
            return lambda r: any(recognises(r) for recognises in found)
        case _:
            raise ValueError(f"no way to recognise a check: {given}")


def explanations(reading: ParsedCheck) -> tuple[Deviation, ...]:
    """Return the deviations that can make pyschematron and us differ about a check.

    Parameters
    ----------
    reading : ParsedCheck
        The expressions that decide about it.

    Returns
    -------
    tuple of Deviation
        Those of pyschematron before those of Saxon, where that decides for us; among them, those that need a certain
        value in the record before the others.
    """
    measured = "3.1" if reading.version == "3.0" else reading.version
    # the verdict in XPath 1.0 is the Recommendation's
    decider = "" if reading.version == "1.0" else "Saxon"
    found = [
        d
        for d in deviations()
        if d.explains and measured in d.versions and d.engine in ("pyschematron", decider) and d.explains(reading)
    ]
    return tuple(sorted(found, key=lambda d: (d.engine != "pyschematron", not d.needs)))
