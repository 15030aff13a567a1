"""What an expression over a batch is evaluated in: the file, its fields, the context node, variables, the dialect.

A record of a flat file has each field once at most, so that a node is known by its position in the layout and every
value, that of a variable too, is one value for each record, wherever it is used.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from masktron.judge.columns.items import (
    NO,
    NOWHERE,
    RECORD,
    YES,
    Bools,
    Doubt,
    Item,
    Items,
    Node,
    NotColumnar,
    always,
)
from masktron.kernels.bytewise import order_cells
from masktron.rulebook.expressions.tree import Call, Expression
from masktron.sources.columns import Batch, Cell, Cells, Numbers, Texts
from masktron.sources.record_layout import Layout

_ORDERED_CODECS = ("utf-8", "ascii", "iso8859-1")
"""In which bytes follow each other as code points do."""


_UNREAD = Cells(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint8))
_ABSENT = Cells(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.full(1, Cell.ABSENT, dtype=np.uint8))


class FieldSource:
    """Where fields are read: in a batch, or, to see whether an expression can be evaluated, in one without records.

    Attributes
    ----------
    read : set of int
        The fields that were read.
    """

    def __init__(self, batch: Batch | None) -> None:
        self._batch = batch
        self._present: dict[int, Bools] = {NOWHERE: NO}
        self.read: set[int] = set()

    @property
    def dry(self) -> bool:
        """Whether there are no records: an expression is only tried."""
        return self._batch is None

    def present(self, at: int) -> Bools:
        """Return where a field is there."""
        if at not in self._present:
            self._present[at] = always(self._cells(at).status != Cell.ABSENT)
        return self._present[at]

    def filled(self, at: int) -> Bools:
        """Return where a field has text."""
        return NO if at == NOWHERE else always(self._cells(at).status >= Cell.TEXT)

    def numbers(self, at: int) -> Numbers:
        """Return a field as numbers."""
        rows = len(self._cells(at).status)
        if self._batch is not None and at != NOWHERE:
            return self._batch.numbers(at)
        nan, zero = np.full(rows, np.nan), np.zeros(rows, dtype=np.int64)
        return Numbers(np.zeros(rows, dtype=np.uint8), nan, nan, zero, np.full(rows, -1, dtype=np.int16))

    def texts(self, at: int) -> Texts:
        """Return a field as texts."""
        rows = len(self._cells(at).status)
        if self._batch is not None and at != NOWHERE:
            return self._batch.texts(at)
        return Texts(np.full(rows, -1, dtype=np.int32), ())

    def places(self, at: int) -> tuple[NDArray[np.int64], Bools]:
        """Return where a field stands in the file, and where this is known: an empty one may be a single tag."""
        cells = self._cells(at)
        return cells.start, cells.status == Cell.TEXT

    def also(self, fields: Iterable[int]) -> None:
        """Take fields as read: they decide what is asked for where they are odd."""
        self.read.update(at for at in fields if at != NOWHERE)

    def order(self, at: int, other: int | str, *, alike: bool = False) -> NDArray[np.int8] | None:
        """Return -1, 0 or 1 for a field that comes before, is, or comes after another field or a constant.

        With ``alike`` only the zeros are asked for. None where bytes do not say how code points follow each other.
        """
        cells = self._cells(at)
        others = self._cells(other) if isinstance(other, int) else None
        if self._batch is None or NOWHERE in (at, other):
            return np.zeros(len(cells.status), dtype=np.int8)
        if codecs.lookup(self._batch.codec).name not in _ORDERED_CODECS:
            return None
        data = self._batch.buffer
        order = np.empty(len(self._batch), dtype=np.int8)
        if others is not None:
            order_cells(data, cells.start, cells.stop, data, others.start, others.stop, order, alike)
            return order
        try:
            text = np.frombuffer(bytearray(str(other).encode(self._batch.codec)), dtype=np.uint8)
        except UnicodeEncodeError:
            return None
        zero = np.zeros(1, dtype=np.int64)
        order_cells(data, cells.start, cells.stop, text, zero, zero + len(text), order, alike)
        return order

    def _cells(self, at: int) -> Cells:
        if at == NOWHERE:
            return _ABSENT
        self.read.add(at)
        return _UNREAD if self._batch is None else self._batch.cells[at]


type Takes = OneOf["text", "value", "number", "any", "numbers", "nodes", "items"]
"""What an argument becomes.

A text; a text, of whatever value; a number; a number, NaN for what is none; the alternatives of a number; the items,
in XPath 1.0 of a node-set; the items.
"""
type Conversion = Callable[[Items, FieldSource, Doubt], Any]


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is evaluated over columns.

    Attributes
    ----------
    takes : tuple of str
    apply : callable
        From the arguments, after the source and a doubt, to the value.
    optional : int
        How many of the last arguments may be left out.
    context : bool
        Whether no argument means the context item.
    """

    takes: tuple[Takes, ...]
    apply: Callable[..., Item | Items]
    optional: int = 0
    context: bool = False

    def value(
        self, name: str, arguments: tuple[Items, ...], converted: Mapping[Takes, Conversion], source: FieldSource
    ) -> Items:
        """Return the value.

        Raises
        ------
        NotColumnar
            It is not evaluated over columns with these arguments.
        """
        if not 0 <= len(self.takes) - len(arguments) <= self.optional:
            raise NotColumnar(f"{name}() with {len(arguments)} arguments")
        doubt = Doubt()
        values = [converted[kind](each, source, doubt) for kind, each in zip(self.takes, arguments, strict=False)]
        found = self.apply(source, doubt, *values)
        return found if isinstance(found, Items) else Items((found,), doubt.mask)


