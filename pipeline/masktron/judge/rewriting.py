"""An expression written in other words for an engine, part by part from the inside, and what its value is.

What stands in a stylesheet for variables, documents and shortcuts are `Change`s of the source. The rest each engine
writes in its own way, in `masktron.judge.conversions` and `masktron.judge.by_saxon`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Literal as OneOf

from masktron.rulebook.expressions.tree import (
    ANY,
    GENERAL_SIGNS,
    NODE_KINDS,
    Arithmetic,
    Call,
    Comparison,
    Connective,
    ContextItem,
    Expression,
    Filter,
    KindTest,
    Literal,
    NameTest,
    Negation,
    NodeSet,
    Path,
    Root,
    Step,
    Variable,
    parts_of,
    replaced,
    spelled,
    walk,
)

DOCUMENTS = "masktron-document-"
"""What the names begin with that documents have in stylesheets."""


def reads_documents(text: str) -> bool:
    """Whether a stylesheet reads the original or another document, and does not only declare it."""
    return text.count(DOCUMENTS) > text.count(f'name="{DOCUMENTS}')


def document_name(place: int | None) -> str:
    """Return what a document is called in stylesheets: of its place in ``Rulebook.beside``; None is the original."""
    return f"{DOCUMENTS}{'original' if place is None else place}.xml"


type Type = OneOf["number", "boolean", "string", "nodes", "unknown"]


class Reads(IntEnum):
    """What libxml2 can get wrong in an expression."""

    NOTHING = 0
    NODES = 1
    """It reads numbers from nodes: wrong only where a document has a value that libxml2 misreads."""
    MORE = 2
    """It reads numbers from texts that it makes, writes numbers, or has a literal that libxml2 misreads."""


@dataclass(frozen=True, slots=True)
class Converted:
    """An expression whose conversions are ours.

    Attributes
    ----------
    text : str
    type : {"number", "boolean", "string", "nodes", "unknown"}
        Of its value.
    reads : Reads
    small : bool
        Whether it is a number that libxml2 writes as it should: a count, a position, a length.
    """

    text: str
    type: Type
    reads: Reads = Reads.NOTHING
    small: bool = False
    literal: str | None = None
    """The value, where it is a literal text."""


@dataclass(frozen=True, slots=True)
class Change:
    """What stands for ``[start:end]`` of a source: a head, what is kept of it, with other changes, and a tail.

    Attributes
    ----------
    start, end : int
    head : str
    kept : tuple of Expression
        From the first to the last of them the source stays.
    tail : str
    type : {"number", "boolean", "string", "nodes", "unknown"}
        Of the value.
    """

    start: int
    end: int
    head: str
    kept: tuple[Expression, ...] = ()
    tail: str = ""
    type: Type = "nodes"

    def covers(self, start: int, end: int) -> bool:
        """Whether it stands for a place, too."""
        return self.start <= start and end <= self.end


class Rewriting:
    """Writes expressions with some changes, and all else as it is; engines write some nodes otherwise.

    Parameters
    ----------
    changes : iterable of Change
    """

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self._changes = tuple(sorted(changes, key=lambda one: one.start))

    def of(self, node: Expression) -> Converted:
        """Return an expression in the engine's words."""
        own = self._own(node)
        if own and not isinstance(node, Variable):
            return self._changed(node, own)
        if isinstance(node, Variable):
            places = [(one.start, one.end, one.head) for one in own]
            return self.variable(node, replaced(node.source, places, node.start, node.end))
        return self.written(node, [self.of(part) for part in parts_of(node)])

    def variable(self, _node: Variable, text: str) -> Converted:
        """Return a variable, of which the text is known."""
        return Converted(text, "unknown")

    def written(self, node: Expression, parts: Sequence[Converted]) -> Converted:
        """Return an expression with its parts, which are written already."""
        as_is = all(own.text == part.text for own, part in zip(parts, parts_of(node), strict=True))
        return Converted(node.text, "unknown") if as_is else joined(node, parts, "unknown")

    def _own(self, node: Expression) -> list[Change]:
        """Return the changes of a node that are of none of its parts."""
        first = bisect_left(self._changes, node.start, key=lambda one: one.start)
        last = bisect_left(self._changes, node.end, key=lambda one: one.start)
        within = [one for one in self._changes[first:last] if one.end <= node.end]
        parts = list(parts_of(node)) if within else []
        return [one for one in within if not any(p.start <= one.start and one.end <= p.end for p in parts)]

    def _changed(self, node: Expression, own: Sequence[Change]) -> Converted:
        """Return a path whose first steps have another text, or a node that has one as a whole."""
        left = [part for part in parts_of(node) if not any(one.covers(part.start, part.end) for one in own)]
        places = [(part.start, part.end, self.of(part).text) for part in left]
        for one in own:
            kept = [(part.start, part.end, self.of(part).text) for part in one.kept]
            inside = replaced(node.source, kept, kept[0][0], kept[-1][1]) if kept else ""
            places.append((one.start, one.end, f"{one.head}{inside}{one.tail}"))
        text = replaced(node.source, sorted(places), node.start, node.end)
        if isinstance(node, Comparison):
            return Converted(text, "boolean", Reads.MORE)
        return Converted(text, "nodes" if left else own[0].type, Reads.MORE)


def joined(node: Expression, parts: Iterable[Converted], of: Type, *, small: bool = False) -> Converted:
    """Return a node with its parts in other words."""
    parts = tuple(parts)
    return Converted(spelled(node, (part.text for part in parts)), of, reads_of_all(parts), small)


def reads_of_all(parts: Iterable[Converted]) -> Reads:
    """Return the worst that libxml2 can get wrong in some parts."""
    return max((part.reads for part in parts), default=Reads.NOTHING)


def is_xpath1(expression: Expression) -> bool:
    """Whether an expression has the grammar of XPath 1.0, whatever it calls by a name without prefix."""
    return all(map(_is_in_grammar, walk(expression)))


def _is_in_grammar(node: Expression) -> bool:  # noqa: PLR0911 -- one branch per construct
    match node:
        case Literal() | Variable() | Root() | ContextItem() | Connective():
            return True
        case Comparison(sign=sign):
            return sign in GENERAL_SIGNS
        case Arithmetic(sign=sign):
            return sign != "idiv"
        case Negation(sign=sign):
            return sign == "-"
        case NodeSet(operands=operands):
            signs = {node.source[one.end : other.start].strip() for one, other in pairwise(operands)}
            return signs == {"|"} and not any(isinstance(one, Negation) and _is_bare(one) for one in operands)
        case Call(name=name, arguments=arguments, named=named):  # with no prefix, and no argument before =>
            return node.source.startswith(name, named) and all(named < one.start for one in arguments)
        case Step(test=KindTest(kind=kind), predicates=predicates):
            return kind in NODE_KINDS and not (predicates and node.text.startswith(".."))
        case Step(test=NameTest(space=space, prefix=prefix)):
            return prefix != ANY and (bool(prefix) or space in ("", ANY))
        case Filter(base=base):
            return not (isinstance(base, ContextItem) and _is_bare(base))
        case Path(hops=hops):
            return all(isinstance(hop.to, Step | ContextItem) and _is_bare(hop.to) for hop in hops)
        case _:
            return False


def _is_bare(node: Expression) -> bool:
    return not node.text.startswith("(")
