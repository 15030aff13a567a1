"""A rulebook after resolution: patterns, rules and checks in document order, each with its origin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

type XPathVersion = Literal["1.0", "2.0", "3.0", "3.1"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a piece of the rulebook was written."""

    file: str
    line: int
    instance: Origin | None = None
    """For a check that came from an abstract pattern: the pattern with ``is-a``."""

    def __str__(self) -> str:
        here = f"{self.file}:{self.line}"
        return f"{self.instance} (from {here})" if self.instance else here


@dataclass(frozen=True, slots=True)
class Let:
    """A variable: an XPath expression evaluated in its scope."""

    name: str
    value: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class ValueOf:
    """``<value-of select>`` or ``<name path>`` in a message; ``is_name`` tells them apart."""

    select: str
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One assert or report.

    Attributes
    ----------
    id : str
        Unique in the rulebook: the first of the assert's id, the rule's id, the pattern's id, name or title,
        numbered where that is not unique; ``rule-N`` where none was given.
    index : int
        Position among all checks of the rulebook, from 0.
    soft : bool
        Whether ``role`` or ``flag`` marks it as a warning or information: reported, and kept unless told
        otherwise, but never the reason for an exit code.
    """

    id: str
    index: int
    kind: Literal["assert", "report"]
    test: str
    message: tuple[str | ValueOf, ...]
    origin: Origin
    role: str | None = None
    flag: str | None = None
    soft: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A context and the checks that fire there."""

    context: str
    lets: tuple[Let, ...]
    checks: tuple[Check, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Pattern:
    """Rules of which a node fires only the first whose context matches it."""

    id: str
    lets: tuple[Let, ...]
    rules: tuple[Rule, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Rulebook:
    """All that is active in the chosen phase.

    Attributes
    ----------
    version : str
        The XPath version that the query binding asks for.
    namespaces : tuple of (prefix, uri)
    lets : tuple of Let
        Schema level and phase level, evaluated at the document root.
    documents : tuple of str
        The URI of ``document()`` or ``doc()`` in the rules; at most one, bound to the original file.
    notes : tuple of str
        What was repaired on reading, for the user.
    schema : object
        pyschematron's resolved AST of the same rulebook, for its own validator; the ``fpi`` of each of its
        checks is ``masktron:INDEX`` with the index of our check.
    """

    path: Path
    binding: str
    version: XPathVersion
    namespaces: tuple[tuple[str, str], ...]
    lets: tuple[Let, ...]
    patterns: tuple[Pattern, ...]
    documents: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    schema: Any = field(default=None, compare=False, repr=False)

    def situated(self) -> Iterator[tuple[Pattern, int, Check]]:
        """Yield every check with its pattern and the position of its rule there."""
        for pattern in self.patterns:
            for position, rule in enumerate(pattern.rules):
                for check in rule.checks:
                    yield pattern, position, check

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks, by index."""
        return tuple(check for _, _, check in self.situated())
