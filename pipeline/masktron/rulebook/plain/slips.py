"""What was probably meant where a rule cannot be read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from masktron.errors import RulebookError
from masktron.problems.problem import Problem

if TYPE_CHECKING:
    from lark import Token


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


def slip(construct: str, instead: str, at: int) -> PlainSyntaxError:
    """Return the error for what has another spelling here."""
    return PlainSyntaxError(Problem("plain-slip", construct=construct, instead=instead), at)


_SIGNS: tuple[tuple[str, str, str], ...] = (
    (r"=>", "=>", ">="),
    (r"=<", "=<", "<="),
    (r"<>", "<>", "!="),
    (r"<-", "<-, which gives R a value", "< with a blank behind it, or NAME := VALUE"),
    (r"=\s+=", "a blank in ==", "=="),
    (r"!==|===", "===", "== or !="),
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
    "is": "== for a value, missing(FIELD) or not missing(FIELD)",
    "like": 'matches(FIELD, "^A") with a regular expression',
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
    "und": "and",
    "oder": "or",
}

_IMPLIED = re.compile(r"(?P<left>.*[<>=!].*?)\s*=>\s*(?P<right>.*[<>=!].*)")
"""A => between two conditions, where an implication may be meant."""

_SLIPS: tuple[tuple[str, str, str], ...] = (
    (r"\bif\b.*\0:", "a colon behind a condition", "then"),
    (r"\bif\s*\([^&]*\0;", "a semicolon between condition and consequence", "if A then B"),
    (r"\0;", "a semicolon", "each rule on a line of its own"),
    (r"(\d+)\s*\0:\s*(\d+)", r"\1:\2", r"\1..\2"),
    (r"\0:", "a colon here", "a range as 1..5, and the name of a rule at the beginning of its line"),
    (r"(?P<at>\d+)\.(\d{3})\s*\0,\s*(\d+)", r"the decimal comma of \1.\2,\3", r"\1\2.\3"),
    (r"(?<![\d.])(?P<at>[1-9]\d{0,2})\0((?:,\d{3}){2,})(?!\d)", r"the commas of \1\2", "the number without commas"),
    (
        r"(?<![\d.])(?P<at>[1-9]\d{0,2})\s*\0,\s*(?=(\d{3})(?!\d))(\d+?)0*(?!\d)",
        r"the comma of \1,\2",
        r"\1\2 for thousands, or \1.\3 for a decimal",
    ),
    (r"(?P<at>\d+)\s*\0,\s*(\d+)", r"the decimal comma of \1,\2", r"\1.\2"),
    (r"(\d+)\.(\d+)\0\.(\d+)", r"the number \1.\2.\3", r"\1\2\3, without dots"),
    (r"(\d+)\s+\0(\d+)", r"the number \1 \2", r"\1\2, without blanks"),
    (r"(?:\bin|%v?in%)\s+(?P<at>[^\W\d][\w.]*)\s*\0", r"\1 as a set", 'the set itself: {"a", "b"} or 1..5'),
    (r"(?:\bin|%v?in%)\s*\0\(", "a set in round brackets", 'curly ones: {"a", "b"}, or a range as 1..5'),
    (r"\bin\b[^{(]*\d\s*\0([+-])", r"a range with \1", "a range as 1..5"),
    (r"\bin\s+[^\s,{]+\s*\0,", "a set without brackets", '{"a", "b"}'),
    (r"\bby\s+[^\s,(]+\s*\0,", "several groups without brackets", "by (A, B)"),
    (r"\bby\s+\0[^\W\d]", "by within the brackets", "FUNCTION(FIELD) by GROUP"),
    (r"\b(and|or)\s*\0([<>=!]=?)", r"\1 right before \2", r"the field again: \1 FIELD \2 ..."),
    (r"\bif\b(?:(?!\b(?:then|if)\b).)*[\w.)}\"'`%]\s*\0[\w.\"'`]", "an if without then", "if A then B"),
    (r"\bif\b.*\0,\s*then\b", "a comma before then", "if A then B, without a comma"),
    (r"\bif\b.*\0,", "a comma between condition and consequence", "if A then B"),
    (r"^(?!.*\bif\b).*\0then\b", "then without if", "if A then B"),
    (r"\0(\d[\d.]*)([^\W\d][\w.]*)", r"\1 right before a name", r"\1 * \2"),
    (r"([\d.]*\d)\s*\0([^\W\d][\w.]*)", r"\1 before \2 without a sign", r"\1 * \2, or \1 without a unit"),
    (r"\0group\s+by\b", "group by", "by GROUP alone"),
    (r"""("[^"]*"|'[^']*')\s*\0("[^"]*"|'[^']*')""", r"\2 right after \1", r"a comma between them: \1, \2"),
    (
        r"""((?<![\w.])[^\W\d][\w.]*|`[^`]*`)\s*\0([\d.]+%?|"[^"]*"|'[^']*')""",
        r"\2 after \1 without a sign",
        r"\1 == \2, or another comparison",
    ),
    (r"\{[^{}]*\0([^\W\d][\w.]*)", r"\1 as a value of a set", r'quotation marks: "\1"'),
    (r"([)}\"'])\s*\0([\w.\"'`]+)", r"\2 after \1 without a sign", "a sign or and, or between them"),
)
"""What stands around the place, which is \\0; what it is called, and what to write."""

