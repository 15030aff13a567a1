"""Where records and fields stand in the XML that rules mean."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Literal

type AsDocument = Literal["never", "otherwise", "always"]
"""Whether a file is judged as one document: never, where no records repeat in it and none is named, or always."""

TABLE_PATH = ("Data", "Record")
"""What stands around the fields of a table where nobody says it."""


@dataclass(frozen=True, slots=True)
class Field:
    """A variable of the file: a child element or an attribute of the record.

    Attributes
    ----------
    name : str
        The name that rules, options and reports use: the local name, ``@`` before it for an attribute.
    tag : str
        Clark name, ``{namespace}local`` or ``local``, without ``@``.
    attribute : bool
    """

    name: str
    tag: str
    attribute: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Where records and fields stand in the document.

    Attributes
    ----------
    record_path : tuple of str
        Clark names from the root element to the record element, both included.
    fields : tuple of Field
        In the order in which the file first shows them.
    root_attributes, nsmap
        Attributes and namespace declarations of the root element.
    encoding : str
    """

    record_path: tuple[str, ...]
    fields: tuple[Field, ...]
    root_attributes: tuple[tuple[str, str], ...] = ()
    nsmap: tuple[tuple[str | None, str], ...] = ()
    encoding: str = "UTF-8"

    def field(self, name: str) -> Field | None:
        """Return the field with this name, or None."""
        return next((f for f in self.fields if f.name == name), None)

    @property
    def record_tag(self) -> str:
        """Clark name of the record element."""
        return self.record_path[-1]

    @property
    def is_document(self) -> bool:
        """Whether the file is judged as one document: its root element is the only record."""
        return len(self.record_path) == 1


@dataclass(frozen=True, slots=True)
class Shape:
    """Whether the file is a plain table: like records, each with single fields that hold text only.

    Attributes
    ----------
    flat : bool
    reason : str
        What is not flat, in one sentence; empty for a flat file.
    line : int
        Where that was first seen; 0 for a flat file.
    single : frozenset of str
        Of a file that is not flat, the fields that stand in a record once at most, with a text alone.
    """

    flat: bool
    reason: str = ""
    line: int = 0
    single: frozenset[str] = dataclass_field(default=frozenset(), compare=False)


ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4}|[0-9A-Fa-f]{6})_")
"""What stands in a name of XML for a character that it cannot have, as SQL/XML has it."""
type NameStep = tuple[str, str]
"""Namespace, empty for none, and local name."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The elements and attributes of a file.

    Attributes
    ----------
    elements : frozenset of tuple of (str, str)
        Paths from the root element down, each step a namespace and a local name.
    attributes : frozenset of tuple of (str, str)
        The same, with the attribute as the last step.
    """

    elements: frozenset[tuple[NameStep, ...]]
    attributes: frozenset[tuple[NameStep, ...]]

    def spaces(self, name: str, *, attribute: bool = False) -> frozenset[str]:
        """Return the namespaces in which a local name occurs; none where it does not occur."""
        paths = self.attributes if attribute else self.elements
        return frozenset(path[-1][0] for path in paths if path[-1][1] == name)

    def names(self, *, attribute: bool = False) -> tuple[str, ...]:
        """Return the local names of all elements or attributes, sorted."""
        return tuple(sorted({path[-1][1] for path in (self.attributes if attribute else self.elements)}))


@dataclass(frozen=True, slots=True)
class ContextNames:
    """What the contexts of rules call elements.

    Attributes
    ----------
    names : tuple of str
        Local names of all elements that they mention, in their order.
    paths : tuple of (bool, tuple of NameStep)
        Each context that is a downward path of names, without its predicates, and whether it begins at the root.
    parents : tuple of ((str, str), int)
        Local names of a parent and its child in any path of the rules, with how often they stand there.
    siblings : tuple of str
        Local names that rules have for what stands before or behind the node that they judge.
    """

    names: tuple[str, ...] = ()
    paths: tuple[tuple[bool, tuple[NameStep, ...]], ...] = ()
    parents: tuple[tuple[tuple[str, str], int], ...] = ()
    siblings: tuple[str, ...] = ()


NO_CONTEXTS = ContextNames()


def column_name(name: str) -> str:
    """Return the name of the column of which `masktron.sources.tables.column_names.xml_name` makes a name of XML.

    Of a text in which such names stand, return the text with the columns. What is no character stays as it is.
    """
    return ESCAPE.sub(_character, name)


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code <= sys.maxunicode else found[0]
