"""XPath 1.0 by its Recommendation: an evaluator of its own, so that no engine's reading of numbers is an oracle.

Nothing of masktron or of an engine is used: lexer, parser, axes, functions and conversions are written from the text
of the standard, and numbers are read as fractions. The namespace axis, ``id()`` and ``lang()`` are left out.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from lxml import etree

type Value = float | bool | str | list[Node]

_SPACE = " \t\r\n"


@dataclass(slots=True, eq=False)
class Node:
    """A node of section 5; `order` is its place in the order of the document."""

    kind: str
    parent: Node | None
    order: int
    local: str = ""
    uri: str = ""
    prefix: str = ""
    own: str = ""
    """Of a text, attribute, comment or processing instruction."""
    children: list[Node] = field(default_factory=list)
    attributes: list[Node] = field(default_factory=list)

    @property
    def value(self) -> str:
        """The string-value."""
        if self.kind not in ("root", "element"):
            return self.own
        return "".join(n.own for n in self.descendants() if n.kind == "text")

    def descendants(self) -> Iterator[Node]:
        """Yield what is below, without attributes, in document order."""
        for child in self.children:
            yield child
            yield from child.descendants()

    def ancestors(self) -> Iterator[Node]:
        """Yield what is above, the nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def document(data: bytes) -> Node:
    """Read a document."""
    tree = etree.fromstring(data, etree.XMLParser(resolve_entities=False))
    counter = iter(range(1 << 40))
    root = Node("root", None, next(counter))
    above = [*reversed(list(tree.itersiblings(preceding=True))), tree, *tree.itersiblings()]
    for item in above:
        _add(item, root, counter)
    return root


def _add(item: etree._Element, parent: Node, counter: Iterator[int]) -> None:
    if item.tag is etree.Comment or item.tag is etree.ProcessingInstruction:
        kind = "comment" if item.tag is etree.Comment else "processing-instruction"
        target = "" if kind == "comment" else item.target
        parent.children.append(Node(kind, parent, next(counter), local=target, own=item.text or ""))
        return
    name = etree.QName(item)
    node = Node("element", parent, next(counter), name.localname, name.namespace or "", item.prefix or "")
    parent.children.append(node)
    prefixes = {uri: prefix for prefix, uri in item.nsmap.items() if prefix}
    for key, value in item.attrib.items():
        own = etree.QName(key)
        uri = own.namespace or ""
        made = Node("attribute", node, next(counter), own.localname, uri, prefixes.get(uri, ""), str(value))
        node.attributes.append(made)
    _text(item.text, node, counter)
    for child in item:
        _add(child, node, counter)
        _text(child.tail, node, counter)


def _text(text: str | None, parent: Node, counter: Iterator[int]) -> None:
    if text:
        parent.children.append(Node("text", parent, next(counter), own=text))


# 4: conversions


@lru_cache(maxsize=1 << 16)
def read(text: str) -> float:
    """4.4: the double nearest to a Number, with white space around it and a minus sign before it."""
    found = re.fullmatch(r"[ \t\r\n]*(-?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)[ \t\r\n]*", text)
    if found is None:
        return math.nan
    whole, _, tail = found[2].partition(".")
    exact = Fraction(int(f"0{whole}{tail}"), 10 ** len(tail))
    try:
        size = exact.numerator / exact.denominator  # Python divides integers with one rounding
    except OverflowError:
        size = math.inf
    return -size if found[1] else size


def written(number: float) -> str:
    """4.2: no more digits than tell a number from all others, and no exponent."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == math.floor(number):
        return str(math.floor(number))
    exact = Decimal(number)
    for digits in range(1, 18):
        around = (decimal.Context(digits, rounding=way).plus(exact) for way in ("ROUND_FLOOR", "ROUND_CEILING"))
        if told := [text for text in around if float(text) == number]:
            return format(min(told, key=lambda text: abs(text - exact)), "f")
    raise AssertionError(number)


def to_number(value: Value) -> float:
    """4.4."""
    if isinstance(value, bool):
        return 1.0 if value else 0.0
    return value if isinstance(value, float) else read(to_string(value))


def to_string(value: Value) -> str:
    """4.2."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return written(value)
    return value if isinstance(value, str) else value[0].value if value else ""


def to_boolean(value: Value) -> bool:
    """4.3."""
    return not (value == 0 or math.isnan(value)) if isinstance(value, float) else bool(value)


# 3: expressions