_NAMES: dict[str, str] = {
    "NAME": "a name",
    "NUMBER": "a number",
    "TEXT": "a text",
    "COMPARE": "a comparison",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACE": "{",
    "RBRACE": "}",
    "COMMA": ",",
}
_CLOSED_BY = {"LPAR": "RPAR", "LBRACE": "RBRACE"}


def slip_at(  # noqa: PLR0911 -- one branch per kind of slip
    text: str, at: int, tokens: Sequence[Token], expected: frozenset[str]
) -> PlainSyntaxError:
    """Return the error for what is wrong with a rule.

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
    """
    before = [one for one in tokens if (one.end_pos or 0) <= at]
    here = next((one for one in tokens if one.start_pos == at), None)
    last = before[-1] if before else None
    for begin in range(max(at - 5, 0), at + 1):
        for pattern, construct, instead in _SIGNS:
            sign = re.match(pattern, text[begin:])
            if sign and begin + sign.end() > at:
                implied = _IMPLIED.fullmatch(text.strip()) if construct == "=>" else None
                meant = (
                    "if {left} then {right}, or >= for a comparison".format(**implied.groupdict()) if implied else ""
                )
                return slip(construct, meant or instead, begin)
    for token in (here, last):
        word = token.value.lower() if token is not None and token.type in ("NAME", "NOT") else ""
        if token is not None and word in _WORDS and (token is here or len(before) > 1 or word == "if"):
            return slip(token.value, _WORDS[word], token.start_pos or 0)
    for pattern, construct, instead in _SLIPS:
        if around := re.search(pattern, f"{text[:at]}\0{text[at:]}", re.IGNORECASE):
            place = around.start("at") if "at" in around.groupdict() else at
            return slip(around.expand(construct), around.expand(instead), place)
    open_one = _unclosed(before)
    if here is None and at < len(text):
        return PlainSyntaxError(Problem("plain-open" if text[at] in "\"'`" else "plain-sign", sign=text[at]), at)
    if here is None and open_one is not None:
        return PlainSyntaxError(Problem("plain-open", sign=open_one.value), open_one.start_pos or 0)
    if here is not None and here.type == "RPAR" and open_one is None:
        return PlainSyntaxError(Problem("plain-closed", sign=")"), at)
    if last is None:
        construct = "nothing" if here is None else f"{here.value!r} at its beginning"
        return slip(construct, "a condition such as FIELD > 1", at)
    if here is not None and here.type == last.type == "NAME":
        return _two_names(last.value, here.value, at)
    found = "the end of the rule" if here is None else f"{here.value!r}"
    wanted = _wanted(expected, open_one)
    return PlainSyntaxError(Problem("plain-unexpected", found=found, after=last.value, wanted=wanted), at)


def _two_names(left: str, right: str, at: int) -> PlainSyntaxError:
    long = [word for word in _WORDS if len(word) > 3]
    if close := difflib.get_close_matches(right.lower(), long, 1, 0.8):
        return slip(right, _WORDS[close[0]], at)
    return PlainSyntaxError(Problem("plain-two-names", left=left, right=right), at)


def _wanted(expected: frozenset[str], open_one: Token | None) -> tuple[str, ...]:
    """Say what may stand at a place, in the order of how likely it is."""
    if {"NUMBER", "NAME"} <= expected:
        return "a field", "a number", "a text", "("
    if "_AND" in expected:
        return "and", "or", _NAMES[_CLOSED_BY[open_one.type]] if open_one else "the end of the rule"
    return tuple(said for kind, said in _NAMES.items() if kind in expected)


def _unclosed(tokens: Sequence[Token]) -> Token | None:
    """Return the last bracket that nothing closes."""
    found: list[Token] = []
    for one in tokens:
        if one.type in _CLOSED_BY:
            found.append(one)
        elif one.type in _CLOSED_BY.values() and found:
            found.pop()
    return found[-1] if found else None


def several(wrong: Sequence[Problem], where: str) -> Problem:
    """Return one problem for all that is wrong with the rules of a file, in the order of its lines."""
    each = tuple(sorted(wrong, key=lambda one: (one.place.source, one.place.line)))
    return each[0] if len(each) == 1 else Problem("plain-several", where, count=len(each), problems=each)


def require_readable(wrong: Sequence[Problem], where: str) -> None:
    """Require that nothing is wrong with the rules of a file.

    Raises
    ------
    RulebookError
        Something is: all of it.
    """
    if wrong:
        raise RulebookError(several(wrong, where))
