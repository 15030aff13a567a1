"""What an XPath expression is: a tree of nodes, each with its place in the text.

The tree has the grammar and no more: which names are fields, what a variable holds and what an expression asks of a
record is found out by those who walk it. What it does not model is `Opaque`: it is never local, and hides nothing,
since what could be read of it are its parts.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from types import MappingProxyType
from typing import Any, get_args
from typing import Literal as OneOf

from masktron.rulebook.expressions.lexer import tokenize
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE

type Axis = OneOf[
    "child", "attribute", "self", "parent", "descendant", "descendant-or-self", "ancestor", "ancestor-or-self",
    "preceding-sibling", "following-sibling", "preceding", "following", "namespace",
]  # fmt: skip
type ArithmeticSign = OneOf["+", "-", "*", "div", "idiv", "mod"]
type GeneralSign = OneOf["=", "!=", "<", "<=", ">", ">="]
type ValueSign = OneOf["eq", "ne", "lt", "le", "gt", "ge"]
type NodeSign = OneOf["is", "<<", ">>"]
type SetSign = OneOf["|", "union", "intersect", "except"]
type Binder = OneOf["for", "let", "some", "every"]
type Conversion = OneOf["cast", "castable", "instance", "treat"]

AXES: frozenset[str] = frozenset(get_args(Axis.__value__))
SIDEWAYS = frozenset({"preceding", "following", "preceding-sibling", "following-sibling"})
"""Axes to nodes that are neither above nor below; where they lead depends on the order."""
REVERSE = frozenset({"preceding", "preceding-sibling", "ancestor", "ancestor-or-self", "parent"})
"""Axes on which positions count backwards in the document."""
NODE_KINDS = ("node", "text", "comment", "processing-instruction")
"""Kind tests of XPath 1.0."""
ARITHMETIC_SIGNS: frozenset[str] = frozenset(get_args(ArithmeticSign.__value__))
SET_SIGNS: frozenset[str] = frozenset(get_args(SetSign.__value__))
GENERAL_SIGNS: tuple[GeneralSign, ...] = get_args(GeneralSign.__value__)
COMPARISON_SIGNS = frozenset({*GENERAL_SIGNS, *get_args(ValueSign.__value__), *get_args(NodeSign.__value__)})
GENERAL_OF_VALUE: Mapping[str, GeneralSign] = MappingProxyType(
    dict(zip(get_args(ValueSign.__value__), GENERAL_SIGNS, strict=True))
)
"""The general comparison that a comparison of two values is: ``=`` for ``eq``."""
MIRRORED: Mapping[str, GeneralSign] = MappingProxyType(
    {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
)
"""The comparison when its operands change places."""
RELATIONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    dict(
        zip(
            GENERAL_SIGNS, (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), strict=True
        )
    )
)
"""What a general comparison asks of two values."""
BINDERS: frozenset[str] = frozenset(get_args(Binder.__value__))
CONVERSIONS: frozenset[str] = frozenset(get_args(Conversion.__value__))

DOCUMENTS = frozenset({"document", "doc"})
"""Functions that return the document of a name."""
ANY = "*"
"""Stands for any namespace or any name."""
_IN_NAME = re.compile(r"[\w.\-·]")


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression; two are equal where they say the same, wherever they stand.

    Attributes
    ----------
    source : str
        The whole text.
    start, end : int
        Where the part stands in it, with the parentheses around it.
    """

    source: str = field(compare=False, repr=False)
    start: int = field(compare=False, repr=False)
    end: int = field(compare=False, repr=False)

    @property
    def text(self) -> str:
        """The part as written."""
        return self.source[self.start : self.end]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A string, an integer, a decimal, or, with an exponent, a double."""

    value: str | int | Decimal | float

    @property
    def written(self) -> str:
        """As written, without parentheses around it."""
        return next(one.text for one in tokenize(self.text) if one.kind in ("literal", "number"))


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """``$name``, with its prefix."""

    name: str


@dataclass(frozen=True, slots=True)
class ContextItem(Node):
    """``.``"""


@dataclass(frozen=True, slots=True)
class Root(Node):
    """The document node of the context: ``/`` alone, and what stands before the first slash of ``/a`` and ``//a``."""