@dataclass(frozen=True, slots=True)
class Context:
    """1: what an expression is evaluated in."""

    node: Node
    position: int
    size: int
    variables: Mapping[str, Value]
    current: Node

    def at(self, node: Node, position: int, size: int) -> Context:
        """Return the context of a predicate."""
        return Context(node, position, size, self.variables, self.current)


type Expression = Callable[[Context], Value]

_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def compared(symbol: str, left: Value, right: Value) -> bool:
    """3.4."""
    if isinstance(left, list) and isinstance(right, list):
        return any(_pair(symbol, a.value, b.value) for a in left for b in right)
    for nodes, other, first in ((left, right, True), (right, left, False)):
        if isinstance(nodes, list):
            if isinstance(other, bool):
                pairs: list[tuple[Value, Value]] = [(to_boolean(nodes), other)]
            else:
                pairs = [(node.value, other) for node in nodes]
            return any(_pair(symbol, *(pair if first else pair[::-1])) for pair in pairs)
    return _pair(symbol, left, right)


def _pair(symbol: str, left: Value, right: Value) -> bool:
    if symbol not in ("=", "!="):
        return _RELATIONS[symbol](to_number(left), to_number(right))
    kinds = (type(left), type(right))
    convert = to_boolean if bool in kinds else to_number if float in kinds else to_string
    same = convert(left) == convert(right)
    return same if symbol == "=" else not same


def calculated(symbol: str, left: float, right: float) -> float:  # noqa: PLR0911 -- one for each
    """3.5."""
    match symbol:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "div":
            if right != 0 or math.isnan(left):
                return left / right if right != 0 else math.nan
            sign = math.copysign(1, left) * math.copysign(1, right)
            return math.nan if left == 0 else math.copysign(math.inf, sign)
    if math.isnan(left) or math.isnan(right) or math.isinf(left) or right == 0:
        return math.nan
    return math.fmod(left, right)


_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
    (?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)|(?P<literal>"[^"]*"|'[^']*')|(?P<variable>\$[\w.\-]+(?::[\w.\-]+)?)
    |(?P<name>[^\W\d][\w.\-·]*(?::(?!:)(?:\*|[^\W\d][\w.\-·]*))?)|(?P<symbol>\.\.|::|//|!=|<=|>=|[()\[\].@,/|+\-=<>*]))""",
    re.VERBOSE,
)
_LEVELS = (("or",), ("and",), ("=", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "div", "mod"))
_KINDS = ("comment", "text", "processing-instruction", "node")


class Syntax(Exception):  # noqa: N818 - an outcome
    """No expression of XPath 1.0, or one that this evaluator leaves out."""


def compiled(source: str, namespaces: Mapping[str, str]) -> Expression:
    """Compile an expression."""
    tokens: list[tuple[str, str]] = []
    at = 0
    while source[at:].strip(_SPACE):
        found = _TOKEN.match(source, at)
        if found is None or found.lastgroup is None:
            raise Syntax(source)
        tokens.append((found.lastgroup, found[found.lastgroup]))
        at = found.end()
    parser = _Parser(tokens, namespaces)
    made = parser.level(0)
    if parser.at < len(tokens):
        raise Syntax(source)
    return made


