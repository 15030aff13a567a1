"""What an expression says of one record.

The tree of `masktron.rulebook.expressions` has what is written; this is what it comes to, read at one node: names are
fields of the record, of other records or neither; variables are replaced by their values, quantifiers by their cases;
numbers are rational, chains of operators are pairs, and spellings of the same thing are one node. So nothing here has
a place in a text, and what is not said is an `Unknown` with its source, so that nothing is lost: the original
expression stays the judge of every record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

type ArithmeticOperator = Literal["+", "-", "*", "div", "idiv", "mod"]
type ComparisonOperator = Literal["=", "!=", "<", "<=", ">", ">="]

OPPOSITE: Mapping[ComparisonOperator, ComparisonOperator] = MappingProxyType(
    {"=": "!=", "!=": "=", "<": ">=", ">=": "<", "<=": ">", ">": "<="}
)
"""The operator that holds of two numbers where another does not."""


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric literal, as the exact rational that its decimal text denotes."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal."""

    value: str


@dataclass(frozen=True, slots=True)
class Boolean:
    """``true()`` or ``false()``."""

    value: bool


@dataclass(frozen=True, slots=True)
class FieldRef:
    """A field of the record at hand.

    Attributes
    ----------
    name : str
        Local name, ``@`` before it for an attribute.
    namespace : str
        URI that the expression asks for; empty for none, ``*`` for any.
    text : bool
        Whether the text node was asked for, which an empty element does not have.
    """

    name: str
    namespace: str = ""
    text: bool = False


@dataclass(frozen=True, slots=True)
class ContextRecord:
    """The record itself, as a node."""


@dataclass(frozen=True, slots=True)
class OtherDocument:
    """The document node of another file."""

    uri: str


@dataclass(frozen=True, slots=True)
class OtherField:
    """Inside a predicate on other nodes: a field of those nodes."""

    name: str


@dataclass(frozen=True, slots=True)
class OtherNodes:
    """Nodes outside the record.

    Attributes
    ----------
    source : str
        The path as written.
    document : str or None
        URI of the file they stand in; None for the file at hand.
    path : str
        The path inside the document, without predicates.
    field : str or None
        Name of the last step, where it is below a record.
    where : tuple of Expression
        All predicates on the way.
    """

    source: str
    document: str | None
    path: str
    field: str | None
    where: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A binary operation on numbers."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A function call; the name has no prefix for the standard functions."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to an XML Schema type, by constructor or ``cast as``; ``target`` is the local name."""

    target: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Castable:
    """``operand castable as xs:target``; ``optional``: with ``?``, which admits what is not there."""

    target: str
    operand: Expression
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison; ``general`` ones (``=``, ``<``) are existential over sequences, value ones (``eq``) are not."""

    operator: ComparisonOperator
    left: Expression
    right: Expression
    general: bool = True


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some part holds."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The effective boolean value, negated."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class If:
    """``if (condition) then ... else ...``."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Quantified:
    """``some`` or ``every`` over explicit items; each case is an item with the condition for this item."""

    every: bool
    cases: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Explicit items, in order; ``union`` for a node set, where a node counts once."""

    items: tuple[Expression, ...]
    union: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """``low to high``."""

    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class VariableReference:
    """A variable without a known value."""

    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A subexpression that the tree cannot say.

    Attributes
    ----------
    source : str
        As written.
    fields : tuple of str
        Fields of the record that it names.
    everything : bool
        Whether it may read more of the record than it names (wildcards, the record's own text).
    outside : bool
        Whether it may read nodes outside the record.
    asked : tuple of str
        Of `fields`, those that it asks for as names of this file: types and keys of maps are none.
    elsewhere : bool
        Whether it reads another document.
    """

    source: str
    fields: tuple[str, ...] = ()
    everything: bool = False
    outside: bool = False
    asked: tuple[str, ...] = field(default=(), compare=False)
    elsewhere: bool = field(default=False, compare=False)


type Expression = (
    Number
    | Text
    | Boolean
    | FieldRef
    | ContextRecord
    | OtherDocument
    | OtherField
    | OtherNodes
    | Arithmetic
    | Negative
    | Call
    | Cast
    | Castable
    | Comparison
    | And
    | Or
    | Not
    | If
    | Quantified
    | Sequence
    | Span
    | VariableReference
    | Unknown
)


def children(expression: Expression) -> Iterator[Expression]:
    """Yield the direct subexpressions."""
    if isinstance(expression, Quantified):
        for item, condition in expression.cases:
            yield item
            yield condition
        return
    for slot in fields(expression):
        value = getattr(expression, slot.name)
        if isinstance(value, tuple):
            yield from (part for part in value if not isinstance(part, str))
        elif not isinstance(value, str | bool | Fraction | None):
            yield value


def changed(expression: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """Put another expression in the place of each for which there is one, from the outside to the inside."""
    found = change(expression)
    if found is not None:
        return found
    if isinstance(expression, Quantified):
        cases = tuple((changed(item, change), changed(case, change)) for item, case in expression.cases)
        return Quantified(expression.every, cases)
    inner: dict[str, object] = {}
    for slot in fields(expression):
        value = getattr(expression, slot.name)
        if isinstance(value, tuple):
            inner[slot.name] = tuple(part if isinstance(part, str) else changed(part, change) for part in value)
        elif not isinstance(value, str | bool | Fraction | None):
            inner[slot.name] = changed(value, change)
    return replace(expression, **inner) if inner else expression  # type: ignore[arg-type]


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and everything below it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def fields_of(expression: Expression) -> frozenset[str]:
    """Names of the fields that an expression reads, in the record at hand or in others."""
    names: set[str] = set()
    for node in walk(expression):
        match node:
            case FieldRef(name=name) | OtherField(name=name):
                names.add(name)
            case OtherNodes(document=None, field=str(name)):
                names.add(name)
            case Unknown(fields=named):
                names.update(named)
            case _:
                pass
    return frozenset(names) - {"."}


def reads_everything(expression: Expression) -> bool:
    """Whether an expression may read fields that it does not name."""
    return any(
        isinstance(node, ContextRecord) or (isinstance(node, Unknown) and node.everything)
        for node in walk(expression)
    )