@dataclass(frozen=True, slots=True)
class NameTest:
    """Which names a step takes.

    Attributes
    ----------
    local : str
        Local name, or `ANY`.
    space : str
        URI of its namespace; empty for none, or `ANY`.
    prefix : str
        As written.
    """

    local: str
    space: str = ""
    prefix: str = ""

    def __str__(self) -> str:
        if self.prefix:
            return f"{self.prefix}:{self.local}"
        return self.local if self.space in ("", ANY) else f"Q{{{self.space}}}{self.local}"

    @property
    def tag(self) -> str:
        """The Clark name that it asks for; empty where several may be meant."""
        if ANY in (self.local, self.space):
            return ""
        return f"{{{self.space}}}{self.local}" if self.space else self.local

    def takes(self, tag: str) -> bool:
        """Whether an element or attribute with a Clark name passes."""
        space, _, local = tag.removeprefix("{").rpartition("}")
        return self.local in (ANY, local) and self.space in (ANY, space)


@dataclass(frozen=True, slots=True)
class KindTest:
    """Which kind of nodes a step takes.

    Attributes
    ----------
    kind : str
        ``node``, ``text``, ``comment``, ``processing-instruction``, ``element``, ``attribute`` ...
    asked : str
        What stands between the brackets.
    """

    kind: str
    asked: str = ""

    def __str__(self) -> str:
        return f"{self.kind}({self.asked})"


@dataclass(frozen=True, slots=True)
class Step(Node):
    """One step of a path.

    Attributes
    ----------
    axis : str
    test : NameTest or KindTest
    predicates : tuple of Node
    """

    axis: Axis
    test: NameTest | KindTest
    predicates: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """What is no step, with predicates: ``(//a)[1]``, ``$x[b]``."""

    base: Expression
    predicates: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """A part of a path, and whether ``//`` stands before it."""

    deep: bool
    to: Expression


