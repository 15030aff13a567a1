"""A case: one file and one rulebook, as what the generator made and as the files that are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from differential.data import URI, Table
from differential.tree import Expr

type Version = Literal["1.0", "2.0", "3.1"]

ISO = "http://purl.oclc.org/dsdl/schematron"
BINDINGS: dict[Version, str] = {"1.0": "xslt", "2.0": "xslt2", "3.1": "xpath31"}


@dataclass(frozen=True, slots=True)
class Let:
    """A variable."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Step:
    """The last steps of a context.

    Attributes
    ----------
    path : str
        A path without predicates, as written.
    predicate : Expr, optional
        Of the last step.
    """

    path: str
    predicate: Expr | None = None
    above: Expr | None = None
    """Predicate of the record, where the last step is a field of it."""

    @property
    def text(self) -> str:
        """The path with its predicates."""
        head, slash, last = self.path.rpartition("/")
        if self.above is not None:
            head = f"{head}[{self.above.text}]"
        return f"{head}{slash}{last}{f'[{self.predicate.text}]' if self.predicate else ''}"


@dataclass(frozen=True, slots=True)
class Check:
    """An assert or report."""

    id: str
    kind: Literal["assert", "report"]
    test: Expr
    shown: Expr | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A context, which is a union of paths, and the checks that fire there."""

    context: tuple[Step, ...]
    label: str
    """The form of the context, for the table of coverage."""
    lets: tuple[Let, ...]
    checks: tuple[Check, ...]

    @property
    def context_text(self) -> str:
        """The context as written."""
        return " | ".join(step.text for step in self.context)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Rules of which a node fires the first that matches."""

    lets: tuple[Let, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A file and a rulebook.

    Attributes
    ----------
    seed : int
        What it was made from.
    """

    seed: int
    version: Version
    table: Table
    lets: tuple[Let, ...]
    patterns: tuple[Pattern, ...]

    @property
    def namespaces(self) -> tuple[tuple[str, str], ...]:
        """Prefixes that the rulebook declares."""
        return () if self.table.naming == "none" else (("d", URI),)

    @property
    def rules(self) -> Iterator[tuple[int, Pattern, Rule]]:
        """Every rule with its pattern and the position of that."""
        return ((i, p, r) for i, p in enumerate(self.patterns) for r in p.rules)

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks, in the order of the rulebook."""
        return tuple(c for _, _, r in self.rules for c in r.checks)

    @property
    def rulebook(self) -> str:
        """The Schematron text."""
        spaces = "".join(f'\n  <ns prefix="{p}" uri="{u}"/>' for p, u in self.namespaces)
        patterns = "".join(_pattern(p) for p in self.patterns)
        return (
            f'<schema xmlns="{ISO}" queryBinding="{BINDINGS[self.version]}">{spaces}{_lets(self.lets, 2)}'
            f"{patterns}\n</schema>\n"
        )

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both files; return the paths of data and rulebook."""
        folder.mkdir(parents=True, exist_ok=True)
        data, rules = folder / "data.xml", folder / "rules.sch"
        data.write_bytes(self.table.document)
        rules.write_text(self.rulebook, encoding="utf-8")
        return data, rules


def _lets(lets: tuple[Let, ...], indent: int) -> str:
    return "".join(f'\n{" " * indent}<let name="{let.name}" value={_quoted(let.value.text)}/>' for let in lets)


def _quoted(text: str) -> str:
    return quoteattr(text, {"\n": "&#10;", "\t": "&#9;"})


def _pattern(pattern: Pattern) -> str:
    rules = "".join(_rule(rule) for rule in pattern.rules)
    return f"\n  <pattern>{_lets(pattern.lets, 4)}{rules}\n  </pattern>"


def _rule(rule: Rule) -> str:
    checks = "".join(_check(check) for check in rule.checks)
    return f"\n    <rule context={_quoted(rule.context_text)}>{_lets(rule.lets, 6)}{checks}\n    </rule>"


def _check(check: Check) -> str:
    shown = f": <value-of select={_quoted(check.shown.text)}/>" if check.shown else ""
    test = _quoted(check.test.text)
    return f'\n      <{check.kind} id="{check.id}" test={test}>{escape(check.id)}{shown}</{check.kind}>'
