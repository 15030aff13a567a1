"""Stylesheets as libxml2 is given them, with its known errors, which `masktron.judge.conversions` tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from masktron.judge.conversions import PREFIX, URI, with_conversions
from masktron.judge.rewriting import Change, Rewriting, Type, document_name, is_xpath1
from masktron.judge.shortcuts import Finder, linear
from masktron.rulebook.expressions.tree import Expression
from masktron.rulebook.schema import Rulebook, XPathVersion


@dataclass(frozen=True, slots=True)
class Libxml2Dialect:
    """XSLT 1.0.

    Attributes
    ----------
    converts : bool
        Whether functions of ours convert between numbers and texts.
    """

    converts: bool

    xslt = "1.0"
    catches = False

    @property
    def find(self) -> Finder:
        """What finds shortcuts."""
        return linear

    def mode(self, _version: XPathVersion) -> str:
        """Return nothing: all is XPath 1.0."""
        return ""

    def head(self) -> str:
        """Return the namespaces of the stylesheet."""
        return f'xmlns:m-set="http://exslt.org/sets" xmlns:{PREFIX}="{URI}" exclude-result-prefixes="m-set {PREFIX}"'

    def declarations(self, _rulebook: Rulebook) -> str:
        """Return nothing: our functions are in Python."""
        return ""

    def document(self, place: int | None) -> str:
        """Return what stands for a document in an expression."""
        return f"document('{document_name(place)}')"

    def rewritten(
        self,
        tree: Expression,
        changes: Iterable[Change] = (),
        types: Callable[[], Mapping[str, Type]] = dict,
        _version: XPathVersion = "1.0",
        *,
        written: bool = False,
    ) -> str:
        """Return an expression as libxml2 evaluates it rightly, or as it is."""
        if self.converts and is_xpath1(tree):
            return with_conversions(tree, types(), changes, written=written).text
        return Rewriting(changes).of(tree).text


LIBXML2 = Libxml2Dialect(converts=False)
RECOMMENDED = Libxml2Dialect(converts=True)
