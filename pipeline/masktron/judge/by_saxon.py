"""Stylesheets as Saxon is given them, with its known errors.

SaxonC 13.1 is wrong about ``substring()`` with fractions and very large positions. Its XPath 1.0 mode refuses a
comparison of a comparison without brackets, and compares a number with a truth value as truth values: the deviations
``substring-fraction``, ``substring-large``, ``chained-comparison-saxon`` and ``boolean-order-saxon``. A function of
the stylesheet stands for ``substring()``, brackets are added, and a truth value is made a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from masktron.judge.by_libxml2 import StylesheetDialect
from masktron.judge.conversions import with_conversions
from masktron.judge.rewriting import Change, Converted, Rewriting, Type, document_name, is_xpath1, joined
from masktron.judge.shortcuts import key_lookup
from masktron.rulebook.expressions.tree import (
    Call,
    Comparison,
    Expression,
    Literal,
    NameTest,
    Opaque,
    Step,
    parts_of,
    replaced,
)
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE, STANDARD_NAMESPACES
from masktron.rulebook.schema import Rulebook, XPathVersion

_PREFIX = "m-sax"
_NAME = "substring"
_ORDERS = frozenset({"<", "<=", ">", ">="})
_ERR = "http://www.w3.org/2005/xqt-errors"
_NAMESPACES = {
    "m-err": _ERR,
    "m-map": STANDARD_NAMESPACES["map"],
    "m-xs": STANDARD_NAMESPACES["xs"],
    _PREFIX: "urn:masktron:saxon",
}


class SaxonDialect(StylesheetDialect):
    """XSLT 3.0, in which an instruction with ``version="1.0"`` evaluates XPath 1.0."""

    xslt = "3.0"
    catches = True
    find = staticmethod(key_lookup)

    def mode(self, version: XPathVersion) -> str:
        """Return the attribute that makes Saxon evaluate what stands in an instruction as XPath 1.0, or nothing."""
        return ' version="1.0"' if version == "1.0" else ""

    def head(self) -> str:
        """Return the namespaces of the stylesheet."""
        declared = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in _NAMESPACES.items())
        return f'{declared} exclude-result-prefixes="#all"'

    def declarations(self, rulebook: Rulebook) -> str:
        """Return the parameters that documents are, and the functions that stand for those of Saxon."""
        used = [None, *range(len(rulebook.beside))] if rulebook.documents else []
        parameters = "".join(f'<m-xsl:param name="{document_name(place)}"/>' for place in used)
        modes = sorted({version == "1.0" for version in rulebook.versions})
        return parameters + "".join(_functions(xpath1=mode) for mode in modes)

    def document(self, place: int | None) -> str:
        """Return what stands for a document in an expression."""
        return f"${document_name(place)}"

    def rewritten(
        self,
        tree: Expression,
        changes: Iterable[Change] = (),
        types: Callable[[], Mapping[str, Type]] = dict,
        version: XPathVersion = "1.0",
        *,
        written: bool = False,
    ) -> str:
        """Return an expression as Saxon evaluates it rightly."""
        return _Saxon(tree, changes, types, xpath1=version == "1.0").of(tree).text


SAXON = SaxonDialect()


class _Saxon(Rewriting):
    def __init__(
        self, tree: Expression, changes: Iterable[Change], types: Callable[[], Mapping[str, Type]], *, xpath1: bool
    ) -> None:
        super().__init__(changes)
        self._types = cache(types)  # which looks at all variables in scope
        self._xpath1 = xpath1
        self._brackets = xpath1 and is_xpath1(tree)

    def written(self, node: Expression, parts: Sequence[Converted]) -> Converted:
        match node:
            case Call(standard="substring", arguments=(_, _) | (_, _, _), named=named):
                places = [(part.start, part.end, own.text) for part, own in zip(parts_of(node), parts, strict=True)]
                places.append((named, node.source.index(_NAME, named) + len(_NAME), _function(xpath1=self._xpath1)))
                return Converted(replaced(node.source, sorted(places), node.start, node.end), "unknown")
            case Opaque(
                symbol="#", parts=(Step(test=NameTest(local="substring", space=space)), Literal(value=2 | 3))
            ):
                if space in ("", FUNCTIONS_NAMESPACE):
                    parts = [Converted(_function(xpath1=self._xpath1), "unknown"), *parts[1:]]
            case Comparison() if self._brackets:
                truth = self._truth_that_is_ordered(node)
                operands = [
                    Converted(f"number({own.text})", "unknown") if part is truth else own
                    for part, own in zip((node.left, node.right), parts, strict=True)
                ]
                return Converted(f"({joined(node, operands, 'unknown').text})", "unknown")
        return super().written(node, parts)

    def _truth_that_is_ordered(self, comparison: Comparison) -> Expression | None:
        """Return the operand that is a truth value, of an order in which the other is a number or a text.

        With nodes a truth value is compared as one in the Recommendation too.
        """
        if comparison.sign not in _ORDERS:
            return None
        operands = (comparison.left, comparison.right)
        kinds = [with_conversions(operand, self._types()).type for operand in operands]
        one_is = "boolean" in kinds and {"number", "string"} & {*kinds}
        return operands[kinds.index("boolean")] if one_is else None


def _function(*, xpath1: bool) -> str:
    """Return the name of our function; XPath 1.0 has its own, since anything may be its argument."""
    return f"{_PREFIX}:{_NAME}{'-1' if xpath1 else ''}"


def _functions(*, xpath1: bool) -> str:
    """Return the declarations of the functions that stand for Saxon's.

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
