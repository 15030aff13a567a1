"""XPath text as tokens: enough to find calls and variables outside literals, never to say what they mean."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Literal

type TokenKind = Literal["literal", "number", "variable", "name", "symbol"]

_NCNAME = r"[^\W\d][\w.\-·]*"
_QNAME = rf"(?:Q\{{[^{{}}]*\}}(?:{_NCNAME}|\*)|(?:{_NCNAME}|\*):(?!:)(?:{_NCNAME})|{_NCNAME}:\*|{_NCNAME})"
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    |(?P<literal>"(?:[^"]|"")*"|'(?:[^']|'')*')
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |\$\s*(?P<variable>{_QNAME})
    |(?P<name>{_QNAME})
    |(?P<symbol>::|//|\.\.|!=|<=|>=|<<|>>|\|\||=>|:=|.)""",
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_WORDS = (
    "and or div mod idiv to union intersect except eq ne lt le gt ge is if then else return satisfies in "
    "node text comment processing-instruction element attribute document-node schema-element schema-attribute "
    "namespace-node item empty-sequence function map array typeswitch switch as of cast castable treat "
    "instance"
)
KEYWORDS = frozenset(_WORDS.split())
"""Names that stand before a parenthesis without being called."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an expression; ``text`` of a variable is its name, without the ``$``."""

    kind: TokenKind
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A name followed by ``(``, or by ``#`` and an arity; ``literal`` is the text of a single literal argument.

    ``arguments`` is how many there are as written: a call behind ``=>`` has one more.
    """

    name: str
    start: int
    end: int
    literal: str | None
    arguments: int = 0


class LexicalError(ValueError):
    """A string, comment or bracket of the expression is not closed; ``at`` is where it stands."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


@functools.lru_cache(maxsize=512)
def tokenize(expression: str) -> tuple[Token, ...]:
    """Split an expression into tokens; white space and comments are left out.

    Raises
    ------
    LexicalError
        A literal or comment is not closed, or brackets do not pair.
    """
    tokens: list[Token] = []
    opened: list[Token] = []
    at = 0
    while at < len(expression):
        if expression.startswith("(:", at):
            at = _after_comment(expression, at)
            continue
        match = _TOKEN.match(expression, at)
        if match is None or match.lastgroup is None:  # pragma: no cover - the last alternative takes any character
            raise LexicalError(f"unexpected {expression[at]!r}", at)
        kind, at = match.lastgroup, match.end()
        if kind == "space":
            continue
        token = Token(kind, match[kind], match.start(), match.end())  # type: ignore[arg-type]
        _pair(token, opened)
        tokens.append(token)
    if opened:
        raise LexicalError(f"{opened[-1].text!r} is not closed", opened[-1].start)
    return tuple(tokens)


def _after_comment(expression: str, start: int) -> int:
    depth = 0
    for match in re.compile(r"\(:|:\)").finditer(expression, start):
        depth += 1 if match[0] == "(:" else -1
        if depth == 0:
            return match.end()
    raise LexicalError("a comment is not closed", start)


def _pair(token: Token, opened: list[Token]) -> None:
    if token.kind != "symbol":
        return
    if token.text in "\"'":
        raise LexicalError("a string literal is not closed", token.start)
    if token.text in _PAIRS.values():
        opened.append(token)
    elif token.text in _PAIRS:
        if not opened:
            raise LexicalError(f"{token.text!r} closes nothing", token.start)
        last = opened.pop()
        if last.text != _PAIRS[token.text]:
            raise LexicalError(f"{last.text!r} is not closed before {token.text!r}", last.start)


def literal_value(text: str) -> str:
    """Return what a string literal denotes."""
    return text[1:-1].replace(text[0] * 2, text[0])


def calls(expression: str) -> Iterator[NamedCall]:
    """Yield every function call and named function reference."""
    tokens = tokenize(expression)
    for i, token in enumerate(tokens[:-1]):
        follower = tokens[i + 1].text if tokens[i + 1].kind == "symbol" else ""
        if token.kind != "name" or follower not in ("(", "#"):
            continue
        if follower == "(" and token.text in KEYWORDS:
            continue
        single = follower == "(" and [t.kind for t in tokens[i + 2 : i + 4]] == ["literal", "symbol"]
        if single and tokens[i + 3].text == ")":
            yield NamedCall(token.text, token.start, tokens[i + 3].end, literal_value(tokens[i + 2].text), 1)
        else:
            before = i > 0 and tokens[i - 1].text == "=>"
            yield NamedCall(token.text, token.start, tokens[i + 1].end, None, _arguments(tokens, i + 1) + before)


def _arguments(tokens: tuple[Token, ...], at: int) -> int:
    """Count the arguments behind an opening parenthesis, or read the arity behind ``#``."""
    if tokens[at].text == "#":
        arity = tokens[at + 1].text if at + 1 < len(tokens) else ""
        return int(arity) if arity.isdecimal() else 0
    depth, count = 1, 0
    for token in tokens[at + 1 :]:
        sign = token.text if token.kind == "symbol" else ""
        if not depth - (sign in _PAIRS):
            return count
        count = max(count, 1) + (depth == 1 and sign == ",")
        depth += (sign in _PAIRS.values()) - (sign in _PAIRS)
    return count


def names_before_brackets(expression: str) -> Iterator[tuple[str, int]]:
    """Yield every name that stands before a parenthesis, keywords too, and where it stands."""
    for token, follower in pairwise(tokenize(expression)):
        if token.kind == "name" and follower.text == "(":
            yield token.text, token.start


def prefixes(expression: str) -> Iterator[str]:
    """Yield the prefixes of the names in an expression."""
    for token in tokenize(expression):
        prefix, colon, _ = token.text.partition(":")
        if token.kind == "name" and colon:
            yield prefix


def word_from(expression: str, at: int) -> tuple[str, int] | None:
    """Return the first word or sign that begins at a place or behind it, and where; None behind the last one."""
    return next(((token.text, token.start) for token in tokenize(expression) if token.start >= at), None)


def variables(expression: str) -> frozenset[str]:
    """Return the names of all variables that are referred to or bound."""
    return frozenset(token.text for token in tokenize(expression) if token.kind == "variable")


def free_variables(expression: str) -> frozenset[str]:
    """Return the names of the variables that an expression refers to and does not bind, as ``for $x in`` does."""
    tokens = tokenize(expression)
    bound = {
        token.text
        for token, follower in pairwise(tokens)
        if token.kind == "variable" and follower.text in ("in", ":=", "as", ",", ")")
    }
    binds = any(token.text in ("for", "some", "every", "let", "function") for token in tokens)
    return variables(expression) - bound if binds else variables(expression)


def rename_variables(expression: str, name_of: Callable[[str], str]) -> str:
    """Return the expression with every ``$ name`` written as ``$`` and the name that `name_of` gives for it.

    A variable that the expression binds itself is renamed alike where it is bound and where it is used, so the
    meaning stays.
    """
    parts: list[str] = []
    at = 0
    for token in tokenize(expression):
        if token.kind == "variable":
            parts += expression[at : token.start], "$", name_of(token.text)
            at = token.end
    return "".join((*parts, expression[at:]))


def rename_prefixes(expression: str, names: Mapping[str, str]) -> str:
    """Return an expression with other prefixes.

    Raises
    ------
    LexicalError
        It is no XPath.
    """
    parts: list[str] = []
    at = 0
    tokens = tokenize(expression)
    for token, follower in zip_longest(tokens, tokens[1:]):
        if token.kind != "name":
            continue
        prefix, colon, _ = token.text.partition(":")
        # in a template: p:$name
        glued = follower is not None and follower.text == ":" and follower.start == token.end
        if (colon or glued) and prefix in names:
            parts += expression[at : token.start], names[prefix]
            at = token.start + len(prefix)
    return "".join((*parts, expression[at:]))
