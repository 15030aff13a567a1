"""Rule contexts as paths, turned around: from "all nodes that a path selects" to "is this node one of them".

An XSLT match pattern swallows the dynamic errors of its predicates, admits no variables in XSLT 1.0, and knows
only a part of XPath. The condition built here is an expression like any other, so that none of this is lost:
``A[p]//B[q]`` becomes ``self::B[ancestor::A[p]][q]``, in the same order of evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from masktron.errors import RulebookError
from masktron.xpath.focus import is_filter
from masktron.xpath.lexer import NamedCall, Token, calls, tokenize
from masktron.xpath.tokens import parse

type NodeKind = Literal["element", "attribute", "text", "comment", "processing-instruction", "node", "any"]

_KIND_TESTS: Mapping[str, NodeKind] = {
    "text": "text",
    "comment": "comment",
    "processing-instruction": "processing-instruction",
    "node": "node",
}
_AXES = frozenset({"child", "attribute", "self", "descendant"})
_PLAIN_NAME = re.compile(r"[^\W\d][\w.\-·]*(?::[^\W\d][\w.\-·]*)?\Z")
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_BOOLEAN_SYMBOLS = frozenset(
    {"and", "or", "=", "!=", "<", "<=", ">", ">=", "eq", "ne", "lt", "le", "gt", "ge", "some", "every", "is"}
    | {"<<", ">>"}
    | {"castable", "instance", "not", "boolean", "contains", "starts-with", "ends-with", "matches", "true", "false"}
    | {"exists", "empty", "deep-equal", "lang"}
)
_NODE_SYMBOLS = frozenset(
    {"(name)", "/", "//", "@", ".", "..", "*", "|", "union", "child", "attribute", "self", "parent", "descendant"}
    | {"descendant-or-self", "ancestor", "ancestor-or-self", "following-sibling", "preceding-sibling"}
    | {"following", "preceding", "text", "node", "comment", "processing-instruction"}
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a context.

    Attributes
    ----------
    gap : bool
        Whether ``//`` stands before it: any number of levels lie between.
    name : str
        The name test as written, or ``*``; empty for a kind test.
    positional : bool
        Whether a predicate may depend on the position; so it does unless it is known not to.
    """

    kind: NodeKind
    name: str
    test: str
    predicates: tuple[str, ...] = ()
    gap: bool = False
    positional: bool = False

    @property
    def plain_name(self) -> str | None:
        """The name, if the test is one without wildcard."""
        return self.name if _PLAIN_NAME.match(self.name) else None


@dataclass(frozen=True, slots=True)
class ContextPath:
    """One alternative of a context; without steps it is the document node."""

    steps: tuple[Step, ...]
    absolute: bool

    @property
    def kind(self) -> NodeKind | Literal["document"]:
        """Of which kind the nodes are that it can match."""
        return self.steps[-1].kind if self.steps else "document"


class _NotAPath(Exception):  # noqa: N818 - an outcome, not an error: the context needs the general way
    pass


def parse_context(context: str, namespaces: tuple[tuple[str, str], ...] = ()) -> tuple[ContextPath, ...] | None:
    """Return the alternatives of a context, or None where it is not a union of downward paths.

    Parameters
    ----------
    context : str
        Lexically sound XPath.
    namespaces : tuple of (prefix, uri)
    """
    try:
        return tuple(_alternatives(context, tokenize(context), dict(namespaces)))
    except _NotAPath:
        return None


def _alternatives(source: str, tokens: Sequence[Token], namespaces: Mapping[str, str]) -> Iterator[ContextPath]:
    for part in _split(tokens, ("|", "union")):
        if not part:
            raise _NotAPath
        if part[0].text == "(" and part[0].kind == "symbol":
            yield from _distributed(source, part, namespaces)
        else:
            yield _path(source, part, namespaces)


def _split(tokens: Sequence[Token], separators: Collection[str]) -> list[Sequence[Token]]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        structural = token.kind in ("symbol", "name")
        if token.kind == "symbol":
            depth += (token.text in "([{") - (token.text in ")]}")
        if structural and depth == 0 and token.text in separators:
            parts.append([])
        else:
            parts[-1].append(token)
    return list(parts)


