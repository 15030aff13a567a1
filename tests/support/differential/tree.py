"""Expressions as trees of the generator: their text, the operators in them, and those of all parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

type Kind = Literal["boolean", "number", "string", "nodes", "items", "type"]


@dataclass(frozen=True, slots=True)
class Expr:
    """A piece of XPath.

    Attributes
    ----------
    kind : str
        What it yields; `items` is a sequence of XPath 2 and later.
    parts : tuple of str or Expr
        The text, in order.
    labels : tuple of str
        Operators, functions and forms that this node itself adds, as the table of coverage names them.
    """

    kind: Kind
    parts: tuple[str | Expr, ...]
    labels: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The expression as written."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def nodes(self) -> Iterator[Expr]:
        """Yield this node and all below it."""
        yield self
        for part in self.parts:
            if isinstance(part, Expr):
                yield from part.nodes()

    def used(self) -> frozenset[str]:
        """Return the labels of the whole tree."""
        return frozenset(label for node in self.nodes() for label in node.labels)


def leaf(kind: Kind, text: str, *labels: str) -> Expr:
    """Return an expression without parts."""
    return Expr(kind, (text,), labels)


def expr(kind: Kind, label: str, *parts: str | Expr) -> Expr:
    """Return an expression that counts as `label`; several labels are separated by blanks."""
    return Expr(kind, parts, tuple(label.split()))
