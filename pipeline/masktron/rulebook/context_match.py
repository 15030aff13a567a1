"""Rule contexts as paths, turned around: from "all nodes that a path selects" to "is this node one of them".

An XSLT match pattern swallows the dynamic errors of its predicates, admits no variables in XSLT 1.0, and knows
only a part of XPath. The condition built here is an expression like any other, so that none of this is lost:
``A[p]//B[q]`` becomes ``self::B[ancestor::A[p]][q]``, in the same order of evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import (
    ANY,
    Binding,
    Call,
    Comparison,
    Connective,
    ContextItem,
    Expression,
    Filter,
    Hop,
    If,
    KindTest,
    NameTest,
    NodeSet,
    Opaque,
    Path,
    Root,
    Step,
    Typed,
    alternatives,
    outside_predicates,
)
from masktron.rulebook.functions import RETURNS

type NodeKind = Literal["element", "attribute", "text", "comment", "processing-instruction", "node", "any"]


@dataclass(frozen=True, slots=True)
class ContextStep:
    """One step of a context.

    Attributes
    ----------
    kind : str
    node_test : NameTest or KindTest
    predicates : tuple of Node
    gap : bool
        Whether ``//`` stands before it: any number of levels lie between.
    positional : bool
        Whether a predicate may depend on the position; so it does unless it is known not to.
    """

    kind: NodeKind
    node_test: NameTest | KindTest
    predicates: tuple[Expression, ...] = ()
    gap: bool = False
    positional: bool = False

    @property
    def test(self) -> str:
        """The node test as written; a dot for the node itself."""
        return "." if self.kind == "any" else str(self.node_test)

    @property
    def name(self) -> str:
        """The name test as written, or ``*``; empty for a kind test."""
        return str(self.node_test) if isinstance(self.node_test, NameTest) else ""

    @property
    def plain_name(self) -> str | None:
        """The name, if the test is one without wildcard or URI."""
        return None if not self.name or ANY in self.name or "{" in self.name else self.name

    @property
    def tag(self) -> str:
        """The Clark name that the step asks for; empty where several may be meant."""
        return self.node_test.tag if isinstance(self.node_test, NameTest) else ""


@dataclass(frozen=True, slots=True)
class ContextPath:
    """One alternative of a context; without steps it is the document node."""

    steps: tuple[ContextStep, ...]
    absolute: bool

    @property
    def kind(self) -> NodeKind | Literal["document"]:
        """Of which kind the nodes are that it can match."""
        return self.steps[-1].kind if self.steps else "document"


class _NotAPath(Exception):  # noqa: N818 - an outcome, not an error: the context needs the general way
    pass


def parse_context(context: str, namespaces: Iterable[tuple[str, str]] = ()) -> tuple[ContextPath, ...] | None:
    """Return the alternatives of a context, or None where it is not a union of downward paths.

    Parameters
    ----------
    context : str
    namespaces : iterable of (prefix, uri)
    """
    tree = understood(context, namespaces)
    try:
        return None if tree is None else tuple(_alternatives(tree))
    except _NotAPath:
        return None


def _alternatives(context: Expression) -> Iterator[ContextPath]:
    for one in alternatives(context):
        match one:
            case Path(first=NodeSet() | Path() as first, hops=hops):  # (a | b)/c is a/c | b/c
                for head in _alternatives(first):
                    if not head.steps:
                        raise _NotAPath
                    yield _path(hops, head.steps, absolute=head.absolute)
            case Root():
                yield ContextPath((), absolute=True)
            case Path(first=Root(), hops=hops):
                yield _path(hops, absolute=True)
            case Path(first=first, hops=hops):
                yield _path((Hop(False, first), *hops), absolute=False)
            case _:
                yield _path((Hop(False, one),), absolute=False)


def _path(hops: Iterable[Hop], head: Iterable[ContextStep] = (), *, absolute: bool) -> ContextPath:
    steps = list(head)
    climbs = 0
    for k, hop in enumerate(hops):
        nested = absolute or bool(steps)
        match hop.to:
            case Step(axis="parent", test=KindTest(kind="node"), predicates=()) if not (nested or hop.deep):
                climbs += 1
            case ContextItem() if not hop.deep:
                pass
            case Step() as step if not steps or steps[-1].kind in ("element", "node"):
                steps.append(_step(step, gap=hop.deep, first=not (k or nested)))
            case _:
                raise _NotAPath
    # ../V7 selects the same nodes as V7, seen from anywhere: who climbs k levels and comes down at least as many
    if climbs > len(steps) or (absolute and not steps):
        raise _NotAPath
    if absolute and steps[0].kind == "attribute" and not steps[0].gap:
        raise _NotAPath
    return ContextPath(tuple(steps) or (ContextStep("any", KindTest("node")),), absolute)


def _step(step: Step, *, gap: bool, first: bool) -> ContextStep:
    positional = any(map(may_be_positional, step.predicates))
    match step:  # descendant::x[1] and .//x[1] differ; self::x[1] is always the first
        case Step(axis="self", test=NameTest()) if first and not positional:
            pass
        case Step(axis="descendant") if not positional:
            gap = True
        case Step(axis="child" | "attribute"):
            pass
        case _:
            raise _NotAPath
    attribute = step.axis == "attribute"
    match step.test:
        case NameTest():
            kind: NodeKind = "attribute" if attribute else "element"
        case KindTest(kind="text" | "comment" | "processing-instruction" | "node" as kind) if not attribute:
            pass
        case _:
            raise _NotAPath
    return ContextStep(kind, step.test, step.predicates, gap, positional)


def may_be_positional(predicate: Expression) -> bool:
    """Return whether a predicate may select by position: unless its value is surely a boolean or nodes.

    In inner predicates, position() and last() are of other nodes.
    """
    own = outside_predicates(predicate)
    return not _never_a_number(predicate) or any(
        isinstance(one, Opaque) or (isinstance(one, Call) and one.standard in ("position", "last")) for one in own
    )


def _never_a_number(value: Expression) -> bool:  # noqa: PLR0911 -- one return per construct
    match value:
        case Comparison() | Connective() | NodeSet() | Step() | ContextItem() | Root():
            return True
        case Filter(base=base):
            return _never_a_number(base)
        case Path(hops=hops):
            return _never_a_number(hops[-1].to)
        case If(then=then, otherwise=otherwise):
            return _never_a_number(then) and _never_a_number(otherwise)
        case Binding(kind=kind, body=body):
            return kind in ("some", "every") or (kind == "let" and _never_a_number(body))
        case Typed(kind=kind):
            return kind in ("castable", "instance")
        case Call(standard=name):
            return RETURNS.get(name) == "boolean"
        case _:
            return False


def condition(path: ContextPath, written: Callable[[Expression], str] = str) -> str:
    """Return an expression, true at exactly the nodes (of the path's kind) that the path selects from somewhere.

    It is XPath 1.0, apart from what the predicates bring.

    Parameters
    ----------
    path : ContextPath
    written : callable, optional
        Returns the text of a predicate; by default as it is written.
    """
    if not path.steps:
        return "not(parent::node())"
    last = path.steps[-1]
    if last.kind == "any":
        return "true()"
    if last.kind == "attribute":
        owner = _owner(path, written)
        nodes = f"{owner}/@{last.test}{_bracketed(last, written)}"
        return f"count(. | {nodes}) = count({nodes})"
    return _turned(path, len(path.steps) - 1, "self", written)


def _owner(path: ContextPath, written: Callable[[Expression], str]) -> str:
    k = len(path.steps) - 1
    if k == 0:
        return "parent::node()"
    if path.steps[k].gap:
        return f"parent::node()[{_turned(path, k - 1, 'ancestor-or-self', written)}]"
    return _turned(path, k - 1, "parent", written)


def _turned(path: ContextPath, k: int, axis: str, written: Callable[[Expression], str]) -> str:
    step = path.steps[k]
    before = _before(path, k, written)
    if not path.absolute and k == 0 and step.kind == "node":
        before = "parent::node()"
    if path.absolute and k == 0 and not step.gap:
        before = "not(parent::*)"
    predicates = _bracketed(step, written)
    if step.positional:
        siblings = f"parent::node()/child::{step.test}{predicates}"
        predicates = f"[count(. | {siblings}) = count({siblings})]"
    return f"{axis}::{step.test}{f'[{before}]' if before else ''}{predicates}"


def _before(path: ContextPath, k: int, written: Callable[[Expression], str]) -> str:
    """Return the expression for the ancestors that the steps before the k-th ask for."""
    if k == 0:
        return ""
    return _turned(path, k - 1, "ancestor" if path.steps[k].gap else "parent", written)


def _bracketed(step: ContextStep, written: Callable[[Expression], str]) -> str:
    return "".join(f"[{written(p)}]" for p in step.predicates)
