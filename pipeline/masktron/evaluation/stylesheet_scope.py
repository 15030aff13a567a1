"""Variables and documents of rule expressions, written so that one stylesheet can hold them all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from xml.sax.saxutils import quoteattr

from masktron.evaluation.conversions import Type, converted
from masktron.evaluation.saxon_rewriting import for_saxon
from masktron.evaluation.shortcuts import Shortcut, shortcuts, variable
from masktron.rulebook.expressions.forbidden import screen
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import replaced
from masktron.rulebook.expressions.words import rename_variables, variables
from masktron.rulebook.schema import Let, Origin

ORIGINAL = "m.original"
"""Stylesheet parameter of Saxon: the document that ``document()`` returns."""
ORIGINAL_URI = "masktron-original.xml"
"""What ``document()`` asks libxml2's resolver for."""


def beside_name(place: int, *, saxon: bool) -> str:
    """Return the stylesheet parameter, or what libxml2's resolver is asked for, of a document of its own.

    Parameters
    ----------
    place : int
        In ``Rulebook.beside``.
    saxon : bool
    """
    return f"m.beside.{place}" if saxon else f"masktron-beside-{place}.xml"


def reads_documents(text: str) -> bool:
    """Whether a stylesheet reads the original or another document."""
    marks = (f"${ORIGINAL}", ORIGINAL_URI, f"${beside_name(0, saxon=True)[:-1]}", beside_name(0, saxon=False)[:-5])
    return any(mark in text for mark in marks)


@dataclass(frozen=True, slots=True)
class Named:
    """A ``let`` with a name that is unique in the stylesheet."""

    let: Let
    unique: str
    is_global: bool


