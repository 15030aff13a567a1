"""What was probably meant where a rule cannot be read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Protocol

from masktron.problems.problem import Problem


class PlainSyntaxError(ValueError):
    """A rule that cannot be read.

    Attributes
    ----------
    problem : Problem
    at : int
        The character of the text, from 0, where it is wrong.
    """

    def __init__(self, problem: Problem, at: int) -> None:
        super().__init__(problem.code)
        self.problem, self.at = problem, at


class _Token(Protocol):
    type: str
    value: str
    start_pos: int | None
    end_pos: int | None


_SIGNS: tuple[tuple[str, str, str], ...] = (
    (r"=>", "=>", ">="),
    (r"=<", "=<", "<="),
    (r"<>", "<>", "!="),
    (r"<-", "<-, which gives R a value", "< with a blank behind it, or NAME := VALUE"),
    (r"!==|===|=\s+=", "===", "== or !="),
    (r"&(?:lt|gt|le|ge|amp|quot|apos);", "signs of XML", "<, >, and, or a quotation mark itself"),
    (r"->|⇒|→", "an arrow", "if A then B"),
    (r"\*\*", "**", "^"),
    (r"//", "//", "/"),
    ("[\u2018-\u201a\u201c-\u201e«»]", "curly quotation marks", 'straight ones: "text"'),
    ("[\N{MINUS SIGN}\N{EN DASH}\N{EM DASH}]", "a long dash", "-"),
    ("[\N{MULTIPLICATION SIGN}\N{MIDDLE DOT}]", "this sign for a product", "*"),
    (r"÷", "this sign for a ratio", "/"),
    (r"\$|@", "$ and @", "the name of the field alone"),
    (
        r"\[|\]",
        "square brackets",
        'a set as {"a", "b"}, a range as 1..5, and a name with other signs in backquotes: `a b`',
    ),
    (r";", "a semicolon", "each rule on a line of its own"),
    (r"::?", "a colon here", "a range as 1..5, and the name of a rule at the beginning of its line"),
    (r"~", "a formula", "== between what has to be the same"),
    (r"\?", "a question mark", "if A then B else C"),
    (r"\.\.\.", "three dots", "a range as 1..5"),
    (r"%(?!%)", "a % here", "20% right behind a number, and %% for the remainder"),
)
"""What stands at the place, what it is called, and what to write; as regular expressions on the text from there."""

_WORDS: dict[str, str] = {
    "div": "/",
    "mod": "%%",
    "implies": "if A then B",
    "xor": "A != B for two conditions, or (A or B) and not (A and B)",
    "between": "in 1..5",
    "is": "== for a value, or missing(FIELD)",
    "like": 'matches(FIELD, "PATTERN")',
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "elseif": "else if",
    "elif": "else if",
    "when": "if A then B",
    "otherwise": "else",
    "endif": "nothing: a rule ends with its line",
    "end": "nothing: a rule ends with its line",
    "not": 'not (A), not missing(FIELD), or FIELD not in {"a", "b"}',
    "to": "a range as 1..5",
    "if": "if",
    "then": "then",
    "else": "else",
    "and": "and",
    "or": "or",
    "in": "in",
    "than": "then",
    "equals": "==",
}

_NAMES: dict[str, str] = {
    "NAME": "a name",
    "QUOTED": "a name",
    "NUMBER": "a number",
    "PERCENT": "a number",
    "TEXT": "a text",
    "TRUTH": "TRUE or FALSE",
    "COMPARE": "a comparison",
    "SIGN": "+ or -",
    "TIMES": "* or /",
    "REMAINDER": "%%",
    "POWER": "^",
    "RANGE": "..",
    "IN": "in",
    "IN_OF_R": "in",
    "_IF": "if",
    "_THEN": "then",
    "_ELSE": "else",
    "BY": "by",
    "NOT": "not",
    "_AND": "and",
    "_OR": "or",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACE": "{",
    "RBRACE": "}",
    "COMMA": ",",
    "$END": "the end of the rule",
}
_VALUES = ("NUMBER", "PERCENT", "TEXT", "NAME", "QUOTED", "RPAR", "TRUTH")
_STARTS = ("NUMBER", "PERCENT", "TEXT", "NAME", "QUOTED")
_CLOSED_BY = {"LPAR": "RPAR", "LBRACE": "RBRACE"}


def slip_at(text: str, at: int, tokens: Sequence[_Token], expected: frozenset[str]) -> tuple[Problem, int]:
    """Say what is wrong with a rule.

    Parameters
    ----------
    text : str
        The rule.
    at : int
        The character at which the grammar fails.
    tokens : sequence of tokens
        As far as there are any.
    expected : frozenset of str
        Kinds of tokens that may stand there; none where no token begins.

    Returns
    -------
    problem : Problem
    at : int
        Where it is.
    """
    before = [one for one in tokens if (one.end_pos or 0) <= at]
    here = next((one for one in tokens if one.start_pos == at), None)
    if text[at : at + 1] == ":" and any(one.type == "_IF" for one in before):
        return _slip("a colon behind a condition", "then"), at
    for begin in range(max(at - 5, 0), at + 1):
        for pattern, construct, instead in _SIGNS:
            found = re.match(pattern, text[begin:])
            if found and begin + found.end() > at:
                return _slip(construct, instead), begin
    if here is None and at < len(text) and text[at] in "\"'`":
        return Problem("plain-open", sign=text[at]), at
    if here is None and at < len(text):
        number = re.match(r"[\d.]+(?=[^\W\d])", text[at:])
        if number:
            return _slip(
                f"{number[0]} right before a name", f"{number[0]} * {text[at + number.end() :].split(maxsplit=1)[0]}"
            ), at
        return Problem("plain-sign", sign=text[at]), at
    return _between(text, at, before, here, expected)


def _between(  # noqa: PLR0911, PLR0912 -- one branch per slip
    text: str, at: int, before: Sequence[_Token], here: _Token | None, expected: frozenset[str]
) -> tuple[Problem, int]:
    last = before[-1] if before else None
    for token in (here, last):
        word = token.value.lower() if token is not None and token.type in ("NAME", "NOT") else ""
        if token is not None and word in _WORDS and (token is here or len(before) > 1 or word == "if"):
            return _slip(token.value, _WORDS[word]), token.start_pos or 0
    open_one = _unclosed(before)
    if here is None and open_one is not None:
        return Problem("plain-open", sign=open_one.value), open_one.start_pos or 0
    kind = "$END" if here is None else here.type
    if last is not None and last.type == "NAME" and [one.type for one in before[-2:-1]] in (["IN"], ["IN_OF_R"]):
        return _slip(f"{last.value} as a set", 'the set itself: {"a", "b"} or 1..5'), last.start_pos or 0
    if kind == "LPAR" and last is not None and last.type in ("IN", "IN_OF_R"):
        return _slip("a set in round brackets", 'curly ones: {"a", "b"}, or a range as 1..5'), at
    if kind == "SIGN" and "RANGE" in expected:
        return _slip(f"a range with {here.value if here else ''}", "a range as 1..5"), at
    if kind == "COMMA" and [one.type for one in before[-2:-1]] == ["IN"]:
        return _slip("a set without brackets", '{"a", "b"}'), at
    if kind == "COMMA" and [one.type for one in before[-2:-1]] == ["BY"]:
        return _slip("several groups without brackets", "by (A, B)"), at
    types = [one.type for one in before]
    if types.count("_IF") > types.count("_THEN") and last is not None and last.type in _VALUES and kind in _STARTS:
        return _slip("an if without then", "if A then B"), at
    if last is not None and here is not None and last.type in _VALUES and kind in _STARTS:
        return _beside(last, here), at
    if kind == "RPAR" and open_one is None:
        return Problem("plain-closed", sign=")"), at
    if last is not None and kind == "COMMA" and last.type in ("NUMBER", "PERCENT"):
        following = re.match(r",\s*(\d+)", text[at:])
        if following:
            written = f"{last.value}{following[0]}"
            number = f"{last.value.replace('.', '')}.{following[1]}"
            return _slip(f"the decimal comma of {written}", number), last.start_pos or 0
    if kind == "_THEN" and not any(one.type == "_IF" for one in before):
        return _slip("then without if", "if A then B"), at
    if kind == "COMMA" and any(one.type == "_IF" for one in before):
        return _slip("a comma between condition and consequence", "if A then B"), at
    found = _NAMES.get(kind, kind) if here is None or kind in ("$END",) else f"{here.value!r}"
    wanted = sorted({_NAMES[one] for one in expected if one in _NAMES})
    if "_THEN" in expected and kind == "$END":
        wanted = ["then"]
    elif {"NUMBER", "NAME"} <= expected:
        wanted = ["a field", "a number", "a text", "("]
    if last is None:
        return _slip("nothing" if here is None else f"{found} at its beginning", "a condition such as FIELD > 1"), at
    return Problem("plain-unexpected", found=found, after=last.value, wanted=tuple(wanted)), at


def _beside(last: _Token, here: _Token) -> Problem:  # noqa: PLR0911 -- one branch per slip
    """Say what may be missing between two values."""
    left, right = last.value, here.value
    if right.lower() in ("the", "thne", "tehn", "hten") or right.lower().startswith("then"):
        return _slip(right, "then")
    long = [word for word in _WORDS if len(word) > 3]
    if here.type == "NAME" and (close := difflib.get_close_matches(right.lower(), long, 1, 0.8)):
        return _slip(right, _WORDS[close[0]])
    if last.type == here.type == "NUMBER":
        return _slip(f"the number {left} {right}", f"{left}{right}, without blanks")
    if last.type == "NUMBER" and here.type == "NAME":
        return _slip(f"{left} before {right} without a sign", f"{left} * {right}")
    if last.type in ("NAME", "QUOTED") and here.type in ("NUMBER", "PERCENT", "TEXT"):
        return _slip(f"{right} after {left} without a sign", f"{left} == {right}, or another comparison")
    if last.type == here.type == "NAME":
        return Problem("plain-two-names", left=left, right=right)
    return _slip(f"{right} after {left} without a sign", "a sign or and, or between them")


def _unclosed(tokens: Sequence[_Token]) -> _Token | None:
    """Return the last bracket that nothing closes."""
    found: list[_Token] = []
    for one in tokens:
        if one.type in _CLOSED_BY:
            found.append(one)
        elif one.type in _CLOSED_BY.values() and found:
            found.pop()
    return found[-1] if found else None


def _slip(construct: str, instead: str) -> Problem:
    return Problem("plain-slip", construct=construct, instead=instead)


def several(wrong: Sequence[Problem], where: str) -> Problem:
    """Return one problem for all that is wrong with the rules of a file."""
    return wrong[0] if len(wrong) == 1 else Problem("plain-several", where, count=len(wrong), problems=tuple(wrong))
