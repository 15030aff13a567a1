"""XPath text as tokens: the only module of masktron that makes any; no module outside this package imports it."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Literal

type TokenKind = Literal["literal", "number", "variable", "name", "symbol"]

_NCNAME = r"[^\W\d][\w.\-·]*"
_QNAME = rf"(?:Q\{{[^{{}}]*\}}(?:{_NCNAME}|\*)|(?:{_NCNAME}|\*):(?!:)(?:{_NCNAME})|{_NCNAME}:\*|{_NCNAME})"
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    |(?P<literal>"(?:[^"]|"")*"|'(?:[^']|'')*')
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |\$(?P<variable>{_QNAME})
    |(?P<name>{_QNAME})
    |(?P<symbol>::|//|\.\.|!=|<=|>=|<<|>>|\|\||=>|:=|.)""",
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an expression; ``text`` of a variable is its name, without the ``$``."""

    kind: TokenKind
    text: str
    start: int
    end: int


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
        if tokens and tokens[-1].text == "$" and kind == "name":  # blanks and comments stand between
            tokens[-1] = Token("variable", match[kind], tokens[-1].start, at)
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
