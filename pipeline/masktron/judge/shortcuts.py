"""Expressions that engines would evaluate in quadratic time, in a form that takes linear time.

They are looked for in the tree of an expression and replaced only where nothing around them can change what they
mean. Records with the key of the record at hand are looked up in an ``xsl:key`` by both engines, which build its
table themselves; all else Saxon evaluates as it is written, so that its verdict on a file tests these as
well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from xml.sax.saxutils import quoteattr

from masktron.rulebook.expressions.forbidden import DocumentCall
from masktron.rulebook.expressions.tree import (
    ANY,
    SIDEWAYS,
    Call,
    Comparison,
    Connective,
    Expression,
    Filter,
    Hop,
    KindTest,
    Literal,
    NameTest,
    Opaque,
    Path,
    Root,
    SimpleMap,
    Step,
    Variable,
    parts_of,
    walk,
)

_TRUTHS = frozenset({"not", "boolean", "exists", "empty"})
_NOT_INSIDE = frozenset({"position", "last", "document", "doc"})
_NEARBY = frozenset({"child", "attribute", "parent"})
"""Axes that a part of a predicate may have that a key is to match: by others it could read the whole document."""
_ANYTHING = NameTest(ANY, ANY)
_PARENT = Step("", 0, 0, "parent", KindTest("node"))


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A part of an expression, at ``[start:end]``, that is replaced.

    Attributes
    ----------
    text : str
        What stands there instead; ``{name}`` is the name of the declaration, ``{kept}`` what stays of it.
    declaration : str
        What the stylesheet has to declare for it, ``{name}`` included.
    number : Expression, optional
        That of the number that is declared, where it is one; else nodes are declared.
    kept : tuple of Expression
        From the first to the last of them the expression stays.
    """

    start: int
    end: int
    text: str
    declaration: str
    number: Expression | None = None
    kept: tuple[Expression, ...] = ()


def variable(select: str) -> str:
    """Return the declaration of a variable of the stylesheet, with a place for its name."""
    return f'<m-xsl:variable name="{{name}}" select={_braced(quoteattr(select))}/>'


@dataclass(frozen=True, slots=True)
class Place:
    """A part of an expression, with what it is part of.

    Attributes
    ----------
    alone : bool
        Whether its context node is the current node: nothing around it is a predicate or a path.
    """

    node: Expression
    around: Expression | None = None
    alone: bool = True


def _places(place: Place) -> Iterator[Place]:
    yield place
    for part in parts_of(place.node):
        yield from _places(Place(part, place.node, place.alone and _keeps_context(place.node, part)))


def _keeps_context(node: Expression, part: Expression) -> bool:
    match node:
        case Path(first=first):
            return part is first
        case Filter(base=base):
            return part is base
        case SimpleMap(items=items):
            return part is items
        case _:
            return not isinstance(node, Step | Opaque)


type Finder = Callable[[Place, Mapping[int, DocumentCall], Callable[[str], str]], Shortcut | None]
"""Returns what can be replaced at a place, of the calls of ``document()`` and what is written for each."""


def key_lookup(place: Place, _calls: Mapping[int, DocumentCall], _written: Callable[[str], str]) -> Shortcut | None:
    """Return what every engine looks up in a key."""
    return _alike(place, match_more=False)


def linear(place: Place, calls: Mapping[int, DocumentCall], written: Callable[[str], str]) -> Shortcut | None:
    """Return what libxml2, which remembers nothing, has to be given in another form."""
    found = _alike(place, match_more=True)
    return found or _values(place, calls, written) or _constant(place) or _earlier(place)


def shortcuts(
    expression: Expression,
    calls: Sequence[DocumentCall],
    written: Callable[[str], str],
    find: Finder = linear,
    *,
    alone: bool = True,
) -> Iterator[Shortcut]:
    """Yield what can be replaced in an expression, in order.

    Parameters
    ----------
    expression : Expression
    calls : sequence of DocumentCall
        The calls of ``document()`` in it.
    written : callable
        Returns what stands for the document of a name in the stylesheet.
    find : Finder
    alone : bool
        Whether its context node is the current node: it is no predicate.
    """
    at_call = {call.start: call for call in calls}
    end = 0
    for place in _places(Place(expression, alone=alone)):
        found = find(place, at_call, written)
        if found is not None and found.start >= end:
            yield found
            end = found.end


def looks_through(expression: Expression, find: Finder = linear) -> bool:
    """Whether an expression looks at all records wherever it is evaluated, with all that is replaced left out.

    By its steps alone, and so a guess: for a warning, and for where libxml2 evaluates.
    """
    covered = [(part.start, part.end) for part in shortcuts(expression, (), str, find)]
    walking = (step for node in walk(expression) for step in _walking(node))
    return any(not any(start <= step.start < end for start, end in covered) for step in walking)


