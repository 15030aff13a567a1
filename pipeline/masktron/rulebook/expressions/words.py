"""What can be said of the text of an expression, parsed or not: calls, names, variables, prefixes, namespaces.

Only what stands outside literals and comments counts, and nothing here says what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from types import MappingProxyType
from xml.sax.saxutils import quoteattr

from masktron.rulebook.expressions.lexer import LexicalError, Token, literal_value, tokenize

__all__ = [
    "KEYWORDS",
    "LexicalError",
    "NamedCall",
    "calls",
    "names_before_brackets",
    "prefixes",
    "rename_prefixes",
    "rename_variables",
    "variable_places",
    "variables",
    "word_from",
]

_WORDS = (
    "and or div mod idiv to union intersect except eq ne lt le gt ge is if then else return satisfies in "
    "node text comment processing-instruction element attribute document-node schema-element schema-attribute "
    "namespace-node item empty-sequence function map array typeswitch switch as of cast castable treat "
    "instance"
)
KEYWORDS = frozenset(_WORDS.split())
"""Names that stand before a parenthesis without being called."""
_OPENED = frozenset("([{")
_CLOSED = frozenset(")]}")


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
        if not depth - (sign in _CLOSED):
            return count
        count = max(count, 1) + (depth == 1 and sign == ",")
        depth += (sign in _OPENED) - (sign in _CLOSED)
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


def variable_places(expression: str) -> Iterator[tuple[str, int, int]]:
    """Yield each variable that is referred to or bound, with where it stands, its ``$`` included."""
    for token in tokenize(expression):
        if token.kind == "variable":
            yield token.text, token.start, token.end


def variables(expression: str) -> frozenset[str]:
    """Return the names of all variables that are referred to or bound."""
    return frozenset(name for name, _, _ in variable_places(expression))


def rename_variables(expression: str, name_of: Callable[[str], str]) -> str:
    """Return the expression with every ``$ name`` written as ``$`` and the name that `name_of` gives for it.

    What stands between the two goes before them, as no engine may miss a comment that XPath 1.0 does not have. A
    variable that the expression binds itself is renamed alike where it is bound and where it is used, so the
    meaning stays.
    """
    parts: list[str] = []
    at = 0
    for name, start, end in variable_places(expression):
        parts += expression[at:start], expression[start + 1 : end - len(name)], "$", name_of(name)
        at = end
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


FUNCTIONS_NAMESPACE = "http://www.w3.org/2005/xpath-functions"
STANDARD_NAMESPACES: Mapping[str, str] = MappingProxyType(
    {
        "fn": FUNCTIONS_NAMESPACE,
        "xs": "http://www.w3.org/2001/XMLSchema",
        "math": f"{FUNCTIONS_NAMESPACE}/math",
        "map": f"{FUNCTIONS_NAMESPACE}/map",
        "array": f"{FUNCTIONS_NAMESPACE}/array",
    }
)
"""Prefixes that XPath 2 and later know without a declaration, and all namespaces whose functions may be called."""
XSL = "http://www.w3.org/1999/XSL/Transform"


def with_standard(namespaces: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return all prefixes that an expression may use: those that a rulebook declares go before the standard ones."""
    return {**STANDARD_NAMESPACES, **dict(namespaces)}


def declarations(namespaces: Iterable[tuple[str, str]]) -> str:
    """Return the namespace declarations for expressions of a rulebook."""
    return " ".join(f"xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in sorted(with_standard(namespaces).items()))


def expanded(name: str, namespaces: Mapping[str, str]) -> tuple[str, str]:
    """Return namespace and local name of a function as it is called."""
    if name.startswith("Q{"):
        uri, _, local = name[2:].partition("}")
        return uri.strip(), local
    prefix, colon, local = name.rpartition(":")
    if not colon:
        return FUNCTIONS_NAMESPACE, local
    return namespaces.get(prefix) or STANDARD_NAMESPACES.get(prefix, ""), local
