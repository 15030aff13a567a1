"""Expressions that engines would evaluate in quadratic time, in a form that takes linear time.

They are looked for in the tokens of an expression and replaced only where nothing around them can change what they
mean. Records with the key of the record at hand are looked up in an ``xsl:key`` by both engines, which build its
table themselves; all else Saxon evaluates as it is written, so that its verdict on a file tests these as
well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from masktron.rulebook.forbidden import DocumentCall
from masktron.xpath.lexer import Token, tokenize

_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_BEFORE = frozenset({"", "(", "[", ",", "and", "or"})
"""What may stand before a whole comparison; the empty text is the start of the expression."""
_AFTER = frozenset({"", ")", "]", ",", "and", "or"})
_LOOSER = frozenset({"or", ",", "return", "satisfies", "then", "else", "if", "for", "some", "every", "let"})
"""What binds operands less than ``and`` does."""
_SIDEWAYS = frozenset({"preceding", "following", "preceding-sibling", "following-sibling"})
_NOT_INSIDE = frozenset({"position", "last", "document", "doc"})
_ELSEWHERE = frozenset({"current", "::"})
"""What a part of a predicate must not have that a key is to match: it could read more than the node."""
_AXES = frozenset({"/", "//", "::", "@", "!", "=>", ":"})


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A part of an expression, at ``[start:end]``, that is replaced.

    Attributes
    ----------
    text : str
        What stands there instead; ``{name}`` is the name of the declaration.
    declaration : str
        What the stylesheet has to declare for it, ``{name}`` included.
    number : str
        The expression of the number that is declared, where it is one; else nodes are declared.
    """

    start: int
    end: int
    text: str
    declaration: str
    number: str = ""


def variable(select: str) -> str:
    """Return the declaration of a variable of the stylesheet, with a place for its name."""
    return f'<m-xsl:variable name="{{name}}" select={_braced(quoteattr(select))}/>'


def shortcuts(
    expression: str, calls: Sequence[DocumentCall], written: Callable[[str], str], *, saxon: bool = False
) -> Iterator[Shortcut]:
    """Yield what can be replaced in an expression, in order.

    Parameters
    ----------
    expression : str
    calls : sequence of DocumentCall
        The calls of ``document()`` in it.
    written : callable
        Returns what stands for the document of a name in the stylesheet.
    saxon : bool
        Whether Saxon evaluates it, and not libxml2.
    """
    tokens = tokenize(expression)
    alike = [one for at in range(len(tokens)) if (one := _alike(expression, tokens, at, saxon=saxon)) is not None]
    at_call = {call.start: call for call in calls}
    plain: Iterator[Shortcut | None] = (
        _values(expression, tokens, at, at_call[token.start], written)
        if token.start in at_call
        else _constant(expression, tokens, at) or _earlier(expression, tokens, at)
        for at, token in enumerate(() if saxon else tokens)
    )
    end = 0
    for shortcut in sorted((*alike, *filter(None, plain)), key=lambda one: one.start):
        if shortcut.start >= end:
            yield shortcut
            end = shortcut.end


def looks_through(expression: str, *, saxon: bool) -> bool:
    """Whether an expression looks at all records wherever it is evaluated, with all that is replaced left out.

    Lexical, and so a guess: for a warning, and for nothing else.

    Parameters
    ----------
    expression : str
    saxon : bool
        Whether Saxon evaluates it.
    """
    tokens = tokenize(expression)
    covered = [(part.start, part.end) for part in shortcuts(expression, (), str, saxon=saxon)]
    for at, token in enumerate(tokens):
        if any(start <= token.start < end for start, end in covered):
            continue
        text, step = _text(tokens, at), at + 1
        if text in _SIDEWAYS and _text(tokens, at + 1) == "::":
            step = at + 3
        elif not ((text in {"/", "//"} and _begins(tokens, at)) or (text == ".." and _text(tokens, at + 1) == "/")):
            continue
        if not (_text(tokens, step) == "[" and _text(tokens, step + 2) == "]" and tokens[step + 1].text == "1"):
            return True
    return False