@dataclass(frozen=True, slots=True)
class Path(Node):
    """``first/to/to``: each part is evaluated at the nodes of the one before."""

    first: Expression
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class SimpleMap(Node):
    """``items ! to``"""

    items: Expression
    to: Expression


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a function; the operand of ``=>`` is its first argument.

    Attributes
    ----------
    name : str
        Local name.
    space : str
        URI of its namespace; that of XPath where it has no prefix, as XSLT's functions have none.
    arguments : tuple of Node
    prefix : str
        As written.
    named : int
        Where its name stands in the source.
    """

    name: str
    space: str
    arguments: tuple[Expression, ...] = ()
    prefix: str = ""
    named: int = field(default=0, compare=False, repr=False)

    @property
    def standard(self) -> str:
        """The name, of a function of XPath or XSLT; empty for others."""
        return self.name if self.space == FUNCTIONS_NAMESPACE else ""


@dataclass(frozen=True, slots=True)
class Negation(Node):
    """``- operand``, or ``+ operand``."""

    sign: OneOf["+", "-"]
    operand: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """A chain of one operator, evaluated from the left; all chains have two operands or more."""

    sign: ArithmeticSign
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Concatenation(Node):
    """``a || b``"""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Connective(Node):
    """``a and b``, ``a or b``"""

    sign: OneOf["and", "or"]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """A general comparison (``=``), one of values (``eq``), or one of nodes (``is``)."""

    sign: GeneralSign | ValueSign | NodeSign
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class NodeSet(Node):
    """``a | b``, ``a except b``; ``union`` is written ``|``."""

    sign: OneOf["|", "intersect", "except"]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """``a, b`` and the empty ``()``."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Range(Node):
    """``low to high``"""

    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class If(Node):
    """``if (condition) then ... else ...``"""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Binding(Node):
    """``for``, ``let``, ``some`` and ``every``.

    Attributes
    ----------
    kind : str
    bound : tuple of (str, Node)
        Each variable with what it runs over, or is.
    body : Node
    """

    kind: Binder
    bound: tuple[tuple[str, Expression], ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as written after ``as`` or ``of``: of an atomic one its name, of others the text alone.

    Attributes
    ----------
    local, space : str
    occurrence : str
        ``?``, ``*``, ``+`` or nothing.
    text : str
    """

    local: str
    space: str
    occurrence: str
    text: str


@dataclass(frozen=True, slots=True)
class Typed(Node):
    """``operand cast as type``, and ``castable as``, ``instance of``, ``treat as``."""

    kind: Conversion
    operand: Expression
    type: TypeName


@dataclass(frozen=True, slots=True)
class Opaque(Node):
    """What the tree does not model: maps, arrays, functions as values.

    Attributes
    ----------
    symbol : str
        What it is called in messages.
    parts : tuple of Node
    """

    symbol: str
    parts: tuple[Expression, ...] = ()


type Expression = (
    Literal
    | Variable
    | ContextItem
    | Root
    | Step
    | Filter
    | Path
    | SimpleMap
    | Call
    | Negation
    | Arithmetic
    | Concatenation
    | Connective
    | Comparison
    | NodeSet
    | Sequence
    | Range
    | If
    | Binding
    | Typed
    | Opaque
)


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield the direct parts of an expression, in the order of its text."""
    match expression:
        case Path(first=first, hops=hops):
            yield first
            yield from (hop.to for hop in hops)
        case Binding(bound=bound, body=body):
            yield from (value for _, value in bound)
            yield body
        case _:
            for one in fields(expression):
                value = getattr(expression, one.name)
                if isinstance(value, tuple):
                    yield from value
                elif isinstance(value, Node):
                    yield value  # type: ignore[misc]


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything below it, each before what it has."""
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(list(parts_of(one))))


def alternatives(expression: Expression) -> Iterator[Expression]:
    """Yield the expressions of which one is the union, in whatever brackets; itself where it is none."""
    if isinstance(expression, NodeSet) and expression.sign == "|":
        for operand in expression.operands:
            yield from alternatives(operand)
    else:
        yield expression


def is_document(expression: Expression) -> bool:
    """Whether an expression is a call of ``document()`` or ``doc()``."""
    return isinstance(expression, Call) and expression.standard in DOCUMENTS


def free_variables(expression: Expression) -> frozenset[str]:
    """Return the names of the variables that an expression refers to and does not bind."""
    match expression:
        case Variable(name=name):
            return frozenset({name})
        case Binding(bound=bound, body=body):
            free = free_variables(body)
            for name, value in reversed(bound):
                free = (free - {name}) | free_variables(value)
            return free
        case Opaque(symbol="function", parts=(*parameters, body)):
            return free_variables(body) - {one.name for one in parameters if isinstance(one, Variable)}
        case _:
            return frozenset[str]().union(*map(free_variables, parts_of(expression)))


def outside_predicates(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and what is below it but in no predicate of it, each before what it has."""
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        yield one
        match one:
            case Step():
                pass
            case Filter(base=base):
                waiting.append(base)
            case _:
                waiting.extend(reversed(list(parts_of(one))))


def spelled(expression: Expression, texts: Iterable[str]) -> str:
    """Return the text of an expression with other texts in the places of its parts; all else stays as written.

    Parameters
    ----------
    expression : Node
    texts : iterable of str
        One for each of `parts_of`.
    """
    changes = [(part.start, part.end, text) for part, text in zip(parts_of(expression), texts, strict=True)]
    return replaced(expression.source, changes, expression.start, expression.end)


def replaced(source: str, changes: Iterable[tuple[int, int, str]], start: int = 0, end: int | None = None) -> str:
    """Return a text of XPath with others in some of its places, and a blank where names would join.

    Parameters
    ----------
    source : str
    changes : iterable of (start, end, text)
        In order.
    start, end : int, optional
        The part of the source.
    """
    text = ""
    end = len(source) if end is None else end
    for first, last, other in (*changes, (end, end, "")):
        text = _apart(_apart(text, source[start:first]), other)
        start = last
    return text


def _apart(text: str, more: str) -> str:
    joins = _IN_NAME.match(text[-1:]) and _IN_NAME.match(more)
    return f"{text} {more}" if joins else text + more
