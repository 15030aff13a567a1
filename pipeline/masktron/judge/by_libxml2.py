"""Stylesheets as libxml2 is given them, with its known errors, which `masktron.judge.conversions` tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from masktron.judge.conversions import PREFIX, URI, with_conversions
from masktron.judge.rewriting import Change, Rewriting, Type, document_name, is_xpath1
from masktron.judge.shortcuts import Finder, linear
from masktron.rulebook.expressions.tree import Expression
from masktron.rulebook.schema import Rulebook, XPathVersion


class StylesheetDialect:
    """How the stylesheets of an engine are written: here in XSLT 1.0 with XPath as it is, for libxml2 alone.

    Attributes
    ----------
    xslt : str
        Its version.
    catches : bool
        Whether expressions raise errors, which the stylesheet has to catch.
    find : Finder
        Finds shortcuts.
    """

    xslt = "1.0"
    catches = False
    find: Finder = staticmethod(linear)

    def mode(self, _version: XPathVersion) -> str:
        """Return the attribute of instructions in which expressions of a version of XPath stand."""
        return ""

    def head(self) -> str:
        """Return the namespaces of the stylesheet."""
        return f'xmlns:m-set="http://exslt.org/sets" xmlns:{PREFIX}="{URI}" exclude-result-prefixes="m-set {PREFIX}"'

    def declarations(self, _rulebook: Rulebook) -> str:
        """Return what the stylesheet declares for expressions that are written otherwise."""
        return ""

    def document(self, place: int | None) -> str:
        """Return what stands for a document in an expression: of its place beside, or for the original."""
        return f"document('{document_name(place)}')"

    def rewritten(
        self,
        tree: Expression,
        changes: Iterable[Change] = (),
        types: Callable[[], Mapping[str, Type]] = dict,
        version: XPathVersion = "1.0",
        *,
        written: bool = False,
    ) -> str:
        """Return an expression as the engine evaluates it rightly.

        Parameters
        ----------
        tree : Expression
        changes : iterable of Change
        types : callable, optional
            Returns those of variables, by their names in the expression.
        version : {"1.0", "2.0", "3.1"}
            Of XPath.
        written : bool
            Whether its value is written as a text.
        """
        return Rewriting(changes).of(tree).text


class RecommendedDialect(StylesheetDialect):
    """XSLT 1.0 in which functions of ours convert between numbers and texts."""

    def rewritten(
        self,
        tree: Expression,
        changes: Iterable[Change] = (),
        types: Callable[[], Mapping[str, Type]] = dict,
        version: XPathVersion = "1.0",
        *,
        written: bool = False,
    ) -> str:
        """Return an expression with our conversions, where it is of XPath 1.0."""
        if is_xpath1(tree):
            return with_conversions(tree, types(), changes, written=written).text
        return super().rewritten(tree, changes)


LIBXML2 = StylesheetDialect()
RECOMMENDED = RecommendedDialect()
