"""What the generator knows where an expression stands: fields, constants and variables that it can write there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from differential.data import Column, Table
from differential.tree import Expr, Kind, expr

type Node = Literal["record", "field", "attribute", "document"]
type Maker = Callable[["Words"], Expr]

NUMERIC = frozenset({"integer", "decimal", "amount", "odd"})


@dataclass(frozen=True, slots=True)
class Makers:
    """How expressions of one kind can be made: in every version, in XPath 2 and later, and without operands."""

    both: tuple[Maker, ...]
    later: tuple[Maker, ...]
    flat: tuple[Maker, ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """How expressions of every kind can be made; `items` are sequences of XPath 2 and later."""

    booleans: Makers
    numbers: Makers
    strings: Makers
    items: tuple[Maker, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """What the generator of one expression knows.

    Attributes
    ----------
    node : str
        Where the expression is evaluated.
    own : Column, optional
        The field that is the context node.
    lets : mapping of str to kind
        Variables in scope, the numeric ones of `for` among them.
    depth : int
        How many levels may still be opened.
    wild : float
        Share of operands that are taken without a guard, so that dynamic errors arise.
    """

    rng: Random
    grammar: Grammar
    table: Table
    version: str
    node: Node = "record"
    own: Column | None = None
    lets: Mapping[str, Kind] | None = None
    depth: int = 3
    wild: float = 0.1
    current: str = ""
    """In a predicate: the way from ``current()`` to the record, if it is an element."""
    featured: tuple[Maker, ...] = ()
    """What this file has more of than others, so that everything is had often by some."""
    context: bool = False
    """Whether this is a predicate of a context, where ``current()`` is not written."""

    @property
    def two(self) -> bool:
        """Whether XPath 2 or later is written."""
        return self.version != "1.0"

    def deeper(self) -> Words:
        """Return the words for an operand."""
        return replace(self, depth=self.depth - 1)

    def boolean(self) -> Expr:
        """Return a condition."""
        return self._pick(self.grammar.booleans)

    def number(self) -> Expr:
        """Return a number."""
        return self._pick(self.grammar.numbers)

    def string(self) -> Expr:
        """Return a string."""
        return self._pick(self.grammar.strings)

    def items(self) -> Expr:
        """Return a sequence, in XPath 2 and later."""
        featured = [maker for maker in self.featured if maker in self.grammar.items]
        makers = featured if featured and self.rng.random() < 0.5 else self.grammar.items
        return self.rng.choice(makers)(self.deeper())

    def _pick(self, makers: Makers) -> Expr:
        if self.depth <= 0 or self.rng.random() < 0.08:
            return self.rng.choice(makers.flat)(self)
        choices = makers.later if self.two and self.rng.random() < 0.45 else makers.both
        featured = [m for m in self.featured if m in makers.both or (self.two and m in makers.later)]
        if featured and self.rng.random() < 0.4:
            choices = tuple(featured)
        made = self.rng.choice(choices)(self.deeper())
        if made.labels and made.labels[0].startswith("3.1:") and self.version != "3.1":
            return self.rng.choice(makers.both)(self.deeper())
        return made

    # fields

    def column(self, *kinds: str) -> Column:
        """Return a field, of one of the kinds if there is one."""
        wanted = [c for c in self.table.columns if c.kind in kinds]
        return self.rng.choice(wanted or list(self.table.columns))

    def name(self, column: Column) -> str:
        """Return the name test of a field."""
        if column.attribute:
            return f"@{column.name}"
        return column.name if self.table.naming == "none" else f"d:{column.name}"

    def field(self, *kinds: str) -> Expr:
        """Return a path to a field."""
        if self.node == "document":
            return expr("nodes", "//", f"//{self.name(self.column(*kinds))}")
        if self.own is not None and self.rng.random() < 0.5:
            return expr("nodes", ".", ".")
        column = self.column(*kinds)
        name = self.name(column)
        if self.current and self.rng.random() < 0.3:
            return expr("nodes", "current", f"{self.current}{name}")
        up = "" if self.node == "record" else "../"
        roll = self.rng.random()
        if roll < 0.8:
            return expr("nodes", "../" if up else ("@" if column.attribute else "child"), f"{up}{name}")
        if roll > 0.97:
            current = {"record": "current()/", "field": "current()/../"}.get(self.node, "")
            current = "" if self.current or self.context else current
            inner = replace(self, node="field", own=column, depth=min(self.depth, 1), current=current).boolean()
            return expr("nodes", "[predicate]", f"{up}{name}[", inner, "]")
        return self._other_path(column, name, up)

    def _other_path(self, column: Column, name: str, up: str) -> Expr:
        place = self.rng.choice(("1", "last()", "position() = 1", "2"))
        paths = [("./", f"./{up}{name}"), ("[position]", f"{up}{name}[{place}]")]
        if not column.attribute:
            paths += [
                ("child::", f"{up}child::{name}"),
                ("*[name()] name", f"{up}*[name() = '{name}']"),
                ("*[local-name()] local-name", f"{up}*[local-name() = '{column.name}']"),
                ("text()", f"{up}{name}/text()"),
            ]
        label, path = self.rng.choice(paths)
        return expr("nodes", label, path)

    def guarded(self) -> Expr:
        """Return a field as a number: by `number()` mostly, since text is an error in XPath 2."""
        path = self.field(*NUMERIC)
        if self.two and self.rng.random() < self.wild:
            return replace(path, kind="number")
        if not self.two and self.rng.random() < 0.5:
            return replace(path, kind="number")
        if path.text == "." and self.rng.random() < 0.5:
            return expr("number", "number()", "number()")
        return expr("number", "number", "number(", path, ")")

    def constant(self) -> Expr:
        """Return a number near the data."""
        column = self.column(*NUMERIC)
        value = self.rng.choice(self.table.lexemes(column.name) or ("1",))
        try:
            number = float(value)
        except ValueError:
            number = float(self.rng.randint(0, 5))
        if not -1e15 < number < 1e15:
            number = 1.0
        plain = value.strip() if value.strip().lstrip("-").replace(".", "", 1).isdecimal() and value.isascii() else ""
        roll = self.rng.random()
        if roll < 0.5 and plain and len(plain) < 16:
            text = plain
        elif roll < 0.9:
            text = str(round(number) + self.rng.choice((-1, 0, 0, 1)))
        else:
            text = self.rng.choice(("0", "1", "0.5", "100", "0.1", "3", ".5", "2.", "0.30", "9007199254740993"))
        if self.two and self.rng.random() < 0.06:
            return expr("number", "double-literal", self.rng.choice(("1e0", "1.5e1", "2E0", "1e-1")))
        label = "decimal-literal" if "." in text else "integer-literal"
        return expr("number", label, f"({text})" if text.startswith("-") else text)

    def literal(self) -> Expr:
        """Return a string near the data."""
        column = self.column("text", "category", "date")
        text = self.rng.choice(self.table.lexemes(column.name) or ("a",))
        if self.rng.random() < 0.3:
            text = text[: self.rng.randint(0, len(text))]
        if "'" in text or "\r" in text or "\t" in text or "\n" in text:
            text = "a"
        return expr("string", "string-literal", f"'{text}'")

    def variable(self, kind: Kind) -> Expr | None:
        """Return a variable of a kind, if there is one."""
        names = [name for name, have in (self.lets or {}).items() if have == kind]
        return expr(kind, "let", f"${self.rng.choice(names)}") if names else None

    def bind(self, name: str, kind: Kind) -> Words:
        """Return the words in which a variable is known."""
        return replace(self, lets={**(self.lets or {}), name: kind})


def binary(kind: Kind, operators: tuple[str, ...], left: str, right: str | None = None) -> Maker:
    def make(w: Words) -> Expr:
        operator = w.rng.choice(operators)
        first, second = getattr(w, left)(), getattr(w, right or left)()
        if w.rng.random() < 0.25:
            first, second = second, first
        return expr(kind, operator, bracketed(first, w), f" {operator} ", bracketed(second, w))

    return make


def bracketed(operand: Expr, w: Words) -> Expr:
    simple = len(operand.parts) == 1 or (operand.text.endswith(")") and operand.parts[0] in ("number(", "("))
    if simple or (operand.kind == "number" and w.rng.random() < 0.15):
        return operand
    return replace(operand, parts=("(", *operand.parts, ")"))


def call(kind: Kind, name: str, *arguments: str, label: str = "") -> Maker:
    def make(w: Words) -> Expr:
        parts: list[str | Expr] = [f"{name}("]
        for i, argument in enumerate(arguments):
            parts += [", "] if i else []
            parts.append(getattr(w, argument)() if argument.isidentifier() else argument.strip())
        return expr(kind, label or name, *parts, ")")

    return make


SIX = ("=", "!=", "<", "<=", ">", ">=")
VALUE = ("eq", "ne", "lt", "le", "gt", "ge")


def either(kind: Kind) -> Maker:
    def make(w: Words) -> Expr:
        one, two = getattr(w, kind)(), getattr(w, kind)()
        return expr(kind, "if", "(if (", w.boolean(), ") then ", one, " else ", two, ")")

    return make
