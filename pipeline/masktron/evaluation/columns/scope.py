"""What an expression over columns sees: where it stands, the names of the file, the variables that are bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from masktron.evaluation.columns.outcome import NotColumnar
from masktron.rulebook.schema import XPathVersion
from masktron.sources.records import Layout

DOCUMENT = -1
"""The focus of variables of the schema or of a pattern: nothing in a batch answers what reads nodes there."""


@dataclass(frozen=True, slots=True)
class ColumnScope:
    """The static context of an expression, and the node that it is evaluated on, seen from the record.

    A record of a flat file has each field once at most, so that a node is known by its position in the layout and
    every value, that of a variable too, is one value for each record, wherever it is used.

    Attributes
    ----------
    namespaces : tuple of (prefix, uri)
        As the rulebook declares them; the standard prefixes of XPath 2 and later are not among them.
    layout : Layout
    version : str
    focus : int or None
        None for the record, else the position of a field in the layout, or `DOCUMENT`.
    current : int or None
        The node that the rule fired on (or that its context is tested on): what ``current()`` is, in a predicate too.
    variables : mapping of str to object
        Compiled values by name, without ``$``; a `NotColumnar` where the value could not be compiled.
    """

    namespaces: tuple[tuple[str, str], ...]
    layout: Layout
    version: XPathVersion
    focus: int | None = None
    current: int | None = None
    variables: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def bind(self, name: str, value: object) -> ColumnScope:
        """Return the scope in which a variable has a value, too; a `NotColumnar` is raised where it is used."""
        return replace(self, variables=MappingProxyType({**self.variables, name: value}))

    def at(self, focus: int | None) -> ColumnScope:
        """Return the scope of a predicate: another focus, the same current node."""
        return replace(self, focus=focus)

    def on(self, node: int | None) -> ColumnScope:
        """Return the scope of a rule that fires on a node."""
        return replace(self, focus=node, current=node)

    def variable(self, name: str) -> object:
        """Return the compiled value of a variable.

        Raises
        ------
        NotColumnar
            It is not known, or its value could not be compiled.
        """
        value = self.variables.get(name)
        if isinstance(value, NotColumnar):
            raise NotColumnar(f"${name}: {value}")
        if value is None:
            raise NotColumnar(f"${name} is not known")
        return value

    def uri(self, prefix: str) -> str | None:
        """Return the namespace of a prefix; None where it is not declared in the rulebook."""
        return dict(self.namespaces).get(prefix)

    def field(self, name: str, namespace: str = "", *, attribute: bool = False) -> int | None:
        """Return the position of the field with a local name and a namespace, or None where the file has none."""
        tag = f"{{{namespace}}}{name}" if namespace else name
        found = (at for at, f in enumerate(self.layout.fields) if f.tag == tag and f.attribute == attribute)
        return next(found, None)
