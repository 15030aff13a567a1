"""Where an expression of XPath 1.0 converts between numbers and texts, and how it is written so that we convert.

libxml2 reads decimals with more than one rounding, reads exponents and writes 15 digits. An expression in which
functions of ours (`masktron.evaluation.xpath1_conversions`) stand for each conversion has the value of the
Recommendation; all else in it is libxml2's. Theorem: the rewritten expression converts nothing itself. Proof:
conversions to numbers are those of operands of ``+ - * div mod`` and the unary minus, of arguments that are numbers,
of ``sum()``, and of comparisons (3.4) unless both operands are numbers or booleans, or it is an equality of texts, or
of anything with a boolean; conversions of numbers to texts are those of arguments that are texts. Literals are
replaced where libxml2 misreads them. What a variable is becomes known when it is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from masktron.sources.lexical import is_misread
from masktron.xpath.lexer import LexicalError, Token, literal_value, tokenize

PREFIX = "m-num"
URI = "urn:masktron:numbers"
"""Of our functions in stylesheets."""

type Type = Literal["number", "boolean", "string", "nodes", "unknown"]


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


def converted(expression: str, types: Mapping[str, Type] | None = None, *, written: bool = False) -> Converted:
    """Rewrite an expression.

    Parameters
    ----------
    expression : str
    types : mapping of str to Type, optional
        Of variables.
    written : bool
        Whether its value is written as a text.

    Returns
    -------
    Converted
        The expression itself where it is not the grammar of XPath 1.0: an engine says what is wrong with it.
    """
    try:
        return _Parser(tokenize(expression), types or {}).whole(written=written)
    except (LexicalError, _NotUnderstood, RecursionError):
        return Converted(expression, "unknown")


def bracketed(expression: str) -> str:
    """Put every comparison of XPath 1.0 in brackets: later grammars do not compare a comparison without them.

    Returns
    -------
    str
        The expression itself where it is not the grammar of XPath 1.0.
    """
    try:
        return _Bracketing(tokenize(expression), {}).whole(written=False).text
    except (LexicalError, _NotUnderstood, RecursionError):
        return expression


class _NotUnderstood(Exception):  # noqa: N818 -- no mistake: the expression stays as it is
    """The expression is not XPath 1.0."""


_NODE_TYPES = frozenset({"comment", "text", "processing-instruction", "node"})
_LEVELS = (("or",), ("and",), ("=", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "div", "mod"))
"""Binary operators, from the loosest."""
_EQUALITIES = frozenset({"=", "!="})
_CALCULATED = frozenset({"boolean", "number"})
_NUMBERS = "n"
_TEXTS = "t"
_AS_IS = "-"
_ARGUMENTS: Mapping[str, tuple[str, Type]] = {
    "last": ("", "number"),
    "position": ("", "number"),
    "count": ("-", "number"),
    "id": ("t", "nodes"),
    "local-name": ("-", "string"),
    "namespace-uri": ("-", "string"),
    "name": ("-", "string"),
    "string": ("t", "string"),
    "concat": ("t*", "string"),
    "starts-with": ("tt", "boolean"),
    "contains": ("tt", "boolean"),
    "substring-before": ("tt", "string"),
    "substring-after": ("tt", "string"),
    "substring": ("tnn", "string"),
    "string-length": ("t", "number"),
    "normalize-space": ("t", "string"),
    "translate": ("ttt", "string"),
    "boolean": ("-", "boolean"),
    "not": ("-", "boolean"),
    "true": ("", "boolean"),
    "false": ("", "boolean"),
    "lang": ("t", "boolean"),
    "floor": ("n", "number"),
    "ceiling": ("n", "number"),
    "round": ("n", "number"),
    "document": ("--", "nodes"),
    "current": ("", "nodes"),
    "key": ("-t", "nodes"),
    "generate-id": ("-", "string"),
    "format-number": ("n--", "string"),
    "system-property": ("-", "string"),
    "element-available": ("-", "boolean"),
    "function-available": ("-", "boolean"),
    "unparsed-entity-uri": ("-", "string"),
}
"""What each argument is converted to (a number, a text, nothing), the last for all that follow, and the result."""
_SMALL = frozenset({"last", "position", "count", "string-length"})


@dataclass(slots=True)
class _Parser:
    """Recursive descent over tokens; each method returns what it has read, converted."""

    tokens: Sequence[Token]
    types: Mapping[str, Type]
    at: int = 0
    reads: Reads = field(default=Reads.NOTHING)

    def whole(self, *, written: bool) -> Converted:
        found = self.level(0)
        if self.at < len(self.tokens):
            raise _NotUnderstood
        text = self.string(found) if written else found.text
        return Converted(text, found.type, self.reads, found.small, found.literal)

    # tokens

    def peek(self, ahead: int = 0) -> str:
        """Return the text of a symbol or name; the empty text for anything else."""
        if self.at + ahead >= len(self.tokens):
            return ""
        token = self.tokens[self.at + ahead]
        return token.text if token.kind in ("symbol", "name") else ""

    def take(self, *texts: str) -> str:
        text = self.peek()
        if not text or (texts and text not in texts):
            raise _NotUnderstood
        self.at += 1
        return text

    def note(self, reads: Reads) -> None:
        self.reads = max(self.reads, reads)

    # operators

    def level(self, level: int) -> Converted:
        if level == len(_LEVELS):
            return self.unary()
        left = self.level(level + 1)
        while (symbol := self.peek()) in _LEVELS[level]:
            self.at += 1
            right = self.level(level + 1)
            left = self.joined(symbol, left, right)
        return left

    def joined(self, symbol: str, left: Converted, right: Converted) -> Converted:
        if symbol in ("or", "and"):
            return Converted(f"{left.text} {symbol} {right.text}", "boolean")
        if symbol in ("=", "!=", "<", "<=", ">", ">="):
            return self.compared(symbol, left, right)
        return Converted(f"{self.number(left)} {symbol} {self.number(right)}", "number")

    def compared(self, symbol: str, left: Converted, right: Converted) -> Converted:
        kinds = {left.type, right.type}
        equality = symbol in _EQUALITIES
        as_is = kinds <= _CALCULATED or (equality and ("boolean" in kinds or kinds <= {"nodes", "string"}))
        if as_is:
            return Converted(f"{left.text} {symbol} {right.text}", "boolean")
        for operand in (left, right):
            if operand.type not in _CALCULATED:
                self.note(_reading(operand))
        return Converted(f"{PREFIX}:compare('{symbol}', {left.text}, {right.text})", "boolean")

    def unary(self) -> Converted:
        if self.peek() == "-":
            self.at += 1
            return Converted(f"- {self.number(self.unary())}", "number")
        found = self.path()
        while self.peek() == "|":
            self.at += 1
            other = self.path()
            found = Converted(f"{found.text} | {other.text}", "nodes")
        return found

    # conversions

    def number(self, operand: Converted) -> str:
        if operand.type in _CALCULATED:
            return operand.text
        self.note(_reading(operand))
        return f"{PREFIX}:number({operand.text})"

    def string(self, operand: Converted) -> str:
        if operand.type not in ("number", "unknown") or operand.small:
            return operand.text
        self.note(Reads.MORE)
        return f"{PREFIX}:string({operand.text})"

    # paths

    def path(self) -> Converted:
        if self.is_primary():
            found = self.primary()
            text = found.text
            filtered = False
            while self.peek() == "[":
                text, filtered = f"{text}{self.predicate()}", True
            if self.peek() in ("/", "//"):
                text, filtered = f"{text}{self.take()}{self.relative()}", True
            return Converted(text, "nodes") if filtered else found
        if self.peek() in ("/", "//"):
            slash = self.take()
            if slash == "//" or self.is_step():
                return Converted(f"{slash}{self.relative()}", "nodes")
            return Converted("/", "nodes")
        return Converted(self.relative(), "nodes")

    def is_primary(self) -> bool:
        if self.at >= len(self.tokens):
            raise _NotUnderstood
        token = self.tokens[self.at]
        if token.kind == "name":
            return self.peek(1) == "(" and token.text not in _NODE_TYPES
        return token.kind != "symbol" or token.text == "("

    def is_step(self) -> bool:
        return bool(self.peek()) and (self.tokens[self.at].kind == "name" or self.peek() in (".", "..", "@", "*"))

    def relative(self) -> str:
        text = self.step()
        while self.peek() in ("/", "//"):
            text += f"{self.take()}{self.step()}"
        return text

    def step(self) -> str:
        if self.peek() in (".", ".."):
            return self.take()
        text = ""
        if self.peek() == "@":
            text = self.take()
        elif self.peek(1) == "::":
            text = f"{self.take()}{self.take()}"
        if not (self.peek() == "*" or self.kind() == "name"):
            raise _NotUnderstood
        name = self.take()
        text += name
        if name in _NODE_TYPES and self.peek() == "(":
            text += self.take()
            if self.kind() == "literal":
                text += self.tokens[self.at].text
                self.at += 1
            text += self.take(")")
        while self.peek() == "[":
            text += self.predicate()
        return text

    def kind(self) -> str:
        return self.tokens[self.at].kind if self.at < len(self.tokens) else ""

    def predicate(self) -> str:
        self.take("[")
        inner = self.level(0)
        self.take("]")
        return f"[{inner.text}]"

    # what is no path

    def primary(self) -> Converted:
        token = self.tokens[self.at]
        self.at += 1
        match token.kind:
            case "variable":
                return Converted(f"${token.text}", self.types.get(token.text, "unknown"))
            case "literal":
                return Converted(token.text, "string", literal=literal_value(token.text))
            case "number":
                return self.figure(token.text)
            case "name":
                return self.call(token.text)
        inner = self.level(0)
        self.take(")")
        return Converted(f"({inner.text})", inner.type, small=inner.small, literal=inner.literal)

    def figure(self, text: str) -> Converted:
        # what is no Number of XPath 1.0 is no syntax of it: it stays libxml2's
        if not text.replace(".", "").isdecimal() or not is_misread(text):
            return Converted(text, "number", small=text.isdecimal() and len(text) < 10)
        self.note(Reads.MORE)
        return Converted(f"{PREFIX}:number('{text}')", "number")

    def arguments(self) -> list[Converted]:
        """Read what stands between the brackets of a call."""
        self.take("(")
        found: list[Converted] = []
        while self.peek() != ")":
            if found:
                self.take(",")
            found.append(self.level(0))
        self.take(")")
        return found

    def call(self, name: str) -> Converted:
        arguments = self.arguments()
        if name == "number":
            return self.numbered(arguments)
        if name == "sum" and len(arguments) == 1:
            self.note(_reading(arguments[0]))
            return Converted(f"{PREFIX}:sum({arguments[0].text})", "number")
        kinds, result = _ARGUMENTS.get(name, ("-", "unknown"))
        texts = [self.argument(kinds, k, argument) for k, argument in enumerate(arguments)]
        return Converted(f"{name}({', '.join(texts)})", result, small=name in _SMALL)

    def argument(self, kinds: str, k: int, argument: Converted) -> str:
        last = kinds.rstrip("*")[-1:] or _AS_IS
        kind = kinds[k] if k < len(kinds.rstrip("*")) else last
        if kind == _NUMBERS:
            return self.number(argument)
        return self.string(argument) if kind == _TEXTS else argument.text

    def numbered(self, arguments: Sequence[Converted]) -> Converted:
        if len(arguments) > 1:
            raise _NotUnderstood
        operand = arguments[0] if arguments else Converted(".", "nodes")
        if operand.type in _CALCULATED:
            return Converted(f"number({operand.text})", "number", small=operand.small)
        return Converted(self.number(operand), "number")


class _Bracketing(_Parser):
    """Converts nothing."""

    __slots__ = ()

    def compared(self, symbol: str, left: Converted, right: Converted) -> Converted:
        return Converted(f"({left.text} {symbol} {right.text})", "boolean")

    def number(self, operand: Converted) -> str:
        return operand.text

    def figure(self, text: str) -> Converted:
        return Converted(text, "number")

    def call(self, name: str) -> Converted:
        return Converted(f"{name}({', '.join(one.text for one in self.arguments())})", "unknown")


def _reading(operand: Converted) -> Reads:
    """Return what libxml2 can get wrong in reading a number from an operand."""
    if operand.type == "nodes":
        return Reads.NODES
    if operand.literal is not None:
        return Reads.MORE if is_misread(operand.literal) else Reads.NOTHING
    return Reads.MORE