DOCUMENT = -1
"""The focus of variables of the schema or of a pattern: nothing in a batch answers what reads nodes there."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """In what XPath 1.0 and later versions differ.

    Attributes
    ----------
    typed : bool
        Whether a node that no record has is an item all the same, since what is made of it has a type.
    functions : mapping of str to Function
    converted : mapping of str to callable
        What arguments of functions become.
    named : callable
        From ``local-name`` or its like, and nodes, to the name.
    constant : callable
        From a literal to its value.
    compare : callable
        From the sign of a comparison and its sides to its value.
    call : callable
        The value of a function.
    chosen : callable
        The items of a sequence that a predicate keeps.
    other : callable
        The value of an expression that the other dialect does not have.
    """

    typed: bool
    functions: Mapping[str, Function]
    converted: Mapping[Takes, Conversion]
    named: Callable[[str, Items, State], Items]
    constant: Callable[[str | int | Decimal | float], Item]
    compare: Callable[[str, Items, Items, FieldSource], Items]
    call: Callable[[Call, State], Items]
    chosen: Callable[[Items, Expression, State], Items]
    other: Callable[[Expression, State], Items]


@dataclass(frozen=True, slots=True)
class ColumnScope:
    """The static context of an expression, and the node that it is evaluated on, seen from the record.

    Attributes
    ----------
    namespaces : tuple of (prefix, uri)
        As the rulebook declares them; the standard prefixes of XPath 2 and later are not among them.
    layout : Layout
    dialect : Dialect
    focus : int or None
        None for the record, else the position of a field in the layout, or `DOCUMENT`.
    current : int or None
        The node that the rule fired on (or that its context is tested on): what ``current()`` is, in a predicate too.
    variables : mapping of str to ScopedLet or NotColumnar
        Compiled values by name, without ``$``; a `NotColumnar` where the value could not be compiled.
    """

    namespaces: tuple[tuple[str, str], ...]
    layout: Layout
    dialect: Dialect
    focus: int | None = None
    current: int | None = None
    variables: Mapping[str, ScopedLet | NotColumnar] = field(default_factory=lambda: MappingProxyType({}))

    def bind(self, name: str, value: ScopedLet | NotColumnar) -> ColumnScope:
        """Return the scope in which a variable has a value, too; a `NotColumnar` is raised where it is used."""
        return replace(self, variables=MappingProxyType({**self.variables, name: value}))

    def at(self, focus: int | None) -> ColumnScope:
        """Return the scope of a predicate: another focus, the same current node."""
        return replace(self, focus=focus)

    def on(self, node: int | None) -> ColumnScope:
        """Return the scope of a rule that fires on a node."""
        return replace(self, focus=node, current=node)

    def variable(self, name: str) -> ScopedLet:
        """Return the compiled value of a variable.

        Raises
        ------
        NotColumnar
            It is not known, or its value could not be compiled.
        """
        value = self.variables.get(name)
        if isinstance(value, NotColumnar):
            raise NotColumnar(f"${name}: {value}")
        if value is None:
            raise NotColumnar(f"${name} is not known")
        return value


@dataclass(frozen=True, slots=True)
class ScopedLet:
    """A variable of the rulebook: an expression in its own scope."""

    value: Expression
    scope: ColumnScope


@dataclass(frozen=True, slots=True)
class State:
    """What an expression is evaluated in.

    Attributes
    ----------
    focus : Item or None
        The context item; None where there is none that columns know. A node is there in all records.
    local : mapping of str to Items
        Variables that the expression itself binds.
    lets : dict
        Values of variables of the rulebook, by their `ScopedLet`, made once in a batch.
    never : set of (int, int)
        Predicates, each with a node, that are false whatever the records say: found when the expression is tried.
    depth : int
        How deep the expression is nested.
    alone : bool
        Whether the context node is surely the only one, so that its position is 1 and the last is 1.
    """

    source: FieldSource
    scope: ColumnScope
    focus: Item | None
    local: Mapping[str, Items]
    lets: dict[int, Items]
    never: set[tuple[int, int]]
    depth: int = 0
    alone: bool = False

    @property
    def dialect(self) -> Dialect:
        """The dialect of the rulebook."""
        return self.scope.dialect

    def bound(self, name: str, value: Items) -> State:
        """Return the state with one more variable."""
        return replace(self, local=MappingProxyType({**self.local, name: value}))

    def at(self, item: Item, *, alone: bool = False) -> State:
        """Return the state of what is evaluated on an item only, where that is there."""
        if isinstance(item, Node) and item.at != NOWHERE:
            item = replace(item, there=YES)
        return replace(self, focus=item, alone=alone)

    def outside(self, scope: ColumnScope) -> State:
        """Return the state in which a variable of the rulebook is evaluated."""
        tried = start(self.source, scope, self.never)
        return replace(tried, lets=self.lets, depth=self.depth + 1)


def node_at(position: int | None) -> Node | None:
    """Return the node of a focus: nothing is evaluated where it is not there."""
    if position == DOCUMENT:
        return None
    return Node(YES, RECORD if position is None else position)


def start(source: FieldSource, scope: ColumnScope, never: set[tuple[int, int]] | None = None) -> State:
    """Return the state in which an expression of the rulebook is evaluated."""
    known = set[tuple[int, int]]() if never is None else never
    return State(source, scope, node_at(scope.focus), MappingProxyType({}), {}, known)