def _distributed(source: str, part: Sequence[Token], namespaces: Mapping[str, str]) -> Iterator[ContextPath]:
    """``(a | b)/c`` is ``a/c | b/c``."""
    close = _closing(part, 0)
    rest = part[close + 1 :]
    if rest and (rest[0].text not in ("/", "//") or len(rest) == 1):
        raise _NotAPath
    for head in _alternatives(source, part[1:close], namespaces):
        if not rest:
            yield head
            continue
        if not head.steps:
            raise _NotAPath
        tail = _path(source, rest[1:], namespaces)
        first = replace(tail.steps[0], gap=rest[0].text == "//")
        yield ContextPath((*head.steps, first, *tail.steps[1:]), head.absolute)


def _closing(tokens: Sequence[Token], start: int) -> int:
    depth = 0
    for i in range(start, len(tokens)):
        if tokens[i].kind == "symbol":
            depth += (tokens[i].text in "([{") - (tokens[i].text in ")]}")
            if depth == 0:
                return i
    raise _NotAPath


def _path(source: str, tokens: Sequence[Token], namespaces: Mapping[str, str]) -> ContextPath:
    steps: list[Step] = []
    absolute = tokens[0].text in ("/", "//") and tokens[0].kind == "symbol"
    gap = absolute and tokens[0].text == "//"
    climbs = 0
    at = 1 if absolute else 0
    if absolute and len(tokens) == 1:
        if gap:
            raise _NotAPath
        return ContextPath((), absolute=True)
    while at < len(tokens):
        if tokens[at].text == ".." and not steps and not absolute and not gap:
            climbs, at = climbs + 1, at + 1
        elif tokens[at].text == "." and not gap:
            at += 1
        else:
            step, at = _step(source, tokens, at, namespaces)
            _append(steps, replace(step, gap=gap or step.gap))
        gap = at < len(tokens) and tokens[at].text == "//"
        if at < len(tokens) and (tokens[at].text not in ("/", "//") or at + 1 == len(tokens)):
            raise _NotAPath
        at += 1
    # ../V7 selects the same nodes as V7, seen from anywhere: who climbs k levels and comes down at least as many
    if climbs > len(steps) or (absolute and not steps):
        raise _NotAPath
    if absolute and steps[0].kind == "attribute" and not steps[0].gap:
        raise _NotAPath
    return ContextPath(tuple(steps) or (Step("any", "", "."),), absolute)


def _append(steps: list[Step], step: Step) -> None:
    if steps and steps[-1].kind not in ("element", "node"):
        raise _NotAPath
    steps.append(step)


def _step(source: str, tokens: Sequence[Token], at: int, namespaces: Mapping[str, str]) -> tuple[Step, int]:
    axis = "child"
    descends = False
    first = at == 0
    if tokens[at].text == "@":
        axis, at = "attribute", at + 1
    elif at + 1 < len(tokens) and tokens[at + 1].text == "::":
        axis, at = tokens[at].text, at + 2
        descends = axis == "descendant"
    if axis not in _AXES or at >= len(tokens) or (axis == "self" and not first):
        raise _NotAPath
    kind, name, test, at = _node_test(source, tokens, at, attribute=axis == "attribute")
    if axis == "self" and kind != "element":
        raise _NotAPath
    predicates: list[str] = []
    while at < len(tokens) and tokens[at].text == "[" and tokens[at].kind == "symbol":
        close = _closing(tokens, at)
        predicates.append(source[tokens[at].end : tokens[close].start].strip())
        at = close + 1
    positional = any(may_be_positional(p, namespaces) for p in predicates)
    # descendant::x[1] and .//x[1] differ; self::x[1] is always the first
    if positional and (descends or axis == "self"):
        raise _NotAPath
    return Step(kind, name, test, tuple(predicates), gap=descends, positional=positional), at


def _node_test(source: str, tokens: Sequence[Token], at: int, *, attribute: bool) -> tuple[NodeKind, str, str, int]:
    token = tokens[at]
    called = at + 1 < len(tokens) and tokens[at + 1].text == "(" and tokens[at + 1].kind == "symbol"
    if token.kind == "name" and called:
        close = _closing(tokens, at + 1)
        if token.text not in _KIND_TESTS or attribute:
            raise _NotAPath
        return _KIND_TESTS[token.text], "", source[token.start : tokens[close].end], close + 1
    if token.kind == "name" or (token.kind == "symbol" and token.text == "*"):
        return "attribute" if attribute else "element", token.text, token.text, at + 1
    raise _NotAPath