def _walking(node: Expression) -> Iterator[Expression]:
    """Yield the steps from which an expression looks at other records; the first sibling is near."""
    match node:
        case Root():
            yield node
        case Step(axis=axis, predicates=predicates) if axis in SIDEWAYS:
            if not (predicates and isinstance(predicates[0], Literal) and predicates[0].value == 1):
                yield node
        case Path(first=first, hops=hops):
            yield from (step for step in (first, *(hop.to for hop in hops[:-1])) if _is_parent(step))


def _values(place: Place, calls: Mapping[int, DocumentCall], written: Callable[[str], str]) -> Shortcut | None:
    """Follow a path that starts at a document, with names only, once and not for every record.

    Theorem: the path selects the same nodes wherever it stands, and where it is an operand of a comparison, one node
    of each value is enough. Proof: neither ``document()`` with a literal nor a step without a predicate depends on
    the context. XPath 1.0, 3.4: a comparison with a set of nodes is true if and only if it is for one of its nodes,
    by its string-value or the number that this spells; with a boolean, the set counts as whether it has nodes.
    """
    match place.node:
        case Path(first=Call(start=start) as first, hops=hops) if start in calls and all(
            _is_named(hop.to) for hop in hops
        ):
            path = f"{written(calls[start].uri)}{first.source[first.end : hops[-1].to.end]}"
            select = f"m-set:distinct({path})" if isinstance(place.around, Comparison) else path
            return Shortcut(start, hops[-1].to.end, "${name}", variable(select))
    return None


def _earlier(place: Place) -> Shortcut | None:
    """Look an earlier sibling with the same value up: ``F = preceding-sibling::T/F``, where T is a name or ``*``.

    Theorem: for a node that is a T with one F, the comparison is true if and only if the first F of its value, among
    those of all T that are its siblings or itself, is not its own. Proof: its own F is among these, so that the first
    is in a sibling before it, or its own. In the first case the comparison is true; in the second no sibling before
    it has the value, and it is false. For other nodes the comparison is evaluated as it is written.
    """
    match place.node:
        case Comparison(
            sign="=",
            left=Step(axis="child", start=start) as own,
            right=Path(
                first=Step(axis="preceding-sibling", predicates=()) as sibling, hops=(Hop(False, theirs),), end=end
            ),
        ) if _is_named(own) and theirs == own:
            field, element = _name(own), "*" if sibling.test == _ANYTHING else _name(sibling)
        case _:
            return None
    if not element:
        return None
    alone = f"(self::{element} and count({field}) = 1)"
    key = f"concat(generate-id(..), ' ', {field})"
    return Shortcut(
        start,
        end,
        f"(({alone} and count(. | key('{{name}}', {key})[1]/..) = 2) or "
        f"(not{alone} and {_braced(own.source[start:end])}))",
        f'<m-xsl:key name="{{name}}" match="{element}/{field}" use="concat(generate-id(../..), \' \', .)"/>',
    )


def _alike(place: Place, *, match_more: bool) -> Shortcut | None:
    """Look up the nodes that have the key of the current one.

    ``//T[K = current()/L]``, ``../T[K = current()/L and P]`` and, where only whether there is one counts,
    ``preceding-sibling::T[K = current()/L]``.

    Theorem: what is selected is the same. Proof: the predicate is ``K = current()/L`` or begins with it and ``and``,
    so it is false for every T that has no K with the string-value of an L of the current node (both are nodes of no
    type, whose comparison is that of texts in every version). Exactly the other ones ``key()`` returns: it selects
    the nodes that match ``T`` in the document of the context node, where ``//T`` and ``/X/T`` select them too, and
    that have a K with the string-value of one of the nodes that it is given. What is left of the predicate stays, or
    is part of what the key matches, where it reads nothing of the current node: it asks for no position, and is a
    truth about each node alone. What may count the nodes that it leaves (a second predicate) is not replaced.

    ``../T`` are those with the parent of the context node, which is the current node where no predicate or path
    stands around: where all T of the document have one parent, they are all or none of them. A sibling before the
    current node has the key if and only if the first node, of the current one and of all its siblings that have it,
    is not the current one.
    """
    found = _selected(place)
    if found is None:
        return None
    start, step, match = found
    (predicate,) = step.predicates
    if any(isinstance(node, Call) and node.standard in _NOT_INSIDE for node in walk(predicate)):
        return None
    match predicate:
        case Connective(sign="and", operands=conditions):
            first, *rest = conditions
        case _:
            first, *rest = (predicate,)
    sides = _key_and_value(first)
    if sides is None:
        return None
    use, field = sides[0], _braced(sides[1])
    left, kept = "[boolean({kept})]" if rest else "", tuple(rest)
    if rest and match_more and all(_reads_the_node(node) for part in rest for node in walk(part)):
        match = f"{match}[boolean({predicate.source[rest[0].start : rest[-1].end]})]"
        left, kept = "", ()
    declared = f'<m-xsl:key name="{{name}}" match={_braced(quoteattr(match))} use={_braced(quoteattr(use))}/>'
    if match.startswith("/"):
        text = f"key('{{name}}', current(){field})"
    else:
        declared += variable(f"(//{_name(step)}/..)[last() = 1]")
        text = (
            f"(key('{{name}}', current()[${{name}} and count(.. | ${{name}}) = 1]{field}) | "
            f"key('{{name}}', current()[not(${{name}})]{field})[current()/.. and count(.. | current()/..) = 1])"
        )
    if step.axis == "preceding-sibling":
        text, left = f"({text}{left} | current())[1][count(. | current()) = 2]", ""
    return Shortcut(start, step.end, f"{text}{left}", declared, kept=kept)