def _values(
    expression: str, tokens: Sequence[Token], first: int, call: DocumentCall, written: Callable[[str], str]
) -> Shortcut | None:
    """Follow a path that starts at a document, with names only, once and not for every record.

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
    path = f"{written(call.uri)}{expression[call.end : tokens[end].end]}"
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


def _alike(expression: str, tokens: Sequence[Token], at: int, *, saxon: bool) -> Shortcut | None:
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
    found = _path_to_alike(expression, tokens, at)
    if found is None:
        return None
    opening, match = found
    closing = _closing(tokens, opening)
    inside = {token.text for token in tokens[opening:closing] if token.kind == "name"}
    if saxon and any(name.endswith("substring") for name in inside):  # `for_saxon` sees no declared key
        return None
    if _text(tokens, closing + 1) in {"[", "("} or not inside.isdisjoint(_NOT_INSIDE):
        return None
    sides = _first_comparison(tokens, opening, closing)
    if sides is None:
        return None
    (key, value), after = sides
    looked_up, use = (expression[tokens[one].start : tokens[end - 1].end] for one, end in (value, key))
    rest = expression[tokens[after].end : tokens[closing].start] if after < closing else ""
    if (
        rest
        and not saxon
        and not any(token.kind == "variable" or token.text in _ELSEWHERE for token in tokens[after:closing])
    ):
        match, rest = f"{match}[boolean({rest.strip()})]", ""
    predicate = f"[boolean({rest.strip()})]" if rest else ""
    declared = f'<m-xsl:key name="{{name}}" match={_braced(quoteattr(match))} use={_braced(quoteattr(use))}/>'
    field = looked_up.removeprefix("current()")
    if tokens[at].text in {"/", "//"}:
        text = f"key('{{name}}', {looked_up})"
    else:
        name = tokens[opening - 1].text
        declared += f'<m-xsl:variable name="{{name}}" select={_braced(quoteattr(f"(//{name}/..)[last() = 1]"))}/>'
        text = (
            f"(key('{{name}}', current()[${{name}} and count(.. | ${{name}}) = 1]{field}) | "
            f"key('{{name}}', current()[not(${{name}})]{field})[current()/.. and count(.. | current()/..) = 1])"
        )
    if tokens[at].text == "preceding-sibling":
        text, predicate = f"({text}{_braced(predicate)} | current())[1][count(. | current()) = 2]", ""
    return Shortcut(tokens[at].start, tokens[closing].end, f"{text}{_braced(predicate)}", declared)


def _path_to_alike(  # noqa: PLR0911 -- one per reason
    expression: str, tokens: Sequence[Token], at: int
) -> tuple[int, str] | None:
    """Return where the predicate of a path opens, and the pattern of its nodes; None where it is no path of ours."""
    if not _begins(tokens, at):
        return None
    first, end = _text(tokens, at), at
    if (first, _text(tokens, at + 1)) in {("..", "/"), ("preceding-sibling", "::")}:
        end = at + 1
        if not _stands_alone(tokens, at):
            return None
    elif first in {"/", "//"}:
        while _is_name(tokens, end + 1) and _text(tokens, end + 2) in {"/", "//"}:
            end += 2
    else:
        return None
    opening = end + 2
    if not _is_name(tokens, end + 1) or _text(tokens, opening) != "[":
        return None
    if first in {"/", "//"}:
        return opening, expression[tokens[at].start : tokens[end + 1].end]
    if first == "preceding-sibling" and not _is_truth(tokens, at, _closing(tokens, opening)):
        return None
    return opening, tokens[end + 1].text


def _is_truth(tokens: Sequence[Token], at: int, closing: int) -> bool:
    """Whether only the truth of an operand counts: that of ``not()``, ``exists()`` and ``empty()``."""
    call = _text(tokens, at - 2) in {"not", "boolean", "exists", "empty"} and _text(tokens, at - 1) == "("
    return call and _text(tokens, closing + 1) == ")"


def _begins(tokens: Sequence[Token], at: int) -> bool:
    """Whether an operand begins at a token: it is no step of a path that has begun before."""
    before = _text(tokens, at - 1)
    if before in {"and", "or"}:
        ends = tokens[at - 2] if at > 1 else None
        return ends is not None and (ends.kind != "symbol" or ends.text in {")", "]", "."})
    return before in {"", "(", "[", ",", "+", "-", "|"} or before in _COMPARISONS


def _stands_alone(tokens: Sequence[Token], at: int) -> bool:
    """Whether the context node of a place is the current node: nothing around it is a predicate or a path."""
    depth = 0
    for k in range(at - 1, -1, -1):
        text = _text(tokens, k)
        if text in {")", "]", "}"}:
            depth += 1
        elif text in {"(", "[", "{"}:
            if depth:
                depth -= 1
                continue
            name = k - 1 if text == "(" and _is_name(tokens, k - 1) else k
            if text != "(" or _text(tokens, name - 1) in {"/", "//", "!", "::", "=>"}:
                return False
    return _text(tokens, at - 1) != "!"


def _closing(tokens: Sequence[Token], opening: int) -> int:
    depth = 0
    for k in range(opening, len(tokens)):
        depth += (_text(tokens, k) in {"(", "[", "{"}) - (_text(tokens, k) in {")", "]", "}"})
        if not depth:
            return k
    raise AssertionError("brackets pair, or there would be no tokens")


def _first_comparison(
    tokens: Sequence[Token], opening: int, closing: int
) -> tuple[tuple[tuple[int, int], tuple[int, int]], int] | None:
    """Return where ``K`` and ``current()/L`` stand, if a predicate begins with their equality.

    Each is a first token and the one after the last; with the token after the comparison, ``and`` or the end. None
    also where anything in the predicate binds less than ``and``.
    """
    depth = 0
    for k in range(opening + 1, closing):
        text = _text(tokens, k)
        depth += (text in {"(", "[", "{"}) - (text in {")", "]", "}"})
        if not depth and text in _LOOSER:
            return None
    for first, second in ((_own, _current), (_current, _own)):
        middle = first(tokens, opening + 1)
        end = second(tokens, middle + 1) if middle and _text(tokens, middle) == "=" else 0
        if end and (end == closing or _text(tokens, end) == "and"):
            one, two = (opening + 1, middle), (middle + 1, end)
            return ((one, two) if first is _own else (two, one)), end
    return None


def _own(tokens: Sequence[Token], at: int) -> int:
    """Return where ``K``, ``@K`` or ``J/K`` ends; 0 where there is none."""
    if _text(tokens, at) == "@":
        return at + 2 if _is_name(tokens, at + 1) else 0
    if not _is_name(tokens, at) or _text(tokens, at + 1) in {"(", "::"}:
        return 0
    return _own(tokens, at + 2) if _text(tokens, at + 1) == "/" else at + 1


def _current(tokens: Sequence[Token], at: int) -> int:
    """Return where ``current()/L`` ends; 0 where there is none."""
    if [_text(tokens, at + k) for k in range(4)] != ["current", "(", ")", "/"]:
        return 0
    at += 4
    while [_text(tokens, at), _text(tokens, at + 1)] == ["..", "/"]:
        at += 2
    return _own(tokens, at)


def _constant(expression: str, tokens: Sequence[Token], at: int) -> Shortcut | None:
    """Compute ``count(//T)`` and ``sum(/X/T/F)`` once and not for every record.

    Theorem: the value is the same at every node of the document. Proof: the path begins at the root and has steps
    with plain names, so that it depends on the document of the context node alone; that is the document that is
    evaluated, since no path or predicate, which could lead into another one, stands around.
    """
    if _text(tokens, at) not in {"count", "sum"} or _text(tokens, at + 1) != "(" or _text(tokens, at - 1) in _AXES:
        return None
    end = at + 1
    while (step := _step(tokens, end + 1)) > 0:
        end += step
    if end == at + 1 or _text(tokens, end + 1) != ")" or not _stands_alone(tokens, at):
        return None
    select = expression[tokens[at].start : tokens[end + 1].end]
    return Shortcut(tokens[at].start, tokens[end + 1].end, "${name}", variable(select), select)


def _is_name(tokens: Sequence[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].kind == "name" and not set(tokens[at].text) & set("*{}")


def _text(tokens: Sequence[Token], at: int) -> str:
    """Return the text of a token; the empty text before the first and after the last."""
    if not 0 <= at < len(tokens):
        return ""
    return tokens[at].text if tokens[at].kind in ("symbol", "name") else "literal"


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