def may_be_positional(predicate: str, namespaces: Mapping[str, str]) -> bool:
    """Return whether a predicate may select by position: unless its value is surely a boolean or nodes."""
    if any(call.name in ("position", "last", "fn:position", "fn:last") for call in _own_calls(predicate)):
        return True
    try:
        token = parse(predicate, namespaces)
    except RulebookError:
        return not _compares(tokenize(predicate))
    return not _never_a_number(token)


def _compares(tokens: Sequence[Token]) -> bool:
    """Return whether the last operator of an expression compares: the parser knows no comparison of a comparison."""
    outermost = {token.text for part in _split(tokens, _COMPARISONS) for token in part if token.kind == "name"}
    return len(_split(tokens, _COMPARISONS)) > 1 and outermost.isdisjoint({"if", "for", "let", "return"})


def _own_calls(predicate: str) -> Iterator[NamedCall]:
    """Yield the calls outside inner predicates, in which position() and last() are of other nodes."""
    tokens = tokenize(predicate)
    depth = 0
    inner: list[tuple[int, int]] = []
    for token in tokens:
        if token.kind == "symbol" and token.text in "[]":
            depth += 1 if token.text == "[" else -1
            if token.text == "[" and depth == 1:
                inner.append((token.start, len(predicate)))
            elif token.text == "]" and depth == 0:
                inner[-1] = (inner[-1][0], token.start)
    return (c for c in calls(tokens) if not any(start < c.start < end for start, end in inner))


def _never_a_number(token: Any) -> bool:
    while token.symbol == "(" and len(token) == 1:
        token = token[0]
    while is_filter(token):
        token = token[0]
    if token.symbol == "if" and len(token) == 3:
        return _never_a_number(token[1]) and _never_a_number(token[2])
    if token.symbol == "let" and len(token):
        return _never_a_number(token[len(token) - 1])
    if token.symbol in ("/", "//") and len(token):
        last = token[len(token) - 1]
        while is_filter(last):
            last = last[0]
        return _bare(last).symbol in _NODE_SYMBOLS
    return _bare(token).symbol in _BOOLEAN_SYMBOLS | _NODE_SYMBOLS


def _bare(token: Any) -> Any:
    """Return a token without the prefix of its name."""
    return token[1] if token.symbol in (":", "Q{") and len(token) == 2 else token


def condition(path: ContextPath) -> str:
    """Return an expression, true at exactly the nodes (of the path's kind) that the path selects from somewhere.

    It is XPath 1.0, apart from what the predicates bring.
    """
    if not path.steps:
        return "not(parent::node())"
    last = path.steps[-1]
    if last.kind == "any":
        return "true()"
    if last.kind == "attribute":
        owner = _owner(path)
        nodes = f"{owner}/@{last.test}{_bracketed(last)}"
        return f"count(. | {nodes}) = count({nodes})"
    return _turned(path, len(path.steps) - 1, "self")


def _owner(path: ContextPath) -> str:
    k = len(path.steps) - 1
    if k == 0:
        return "parent::node()"
    if path.steps[k].gap:
        return f"parent::node()[{_turned(path, k - 1, 'ancestor-or-self')}]"
    return _turned(path, k - 1, "parent")


def _turned(path: ContextPath, k: int, axis: str) -> str:
    step = path.steps[k]
    before = _before(path, k)
    if not path.absolute and k == 0 and step.kind == "node":
        before = "parent::node()"
    if path.absolute and k == 0 and not step.gap:
        before = "not(parent::*)"
    predicates = _bracketed(step)
    if step.positional:
        siblings = f"parent::node()/child::{step.test}{predicates}"
        predicates = f"[count(. | {siblings}) = count({siblings})]"
    return f"{axis}::{step.test}{f'[{before}]' if before else ''}{predicates}"


def _before(path: ContextPath, k: int) -> str:
    """Return the expression for the ancestors that the steps before the k-th ask for."""
    if k == 0:
        return ""
    return _turned(path, k - 1, "ancestor" if path.steps[k].gap else "parent")


def _bracketed(step: Step) -> str:
    return "".join(f"[{p}]" for p in step.predicates)
