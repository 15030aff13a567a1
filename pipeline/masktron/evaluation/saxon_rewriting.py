"""Expressions written so that Saxon gives the answer of the Recommendation.

SaxonC 13.1 is wrong about ``substring()`` with fractions and very large positions, and its XPath 1.0 mode refuses a
comparison of a comparison without brackets: the deviations ``substring-fraction``, ``substring-large`` and
``chained-comparison-saxon``. A function of the stylesheet stands for ``substring()``, and brackets are added.
"""

from __future__ import annotations

from collections.abc import Iterable

from masktron.evaluation.conversions import bracketed
from masktron.xpath.lexer import calls, tokenize
from masktron.xpath.namespaces import FUNCTIONS_NAMESPACE, expanded, with_standard

PREFIX = "m-sax"
URI = "urn:masktron:saxon"
"""Of our function in stylesheets."""


def for_saxon(expression: str, namespaces: Iterable[tuple[str, str]], *, xpath1: bool) -> str:
    """Rewrite an expression.

    Parameters
    ----------
    expression : str
    namespaces : iterable of (prefix, uri)
    xpath1 : bool
        Whether it is evaluated in XPath 1.0 mode.
    """
    text = bracketed(expression) if xpath1 else expression
    known = with_standard(namespaces)
    parts: list[str] = []
    at = 0
    for call in calls(tokenize(text)):
        if call.arguments in (2, 3) and expanded(call.name, known) == (FUNCTIONS_NAMESPACE, "substring"):
            parts += text[at : call.start], f"{PREFIX}:substring"
            at = call.start + len(call.name)
    return "".join((*parts, text[at:]))


def functions(mode: str) -> str:
    """Return the declarations of the functions that `for_saxon` calls.

    Saxon's ``round()`` and comparisons are right. Infinities whose sum is NaN select nothing, as the Recommendation
    asks, since every comparison with NaN is false.

    Parameters
    ----------
    mode : str
        The attribute of XPath 1.0 mode, or nothing.
    """
    types = ("item()*",) * 3 if mode else ("m-xs:string?", "m-xs:double", "m-xs:double")
    text, start, size = ("string($t)", "number($from)", "number($size)") if mode else ("$t", "$from", "$size")
    declared = []
    for end in ("", f" and position() &lt; $first + round({size})"):
        names = ("t", "from", "size") if end else ("t", "from")
        parameters = "".join(
            f'<m-xsl:param name="{name}" as="{of}"/>' for name, of in zip(names, types, strict=False)
        )
        declared.append(
            f'<m-xsl:function name="{PREFIX}:substring" as="m-xs:string"{mode}>{parameters}'
            f'<m-xsl:variable name="first" select="round({start})"/>'
            f'<m-xsl:sequence select="codepoints-to-string(string-to-codepoints({text})'
            f'[position() &gt;= $first{end}])"/></m-xsl:function>'
        )
    return "".join(declared)