def _selected(place: Place) -> tuple[int, Step, str] | None:
    """Return where a path of ours begins, its step with a predicate, and the pattern of its nodes."""
    match place.node:
        case Path(first=Root(start=start), hops=hops):
            match = ""
            for hop in hops:
                step = hop.to
                if not (isinstance(step, Step) and step.axis == "child" and _name(step)):
                    return None
                match += f"{'//' if hop.deep else '/'}{_name(step)}"
                if step.predicates:
                    return (start, step, match) if len(step.predicates) == 1 else None
        case Path(first=first, hops=(Hop(deep=False, to=Step(axis="child", predicates=(_,)) as step), *_)) if (
            place.alone and _is_parent(first) and _name(step)
        ):
            return first.start, step, _name(step)
        case Step(axis="preceding-sibling", start=start, predicates=(_,)) as step if (
            place.alone and _name(step) and isinstance(place.around, Call) and place.around.standard in _TRUTHS
        ):
            return start, step, _name(step)
    return None


def _key_and_value(comparison: Expression) -> tuple[str, str] | None:
    """Return ``K``, and ``/L`` of ``current()/L``, of their equality."""
    if not (isinstance(comparison, Comparison) and comparison.sign == "="):
        return None
    for own, other in permutations((comparison.left, comparison.right)):
        match own, other:
            case ((Step() | Path(first=Step())), Path(first=Call(standard="current"), hops=hops)) if (
                _goes_down(own)
                and all(not hop.deep and (_is_named(hop.to) or _is_parent(hop.to)) for hop in hops)
                and _is_named(hops[-1].to)
            ):
                return own.text, other.source[other.first.end : hops[-1].to.end]
    return None


def _goes_down(path: Expression) -> bool:
    """Whether a path is ``K``, ``@K`` or ``J/K``."""
    if isinstance(path, Path):
        return _is_named(path.first) and all(not hop.deep and _is_named(hop.to) for hop in path.hops)
    return _is_named(path)


def _reads_the_node(node: Expression) -> bool:
    match node:
        case Variable() | Call(standard="current"):
            return False
        case Step(axis=axis):
            return axis in _NEARBY
        case _:
            return True


def _constant(place: Place) -> Shortcut | None:
    """Compute ``count(//T)`` and ``sum(/X/T/F)`` once and not for every record.

    Theorem: the value is the same at every node of the document. Proof: the path begins at the root and has steps
    with plain names, so that it depends on the document of the context node alone; that is the document that is
    evaluated, since no path or predicate, which could lead into another one, stands around.
    """
    match place.node:
        case Call(standard="count" | "sum", arguments=(Path(first=Root(), hops=hops),)) as call if (
            place.alone and all(_is_named(hop.to) for hop in hops)
        ):
            return Shortcut(call.start, call.end, "${name}", variable(call.text), call)
    return None


def _is_named(step: Expression) -> bool:
    """Whether a step is ``K`` or ``@K``."""
    return (
        isinstance(step, Step) and step.axis in ("child", "attribute") and not step.predicates and bool(_name(step))
    )


def _is_parent(step: Expression) -> bool:
    return step == _PARENT


def _name(step: Step) -> str:
    """Return the name of a step as written; the empty text where it has none, or a wildcard."""
    match step.test:
        case NameTest(local=local, space=space, prefix=prefix) if ANY not in (local, prefix):
            return f"{prefix}:{local}" if prefix else "" if space else local
    return ""


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