@dataclass(slots=True)
class _Parser:
    tokens: Sequence[tuple[str, str]]
    namespaces: Mapping[str, str]
    at: int = 0

    def look(self, ahead: int = 0) -> tuple[str, str]:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ("", "")

    def sees(self, *texts: str) -> bool:
        kind, text = self.look()
        return kind in ("symbol", "name") and text in texts

    def take(self, *texts: str) -> str:
        if texts and not self.sees(*texts):
            raise Syntax(f"{self.look()} where {texts} is asked for")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def level(self, k: int) -> Expression:
        if k == len(_LEVELS):
            return self.unary()
        made = self.level(k + 1)
        while self.sees(*_LEVELS[k]):
            made = _operation(self.take(), made, self.level(k + 1))
        return made

    def unary(self) -> Expression:
        if self.sees("-"):
            self.take()
            inner = self.unary()
            return lambda c: -to_number(inner(c))
        parts = [self.path()]
        while self.sees("|"):
            self.take()
            parts.append(self.path())
        return parts[0] if len(parts) == 1 else lambda c: _ordered(n for part in parts for n in _nodes(part(c)))

    def path(self) -> Expression:
        kind, text = self.look()
        is_call = kind == "name" and self.look(1) == ("symbol", "(") and text not in _KINDS
        if kind in ("number", "literal", "variable") or is_call or self.sees("("):
            start = self.primary()
            predicates = self.predicates()
            if predicates:
                start = _filtered(start, predicates)
        elif self.sees("/"):
            if self.look(1)[0] != "name" and self.look(1)[1] not in (".", "..", "@", "*"):
                self.take()
                return lambda c: [_root(c.node)]
            start = lambda c: [_root(c.node)]  # noqa: E731
        elif self.sees("//"):
            start = lambda c: [_root(c.node)]  # noqa: E731
        else:
            start = _stepped(lambda c: [c.node], *self.step())
        while self.sees("/", "//"):
            if self.take() == "//":
                start = _stepped(start, "descendant-or-self", lambda n: True, [])
            start = _stepped(start, *self.step())
        return start

    def primary(self) -> Expression:
        kind, text = self.look()
        self.at += 1
        match kind:
            case "number":
                number = read(text)
                return lambda c: number
            case "literal":
                return lambda c: text[1:-1]
            case "variable":
                return lambda c: c.variables[text[1:]]
            case "name":
                return self.call(text)
        inner = self.level(0)
        self.take(")")
        return inner

    def call(self, name: str) -> Expression:
        self.take("(")
        arguments: list[Expression] = []
        while not self.sees(")"):
            if arguments:
                self.take(",")
            arguments.append(self.level(0))
        self.take(")")
        if name not in _FUNCTIONS:
            raise Syntax(f"{name}()")
        function = _FUNCTIONS[name]
        return lambda c: function(c, *(argument(c) for argument in arguments))

    def step(self) -> tuple[str, Callable[[Node], bool], list[Expression]]:
        if self.sees(".", ".."):
            return ("self" if self.take() == "." else "parent"), lambda n: True, []
        axis = "child"
        if self.sees("@"):
            self.take()
            axis = "attribute"
        elif self.look(1) == ("symbol", "::"):
            axis = self.take()
            self.take("::")
        return axis, self.test(axis), self.predicates()

    def test(self, axis: str) -> Callable[[Node], bool]:
        kind, text = self.look()
        if kind == "name" and text in _KINDS and self.look(1) == ("symbol", "("):
            self.at += 2
            target = self.take()[1:-1] if self.look()[0] == "literal" else ""
            self.take(")")
            if text == "node":
                return lambda n: True
            return lambda n: n.kind == text and target in ("", n.local)
        principal = "attribute" if axis == "attribute" else "element"
        self.at += 1
        if text == "*":
            return lambda n: n.kind == principal
        if kind != "name":
            raise Syntax(text)
        prefix, colon, local = text.rpartition(":")
        uri = self.namespaces[prefix] if colon else ""
        return lambda n: n.kind == principal and n.uri == uri and local in ("*", n.local)

    def predicates(self) -> list[Expression]:
        found = []
        while self.sees("["):
            self.take()
            found.append(self.level(0))
            self.take("]")
        return found


def _operation(symbol: str, left: Expression, right: Expression) -> Expression:
    if symbol == "or":
        return lambda c: to_boolean(left(c)) or to_boolean(right(c))
    if symbol == "and":
        return lambda c: to_boolean(left(c)) and to_boolean(right(c))
    if symbol in ("=", "!=", "<", "<=", ">", ">="):
        return lambda c: compared(symbol, left(c), right(c))
    return lambda c: calculated(symbol, to_number(left(c)), to_number(right(c)))


def _nodes(value: Value) -> list[Node]:
    if not isinstance(value, list):
        raise Syntax("no node-set")
    return value


def _ordered(nodes: Iterable[Node]) -> list[Node]:
    return sorted({id(n): n for n in nodes}.values(), key=lambda n: n.order)


def _root(node: Node) -> Node:
    return next((n for n in node.ancestors() if n.kind == "root"), node)


def _kept(found: Sequence[Node], predicates: Sequence[Expression], context: Context) -> list[Node]:
    """2.4: a number is a position."""
    nodes = list(found)
    for predicate in predicates:
        size = len(nodes)
        kept = []
        for k, node in enumerate(nodes, 1):
            value = predicate(context.at(node, k, size))
            if (value == k) if isinstance(value, float) else to_boolean(value):
                kept.append(node)
        nodes = kept
    return nodes


def _filtered(start: Expression, predicates: Sequence[Expression]) -> Expression:
    return lambda c: _kept(_nodes(start(c)), predicates, c)


def _stepped(
    start: Expression, axis: str, test: Callable[[Node], bool], predicates: Sequence[Expression]
) -> Expression:
    def of(context: Context) -> Value:
        found: list[Node] = []
        for node in _nodes(start(context)):
            found += _kept([n for n in _axis(axis, node) if test(n)], predicates, context)
        return _ordered(found)

    return of


