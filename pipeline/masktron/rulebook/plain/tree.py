"""Rules in plain text as trees: what was written, with its places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, cast

from masktron.problems.problem import Place, Problem, Rule

type Kind = Literal["number", "text", "condition", "unknown"]
type Comparison = Literal["==", "!=", "<", "<=", ">", ">="]
type Severity = Literal["error", "warning", "information"]

WORDS: Mapping[Severity, str] = {"error": "", "warning": "warn ", "information": "info "}
"""What stands before rules."""
SEVERITIES: Mapping[str, Severity] = {
    word: one for one, short in WORDS.items() for word in (one, short.strip() or one)
}
"""By all words that may stand there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What stands in the text of a rule: at this character, from 0. Two nodes are the same wherever they stand."""

    at: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class Number(Placed):
    """A number as it was written, without a per cent sign: 30% is 0.30."""

    text: str


@dataclass(frozen=True, slots=True)
class Text(Placed):
    """A text in quotation marks."""

    value: str


@dataclass(frozen=True, slots=True)
class Truth(Placed):
    """TRUE, FALSE, or NA, which is None."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Name(Placed):
    """A field; or what a definition has called so."""

    name: str


@dataclass(frozen=True, slots=True)
class Arithmetic(Placed):
    """Two numbers joined by ``+``, ``-``, ``*``, ``/``, ``^`` or ``%%``."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Negative(Placed):
    """A number with a minus before it."""

    of: Node


@dataclass(frozen=True, slots=True)
class Compared(Placed):
    """Two numbers or texts, compared."""

    operator: Comparison
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Range(Placed):
    """From a number to a number, both within it."""

    low: Node
    high: Node


@dataclass(frozen=True, slots=True)
class In(Placed):
    """Whether a value is one of several.

    Attributes
    ----------
    options : tuple of Node
        Numbers, texts and ranges.
    decided : bool
        Whether a missing value is none of them, as with ``%in%`` of R, and not undecided, as with ``%vin%``.
    """

    value: Node
    options: tuple[Node, ...]
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Not(Placed):
    """A condition that does not hold."""

    of: Node


@dataclass(frozen=True, slots=True)
class Joined(Placed):
    """Conditions joined by ``and`` or ``or``."""

    operator: Literal["and", "or"]
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class If(Placed):
    """If a condition holds, another one does; else a third, where there is one."""

    condition: Node
    then: Node
    otherwise: Node | None = None


@dataclass(frozen=True, slots=True)
class Call(Placed):
    """A function.

    Attributes
    ----------
    function : str
        As `masktron.rulebook.plain.functions` has it.
    arguments : tuple of Node
    by : tuple of Name
        Of what is counted across records: the fields in which these records are the same.
    remove_missing : bool
        Whether it takes only what is there, as ``na.rm=TRUE`` of R; of others, whether a missing value leaves them
        decided.
    """

    function: str
    arguments: tuple[Node, ...]
    by: tuple[Name, ...] = ()
    remove_missing: bool = False


type Node = Number | Text | Truth | Name | Arithmetic | Negative | Compared | Range | In | Not | Joined | If | Call


@dataclass(frozen=True, slots=True)
class PlainRule:
    """One rule, or what gives a name to a part of rules.

    Attributes
    ----------
    name : str
    node : Node
        A condition; NA until it is read.
    line : int
        Where it begins, from 1.
    text : str
        It as it stands there, without name and comment.
    label, description : str
        What it says, in words: of a comment behind it, or of a file of validate.
    severity : str
    tolerance : tuple of (str, str)
        By how much two sides of ``==``, and of ``<=`` and ``>=``, may differ; empty where they may not.
    file : str
        Where it stands; empty where that is the file that was opened.
    places : tuple of (int, int)
        Line and column of each of its signs.
    defines : bool
        Whether its name stands for it in other rules.
    """

    name: str
    node: Node
    line: int
    text: str
    label: str = ""
    description: str = ""
    severity: Severity = "error"
    tolerance: tuple[str, str] = ("", "")
    file: str = ""
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)
    defines: bool = False

    @property
    def written(self) -> str:
        """Its text in one line."""
        return " ".join(self.text.split())

    def place(self, at: int) -> tuple[int, int]:
        """Return the line and column of a sign of the rule; of what is behind its end, the one behind."""
        if not self.places:
            return self.line, max(at + 1, 1)
        line, column = self.places[min(max(at, 0), len(self.places) - 1)]
        return line, column + (at >= len(self.places))

    def wrong(self, problem: Problem, at: int, where: str) -> Problem:
        """Return a problem at a sign of the rule, which stands in its own file or in `where`."""
        rule = Rule(self.name) if self.name else None
        return problem.at(Place(self.file or where, *self.place(at), rule=rule))


@dataclass(frozen=True, slots=True)
class PlainRules:
    """The rules of a file.

    Attributes
    ----------
    rules : tuple of PlainRule
    missing_fails : bool
        Whether a comparison with a missing value fails, and is not undecided.
    wrong : tuple of Problem
        Of other rules, which cannot be read: what was probably meant; see `require_readable`.
    definitions : tuple of PlainRule
        What gives names to parts of rules, by these names.
    """

    rules: tuple[PlainRule, ...]
    missing_fails: bool = False
    wrong: tuple[Problem, ...] = ()
    definitions: tuple[PlainRule, ...] = ()


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes within a node, in their order."""
    for one in fields(node):
        value = getattr(node, one.name)
        yield from value if isinstance(value, tuple) else (value,) if isinstance(value, Placed) else ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all within it, each before what it has."""
    waiting = [node]
    while waiting:
        yield (one := waiting.pop())
        waiting += reversed([*children(one)])


def mapped(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return a tree in which each node, from the leaves up, is what a function makes of it."""
    parts: dict[str, Any] = {}
    for one in fields(node):
        value = getattr(node, one.name)
        if isinstance(value, Placed):
            parts[one.name] = mapped(cast(Node, value), change)
        elif isinstance(value, tuple):
            parts[one.name] = tuple(mapped(part, change) for part in value)
    return change(replace(node, **parts) if parts else node)
