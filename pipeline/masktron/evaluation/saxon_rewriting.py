"""Expressions written so that Saxon gives the answer of the Recommendation.

SaxonC 13.1 is wrong about ``substring()`` with fractions and very large positions. Its XPath 1.0 mode refuses a
comparison of a comparison without brackets, and compares a number with a truth value as truth values: the deviations
``substring-fraction``, ``substring-large``, ``chained-comparison-saxon`` and ``boolean-order-saxon``. A function of
the stylesheet stands for ``substring()``, brackets are added, and a truth value is made a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from masktron.evaluation.conversions import Type, is_xpath1, with_conversions
from masktron.rulebook.expressions.tree import (
    Call,
    Comparison,
    Expression,
    Literal,
    NameTest,
    Opaque,
    Step,
    walk,
)
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE

PREFIX = "m-sax"
URI = "urn:masktron:saxon"
"""Of our function in stylesheets."""
_NAME = "substring"
_ORDERS = frozenset({"<", "<=", ">", ">="})


def for_saxon(
    expression: Expression, *, xpath1: bool, types: Mapping[str, Type] = MappingProxyType({})
) -> Iterator[tuple[int, int, str]]:
    """Yield the places of an expression's source in which Saxon needs another text, and that text.

    Texts for one place come in the order in which they stand there.

    Parameters
    ----------
    expression : Expression
    xpath1 : bool
        Whether it is evaluated in XPath 1.0 mode.
    types : mapping of str to Type, optional
        Of variables, in XPath 1.0.
    """
    brackets = xpath1 and is_xpath1(expression)
    truths: set[tuple[int, int] | None] = set()
    closing: list[tuple[int, str]] = []
    for node in walk(expression):
        match node:
            case Call(standard="substring", arguments=(_, _) | (_, _, _), named=named):
                yield named, node.source.index(_NAME, named) + len(_NAME), _function(xpath1=xpath1)
            case Opaque(
                symbol="#", parts=(Step(test=NameTest(local="substring", space=space)) as name, Literal(value=2 | 3))
            ) if space in ("", FUNCTIONS_NAMESPACE):
                yield name.start, name.end, _function(xpath1=xpath1)
            case Comparison() if brackets:
                truths.add(_truth_that_is_ordered(node, types))
        opened = "number(" * (_place(node) in truths) + "(" * (brackets and isinstance(node, Comparison))
        if opened:
            yield node.start, node.start, opened
            closing.append((node.end, ")" * opened.count("(")))
    # of those that close in one place, the inner ones first
    yield from ((end, end, text) for end, text in reversed(closing))


def _place(node: Expression) -> tuple[int, int]:
    return node.start, node.end


def _truth_that_is_ordered(comparison: Comparison, types: Mapping[str, Type]) -> tuple[int, int] | None:
    """Return where the operand stands that is a truth value, of an order in which the other is a number or a text.

    With nodes a truth value is compared as one in the Recommendation too.
    """
    if comparison.sign not in _ORDERS:
        return None
    operands = (comparison.left, comparison.right)
    kinds = [with_conversions(operand, types).type for operand in operands]
    one_is = "boolean" in kinds and {"number", "string"} & {*kinds}
    return _place(operands[kinds.index("boolean")]) if one_is else None


def _function(*, xpath1: bool) -> str:
    """Return the name of our function; XPath 1.0 has its own, since anything may be its argument."""
    return f"{PREFIX}:{_NAME}{'-1' if xpath1 else ''}"


def functions(*, xpath1: bool) -> str:
    """Return the declarations of the functions that `for_saxon` calls.

    Saxon's ``round()`` and comparisons are right. Infinities whose sum is NaN select nothing, as the Recommendation
    asks, since every comparison with NaN is false.

    Parameters
    ----------
    xpath1 : bool
        Whether those of XPath 1.0 mode, or of later versions.
    """
    types = ("item()*",) * 3 if xpath1 else ("m-xs:string?", "m-xs:double", "m-xs:double")
    text, start, size = ("string($t)", "number($from)", "number($size)") if xpath1 else ("$t", "$from", "$size")
    mode = ' version="1.0"' if xpath1 else ""
    declared = []
    for end in ("", f" and position() &lt; $first + round({size})"):
        names = ("t", "from", "size") if end else ("t", "from")
        parameters = "".join(
            f'<m-xsl:param name="{name}" as="{of}"/>' for name, of in zip(names, types, strict=False)
        )
        declared.append(
            f'<m-xsl:function name="{_function(xpath1=xpath1)}" as="m-xs:string"{mode}>{parameters}'
            f'<m-xsl:variable name="first" select="round({start})"/>'
            f'<m-xsl:sequence select="codepoints-to-string(string-to-codepoints({text})'
            f'[position() &gt;= $first{end}])"/></m-xsl:function>'
        )
    return "".join(declared)