def _axis(axis: str, node: Node) -> list[Node]:  # noqa: PLR0911 -- one for each
    """2.2, in the order of the axis."""
    siblings = node.parent.children if node.parent is not None and node.kind != "attribute" else [node]
    at = next(k for k, n in enumerate(siblings) if n is node)
    match axis:
        case "self":
            return [node]
        case "child":
            return node.children
        case "attribute":
            return node.attributes
        case "parent":
            return [] if node.parent is None else [node.parent]
        case "descendant":
            return list(node.descendants())
        case "descendant-or-self":
            return [node, *node.descendants()]
        case "ancestor":
            return list(node.ancestors())
        case "ancestor-or-self":
            return [node, *node.ancestors()]
        case "following-sibling":
            return siblings[at + 1 :]
        case "preceding-sibling":
            return siblings[:at][::-1]
    if axis not in ("following", "preceding"):
        raise Syntax(axis)
    everything = list(_root(node).descendants())
    if axis == "following":
        below = {id(n) for n in node.descendants()}
        return [n for n in everything if n.order > node.order and id(n) not in below]
    above = {id(n) for n in node.ancestors()}
    return [n for n in everything if n.order < node.order and id(n) not in above][::-1]


# 4: functions


def _of(function: Callable[..., Value], convert: Callable[[Value], Value]) -> Callable[..., Value]:
    """Make a function whose missing argument is the context node."""
    return lambda c, *given: function(convert(given[0] if given else [c.node]))


def _texts(function: Callable[..., Value]) -> Callable[..., Value]:
    return lambda _, *given: function(*map(to_string, given))


def _nearest(number: float) -> float:
    """round(): of two integers that are as near, the one nearer to positive infinity."""
    if math.isnan(number) or math.isinf(number) or number == 0:
        return number
    whole = math.floor(Fraction(number) + Fraction(1, 2))
    return math.copysign(float(whole), number) if whole == 0 else float(whole)


def _integral(function: Callable[[float], int]) -> Callable[..., Value]:
    def of(_context: Context, value: Value) -> Value:
        number = to_number(value)
        if math.isnan(number) or math.isinf(number):
            return number
        whole = function(number)
        return math.copysign(0.0, number) if whole == 0 else float(whole)

    return of


def _substring(_context: Context, value: Value, start: Value, length: Value | None = None) -> str:
    text, begin = to_string(value), _nearest(to_number(start))
    end = math.inf if length is None else begin + _nearest(to_number(length))
    return "".join(character for p, character in enumerate(text, 1) if p >= begin and p < end)


def _translate(text: str, old: str, new: str) -> str:
    at = {character: old.index(character) for character in old}
    return "".join(c if c not in at else new[at[c]] if at[c] < len(new) else "" for c in text)


def _words(text: str) -> str:
    return " ".join(word for word in re.split(f"[{_SPACE}]+", text) if word)


def _sum(_context: Context, value: Value) -> float:
    total = 0.0
    for node in _nodes(value):
        total += read(node.value)
    return total


def _named(part: Callable[[Node], str]) -> Callable[..., Value]:
    def of(context: Context, value: Value | None = None) -> str:
        nodes = [context.node] if value is None else _nodes(value)
        return part(nodes[0]) if nodes else ""

    return of


_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "last": lambda c: float(c.size),
    "position": lambda c: float(c.position),
    "count": lambda _, value: float(len(_nodes(value))),
    "current": lambda c: [c.current],
    "local-name": _named(lambda n: n.local),
    "namespace-uri": _named(lambda n: n.uri),
    "name": _named(lambda n: f"{n.prefix}:{n.local}" if n.prefix else n.local),
    "string": _of(lambda text: text, to_string),
    "concat": _texts(lambda *texts: "".join(texts)),
    "starts-with": _texts(lambda text, part: text.startswith(part)),
    "contains": _texts(lambda text, part: part in text),
    "substring-before": _texts(lambda text, part: text[: text.index(part)] if part in text else ""),
    "substring-after": _texts(lambda text, part: text[text.index(part) + len(part) :] if part in text else ""),
    "substring": _substring,
    "string-length": _of(lambda text: float(len(text)), to_string),
    "normalize-space": _of(_words, to_string),
    "translate": _texts(_translate),
    "boolean": lambda _, value: to_boolean(value),
    "not": lambda _, value: not to_boolean(value),
    "true": lambda _: True,
    "false": lambda _: False,
    "number": _of(lambda number: number, to_number),
    "sum": _sum,
    "floor": _integral(math.floor),
    "ceiling": _integral(math.ceil),
    "round": lambda _, value: _nearest(to_number(value)),
}
