"""What somebody meant whose expression is not XPath: slips from other languages, and how XPath says it."""

from __future__ import annotations

import re
from decimal import Decimal

from masktron.problems.problem import Problem

LITERALS = re.compile(r"""'[^']*'|"[^"]*\"""")
_IF = re.compile(r"\s*(?:if\b)?(?P<when>.*?)\bthen\b(?P<then>.*)", re.DOTALL | re.IGNORECASE)
_IMPLIES = re.compile(r"(?P<when>.+?)(?P<sign>\bimplies\b|->)(?P<then>.+)", re.DOTALL | re.IGNORECASE)
_LIST = re.compile(r"(?P<left>[\w.:/@$-]+)\s*(?P<sign>=|\bin\b)\s*\((?P<items>[^(),]+(?:,[^(),]+)+)\)")
_ITEM = re.compile(r"[^,]+")
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*\Z")
"""The number before a sign for per cent."""
_SLIPS = (
    (r"=>", ">= for 'at least', and not(A) or B for 'if A, then B'"),
    (r"->|\bimplies\b", "not(A) or B for 'if A, then B'"),
    (r"=<", "<= for 'at most' (&lt;= in XML)"),
    (r"==", "one = to compare"),
    (r"<>", "!= for 'not equal'"),
    (r"&&?", "the word and"),
    (r"\|\|", "the word or"),
    (r"!(?!=)", "not(...)"),
    ("\N{LESS-THAN OR EQUAL TO}", "<= for it (&lt;= in XML)"),
    ("\N{GREATER-THAN OR EQUAL TO}", ">= for it"),
    ("\N{NOT EQUAL TO}", "!= for it"),
    (r"\b(?:AND|And|OR|Or|DIV|Div|MOD|Mod)\b", "and, or, div and mod in small letters"),
    (r"\bxor\b", "boolean(A) != boolean(B)"),
    (r"\bbetween\b", "A >= 1 and A <= 5 for a range (&lt;= in XML)"),
    (r"\bin(?=\s*\()", "A = 1 or A = 2 for a list; in XPath 2 A = (1, 2)"),
    ("[\N{LEFT SINGLE QUOTATION MARK}-\N{DOUBLE HIGH-REVERSED-9 QUOTATION MARK}]", "straight quotes: 'A'"),
    (r"%(?=\s*[\w(])", "mod for a remainder, and 0.3 for 30 %"),
    (r"%", "0.3 for 30 %"),
    (r"(?<=\))\s*/\s*[\w(]|(?<=\w)\s*/\s*[0-9(]", "div to divide, since / is a path"),
    (r"\bmissing\b", "string(number(A)) = 'NaN' or A >= 0 where A may be missing"),
    (r"(?<=[-+*=<>])\s*[0-9]+,[0-9]+", "a decimal point in rules, as in 0.5, whatever the file has"),
    (r"\^|\*\*", "A * A for a power"),
)


def advice(source: str, version: str = "1.0") -> Problem | None:
    """Return the first slip that an expression has, with what to write instead; None where none is known.

    Parameters
    ----------
    source : str
        An expression that could not be compiled.
    version : str
        The version of XPath that it is read as.
    """
    bare = LITERALS.sub(lambda found: f"'{' ' * (len(found[0]) - 2)}'", source)
    found = _IF.fullmatch(source)
    if found and "then" in bare.lower() and not re.search(r"\belse\b", bare, re.IGNORECASE):
        instead = f"not({_unwrapped(found['when'])}) or {found['then'].strip()}"
        return Problem("xpath-slip", construct="'then' without 'else'", instead=instead)
    found = _IMPLIES.fullmatch(bare)
    if found and all(found[side].count("(") == found[side].count(")") for side in ("when", "then")):
        when, then = source[: found.end("when")], source[found.start("then") :]
        shown = named(found["sign"], found.start("sign"))
        return Problem("xpath-slip", construct=shown, instead=f"not({_unwrapped(when)}) or {then.strip()}")
    found = _LIST.search(bare)
    if found and (version == "1.0" or found["sign"] != "="):
        items = [source[one.start() : one.end()].strip() for one in _ITEM.finditer(bare, *found.span("items"))]
        shown = named(f"{found['sign']} ({', '.join(items)})", found.start("sign"))
        instead = " or ".join(f"{found['left']} = {item}" for item in items)
        instead += '; XPath 2 has such lists (queryBinding="xslt2")' if found["sign"] == "=" else ""
        return Problem("xpath-slip", construct=shown, instead=instead)
    for pattern, usual in _SLIPS:
        if one := re.search(pattern, bare):
            share = _SHARE.search(bare, 0, one.start())
            own = "0.3 for 30" if share is None else f"{Decimal(share[1]).scaleb(-2).normalize():f} for {share[1]}"
            instead = usual.replace("0.3 for 30", own)
            return Problem("xpath-slip", construct=named(one[0], one.start()), instead=instead)
    return None


def named(text: str, at: int) -> str:
    """Return a piece of an expression with its place in it."""
    return f"{text.strip()!r} (character {at + 1 + len(text) - len(text.lstrip())})"


def _unwrapped(condition: str) -> str:
    """Return a condition without the parentheses around all of it."""
    bare = condition.strip()
    inner = bare[1:-1]
    return inner.strip() if bare[:1] == "(" and bare[-1:] == ")" and not re.search(r"[()]", inner) else bare
