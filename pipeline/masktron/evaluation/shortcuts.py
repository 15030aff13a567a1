"""Expressions that libxml2 would evaluate in quadratic time, in a form that takes it linear time.

Both are looked for in the tokens of an expression and replaced only where nothing around them can change what they
mean. Saxon evaluates every expression as it is written, so that the second opinion on a file is one on these as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from masktron.read.forbidden import DocumentCall
from masktron.read.schematron_lexer import Token, tokenize

_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_BEFORE = frozenset({"", "(", "[", ",", "and", "or"})
"""What may stand before a whole comparison; the empty text is the start of the expression."""
_AFTER = frozenset({"", ")", "]", ",", "and", "or"})


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A part of an expression, at ``[start:end]``, that is replaced.

    Attributes
    ----------
    text : str
        What stands there instead; ``{name}`` is the name of the declaration.
    declaration : str
        What the stylesheet has to declare for it, ``{name}`` included.
    """

    start: int
    end: int
    text: str
    declaration: str


def shortcuts(expression: str, calls: Sequence[DocumentCall], original: str) -> Iterator[Shortcut]:
    """Yield what can be replaced in an expression of XPath 1.0, in order.

    Parameters
    ----------
    expression : str
    calls : sequence of DocumentCall
        The calls of ``document()`` in it.
    original : str
        What stands for these calls in the stylesheet.
    """
    tokens = tokenize(expression)
    at_call = {call.start: call for call in calls}
    found = (
        _values(expression, tokens, at, at_call[token.start], original)
        if token.start in at_call
        else _earlier(expression, tokens, at)
        for at, token in enumerate(tokens)
    )
    yield from (shortcut for shortcut in found if shortcut is not None)


def _values(
    expression: str, tokens: Sequence[Token], first: int, call: DocumentCall, original: str
) -> Shortcut | None:
    """Follow a path that starts at the original, with names only, once and not for every record.

    Theorem: the path selects the same nodes wherever it stands, and where it is an operand of a comparison, one node
    of each value is enough. Proof: neither ``document()`` with a literal nor a step without a predicate depends on
    the context. XPath 1.0, 3.4: a comparison with a set of nodes is true if and only if it is for one of its nodes,
    by its string-value or the number that this spells; with a boolean, the set counts as whether it has nodes.
    """
    last = next(at for at in range(first, len(tokens)) if tokens[at].end == call.end)
    end = last
    while (step := _step(tokens, end + 1)) > 0:
        end += step
    before, after = _text(tokens, first - 1), _text(tokens, end + 1)
    if end == last or after in {"[", "(", "::", "/", "//", ":"}:
        return None
    path = f"{original}{expression[call.end : tokens[end].end]}"
    compared = (before in _COMPARISONS and after in _AFTER) or (before in _BEFORE and after in _COMPARISONS)
    select = f"m-set:distinct({path})" if compared else path
    return Shortcut(
        call.start,
        tokens[end].end,
        "${name}",
        f'<m-xsl:variable name="{{name}}" select={_braced(quoteattr(select))}/>',
    )


def _step(tokens: Sequence[Token], at: int) -> int:
    """Return how many tokens a step with a plain name takes, with the slash before it; 0 where there is none."""
    if _text(tokens, at) not in {"/", "//"}:
        return 0
    if _text(tokens, at + 1) == "@":
        return 3 if _is_name(tokens, at + 2) else 0
    return 2 if _is_name(tokens, at + 1) else 0


def _earlier(expression: str, tokens: Sequence[Token], at: int) -> Shortcut | None:
    """Look an earlier sibling with the same value up: ``F = preceding-sibling::T/F``, where T is a name or ``*``.

    Theorem: for a node that is a T with one F, the comparison is true if and only if the first F of its value, among
    those of all T that are its siblings or itself, is not its own. Proof: its own F is among these, so that the first
    is in a sibling before it, or its own. In the first case the comparison is true; in the second no sibling before
    it has the value, and it is false. For other nodes the comparison is evaluated as it is written.
    """
    names = [_text(tokens, at + offset) for offset in range(7)]
    field, element = names[0], names[4]
    if names != [field, "=", "preceding-sibling", "::", element, "/", field] or not _is_name(tokens, at):
        return None
    if not (element == "*" or _is_name(tokens, at + 4)):
        return None
    if _text(tokens, at - 1) not in _BEFORE or _text(tokens, at + 7) not in _AFTER:
        return None
    start, end = tokens[at].start, tokens[at + 6].end
    alone = f"(self::{element} and count({field}) = 1)"
    key = f"concat(generate-id(..), ' ', {field})"
    return Shortcut(
        start,
        end,
        f"(({alone} and count(. | key('{{name}}', {key})[1]/..) = 2) or "
        f"(not{alone} and {_braced(expression[start:end])}))",
        f'<m-xsl:key name="{{name}}" match="{element}/{field}" use="concat(generate-id(../..), \' \', .)"/>',
    )


def _is_name(tokens: Sequence[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].kind == "name" and not set(tokens[at].text) & set("*{}")


def _text(tokens: Sequence[Token], at: int) -> str:
    """Return the text of a token; the empty text before the first and after the last."""
    if not 0 <= at < len(tokens):
        return ""
    return tokens[at].text if tokens[at].kind in ("symbol", "name") else "literal"


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
