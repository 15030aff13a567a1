"""Expressions as trees of the generator: their text, the operators in them, and simpler ones of the same kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

type Kind = Literal["boolean", "number", "string", "nodes", "items", "type"]

_SIMPLEST: dict[Kind, tuple[str, ...]] = {
    "boolean": ("true()", "false()"),
    "number": ("0", "1"),
    "string": ("''", "'a'"),
    "items": ("()",),
}


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

    def simpler(self) -> Iterator[Expr]:
        """Yield expressions of the same kind with fewer nodes, the shortest first."""
        if len(self.parts) > 1 or isinstance(self.parts[0], Expr):
            yield from (leaf(self.kind, text) for text in _SIMPLEST.get(self.kind, ()))
        yield from (node for node in list(self.nodes())[1:] if node.kind == self.kind)
        for i, part in enumerate(self.parts):
            if isinstance(part, Expr):
                for smaller in part.simpler():
                    yield replace(self, parts=(*self.parts[:i], smaller, *self.parts[i + 1 :]))


def leaf(kind: Kind, text: str, *labels: str) -> Expr:
    """Return an expression without parts."""
    return Expr(kind, (text,), labels)


def expr(kind: Kind, label: str, *parts: str | Expr) -> Expr:
    """Return an expression that counts as `label`; several labels are separated by blanks."""
    return Expr(kind, parts, tuple(label.split()))
