"""Variables and documents of rule expressions, written so that one stylesheet can hold them all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from xml.sax.saxutils import quoteattr

from masktron.judge.by_libxml2 import StylesheetDialect
from masktron.judge.conversions import with_conversions
from masktron.judge.rewriting import Change, Type, is_xpath1
from masktron.judge.shortcuts import Shortcut, shortcuts, variable
from masktron.rulebook.expressions.forbidden import screen
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import Expression, replaced
from masktron.rulebook.expressions.words import variable_places, variables
from masktron.rulebook.schema import Let, Origin, OwnFunction, XPathVersion


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
    dialect: StylesheetDialect
    beside: tuple[str, ...] = ()
    """Names of the documents that are files of their own; any other is the original."""
    shared: dict[str, str] = field(default_factory=dict, compare=False)
    """What shortcuts ask the stylesheet to declare, with its name; one for all scopes of a stylesheet."""
    own: frozenset[OwnFunction] = frozenset()
    """Functions that the rulebook declares; see `masktron.rulebook.expressions.forbidden.screen`."""
    version: XPathVersion = "1.0"
    """Of XPath."""

    @property
    def mode(self) -> str:
        """The attribute of instructions in which expressions stand, or nothing."""
        return self.dialect.mode(self.version)

    def extend(self, lets: tuple[Let, ...], prefix: str, *, is_global: bool) -> VariableScope:
        """Return the scope inside which these are declared too."""
        more = tuple(
            Named(let, f"{prefix}.{k}.{re.sub(r'[^\w.\-]', '_', let.name)}", is_global) for k, let in enumerate(lets)
        )
        return replace(self, lets=self.lets + more)

    def attribute(self, expression: str, origin: Origin) -> str:
        """Return an expression as a quoted attribute value of the stylesheet."""
        return quoteattr(self.expression(expression, origin))

    def expression(self, expression: str, origin: Origin, *, written: bool = False) -> str:
        """Return an expression with unique variables and its documents bound."""
        tree = understood(expression, self.namespaces)
        if tree is not None:
            return self.part(tree, origin, written=written, alone=True)
        calls = screen(expression, origin, self.namespaces, self.own)  # the engine says what is wrong with it
        places = [(call.start, call.end, self._document(call.uri)) for call in calls]
        names = self._names()
        places += [(start, end, f"${names(name)}") for name, start, end in variable_places(expression)]
        return replaced(expression, sorted(places))

    def part(self, tree: Expression, origin: Origin, *, written: bool = False, alone: bool = False) -> str:
        """Return an expression, or a part of one, with unique variables and its documents bound.

        Parameters
        ----------
        tree : Expression
        origin : Origin
        written : bool
            Whether it is written as a text.
        alone : bool
            Whether its context node is the current node: it is no predicate.
        """
        changes = self._changes(tree, origin, alone=alone)
        return self.dialect.rewritten(tree, changes, self._types, self.version, written=written)

    def _types(self) -> dict[str, Type]:
        """Return the types of variables."""
        types: dict[str, Type] = {}
        for k, named in enumerate(self.lets):
            tree = understood(named.let.value, self.namespaces)
            if tree is None or not is_xpath1(tree):
                types[named.let.name] = "unknown"
                continue
            changes = replace(self, lets=self.lets[:k])._changes(tree, named.let.origin)
            types[named.let.name] = with_conversions(tree, types, changes).type
        return types

    def _changes(self, tree: Expression, origin: Origin, *, alone: bool = True) -> list[Change]:
        """Return what stands in the stylesheet for documents, variables and shortcuts of an expression."""
        calls = [
            call
            for call in screen(tree.source, origin, self.namespaces, self.own)
            if tree.start <= call.start and call.end <= tree.end
        ]
        found = shortcuts(tree, calls, self._document, self.dialect.find, alone=alone)
        changes = [self._shortcut(part) for part in found]
        covered = [(one.start, one.end) for one in changes]
        changes += [
            Change(call.start, call.end, self._document(call.uri))
            for call in calls
            if not any(start <= call.start < end for start, end in covered)
        ]
        name_of = self._names()
        changes += [
            Change(start, end, f"${name_of(name)}")
            for name, start, end in variable_places(tree.source)
            if tree.start <= start and end <= tree.end
        ]
        return changes

    def _shortcut(self, part: Shortcut) -> Change:
        head, _, tail = part.text.format(name=self._declared(part), kept="\0").partition("\0")
        return Change(part.start, part.end, head, part.kept, tail, "number" if part.number else "nodes")

    def _document(self, name: str) -> str:
        """Return what stands for a document in the stylesheet."""
        return self.dialect.document(self.beside.index(name) if name in self.beside else None)

    def _declared(self, part: Shortcut) -> str:
        """Return the name of what a part of an expression asks the stylesheet to declare."""
        declaration = variable(self.dialect.rewritten(part.number)) if part.number else part.declaration
        return self.shared.setdefault(declaration, f"m.shared.{len(self.shared)}")

    def _names(self) -> Callable[[str], str]:
        names = {n.let.name: f"a.{n.unique}" if self.dialect.catches and n.is_global else n.unique for n in self.lets}
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

    def tried(self, expression: str, body: str, caught: str) -> str:
        """Return what stands in a stylesheet where an expression, with its variables, may raise an error."""
        if not self.dialect.catches:
            return body
        before = self.declarations(expression)
        return f"<m-xsl:try>{before}{body}<m-xsl:catch>{caught}</m-xsl:catch></m-xsl:try>"

    def _declaration(self, named: Named) -> str:
        if not named.is_global:
            value = self.before(named).attribute(named.let.value, named.let.origin)
            return f'<m-xsl:variable name="{named.unique}" select={value}/>'
        if not self.dialect.catches:
            return ""
        of = f"${named.unique}"
        value = f"if (m-map:contains({of}, 'e')) then error({of}?c, {of}?e) else {of}?v"
        return f'<m-xsl:variable name="a.{named.unique}" select={quoteattr(value)}/>'

    def global_variable(self, named: Named) -> str:
        """Return the global variable of a ``let`` of the schema or of a pattern."""
        scope = self.before(named)
        if not self.dialect.catches:
            return (
                f'<m-xsl:variable name="{named.unique}" select={scope.attribute(named.let.value, named.let.origin)}/>'
            )
        value = quoteattr(f"map{{'v': ({scope.expression(named.let.value, named.let.origin)})}}")
        return (
            f'<m-xsl:variable name="{named.unique}"{self.mode} as="map(*)"><m-xsl:try>'
            f"{scope.declarations(named.let.value)}<m-xsl:sequence select={value}/>"
            "<m-xsl:catch select=\"map{'e': string($m-err:description), 'c': $m-err:code}\"/></m-xsl:try>"
            "</m-xsl:variable>"
        )
