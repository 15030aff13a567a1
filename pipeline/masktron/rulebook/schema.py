"""A rulebook after resolution: patterns, rules and checks in document order, each with its origin."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from masktron.problems import problem
from masktron.problems.problem import Sentence
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE, expanded
from masktron.rulebook_text.rule_entries import SOFT

type XPathVersion = Literal["1.0", "2.0", "3.0", "3.1"]
type Namespaces = tuple[tuple[str, str], ...]
"""Prefixes with their URIs."""
type OwnFunction = tuple[str, str, int]
"""Namespace, local name and number of arguments of a function that a rulebook declares."""


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
class Instruction:
    """An instruction of XSLT: a function or a key that a rulebook declares, or a part of a function.

    Attributes
    ----------
    name : str
        Its local name.
    attributes : tuple of (str, str)
    children : tuple of Instruction
    origin : Origin
    text : str
        Of ``xsl:text``.
    """

    name: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Instruction, ...]
    origin: Origin
    text: str = ""

    def value(self, name: str) -> str:
        """Return an attribute; empty where there is none."""
        return dict(self.attributes).get(name, "")

    @property
    def expressions(self) -> tuple[str, ...]:
        """The attributes that hold XPath, or a type."""
        return tuple(value for name, value in self.attributes if name in ("select", "test", "match", "use", "as"))

    def walk(self) -> Iterator[Instruction]:
        """Yield the instruction and all in it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class ValueOf:
    """``<value-of select>`` or ``<name path>`` in a message; ``is_name`` tells them apart."""

    select: str
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Rich:
    """What Schematron lets an element say about its text: ``see``, ``icon``, ``fpi`` and ``xml:lang``, as written.

    ``lang`` is that of the nearest element around that has one, in the file where the element was written.
    """

    see: str | None = None
    icon: str | None = None
    fpi: str | None = None
    lang: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """In a message: here begins the text of a diagnostic or property that the check names.

    Attributes
    ----------
    kind : str
    id : str
    role, scheme : str or None
        As written; only a property has a scheme.
    """

    kind: Literal["diagnostic", "property"]
    id: str
    role: str | None = None
    scheme: str | None = None
    rich: Rich = Rich()


type Part = str | ValueOf | Note


def softens(name: str, value: str) -> bool:
    """Tell whether the value of an attribute makes a rule soft; a flag may have several words."""
    words = value.split() if name == "flag" else [value]
    return any(word.strip().lower() in SOFT for word in words)


@dataclass(frozen=True, slots=True)
class Check:
    """One assert or report.

    Attributes
    ----------
    message : tuple of str, ValueOf or Note
        The text of the check, then that of each of its diagnostics and properties with a `Note` before it.
    id : str
        Unique in the rulebook: the first of the assert's id, the rule's id, the pattern's id, name or title,
        numbered where that is not unique; ``rule-N`` where none was given.
    index : int
        Position among all checks of the rulebook, from 0.
    soft : bool
        Whether ``role``, ``flag`` or ``severity`` marks it as a warning or information: reported, and kept unless
        told otherwise, but never the reason for an exit code.
    severity : str or None
        As written (edition 2025).
    subject : str or None
        The path from the node of the context to the one that findings point at.
    written : str
        Of a rule in plain text: as it is written there.
    decided : str
        Of such a rule: what holds where its values suffice to decide it; empty where a missing value fails it.
    """

    id: str
    index: int
    kind: Literal["assert", "report"]
    test: str
    message: tuple[Part, ...]
    origin: Origin
    role: str | None = None
    flag: str | None = None
    soft: bool = False
    severity: str | None = None
    subject: str | None = None
    rich: Rich = Rich()
    written: str = ""
    decided: str = ""

    @property
    def place(self) -> problem.Place:
        """Where it is written, with its id."""
        return problem.Place(str(self.origin), rule=problem.Rule(self.id))

    @property
    def text(self) -> tuple[str | ValueOf, ...]:
        """The message without diagnostics and properties."""
        found: list[str | ValueOf] = []
        for part in self.message:
            if isinstance(part, Note):
                break
            found.append(part)
        return tuple(found)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The diagnostics and properties, in the order of their texts in the message."""
        return tuple(part for part in self.message if isinstance(part, Note))

    @property
    def marks(self) -> tuple[str, ...]:
        """The attributes that say how grave a failure is, as they are written; those that make a rule soft first."""
        given = [(softens(name, word), f'{name}="{word}"') for name, word in self._words() if word]
        return tuple(text for _, text in sorted(given, key=lambda pair: not pair[0]))

    @property
    def softened_by(self) -> tuple[str, ...]:
        """The attributes that make the rule soft, as they are written."""
        return tuple(f'{name}="{word}"' for name, word in self._words() if word and softens(name, word))

    def _words(self) -> tuple[tuple[str, str | None], ...]:
        return ("role", self.role), ("flag", self.flag), ("severity", self.severity)


@dataclass(frozen=True, slots=True)
class Rule:
    """A context and the checks that fire there.

    Attributes
    ----------
    context : str
        The nodes on which the checks are evaluated: of ``visit-each`` those that are visited, and of a phase with
        ``from`` those in its part of the document.
    checks : tuple of Check
        None where the rule only keeps nodes from later rules of the pattern.
    id : str or None
        As written.
    written, visit_each : str
        The context and ``visit-each`` as they are written; empty where the context is as written, and none is.
    """

    context: str
    lets: tuple[Let, ...]
    checks: tuple[Check, ...]
    origin: Origin
    id: str | None = None
    written: str = ""
    visit_each: str = ""

    @property
    def shown(self) -> str:
        """The context as it is written."""
        return self.written or self.context


@dataclass(frozen=True, slots=True)
class Pattern:
    """Rules of which a node fires only the first whose context matches it.

    A ``group``, of which a node fires every rule, is a pattern for each of its rules; so are the parts of a pattern
    between rules that visit other nodes than those of their context.

    Attributes
    ----------
    version : str
        Of XPath, in which its expressions are written.
    group : bool
    continues : bool
        Whether it is a further part of what stands before it.
    role : str or None
        As written (edition 2025); reports only name it.
    """

    id: str
    lets: tuple[Let, ...]
    rules: tuple[Rule, ...]
    origin: Origin
    version: XPathVersion
    group: bool = False
    continues: bool = False
    role: str | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What a schema says of itself, as written; empty where it does not say it. ``phase`` is the active one."""

    title: str = ""
    version: str = ""
    edition: str = ""
    phase: str = ""
    inactive: Sentence = ""
    """What its phase leaves out, as a sentence."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file other than the data and the original that rules read by ``document()`` or ``doc()``.

    Attributes
    ----------
    name : str
        What stands between the parentheses of the rules.
    path : Path or None
        None where nobody gave the file: then no verdict of a rule that reads it counts.
    text : str
        The document, without declaration and document type.
    sha256 : str
        Of the bytes of the file, in hexadecimal.
    """

    name: str
    path: Path | None
    text: str = field(repr=False)
    sha256: str


