"""What somebody meant whose expression is not XPath: slips from other languages, and how XPath says it."""

from __future__ import annotations

import re

_LITERALS = re.compile(r"""'[^']*'|"[^"]*\"""")
_IF = re.compile(r"\s*(?:if\b)?(?P<when>.*?)\bthen\b(?P<then>.*)", re.DOTALL | re.IGNORECASE)
_SLIPS = (
    (r"=>", "write >= for 'at least', and not(A) or B for 'if A, then B'"),
    (r"->", "write not(A) or B for 'if A, then B'"),
    (r"=<", "write <= for 'at most' (&lt;= in XML)"),
    (r"==", "write one = to compare"),
    (r"<>", "write != for 'not equal'"),
    (r"&", "write the word and"),
    (r"\|\|", "write the word or"),
    (r"!(?!=)", "write not(...)"),
    ("\N{LESS-THAN OR EQUAL TO}", "write <= for it (&lt;= in XML)"),
    ("\N{GREATER-THAN OR EQUAL TO}", "write >= for it"),
    ("\N{NOT EQUAL TO}", "write != for it"),
    (r"\b(AND|And|OR|Or|DIV|Div|MOD|Mod)\b", "and, or, div and mod are written in small letters"),
    (r"\bbetween\b", "write A >= 1 and A <= 5 for a range (&lt;= in XML)"),
    (r"\bin\s*\(", "write A = 1 or A = 2 for a list; in XPath 2 A = (1, 2)"),
    ("[\N{LEFT SINGLE QUOTATION MARK}-\N{DOUBLE HIGH-REVERSED-9 QUOTATION MARK}]", "write straight quotes: 'A'"),
    (r"%\s*[\w(]", "write mod for a remainder, and 0.3 for 30 %"),
    (r"%", "write 0.3 for 30 %"),
    (r"\)\s*/\s*[\w(]|\w\s*/\s*[0-9(]", "/ is a path: write div to divide"),
    (r"\bmissing\b", "write string(number(A)) = 'NaN' or A >= 0 where A may be missing"),
    (r"[-+*=<>]\s*[0-9]+,[0-9]", "write a decimal point in rules, as in 0.5, whatever the file has"),
    (r"\^|\*\*", "XPath has no powers: write A * A"),
    (r"\b(and|or|div|mod|[-+=<>])\s*$", "something is missing at the end"),
)


def advice(source: str) -> str:
    """Return what to write instead of the first slip that an expression has; empty where none is known.

    Parameters
    ----------
    source : str
        An expression that could not be compiled.
    """
    bare = _LITERALS.sub("''", source).strip()
    if (
        (found := _IF.fullmatch(source))
        and not re.search(r"\belse\b", bare, re.IGNORECASE)
        and "then" in bare.lower()
    ):
        return f"write not({_unwrapped(found['when'])}) or {found['then'].strip()}"
    for slip, said in _SLIPS:
        if re.search(slip, bare):
            return said
    return ""


def _unwrapped(condition: str) -> str:
    """Return a condition without the parentheses around all of it."""
    bare = condition.strip()
    inner = bare[1:-1]
    return inner.strip() if bare[:1] == "(" and bare[-1:] == ")" and not re.search(r"[()]", inner) else bare