@dataclass(frozen=True, slots=True)
class VariableScope:
    """The variables that an expression sees, in the order of declaration; later ones hide earlier ones."""

    lets: tuple[Named, ...]
    namespaces: tuple[tuple[str, str], ...]
    saxon: bool
    beside: tuple[str, ...] = ()
    """Names of the documents that are files of their own; any other is the original."""
    shared: dict[str, str] = field(default_factory=dict, compare=False)
    """What shortcuts ask the stylesheet to declare, with its name; one for all scopes of a stylesheet."""
    numbers: set[str] = field(default_factory=set, compare=False)
    """Those of these names that stand for numbers; the others are nodes."""
    converts: bool = False
    """Whether our functions convert between numbers and texts; see `masktron.evaluation.conversions`."""
    xpath1: bool = False
    """Whether Saxon evaluates XPath 1.0."""

    def extend(self, lets: tuple[Let, ...], prefix: str, *, is_global: bool) -> VariableScope:
        """Return the scope inside which these are declared too."""
        more = tuple(
            Named(let, f"{prefix}.{k}.{re.sub(r'[^\w.\-]', '_', let.name)}", is_global) for k, let in enumerate(lets)
        )
        return replace(self, lets=self.lets + more)

    def attribute(self, expression: str, origin: Origin, *, written: bool = False) -> str:
        """Return an expression as a quoted attribute value of the stylesheet; of one that is written as a text."""
        return quoteattr(self.expression(expression, origin, written=written))

    def expression(self, expression: str, origin: Origin, *, written: bool = False) -> str:
        """Return an expression with unique variables and its documents bound."""
        text = self._bound(expression, origin)
        if self.saxon:
            return for_saxon(text, self.namespaces, xpath1=self.xpath1)
        return converted(text, self._types(), self.namespaces, written=written).text if self.converts else text

    def _types(self) -> dict[str, Type]:
        """Return the types of variables as they are named in the stylesheet."""
        types: dict[str, Type] = {
            name: "number" if name in self.numbers else "nodes" for name in self.shared.values()
        }
        for k, named in enumerate(self.lets):
            text = replace(self, lets=self.lets[:k])._bound(named.let.value, named.let.origin)
            types[named.unique] = converted(text, types, self.namespaces).type
        return types

    def _bound(self, expression: str, origin: Origin) -> str:
        calls = screen(expression, origin, self.namespaces)
        tree = understood(expression, self.namespaces)
        found = () if tree is None else tuple(shortcuts(tree, calls, self._document, saxon=self.saxon))
        covered = {call for call in calls for part in found if part.start <= call.start < part.end}
        changes = [(call.start, call.end, self._document(call.uri)) for call in calls if call not in covered]
        changes += [(part.start, part.end, part.text.format(name=self._declared(part))) for part in found]
        return rename_variables(replaced(expression, sorted(changes)), self._renaming())

    def _document(self, name: str) -> str:
        """Return what stands for a document in the stylesheet."""
        if name not in self.beside:
            return f"${ORIGINAL}" if self.saxon else f"document('{ORIGINAL_URI}')"
        own = beside_name(self.beside.index(name), saxon=self.saxon)
        return f"${own}" if self.saxon else f"document('{own}')"

    def _declared(self, part: Shortcut) -> str:
        """Return the name of what a part of an expression asks the stylesheet to declare."""
        declaration = part.declaration
        if part.number and self.converts:
            declaration = variable(converted(part.number, {}, self.namespaces).text)
        name = self.shared.setdefault(declaration, f"m.shared.{len(self.shared)}")
        if part.number:
            self.numbers.add(name)
        return name

    def _renaming(self) -> Callable[[str], str]:
        names = {n.let.name: f"a.{n.unique}" if self.saxon and n.is_global else n.unique for n in self.lets}
        beside = (beside_name(place, saxon=True) for place in range(len(self.beside)))
        names |= {name: name for name in (ORIGINAL, *beside, *self.shared.values())}
        return lambda name: names.get(name, f"b.{name}")

    def needed(self, *expressions: str) -> tuple[Named, ...]:
        """Return the variables that expressions refer to, directly or through others, in order."""
        found: set[int] = set()
        ahead = [(name, len(self.lets)) for e in expressions for name in variables(e)]
        while ahead:
            name, end = ahead.pop()
            k = next((k for k in range(end - 1, -1, -1) if self.lets[k].let.name == name), None)
            if k is not None and k not in found:
                found.add(k)
                ahead += [(inner, k) for inner in variables(self.lets[k].let.value)]
        return tuple(self.lets[k] for k in sorted(found))

    def before(self, named: Named) -> VariableScope:
        """Return the scope in which the value of a variable is evaluated."""
        return replace(self, lets=self.lets[: self.lets.index(named)])

    def declarations(self, *expressions: str) -> str:
        """Return the local variables that expressions need.

        A variable of the schema or of a pattern is global. Saxon raises the error of a global variable outside
        ``xsl:try``, so there it is a map with either the value or the error, which is raised again where it is used.
        """
        return "".join(self._declaration(named) for named in self.needed(*expressions))

    def _declaration(self, named: Named) -> str:
        if not named.is_global:
            value = self.before(named).attribute(named.let.value, named.let.origin)
            return f'<m-xsl:variable name="{named.unique}" select={value}/>'
        if not self.saxon:
            return ""
        of = f"${named.unique}"
        value = f"if (m-map:contains({of}, 'e')) then error({of}?c, {of}?e) else {of}?v"
        return f'<m-xsl:variable name="a.{named.unique}" select={quoteattr(value)}/>'

    def global_variable(self, named: Named, mode: str) -> str:
        """Return the global variable of a ``let`` of the schema or of a pattern."""
        scope = self.before(named)
        if not self.saxon:
            return (
                f'<m-xsl:variable name="{named.unique}" select={scope.attribute(named.let.value, named.let.origin)}/>'
            )
        value = quoteattr(f"map{{'v': ({scope.expression(named.let.value, named.let.origin)})}}")
        return (
            f'<m-xsl:variable name="{named.unique}"{mode} as="map(*)"><m-xsl:try>'
            f"{scope.declarations(named.let.value)}<m-xsl:sequence select={value}/>"
            "<m-xsl:catch select=\"map{'e': string($m-err:description), 'c': $m-err:code}\"/></m-xsl:try>"
            "</m-xsl:variable>"
        )