@dataclass(frozen=True, slots=True)
class Rulebook:
    """All that is active in the chosen phase.

    Attributes
    ----------
    binding : str
        The query binding of a schema with all of its patterns.
    namespaces : tuple of (prefix, uri)
    lets : tuple of Let
        Schema level and phase level, evaluated at the document root. All patterns of a rulebook with such variables
        have one version.
    documents : tuple of str
        What ``document()`` and ``doc()`` in the rules name, in the order of the rules.
    beside : tuple of Document
        Those of them that are files of their own; what is not among them is the original.
    notes : tuple of str
        What was repaired on reading, for the user.
    programs : tuple of Instruction
        The functions and keys that expressions may use.
    missing : mapping of str to frozenset of str
        Codes that mean 'missing' to rules in plain text, by field, ``*`` for all.
    analyses : dict
        What `masktron.rulebook.analysis.once` keeps; a copy of the rulebook has its own.
    """

    path: Path
    binding: str
    namespaces: tuple[tuple[str, str], ...]
    lets: tuple[Let, ...]
    patterns: tuple[Pattern, ...]
    documents: tuple[str, ...] = ()
    beside: tuple[Document, ...] = ()
    notes: tuple[Sentence, ...] = ()
    about: About = About()
    programs: tuple[Instruction, ...] = ()
    missing: Mapping[str, frozenset[str]] = field(default_factory=dict)
    analyses: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[Rulebook], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, one.name) for one in fields(self) if one.init)

    @property
    def version(self) -> XPathVersion:
        """The XPath version of a schema with all of its patterns: the latest of theirs."""
        return max((pattern.version for pattern in self.patterns), default="1.0")

    @property
    def versions(self) -> tuple[XPathVersion, ...]:
        """The XPath version of each check, by index."""
        return tuple(pattern.version for pattern, _, _ in self.situated())

    @property
    def own_functions(self) -> frozenset[OwnFunction]:
        """The functions that rules may call beside those of XPath."""
        spaces, found = dict(self.namespaces), set[OwnFunction]()
        for one in self.programs:
            taken = sum(child.name == "param" for child in one.children)
            if one.name == "key":
                found |= {(FUNCTIONS_NAMESPACE, "key", count) for count in (2, 3)}
            else:
                found.add((*expanded(one.value("name"), spaces), taken))
        return frozenset(found)

    @property
    def reads_original(self) -> bool:
        """Whether a rule reads the original."""
        return len(self.documents) > len(self.beside)

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
